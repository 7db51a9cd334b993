"""The agent's tools of several sources, through custody: asked once, held, logged for each source, shown, counted."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from literature_agent.agents.toolset import build_toolset
from literature_agent.custody import Call, Custody, Event, Shown
from literature_agent.errors import source_error
from literature_agent.ids import find_identifiers
from literature_agent.ledger import Ledger
from literature_agent.outputs import AggregationRequest
from literature_agent.registry import ArtifactRegistry
from literature_agent.results import RelatedResult, SearchResult
from literature_agent.sandbox import SandboxServer
from literature_agent.settings import load_settings
from literature_agent.sources import clinicaltrials, europepmc, pubmed
from literature_agent.transport import Transport

QUERY = "metformin AND cognitive decline"
BOTH = (pubmed.SOURCE, europepmc.SOURCE)
REFERENCE = re.compile(r"«artifact:link:cite~[0-9A-Z]{10}»")


@dataclass
class Gate:
    """Custody over the sandbox, and short ways to call it."""

    custody: Custody
    events: list[Event] = field(default_factory=list)
    calls: int = 0

    async def call(self, tool: str, **arguments: Any) -> Shown:
        self.calls += 1
        return await self.custody.call(tool, arguments, Call(f"call-{self.calls}", self.calls, 0))

    @property
    def ledger(self) -> Ledger:
        return self.custody.ledger

    async def shown(self, pmid: str) -> str:
        """The reference of a paper of the corpus, shown by a search."""
        shown = await self.call("search_pubmed", query=f"{pmid}[uid]")
        return str(REFERENCE.findall(shown.text)[0])


def gate_over(transport: Transport, *, sources: Any = BOTH, reroutes: bool = False, **request: Any) -> Gate:
    registry = ArtifactRegistry()
    gate: Gate
    custody = Custody(
        run_id="run",
        sources=sources,
        transport=transport,
        registry=registry,
        ledger=Ledger("run", registry),
        request=AggregationRequest(question="Does it?", **request),
        observer=lambda event: gate.events.append(event),
        reroutes=reroutes,
    )
    gate = Gate(custody)
    return gate


@pytest.fixture
async def wire(sandbox: SandboxServer, tmp_path: Path) -> AsyncIterator[Transport]:
    settings = load_settings(
        **sandbox.settings_overrides(),
        cache_dir=tmp_path / "cache",
        pace="off",
        cache="off",
        breaker="off",
        rate_limit_store="memory",
        retry_max_wait_s=0.01,
    )
    async with Transport(settings) as opened:
        yield opened


@pytest.fixture
def gate(wire: Transport) -> Gate:
    return gate_over(wire)


def named(text: str) -> list[str]:
    """Identifiers that a model would see; dates of the synthetic corpus are none."""
    return [found.value for found in find_identifiers(text)]


def nothing_leaks(shown: Shown, gate: Gate) -> None:
    """No identifier, author or journal of any held work stands in the text."""
    assert named(shown.text) == []
    for artifact in gate.custody.registry.artifacts():
        facts = [artifact.doi, artifact.journal, artifact.journal_abbreviation, artifact.first_author]
        facts += [getattr(artifact, name, None) for name in ("pmid", "pmcid", "nct_id", "epmc_id")]
        assert [fact for fact in facts if fact and fact in shown.text] == []


# --- search_all -------------------------------------------------------------------------------------------------------


async def test_one_call_is_one_search_in_each_source_with_an_id_of_its_own(gate: Gate) -> None:
    shown = await gate.call("search_all", query=QUERY, max_results=6)
    assert shown.outcome == "ok"
    log = gate.ledger.search_log()
    assert [(one.search_id, one.source, one.query, one.status) for one in log] == [
        ("s1", "pubmed", QUERY, "ok"),
        ("s2", "europepmc", QUERY, "ok"),
    ]
    assert [one.retrieved for one in log] == [6, 6]
    assert log[1].duplicates > 0
    head = shown.text.splitlines()
    assert head[0] == "Search s1+s2 | all | ok | shown 6 of unknown"
    assert head[2].startswith("s1: pubmed | ok | got 6 of ")
    assert head[3].startswith("s2: europepmc | ok | got 6 of ")
    assert {coverage.source: coverage.asked for coverage in gate.ledger.coverage()} == {"pubmed": 1, "europepmc": 1}


async def test_hits_are_held_with_every_copy_and_may_be_cited(gate: Gate) -> None:
    shown = await gate.call("search_all", query=QUERY, max_results=6)
    assert isinstance(shown.result, SearchResult)
    references = list(gate.ledger.shown_references())
    assert len(references) == 6
    assert list(dict.fromkeys(REFERENCE.findall(shown.text))) == references
    sources = [{copy.source for copy in gate.custody.registry.copies(ref)} for ref in references]
    assert {"pubmed", "europepmc"} in sources
    for reference in references:
        record = gate.custody.registry.find(reference)
        assert record is not None
        assert (record.relevance, record.relevance_score) == (None, None)
    nothing_leaks(shown, gate)


async def test_a_failing_source_is_logged_as_failed_and_the_other_is_whole(gate: Gate, sandbox: SandboxServer) -> None:
    """K092, K095."""
    sandbox.faults.set("europepmc", "server_error")
    shown = await gate.call("search_all", query=QUERY, max_results=6)
    assert shown.outcome == "ok"
    assert "This says nothing about the literature." in shown.text
    assert [(one.source, one.status, one.reason) for one in gate.ledger.search_log()] == [
        ("pubmed", "ok", None),
        ("europepmc", "failed", "europepmc_unreachable"),
    ]
    assert [event.kind for event in gate.events] == [
        "search_started",
        "search_started",
        "search_finished",
        "source_failed",
    ]
    assert len(gate.ledger.shown_references()) == 6


async def test_all_sources_failing_is_a_fact_and_not_an_empty_result(gate: Gate, sandbox: SandboxServer) -> None:
    sandbox.faults.set("all", "html")
    shown = await gate.call("search_all", query=QUERY)
    assert shown.outcome == "fact"
    assert "Nothing found" not in shown.text
    assert gate.custody.fruitless == 1
    sandbox.faults.clear()
    assert (await gate.call("search_all", query=QUERY)).outcome == "ok"


async def test_the_same_search_is_answered_from_memory(gate: Gate, sandbox: SandboxServer) -> None:
    """K084."""
    await gate.call("search_all", query=QUERY)
    sandbox.requests.clear()
    again = await gate.call("search_all", query=f" {QUERY.replace('metformin', 'Metformin')} ")
    assert "same search as s1" in again.text
    assert not sandbox.requests
    assert gate.custody.repeats == 1


async def test_what_all_sources_refuse_is_for_the_model_to_mend(gate: Gate) -> None:
    shown = await gate.call("search_all", query="   ")
    assert shown.outcome == "correction"
    assert "blank" in shown.text


async def test_limits_of_the_request_bind_the_search_and_what_cannot_be_applied_is_said(wire: Transport) -> None:
    gate = gate_over(wire, date_from="2022", languages=("eng",))
    shown = await gate.call("search_all", query=QUERY, date_from="2018", max_results=10)
    assert isinstance(shown.result, SearchResult)
    assert shown.result.applied_filters == {"date_from": "2022", "languages": "eng"}
    assert all((artifact.year or 0) >= 2022 for artifact in shown.result.artifacts)
    assert "Warning: Europe PMC can't filter by languages" in shown.text


async def test_a_source_that_is_not_asked_is_named_and_not_logged(wire: Transport) -> None:
    windowed = replace(pubmed.SOURCE, name="windowed", label="Windowed", needs_window=True)
    gate = gate_over(wire, sources=(*BOTH, windowed))
    shown = await gate.call("search_all", query=QUERY)
    assert "windowed: not asked" in shown.text
    assert [one.source for one in gate.ledger.search_log()] == ["pubmed", "europepmc"]
    assert next(coverage.asked for coverage in gate.ledger.coverage(["windowed"])) == 0
    alone = gate_over(wire, sources=(windowed,))
    assert (await alone.call("search_all", query=QUERY)).outcome == "correction"


# --- find_related -----------------------------------------------------------------------------------------------------


async def test_related_works_are_held_shown_and_citeable(gate: Gate) -> None:
    reference = await gate.shown("90000101")
    shown = await gate.call("find_related", reference=reference, relation="references", max_results=5)
    assert shown.outcome == "ok"
    assert isinstance(shown.result, RelatedResult)
    assert shown.text.startswith(f"Related to {reference} | references | ok | shown 2 of 2")
    new = [ref for ref in REFERENCE.findall(shown.text) if ref != reference]
    assert len(set(new)) == 2
    assert all(gate.ledger.is_shown(ref) for ref in new)
    nothing_leaks(shown, gate)


async def test_links_say_what_each_work_is(gate: Gate) -> None:
    reference = await gate.shown("90000701")
    shown = await gate.call("find_related", reference=reference, relation="linked")
    relation = re.search(rf"^Relation: ({REFERENCE.pattern}): retracted_by$", shown.text, re.M)
    assert relation is not None
    assert f"{relation[1]} | 2019 | Notice" in shown.text or f"{relation[1]} | 2019 |" in shown.text
    assert gate.custody.linked_to(reference) == [("notice", relation[1])]
    nothing_leaks(shown, gate)


async def test_a_registered_trial_is_linked_through_its_papers(gate: Gate) -> None:
    reference = await gate.shown("90000101")
    shown = await gate.call("find_related", reference=reference, relation="linked")
    assert "A copy lies in PMC; `read_pmc_full_text` tells whether it can be read." in shown.text
    nothing_leaks(shown, gate)


@pytest.mark.parametrize("written", ["90000101", "10.5555/synthetic.90000101", "«artifact:link:cite~0000000000»", ""])
async def test_an_identifier_or_a_stranger_is_not_taken_for_a_reference(gate: Gate, written: str) -> None:
    shown = await gate.call("find_related", reference=written, relation="similar")
    assert shown.outcome == "correction"
    assert gate.ledger.entries == ()


async def test_a_held_but_unshown_work_is_not_revealed(gate: Gate) -> None:
    await gate.shown("90000101")
    registry = gate.custody.registry
    stranger = registry.hold(
        next(iter(registry.artifacts())).model_copy(update={"doi": "10.5555/other", "pmid": "90000999"})
    )
    shown = await gate.call("find_related", reference=str(stranger), relation="similar")
    assert shown.outcome == "correction"
    assert "unknown" in shown.text


async def test_a_fetch_with_the_tool_of_another_source_is_answered_from_that_source(wire: Transport) -> None:
    """One turn, not two: the trial comes with the paper, and a note says whose record it is."""
    gate = gate_over(wire, sources=(pubmed.SOURCE, clinicaltrials.SOURCE), reroutes=True)
    paper = REFERENCE.findall((await gate.call("search_pubmed", query="metformin AND cognitive decline")).text)[0]
    found = await gate.call("search_clinicaltrials", query="metformin")
    trial = REFERENCE.findall(found.text.partition("<papers")[2])[0]
    both = await gate.call("fetch_pubmed", references=[paper, trial])
    assert both.outcome == "ok"
    assert both.text.startswith("Fetched 2 of 2\n")
    assert f"Note: PubMed has no record of {trial}; this is what ClinicalTrials.gov has" in both.text
    fetched = [entry for entry in gate.custody.ledger.entries if entry.kind == "fetch"]
    assert [(entry.source, entry.asked) for entry in fetched] == [("pubmed", 1), ("clinicaltrials", 1)]
    alone = await gate.call("fetch_pubmed", references=[trial])
    assert alone.outcome == "ok"
    assert "Fetched 1 of 1" in alone.text


async def test_a_source_that_fails_beside_another_costs_its_own_records_alone(
    wire: Transport, sandbox: SandboxServer
) -> None:
    gate = gate_over(wire, sources=(pubmed.SOURCE, clinicaltrials.SOURCE), reroutes=True)
    paper = REFERENCE.findall((await gate.call("search_pubmed", query="metformin AND cognitive decline")).text)[0]
    found = await gate.call("search_clinicaltrials", query="metformin")
    trial = REFERENCE.findall(found.text.partition("<papers")[2])[0]
    sandbox.faults.set("clinicaltrials", "server_error")
    alone = await gate.call("fetch_pubmed", references=[trial])
    assert (alone.outcome, alone.text.partition("\n")[0]) == ("fact", "fetch_clinicaltrial | failed")
    assert gate.ledger.entries[-1].source == "clinicaltrials"
    both = await gate.call("fetch_pubmed", references=[paper, trial])
    assert both.outcome == "ok"
    assert "Fetched 1 of 2" in both.text
    assert f"Failed: {trial}: " in both.text


async def test_a_preprint_that_pubmed_does_not_have_comes_from_the_source_that_showed_it(wire: Transport) -> None:
    gate = gate_over(wire, reroutes=True)
    found = await gate.call("search_europepmc", query="metformin", sources=["PPR"])
    preprint = REFERENCE.findall(found.text.partition("<papers")[2])[0]
    shown = await gate.call("fetch_pubmed", references=[preprint, await gate.shown("90000101")])
    assert "Fetched 2 of 2" in shown.text
    assert f"Note: PubMed has no record of {preprint}; this is what Europe PMC has" in shown.text


async def test_what_europe_pmc_says_of_the_full_text_stays_when_pubmed_has_a_record_too(gate: Gate) -> None:
    """PubMed's record is the better copy, but knows only that there is one in PMC."""
    paper = await gate.shown("90000718")
    assert f"{paper} | 2" in (first := await gate.call("search_pubmed", query="90000718[uid] AND hasabstract")).text
    assert "copy in PMC" in next(line for line in first.text.splitlines() if line.startswith(f"{paper} |"))
    await gate.call("search_europepmc", query="EXT_ID:90000718")
    fetched = await gate.call("fetch_pubmed", references=[paper])
    assert "full text not open" in next(line for line in fetched.text.splitlines() if line.startswith(f"{paper} |"))


