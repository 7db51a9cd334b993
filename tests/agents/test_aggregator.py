"""One question through the whole house: scripted model, real tools, real HTTP over the sandbox."""

from __future__ import annotations

import asyncio
import copy
import gc
import pickle
import weakref
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic_ai import Agent, CancellationToken
from pydantic_ai.exceptions import FallbackExceptionGroup, ModelHTTPError, UnexpectedModelBehavior
from pydantic_ai.messages import ToolReturnPart
from pydantic_ai.models import Model
from pydantic_ai.usage import RequestUsage

from literature_agent import (
    AggregationRequest,
    ArtifactRegistry,
    Budget,
    ConfigurationError,
    Event,
    GivenSearch,
    InvalidInputError,
    LiteratureAggregationOutput,
    LiteratureAggregator,
    Settings,
    aggregate_sync,
)
from literature_agent.sandbox import SandboxServer
from literature_agent.testing import Calls, Seen, scripted_model, submit
from literature_agent.transport import Player, Recorder
from tests.waiting import PATIENCE_S, pass_time

QUESTION = "Does metformin slow cognitive decline in older adults with diabetes?"
SEARCH: Calls = [("search_pubmed", {"query": "metformin AND cognitive decline", "max_results": 5})]
STRANGER = "«artifact:link:cite~K7QX2MDA4T»"


def cite_first(seen: Seen) -> Calls:
    return submit(f"Metformin slowed decline {seen.references[0]}.", [seen.references[0]])


def fetch_two(seen: Seen) -> Calls:
    return [("fetch_pubmed", {"references": seen.references[:2]})]


async def run(
    model: Model, settings: Settings, question: Any = QUESTION, **options: Any
) -> LiteratureAggregationOutput:
    return await LiteratureAggregator(model, settings=settings).run(question, **options)


async def test_what_a_run_held_goes_when_nobody_holds_it_any_more(settings: Settings) -> None:
    """No circle leads through the registry: a process with many runs would keep many of them at a time."""
    registry = ArtifactRegistry()
    held = weakref.ref(registry)
    gc.disable()
    try:
        await run(scripted_model(SEARCH, fetch_two, cite_first), settings, registry=registry)
        del registry
        async with asyncio.timeout(PATIENCE_S):
            while True:  # tasks and threads of the run end
                if held() is None:
                    break
                await asyncio.sleep(0.01)
    finally:
        gc.enable()


async def test_a_question_comes_back_with_an_answer_whose_every_reference_resolves(settings: Settings) -> None:
    output = await run(scripted_model(SEARCH, fetch_two, cite_first), settings)
    assert output.status == "complete"
    assert output.registry is not None
    assert [
        resolved.artifact for resolved in output.registry.resolve(output.summary) if resolved.artifact is None
    ] == []
    article = output.relevant_articles[0]
    assert str(article.reference) in output.summary
    assert article.doi is not None
    assert article.doi.startswith("10.5555/")
    assert article.relevance == "It bears on the question."
    assert output.articles_analyzed == 2
    assert output.usage.requests == 3
    assert output.usage.tool_calls == 2


async def test_the_answer_reads_back_equal_from_its_json(settings: Settings) -> None:
    output = await run(scripted_model(SEARCH, fetch_two, cite_first), settings)
    for by_alias in (False, True):
        assert LiteratureAggregationOutput.model_validate_json(output.model_dump_json(by_alias=by_alias)) == output
    assert output.relevant_articles[0].kind == "link:cite:pubmed:full"


async def test_pickle_and_copy_drop_the_live_registry(settings: Settings) -> None:
    output = await run(scripted_model(SEARCH, cite_first), settings)
    for other in (pickle.loads(pickle.dumps(output)), copy.copy(output), copy.deepcopy(output)):
        assert other == output
        assert other.registry is None
    assert output.registry is not None


async def test_unknown_references_go_back_for_repair_and_the_mended_answer_stands(settings: Settings) -> None:
    wrong = submit(f"It works {STRANGER}.", [STRANGER])
    output = await run(scripted_model(SEARCH, wrong, cite_first), settings)
    assert output.integrity.repair_rounds == 1
    assert output.integrity.unknown_references == 0
    assert STRANGER not in output.model_dump_json()


