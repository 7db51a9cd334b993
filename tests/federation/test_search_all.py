"""One search in all sources at once: merged, scored, and honest about each source. Real HTTP over the sandbox."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from literature_agent import ArtifactRegistry, InvalidInputError, fetch, search
from literature_agent.artifacts import ClinicalTrial, DetailedArticle, EuropePMCArticle, PubMedArticle
from literature_agent.federation import merged, plan_all, search_all
from literature_agent.federation.scoring import WEIGHTS, Place, score
from literature_agent.federation.search_all import LARGEST_SHARE, SourceAnswer
from literature_agent.results import SearchResult
from literature_agent.sandbox import SandboxServer
from literature_agent.settings import Settings, load_settings
from literature_agent.sources import SOURCES, europepmc, pubmed
from literature_agent.transport import Transport
from tests.waiting import asked, pass_time

QUERY = "metformin AND cognitive decline"
BOTH = (pubmed.SOURCE, europepmc.SOURCE)
WINDOWED = replace(pubmed.SOURCE, name="windowed", label="Windowed", needs_window=True)


def pmids(result: SearchResult) -> list[str | None]:
    return [getattr(artifact, "pmid", None) for artifact in result.artifacts]


# --- what comes back --------------------------------------------------------------------------------------------------


async def test_all_sources_are_asked_and_each_work_comes_once(wire: Transport) -> None:
    result = await search_all(wire, BOTH, QUERY, max_results=8)
    assert result.status == "ok"
    assert [(o.source, o.status, o.returned) for o in result.outcomes] == [("pubmed", "ok", 8), ("europepmc", "ok", 8)]
    assert len(pmids(result)) == len(set(pmids(result))) == result.returned == 8
    assert "16 records are" in str(result.notice)
    assert all(outcome.query_sent and QUERY in outcome.query_sent for outcome in result.outcomes)


async def test_a_work_of_two_sources_is_completed_from_both(wire: Transport) -> None:
    result = await search_all(wire, BOTH, QUERY, max_results=8)
    both = next(artifact for artifact in result.artifacts if len({p.source for p in artifact.provenance}) == 2)
    assert isinstance(both, DetailedArticle)
    assert {p.source for p in both.provenance} == {"pubmed", "europepmc"}


async def test_the_parts_of_the_score_stand_with_each_work(wire: Transport) -> None:
    result = await search_all(wire, BOTH, QUERY, max_results=8)
    scores = [artifact.relevance_score or 0 for artifact in result.artifacts]
    assert scores == sorted(scores, reverse=True)
    for artifact in result.artifacts:
        parts = {
            name: float(value)
            for name, value in re.findall(r"(rank|study type|prior|recency) (\d\.\d\d) \(", artifact.relevance or "")
        }
        assert set(parts) == set(WEIGHTS)
        weighted = sum(WEIGHTS[name] * value for name, value in parts.items())
        assert artifact.relevance_score == pytest.approx(weighted, abs=0.01)


async def test_the_answer_is_the_same_whichever_source_is_slower(wire: Transport, sandbox: SandboxServer) -> None:
    quick = await search_all(wire, BOTH, QUERY, max_results=8)
    for service in ("eutils", "europepmc"):
        sandbox.faults.set(service, "slow", seconds=0.1, times=2)
        slow = await search_all(wire, BOTH, QUERY, max_results=8)
        sandbox.faults.clear()
        assert pmids(slow) == pmids(quick)
        assert [a.relevance for a in slow.artifacts] == [a.relevance for a in quick.artifacts]
        assert [o.source for o in slow.outcomes] == ["pubmed", "europepmc"]


async def test_sources_are_asked_side_by_side(wire: Transport, sandbox: SandboxServer) -> None:
    sandbox.faults.set("eutils", "slow", seconds=0.3, times=1, path="esearch")
    sandbox.requests.clear()
    await search_all(wire, BOTH, QUERY, max_results=2)
    made = [one.path.rpartition("/")[2] for one in sandbox.requests]
    assert made.index("search") < made.index("efetch.fcgi")


# --- what fails -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["server_error", "html", "empty_envelope", "refuse", "cut", "rate_limit"])
async def test_a_failing_source_costs_nothing_but_its_share(wire: Transport, sandbox: SandboxServer, kind: str) -> None:
    """K094, K095: the others' hits are all there, and a failure never looks like nothing found."""
    sandbox.faults.set("europepmc", kind)
    alone = await pubmed.SOURCE.build(wire).search(QUERY, max_results=8)
    result = await search_all(wire, BOTH, QUERY, max_results=8)
    assert result.status == "partial"
    assert set(pmids(result)) == set(pmids(alone))
    healthy, broken = result.outcomes
    assert (healthy.status, broken.status) == ("ok", "failed")
    assert broken.error is not None
    assert broken.error.reason.startswith("europepmc_")
    assert result.error == broken.error


