"""Where a registry keeps its works: in memory, or in an SQLite file that several processes share."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol

from literature_agent.errors import ConfigurationError, reason_of
from literature_agent.registry.works import Work


class Store(Protocol):
    """Works by number, names (identities, keys, copies) that lead to them, and the links between them.

    Works are values: `put` replaces one whole. Everything inside `writing()` happens at once or not at all for other
    threads and processes; `reading()` sees one state.
    """

    def writing(self) -> AbstractContextManager[None]: ...
    def reading(self) -> AbstractContextManager[None]: ...
    def new_number(self) -> int: ...
    def work(self, number: int) -> Work | None: ...
    def put(self, work: Work) -> None: ...
    def drop(self, number: int) -> None: ...
    def owner(self, name: str) -> int | None: ...
    def claim(self, names: Iterable[str], number: int) -> None: ...
    def link(self, targets: Iterable[str], number: int) -> None: ...
    def linkers(self, target: str) -> tuple[int, ...]: ...
    def unlink(self, number: int) -> None: ...
    def numbers(self) -> tuple[int, ...]: ...
    def work_keys(self) -> tuple[str, ...]: ...
    def count(self) -> int: ...


class MemoryStore:
    """The default: lives and dies with the registry; safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._works: dict[int, Work] = {}
        self._names: dict[str, int] = {}
        self._linkers: dict[str, set[int]] = {}
        self._targets: dict[int, set[str]] = {}
        self._last = 0

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return {
                "_works": dict(self._works),
                "_names": dict(self._names),
                "_linkers": {target: set(numbers) for target, numbers in self._linkers.items()},
                "_targets": {number: set(targets) for number, targets in self._targets.items()},
                "_last": self._last,
            }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()

    def __deepcopy__(self, memo: dict[int, Any]) -> MemoryStore:
        # Works are frozen: a copy of the store may share them.
        copied = MemoryStore.__new__(MemoryStore)
        copied.__setstate__(self.__getstate__())
        return copied

    def writing(self) -> AbstractContextManager[Any]:
        # The lock is its own context manager, and a re-entrant one.
        return self._lock

    reading = writing

    def new_number(self) -> int:
        self._last += 1
        return self._last

    def work(self, number: int) -> Work | None:
        return self._works.get(number)

    def put(self, work: Work) -> None:
        self._works[work.number] = work

    def drop(self, number: int) -> None:
        self._works.pop(number, None)
        self.unlink(number)

    def owner(self, name: str) -> int | None:
        return self._names.get(name)

    def claim(self, names: Iterable[str], number: int) -> None:
        for name in names:
            self._names[name] = number

    def link(self, targets: Iterable[str], number: int) -> None:
        for target in targets:
            self._linkers.setdefault(target, set()).add(number)
            self._targets.setdefault(number, set()).add(target)

    def linkers(self, target: str) -> tuple[int, ...]:
        found = self._linkers.get(target)
        return tuple(sorted(found)) if found else ()

    def unlink(self, number: int) -> None:
        for target in self._targets.pop(number, ()):
            self._linkers[target].discard(number)

    def numbers(self) -> tuple[int, ...]:
        return tuple(sorted(self._works))

    def work_keys(self) -> tuple[str, ...]:
        return tuple(self._works[number].key for number in self.numbers())

    def count(self) -> int:
        return len(self._works)


_SCHEMA = """
CREATE TABLE IF NOT EXISTS works (
    number INTEGER PRIMARY KEY AUTOINCREMENT, revision INTEGER NOT NULL, key TEXT NOT NULL, body TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS names (name TEXT PRIMARY KEY, work INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS links (
    target TEXT NOT NULL, work INTEGER NOT NULL, PRIMARY KEY (target, work)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS links_by_work ON links (work);
"""
_CACHED_WORKS = 4096