async def test_a_model_that_never_mends_is_cut_and_counted(settings: Settings) -> None:
    def stubborn(seen: Seen) -> Calls:
        return submit(
            f"Good {seen.references[0]}. Invented {STRANGER}. See doi:10.1000/abc for more.",
            [seen.references[0], STRANGER],
            key_themes=[{"name": "PMID 12345", "description": f"A theme {STRANGER}.", "references": [STRANGER]}],
        )

    output = await run(scripted_model(SEARCH, stubborn), settings)
    assert output.integrity.repair_rounds == settings.repair_rounds
    assert output.integrity.unknown_references > 0
    assert output.integrity.leaks_cut >= 2
    assert "10.1000" not in output.summary
    assert STRANGER not in output.model_dump_json()
    assert "Invented. [unsupported]" in output.summary or "Invented [unsupported]" in output.summary
    assert len(output.relevant_articles) == 1
    assert output.key_themes == ()


async def test_a_typed_identifier_of_a_shown_work_becomes_its_reference(settings: Settings) -> None:
    registry = ArtifactRegistry()

    def typed(seen: Seen) -> Calls:
        artifact = registry.find(seen.references[0])
        assert artifact is not None
        return submit(f"Shown in doi:{artifact.doi}, see {seen.references[1]}.", [seen.references[0]])

    output = await run(scripted_model(SEARCH, typed), settings, registry=registry)
    assert output.integrity.leaks_replaced == 1
    assert "doi:" not in output.summary
    assert str(output.relevant_articles[0].reference) in output.summary


async def test_a_work_that_only_a_shared_registry_holds_can_not_be_cited(settings: Settings) -> None:
    """K083: held lets a renderer print a work, shown lets a model cite it."""
    shared = ArtifactRegistry()
    await run(scripted_model([("search_pubmed", {"query": "sickle cell"})], cite_first), settings, registry=shared)
    foreign = str(next(iter(shared)))
    wrong = submit(f"It works {foreign}.", [foreign])
    output = await run(scripted_model(SEARCH, wrong), settings, registry=shared)
    assert output.integrity.unknown_references == 2
    assert output.relevant_articles == ()


async def test_an_answer_before_any_search_is_refused(settings: Settings) -> None:
    """K097."""
    output = await run(scripted_model(submit("I know the answer."), SEARCH, cite_first), settings)
    assert output.integrity.repair_rounds == 1
    assert output.status == "complete"


async def test_nothing_found_is_no_evidence_with_zero_citations(settings: Settings) -> None:
    """K079."""
    nothing: Calls = [("search_pubmed", {"query": "xylophone AND quasar"})]
    output = await run(
        scripted_model(nothing, submit("It works very well."), name="x"),
        settings,
        request_of("Do xylophones help quasars?", sources=("pubmed",)),
    )
    assert output.status == "no_evidence"
    assert output.relevant_articles == ()
    assert output.summary.startswith("No evidence was found")


def request_of(question: str, **limits: Any) -> AggregationRequest:
    return AggregationRequest(question=question, **limits)


async def test_a_failed_source_is_said_and_makes_the_answer_partial(settings: Settings, sandbox: SandboxServer) -> None:
    """K095: source A fails, source B answers; visibly different to the model and in the answer."""
    sandbox.faults.set("europepmc", "server_error")
    both: Calls = [*SEARCH, ("search_europepmc", {"query": "metformin"})]
    seen: list[str] = []

    def look(now: Seen) -> Calls:
        seen.extend(now.texts)
        return cite_first(now)

    output = await run(scripted_model(both, look), settings, sources=["pubmed", "europepmc"])
    assert output.status == "partial"
    assert any("europepmc" in sentence for sentence in output.limitations)
    assert [(c.source, c.answered, c.failed) for c in output.coverage] == [("pubmed", 1, 0), ("europepmc", 0, 1)]
    failed = next(text for text in seen if "| failed" in text)
    assert "This says nothing about the literature" in failed
    assert output.search_log[1].reason == "europepmc_unreachable"


async def test_all_sources_down_is_failed_not_no_evidence(settings: Settings, sandbox: SandboxServer) -> None:
    sandbox.faults.set("eutils", "server_error")
    sandbox.faults.set("europepmc", "server_error")
    both: Calls = [*SEARCH, ("search_europepmc", {"query": "metformin"})]
    output = await run(scripted_model(both, submit("There is no evidence.")), settings)
    assert output.status == "failed"
    assert "says nothing about the literature" in output.summary