async def test_a_reference_of_another_source_does_not_stop_a_fetch(wire: Transport) -> None:
    """Where one tool may be used and not the other, the other is named and not asked."""
    gate = gate_over(wire, sources=(pubmed.SOURCE, clinicaltrials.SOURCE))
    paper = REFERENCE.findall((await gate.call("search_pubmed", query="metformin AND cognitive decline")).text)[0]
    found = await gate.call("search_clinicaltrials", query="metformin")
    trial = REFERENCE.findall(found.text.partition("<papers")[2])[0]
    both = await gate.call("fetch_pubmed", references=[paper, trial])
    assert both.outcome == "ok"
    assert "Fetched 1 of 2" in both.text
    assert f"Failed: {trial}: no record in PubMed; use fetch_clinicaltrial." in both.text
    alone = await gate.call("fetch_pubmed", references=[trial])
    assert alone.outcome == "correction"
    assert alone.text == f"{trial}: no record in PubMed; use fetch_clinicaltrial."


async def test_a_preprint_that_pubmed_does_not_have_is_sent_to_the_source_that_showed_it(gate: Gate) -> None:
    """Its DOI can be asked for in PubMed, in vain; "not found" alone would leave it at that."""
    found = await gate.call("search_europepmc", query="metformin", sources=["PPR"])
    preprint = REFERENCE.findall(found.text.partition("<papers")[2])[0]
    shown = await gate.call("fetch_pubmed", references=[preprint, await gate.shown("90000101")])
    assert f"Failed: {preprint}: no record in PubMed; use fetch_europepmc." in shown.text
    assert "Fetched 1 of 1" in (await gate.call("fetch_europepmc", references=[preprint])).text


