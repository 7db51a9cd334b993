"""Budgets end in a closing turn; loops are broken; the model always knows where it stands."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RequestUsage

from literature_agent import Budget, GivenSearch, LiteratureAggregationOutput, LiteratureAggregator, Settings
from literature_agent.agents.conduct import CONTEXT_CHARACTERS
from literature_agent.custody.calls import search_key
from literature_agent.sandbox import SandboxServer
from literature_agent.testing import Calls, Seen, scripted_model, submit

QUESTION = "Does metformin slow cognitive decline in older adults with diabetes?"


def search(query: str) -> Calls:
    return [("search_pubmed", {"query": query, "max_results": 5})]


def cite_first(seen: Seen) -> Calls:
    return submit(f"Metformin slowed decline {seen.references[0]}.", [seen.references[0]])


async def run(settings: Settings, *turns: Any, **options: Any) -> tuple[LiteratureAggregationOutput, list[Seen]]:
    """The output, and what the model had seen at each turn."""
    heard: list[Seen] = []

    def listening(turn: Any) -> Any:
        def play(seen: Seen) -> Calls:
            heard.append(seen)
            return turn(seen) if callable(turn) else turn  # type: ignore[no-any-return]  # a turn gives calls

        return play

    model = scripted_model(*(listening(turn) for turn in turns))
    return await LiteratureAggregator(model, settings=settings).run(QUESTION, **options), heard


def obedient(seen: Seen) -> Calls:
    """Searches for something new each turn until told that this is the last."""
    if "last turn" in seen.last:
        return cite_first(seen)
    words = ("metformin", "dementia", "cognition", "diabetes", "insulin", "older adults", "memory", "glucose")
    return search(words[seen.turn % len(words)])


@pytest.mark.parametrize(
    ("budget", "word"),
    [
        (Budget(max_requests=3), "3 model requests"),
        (Budget(max_requests=8), "8 model requests"),
        (Budget(max_tool_calls=2), "2 tool calls"),
        (Budget(max_tokens=25_000), "25,000 tokens"),
    ],
)
async def test_the_end_of_a_budget_is_one_closing_turn_and_a_partial_answer(
    settings: Settings, budget: Budget, word: str
) -> None:
    output, heard = await run(settings, obedient, budget=budget)
    assert output.status == "partial"
    assert output.summary.startswith("Metformin slowed decline")
    assert any(word in sentence for sentence in output.limitations)
    assert sum("last turn" in seen.last for seen in heard) == 1
    if budget.max_requests is not None:
        assert output.usage.requests <= budget.max_requests
    if budget.max_tool_calls is not None:
        assert output.usage.tool_calls <= budget.max_tool_calls


async def test_a_model_that_never_stops_is_stopped_and_code_writes_the_answer(settings: Settings) -> None:
    def never(seen: Seen) -> Calls:
        return search(f"metformin OR word{seen.turn}")

    output, heard = await run(settings, never, budget=Budget(max_requests=6))
    assert output.status == "partial"
    assert output.relevant_articles != ()
    assert output.usage.requests <= 6
    assert len(heard) <= 6


TOOLS = ("search_pubmed", "search_europepmc", "fetch_pubmed", "find_related")


@pytest.mark.parametrize(
    "never",
    [
        pytest.param(lambda seen: [("search_pubmed", {"wrong": 1})], id="wrong-arguments"),
        pytest.param(lambda seen: [(TOOLS[seen.turn % 4], {"wrong": 1})], id="of-several-tools"),
        pytest.param(lambda seen: [(f"search_{seen.turn}", {})], id="no-such-tool"),
        pytest.param(lambda seen: [(name, {"wrong": 1}) for name in TOOLS * 5], id="side-by-side"),
        pytest.param(lambda seen: [("fetch_pubmed", {"references": [f"cite~{seen.turn}"]})], id="unknown-references"),
    ],
)
@pytest.mark.parametrize(
    ("budget", "said", "most"),
    [
        (Budget(max_requests=None, max_tool_calls=5), "The budget of 5 tool calls was used up.", 5),
        (Budget(max_requests=None, max_tool_calls=None), "tool calls in a row could not be carried out.", 61),
    ],
)
async def test_calls_that_fail_are_calls_of_the_budget_and_never_go_on_for_ever(
    settings: Settings, never: Callable[[Seen], Calls], budget: Budget, said: str, most: int
) -> None:
    """K085, K093: the framework counts successes alone, and ends the run at the last attempt of one tool."""
    output, heard = await run(settings, search("metformin"), never, budget=budget)
    assert output.status == "partial"
    assert output.limitations[0].endswith(said)
    assert len(heard) <= 14
    assert 5 <= output.usage.tool_calls <= most
    assert output.relevant_articles != ()


async def test_a_tool_that_is_not_there_is_spoken_of_in_plain_words(settings: Settings) -> None:
    output, heard = await run(settings, search("metformin"), [("browse", {})])
    assert output.limitations[0] == (
        "The model did not finish: it called 'browse', which it was told it can't, again and again."
    )
    assert len(heard) == 5


async def test_parallel_calls_never_exceed_the_tool_budget(settings: Settings) -> None:
    many: Calls = [("search_pubmed", {"query": f"metformin OR w{n}"}) for n in range(10)]
    output, _ = await run(settings, many, cite_first, budget=Budget(max_tool_calls=3))
    assert len(output.search_log) == 3
    assert output.status == "partial"


async def test_the_closing_turn_keeps_all_tools_and_forces_the_output_tool(settings: Settings) -> None:
    sent: list[tuple[set[str], object]] = []

    def play(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        sent.append(({tool.name for tool in info.function_tools}, (info.model_settings or {}).get("tool_choice")))
        return ModelResponse(parts=[ToolCallPart("search_pubmed", {"query": f"metformin OR w{len(messages)}"})])

    await LiteratureAggregator(FunctionModel(play), settings=settings).run(QUESTION, budget=Budget(max_requests=3))
    assert len({frozenset(tools) for tools, _ in sent}) == 1
    assert [choice for _, choice in sent] == [None, None, ["submit_answer"]]


async def test_the_status_line_is_written_once_per_turn_and_then_stays(settings: Settings) -> None:
    output, heard = await run(settings, search("metformin"), search("dementia"), cite_first)
    assert output.status == "complete"
    first, second = heard[1].texts[1], heard[2].texts[1]
    assert first == second
    assert first.count("[status:") == 1
    assert "works found" in first
    assert "turns left" in first


async def test_the_same_search_again_is_answered_from_memory_with_a_nudge(
    settings: Settings, sandbox: SandboxServer
) -> None:
    """K084."""
    output, heard = await run(settings, search("metformin  AND Dementia"), search("Metformin AND dementia"), cite_first)
    assert len(output.search_log) == 1
    assert "same search as s1" in heard[2].last
    assert output.status == "complete"


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("metformin dementia", "Dementia  AND metformin", True),
        ("metformin OR dementia", "dementia OR metformin", False),
        ('"metformin dementia"', '"dementia metformin"', False),
        ("metformin[ti] dementia", "dementia[ti] metformin", False),
        ("metformin NOT dementia", "dementia NOT metformin", False),
    ],
)
def test_searches_for_the_same_words_are_the_same_where_order_does_not_matter(
    one: str, other: str, is_same: bool
) -> None:
    """K084."""
    assert (search_key("pubmed", {"query": one}) == search_key("pubmed", {"query": other})) is is_same


async def test_the_same_search_for_ever_concludes_the_run(settings: Settings) -> None:
    """K084."""
    output, heard = await run(settings, search("metformin"))
    assert output.status == "partial"
    assert len(output.search_log) == 1
    assert len(heard) < 10
    assert any("same search" in sentence for sentence in output.limitations)


async def test_research_that_finds_nothing_for_ever_ends_with_a_reason(settings: Settings) -> None:
    """K085."""

    def nothing(seen: Seen) -> Calls:
        return search(f"xylophone{seen.turn} AND quasar")

    output, heard = await run(settings, nothing, budget=Budget(max_requests=40))
    assert len(heard) < 20
    assert any("found nothing" in sentence for sentence in output.limitations)
    assert output.relevant_articles == ()


async def test_a_search_that_failed_may_be_tried_again(settings: Settings, sandbox: SandboxServer) -> None:
    sandbox.faults.set("eutils", "server_error", times=settings.retry_attempts)
    output, _ = await run(settings, search("metformin"), search("metformin"), cite_first)
    assert [line.status for line in output.search_log] == ["failed", "ok"]


async def test_one_failing_call_never_kills_its_siblings(settings: Settings, sandbox: SandboxServer) -> None:
    """K091, K094."""
    sandbox.faults.set("europepmc", "server_error")
    both: Calls = [("search_europepmc", {"query": "metformin"}), *search("metformin")]
    output, _ = await run(settings, both, cite_first)
    assert [line.status for line in output.search_log] == ["failed", "ok"]
    assert output.relevant_articles != ()


async def test_old_results_shrink_when_the_context_fills_and_their_papers_stay_citeable(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """K089, K090: whole results in place, calls and returns stay paired; references, titles and marks survive."""
    assert CONTEXT_CHARACTERS < 3 * 100_000  # fits, with the rest, the context of small models: 128,000 tokens
    monkeypatch.setattr("literature_agent.agents.conduct.CONTEXT_CHARACTERS", 12_000)
    words = ("metformin", "dementia", "sickle", "covid", "parkinson", "surgery", "heart failure", "microbiome")

    def read(seen: Seen) -> Calls:
        if seen.turn > len(words):
            return cite_first(seen)
        return [("search_pubmed", {"query": words[seen.turn - 1], "max_results": 10})]

    output, heard = await run(settings, read)
    assert output.status == "complete"
    assert output.relevant_articles != ()
    last = heard[-1]
    assert sum(map(len, last.texts)) < 30_000
    first = last.texts[1]
    assert "shown in full before" in first
    assert "Abstract:" not in first
    assert "Title: " in first
    assert "[status:" in first
    assert set(heard[1].references) <= set(last.references)
    assert "Abstract:" in last.texts[-1]


@pytest.mark.parametrize("dollars", [0.0, 0.5])
async def test_a_cost_limit_that_could_not_be_applied_is_said(settings: Settings, dollars: float) -> None:
    output, _ = await run(settings, search("metformin"), cite_first, budget=Budget(max_cost_usd=dollars))
    assert output.status == "complete"
    sentences = [sentence for sentence in output.limitations if "US dollars" in sentence]
    assert sentences == [
        f"The limit of {dollars:g} US dollars could not be applied: the price of the model scripted is not known."
    ]


async def test_a_cost_limit_is_not_spoken_of_where_the_model_is_free_or_there_is_none(settings: Settings) -> None:
    free = await LiteratureAggregator("extractive", settings=settings).run(QUESTION, budget=Budget(max_cost_usd=0.5))
    unlimited, _ = await run(settings, search("metformin"), cite_first)
    tested = await LiteratureAggregator(TestModel(call_tools=[]), settings=settings).run(
        QUESTION, budget=Budget(max_cost_usd=0.5)
    )
    assert tested.usage.requests > 0
    for output in (free, unlimited, tested):
        assert not any("US dollars" in sentence for sentence in output.limitations)


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        (Budget(max_cost_usd=0.03), "The budget of 0.03 US dollars was used up."),
        (Budget(max_tokens=30), "The budget of 30 tokens was used up."),
    ],
)
async def test_a_closing_turn_that_would_cross_the_budget_is_not_asked_for(
    settings: Settings, budget: Budget, said: str
) -> None:
    usage = RequestUsage(input_tokens=19, output_tokens=1, cost=Decimal("0.02"))
    model = scripted_model(search("metformin"), cite_first, usage=usage)
    output = await LiteratureAggregator(model, settings=settings).run(QUESTION, budget=budget)
    assert (output.status, output.usage.requests) == ("partial", 1)
    assert output.relevant_articles != ()
    assert output.limitations[0] == said


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        (Budget(max_cost_usd=0.01), "The budget of 0.01 US dollars was used up."),
        (Budget(max_tokens=10), "The budget of 10 tokens was used up."),
    ],
)
async def test_a_budget_crossed_by_one_request_is_said_in_plain_words(
    settings: Settings, budget: Budget, said: str
) -> None:
    usage = RequestUsage(input_tokens=19, output_tokens=1, cost=Decimal("0.02"))
    model = scripted_model(search("metformin"), cite_first, usage=usage)
    output = await LiteratureAggregator(model, settings=settings).run(QUESTION, budget=budget)
    assert (output.status, output.usage.requests) == ("partial", 1)
    assert output.limitations[0] == said


async def test_what_code_has_replaced_is_not_spoken_of(settings: Settings, sandbox: SandboxServer) -> None:
    """The model's claim is not in the answer, so no mark of it is."""
    sandbox.faults.set("eutils", "server_error")
    output, _ = await run(settings, search("metformin"), submit("Metformin slows decline."))
    assert output.status == "failed"
    assert output.integrity.claims_unsupported == 1
    assert not any("[unsupported]" in sentence for sentence in output.limitations)


async def test_no_limitation_stands_twice_or_ends_in_two_stops(settings: Settings, sandbox: SandboxServer) -> None:
    sandbox.faults.set("eutils", "server_error")
    words = ("insulin", "metformin")
    output = await LiteratureAggregator(scripted_model(submit("Nothing.")), settings=settings).run(
        "What does PMID 90000101 say?", searches=[GivenSearch(source="pubmed", query=word) for word in words]
    )
    assert len(set(output.limitations)) == len(output.limitations)
    assert not any(sentence.endswith("..") for sentence in output.limitations)