async def test_a_slow_source_has_its_own_time_limit(wire: Transport, sandbox: SandboxServer) -> None:
    sandbox.requests.clear()
    sandbox.faults.set("europepmc", "slow", seconds=60)
    search = asyncio.create_task(search_all(wire, BOTH, QUERY, max_results=4, time_limit=30))
    await asked(sandbox, "efetch", "search")
    pass_time(30)
    result = await search
    assert [(o.source, o.status) for o in result.outcomes] == [("pubmed", "ok"), ("europepmc", "failed")]
    assert result.outcomes[1].error is not None
    assert result.outcomes[1].error.reason == "europepmc_timeout"
    assert result.returned == 4


@pytest.mark.parametrize(
    ("call", "slow", "last"),
    [
        (lambda **kept: search("all", QUERY, **kept), "/search", ("efetch", "search")),
        (lambda **kept: search("pubmed", "metformin OR zzzunknown", **kept), "espell", ("espell",)),
        (lambda **kept: fetch("europepmc", ["90000101", "90000102"], **kept), "90000102", ("90000101", "90000102")),
    ],
    ids=["search of all", "search", "fetch"],
)
async def test_a_one_shot_call_that_is_cancelled_leaves_in_the_registry_what_had_come(
    wire: Transport, sandbox: SandboxServer, call: Callable[..., Awaitable[object]], slow: str, last: tuple[str, ...]
) -> None:
    """Promise 5."""
    sandbox.requests.clear()
    sandbox.faults.set("all", "slow", seconds=60, path=slow)
    registry = ArtifactRegistry()
    task = asyncio.ensure_future(call(registry=registry, settings=wire.settings))
    await asked(sandbox, *last)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(registry) > 0


async def test_when_no_source_answers_the_search_has_failed_and_says_so_for_each(
    wire: Transport, sandbox: SandboxServer
) -> None:
    sandbox.faults.set("all", "server_error")
    result = await search_all(wire, BOTH, QUERY)
    assert (result.status, result.returned) == ("failed", 0)
    assert result.error is not None
    assert (result.error.reason, result.error.retryable) == ("all_unreachable", True)
    assert "pubmed:" in result.error.message
    assert "europepmc:" in result.error.message


async def test_nothing_found_anywhere_is_empty(wire: Transport) -> None:
    result = await search_all(wire, BOTH, "zzqx blorptine wuggification")
    assert (result.status, result.error) == ("empty", None)
    assert [o.status for o in result.outcomes] == ["empty", "empty"]


async def test_nothing_found_beside_a_failure_is_partial(wire: Transport, sandbox: SandboxServer) -> None:
    sandbox.faults.set("europepmc", "server_error")
    result = await search_all(wire, BOTH, "zzqx blorptine wuggification")
    assert (result.status, result.returned) == ("partial", 0)


@pytest.mark.parametrize("query", ["", "  ", "a\x07b", "x" * 30_000])
async def test_what_every_source_refuses_is_said_and_not_raised(wire: Transport, query: str) -> None:
    result = await search_all(wire, BOTH, query)
    assert result.status == "failed"
    assert result.error is not None
    assert (result.error.reason, result.error.retryable) == ("all_invalid_input", False)
    assert result.error.recovery


async def test_what_one_source_refuses_the_other_answers(wire: Transport) -> None:
    result = await search_all(wire, BOTH, 'metformin AND "cognitive decline')
    assert [o.status for o in result.outcomes][1] == "failed"
    assert result.status == "partial"
    assert result.artifacts


# --- filters ----------------------------------------------------------------------------------------------------------


async def test_a_filter_that_a_source_has_not_is_a_warning(wire: Transport) -> None:
    result = await search_all(wire, BOTH, QUERY, languages=["eng"], date_from="2020")
    assert result.status == "ok"
    assert result.applied_filters == {"languages": "eng", "date_from": "2020"}
    assert "Europe PMC can't filter by languages; its hits are not limited by it." in result.warnings
    assert "languages" in result.outcomes[1].warnings[0]
    assert result.outcomes[0].warnings == ()
    assert all((artifact.year or 0) >= 2020 for artifact in result.artifacts)


