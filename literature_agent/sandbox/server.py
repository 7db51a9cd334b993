"""The local HTTP server: real sockets on loopback, so that the clients' own code runs against it unchanged."""

from __future__ import annotations

import datetime
import json
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple, Self, cast
from urllib.parse import parse_qsl, unquote, urlsplit

from literature_agent.errors import ConfigurationError, InvalidInputError, reason_of
from literature_agent.sandbox.corpus_index import Corpus
from literature_agent.sandbox.faults import Faults, faulty_reply, rate_limited
from literature_agent.sandbox.messages import Reply, Request, json_reply, text_reply
from literature_agent.sandbox.routes import Routes

MARK_HEADER = "X-Literature-Agent-Sandbox"

_HOST = "127.0.0.1"
_LARGEST_BODY = 4 * 1024 * 1024
# The usual limit of the web servers before the real services; longer questions have to be posted.
_LONGEST_ADDRESS = 8_190
_REMEMBERED_REQUESTS = 10_000
_CONTROL = "/_sandbox/"


class Asked(NamedTuple):
    """One request that reached the server; `query` is that of the address, then that of a posted form."""

    method: str
    path: str
    query: str


class SandboxServer:
    """Serves a corpus as PubMed, PMC, Europe PMC, bioRxiv, medRxiv and ClinicalTrials.gov, on loopback only.

    Use it as a context manager. `rate_limit` is in requests a second, for every service or by service; above it the
    server answers 429 as NCBI does.

    Raises:
        ConfigurationError: the port cannot be opened.
    """

    def __init__(
        self,
        corpus: Corpus | None = None,
        *,
        port: int = 0,
        rate_limit: float | Mapping[str, float] | None = None,
        today: Callable[[], datetime.date] = datetime.date.today,
    ) -> None:
        self.corpus = Corpus.packaged() if corpus is None else corpus
        self.faults = Faults()
        self.requests: deque[Asked] = deque(maxlen=_REMEMBERED_REQUESTS)
        self._owns_corpus = corpus is None
        self._limits = _Limits(rate_limit)
        self._http = _listener(port)
        self._http.sandbox = self
        self.base_url = f"http://{_HOST}:{self._http.server_address[1]}"
        self._routes = Routes(self.corpus, base_url=self.base_url, today=today)
        self._thread: threading.Thread | None = None
        self._serving = False

    def settings_overrides(self) -> dict[str, Any]:
        """The settings that point every client at this server: `Settings(**server.settings_overrides())`."""
        return {
            "ncbi_base_url": f"{self.base_url}/entrez/eutils/",
            "pmc_base_url": f"{self.base_url}/pmc/",
            "europepmc_base_url": f"{self.base_url}/europepmc/webservices/rest/",
            "biorxiv_base_url": f"{self.base_url}/biorxiv/",
            "clinicaltrials_base_url": f"{self.base_url}/api/v2/",
        }

    def start(self) -> Self:
        """Begin to answer, in threads of its own."""
        if self._thread is None:
            self._serving = True
            self._thread = threading.Thread(target=self.serve_forever, name="sandbox", daemon=True)
            self._thread.start()
        return self

    def serve_forever(self) -> None:
        """Answer in the calling thread until `close` is called elsewhere or the program is interrupted."""
        self._serving = True
        try:
            self._http.serve_forever(poll_interval=0.02)
        finally:
            self._serving = False

    def close(self) -> None:
        """Stop, end open connections and wait for the threads that serve them."""
        self._http.stopping.set()
        if self._serving:
            self._http.shutdown()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._http.end_connections()
        self._http.server_close()
        self._routes.close()
        if self._owns_corpus:
            self.corpus.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def reply_to(self, request: Request, content_type: str, body: bytes) -> _Answer:
        """The answer to a request, with the fault or limit that strikes it."""
        if request.path.startswith(_CONTROL):
            return _Answer(self._control(request, content_type, body))
        service = self._routes.service(request.path)
        if service is None:
            return _Answer(text_reply("Not found\n", status=404))
        fault = self.faults.strike(service, request.path)
        if fault is not None and fault.kind == "slow":
            self._http.stopping.wait(fault.seconds)
        elif fault is not None and fault.kind == "refuse":
            return _Answer(None)
        elif fault is not None and (faulty := faulty_reply(fault, service)) is not None:
            return _Answer(faulty)
        if self._limits.exceeded(service, request.get("api_key")):
            return _Answer(rate_limited(seconds=1, limit=int(self._limits.of(service) or 1)))
        return _Answer(self._routes.reply(request), cut=fault is not None and fault.kind == "cut")

    def _control(self, request: Request, content_type: str, body: bytes) -> Reply:
        """`/_sandbox/faults`: GET lists, POST switches one on, DELETE switches off. `/_sandbox/`: what this is."""
        if request.path == f"{_CONTROL}faults":
            if request.method == "DELETE":
                self.faults.clear(request.get("service") or None)
            elif request.method == "POST":
                # A web page can post a form to a local address, but not JSON: that is what keeps it out.
                if content_type.partition(";")[0].strip().lower() != "application/json":
                    return json_reply({"error": "Send the fault as application/json."}, status=415)
                try:
                    self.faults.from_json(json.loads(body))
                except (ValueError, RecursionError):
                    return json_reply({"error": "The body is no JSON."}, status=400)
                except InvalidInputError as error:
                    return json_reply({"error": error.message}, status=400)
            faults = [
                {
                    "service": fault.service,
                    "fault": fault.kind,
                    "times": fault.times,
                    "status": fault.status,
                    "seconds": fault.seconds,
                    "path": fault.path,
                }
                for fault in self.faults.standing()
            ]
            return json_reply({"faults": faults})
        if request.path == _CONTROL:
            return json_reply(
                {"records": self.corpus.size, "synthetic": self.corpus.is_synthetic, **self.settings_overrides()}
            )
        return text_reply("Not found\n", status=404)


