"""What is kept for one consumer, in one SQLite file: its registry, what it was shown and when, its runs, its use.

Works not shown for the time of retention are evicted; their keys stay known for a while, so that "it was here" can be
told from "never seen".
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from literature_agent.errors import ConfigurationError, reason_of
from literature_agent.registry import ArtifactRegistry, Reference, SQLiteStore

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS seen (key TEXT PRIMARY KEY, at TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS evicted (key TEXT PRIMARY KEY, at TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS runs (run_id TEXT PRIMARY KEY, request_key TEXT, request TEXT NOT NULL, "
    "status TEXT NOT NULL, started_at TEXT NOT NULL, finished_at TEXT, output TEXT, error TEXT)",
    "CREATE INDEX IF NOT EXISTS runs_by_key ON runs (request_key)",
    "CREATE TABLE IF NOT EXISTS used (day TEXT NOT NULL, what TEXT NOT NULL, count INTEGER NOT NULL, "
    "PRIMARY KEY (day, what)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS claims (what TEXT PRIMARY KEY, owner TEXT NOT NULL, at TEXT NOT NULL) WITHOUT ROWID",
)
LEASE = timedelta(seconds=10)
"""A claim that was not renewed for so long is that of a process which is gone."""
_TOMBSTONES_KEPT = 12
"""Times of retention for which the key of an evicted work stays known."""


class StoredRun(NamedTuple):
    """One run of the aggregator. `status` is `running`, that of its answer, or `failed` with `error` (JSON)."""

    run_id: str
    request_key: str | None
    request: str
    status: str
    started_at: str
    finished_at: str | None
    output: str | None
    error: str | None


class ShelfStore(SQLiteStore):
    """A registry's store with the other tables in the same file, so that one transaction covers both."""

    def prepare(self) -> None:
        for statement in _SCHEMA:
            self._rows(statement)

    def rows(self, statement: str, *values: object) -> list[tuple[str, ...]]:
        return self._rows(statement, *values)

    def note_seen(self, keys: Sequence[str], at: str) -> None:
        with self.writing():
            self._open().executemany("INSERT OR REPLACE INTO seen (key, at) VALUES (?, ?)", [(key, at) for key in keys])

    def evict(self, before: str, now: str, forgotten: str) -> int:
        """Remove works last shown before `before`, and keys evicted before `forgotten`. Gives the number of works."""
        with self.writing():
            # A work that is held but was never shown counts from the first look at it here.
            self._rows(
                "INSERT OR IGNORE INTO seen (key, at) SELECT key, ? FROM works WHERE revision > 0 "
                "AND NOT EXISTS (SELECT 1 FROM names JOIN seen ON names.name = 'key:' || seen.key "
                "WHERE names.work = works.number)",
                now,
            )
            stale = self._rows(
                "SELECT names.work FROM seen JOIN names ON names.name = 'key:' || seen.key "
                "GROUP BY names.work HAVING max(seen.at) < ?",
                before,
            )
            for (number,) in stale:
                keys = self._rows("SELECT substr(name, 5) FROM names WHERE work = ? AND name LIKE 'key:%'", number)
                for (key,) in keys:
                    self._rows("INSERT OR REPLACE INTO evicted (key, at) VALUES (?, ?)", key, now)
                    self._rows("DELETE FROM seen WHERE key = ?", key)
                self._rows("DELETE FROM names WHERE work = ?", number)
                self.drop(number)
            self._rows("DELETE FROM evicted WHERE at < ?", forgotten)
        return len(stale)