class SQLiteStore:
    """A registry in a file, readable by its owner only; safe for threads, event loops and several processes.

    Calls block for the time of one small transaction; `wait_s` is how long they wait for another process.

    Raises:
        ConfigurationError: on first use, the file can't be opened or is no registry.
    """

    def __init__(self, path: str | Path, *, wait_s: float = 30.0) -> None:
        self.path = Path(path)
        self.wait_s = wait_s
        self._start()

    def _start(self) -> None:
        self._lock = threading.RLock()
        self._depth = 0
        self._connection: sqlite3.Connection | None = None
        self._process = 0
        self._cache: dict[int, tuple[int, Work]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "wait_s": self.wait_s}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._start()

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection = None

    def _open(self) -> sqlite3.Connection:
        if self._connection is not None and self._process == os.getpid():
            return self._connection
        # A connection must not be carried into a forked child: SQLite's locks belong to the process.
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
            connection = sqlite3.connect(
                self.path, timeout=self.wait_s, isolation_level=None, check_same_thread=False, cached_statements=64
            )
            try:
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute("PRAGMA synchronous=NORMAL")
                connection.executescript(_SCHEMA)
            except BaseException:
                connection.close()
                raise
        except (OSError, sqlite3.Error) as error:
            raise ConfigurationError(
                f"The registry file {str(self.path)!r} can't be used: {reason_of(error)}.",
                recovery="Name a file that is a registry, or a new one in a folder that can be written.",
            ) from error
        self._connection, self._process = connection, os.getpid()
        return connection

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        with self._lock:
            connection = self._open()
            if self._depth == 0:
                connection.execute(begin)
            self._depth += 1
            try:
                yield
            except BaseException:
                if self._depth == 1:
                    connection.execute("ROLLBACK")
                    self._cache.clear()
                raise
            else:
                if self._depth == 1:
                    connection.execute("COMMIT")
            finally:
                self._depth -= 1

    def writing(self) -> AbstractContextManager[None]:
        return self._transaction("BEGIN IMMEDIATE")

    def reading(self) -> AbstractContextManager[None]:
        return self._transaction("BEGIN")

    def _rows(self, statement: str, *values: object) -> list[Any]:
        with self._lock:
            return self._open().execute(statement, values).fetchall()

    def new_number(self) -> int:
        with self._lock:
            number = self._open().execute("INSERT INTO works (revision, key, body) VALUES (0, '', '')").lastrowid
        assert number is not None
        return number

    def work(self, number: int) -> Work | None:
        with self._lock:
            rows = self._rows("SELECT revision FROM works WHERE number = ?", number)
            if not rows or rows[0][0] == 0:
                return None
            cached = self._cache.get(number)
            if cached and cached[0] == rows[0][0]:
                return cached[1]
            revision, body = self._rows("SELECT revision, body FROM works WHERE number = ?", number)[0]
            work = Work.model_validate_json(body)
            self._remember(number, revision, work)
            return work

    def _remember(self, number: int, revision: int, work: Work) -> None:
        if len(self._cache) >= _CACHED_WORKS:
            self._cache.clear()
        self._cache[number] = (revision, work)

    def put(self, work: Work) -> None:
        with self._lock:
            (revision,) = self._rows(
                "UPDATE works SET revision = revision + 1, key = ?, body = ? WHERE number = ? RETURNING revision",
                work.key,
                work.model_dump_json(exclude_none=True),
                work.number,
            )[0]
            self._remember(work.number, revision, work)

    def drop(self, number: int) -> None:
        with self._lock:
            self._rows("DELETE FROM works WHERE number = ?", number)
            self.unlink(number)
            self._cache.pop(number, None)

    def owner(self, name: str) -> int | None:
        rows = self._rows("SELECT work FROM names WHERE name = ?", name)
        return rows[0][0] if rows else None

    def claim(self, names: Iterable[str], number: int) -> None:
        with self._lock:
            self._open().executemany(
                "INSERT INTO names (name, work) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET work = excluded.work",
                [(name, number) for name in names],
            )

    def link(self, targets: Iterable[str], number: int) -> None:
        with self._lock:
            self._open().executemany(
                "INSERT OR IGNORE INTO links (target, work) VALUES (?, ?)", [(target, number) for target in targets]
            )

    def linkers(self, target: str) -> tuple[int, ...]:
        return tuple(row[0] for row in self._rows("SELECT work FROM links WHERE target = ? ORDER BY work", target))

    def unlink(self, number: int) -> None:
        self._rows("DELETE FROM links WHERE work = ?", number)

    def numbers(self) -> tuple[int, ...]:
        return tuple(row[0] for row in self._rows("SELECT number FROM works WHERE revision > 0 ORDER BY number"))

    def work_keys(self) -> tuple[str, ...]:
        return tuple(row[0] for row in self._rows("SELECT key FROM works WHERE revision > 0 ORDER BY number"))

    def count(self) -> int:
        return int(self._rows("SELECT count(*) FROM works WHERE revision > 0")[0][0])