class _Answer(NamedTuple):
    """A reply, or None to drop the connection; `cut` sends half of the body and then drops it."""

    reply: Reply | None
    cut: bool = False


class _Limits:
    """Counts the requests of the last second, by service and key."""

    def __init__(self, limit: float | Mapping[str, float] | None) -> None:
        self._limit = limit
        self._seen: dict[tuple[str, str], deque[float]] = {}
        self._lock = threading.Lock()

    def of(self, service: str) -> float | None:
        return self._limit.get(service) if isinstance(self._limit, Mapping) else self._limit

    def exceeded(self, service: str, key: str) -> bool:
        limit = self.of(service)
        if limit is None:
            return False
        now = time.monotonic()
        with self._lock:
            seen = self._seen.setdefault((service, key), deque())
            while seen and now - seen[0] >= 1.0:
                seen.popleft()
            if len(seen) >= limit:
                return True
            seen.append(now)
            return False


class _Listener(ThreadingHTTPServer):
    """Threads that are waited for, and connections that can be ended from outside."""

    daemon_threads = False
    block_on_close = True
    request_queue_size = 128
    sandbox: SandboxServer

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self.stopping = threading.Event()
        self._open: set[socket.socket] = set()
        self._open_lock = threading.Lock()
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._open_lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._open_lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def end_connections(self) -> None:
        with self._open_lock:
            waiting = list(self._open)
        for connection in waiting:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away in the middle is no news; anything else is a bug and is shown."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "literature-agent-sandbox"
    sys_version = ""
    # One write for head and body, sent at once: otherwise each answer waits for the other side's acknowledgement.
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_DELETE(self) -> None:
        self._serve()

    def end_headers(self) -> None:
        """Every answer says what it comes from, also those of the base class."""
        self.send_header(MARK_HEADER, "1")
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is printed; `SandboxServer.requests` keeps what was asked."""

    def _serve(self) -> None:
        body = self._body()
        if body is None:
            return
        if not self._host_is_local():
            self.close_connection = True
            self._send(text_reply("This server answers on loopback only.\n", status=403))
            return
        if len(self.path) > _LONGEST_ADDRESS:
            self._send(text_reply("Request-URI Too Long\n", status=414))
            return
        parts = urlsplit(self.path)
        content_type = self.headers.get("Content-Type", "")
        is_form = self.command == "POST" and content_type.startswith("application/x-www-form-urlencoded")
        form = body.decode("utf-8", "replace") if is_form else ""
        server = cast(_Listener, self.server)
        sandbox = server.sandbox
        if not parts.path.startswith(_CONTROL):
            sandbox.requests.append(Asked(self.command, parts.path, "&".join(p for p in (parts.query, form) if p)))
        parameters: dict[str, tuple[str, ...]] = {}
        for name, value in (pair for text in (parts.query, form) for pair in _pairs(text)):
            parameters[name] = (*parameters.get(name, ()), value)
        request = Request(self.command, unquote(parts.path, errors="replace"), parameters)
        answer = sandbox.reply_to(request, content_type, body)
        if answer.reply is None:
            self.close_connection = True
            return
        self._send(answer.reply, cut=answer.cut)

    def _body(self) -> bytes | None:
        """The posted bytes; None (and the answer sent) for a body that is too large or has no length."""
        length = self.headers.get("Content-Length", "0").strip()
        problem = None
        if self.headers.get("Transfer-Encoding"):
            problem = text_reply("Length required\n", status=411)
        elif not (length.isascii() and length.isdecimal()):
            problem = text_reply("Bad length\n", status=400)
        elif len(length) > 10 or int(length) > _LARGEST_BODY:
            problem = text_reply("Too large\n", status=413)
        if problem is not None:
            self.close_connection = True
            self._send(problem)
            return None
        return self.rfile.read(int(length)) if int(length) else b""

    def _host_is_local(self) -> bool:
        """A page whose name is re-pointed at loopback still sends its own name: that is how it is recognised."""
        port = cast(_Listener, self.server).server_address[1]
        return self.headers.get("Host", "").lower() in {f"{name}:{port}" for name in (_HOST, "localhost", "[::1]")}

    def _send(self, reply: Reply, *, cut: bool = False) -> None:
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.content_type)
        self.send_header("Content-Length", str(len(reply.body)))
        self.send_header("Cache-Control", "no-store")
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if self.close_connection or cut:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(reply.body[: len(reply.body) // 2] if cut else reply.body)
        if cut:
            self.close_connection = True


def _listener(port: int) -> _Listener:
    try:
        return _Listener((_HOST, port), _Handler)
    except (OSError, OverflowError) as error:
        raise ConfigurationError(
            f"The sandbox cannot open port {port} on {_HOST}: {reason_of(error)}.",
            recovery="Choose another port, or 0 for any.",
        ) from error


def _pairs(text: str) -> list[tuple[str, str]]:
    return parse_qsl(text, keep_blank_values=True, errors="replace", max_num_fields=None)
