"""The transport: everything that leaves this machine goes through `Transport.send`.

Outermost first: cache of accepted answers, retry, breaker, pace, credentials, network. So a stored answer waits for
nothing and a retry never meets it, each attempt waits its turn (K108), and nothing above the network ever sees a key.
A recorder hears every answer as it comes off the wire, of a request that bears no credentials; a replay stands in place
of all below the cache, since what is on record needs no retry, pace or network.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from contextvars import ContextVar
from datetime import datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar
from urllib.parse import quote, urlencode

from literature_agent.errors import ConfigurationError, LiteratureError, SourceError, counted, source_error
from literature_agent.settings import Settings
from literature_agent.transport.breaker import BREAKERS_OF_THIS_PROCESS, HANGING_S, Breaker, Breakers, LeftAlone
from literature_agent.transport.cache import answer_cache, key_of
from literature_agent.transport.clock import Clock, SystemClock
from literature_agent.transport.gate import JobGate, SharedGate, job_gate
from literature_agent.transport.hosts import Host, credentials, host_of, services
from literature_agent.transport.messages import (
    Answer,
    Attempt,
    Progress,
    Received,
    Request,
    ServiceName,
    TransientAnswer,
)
from literature_agent.transport.pace import Pace, Turn
from literature_agent.transport.recording import (
    OpenEntry,
    Recorder,
    Scrub,
    key_of_request,
    line_of_request,
    recorded,
)
from literature_agent.transport.redirects import MOST_REDIRECTS, REDIRECTS, Step, followed
from literature_agent.transport.replaying import Player, Recording, offline
from literature_agent.transport.retry import TRANSIENT, GaveUp, retry_after, with_retries
from literature_agent.transport.sandboxes import SANDBOXES_OF_THIS_PROCESS, Sandboxes
from literature_agent.transport.secrets import Secrets
from literature_agent.transport.stores import PaceStore, pace_store

if TYPE_CHECKING:
    import httpx

    from literature_agent.artifacts import Artifact
    from literature_agent.transport.network import Wire

T = TypeVar("T")

MAX_BODY = 64 * 2**20

# Prefix of an error's reason where only the service is known.
_SOURCE: dict[ServiceName, str] = {"eutils": "pubmed"}

_deadline: ContextVar[float | None] = ContextVar("literature_agent_deadline", default=None)
_watcher: ContextVar[Callable[[Progress], None] | None] = ContextVar("literature_agent_watcher", default=None)
_collected: ContextVar[list[Artifact] | None] = ContextVar("literature_agent_collected", default=None)
_sources: ContextVar[list[str] | None] = ContextVar("literature_agent_sources", default=None)
_in_job: ContextVar[bool] = ContextVar("literature_agent_in_job", default=False)


class Transport:
    """The way to all services for one caller, in one event loop. Use as `async with Transport(settings) as transport`.

    Pace, stored answers, job gate and breaker are shared with every other transport of this machine or process; only
    connections are its own.

    Args:
        network: what stands in for the network in tests; it stays the caller's to close.
        clock: time; tests hand in one that never waits.
        store: where the pace is kept, instead of what `settings.rate_limit_store` names.
        breakers: which services are left alone, instead of what this process knows of it.
        sandboxes: which addresses need no pace, likewise.
        on_attempt: told of each request on the wire.
        read_timeout: longest wait for the next part of an answer, seconds.
        max_body: largest answer that is read, bytes after decompression.
        recording: where this transport's exchanges are recorded to, or replayed from; stored answers play no part.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        network: httpx.AsyncBaseTransport | None = None,
        clock: Clock | None = None,
        store: PaceStore | None = None,
        breakers: Breakers | None = None,
        sandboxes: Sandboxes | None = None,
        on_attempt: Callable[[Attempt], None] | None = None,
        read_timeout: float = 60.0,
        max_body: int = MAX_BODY,
        recording: Recording | None = None,
    ) -> None:
        self._recorder = recording if isinstance(recording, Recorder) else None
        self._player = recording if isinstance(recording, Player) else None
        if recording is not None:
            settings = offline(settings) if self._player is not None else recorded(settings)
        self.settings = settings
        self._scrub = Scrub(settings)
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
        self._shared_gates: dict[ServiceName, SharedGate] = {}
        if store.shared and settings.pace != "off":
            self._shared_gates = {
                name: SharedGate(host.row, host.jobs, store, self._clock) for name, host in self._hosts.items()
            }
        self._breakers = (breakers or BREAKERS_OF_THIS_PROCESS) if settings.breaker == "on" else None
        self._cache = answer_cache(settings, self._clock)
        self._sandboxes = sandboxes or SANDBOXES_OF_THIS_PROCESS
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

    def now(self, moment: str = "") -> datetime:
        """The time of this transport's clock, aware, UTC. A `moment` with a name is the same again in a replay."""
        if self._player is not None:
            return self._player.now(moment)
        now = self._clock.now()
        return now if self._recorder is None else self._recorder.now(moment, now)

    def had(self, moment: str) -> bool:
        """Whether the run came to the moment of that name; only a replay may go beyond where its run had ended."""
        return self._player is None or self._player.had(moment)

    def deadline(self, seconds: float) -> AbstractContextManager[None]:
        """Everything asked inside, in this task and those it starts, must be answered within `seconds`.

        Waiting for a turn counts (K109). Inside another deadline the earlier one holds.
        """
        until, outer = self._clock.monotonic() + seconds, _deadline.get()
        return _within(_deadline, until if outer is None else min(until, outer))

    def time_left(self, moment: str = "") -> float | None:
        """Seconds until the deadline, not below 0; None when there is none.

        A replay takes no time, so it knows of a deadline only at a `moment` with a name, and then as it was.
        """
        if self._player is not None:
            return self._player.left(moment)
        until = _deadline.get()
        left = None if until is None else max(0.0, until - self._clock.monotonic())
        return left if self._recorder is None else self._recorder.left(moment, left)

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

    def watched(self, watcher: Callable[[Progress], None]) -> AbstractContextManager[None]:
        """`watcher` is told how far the calls made inside have come."""
        return _within(_watcher, watcher)

    def report(self, progress: Progress) -> None:
        """Tell whoever watches this call how far it has come."""
        watcher = _watcher.get()
        if watcher is not None:
            watcher(progress)

    def collecting(self, records: list[Artifact]) -> AbstractContextManager[None]:
        """`records` grows with each record that the calls made inside read: whoever is cut before a call of several
        requests is answered has what came until then."""
        return _within(_collected, records)

    def noting(self, sources: list[str]) -> AbstractContextManager[None]:
        """`sources` grows with each source that the calls made inside ask, in the order of asking."""
        return _within(_sources, sources)

    def came(self, records: Iterable[Artifact]) -> None:
        """Hand records that have come to whoever collects them."""
        collected = _collected.get()
        if collected is not None:
            collected.extend(records)

    @asynccontextmanager
    async def job(self, service: ServiceName, source: str | None = None) -> AsyncIterator[None]:
        """One call of a tool: waits for a place at `service` and keeps it to the end of the block.

        Only the outermost call takes a place. What it calls in turn runs within that place, at whichever service:
        calls that each held one and waited for another could wait for ever.

        Raises:
            SourceError: `<source>_timeout`, the deadline passed in the queue; `<source>_unreachable`, the store that
                the job slots are shared in does not answer.
        """
        if _in_job.get() or self._player is not None:
            yield
            return
        source = source or _SOURCE.get(service, service)
        async with AsyncExitStack() as places:
            try:
                async with asyncio.timeout(self.time_left()):
                    await self._gates[service].enter()
                    places.callback(self._gates[service].leave)
                    if service in self._shared_gates and self._needs_pace(service):
                        await places.enter_async_context(self._shared_gates[service].place())
            except TimeoutError:
                raise self._queue_too_long(source, service) from None
            except SourceError as lost:
                raise _not_sent(source, lost) from None
            with _within(_in_job, True):
                yield

    async def send(self, request: Request, read: Callable[[Answer], T]) -> T:
        """What `read` makes of the answer to `request`; `receive` tells also when the answer came."""
        return (await self.receive(request, read)).value

    async def receive(
        self,
        request: Request,
        read: Callable[[Answer], T],
        *,
        keep: Callable[[T], bool] = lambda value: True,
        heard: Callable[[TransientAnswer], None] = lambda fault: None,
    ) -> Received[T]:
        """What `read` makes of the answer to `request`, and when the service gave that answer.

        An answer that `read` has accepted is stored, if `keep` says so of what came of it, and serves the same request
        again without waiting, as long as `request.max_age_s` and the settings allow.

        429, 500, 502, 503, 504, connections that fail, a page of HTML in place of data (K016) and answers for which
        `read` raises `TransientAnswer` are asked again, as the settings allow. 403, a page that checks if a person asks
        (K046) and other failures of the server end it at once. Every other status is handed to `read`. Redirects stay
        on the host. A service that has failed repeatedly is not asked for a while.
        `heard` is told of each attempt that failed and why.

        Raises:
            SourceError: no usable answer; the reason begins with `request.source`. What `read` raises passes through.
            ConfigurationError: a proxy or a certificate file that the environment names is not usable.
            InvalidInputError: the recording that is replayed is broken.
        """
        if self._closed:
            raise RuntimeError("This transport is closed.")
        noted = _sources.get()
        if noted is not None and request.source not in noted:
            noted.append(request.source)
        if self._player is not None:
            return await self._replayed(self._player, request, read, heard)
        if self._recorder is not None:
            return await self._recorded(self._recorder, request, read, heard)
        if (stored := await self._stored(request, read)) is not None:
            return stored
        answer, received = await self._asked(request, read, heard)
        if self._cache is not None and request.max_age_s != 0 and keep(received.value):
            await self._cache.put(key_of(request, self._hosts[request.service]), answer, received.at)
        return received

    # Stored answers

    async def _stored(self, request: Request, read: Callable[[Answer], T]) -> Received[T] | None:
        if self._cache is None or request.max_age_s == 0:
            return None
        key = key_of(request, self._hosts[request.service])
        found = await self._cache.get(key, self.now(), request.max_age_s)
        if found is None:
            return None
        try:
            return Received(read(found.answer), found.received_at, was_stored=True)
        except (TransientAnswer, LiteratureError):  # another reader took it, or another version of this one
            return None

    # Recorded answers

    async def _recorded(
        self,
        recorder: Recorder,
        request: Request,
        read: Callable[[Answer], T],
        heard: Callable[[TransientAnswer], None],
    ) -> Received[T]:
        key, line = key_of_request(request, self._scrub), line_of_request(request, self._scrub)
        kept = recorder.open("upstream", key, line, self._scrub)
        try:
            _, received = await self._asked(request, read, heard, kept)
        except LiteratureError as error:
            kept.close("failed", self._clock.now(), kept.call(error))
            raise
        except asyncio.CancelledError:
            kept.close("cut", self._clock.now(), kept.call())
            raise
        kept.close("answered", received.at, kept.call())
        return received

    async def _replayed(
        self,
        player: Player,
        request: Request,
        read: Callable[[Answer], T],
        heard: Callable[[TransientAnswer], None],
    ) -> Received[T]:
        def failed(answer: Answer) -> None:
            try:
                read(self._judged(request, answer))
            except TransientAnswer as fault:
                heard(fault)
            except LiteratureError:  # the one that the call ended in
                pass

        answer, received_at = await player.upstream(request, self._scrub, failed)
        try:
            return Received(read(self._judged(request, answer)), received_at)
        except TransientAnswer as fault:
            raise source_error(
                request.source, "invalid_response", f"The recorded answer to {request.path} is not readable: {fault}."
            ) from None

    # All attempts

    async def _asked(
        self,
        request: Request,
        read: Callable[[Answer], T],
        heard: Callable[[TransientAnswer], None],
        kept: OpenEntry | None = None,
    ) -> tuple[Answer, Received[T]]:
        was_answered = False

        async def once(number: int) -> tuple[Answer, Received[T]]:
            nonlocal was_answered
            was_answered = False
            is_trial = self._admit(request)
            try:
                answer = await self._attempt(request, number)
                if kept is not None:
                    answer = kept.heard(answer)
                received_at = self.now()
                if answer.status == 429 or answer.status not in TRANSIENT:
                    was_answered = True
                    if (breaker := self._breaker(request)) is not None:
                        breaker.answered()
                return answer, Received(read(self._judged(request, answer)), received_at)
            except TransientAnswer as fault:
                heard(fault)
                if fault.kind == "rate_limited":
                    asked = fault.retry_after or 1.0
                    await self._rest(request.service, min(asked, self.settings.retry_max_wait_s))
                elif is_trial and not was_answered:
                    self._count_failure(request, fault)
                    self._admit(request)
                raise

        outcome = await with_retries(
            once,
            attempts=self.settings.retry_attempts,
            longest_wait=self.settings.retry_max_wait_s,
            sleep=self._clock.sleep,
            left=lambda: _or_for_ever(self.time_left()),
        )
        if isinstance(outcome, GaveUp):
            if not was_answered:
                self._count_failure(request, outcome.fault)
            self._gave_up(request, outcome)
        return outcome

    # Breaker

    def _breaker(self, request: Request) -> Breaker | None:
        if self._breakers is None:
            return None
        return self._breakers.of(request.service, self._hosts[request.service].base_url, request.part)

    def _admit(self, request: Request) -> bool:
        """Whether this attempt is a trial of a service that was left alone. Raises the error of one that still is."""
        if (breaker := self._breaker(request)) is None:
            return False
        try:
            return breaker.admit(self._clock.monotonic())
        except LeftAlone as state:
            seconds = f"{max(1, math.ceil(round(state.seconds, 3)))} s"
            who = ", ".join(filter(None, (self._hosts[request.service].name, request.part)))
            raise source_error(
                request.source,
                "unreachable",
                f"{who} failed {state.failures} times in a row (last: {state.fault}) and is not asked for another "
                f"{seconds}.",
                recovery=f"Ask another source, or this one again in {seconds}.",
            ) from None

    def _count_failure(self, request: Request, fault: Exception) -> None:
        if (breaker := self._breaker(request)) is not None:
            breaker.failed(self._clock.monotonic(), self._secrets.hide(str(fault)))

    # Judging

    def _judged(self, request: Request, answer: Answer) -> Answer:
        host = self._hosts[request.service].name
        if answer.status != 429 and answer.asks_for_a_browser():
            raise source_error(
                request.source, "blocked", f"{host} answered {request.path} with a page that asks for a browser."
            )
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
        if answer.status < 300 and answer.looks_like_html():
            raise TransientAnswer("a web page came where data was asked for")
        return answer

    def _gave_up(self, request: Request, outcome: GaveUp) -> NoReturn:
        fault = outcome.fault
        count = counted(outcome.attempts, "attempt")
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
            f"({count}{f', {outcome.waited_s:.1f} s waited in between' if outcome.waited_s else ''}).",
            recovery=recovery,
        )

    def _queue_too_long(self, source: str, service: ServiceName) -> SourceError:
        return source_error(
            source, "timeout", f"The queue for {self._hosts[service].name} is longer than the deadline allows."
        )

    # One attempt

    async def _attempt(self, request: Request, number: int) -> Answer:
        host = self._hosts[request.service]
        step = Step(
            "GET" if request.form is None else "POST",
            host.base_url + request.path.lstrip("/"),
            request.params,
            request.form,
        )
        for _ in range(MOST_REDIRECTS + 1):
            answer = await self._paced(request, number, step)
            location = answer.headers.get("location")
            if answer.status not in REDIRECTS or not location:
                return answer
            step = followed(request, step, answer.status, location)
        raise source_error(request.source, "invalid_response", f"{host.name} redirects {request.path} in circles.")

    async def _paced(self, request: Request, number: int, step: Step) -> Answer:
        before = self._clock.monotonic()
        turn = await self._turn(request)
        queued = self._clock.monotonic() - before
        fault, status, size = "", None, 0
        try:
            answer = await self._on_wire(request, number, step, turn)
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
        self._sandboxes.heard(self._hosts[request.service].base_url, answer.headers)
        return answer

    async def _turn(self, request: Request) -> Turn | None:
        """Waits for it. None where there is no pace."""
        if not self._needs_pace(request.service):
            return None
        try:
            return await self._paces[request.service].take(self.time_left())
        except TimeoutError:
            raise self._queue_too_long(request.source, request.service) from None
        except SourceError as lost:
            raise _not_sent(request.source, lost) from None

    def _needs_pace(self, service: ServiceName) -> bool:
        return self.settings.pace != "auto" or not self._sandboxes.knows(self._hosts[service].base_url)

    async def _rest(self, service: ServiceName, seconds: float) -> None:
        if self._needs_pace(service):
            await self._paces[service].hold(seconds)

    # Innermost: credentials and network

    async def _on_wire(self, request: Request, number: int, step: Step, turn: Turn | None) -> Answer:
        from literature_agent.transport.network import BadCertificate, NoAddress, TooLarge, Untreatable

        wire, host, failed = self._open(), self._hosts[request.service].name, partial(source_error, request.source)
        pace = self._paces[request.service]
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
        began = self._clock.monotonic()
        try:
            async with asyncio.timeout(self.time_left()):
                # Address and body go straight from hand to hand: a local variable here would be in the traceback of
                # every error below, and the key with it (K118).
                return await wire.exchange(
                    step.method,
                    *self._with_credentials(request, step),
                    headers,
                    around_sending=None if turn is None else (partial(pace.confirm, turn), partial(pace.sent, turn)),
                    in_time=self._in_time,
                    marks=marks,
                )
        except TimeoutError:
            failure = failed("timeout", f"{host} did not answer {request.path} in full before the deadline.")
            if self._clock.monotonic() - began >= HANGING_S:
                self._count_failure(request, failure)
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
        except SourceError as lost:
            failure = _not_sent(request.source, lost)
        except ConfigurationError as fault:
            failure = ConfigurationError(fault.message, recovery=fault.recovery)
        # Raised anew and not above, so that neither traceback nor context leads to where the key is known.
        raise failure

    def _with_credentials(self, request: Request, step: Step) -> tuple[str, bytes | None]:
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


@contextmanager
def _within(variable: ContextVar[T], value: T) -> Iterator[None]:
    outer = variable.get()
    variable.set(value)
    try:
        yield
    finally:
        # Not reset by token: a generator's block may end in another context than it began in.
        variable.set(outer)


def _not_sent(source: str, lost: SourceError) -> SourceError:
    """The error of `source` for a store of the pace that does not answer."""
    return source_error(source, "unreachable", f"{lost.message} Nothing was sent.", recovery=lost.recovery)


def _or_for_ever(seconds: float | None) -> float:
    return float("inf") if seconds is None else seconds


def _version() -> str:
    try:
        return version("literature-agent")
    except PackageNotFoundError:  # run from a source tree that was never installed
        return "0"