async def test_a_second_search_shows_the_titles_alone_of_what_the_first_has_shown(gate: Gate) -> None:
    first = await gate.call("search_pubmed", query=QUERY)
    second = await gate.call("search_pubmed", query=f"{QUERY} AND older")
    again = set(REFERENCE.findall(second.text)) & set(REFERENCE.findall(first.text))
    assert again
    assert second.text.count("(shown before)") == len(again)
    assert "(shown before)" not in first.text


def test_a_next_step_that_only_points_at_the_message_is_not_read_out_to_the_model(gate: Gate) -> None:
    shown = gate.custody.refusal("Search s1", source_error("pubmed", "configuration", "The key is not accepted"))
    assert shown.text == "Search s1\nThe key is not accepted. This says nothing about the literature."


async def test_a_failed_look_is_a_fact_with_its_error_logged(gate: Gate, sandbox: SandboxServer) -> None:
    reference = await gate.shown("90000101")
    sandbox.faults.set("eutils", "server_error", path="elink")
    shown = await gate.call("find_related", reference=reference, relation="similar")
    assert shown.outcome == "fact"
    assert "This says nothing about the literature." in shown.text
    (entry,) = [entry for entry in gate.ledger.entries if entry.kind == "fetch"]
    assert entry.error is not None
    assert entry.error.reason == "pubmed_unreachable"


