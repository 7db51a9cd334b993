"""Where rows live that everybody at a host shares: in this process, in a file of this machine, in PostgreSQL.

A row is a short text under a name. A store can do one thing: let one caller at a time read and change a row.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from literature_agent.errors import ConfigurationError, SourceError, reason_of
from literature_agent.settings import Settings
from literature_agent.transport.postgres import Database, database, is_postgres

R = TypeVar("R")

_log = logging.getLogger("literature_agent.transport")


@dataclass
class Kept:
    """A row in the hands of the one caller that may change it."""

    text: str | None
    """None or empty where there is no row yet."""
    now: float
    """Seconds since the epoch by the clock of the store, read after the row was had."""


class PaceStore(Protocol):
    """Where rows live. Usable from several threads at once."""

    @property
    def blocking(self) -> bool:
        """Whether a call may wait for other processes, so that an event loop must not make it itself."""
        ...

    @property
    def shared(self) -> bool:
        """Whether other processes see it."""
        ...

    @property
    def where(self) -> str:
        """For messages: `this process alone`, a file, a database."""
        ...

    def change(self, name: str, time: Callable[[], float], work: Callable[[Kept], R]) -> R:
        """What `work` gives; the text that it leaves is kept, unless it raises.

        `time` is the caller's clock, for stores that have none of their own.

        Raises:
            SourceError: `request_unreachable`, the store does not answer.
            ConfigurationError: it answers, but does not let this program work.
        """
        ...


class MemoryPaceStore:
    """Shared by all threads of this process."""

    blocking = False
    shared = False
    where = "this process alone"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: dict[str, str | None] = {}

    def after_fork(self) -> None:
        """In a new process no other thread holds the lock, whatever it looks like."""
        self._lock = threading.Lock()

    def change(self, name: str, time: Callable[[], float], work: Callable[[Kept], R]) -> R:
        with self._lock:
            kept = Kept(self._rows.get(name), time())
            result = work(kept)
            self._rows[name] = kept.text
            return result


class FilePaceStore:
    """Shared by all processes of this machine: a small SQLite file.

    Each call opens its own connection, so nothing belongs to a thread, survives a fork or needs closing.
    """

    blocking = True
    shared = True

    def __init__(self, path: Path) -> None:
        self._path = path
        self.where = str(path)

    def change(self, name: str, time: Callable[[], float], work: Callable[[Kept], R]) -> R:
        try:
            return self._changed(name, time, work)
        except TimeoutError:  # of `work`; it is an OSError
            raise
        except (OSError, sqlite3.Error) as fault:
            why = reason_of(fault)
        raise SourceError(
            f"The file {self._path} that the pace is kept in cannot be used ({why}).",
            reason="request_unreachable",
            recovery="Set LITERATURE_AGENT_CACHE_DIR or LITERATURE_AGENT_RATE_LIMIT_STORE to a place of yours.",
        )

    def _changed(self, name: str, time: Callable[[], float], work: Callable[[Kept], R]) -> R:
        if not self._path.exists():
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Opened plainly only while new: closing a plain handle drops SQLite's locks on the same file.
            with suppress(FileExistsError):
                os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        with closing(sqlite3.connect(self._path, timeout=10, isolation_level=None)) as connection:
            # After a power cut the rows are worth nothing, so the disk is not waited for.
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("CREATE TABLE IF NOT EXISTS rows (name TEXT PRIMARY KEY, text TEXT)")
            found = connection.execute("SELECT text FROM rows WHERE name = ?", (name,)).fetchone()
            kept = Kept(found[0] if found else None, time())
            before, result = kept.text, work(kept)
            if kept.text != before:
                connection.execute("INSERT OR REPLACE INTO rows VALUES (?, ?)", (name, kept.text))
            connection.execute("COMMIT")
            return result


class PostgresPaceStore:
    """Shared by all machines that use the same database; its clock counts, not theirs."""

    blocking = True
    shared = True

    def __init__(self, rows: Database) -> None:
        self._rows = rows
        self.where = rows.name

    def change(self, name: str, time: Callable[[], float], work: Callable[[Kept], R]) -> R:
        def changed(text: str, now: float) -> tuple[str, R]:
            kept = Kept(text, now)
            result = work(kept)
            return kept.text or "", result

        return self._rows.change_row(name, changed)


# The limit of a host counts per address or key, whoever in this process asks, and must outlast each client: a
# one-shot call that starts after another has ended still owes the pause. So this one object belongs to the process.
_OF_THIS_PROCESS = MemoryPaceStore()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_OF_THIS_PROCESS.after_fork)


class _ShareIfPossible:
    """The file, or this process alone where the file cannot be used (read-only home, damaged file)."""

    def __init__(self, path: Path) -> None:
        self._store: PaceStore = FilePaceStore(path)

    @property
    def blocking(self) -> bool:
        return self._store.blocking

    @property
    def shared(self) -> bool:
        return self._store.shared

    @property
    def where(self) -> str:
        return self._store.where

    def change(self, name: str, time: Callable[[], float], work: Callable[[Kept], R]) -> R:
        try:
            return self._store.change(name, time, work)
        except SourceError as fault:
            if self._store.shared:
                _log.warning("The pace is not shared with other processes. %s", fault.message)
                self._store = _OF_THIS_PROCESS
            return self._store.change(name, time, work)


def pace_store(settings: Settings) -> PaceStore:
    """The store that `settings.rate_limit_store` names. Nothing is opened yet.

    Raises:
        ConfigurationError: it names none that there is, or one that needs a package that is not installed.
    """
    name = settings.rate_limit_store.strip()
    if name == "memory":
        return _OF_THIS_PROCESS
    if name == "shared":
        return _ShareIfPossible(settings.cache_dir.expanduser() / "pace.sqlite3")
    if name.startswith("sqlite:///"):
        return FilePaceStore(Path(name.removeprefix("sqlite:///")))
    if is_postgres(name):
        return PostgresPaceStore(database(name, "RATE_LIMIT_STORE"))
    raise ConfigurationError(
        "Setting LITERATURE_AGENT_RATE_LIMIT_STORE must be `shared`, `memory`, `sqlite:///<path>` or "
        "`postgresql://<user>@<host>/<database>`."
    )
