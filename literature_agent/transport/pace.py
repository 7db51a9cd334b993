"""How fast a host may be asked: a caller reserves the next free time and waits for it.

One row per host and key holds the next free time. Reserving it is one short transaction, so any number of tasks,
threads, event loops and processes share one pace without waiting for each other, and there is never a burst: what a
token bucket saves up while idle is exactly what makes a host answer 429 (K110).
"""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import ParamSpec, Protocol, Self, TypeVar
from urllib.parse import urlsplit

from literature_agent.errors import ConfigurationError
from literature_agent.settings import Settings
from literature_agent.transport.clock import Clock, SystemClock
from literature_agent.transport.hosts import MARGIN, host_of, services

P = ParamSpec("P")
R = TypeVar("R")

_log = logging.getLogger("literature_agent.transport")

# A row further ahead than any real queue comes from a wall clock that was set back; it is then ignored.
_HORIZON_S = 3600.0


class PaceStore(Protocol):
    """Where the next free time of each row lives. Times are seconds since the epoch, given by the caller.

    A store must be usable from several threads at once.
    """

    @property
    def blocking(self) -> bool:
        """Whether a call may wait for other processes, so that an event loop must not make it itself."""
        ...

    def reserve(self, row: str, interval: float, now: float, latest: float | None) -> float:
        """Take the next free time of `row` and move it on by `interval`.

        Raises:
            TimeoutError: the next free time lies after `latest`; nothing was reserved.
        """
        ...

    def hold(self, row: str, until: float) -> None:
        """Nobody starts before `until`: the host has asked for a rest."""
        ...

    def held_until(self, row: str) -> float:
        """The time before which nobody starts; 0 when the host has asked for none."""
        ...


def _next(free: float, interval: float, now: float, latest: float | None) -> tuple[float, float]:
    at = now if free > now + _HORIZON_S else max(free, now)
    if latest is not None and at > latest:
        raise TimeoutError
    return at, at + interval


class MemoryPaceStore:
    """Shared by all threads of this process."""

    blocking = False

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._free: dict[str, float] = {}
        self._held: dict[str, float] = {}

    def reserve(self, row: str, interval: float, now: float, latest: float | None) -> float:
        with self._lock:
            at, self._free[row] = _next(self._free.get(row, 0.0), interval, now, latest)
            return at

    def hold(self, row: str, until: float) -> None:
        with self._lock:
            self._held[row] = max(self._held.get(row, 0.0), until)
            self._free[row] = max(self._free.get(row, 0.0), until)

    def held_until(self, row: str) -> float:
        with self._lock:
            return self._held.get(row, 0.0)


class FilePaceStore:
    """Shared by all processes of this machine: a small SQLite file.

    Each call opens its own connection, so nothing belongs to a thread, survives a fork or needs closing.
    """

    blocking = True

    def __init__(self, path: Path) -> None:
        self._path = path

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        if not self._path.exists():
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Opened plainly only while new: closing a plain handle drops SQLite's locks on the same file.
            with suppress(FileExistsError):
                os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        with closing(sqlite3.connect(self._path, timeout=10, isolation_level=None)) as connection:
            # After a power cut the rows are worth nothing, so the disk is not waited for.
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("CREATE TABLE IF NOT EXISTS pace (host TEXT PRIMARY KEY, free REAL, held REAL)")
            yield connection
            connection.execute("COMMIT")

    def reserve(self, row: str, interval: float, now: float, latest: float | None) -> float:
        with self._transaction() as connection:
            found = connection.execute("SELECT free FROM pace WHERE host = ?", (row,)).fetchone()
            at, free = _next(found[0] if found else 0.0, interval, now, latest)
            connection.execute(
                "INSERT INTO pace VALUES (?, ?, 0) ON CONFLICT (host) DO UPDATE SET free = excluded.free", (row, free)
            )
            return at

    def hold(self, row: str, until: float) -> None:
        with self._transaction() as connection:
            connection.execute(
                "INSERT INTO pace VALUES (?1, ?2, ?2) ON CONFLICT (host) DO UPDATE "
                "SET free = max(free, excluded.free), held = max(held, excluded.held)",
                (row, until),
            )

    def held_until(self, row: str) -> float:
        with self._transaction() as connection:
            found = connection.execute("SELECT held FROM pace WHERE host = ?", (row,)).fetchone()
            return float(found[0]) if found else 0.0