async def test_fetch_tools_take_references_only_and_name_the_search_that_would_find_an_identifier(
    settings: Settings,
) -> None:
    heard: list[str] = []

    def listen(seen: Seen) -> Calls:
        heard.append(seen.last)
        return fetch_two(seen)

    output = await run(
        scripted_model(SEARCH, [("fetch_pubmed", {"references": ["90000101"]})], listen, cite_first), settings
    )
    assert "takes references only" in heard[0]
    assert "search_pubmed" in heard[0]
    assert output.status == "complete"


@pytest.mark.parametrize(
    ("tool", "identifier", "search"),
    [
        ("fetch_pubmed", "NCT90000001", "search_clinicaltrials"),
        ("fetch_clinicaltrial", "90000101", "search_pubmed"),
        ("fetch_biorxiv", "10.5555/synthetic.90000101", "search_pubmed"),
        ("fetch_europepmc", "PMC90000101", "search_europepmc"),
        ("convert_ids", "PPR900001", "search_europepmc"),
        ("convert_ids", "NBK900001", "search for its title"),
    ],
)
async def test_the_search_named_for_an_identifier_is_one_that_knows_its_kind(
    settings: Settings, tool: str, identifier: str, search: str
) -> None:
    heard: list[str] = []

    def listen(seen: Seen) -> Calls:
        heard.append(seen.last)
        return submit("Nothing was found.")

    await LiteratureAggregator(scripted_model([(tool, {"references": [identifier]})], listen), settings=settings).run(
        "What is known?"
    )
    assert "takes references only" in heard[0]
    assert search in heard[0]


async def test_the_model_never_sees_an_identifier_author_or_journal(settings: Settings) -> None:
    heard: list[str] = []

    def listen(seen: Seen) -> Calls:
        heard.extend(seen.texts[1:])
        return cite_first(seen)

    everything: Calls = [
        ("search_pubmed", {"query": "diabetes", "max_results": 50}),
        ("search_europepmc", {"query": "diabetes", "max_results": 50}),
    ]

    def fetch_all(seen: Seen) -> Calls:
        return [("fetch_pubmed", {"references": seen.references[:25]})]

    output = await run(scripted_model(everything, fetch_all, listen), settings)
    text = "\n".join(heard)
    assert len(text) > 5000
    assert output.registry is not None
    for artifact in output.registry.artifacts():
        for name in ("doi", "pmid", "pmcid", "journal"):
            value = getattr(artifact, name, None)
            assert value is None or value not in text, f"{name} {value} was shown"
    assert "NCT9" not in text


async def test_reference_like_text_inside_a_paper_is_masked(settings: Settings) -> None:
    """A canary abstract holds a well-formed token: it can't mint a reference."""
    heard: list[str] = []

    def listen(seen: Seen) -> Calls:
        heard.append("\n".join(seen.texts[1:]))
        return cite_first(seen)

    output = await run(scripted_model([("search_pubmed", {"query": "90000719[pmid]"})], fetch_two, listen), settings)
    assert output.registry is not None
    canary = next(iter(output.registry.artifacts()))
    assert STRANGER in (canary.abstract_text or "")
    assert STRANGER not in heard[0]


@pytest.mark.parametrize(
    ("budget", "word"),
    [
        (Budget(max_requests=1), "1 model request"),
        (Budget(max_tool_calls=0), "0 tool calls"),
        (Budget(max_tokens=10), "tokens"),
    ],
)
async def test_a_budget_end_is_a_partial_answer_put_together_by_code(
    settings: Settings, budget: Budget, word: str
) -> None:
    output = await run(scripted_model(SEARCH), settings, budget=budget)
    assert output.status in ("partial", "failed")
    assert any(word in sentence for sentence in output.limitations)


async def test_a_deadline_gives_what_was_found(settings: Settings, sandbox: SandboxServer) -> None:
    def slow(seen: Seen) -> Calls:
        sandbox.faults.set("eutils", "slow", seconds=60)
        return [("search_pubmed", {"query": "insulin"})]

    def pass_it(event: Event) -> None:
        if event.kind == "search_started" and event.search_id == "s2":
            pass_time(30)

    output = await run(scripted_model(SEARCH, slow), settings, budget=Budget(deadline_s=30), on_event=pass_it)
    assert output.status == "partial"
    assert output.relevant_articles != ()
    assert "The deadline was reached before the model had finished." in output.limitations
    assert output.duration_s < 30


