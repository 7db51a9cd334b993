"""Accepted answers, kept in a file or a database: what was asked lately is not asked again.

Only what the reader of a source has accepted gets here, and a retry never looks here. The key is what was asked,
without who asked; nothing of a request but its hash is kept, and of an answer its type, its body and when it came.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import math
import os
import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar
from urllib.parse import urlsplit

from literature_agent.errors import ConfigurationError, SourceError, reason_of
from literature_agent.settings import Settings
from literature_agent.transport.clock import Clock
from literature_agent.transport.hosts import CREDENTIAL_NAMES, Host
from literature_agent.transport.messages import Answer, Request
from literature_agent.transport.postgres import ANSWERS, Database, database, is_postgres, lock_row, write_row

if TYPE_CHECKING:
    from literature_agent.transport.postgres import Connection

R = TypeVar("R")

_log = logging.getLogger("literature_agent.transport")

_LAYOUT = 1
_SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS answers (
    key BLOB PRIMARY KEY, received REAL NOT NULL, used REAL NOT NULL, type TEXT NOT NULL, body BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS answers_by_age ON answers (received);
CREATE INDEX IF NOT EXISTS answers_by_use ON answers (used);
PRAGMA user_version = {_LAYOUT};
COMMIT;
"""

# What SQLite needs for an answer beyond its body: its row, three index entries, a page half filled.
_ROW_BYTES = 8 * 1024
# Compression of XML and JSON: above 3 it takes three times as long for a tenth less.
_LEVEL = 3
# Longest wait for another process that is writing; a write takes milliseconds.
_PATIENCE_S = 2.0
# Machines whose clocks are apart by less share answers all the same.
_CLOCKS_APART_S = 60.0
# An answer that serves again and again is not written anew each time.
_USED_S = 60.0
_SIZE = "answers:bytes"
REST_S = 60.0
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


@dataclass(frozen=True)
class StoredAnswer:
    """An answer of an earlier request and when it came."""

    answer: Answer
    received_at: datetime


class Answers(Protocol):
    """Where accepted answers are kept."""

    async def get(self, key: bytes, now: datetime, max_age_s: float | None = None) -> StoredAnswer | None:
        """The answer stored under `key`, if it is not older than `max_age_s` and the age limit of this cache."""
        ...

    async def put(self, key: bytes, answer: Answer, received_at: datetime) -> None:
        """Store an answer, if it can be one: status 200 and a body that is not empty and no page of HTML."""
        ...


