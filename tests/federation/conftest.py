"""A desk in place of the network: every service answers from it, and what was asked is kept."""

from __future__ import annotations

import re
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote_plus

import httpx
import pytest

from literature_agent.settings import Settings
from literature_agent.transport import Transport

PAYLOADS = Path(__file__).resolve().parents[1] / "payloads" / "pmc"
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
    """The first prepared answer whose pattern is found in `METHOD host/path?fields` (decoded) is given, else 404."""

    asked: list[str] = field(default_factory=list)
    rules: list[tuple[re.Pattern[str], int, bytes, str]] = field(default_factory=list)

    def answers(self, pattern: str, body: str | bytes, *, status: int = 200, kind: str = "application/json") -> None:
        """`body` is the name of a payload if it ends like one, else what is answered."""
        if isinstance(body, str) and (suffix := Path(body).suffix) in KINDS and "\n" not in body:
            content, kind = (PAYLOADS / body).read_bytes(), KINDS[suffix]
        else:
            content = body.encode() if isinstance(body, str) else body
        self.rules.append((re.compile(pattern), status, content, kind))

    def fails(self, pattern: str) -> None:
        self.answers(pattern, "busy", status=503, kind="text/plain")

    def count(self, pattern: str) -> int:
        """How many requests so far match."""
        return sum(1 for line in self.asked if re.search(pattern, line))

    def __call__(self, request: httpx.Request) -> httpx.Response:
        raw = request.content.decode("ascii") if request.method == "POST" else request.url.query.decode("ascii")
        line = f"{request.method} {request.url.host}{request.url.path}?{unquote_plus(raw)}"
        self.asked.append(line)
        for pattern, status, content, kind in self.rules:
            if pattern.search(line):
                return httpx.Response(status, content=content, headers={"content-type": kind})
        return httpx.Response(404, content=b"", headers={"content-type": "text/plain"})


@pytest.fixture
def served(desk: Desk) -> Iterator[str]:
    """The desk behind a real server on the loopback interface; the value is its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer = desk(httpx.Request("GET", f"http://desk{self.path}"))
            self.send_response(answer.status_code)
            self.send_header("content-type", answer.headers["content-type"])
            self.send_header("content-length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def settings() -> Settings:
    return Settings(pace="off", rate_limit_store="memory", cache="off", breaker="off")


@pytest.fixture
async def transport(desk: Desk, settings: Settings) -> AsyncIterator[Transport]:
    async with Transport(settings, network=httpx.MockTransport(desk), clock=StillClock()) as opened:
        yield opened
