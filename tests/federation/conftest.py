"""A desk in place of the network: every service answers from it, and what was asked is kept."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from literature_agent.sandbox import SandboxServer
from literature_agent.settings import Settings
from literature_agent.transport import Transport
from tests.desks import PAYLOADS, Desk, StillClock, bare_settings


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
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def desk() -> Desk:
    return Desk(PAYLOADS / "pmc")


@pytest.fixture
def settings() -> Settings:
    return bare_settings()


@pytest.fixture
async def transport(desk: Desk, settings: Settings) -> AsyncIterator[Transport]:
    async with Transport(settings, network=httpx.MockTransport(desk), clock=StillClock()) as opened:
        yield opened


@pytest.fixture
def here(sandbox: SandboxServer, tmp_path: Path) -> Settings:
    """Settings that point at the sandbox."""
    return bare_settings(**sandbox.settings_overrides(), cache_dir=tmp_path / "cache", retry_max_wait_s=0.01)


@pytest.fixture
async def wire(here: Settings) -> AsyncIterator[Transport]:
    async with Transport(here) as opened:
        yield opened