class AnswerCache:
    """A SQLite file of answers, shared by all threads, event loops and processes that name it.

    Each call opens its own connection, so nothing belongs to a thread, survives a fork or needs closing. A file that
    cannot be used costs a warning, never a request: a damaged one is begun anew, any other is left alone from then on.

    Args:
        max_age_s: answers older than that are removed.
        max_bytes: size of the file; the answers longest unused go first.
    """

    def __init__(self, path: Path, *, max_age_s: float, max_bytes: int) -> None:
        self._path = path
        self._max_age_s = max_age_s
        self._max_bytes = max_bytes
        self._left_alone = False
        self._warned = False

    async def get(self, key: bytes, now: datetime, max_age_s: float | None = None) -> StoredAnswer | None:
        oldest = _oldest(now, self._max_age_s, max_age_s)

        def look(connection: sqlite3.Connection) -> StoredAnswer | None:
            row = connection.execute(
                # An answer from the future was stored before the clock was set back: its age is unknown.
                "SELECT received, type, body FROM answers WHERE key = ? AND received BETWEEN ? AND ?",
                (key, oldest, now.timestamp()),
            ).fetchone()
            if row is None:
                return None
            with suppress(sqlite3.OperationalError):  # a file that can only be read still answers
                connection.execute("UPDATE answers SET used = ? WHERE key = ?", (now.timestamp(), key))
            return _unpacked(*row)

        return await asyncio.to_thread(self._with_file, look, create=False)

    async def put(self, key: bytes, answer: Answer, received_at: datetime) -> None:
        if not _can_be_stored(answer):
            return
        now = received_at.timestamp()

        def store(connection: sqlite3.Connection) -> None:
            packed = zlib.compress(answer.body, _LEVEL)
            room = len(packed) + _ROW_BYTES
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("DELETE FROM answers WHERE key = ? OR received < ?", (key, now - self._max_age_s))
            while _bytes_used(connection) + room > self._max_bytes:
                oldest = "SELECT key FROM answers ORDER BY used LIMIT 1"
                if (
                    room > self._max_bytes
                    or not connection.execute(f"DELETE FROM answers WHERE key = ({oldest})").rowcount
                ):
                    break
            else:
                connection.execute(
                    "INSERT INTO answers VALUES (?, ?, ?, ?, ?)", (key, now, now, answer.content_type, packed)
                )
            connection.execute("COMMIT")

        await asyncio.to_thread(self._with_file, store, create=True)

    def _with_file(self, work: Callable[[sqlite3.Connection], R], *, create: bool) -> R | None:
        """What `work` gives; None where the file is not there and not to be created, or cannot be used."""
        if self._left_alone:
            return None
        try:
            try:
                return self._connected(work, create=create)
            except sqlite3.DatabaseError as fault:
                if getattr(fault, "sqlite_errorcode", 0) not in _DAMAGED:
                    raise
                self._warn("%s is damaged and begun anew.")
                self._remove()
                return self._connected(work, create=create)
        except (OSError, sqlite3.Error) as fault:
            self._left_alone = True
            self._warn("Answers are not kept: %s cannot be used (%s).", reason_of(fault))
            return None

    def _connected(self, work: Callable[[sqlite3.Connection], R], *, create: bool) -> R | None:
        if not self._path.exists():
            if not create:
                return None
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Opened plainly only while new: closing a plain handle drops SQLite's locks on the same file.
            with suppress(FileExistsError):
                os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        with closing(sqlite3.connect(self._path, timeout=_PATIENCE_S, isolation_level=None)) as connection:
            # A file that a power cut damages is begun anew, so the disk is not waited for.
            connection.execute("PRAGMA synchronous = OFF")
            layout = connection.execute("PRAGMA user_version").fetchone()[0]
            if layout == 0:
                connection.execute("PRAGMA auto_vacuum = FULL")  # taken only before the first table; gives space back
                connection.executescript(_SCHEMA)
            elif layout != _LAYOUT:
                raise OSError(f"layout {layout}")
            return work(connection)

    def _remove(self) -> None:
        # A journal of the damaged file would be played into the new one.
        for path in (self._path.with_name(self._path.name + "-journal"), self._path):
            path.unlink(missing_ok=True)

    def _warn(self, text: str, *more: str) -> None:
        if not self._warned:
            self._warned = True
            _log.warning(text, self._path, *more)


class SharedAnswerCache:
    """Answers in a PostgreSQL database, shared by all machines that use it.

    A database that does not answer costs a warning and `REST_S` seconds without it, never a request.

    Args:
        max_age_s: answers older than that are removed.
        max_bytes: size of all answers; those longest unused go first.
    """

    def __init__(self, database: Database, clock: Clock, *, max_age_s: float, max_bytes: int) -> None:
        self._database = database
        self._clock = clock
        self._max_age_s = max_age_s
        self._max_bytes = max_bytes
        self._left_alone_until = -math.inf

    async def get(self, key: bytes, now: datetime, max_age_s: float | None = None) -> StoredAnswer | None:
        time, oldest = now.timestamp(), _oldest(now, self._max_age_s, max_age_s)

        def look(connection: Connection) -> StoredAnswer | None:
            row = connection.execute(
                f"SELECT received, type, body, used FROM {ANSWERS} WHERE key = %s AND received BETWEEN %s AND %s",
                (key, oldest, time + _CLOCKS_APART_S),
            ).fetchone()
            if row is None:
                return None
            received, content_type, packed, used = row
            if time - used > _USED_S:
                connection.execute(f"UPDATE {ANSWERS} SET used = %s WHERE key = %s", (time, key))
            return _unpacked(min(received, time), content_type, packed)

        return await asyncio.to_thread(self._asked, look)

    async def put(self, key: bytes, answer: Answer, received_at: datetime) -> None:
        if not _can_be_stored(answer):
            return
        now = received_at.timestamp()

        def store(connection: Connection) -> None:
            packed = zlib.compress(answer.body, _LEVEL)
            if len(packed) + _ROW_BYTES > self._max_bytes:
                return
            # The row that holds the size of all also makes writers wait for each other: so nothing is counted twice.
            total = int(lock_row(connection, _SIZE)[0] or 0)
            total -= self._removed(connection, "key = %s OR received < %s", (key, now - self._max_age_s))
            while total + len(packed) + _ROW_BYTES > self._max_bytes:
                some = f"key IN (SELECT key FROM {ANSWERS} ORDER BY used LIMIT 16)"
                if (freed := self._removed(connection, some, ())) == 0:
                    total = 0  # the table was emptied by somebody else
                    break
                total -= freed
            connection.execute(
                f"INSERT INTO {ANSWERS} VALUES (%s, %s, %s, %s, %s)", (key, now, now, answer.content_type, packed)
            )
            write_row(connection, _SIZE, str(total + len(packed) + _ROW_BYTES))

        await asyncio.to_thread(self._asked, store)

    @staticmethod
    def _removed(connection: Connection, which: str, values: tuple[object, ...]) -> int:
        """Bytes that are free after deleting."""
        return int(
            connection.execute(
                f"WITH gone AS (DELETE FROM {ANSWERS} WHERE {which} RETURNING length(body) AS size) "
                f"SELECT coalesce(sum(size + {_ROW_BYTES}), 0) FROM gone",
                values,
            ).fetchall()[0][0]
        )

    def _asked(self, work: Callable[[Connection], R]) -> R | None:
        if self._clock.monotonic() < self._left_alone_until:
            return None
        try:
            return self._database.run(work)
        except (SourceError, ConfigurationError) as fault:
            self._left_alone_until = self._clock.monotonic() + REST_S
            _log.warning("Answers are not kept for %.0f s: %s", REST_S, fault.message)
            return None


