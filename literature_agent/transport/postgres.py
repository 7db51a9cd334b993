"""What all machines share, in a PostgreSQL database: rows of the pace, and answers.

The tables are made when first needed. `psycopg` is imported only where a setting names a database.
"""

from __future__ import annotations

import os
import re
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from literature_agent.errors import ConfigurationError, SourceError

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[tuple[Any, ...]]

R = TypeVar("R")

_SCHEME = re.compile(r"postgres(ql)?(\+psycopg\d?)?://", re.IGNORECASE)

ROWS = "literature_agent_rows"
ANSWERS = "literature_agent_answers"

_LAYOUT = f"""
CREATE TABLE IF NOT EXISTS {ROWS} (name text PRIMARY KEY, text text NOT NULL);
CREATE TABLE IF NOT EXISTS {ANSWERS} (
    key bytea PRIMARY KEY, received float8 NOT NULL, used float8 NOT NULL, type text NOT NULL, body bytea NOT NULL
);
CREATE INDEX IF NOT EXISTS {ANSWERS}_by_age ON {ANSWERS} (received);
CREATE INDEX IF NOT EXISTS {ANSWERS}_by_use ON {ANSWERS} (used);
"""
# Any number that nobody else is likely to lock: it keeps two processes from making the tables at the same time.
_LAYOUT_LOCK = 7_240_616_114

_CONNECT_S = 5
# A client that dies or hangs in the middle of a transaction must not keep the row for longer, nor a dead line a client.
_SESSION = """
SET synchronous_commit = off; SET idle_in_transaction_session_timeout = '5s';
SET lock_timeout = '10s'; SET statement_timeout = '10s'
"""
_IDLE = 2
"""Connections that are kept open between calls."""


def is_postgres(url: str) -> bool:
    """Whether the address names a PostgreSQL database."""
    return _SCHEME.match(url) is not None