@pytest.mark.parametrize(("seed", "found"), [("90000101", 0), ("90000103", 1)])
async def test_a_look_is_logged_under_each_source_that_was_asked(
    gate: Gate, sandbox: SandboxServer, seed: str, found: int
) -> None:
    """Promise 4: that Europe PMC answered does not hide that PubMed failed."""
    reference = await gate.shown(seed)
    sandbox.faults.set("eutils", "server_error", path="elink")
    shown = await gate.call("find_related", reference=reference, relation="cited_by")
    assert shown.outcome == "ok"
    first, second = [entry for entry in gate.ledger.entries if entry.kind == "fetch"]
    assert (first.source, first.references) == ("pubmed", ())
    assert first.error is not None
    assert first.error.reason == "pubmed_unreachable"
    assert (second.source, len(second.references), second.error) == ("europepmc", found, None)


# --- match_citations --------------------------------------------------------------------------------------------------


async def test_pasted_citations_are_judged_by_number_and_matched_works_get_a_reference(gate: Gate) -> None:
    """K080, K081: no name, journal or identifier comes back to the model."""
    title = "Metformin to slow cognitive decline in older adults with type 2 diabetes"
    shown = await gate.call(
        "match_citations",
        citations=[
            f"Lindqvist ÅM. {title}. Nature. 2021;48(3):201-12. doi:10.5555/synthetic.90000101",
            "Author 2021 time travel psychology",
            f"Lindqvist ÅM (2021). {title}.",
        ],
    )
    lines = shown.text.splitlines()
    assert lines[0] == "Citations | 3 checked | 1 matched, 1 miscited, 1 unknown"
    assert re.fullmatch(rf"Citation 1: miscited: {REFERENCE.pattern} \| wrong: journal", lines[1])
    assert lines[2].startswith("Citation 2: unknown")
    assert re.fullmatch(rf"Citation 3: matched: {REFERENCE.pattern}", lines[3])
    assert len(gate.ledger.shown_references()) == 1
    nothing_leaks(shown, gate)


