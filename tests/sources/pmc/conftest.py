"""A desk in place of the network: what NCBI would answer, and what it was asked."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote_plus

import httpx
import pytest

from literature_agent.settings import Settings
from literature_agent.sources.pmc import PMCClient, PMCTools
from literature_agent.transport import Transport

PAYLOADS = Path(__file__).resolve().parents[2] / "payloads" / "pmc"
KINDS = {".xml": "text/xml; charset=UTF-8", ".json": "application/json", ".html": "text/html"}


class StillClock:
    """Time that passes only by waiting, and never really waits."""

    def __init__(self) -> None:
        self.waited = 0.0

    def monotonic(self) -> float:
        return self.waited

    def now(self) -> datetime:
        return datetime(2026, 11, 30, 12, tzinfo=UTC)

    async def sleep(self, seconds: float) -> None:
        self.waited += seconds

    def block(self, seconds: float) -> None:
        self.waited += seconds


@dataclass
class Desk:
    """The first prepared answer whose pattern is found in `METHOD /path?parameters` (decoded) is given."""

    asked: list[str] = field(default_factory=list)
    rules: list[tuple[re.Pattern[str], int, bytes, str]] = field(default_factory=list)

    def answers(self, pattern: str, body: str | bytes, *, status: int = 200, kind: str = "text/plain") -> None:
        """`body` is the name of a payload if it ends like one, else what is answered."""
        if isinstance(body, str) and (suffix := Path(body).suffix) in KINDS and "\n" not in body:
            content, kind = (PAYLOADS / body).read_bytes(), KINDS[suffix]
        else:
            content = body.encode() if isinstance(body, str) else body
        self.rules.append((re.compile(pattern), status, content, kind))

    def __call__(self, request: httpx.Request) -> httpx.Response:
        raw = request.content.decode("ascii") if request.method == "POST" else request.url.query.decode("ascii")
        line = f"{request.method} {request.url.path}?{unquote_plus(raw)}"
        self.asked.append(line)
        for pattern, status, content, kind in self.rules:
            if pattern.search(line):
                return httpx.Response(status, content=content, headers={"content-type": kind})
        raise AssertionError(f"nothing prepared for {line}")


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
async def transport(desk: Desk) -> AsyncIterator[Transport]:
    settings = Settings(pace="off", rate_limit_store="memory", cache="off", breaker="off")
    async with Transport(settings, network=httpx.MockTransport(desk), clock=StillClock()) as opened:
        yield opened


@pytest.fixture
def client(transport: Transport) -> PMCClient:
    return PMCClient(transport)


@pytest.fixture
def tools(client: PMCClient) -> PMCTools:
    return PMCTools(client)
