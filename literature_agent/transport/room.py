"""The transport: everything that leaves this machine goes through `Transport.send`.

Outermost first: retry, pace, credentials, network. So each attempt waits its turn (K108), and nothing above the
network ever sees a key. A cache of accepted answers belongs above the retry, a breaker between retry and pace, a
recorder in place of the network.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar
from urllib.parse import SplitResult, parse_qsl, quote, urlencode, urljoin, urlsplit, urlunsplit

from literature_agent.errors import ConfigurationError, LiteratureError, SourceError, source_error
from literature_agent.settings import Settings
from literature_agent.transport.clock import Clock, SystemClock
from literature_agent.transport.gate import JobGate, job_gate
from literature_agent.transport.hosts import CREDENTIAL_NAMES, Host, credentials, host_of, services
from literature_agent.transport.messages import Answer, Attempt, Progress, Request, ServiceName, TransientAnswer
from literature_agent.transport.pace import Pace, PaceStore, pace_store
from literature_agent.transport.retry import TRANSIENT, GaveUp, retry_after, with_retries
from literature_agent.transport.secrets import Secrets

if TYPE_CHECKING:
    import httpx

    from literature_agent.transport.network import Wire

T = TypeVar("T")

SANDBOX_HEADER = "x-literature-agent-sandbox"
"""Response header by which the sandbox says that it needs no pace."""

MAX_BODY = 64 * 2**20

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MOST_REDIRECTS = 5

# Prefix of an error's reason where only the service is known.
_SOURCE: dict[ServiceName, str] = {"eutils": "pubmed"}

_deadline: ContextVar[float | None] = ContextVar("literature_agent_deadline", default=None)
_watcher: ContextVar[Callable[[Progress], None] | None] = ContextVar("literature_agent_watcher", default=None)
_in_job: ContextVar[bool] = ContextVar("literature_agent_in_job", default=False)


class Transport:
    """The way to all services for one caller, in one event loop. Use as `async with Transport(settings) as transport`.

    Pace and job gate are shared with every other transport of this machine and process; only connections are its own.

    Args:
        network: what stands in for the network (tests, recorded answers); it stays the caller's to close.
        clock: time; tests hand in one that never waits.
        store: where the pace is kept, instead of what `settings.rate_limit_store` names.
        on_attempt: told of each request on the wire.
        read_timeout: longest wait for the next part of an answer, seconds.
        max_body: largest answer that is read, bytes after decompression.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        network: httpx.AsyncBaseTransport | None = None,
        clock: Clock | None = None,
        store: PaceStore | None = None,
        on_attempt: Callable[[Attempt], None] | None = None,
        read_timeout: float = 60.0,
        max_body: int = MAX_BODY,
    ) -> None:
        self.settings = settings
        self._clock: Clock = clock or SystemClock()
        self._given_network = network
        self._network: httpx.AsyncBaseTransport | None = None
        self._wire: Wire | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False
        self._on_attempt = on_attempt
        self._read_timeout = read_timeout
        self._max_body = max_body
        self._secrets = Secrets(settings)
        self._user_agent = f"literature-agent/{_version()}"
        store = store or pace_store(settings)
        self._hosts: dict[ServiceName, Host] = {name: host_of(name, settings) for name in services()}
        self._paces = {
            name: Pace(host.row, host.rate, store=store, clock=self._clock, enabled=settings.pace != "off")
            for name, host in self._hosts.items()
        }
        self._gates: dict[ServiceName, JobGate] = {
            name: job_gate(host.row, host.jobs) for name, host in self._hosts.items()
        }
        self._sandboxes: set[str] = set()
        self._kept: dict[str, Any] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections; the transport cannot be used afterwards."""
        self._closed = True
        self._wire = None
        self._kept.clear()
        network, self._network = self._network, None
        if network is not None:
            await network.aclose()
        self._secrets.release_logs()

    def now(self) -> datetime:
        """The time of this transport's clock, aware, UTC."""
        return self._clock.now()

    @contextmanager
    def deadline(self, seconds: float) -> Iterator[None]:
        """Everything asked inside, in this task and those it starts, must be answered within `seconds`.

        Waiting for a turn counts (K109). Inside another deadline the earlier one holds.
        """
        until = self._clock.monotonic() + seconds
        outer = _deadline.get()
        _deadline.set(until if outer is None else min(until, outer))
        try:
            yield
        finally:
            # Not reset by token: a generator's block may end in another context than it began in.
            _deadline.set(outer)

    def time_left(self) -> float | None:
        """Seconds until the deadline, not below 0; None when there is none."""
        until = _deadline.get()
        return None if until is None else max(0.0, until - self._clock.monotonic())

    def kept(self, name: str, make: Callable[[], T]) -> T:
        """What a source keeps between its calls as long as this transport is open; made by `make` when first asked."""
        if name not in self._kept:
            self._kept[name] = make()
        found: T = self._kept[name]
        return found

    def pace_interval(self, service: ServiceName) -> float:
        """Seconds from one request to the next at `service`, as far as is known before asking; 0 without a pace."""
        pace = self._paces[service]
        return pace.interval if pace.enabled and self._needs_pace(service) else 0.0

    @contextmanager
    def watched(self, watcher: Callable[[Progress], None]) -> Iterator[None]:
        """`watcher` is told how far the calls made inside have come."""
        outer = _watcher.get()
        _watcher.set(watcher)
        try:
            yield
        finally:
            _watcher.set(outer)

    def report(self, progress: Progress) -> None:
        """Tell whoever watches this call how far it has come."""
        watcher = _watcher.get()
        if watcher is not None:
            watcher(progress)

    @asynccontextmanager
    async def job(self, service: ServiceName, source: str | None = None) -> AsyncIterator[None]:
        """One call of a tool: waits for a place at `service` and keeps it to the end of the block.

        Only the outermost call takes a place. What it calls in turn runs within that place, at whichever service:
        calls that each held one and waited for another could wait for ever.

        Raises:
            SourceError: `<source>_timeout`, the deadline passed in the queue.
        """
        if _in_job.get():
            yield
            return
        gate = self._gates[service]
        try:
            async with asyncio.timeout(self.time_left()):
                await gate.enter()
            late = False
        except TimeoutError:
            late = True
        if late:
            self._queue_too_long(source or _SOURCE.get(service, service), service)
        _in_job.set(True)
        try:
            yield
        finally:
            _in_job.set(False)
            gate.leave()

    async def send(self, request: Request, read: Callable[[Answer], T]) -> T:
        """What `read` makes of the answer to `request`.

        429, 500, 502, 503, 504, connections that fail and answers for which `read` raises `TransientAnswer` are asked
        again, as the settings allow. 403 and other failures of the server end it at once. Every other status is
        handed to `read`. Redirects stay on the host.

        Raises:
            SourceError: no usable answer; the reason begins with `request.source`. What `read` raises passes through.
            ConfigurationError: a proxy or a certificate file that the environment names is not usable.
        """
        if self._closed:
            raise RuntimeError("This transport is closed.")

        async def once(number: int) -> T:
            answer = await self._attempt(request, number)
            try:
                return read(self._judged(request, answer))
            except TransientAnswer as fault:
                if fault.kind == "rate_limited":
                    asked = fault.retry_after or 1.0
                    await self._rest(request.service, min(asked, self.settings.retry_max_wait_s))
                raise

        outcome = await with_retries(
            once,
            attempts=self.settings.retry_attempts,
            longest_wait=self.settings.retry_max_wait_s,
            sleep=self._clock.sleep,
            left=lambda: _or_for_ever(self.time_left()),
        )
        if isinstance(outcome, GaveUp):
            self._gave_up(request, outcome)
        return outcome

    # Judging

    def _judged(self, request: Request, answer: Answer) -> Answer:
        host = self._hosts[request.service].name
        if answer.status in TRANSIENT:
            raise TransientAnswer(
                f"answered {answer.status}",
                kind=TRANSIENT[answer.status],
                retry_after=retry_after(answer.headers.get("retry-after"), self.now()),
            )
        if answer.status == 403:
            raise source_error(request.source, "blocked", f"{host} refuses this client (403) at {request.path}.")
        if 300 <= answer.status < 400:
            raise source_error(
                request.source, "invalid_response", f"{host} answered {answer.status} to {request.path}: not an answer."
            )
        if answer.status >= 500:
            raise SourceError(
                f"{host} answered {answer.status} to {request.path}; that does not pass by itself.",
                reason=f"{request.source}_unreachable",
                retryable=False,
                recovery="Ask another source.",
            )
        return answer

    def _gave_up(self, request: Request, outcome: GaveUp) -> NoReturn:
        fault = outcome.fault
        count = "1 attempt" if outcome.attempts == 1 else f"{outcome.attempts} attempts"
        recovery = None
        if fault.kind == "rate_limited":
            recovery = "Wait a minute, or ask another source."
            if request.service == "eutils" and self.settings.ncbi_api_key is None:
                recovery = (
                    "Without a key all programs behind this address share 3 requests a second: set NCBI_API_KEY (free) "
                    "and LITERATURE_AGENT_EMAIL. Other sources are not affected."
                )
        raise source_error(
            request.source,
            fault.kind,
            f"{self._hosts[request.service].name}, {request.path}: {self._secrets.hide(str(fault))} "
            f"({count}, {outcome.waited_s:.1f} s waited in between).",
            recovery=recovery,
        )

    def _queue_too_long(self, source: str, service: ServiceName) -> NoReturn:
        raise source_error(
            source, "timeout", f"The queue for {self._hosts[service].name} is longer than the deadline allows."
        )

    # One attempt

    async def _attempt(self, request: Request, number: int) -> Answer:
        host = self._hosts[request.service]
        step = _Step(
            "GET" if request.form is None else "POST",
            host.base_url + request.path.lstrip("/"),
            request.params,
            request.form,
        )
        for _ in range(_MOST_REDIRECTS + 1):
            answer = await self._paced(request, number, step)
            location = answer.headers.get("location")
            if answer.status not in _REDIRECTS or not location:
                return answer
            step = self._followed(request, step, answer.status, location)
        raise source_error(request.source, "invalid_response", f"{host.name} redirects {request.path} in circles.")

    def _followed(self, request: Request, step: _Step, status: int, location: str) -> _Step:
        """Where a redirect leads, without the credentials that the server may have echoed in it."""
        old = urlsplit(step.address)
        try:
            new = urlsplit(urljoin(step.address, location))
            upgrade = (old.scheme, new.scheme) == ("http", "https") and new.hostname == old.hostname
            allowed = (upgrade or _place(new) == _place(old)) and "@" not in new.netloc
            where = new.hostname or "an unreadable address"
        except ValueError:
            allowed, where = False, "an unreadable address"
        if not allowed:
            raise source_error(
                request.source,
                "invalid_response",
                f"{old.netloc} redirects {request.path} to {where}; only redirects within the host are followed.",
                recovery="Check the base URL in the settings, and whether the network asks for a login first.",
            )
        query = parse_qsl(new.query, keep_blank_values=True)
        see_other = status == 303
        return _Step(
            "GET" if see_other else step.method,
            urlunsplit((new.scheme, new.netloc, new.path, "", "")),
            tuple(pair for pair in query if pair[0] not in CREDENTIAL_NAMES),
            None if see_other else step.form,
        )

    async def _paced(self, request: Request, number: int, step: _Step) -> Answer:
        before = self._clock.monotonic()
        if self._needs_pace(request.service):
            try:
                await self._paces[request.service].acquire(self.time_left())
                late = False
            except TimeoutError:
                late = True
            if late:
                self._queue_too_long(request.source, request.service)
        queued = self._clock.monotonic() - before
        fault, status, size = "", None, 0
        try:
            answer = await self._on_wire(request, number, step)
            status, size = answer.status, len(answer.body)
        except (TransientAnswer, LiteratureError) as failed:
            fault = str(failed)
            raise
        except BaseException as ended:
            fault = type(ended).__name__
            raise
        finally:
            if self._on_attempt is not None:
                self._on_attempt(
                    Attempt(request.source, request.service, request.path, number, status, size, fault, queued)
                )
        if SANDBOX_HEADER in answer.headers and self.settings.pace == "auto":
            self._sandboxes.add(self._hosts[request.service].base_url)
        return answer

    def _needs_pace(self, service: ServiceName) -> bool:
        return self._hosts[service].base_url not in self._sandboxes

    async def _rest(self, service: ServiceName, seconds: float) -> None:
        if self._needs_pace(service):
            await self._paces[service].hold(seconds)

    # Innermost: credentials and network

    async def _on_wire(self, request: Request, number: int, step: _Step) -> Answer:
        from literature_agent.transport.network import BadCertificate, NoAddress, TooLarge, Untreatable

        wire, host, failed = self._open(), self._hosts[request.service].name, partial(source_error, request.source)
        headers = {"User-Agent": self._user_agent, "Accept": request.accept, "Accept-Encoding": "gzip, deflate"}
        if step.form is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        marks: dict[str, str | int] = {
            "literature.source": request.source,
            "literature.service": request.service,
            "literature.attempt": number,
            "url.path": request.path,
        }
        failure: LiteratureError
        try:
            async with asyncio.timeout(self.time_left()):
                # Address and body go straight from hand to hand: a local variable here would be in the traceback of
                # every error below, and the key with it (K118).
                return await wire.exchange(
                    step.method,
                    *self._with_credentials(request, step),
                    headers,
                    in_time=self._in_time,
                    marks=marks,
                )
        except TimeoutError:
            failure = failed("timeout", f"{host} did not answer {request.path} in full before the deadline.")
        except TooLarge:
            failure = failed(
                "invalid_response",
                f"The answer of {host} to {request.path} is larger than {self._max_body} bytes and was not read.",
                recovery="Ask for fewer records at once.",
            )
        except Untreatable as fault:
            failure = failed("invalid_response", f"The answer of {host} to {request.path} is not readable: {fault}.")
        except BadCertificate as fault:
            failure = failed(
                "unreachable",
                f"The certificate of {host} is not trusted: {fault}.",
                recovery="Set SSL_CERT_FILE to the certificates that your network uses.",
            )
        except (NoAddress, UnicodeEncodeError):
            failure = failed("invalid_input", f"The request {request.path!r} holds characters that cannot be sent.")
        except ConfigurationError as fault:
            failure = ConfigurationError(fault.message, recovery=fault.recovery)
        # Raised anew and not above, so that neither traceback nor context leads to where the key is known.
        raise failure

    def _with_credentials(self, request: Request, step: _Step) -> tuple[str, bytes | None]:
        """Address and body as they go out."""
        who = credentials(request, self.settings)
        content = None if step.form is None else urlencode((*step.form, *who)).encode("ascii")
        params = step.params if step.form is not None else (*step.params, *who)
        query = urlencode(params, quote_via=quote, safe=",")
        return f"{step.address}?{query}" if query else step.address, content

    def _in_time(self) -> None:
        if self.time_left() == 0:
            raise TimeoutError

    def _open(self) -> Wire:
        loop = asyncio.get_running_loop()
        if self._loop not in (None, loop):
            raise RuntimeError("A Transport belongs to the event loop in which it was first used.")
        self._loop = loop
        if self._wire is None:
            from literature_agent.transport.network import DirectOrProxied, Wire

            network = self._given_network
            if network is None:
                network = self._network = DirectOrProxied()
            self._secrets.guard_logs()
            self._wire = Wire(network, self._secrets, self._read_timeout, self._max_body)
        return self._wire


@dataclass(frozen=True)
class _Step:
    """What goes out next, before credentials: the request itself, or where a redirect sent it."""

    method: str
    address: str
    params: tuple[tuple[str, str], ...]
    form: tuple[tuple[str, str], ...] | None


def _place(address: SplitResult) -> tuple[str, str | None, int | None]:
    return address.scheme, address.hostname, address.port or {"http": 80, "https": 443}.get(address.scheme)


def _or_for_ever(seconds: float | None) -> float:
    return float("inf") if seconds is None else seconds


def _version() -> str:
    try:
        return version("literature-agent")
    except PackageNotFoundError:  # run from a source tree that was never installed
        return "0"
