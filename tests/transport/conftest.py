"""Time that does not pass, servers that misbehave."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import ssl
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from literature_agent.settings import Settings
from literature_agent.transport import Breakers, MemoryPaceStore, PaceStore, Request, Sandboxes, Transport

CERTIFICATE = Path(__file__).parent / "loopback.pem"


class FakeClock:
    """Time passes only while everybody sleeps, and then at once."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.slept: list[float] = []
        self.asleep = asyncio.Event()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = itertools.count()
        self._driver: asyncio.Task[None] | None = None

    def monotonic(self) -> float:
        return self.seconds

    def now(self) -> datetime:
        return datetime(2026, 11, 30, tzinfo=UTC) + timedelta(seconds=self.seconds)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.asleep.set()
        turn = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.seconds + seconds, next(self._order), turn))
        if self._driver is None or self._driver.done():
            self._driver = asyncio.create_task(self._pass_time())
        await turn

    def block(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds

    async def _pass_time(self) -> None:
        while self._sleepers:
            for _ in range(30):  # let everybody who can go on go on first
                await asyncio.sleep(0)
            when, _, turn = heapq.heappop(self._sleepers)
            if not turn.done():
                self.seconds = max(self.seconds, when)
                turn.set_result(None)


class SharedInMemory(MemoryPaceStore):
    """Stands in for what several processes share, without threads, so that time can stand still."""

    shared = True


class Wire:
    """Stands in for the network under the real client: gives the replies in turn, the last one for ever."""

    def __init__(self, clock: FakeClock, *replies: httpx.Response | Exception) -> None:
        self.requests: list[httpx.Request] = []
        self.times: list[float] = []
        self._clock = clock
        self._replies = replies
        self.transport = httpx.MockTransport(self._answer)

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        reply = self._replies[min(len(self.requests), len(self._replies) - 1)]
        self.requests.append(request)
        self.times.append(self._clock.seconds)
        if isinstance(reply, Exception):
            raise reply
        return httpx.Response(reply.status_code, headers=reply.headers, content=reply.content)

    @property
    def gaps(self) -> list[float]:
        """Seconds between the requests, to the millisecond."""
        return [round(later - earlier, 3) for earlier, later in itertools.pairwise(self.times)]


class Loopback:
    """A real HTTP server; `handle` writes the answer, by `answer` or as it likes."""

    def __init__(self, handle: Callable[[Handler], None], *, tls: bool = False) -> None:
        outer = self
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        """Method, path with query, headers (lower case), body."""

        class Bound(Handler):
            def serve(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                outer.requests.append((self.command, self.path, headers, body))
                handle(self)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Bound)
        self._server.daemon_threads = True
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(CERTIFICATE)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.port: int = self._server.server_port
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}/"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def serve(self) -> None:
        raise NotImplementedError

    def do_GET(self) -> None:
        self.serve()

    def do_POST(self) -> None:
        self.serve()

    def do_CONNECT(self) -> None:
        self.serve()

    def answer(self, status: int = 200, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        return


ASK = Request("pubmed", "eutils", "esearch.fcgi", params=(("db", "pubmed"), ("term", "sleep apnoea")))


@pytest.fixture
def ask() -> Request:
    """A search as PubMed's client builds it."""
    return ASK


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def shared_store() -> PaceStore:
    """What several processes share, as far as the code can tell."""
    return SharedInMemory()


@pytest.fixture
def wire(clock: FakeClock) -> Callable[..., Wire]:
    return lambda *replies: Wire(clock, *replies)


@pytest.fixture
def open_transport(clock: FakeClock) -> Callable[..., Transport]:
    """A transport with a pace and breakers of its own and no cache; `url` stands for every service."""

    def build(
        wire: Wire | None = None, *, url: str = "http://service.test/", real_time: bool = False, **given: Any
    ) -> Transport:
        names = ("on_attempt", "read_timeout", "max_body", "store", "breakers", "sandboxes", "recording")
        own = {name: given.pop(name) for name in names if name in given}
        bases = dict.fromkeys(
            ("ncbi_base_url", "pmc_base_url", "europepmc_base_url", "biorxiv_base_url", "clinicaltrials_base_url"), url
        )
        return Transport(
            Settings(**{**bases, "cache": "off", **given}),
            network=None if wire is None else wire.transport,
            clock=None if real_time else clock,
            **{"store": MemoryPaceStore(), "breakers": Breakers(), "sandboxes": Sandboxes(), **own},
        )

    return build


@pytest.fixture
def serve() -> Iterator[Callable[..., Loopback]]:
    """Start a loopback server; all are stopped after the test."""
    running: list[Loopback] = []

    def start(handle: Callable[[Handler], None], *, tls: bool = False) -> Loopback:
        running.append(Loopback(handle, tls=tls))
        return running[-1]

    yield start
    for server in running:
        server.close()
