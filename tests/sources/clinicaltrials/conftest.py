"""A desk in place of the network: what ClinicalTrials.gov would answer, and what it was asked."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import httpx
import pytest

from literature_agent.settings import Settings
from literature_agent.sources.clinicaltrials.client import ClinicalTrialsClient
from literature_agent.sources.clinicaltrials.tools import ClinicalTrialsTools
from literature_agent.transport import Transport

PAYLOADS = Path(__file__).resolve().parents[2] / "payloads" / "clinicaltrials"


class StillClock:
    """Time that never really passes."""

    def monotonic(self) -> float:
        return 0.0

    def now(self) -> datetime:
        return datetime(2026, 11, 30, 12, tzinfo=UTC)

    async def sleep(self, seconds: float) -> None:
        """Nothing waits here."""

    def block(self, seconds: float) -> None:
        """Nothing waits here."""


@dataclass
class Sent:
    """One request as it went out."""

    path: str
    fields: dict[str, str]
    headers: httpx.Headers


@dataclass
class Rule:
    """One prepared answer, given `left` times."""

    pattern: re.Pattern[str]
    status: int
    content: bytes
    headers: dict[str, str]
    left: int


@dataclass
class Desk:
    """The first prepared answer whose pattern is found in `path?fields` (decoded) is given; 404 if none is."""

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
        location: str = "",
    ) -> None:
        content = json.dumps(body).encode() if isinstance(body, dict) else body
        content = content.encode() if isinstance(content, str) else content
        headers = {"content-type": kind, **({"location": location} if location else {})}
        self.rules.append(Rule(re.compile(pattern), status, content, headers, times))

    def answers_with(self, pattern: str, payload: str, *, status: int = 200, times: int = 10**9) -> None:
        kind = "text/plain" if payload.endswith(".txt") else "application/json"
        self.answers(pattern, (PAYLOADS / payload).read_bytes(), status=status, kind=kind, times=times)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        query = request.url.query.decode("ascii")
        fields = {name: values[0] for name, values in parse_qs(query, keep_blank_values=True).items()}
        path = request.url.path.removeprefix("/api/v2/")
        self.sent.append(Sent(path, fields, request.headers))
        line = f"{path}?" + "&".join(f"{name}={value}" for name, value in fields.items())
        for rule in self.rules:
            if rule.left > 0 and rule.pattern.search(line):
                rule.left -= 1
                return httpx.Response(rule.status, content=rule.content, headers=rule.headers)
        return httpx.Response(404, content=b"NCT number not found", headers={"content-type": "text/plain"})


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
async def transport(desk: Desk) -> AsyncIterator[Transport]:
    settings = Settings(pace="off", rate_limit_store="memory", cache="off", breaker="off")
    async with Transport(settings, network=httpx.MockTransport(desk), clock=StillClock()) as opened:
        yield opened


@pytest.fixture
def tools(transport: Transport) -> ClinicalTrialsTools:
    return ClinicalTrialsTools(ClinicalTrialsClient(transport))


@pytest.fixture
def payload() -> Callable[[str], bytes]:
    return lambda name: (PAYLOADS / name).read_bytes()


@pytest.fixture
def studies() -> Callable[..., dict[str, Any]]:
    """Builds a page of plain studies: `studies(1, 2, total=5, token="t")`."""

    def build(*numbers: int, total: int | None = None, token: str | None = None) -> dict[str, Any]:
        rows = [
            {
                "protocolSection": {
                    "identificationModule": {"nctId": f"NCT{90000000 + n}", "briefTitle": f"Synthetic {n}"}
                }
            }
            for n in numbers
        ]
        page: dict[str, Any] = {"studies": rows}
        if total is not None:
            page["totalCount"] = total
        if token is not None:
            page["nextPageToken"] = token
        return page

    return build