async def test_a_source_of_windows_is_asked_only_with_both_dates(wire: Transport) -> None:
    three = (pubmed.SOURCE, WINDOWED, europepmc.SOURCE)
    result = await search_all(wire, three, QUERY, date_from="2020")
    assert [(o.source, o.status) for o in result.outcomes] == [
        ("pubmed", "ok"),
        ("windowed", "not_asked"),
        ("europepmc", "ok"),
    ]
    assert "date_from and date_to" in result.outcomes[1].warnings[0]
    assert "Europe PMC" in result.outcomes[1].warnings[0]
    assert result.status == "ok"
    bounded = await search_all(wire, three, QUERY, date_from="2020", date_to="2024")
    assert [o.status for o in bounded.outcomes] == ["ok", "ok", "ok"]


async def test_nobody_to_ask_is_refused(wire: Transport) -> None:
    with pytest.raises(InvalidInputError, match="date_from and date_to"):
        await search_all(wire, (WINDOWED,), QUERY)


# --- merging and sharing, without a network ---------------------------------------------------------------------------


def answer(source: str, *artifacts: PubMedArticle | EuropePMCArticle | ClinicalTrial) -> SourceAnswer:
    return SourceAnswer(source=source, result=SearchResult(status="ok", artifacts=artifacts, returned=len(artifacts)))


def paper(number: int, **members: object) -> PubMedArticle:
    fields = {"pmid": str(90000000 + number), "title": f"Synthetic {number}", "year": 2020, **members}
    return PubMedArticle.model_validate(fields)


def mirrored(number: int, **members: object) -> EuropePMCArticle:
    pmid = str(90000000 + number)
    fields = {"epmc_id": pmid, "epmc_source": "MED", "pmid": pmid, "title": f"Synthetic {number}", "year": 2020}
    return EuropePMCArticle.model_validate({**fields, **members})


PLAN = plan_all(BOTH, {})


def test_different_dois_are_never_merged_and_equal_identifiers_always() -> None:
    """K072, K073, K076: title and year join nothing; a shared PMID does."""
    result = merged(
        PLAN,
        [
            answer("pubmed", paper(1, title="Part I", doi="10.5555/a"), paper(2, title="")),
            answer("europepmc", mirrored(1, citation_count=7), mirrored(3, title="Part I", doi="10.5555/b")),
        ],
        "q",
        year=2026,
    )
    assert pmids(result) == ["90000001", "90000002", "90000003"]


def test_a_record_that_joins_two_works_leaves_one() -> None:
    only_doi = EuropePMCArticle(epmc_id="PPR9", epmc_source="PPR", doi="10.5555/a", title="x")
    links = mirrored(1, doi="10.5555/a")
    result = merged(PLAN, [answer("pubmed", paper(1)), answer("europepmc", only_doi, links)], "q", year=2026)
    assert result.returned == 1
    assert "rank 1.00 (pubmed 1, europepmc 1)" in str(result.artifacts[0].relevance)


def test_no_source_has_more_than_its_share_while_another_has_something_left() -> None:
    many = [paper(number, publication_types=("Meta-Analysis",)) for number in range(1, 11)]
    few = [mirrored(number) for number in range(21, 31)]
    result = merged(PLAN, [answer("pubmed", *many), answer("europepmc", *few)], "q", max_results=10, year=2026)
    assert sum(a.kind.startswith("link:cite:pubmed") for a in result.artifacts) == 10 * LARGEST_SHARE
    alone = merged(PLAN, [answer("pubmed", *many), answer("europepmc", *few[:1])], "q", max_results=10, year=2026)
    assert alone.returned == 10


@given(
    st.integers(1, 12),
    st.lists(st.integers(1, 15), max_size=12, unique=True),
    st.lists(st.integers(1, 15), max_size=12, unique=True),
)
def test_the_list_is_full_where_there_is_enough_and_never_longer(want: int, left: list[int], right: list[int]) -> None:
    answers = [answer("pubmed", *map(paper, left)), answer("europepmc", *map(mirrored, right))]
    result = merged(PLAN, answers, "q", max_results=want, year=2026)
    assert result.returned == min(want, len({*left, *right}))
    assert set(pmids(result)) <= {str(90000000 + number) for number in (*left, *right)}


def test_the_original_ranks_before_its_notice_and_a_retracted_paper_low() -> None:
    """K009: a notice with the same title that the source lists first."""
    notice = paper(1, title="Author Correction: Synthetic", is_notice=True)
    retracted = paper(3, correction_status="retracted", publication_types=("Randomized Controlled Trial",))
    result = merged(PLAN, [answer("pubmed", notice, paper(2), retracted)], "q", year=2026)
    assert pmids(result) == ["90000002", "90000003", "90000001"]
    assert "prior 0.05 (retracted)" in str(result.artifacts[1].relevance)
    assert "prior 0.10 (notice)" in str(result.artifacts[2].relevance)


