"""A desk in place of the network: what Europe PMC would answer, and what it was asked."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import httpx
import pytest

from literature_agent.settings import Settings
from literature_agent.sources.europepmc.client import EuropePMCClient
from literature_agent.sources.europepmc.tools import EuropePMCTools
from literature_agent.transport import Transport

PAYLOADS = Path(__file__).resolve().parents[2] / "payloads" / "europepmc"


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
class Sent:
    """One request as it went out."""

    method: str
    path: str
    raw_query: str
    fields: dict[str, str]


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
    """The first prepared answer whose pattern is found in `METHOD path?fields` (decoded) is given; 404 if none is."""

    sent: list[Sent] = field(default_factory=list)
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
        kind = "application/xml" if payload.endswith(".xml") else "application/json"
        self.answers(pattern, (PAYLOADS / payload).read_bytes(), kind=kind, times=times)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        raw = request.content.decode("ascii") if request.method == "POST" else request.url.query.decode("ascii")
        fields = {name: values[0] for name, values in parse_qs(raw, keep_blank_values=True).items()}
        path = request.url.path.removeprefix("/europepmc/webservices/rest/")
        self.sent.append(Sent(request.method, path, raw, fields))
        line = f"{request.method} {path}?" + "&".join(f"{name}={value}" for name, value in fields.items())
        for rule in self.rules:
            if rule.left > 0 and rule.pattern.search(line):
                rule.left -= 1
                return httpx.Response(rule.status, content=rule.content, headers={"content-type": rule.kind})
        return httpx.Response(404, content=b"", headers={"content-type": "text/plain"})


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
async def transport(desk: Desk, clock: StillClock) -> AsyncIterator[Transport]:
    settings = Settings(pace="off", rate_limit_store="memory", cache="off", breaker="off")
    async with Transport(settings, network=httpx.MockTransport(desk), clock=clock) as opened:
        yield opened


@pytest.fixture
def tools(transport: Transport) -> EuropePMCTools:
    return EuropePMCTools(EuropePMCClient(transport))


@pytest.fixture
def payload() -> Callable[[str], bytes]:
    return lambda name: (PAYLOADS / name).read_bytes()


@pytest.fixture
def rows() -> Callable[..., dict[str, Any]]:
    """Builds a page of plain records: `rows(["90000001", "PPR990001"], total=2, cursor=None)`."""

    def build(ids: Sequence[str], *, total: int, cursor: str | None = None, **more: Any) -> dict[str, Any]:
        results = [
            {
                "id": name,
                "source": "PPR" if name.startswith("PPR") else "MED",
                "title": f"Synthetic {name}",
                "pubTypeList": {"pubType": ["Preprint" if name.startswith("PPR") else "Journal Article"]},
                **more,
            }
            for name in ids
        ]
        page: dict[str, Any] = {"version": "6.9", "hitCount": total, "resultList": {"result": results}}
        return page if cursor is None else {**page, "nextCursorMark": cursor}

    return build