def make_folder(folder: Path) -> None:
    """Make the folder of the shelves, for this user alone.

    Raises:
        ConfigurationError: it can't be made or written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        why = "" if os.access(folder, os.W_OK) else "it can't be written to"
    except OSError as refused:
        why = reason_of(refused)
    if why:
        raise ConfigurationError(
            f"What clients are shown can't be kept in {str(folder)!r}: {why}.",
            recovery="Set LITERATURE_AGENT_CACHE_DIR to a folder of yours.",
        )


class Shelf:
    """All that is kept for one consumer. Safe for several processes; calls block for one small transaction."""

    def __init__(self, folder: Path, consumer: str, *, retention_days: float) -> None:
        # The name is hashed: whatever it holds, the file lies in the folder.
        name = hashlib.sha256(consumer.encode()).hexdigest()[:24]
        make_folder(folder)
        self.retention = timedelta(days=retention_days)
        self._store = ShelfStore(folder / f"{name}.sqlite")
        self._store.prepare()
        self.registry = ArtifactRegistry(store=self._store)

    def close(self) -> None:
        self._store.close()

    # Shown

    def note_shown(self, references: Iterable[str], now: datetime) -> None:
        """Write that these works were shown to the consumer."""
        keys = [reference.key for text in references if (reference := Reference.parse(text)) is not None]
        if keys:
            self._store.note_seen(keys, moment_text(now))

    def was_shown(self, reference: Reference) -> bool:
        """Whether the work was ever shown to this consumer and is still here."""
        keys = self.registry.keys(reference)
        marks = ", ".join("?" * len(keys))
        return bool(keys) and bool(self._store.rows(f"SELECT 1 FROM seen WHERE key IN ({marks}) LIMIT 1", *keys))

    def was_evicted(self, reference: Reference) -> bool:
        return bool(self._store.rows("SELECT 1 FROM evicted WHERE key = ?", reference.key))

    def last_shown(self, limit: int) -> Sequence[str]:
        """Keys shown last, newest first."""
        return [row[0] for row in self._store.rows("SELECT key FROM seen ORDER BY at DESC, key LIMIT ?", limit)]

    def prune(self, now: datetime) -> int:
        """Evict what has not been shown for the time of retention. Gives the number of works evicted."""
        before = moment_text(now - self.retention)
        self._store.rows("DELETE FROM claims WHERE at < ?", min(before, moment_text(now - LEASE)))
        # A run that is under way is claimed; one whose process was killed goes as others do.
        self._store.rows(
            "DELETE FROM runs WHERE started_at < ? AND NOT EXISTS (SELECT 1 FROM claims WHERE what = 'run ' || run_id)",
            before,
        )
        self._store.rows("DELETE FROM used WHERE day < ?", before[:10])
        return self._store.evict(before, moment_text(now), moment_text(now - _TOMBSTONES_KEPT * self.retention))

    # Use

    def used(self, what: str, day: str) -> int:
        rows = self._store.rows("SELECT count FROM used WHERE day = ? AND what = ?", day, what)
        return int(rows[0][0]) if rows else 0

    def take(self, what: str, day: str, limit: int | None) -> bool:
        """Count one use of the day, unless the limit is reached. Without a limit nothing is counted."""
        if limit is None:
            return True
        with self._store.writing():
            if self.used(what, day) >= limit:
                return False
            self._store.rows(
                "INSERT INTO used (day, what, count) VALUES (?, ?, 1) "
                "ON CONFLICT (day, what) DO UPDATE SET count = count + 1",
                day,
                what,
            )
        return True

    # Runs

    def claim(self, what: str, owner: str, now: datetime) -> bool:
        """Take `what`, or hold on to it, for the length of `LEASE`; False while another owner has it."""
        with self._store.writing():
            held_by = self._held_by(what, now)
            if held_by is None or held_by == owner:
                self._store.rows("INSERT OR REPLACE INTO claims VALUES (?, ?, ?)", what, owner, moment_text(now))
        return held_by is None or held_by == owner

    def is_claimed(self, what: str, now: datetime) -> bool:
        return self._held_by(what, now) is not None

    def _held_by(self, what: str, now: datetime) -> str | None:
        # One that is later than a new one was made before the clock was set back; its owner will make it again.
        window = moment_text(now - LEASE), moment_text(now + LEASE)
        rows = self._store.rows("SELECT owner FROM claims WHERE what = ? AND at > ? AND at < ?", what, *window)
        return rows[0][0] if rows else None

    def release(self, what: str, owner: str) -> None:
        self._store.rows("DELETE FROM claims WHERE what = ? AND owner = ?", what, owner)

    def open_run(self, run_id: str, request: str, now: datetime, request_key: str | None) -> None:
        self._store.rows(
            "INSERT INTO runs (run_id, request_key, request, status, started_at) VALUES (?, ?, ?, 'running', ?)",
            run_id,
            request_key,
            request,
            moment_text(now),
        )

    def close_run(
        self, run_id: str, status: str, now: datetime, *, output: str | None = None, error: str | None = None
    ) -> None:
        self._store.rows(
            "UPDATE runs SET status = ?, finished_at = ?, output = ?, error = ? WHERE run_id = ?",
            status,
            moment_text(now),
            output,
            error,
            run_id,
        )

    def run(self, run_id: str) -> StoredRun | None:
        rows = self._store.rows(f"SELECT {', '.join(StoredRun._fields)} FROM runs WHERE run_id = ?", run_id)
        return StoredRun(*rows[0]) if rows else None

    def run_of_key(self, request_key: str) -> StoredRun | None:
        """The newest run that was asked for with this key."""
        rows = self._store.rows(
            f"SELECT {', '.join(StoredRun._fields)} FROM runs WHERE request_key = ? "
            "ORDER BY started_at DESC, rowid DESC LIMIT 1",
            request_key,
        )
        return StoredRun(*rows[0]) if rows else None


def moment_text(moment: datetime) -> str:
    """A moment in UTC as it is kept: ISO 8601 without its zone, so that texts sort as moments do."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f")
