"""A call of any tool that is cut while a source is asked: logged as cut, and the records that had come are kept."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from literature_agent.artifacts import DetailedEuropePMCArticle
from literature_agent.sandbox import SandboxServer
from literature_agent.sources import biorxiv, europepmc, pubmed
from literature_agent.transport import Transport

from .test_several import QUERY, REFERENCE, Gate, gate, gate_over, wire

__all__ = ["gate", "wire"]

SLOW_S = 30.0


async def cut(
    gate: Gate, sandbox: SandboxServer, tool: str, *, slow: str, beside: bool = False, **arguments: Any
) -> None:
    """Call the tool, and end the run while the request to an address with `slow` in it has no answer; if another
    source is asked `beside` it, once that one has answered."""
    sandbox.faults.set("all", "slow", seconds=SLOW_S, path=slow, times=1)
    task = asyncio.create_task(gate.call(tool, **arguments))
    while sandbox.faults.standing() or (beside and not any(asked.answer for asked in gate.custody.under_way)):
        assert not task.done(), f"{tool} asked no {slow}: {task.result()}"
        await asyncio.sleep(0.005)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    gate.custody.cut_short("cancelled")


def whole(gate: Gate, reference: str) -> bool:
    """Whether the whole record of Europe PMC is held, as a fetch brings it."""
    return any(isinstance(copy, DetailedEuropePMCArticle) for copy in gate.custody.registry.copies(reference))


@pytest.mark.parametrize(
    ("tool", "slow", "arguments", "source"),
    [
        ("find_related", "elink", {"reference": None, "relation": "similar"}, "pubmed"),
        ("match_citations", "efetch", {"citations": ["PMID 90000101"]}, "pubmed"),
        ("convert_ids", "idconv", {"references": None}, "pmc"),
        ("lookup_mesh", "esearch", {"term": "heart attack"}, "pubmed"),
        ("fetch_pubmed", "efetch", {"references": None}, "pubmed"),
        ("read_pmc_full_text", "", {"reference": None}, "pmc"),
    ],
)
async def test_it_stands_in_the_log_as_cut(
    gate: Gate, sandbox: SandboxServer, tool: str, slow: str, arguments: Mapping[str, Any], source: str
) -> None:
    """Promise 4: cut short is not the same as not asked."""
    shown = await gate.shown("90000101")
    fills = {"reference": shown, "references": [shown]}
    given: dict[str, Any] = {name: fills.get(name) if value is None else value for name, value in arguments.items()}
    await cut(gate, sandbox, tool, slow=slow, **given)
    (failure,) = gate.ledger.failures()
    assert (failure.source, failure.reason, failure.call_id) == (source, f"{source}_timeout", "call-2")
    assert failure.message.endswith("was cut short. The run was cancelled before it was answered.")
    assert gate.custody.under_way == []


async def test_an_answered_call_leaves_nothing_under_way(gate: Gate) -> None:
    shown = await gate.shown("90000101")
    await gate.call("lookup_mesh", term="heart attack")
    await gate.call("match_citations", citations=["PMID 90000101"])
    await gate.call("convert_ids", references=[shown])
    await gate.call("find_related", reference=shown, relation="linked")
    await gate.call("fetch_europepmc", references=[shown])
    gate.custody.cut_short("cancelled")
    assert gate.ledger.failures() == ()


async def test_a_fetch_keeps_the_records_that_had_come(gate: Gate, sandbox: SandboxServer) -> None:
    """Promise 5."""
    found = REFERENCE.findall((await gate.call("search_europepmc", query="metformin", max_results=3)).text)
    numbers = [getattr(gate.custody.registry.copies(each)[0], "epmc_id", "") for each in found]
    await cut(gate, sandbox, "fetch_europepmc", slow=f"/{numbers[2]}", references=found)
    assert [whole(gate, each) for each in found] == [True, True, False]
    entry = gate.ledger.entries[-1]
    assert (entry.kind, entry.references, entry.asked) == ("fetch", tuple(found[:2]), 3)
    assert entry.error is not None
    assert entry.error.reason == "europepmc_timeout"


async def test_a_fetch_from_two_sources_keeps_what_one_has_answered(wire: Transport, sandbox: SandboxServer) -> None:
    gate = gate_over(wire, sources=(pubmed.SOURCE, europepmc.SOURCE), reroutes=True)
    paper = await gate.shown("90000101")
    preprint = REFERENCE.findall((await gate.call("search_europepmc", query="SRC:PPR", sources=["PPR"])).text)[0]
    await cut(gate, sandbox, "fetch_pubmed", slow="europepmc", beside=True, references=[paper, preprint])
    answered, unanswered = gate.ledger.entries[-2:]
    assert (answered.source, answered.references, answered.error) == ("pubmed", (paper,), None)
    assert (unanswered.source, unanswered.references) == ("europepmc", ())
    assert [failure.reason for failure in gate.ledger.failures()] == ["europepmc_timeout"]


async def test_a_look_across_sources_is_logged_under_each_that_was_asked(gate: Gate, sandbox: SandboxServer) -> None:
    """Promise 4: Europe PMC was asked after PubMed had failed, so both stand in the log."""
    reference = await gate.shown("90000101")
    sandbox.faults.set("eutils", "server_error", path="elink", times=3)
    await cut(gate, sandbox, "find_related", slow="citations", reference=reference, relation="cited_by")
    first, second = gate.ledger.entries[-2:]
    assert [entry.source for entry in (first, second)] == ["pubmed", "europepmc"]
    assert [failure.reason for failure in gate.ledger.failures()] == ["pubmed_timeout", "europepmc_timeout"]


async def test_a_search_keeps_and_shows_the_records_that_had_come(gate: Gate, sandbox: SandboxServer) -> None:
    await cut(gate, sandbox, "search_pubmed", slow="espell", query="metformin OR zzzunknown")
    (line,) = gate.ledger.search_log()
    assert (line.status, line.reason) == ("partial", "pubmed_timeout")
    assert line.retrieved == line.new == len(gate.custody.registry) == len(gate.ledger.shown_references()) > 0
    assert [event.kind for event in gate.events] == ["search_started", "search_finished"]


async def test_a_search_of_all_keeps_what_the_other_source_had_answered(gate: Gate, sandbox: SandboxServer) -> None:
    await cut(gate, sandbox, "search_all", slow="europepmc", beside=True, query=QUERY, max_results=5)
    first, second = gate.ledger.search_log()
    assert (first.source, first.status, first.retrieved) == ("pubmed", "ok", 5)
    assert (second.source, second.status, second.retrieved) == ("europepmc", "failed", 0)
    assert len(gate.ledger.shown_references()) == 5


async def test_a_search_of_all_keeps_what_a_source_had_given_of_its_answer(gate: Gate, sandbox: SandboxServer) -> None:
    await cut(gate, sandbox, "search_all", slow="espell", beside=True, query="metformin OR zzzunknown", max_results=5)
    first, second = gate.ledger.search_log()
    assert (first.source, first.status, first.retrieved) == ("pubmed", "partial", 5)
    assert (second.source, second.status, second.reason) == ("europepmc", "ok", None)


async def test_preprints_read_one_by_one_are_kept(wire: Transport, sandbox: SandboxServer) -> None:
    gate = gate_over(wire, sources=(biorxiv.BIORXIV,))
    shown = await gate.call("search_biorxiv", query="the OR a OR of", date_from="2023-01-01", date_to="2024-12-31")
    first, second, *_ = REFERENCE.findall(shown.text)
    doi = gate.custody.registry.copies(second)[0].doi
    await cut(gate, sandbox, "fetch_biorxiv", slow=str(doi), references=[first, second])
    assert gate.ledger.entries[-1].references == (first,)