async def test_citations_that_could_not_be_asked_say_so(gate: Gate, sandbox: SandboxServer) -> None:
    sandbox.faults.set("all", "server_error")
    shown = await gate.call("match_citations", citations=["PMID: 90000101"])
    assert "Citation 1: failed" in shown.text
    assert "This says nothing about the citation." in shown.text
    assert gate.ledger.failures()[0].reason == "pubmed_unreachable"


# --- convert_ids and lookup_mesh --------------------------------------------------------------------------------------


async def test_conversion_says_what_there_is_and_hands_out_no_identifier(gate: Gate) -> None:
    in_pmc, not_in_pmc = await gate.shown("90000101"), await gate.shown("90000202")
    shown = await gate.call("convert_ids", references=[in_pmc, not_in_pmc])
    assert f"Identifiers: {in_pmc}: PubMed, PMC, DOI" in shown.text
    assert re.search(rf"^Identifiers: {not_in_pmc}: PubMed.*\| not in PMC$", shown.text, re.M)
    nothing_leaks(shown, gate)
    assert isinstance(shown.result, tuple)
    assert [getattr(one, "pmcid", None) for one in shown.result] == ["PMC90000101", None]


async def test_conversion_takes_references_only_and_fails_as_a_fact(gate: Gate, sandbox: SandboxServer) -> None:
    reference = await gate.shown("90000101")
    assert (await gate.call("convert_ids", references=["PMC90000101"])).outcome == "correction"
    sandbox.faults.set("pmc", "server_error")
    shown = await gate.call("convert_ids", references=[reference])
    assert shown.outcome == "fact"


async def test_a_queue_longer_than_the_deadline_is_a_fact_of_the_conversion(gate: Gate, wire: Transport) -> None:
    reference = await gate.shown("90000101")
    done = asyncio.Event()

    async def occupy() -> None:
        async with wire.job("pmc"):
            await done.wait()

    async with asyncio.TaskGroup() as group:
        for _ in range(20):
            group.create_task(occupy())
        await asyncio.sleep(0)
        with wire.deadline(0.01):
            shown = await gate.call("convert_ids", references=[reference])
        done.set()
    assert shown.outcome == "fact"
    assert [failure.reason for failure in gate.ledger.failures()] == ["pmc_timeout"]