async def test_a_cancellation_token_ends_in_a_typed_partial_answer(settings: Settings, sandbox: SandboxServer) -> None:
    token = CancellationToken()

    def cancel(event: Event) -> None:
        if event.kind == "search_finished":
            token.cancel()

    output = await run(scripted_model(SEARCH), settings, on_event=cancel, cancellation_token=token)
    assert output.status == "partial"
    assert output.relevant_articles != ()


async def test_cancelling_the_task_raises_and_keeps_what_was_found(settings: Settings, sandbox: SandboxServer) -> None:
    registry = ArtifactRegistry()
    found = asyncio.Event()

    def slow(seen: Seen) -> Calls:
        sandbox.faults.set("eutils", "slow", seconds=60)
        found.set()
        return [("search_pubmed", {"query": "insulin"})]

    task = asyncio.create_task(run(scripted_model(SEARCH, slow), settings, registry=registry))
    await found.wait()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(registry) == 5


async def test_a_broken_model_still_gives_what_was_found(settings: Settings) -> None:
    def break_down(seen: Seen) -> Calls:
        raise_from_model()
        return []

    output = await run(scripted_model(SEARCH, break_down), settings)
    assert output.status == "partial"
    assert output.relevant_articles != ()
    assert any("model did not finish" in sentence for sentence in output.limitations)


def raise_from_model() -> None:
    from pydantic_ai.exceptions import ModelHTTPError

    raise ModelHTTPError(status_code=500, model_name="scripted", body=None)


async def test_given_searches_run_first_verbatim_and_are_logged_as_given(settings: Settings) -> None:
    line = GivenSearch(source="pubmed", query="metformin[ti] AND aged[mh]")
    output = await run(scripted_model(cite_first), settings, request_of(QUESTION, searches=(line,)))
    assert output.search_log[0].origin == "given"
    assert output.search_log[0].query == line.query
    assert output.relevant_articles != ()


async def test_what_a_source_says_against_a_given_search_stands_in_the_answer(settings: Settings) -> None:
    """Its caller is no model that reads the result: a broader search than the one written must not pass unseen."""
    lines = [GivenSearch(source="pubmed", query="metformin[ti]"), GivenSearch(source="pubmed", query="metformin[xyz]")]
    output = await run(scripted_model(cite_first), settings, request_of(QUESTION, searches=tuple(lines)))
    (told,) = (limit for limit in output.limitations if limit.startswith("Given search "))
    assert told.startswith("Given search s2: PubMed knows no field tag [xyz] and searched without it.")


async def test_limits_of_the_request_apply_to_every_search(settings: Settings) -> None:
    output = await run(scripted_model(SEARCH, cite_first), settings, date_from="2020", date_to="2021-06")
    assert output.search_log[0].filters
    assert output.registry is not None
    assert {artifact.year for artifact in output.registry.artifacts()} <= {2020, 2021}


async def test_parallel_calls_are_logged_and_registered_in_call_order(
    settings: Settings, sandbox: SandboxServer
) -> None:
    """Order of arrival never shows: the first call answers last."""
    both: Calls = [*SEARCH, ("search_europepmc", {"query": "metformin"})]
    plain = await run(scripted_model(both, cite_first), settings)
    sandbox.faults.set("eutils", "slow", seconds=0.3)
    slowed = await run(scripted_model(both, cite_first), settings)
    assert [line.source for line in slowed.search_log] == ["pubmed", "europepmc"]
    assert slowed.registry is not None
    assert plain.registry is not None
    assert list(slowed.registry) == list(plain.registry)
    assert [line.new for line in slowed.search_log] == [line.new for line in plain.search_log]


async def test_retraction_known_from_the_record_is_marked_and_listed(settings: Settings) -> None:
    heard: list[str] = []

    def listen(seen: Seen) -> Calls:
        heard.append(seen.last)
        return cite_first(seen)

    output = await run(scripted_model([("search_pubmed", {"query": "90000701[pmid]"})], listen), settings)
    assert "[RETRACTED]" in heard[0]
    assert any("retracted" in sentence for sentence in output.limitations)


@pytest.mark.parametrize(
    ("question", "limits", "words"),
    [
        ("", {}, "empty"),
        ("  ?! ", {}, "empty"),
        ("x" * 30_000, {}, "30,000"),
        (QUESTION, {"sources": ["pubmde"]}, "pubmed"),
        (QUESTION, {"max_articles": 0}, "max_articles"),
        (QUESTION, {"colour": "blue"}, "colour"),
        (QUESTION, {"searches": [{"source": "nowhere", "query": "x"}]}, "nowhere"),
    ],
)
async def test_bad_input_is_refused_in_one_sentence(
    settings: Settings, question: str, limits: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidInputError, match=words) as refused:
        await run(scripted_model(SEARCH), settings, question, **limits)
    assert "\n" not in refused.value.message
    assert refused.value.recovery