def test_each_part_of_a_score_moves_it_the_right_way() -> None:
    base = score(paper(1), (Place("pubmed", 5),), year=2026).value
    assert score(paper(1), (Place("pubmed", 5), Place("europepmc", 1)), year=2026).value > base
    assert score(paper(1, publication_types=("Meta-Analysis",)), (Place("pubmed", 5),), year=2026).value > base
    assert score(paper(1, year=2026), (Place("pubmed", 5),), year=2026).value > base
    assert score(paper(1, is_preprint=True), (Place("pubmed", 5),), year=2026).value < base
    undated = score(paper(1, year=None), (Place("pubmed", 5),), year=2026)
    assert undated.parts[3].why == "no year"
    trial = score(ClinicalTrial(nct_id="NCT90000001"), (Place("clinicaltrials", 1),), year=2026)
    assert [part.why for part in trial.parts] == ["clinicaltrials 1", "Registered trial", "registered", "no year"]
    future = score(paper(1, year=2028), (Place("pubmed", 1),), year=2026)
    assert 0 <= future.value <= 1


# --- the one-shot function --------------------------------------------------------------------------------------------


async def test_search_all_by_name_never_raises_for_a_failing_source(here: Settings, sandbox: SandboxServer) -> None:
    sandbox.faults.set("all", "server_error")
    result = await search("all", QUERY, settings=here)
    assert result.status == "failed"
    assert {o.source for o in result.outcomes if o.status == "failed"} >= {"pubmed", "europepmc"}


async def test_search_all_asks_every_source_that_is_on_unless_the_setting_names_some(
    here: Settings, sandbox: SandboxServer
) -> None:
    every = await search("ALL", QUERY, settings=here)
    assert [o.source for o in every.outcomes if o.status != "not_asked"] == [
        source.name for source in SOURCES if not source.needs_window
    ]
    named = here.model_copy(update={"sources": ("pubmed",)})
    assert [o.source for o in (await search("all", QUERY, settings=named)).outcomes] == ["pubmed"]
    off = load_settings(**here.model_dump(exclude_unset=True), europepmc_enabled=False)
    assert "europepmc" not in [o.source for o in (await search("all", QUERY, settings=off)).outcomes]


async def test_search_all_holds_the_copies_of_every_source(here: Settings) -> None:
    registry = ArtifactRegistry()
    result = await search(
        "all", QUERY, registry=registry, settings=here.model_copy(update={"sources": ("pubmed", "europepmc")})
    )
    for artifact in result.artifacts:
        held = registry.find(artifact.reference or "")
        assert held is not None
        assert (held.title, held.relevance, held.relevance_score) == (artifact.title, None, None)
    copies = [registry.copies(artifact.reference or "") for artifact in result.artifacts]
    assert any({copy.source for copy in each} == {"pubmed", "europepmc"} for each in copies)
    for each in copies:
        for copy in each:
            assert len({p.source for p in copy.provenance}) == 1


@pytest.mark.parametrize(
    ("given_", "named"),
    [({"langauges": ["eng"]}, "langauges"), ({"page": "10"}, "no pages"), ({"cursor_mark": "x"}, "no pages")],
)
async def test_search_all_refuses_what_no_source_has(here: Settings, given_: dict[str, object], named: str) -> None:
    with pytest.raises(InvalidInputError, match=named) as refused:
        await search("all", QUERY, settings=here, **given_)  # type: ignore[arg-type]
    assert refused.value.reason == "all_invalid_input"
    assert refused.value.recovery


async def test_a_sort_is_said_to_be_not_applied(here: Settings) -> None:
    result = await search("all", QUERY, sort="pub_date", settings=here)
    assert result.warnings[0].startswith("The merged list is ordered by score")


async def test_europe_pmc_refuses_the_filter_languages_by_name(here: Settings) -> None:
    with pytest.raises(InvalidInputError, match="Europe PMC has no filter 'languages'"):
        await search("europepmc", QUERY, languages=["eng"], settings=here)


async def test_a_better_spelling_reaches_the_caller(wire: Transport) -> None:
    result = await search_all(wire, BOTH, "metformn AND blorptine")
    assert result.status == "empty"
    assert "PubMed found nothing. Its spelling aid suggests: metformin" in str(result.notice)