async def test_a_heading_is_found_and_a_failure_is_no_missing_heading(gate: Gate, sandbox: SandboxServer) -> None:
    shown = await gate.call("lookup_mesh", term="metformin")
    assert shown.text.splitlines()[:2] == ["MeSH | metformin | ok | shown 1 of 1", "Heading: Metformin"]
    empty = await gate.call("lookup_mesh", term="blorptine")
    assert "Nothing found" in empty.text
    sandbox.faults.set("eutils", "html")
    failed = await gate.call("lookup_mesh", term="metformin")
    assert failed.outcome == "fact"
    assert (await gate.call("lookup_mesh", term="[]")).outcome == "correction"


# --- the tools as a model sees them -----------------------------------------------------------------------------------


def schemas(*sources: Any) -> dict[str, dict[str, Any]]:
    toolset = build_toolset(sources).wrapped
    tools: dict[str, Any] = toolset.tools  # type: ignore[attr-defined]  # a FunctionToolset
    return {name: tool.function_schema.json_schema for name, tool in tools.items()}


def test_the_tools_of_the_design_are_there_for_the_sources_that_carry_them() -> None:
    several = {"search_all", "find_related", "match_citations", "convert_ids", "lookup_mesh"}
    assert several <= set(schemas(*BOTH))
    assert set(schemas(pubmed.SOURCE)) & several == several - {"search_all"}
    assert set(schemas(europepmc.SOURCE)) & several == {"find_related", "match_citations"}


def test_their_schemas_are_flat_and_explicit() -> None:
    """K099, K100."""
    for name in ("search_all", "find_related", "match_citations", "convert_ids", "lookup_mesh"):
        schema = json.dumps(schemas(*BOTH)[name])
        assert "$ref" not in schema
        assert '"additionalProperties": true' not in schema
    assert schemas(*BOTH)["find_related"]["properties"]["relation"]["enum"] == [
        "similar",
        "cited_by",
        "references",
        "linked",
    ]


@pytest.mark.parametrize(
    "given",
    [
        "One, A. Title. J 2020;1:2\nTwo, B. Title. J 2021;3:4",
        ["One, A. Title. J 2020;1:2", "Two, B. Title. J 2021;3:4"],
        '["One, A. Title. J 2020;1:2", "Two, B. Title. J 2021;3:4"]',
    ],
)
def test_citations_are_not_split_at_their_commas(given: Any) -> None:
    """K093."""
    tools: dict[str, Any] = build_toolset(BOTH).wrapped.tools  # type: ignore[attr-defined]  # a FunctionToolset
    read = tools["match_citations"].function_schema.validator.validate_python({"citations": given})
    assert [citation[:3] for citation in read["citations"]] == ["One", "Two"]


def test_a_pasted_list_of_references_is_parted_at_its_lines_whatever_its_numbers_stand_in() -> None:
    tools: dict[str, Any] = build_toolset(BOTH).wrapped.tools  # type: ignore[attr-defined]  # a FunctionToolset
    read = tools["match_citations"].function_schema.validator.validate_python(
        {"citations": "[1] One, A. Title. J 2020;1:2\n[2] Two, B. Title. J 2021;3:4"}
    )
    assert [citation[:7] for citation in read["citations"]] == ["[1] One", "[2] Two"]


# --- references that name nothing -------------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", ["fetch_pubmed", "fetch_europepmc"])
async def test_a_fetch_of_what_was_not_shown_asks_nothing_and_says_which_reference_and_why(
    gate: Gate, tool: str
) -> None:
    shown = await gate.shown("90000101")
    unknown = "«artifact:link:cite~0000000000»"
    key = shown.split("~")[1].rstrip("»")
    mistyped = shown.replace(key, key[:-1] + ("0" if key[-1] != "0" else "1"))
    before = len(gate.ledger.entries)
    refused = await gate.call(tool, references=[shown, unknown, mistyped])
    assert refused.outcome == "correction"
    assert f"{unknown!r} is unknown; use only references that a tool result has shown." in refused.text
    assert f"{mistyped!r} is mistyped; the reference is {shown}." in refused.text
    assert len(gate.ledger.entries) == before