class Database:
    """Connections of this process to one database; safe for threads, and after a fork.

    Args:
        setting: the setting that named it, without prefix, for messages.
    """

    def __init__(self, url: str, setting: str) -> None:
        try:
            import psycopg
            from psycopg import conninfo
        except ImportError:
            raise ConfigurationError(
                f"Setting LITERATURE_AGENT_{setting} names a PostgreSQL database, which needs the package `psycopg`.",
                recovery="Install it: pip install 'literature-agent[postgres]'.",
            ) from None
        self._psycopg = psycopg
        self._setting = f"LITERATURE_AGENT_{setting}"
        self._url = _SCHEME.sub("postgresql://", url.strip(), count=1)
        refused = False
        try:
            parts = conninfo.conninfo_to_dict(self._url)
        except psycopg.Error:
            refused = True
        if refused:  # raised out here: what psycopg says may hold the password
            raise ConfigurationError(
                f"Setting {self._setting} is no usable address of a PostgreSQL database.",
                recovery="Write it as postgresql://<user>@<host>:<port>/<database>.",
            )
        place = f"{parts.get('host', 'localhost')}:{parts.get('port', 5432)}"
        self.name = f"database {parts.get('dbname', parts.get('user', ''))!r} at {place}"
        """For messages: no user, no password."""
        self._lock = threading.Lock()
        self._idle: list[Connection] = []
        self._process = os.getpid()
        self._closing = weakref.finalize(self, _close_all, self._idle, self._process)

    def run(self, work: Callable[[Connection], R]) -> R:
        """What `work` gives, in a transaction of its own; a connection that has been lost meanwhile is replaced once.

        Raises:
            SourceError: `request_unreachable`.
            ConfigurationError: the database refuses this user, or what it wants to do.
        """
        error: SourceError | ConfigurationError
        lost = self._psycopg.OperationalError, self._psycopg.InterfaceError
        try:
            while True:
                connection, is_new = self._take()
                try:
                    with connection.transaction():
                        result = work(connection)
                except lost:
                    broken = connection.broken
                    connection.close()
                    if is_new or not broken:
                        raise
                    continue
                except BaseException:
                    self._give_back(connection)
                    raise
                self._give_back(connection)
                return result
        except lost as fault:
            error = self._unreachable(str(fault))
        except self._psycopg.Error as fault:
            error = self._refused(type(fault).__name__)
        # Raised out here: the errors of psycopg hold the connection, and with it the password.
        raise error

    def change_row(self, name: str, work: Callable[[str, float], tuple[str, R]]) -> R:
        """`work(text, now)` gives the new text and a result; nobody else has the row meanwhile."""

        def changed(connection: Connection) -> R:
            before, now = lock_row(connection, name)
            text, result = work(before, now)
            if text != before:
                write_row(connection, name, text)
            return result

        return self.run(changed)

    def close(self) -> None:
        """Close the idle connections; a later call opens new ones."""
        with self._lock:
            idle, self._idle[:] = list(self._idle), []
        for connection in idle:
            connection.close()

    def _take(self) -> tuple[Connection, bool]:
        """A connection, and whether it is new."""
        with self._lock:
            if self._process != os.getpid():
                # They belong to the process before the fork: closing them here would end them there.
                self._idle.clear()
                self._process = os.getpid()
            if self._idle:
                return self._idle.pop(), False
        return self._connect(), True

    def _give_back(self, connection: Connection) -> None:
        with self._lock:
            if not connection.closed and len(self._idle) < _IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def _connect(self) -> Connection:
        given = self._psycopg.conninfo.conninfo_to_dict(self._url)
        defaults: dict[str, Any] = {
            "connect_timeout": _CONNECT_S,
            "tcp_user_timeout": 10_000,
            "application_name": "literature-agent",
        }
        connection = self._psycopg.connect(
            self._url,
            autocommit=True,
            prepare_threshold=None,  # poolers that hand out a connection per transaction know no prepared statements
            **{name: value for name, value in defaults.items() if name not in given},
        )
        try:
            connection.execute(_SESSION)
            known = connection.execute("SELECT to_regclass(%s), to_regclass(%s)", (ROWS, ANSWERS)).fetchone()
            if known is None or None in known:
                with connection.transaction():
                    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LAYOUT_LOCK,))
                    connection.execute(_LAYOUT)
        except BaseException:
            connection.close()
            raise
        return connection

    def _unreachable(self, reason: str) -> SourceError | ConfigurationError:
        if any(word in reason for word in ("authentication failed", "does not exist", "pg_hba.conf", "no password")):
            return self._refused("wrong user, password or database name")
        kind = "connection refused" if "refused" in reason else "no answer"
        return SourceError(
            f"The {self.name} that {self._setting} names cannot be reached ({kind}).",
            reason="request_unreachable",
            recovery=f"Start the database, or correct {self._setting}.",
        )

    def _refused(self, kind: str) -> ConfigurationError:
        return ConfigurationError(
            f"The {self.name} that {self._setting} names refuses this program ({kind}).",
            recovery=f"Give the user of {self._setting} the right to make and change tables there, or correct it.",
        )


def lock_row(connection: Connection, name: str) -> tuple[str, float]:
    """The text of a row, made if it is not there, that is ours to the end of the transaction; and the server's time."""
    while True:
        found = connection.execute(
            # The clock is read outside, when the row is locked, and not while waiting for it.
            "SELECT text, extract(epoch FROM clock_timestamp())::float8 FROM "
            f"(SELECT text FROM {ROWS} WHERE name = %s FOR UPDATE) AS locked",
            (name,),
        ).fetchone()
        if found is not None:
            return found[0], found[1]
        connection.execute(f"INSERT INTO {ROWS} VALUES (%s, '') ON CONFLICT DO NOTHING", (name,))


def write_row(connection: Connection, name: str, text: str) -> None:
    """The new text of a locked row."""
    connection.execute(f"UPDATE {ROWS} SET text = %s WHERE name = %s", (text, name))


def _close_all(idle: list[Connection], process: int) -> None:
    if process == os.getpid():
        for connection in idle:
            connection.close()


# Opening a connection costs more than a reservation, so all clients of a process share a few; they are closed when no
# client is left.
_databases: weakref.WeakValueDictionary[tuple[str, str], Database] = weakref.WeakValueDictionary()
_databases_lock = threading.Lock()


def database(url: str, setting: str) -> Database:
    """The connections of this process to the database that `setting` names.

    Raises:
        ConfigurationError: the address is not usable, or `psycopg` is not installed.
    """
    with _databases_lock:
        found = _databases.get((url, setting))
        if found is None:
            found = _databases[url, setting] = Database(url, setting)
        return found