# The limit of a host counts per address or key, whoever in this process asks, and must outlast each client: a
# one-shot call that starts after another has ended still owes the pause. So this one object belongs to the process.
_OF_THIS_PROCESS = MemoryPaceStore()


class _ShareIfPossible:
    """The file, or this process alone where the file cannot be used (read-only home, damaged file)."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._store: PaceStore = FilePaceStore(path)

    @property
    def blocking(self) -> bool:
        return self._store.blocking

    def _alone(self, fault: Exception) -> PaceStore:
        if self._store.blocking:
            _log.warning(
                "The pace is not shared with other processes: %s cannot be used (%s).", self._path, type(fault).__name__
            )
            self._store = _OF_THIS_PROCESS
        return self._store

    def reserve(self, row: str, interval: float, now: float, latest: float | None) -> float:
        try:
            return self._store.reserve(row, interval, now, latest)
        except TimeoutError:
            raise
        except (OSError, sqlite3.Error) as fault:
            return self._alone(fault).reserve(row, interval, now, latest)

    def hold(self, row: str, until: float) -> None:
        try:
            self._store.hold(row, until)
        except (OSError, sqlite3.Error) as fault:
            self._alone(fault).hold(row, until)

    def held_until(self, row: str) -> float:
        try:
            return self._store.held_until(row)
        except (OSError, sqlite3.Error) as fault:
            return self._alone(fault).held_until(row)


def pace_store(settings: Settings) -> PaceStore:
    """The store that `settings.rate_limit_store` names.

    Raises:
        ConfigurationError: it names none that there is.
    """
    name = settings.rate_limit_store.strip()
    if name == "memory":
        return _OF_THIS_PROCESS
    if name == "shared":
        return _ShareIfPossible(settings.cache_dir.expanduser() / "pace.sqlite3")
    if name.startswith("sqlite:///"):
        return FilePaceStore(Path(name.removeprefix("sqlite:///")))
    raise ConfigurationError(
        "Setting LITERATURE_AGENT_RATE_LIMIT_STORE must be `shared`, `memory` or `sqlite:///<path>`."
    )


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
        self.interval = 1 / (rate * MARGIN)
        self.enabled = enabled
        self._store = store
        self._clock = clock or SystemClock()

    def _time(self) -> float:
        return self._clock.now().timestamp()

    async def _ask(self, question: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        if self._store.blocking:
            return await asyncio.to_thread(question, *args, **kwargs)
        return question(*args, **kwargs)

    async def acquire(self, within: float | None = None) -> None:
        """Wait for a turn, at most `within` seconds. One turn is one request.

        Raises:
            TimeoutError: the next turn comes later than that; found out at once, without waiting.
        """
        if not self.enabled:
            return
        latest = None if within is None else self._time() + within
        while True:
            now = self._time()
            at = await self._ask(self._store.reserve, self.row, self.interval, now, latest)
            if at <= now:
                return
            await self._clock.sleep(at - now)
            # While this caller slept, the host may have asked for a rest until after its turn: it queues anew.
            if await self._ask(self._store.held_until, self.row) <= at:
                return

    def acquire_sync(self, within: float | None = None) -> None:
        """Like `acquire`, blocking this thread."""
        if not self.enabled:
            return
        latest = None if within is None else self._time() + within
        while True:
            now = self._time()
            at = self._store.reserve(self.row, self.interval, now, latest)
            if at <= now:
                return
            self._clock.block(at - now)
            if self._store.held_until(self.row) <= at:
                return

    async def hold(self, seconds: float) -> None:
        """The host has asked for a rest: nobody starts for `seconds`."""
        if self.enabled:
            await self._ask(self._store.hold, self.row, self._time() + seconds)

    async def __aenter__(self) -> Self:
        await self.acquire()
        return self

    async def __aexit__(self, *_: object) -> None:
        return None


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
