"""How fast a host may be asked: a caller reserves the next free time and waits for it.

One row per host and key holds the next free time. Reserving it is one short transaction, so any number of tasks,
threads, event loops, processes and machines share one pace without waiting for each other, and there is never a burst:
what a token bucket saves up while idle is exactly what makes a host answer 429 (K110). A second short transaction, when
the time has come, notes the start, so that a caller that comes late does not bunch up with the next.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Self, TypeVar
from urllib.parse import urlsplit

from literature_agent.errors import ConfigurationError, LiteratureError
from literature_agent.settings import Settings
from literature_agent.transport.asking import ask, ask_once, ask_sync
from literature_agent.transport.clock import Clock, SystemClock
from literature_agent.transport.hosts import host_of, services
from literature_agent.transport.stores import Kept, PaceStore, pace_store
from literature_agent.transport.turns import Rate, Row

R = TypeVar("R")

# A start that was noted longer ago than this is noted anew before and after the request goes out: together with
# differences of the path to the host it must stay within the margin of `Rate.window`.
_FRESH_S = 0.015


@dataclass
class Turn:
    """A reserved time."""

    place: float
    """Row time."""
    wait: float
    """Seconds to it when last looked at; 0: it may start."""
    started: float | None = None
    """The noted start, by the clock of the store."""
    noted: float = 0.0
    """When that was noted, by this machine's monotonic clock."""


class Pace:
    """The pace of one host: `await pace.acquire()`, `async with pace:` or `pace.acquire_sync()` before each request.

    Raises:
        ConfigurationError: `rate` is not above zero.
    """

    def __init__(
        self, row: str, rate: float, *, store: PaceStore, clock: Clock | None = None, enabled: bool = True
    ) -> None:
        if not rate > 0:
            raise ConfigurationError(f"The rate of {row.partition('#')[0]} must be above zero, not {rate!r}.")
        self.row = row
        self.rate = Rate.of(rate)
        self.enabled = enabled
        self._store = store
        self._clock = clock or SystemClock()

    @property
    def interval(self) -> float:
        """Seconds from one turn to the next."""
        return self.rate.interval

    async def acquire(self, within: float | None = None) -> None:
        """Wait for a turn, at most `within` seconds. One turn is one request.

        Raises:
            TimeoutError: the next turn comes later than that; found out at once, without waiting.
            SourceError: `request_unreachable`, the store of the pace does not answer; do not send.
        """
        await self.confirm(await self.take(within))

    async def take(self, within: float | None = None) -> Turn | None:
        """Like `acquire`; gives the turn, for `confirm`."""
        if not self.enabled:
            return None
        until = None if within is None else self._clock.monotonic() + within
        turn = await ask(self._store, self._clock, lambda: self._reserve(within), until)
        await self._wait(turn, until)
        return turn

    async def confirm(self, turn: Turn | None) -> None:
        """To be called when the request really goes out: a connection may have taken its time, or this process.

        Raises:
            SourceError: as of `acquire`.
        """
        if turn is not None and self._is_stale(turn):
            await ask(self._store, self._clock, lambda: self._start(turn))
            await self._wait(turn, None)

    async def sent(self, turn: Turn | None) -> None:
        """To be called when the request has gone out: if that took its time, those that follow must know."""
        if turn is not None and self._is_stale(turn):
            with suppress(LiteratureError):  # it is out; a store that does not answer stops the next one
                await ask_once(self._store, lambda: self._correct(turn))

    def acquire_sync(self, within: float | None = None) -> None:
        """Like `acquire`, blocking this thread."""
        if not self.enabled:
            return
        until = None if within is None else self._clock.monotonic() + within
        turn = ask_sync(self._clock, lambda: self._reserve(within), until)
        while turn.wait > 0:
            self._in_time(turn, until)
            self._clock.block(turn.wait)
            ask_sync(self._clock, lambda: self._start(turn), until)

    async def hold(self, seconds: float) -> None:
        """The host has asked for a rest: nobody starts for `seconds`."""
        if self.enabled:
            await ask(self._store, self._clock, lambda: self._with_row(lambda row: row.hold(seconds)))

    def hold_sync(self, seconds: float) -> None:
        """Like `hold`, blocking this thread."""
        if self.enabled:
            ask_sync(self._clock, lambda: self._with_row(lambda row: row.hold(seconds)))

    async def __aenter__(self) -> Self:
        await self.acquire()
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    async def _wait(self, turn: Turn, until: float | None) -> None:
        while turn.wait > 0:
            self._in_time(turn, until)
            await self._clock.sleep(turn.wait)
            await ask(self._store, self._clock, lambda: self._start(turn), until)

    def _is_stale(self, turn: Turn) -> bool:
        return self._clock.monotonic() - turn.noted > _FRESH_S

    def _in_time(self, turn: Turn, until: float | None) -> None:
        if until is not None and self._clock.monotonic() + turn.wait > until:
            raise TimeoutError

    # Transactions, in a thread where the store is one that may block

    def _reserve(self, within: float | None) -> Turn:
        def reserve(row: Row) -> Turn:
            turn = Turn(row.reserve(self.rate, within), 0)
            self._note(turn, row)
            return turn

        return self._with_row(reserve)

    def _start(self, turn: Turn) -> None:
        self._with_row(lambda row: self._note(turn, row))

    def _correct(self, turn: Turn) -> None:
        self._with_row(lambda row: row.started_late(self.rate, turn.started))

    def _note(self, turn: Turn, row: Row) -> None:
        turn.wait = row.start(turn.place, self.rate, instead_of=turn.started)
        turn.started, turn.noted = None if turn.wait else row.now, self._clock.monotonic()

    def _with_row(self, work: Callable[[Row], R]) -> R:
        def change(kept: Kept) -> R:
            row = Row.read(kept.text, kept.now)
            result = work(row)
            kept.text = row.written()
            return result

        return self._store.change(self.row, lambda: self._clock.now().timestamp(), change)


def limiter_for(host: str, settings: Settings, *, clock: Clock | None = None) -> Pace:
    """The pace that this package keeps at `host`, for an application that asks the same host itself.

    `host` is a host name (`eutils.ncbi.nlm.nih.gov`), a base URL of the settings, or a service
    (`eutils` `pmc` `europepmc` `biorxiv` `clinicaltrials`).

    Raises:
        ConfigurationError: the settings know no such host.
    """
    wanted = (urlsplit(host).netloc or host).strip().lower()
    for service in services():
        known = host_of(service, settings)
        if wanted in (service, known.name.lower(), known.name.lower().partition(":")[0]):
            return Pace(known.row, known.rate, store=pace_store(settings), clock=clock, enabled=settings.pace != "off")
    names = ", ".join(host_of(service, settings).name for service in services())
    raise ConfigurationError(f"No pace is known for {host!r}. Known: {names}.")
