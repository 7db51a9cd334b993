"""Two sources with tools of the same names: which of them a model's call reaches, and with which window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from literature_agent.custody import Call, Custody, Event
from literature_agent.ledger import Ledger
from literature_agent.outputs import AggregationRequest
from literature_agent.registry import ArtifactRegistry
from literature_agent.sources import Source
from literature_agent.sources.biorxiv import BIORXIV, MEDRXIV
from literature_agent.transport import Transport

if TYPE_CHECKING:
    from tests.desks import Desk

JULY = {"query": "widgets", "date_from": "2026-07-01", "date_to": "2026-07-03"}


class Gate:
    """A custody over the desk, and what it told."""

    def __init__(self, transport: Transport, *sources: Source, **limits: Any) -> None:
        self.events: list[Event] = []
        self.custody = Custody(
            "run",
            sources,
            transport,
            ArtifactRegistry(),
            Ledger("run"),
            AggregationRequest(question="Widgets?", **limits),
            self.events.append,
        )
        self.calls = 0

    async def search(self, **arguments: Any) -> str:
        self.calls += 1
        shown = await self.custody.call("search_biorxiv", arguments, Call(f"call-{self.calls}", 1, self.calls))
        return shown.text


@pytest.fixture
def gate(transport: Transport) -> Gate:
    return Gate(transport, BIORXIV, MEDRXIV)


async def test_the_server_named_by_the_model_is_the_source_that_is_logged(gate: Gate, desk: Desk) -> None:
    desk.answers("details/biorxiv/.*/0/json", "window-first-page.json")
    assert (await gate.search(**JULY, server="medrxiv")).startswith("Search s1 | medrxiv | empty")
    assert (await gate.search(**JULY)).startswith("Search s2 | biorxiv | ok")
    assert (await gate.search(**JULY, server="biorxiv", category="immunology")).startswith("Search s3 | biorxiv")
    assert [record.source for record in gate.custody.ledger.search_log()] == ["medrxiv", "biorxiv", "biorxiv"]
    assert [line.split("/")[1] for line in desk.paths][:2] == ["medrxiv", "biorxiv"]


async def test_a_server_that_the_run_may_not_ask_is_a_correction(transport: Transport, desk: Desk) -> None:
    gate = Gate(transport, MEDRXIV)
    assert "this run may ask medRxiv only" in await gate.search(**JULY, server="biorxiv")
    assert desk.sent == []
    assert (await gate.search(**JULY)).startswith("Search s2 | medrxiv | empty")


@pytest.mark.parametrize(
    ("limits", "asked"),
    [
        ({"date_from": "2015"}, "2026-07-01/2026-07-03"),
        ({"date_from": "2026-07-02", "date_to": "2026-07"}, "2026-07-02/2026-07-03"),
        ({"date_to": "2026-07-02"}, "2026-07-01/2026-07-02"),
    ],
)
async def test_a_model_may_narrow_the_window_of_the_request_and_not_widen_it(
    limits: dict[str, str], asked: str, transport: Transport, desk: Desk
) -> None:
    await Gate(transport, BIORXIV, **limits).search(**JULY)
    assert desk.paths == [f"details/biorxiv/{asked}/0/json"]


async def test_progress_is_told_as_events(gate: Gate, desk: Desk) -> None:
    desk.answers("/0/json", "window-first-page.json")
    desk.answers("/3/json", "window-last-page.json")
    await gate.search(**JULY)
    assert [event.text for event in gate.events if event.kind == "search_progress"] == [
        "bioRxiv: 2 pages in the window.",
        "bioRxiv: page 1 of 2 read.",
        "bioRxiv: page 2 of 2 read.",
    ]