async def test_an_unknown_model_name_is_refused(settings: Settings) -> None:
    with pytest.raises(InvalidInputError, match="nobody-knows"):
        LiteratureAggregator("nobody-knows:this", settings=settings)


async def test_a_parent_sees_references_and_no_identifier(settings: Settings) -> None:
    shared = ArtifactRegistry()
    aggregator = LiteratureAggregator(scripted_model(SEARCH, fetch_two, cite_first), settings=settings)
    heard: list[str] = []

    def parent_answer(seen: Seen) -> Calls:
        heard.append(seen.last)
        return f"See {seen.references[0]}."

    parent: Agent[None, str] = Agent(
        scripted_model([("literature_aggregator", {"question": QUESTION})], parent_answer),
        deps_type=type(None),
        tools=[aggregator.as_tool(registry=lambda ctx: shared)],
    )
    result = await parent.run("Help me.")
    assert len(heard[0]) <= 6000
    assert len(shared) == 5
    assert shared.resolve(result.output)[0].artifact is not None
    for artifact in shared.artifacts():
        assert artifact.doi is None or artifact.doi not in heard[0]
    assert result.usage.requests == 2 + 3
    kept = [part for message in result.all_messages() for part in message.parts if isinstance(part, ToolReturnPart)]
    assert [part.metadata.status for part in kept] == ["complete"]
    assert kept[0].metadata.registry is None, "the live registry stays with its owner"


async def test_a_parent_lends_its_model_to_an_aggregator_that_has_none(settings: Settings) -> None:
    aggregator = LiteratureAggregator(settings=settings)

    def both(seen: Seen) -> Calls:
        if "submit_answer" in seen.tools or "search_pubmed" in seen.tools:
            return SEARCH if seen.turn == 1 else cite_first(seen)
        return [("literature_aggregator", {"question": QUESTION})] if seen.turn == 1 else "done"

    parent: Agent[None, str] = Agent(scripted_model(both), deps_type=type(None), tools=[aggregator.as_tool()])
    result = await parent.run("Help me.")
    assert result.output == "done"


async def test_one_client_serves_all_runs_inside_the_context_manager(settings: Settings) -> None:
    async with LiteratureAggregator(scripted_model(SEARCH, cite_first), settings=settings) as aggregator:
        outputs = [await aggregator.run(QUESTION) for _ in range(3)]
    assert len({output.run_id for output in outputs}) == 3
    assert len({output.summary for output in outputs}) == 1


async def test_sync_works_inside_a_running_loop(settings: Settings) -> None:
    output = aggregate_sync(QUESTION, model=scripted_model(SEARCH, cite_first), settings=settings)
    assert output.status == "complete"


async def test_events_tell_the_steps_and_a_listener_that_raises_does_no_harm(settings: Settings) -> None:
    kinds: list[str] = []
    output = await run(
        scripted_model(SEARCH, fetch_two, cite_first), settings, on_event=lambda event: kinds.append(event.kind)
    )
    assert kinds == ["started", "search_started", "search_finished", "fetch_finished", "finished"]

    def bad(event: Event) -> None:
        raise ValueError("listener")

    assert (await run(scripted_model(SEARCH, cite_first), settings, on_event=bad)).status == output.status


async def test_a_bad_query_comes_back_as_a_correction(settings: Settings) -> None:
    heard: list[str] = []

    def listen(seen: Seen) -> Calls:
        heard.append(seen.last)
        return SEARCH

    output = await run(scripted_model([("search_pubmed", {"query": "   "})], listen, cite_first), settings)
    assert "query" in heard[0].lower()
    assert output.status in ("complete", "partial")


