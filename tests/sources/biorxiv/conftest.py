"""A desk in place of the network: what the bioRxiv API would answer, and what it was asked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import httpx
import pytest

from literature_agent.settings import Settings
from literature_agent.sources.biorxiv.client import BioRxivClient
from literature_agent.sources.biorxiv.tools import BioRxivTools
from literature_agent.transport import MemoryPaceStore, Transport
from tests import desks
from tests.desks import Desk, StillClock, bare_settings

PAYLOADS = desks.PAYLOADS / "biorxiv"


Row = Callable[..., dict[str, Any]]
PageOf = Callable[..., dict[str, Any]]


@pytest.fixture
def desk() -> Desk:
    """What no answer was prepared for is not found, as the API says it."""
    nothing = (PAYLOADS / "no-posts-found.json").read_bytes()
    return Desk(PAYLOADS, otherwise=lambda _: httpx.Response(200, content=nothing))


@pytest.fixture
def clock() -> StillClock:
    return StillClock(hour=13)


@pytest.fixture
def biorxiv_settings() -> Settings:
    return bare_settings()


@pytest.fixture
async def transport(desk: Desk, clock: StillClock, biorxiv_settings: Settings) -> AsyncIterator[Transport]:
    async with Transport(biorxiv_settings, network=httpx.MockTransport(desk), clock=clock) as opened:
        yield opened


@pytest.fixture
def paced(desk: Desk, clock: StillClock) -> Callable[..., Transport]:
    """Opens a transport that keeps the pace of one request a second, less a margin, on a clock that never waits."""

    def opened(**settings: Any) -> Transport:
        wanted = bare_settings(pace="on", **settings)
        return Transport(wanted, network=httpx.MockTransport(desk), clock=clock, store=MemoryPaceStore())

    return opened


@pytest.fixture
def tools(transport: Transport) -> BioRxivTools:
    return BioRxivTools(BioRxivClient(transport, "biorxiv"))


@pytest.fixture
def medrxiv(transport: Transport) -> BioRxivTools:
    return BioRxivTools(BioRxivClient(transport, "medrxiv"))


@pytest.fixture
def payload() -> Callable[[str], bytes]:
    return lambda name: (PAYLOADS / name).read_bytes()


@pytest.fixture
def row() -> Row:
    """Builds a row of the API with the members that every row has: `row(7, category="zoology")`."""
    return _row


@pytest.fixture
def page() -> PageOf:
    """Builds an answer with these rows: `page([row(1)], total="2")`."""
    return _page


@pytest.fixture
def window(desk: Desk) -> Callable[..., None]:
    """Puts a window of so many rows on the desk, in pages of `size`; what lies behind them is not found."""

    def put(*, rows: int, size: int = 30, total: object = None, where: str = "", date: str = "2026-07-01") -> None:
        for cursor in range(0, rows, size):
            numbers = range(cursor, min(rows, cursor + size))
            content = _page([_row(number, date=date) for number in numbers], total=total or rows)
            desk.answers(rf"{where}/{cursor}/json", content)

    return put


def _row(number: int, **members: Any) -> dict[str, Any]:
    return {
        "doi": f"10.5555/2026.01.01.{number:06d}",
        "title": f"Synthetic preprint {number}",
        "authors": "Doe, J.; Roe, R.",
        "date": "2026-07-01",
        "version": "1",
        "type": "new results",
        "license": "cc_by",
        "category": "immunology",
        "abstract": f"Invented abstract {number} about widgets.",
        "published": "NA",
        "server": "bioRxiv",
        **members,
    }


def _page(rows: Sequence[dict[str, Any]], *, total: object = None, category: str = "all") -> dict[str, Any]:
    stated = str(len(rows) if total is None else total)
    return {
        "messages": [{"status": "ok", "category": category, "count": len(rows), "total": stated}],
        "collection": list(rows),
    }
