"""A desk in place of the network: what the bioRxiv API would answer, and what it was asked."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from literature_agent.settings import Settings
from literature_agent.sources.biorxiv.client import BioRxivClient
from literature_agent.sources.biorxiv.tools import BioRxivTools
from literature_agent.transport import MemoryPaceStore, Transport

PAYLOADS = Path(__file__).resolve().parents[2] / "payloads" / "biorxiv"


Row = Callable[..., dict[str, Any]]
PageOf = Callable[..., dict[str, Any]]


class StillClock:
    """Time that passes only by waiting, and never really waits."""

    def __init__(self) -> None:
        self.waited = 0.0
        self.today = datetime(2026, 11, 30, 13, tzinfo=UTC)

    def monotonic(self) -> float:
        return self.waited

    def now(self) -> datetime:
        return self.today + timedelta(seconds=self.waited)

    async def sleep(self, seconds: float) -> None:
        self.waited += seconds

    def block(self, seconds: float) -> None:
        self.waited += seconds


@dataclass
class Rule:
    """One prepared answer, given `left` times."""

    pattern: re.Pattern[str]
    status: int
    content: bytes
    kind: str
    left: int


@dataclass
class Desk:
    """The first prepared answer whose pattern is found in `path?query` (decoded) is given; else nothing is found."""

    sent: list[str] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)

    def answers(
        self,
        pattern: str,
        body: str | bytes | dict[str, Any],
        *,
        status: int = 200,
        kind: str = "application/json",
        times: int = 10**9,
    ) -> None:
        content = json.dumps(body).encode() if isinstance(body, dict) else body
        content = content.encode() if isinstance(content, str) else content
        self.rules.append(Rule(re.compile(pattern), status, content, kind, times))

    def answers_with(self, pattern: str, payload: str, *, times: int = 10**9) -> None:
        self.answers(pattern, (PAYLOADS / payload).read_bytes(), times=times)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        query = f"?{httpx.QueryParams(request.url.query.decode())}".replace("+", " ") if request.url.query else ""
        line = request.url.path.lstrip("/") + query
        self.sent.append(line)
        for rule in self.rules:
            if rule.left > 0 and rule.pattern.search(line):
                rule.left -= 1
                return httpx.Response(rule.status, content=rule.content, headers={"content-type": rule.kind})
        return httpx.Response(200, content=(PAYLOADS / "no-posts-found.json").read_bytes())


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
def biorxiv_settings() -> Settings:
    return Settings(pace="off", rate_limit_store="memory", cache="off", breaker="off")


@pytest.fixture
async def transport(desk: Desk, clock: StillClock, biorxiv_settings: Settings) -> AsyncIterator[Transport]:
    async with Transport(biorxiv_settings, network=httpx.MockTransport(desk), clock=clock) as opened:
        yield opened


@pytest.fixture
def paced(desk: Desk, clock: StillClock) -> Callable[..., Transport]:
    """Opens a transport that keeps the pace of one request a second, less a margin, on a clock that never waits."""

    def opened(**settings: Any) -> Transport:
        wanted = Settings(pace="on", rate_limit_store="memory", cache="off", breaker="off", **settings)
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