async def test_one_list_value_or_json_text_is_understood_as_a_list(settings: Settings) -> None:
    """K093: a bare string where a list is expected does not cost the run."""

    def bare(seen: Seen) -> Calls:
        return [("fetch_pubmed", {"references": seen.references[0]})]

    output = await run(scripted_model(SEARCH, bare, cite_first), settings)
    assert output.articles_analyzed == 1


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"date_from": "2020", "date_to": "2010"}, "2020"),
        ({"date_from": "yesterday"}, "yesterday"),
        ({"date_to": "2020-02-31"}, "2020-02-31"),
        ({"since_entry_date": "soon"}, "soon"),
    ],
)
async def test_impossible_dates_are_refused_before_anything_is_asked(
    settings: Settings, sandbox: SandboxServer, limits: dict[str, Any], words: str
) -> None:
    asked = len(sandbox.requests)
    with pytest.raises(InvalidInputError, match=words):
        await run(scripted_model(SEARCH), settings, **limits)
    assert len(sandbox.requests) == asked


def test_a_missing_key_is_named(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY") as refused:
        LiteratureAggregator("openai:gpt-5.2", settings=settings)
    assert refused.value.message.count(".") <= 2


@pytest.mark.parametrize(
    "failure",
    [
        httpx.ReadTimeout("https://example.invalid/?key=sk-secret-secret-secret"),
        httpx.ConnectError("sk-secret-secret-secret"),
        TimeoutError("sk-secret-secret-secret"),
        OSError("sk-secret-secret-secret"),
        RuntimeError("sk-secret-secret-secret"),
        FallbackExceptionGroup("all failed", [OSError("sk-secret-secret-secret")]),
        ModelHTTPError(401, "scripted", {"error": "Incorrect key sk-secret-secret-secret"}),
    ],
    ids=lambda failure: type(failure).__name__,
)
@pytest.mark.parametrize("recorded", [False, True])
async def test_whatever_a_provider_raises_what_was_found_comes_back(
    settings: Settings, failure: Exception, recorded: bool, tmp_path: Path
) -> None:
    def fails(_: Seen) -> Calls:
        raise failure

    recording = Recorder(tmp_path / "kept") if recorded else None
    output = await run(scripted_model(SEARCH, fails), settings, recording=recording)
    assert output.status == "partial"
    assert output.relevant_articles
    name = "401" if isinstance(failure, ModelHTTPError) else type(failure).__name__
    assert any("provider" in sentence and name in sentence for sentence in output.limitations)
    assert "sk-secret" not in output.model_dump_json()
    if recorded:
        again = await LiteratureAggregator("extractive", settings=settings).run(
            QUESTION, recording=Player(tmp_path / "kept")
        )
        assert again.limitations == output.limitations


async def test_a_provider_that_fails_does_not_end_the_parent(settings: Settings) -> None:
    def fails(_: Seen) -> Calls:
        raise httpx.ReadTimeout("slow")

    literature = LiteratureAggregator(scripted_model(SEARCH, fails), settings=settings)
    asks: Calls = [("literature_aggregator", {"question": QUESTION})]
    result = await Agent(scripted_model(asks, "done"), tools=[literature.as_tool()]).run("Ask.")
    assert result.output == "done"


async def test_a_fault_of_our_own_around_a_model_request_is_seen(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> str:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr("literature_agent.agents.conduct._status_line", broken)
    with pytest.raises(RuntimeError, match="a fault of ours"):
        await run(scripted_model(SEARCH, cite_first), settings)


async def test_a_cancelled_model_request_cancels_the_run(settings: Settings) -> None:
    def cut(_: Seen) -> Calls:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await run(scripted_model(SEARCH, cut), settings)


async def test_a_model_that_submits_nothing_readable_is_told_in_plain_words(settings: Settings) -> None:
    output = await run(scripted_model(SEARCH, "I think it helps."), settings)
    assert output.status == "partial"
    assert output.limitations[0] == (
        "The model did not finish: it submitted no answer that could be read, also when asked again."
    )


async def test_no_part_of_a_key_is_told_where_a_long_message_of_a_provider_is_cut(settings: Settings) -> None:
    def fails(_: Seen) -> Calls:
        raise UnexpectedModelBehavior(f"{'no ' * 97}sk-proj-0123456789abcdef is refused")

    output = await run(scripted_model(fails), settings)
    assert output.limitations[0].startswith("The model did not finish: no no no")
    assert "sk-" not in output.model_dump_json()


async def test_half_a_character_in_a_query_ends_no_run(settings: Settings) -> None:
    half: Calls = [("search_pubmed", {"query": "metformin \ud83d", "max_results": 5})]
    usage = RequestUsage(input_tokens=1, output_tokens=1)
    output = await run(scripted_model(half, cite_first, usage=usage), settings)
    assert (output.status, output.search_log[0].query) == ("complete", "metformin ")