def _oldest(now: datetime, own: float, asked: float | None) -> float:
    return now.timestamp() - (own if asked is None else min(own, asked))


def _can_be_stored(answer: Answer) -> bool:
    return answer.status == 200 and bool(answer.body.strip()) and not answer.looks_like_html()


def _unpacked(received: float, content_type: str, packed: bytes) -> StoredAnswer | None:
    try:
        body = zlib.decompress(packed)
    except zlib.error:
        return None
    return StoredAnswer(Answer(200, body, content_type), datetime.fromtimestamp(received, UTC))


def answer_cache(settings: Settings, clock: Clock) -> Answers | None:
    """The cache that the settings ask for; None if they switch it off.

    In the PostgreSQL database that `DATABASE_URL` names, else the one of `RATE_LIMIT_STORE`, else in the cache folder.

    Raises:
        ConfigurationError: as of `postgres.database`.
    """
    if settings.cache == "off":
        return None
    max_age_s, max_bytes = settings.cache_max_age_s, int(settings.cache_max_mb * 1_000_000)
    shared = database_of(settings)
    if shared is not None:
        return SharedAnswerCache(shared, clock, max_age_s=max_age_s, max_bytes=max_bytes)
    file = settings.cache_dir.expanduser() / "answers.sqlite3"
    return AnswerCache(file, max_age_s=max_age_s, max_bytes=max_bytes)


def database_of(settings: Settings) -> Database | None:
    """The database that answers are shared in; None if no setting names one."""
    named = "" if settings.database_url is None else settings.database_url.get_secret_value()
    for setting, url in (("DATABASE_URL", named), ("RATE_LIMIT_STORE", settings.rate_limit_store)):
        if is_postgres(url.strip()):
            return database(url.strip(), setting)
    return None


def key_of(request: Request, host: Host) -> bytes:
    """What `request` asks of `host`, hashed: method, host and port, path, parameters and body, without credentials."""
    base = urlsplit(host.base_url)
    form = None if request.form is None else _without_credentials(request.form)
    asked = [
        "GET" if form is None else "POST",
        base.netloc.lower(),
        base.path + request.path.lstrip("/"),
        _without_credentials(request.params),
        form,
    ]
    return hashlib.blake2b(json.dumps(asked).encode("ascii"), digest_size=20).digest()


def _without_credentials(pairs: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    return [pair for pair in pairs if pair[0] not in CREDENTIAL_NAMES]


def _bytes_used(connection: sqlite3.Connection) -> int:
    """Size of the file without the pages that are given back at the end of this transaction."""
    pages, free, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)
