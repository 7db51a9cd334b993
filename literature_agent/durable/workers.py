"""Who is at work on one database: each process beats, and what a silent one left is taken up by the others."""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import sqlalchemy as sa

BEAT_S = 2.0
LEASE_S = 10.0
"""A process that has not beaten for so long is taken for dead. If it lives after all, it finds its runs taken and
records nothing more: the engine gives each run one owner."""

_TABLES = sa.MetaData()
_WORKERS = sa.Table(
    "literature_workers",
    _TABLES,
    sa.Column("executor_id", sa.Text, primary_key=True),
    sa.Column("version", sa.Text, nullable=False),
    sa.Column("shares", sa.Boolean, nullable=False),
    sa.Column("beat_at", sa.Float, nullable=False),
)


def new_executor_id() -> str:
    """A name that no other process has: machine, process, and a random part, since process numbers come again."""
    return f"{socket.gethostname()}/{os.getpid()}/{uuid.uuid4().hex[:8]}"


@dataclass
class Workers:
    """The list of processes, kept in the database beside the runs.

    Args:
        engine: of the database.
        executor_id: name of this process.
        version: of its code; only workers of one version take up each other's runs.
        shares: whether it is a worker that takes up what others left, and leaves to them what it does not end.
        take_up: gets the names of dead workers.
    """

    engine: sa.Engine
    executor_id: str
    version: str
    shares: bool
    take_up: Callable[[list[str]], object]
    beat_s: float = BEAT_S
    lease_s: float = LEASE_S
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _last: float = field(default_factory=time.monotonic)
    _judges_from: float = 0.0

    def enter(self) -> None:
        """Enter the list, before anything is taken up."""
        create_tables(self.engine)
        with self.engine.begin() as connection:
            self._write(connection)

    def start(self) -> None:
        """Begin to beat; the engine must be running."""
        self._thread = threading.Thread(target=self._work, name="literature-agent-beat", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Beat no more; the engine must still be running."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=self.lease_s)

    def leave(self) -> None:
        """Leave the list: what this process did not end is free at once."""
        try:
            with self.engine.begin() as connection:
                own = _WORKERS.c.executor_id == self.executor_id
                connection.execute(
                    sa.update(_WORKERS).where(own).values(beat_at=0.0)
                    if self.shares
                    else sa.delete(_WORKERS).where(own)
                )
        except sa.exc.SQLAlchemyError:
            # The lease runs out by itself.
            return

    def beat(self) -> list[str]:
        """Say that this process lives, and give the names of workers of its version that do not."""
        with self.engine.begin() as connection:
            now = self._write(connection)
            if not self.shares:
                return []
            silent = sa.select(_WORKERS.c.executor_id).where(
                _WORKERS.c.shares, _WORKERS.c.version == self.version, _WORKERS.c.beat_at < now - self.lease_s
            )
            return list(connection.execute(silent).scalars())

    def _write(self, connection: sa.Connection) -> float:
        """Write the time of this beat, and give it."""
        now = _now(connection)
        own = _WORKERS.c.executor_id == self.executor_id
        if connection.execute(sa.update(_WORKERS).where(own).values(beat_at=now)).rowcount == 0:
            # Not there yet, or taken off by another that took this process for dead.
            connection.execute(
                sa.insert(_WORKERS).values(
                    executor_id=self.executor_id, version=self.version, shares=self.shares, beat_at=now
                )
            )
        return now

    def look(self) -> None:
        """Beat, and take up what dead workers left."""
        try:
            dead = self.beat()
            now = time.monotonic()
            if now - self._last > self.lease_s / 2:
                # It was cut off from the database, or stood still. Others may have been, and beat again soon.
                self._judges_from = now + self.lease_s
            self._last = now
            if dead and now >= self._judges_from:
                self.take_up(dead)
                forget(self.engine, dead)
        except sa.exc.SQLAlchemyError:
            # The database is away; the engine waits for it too.
            return

    def _work(self) -> None:
        while not self._stop.wait(self.beat_s):
            self.look()


def create_tables(engine: sa.Engine) -> None:
    """Make the list where it is not there yet."""
    try:
        _TABLES.create_all(engine)
    except sa.exc.DBAPIError:
        # Another process made it in the same moment.
        _TABLES.create_all(engine)


def is_alive(engine: sa.Engine, executor_id: str | None) -> bool:
    """Whether the process of that name has beaten lately."""
    create_tables(engine)
    with engine.begin() as connection:
        beat = connection.execute(
            sa.select(_WORKERS.c.beat_at).where(_WORKERS.c.executor_id == executor_id)
        ).scalar_one_or_none()
        return beat is not None and beat >= _now(connection) - LEASE_S and not _ended_here(executor_id or "")


def forget(engine: sa.Engine, executor_ids: Sequence[str]) -> None:
    """Take dead workers off the list, once what they left is taken up."""
    with engine.begin() as connection:
        connection.execute(sa.delete(_WORKERS).where(_WORKERS.c.executor_id.in_(executor_ids)))


def living(engine: sa.Engine, lease_s: float = LEASE_S) -> dict[str, int]:
    """Workers that beat, counted by the version of their code."""
    create_tables(engine)
    with engine.begin() as connection:
        found = connection.execute(
            sa.select(_WORKERS.c.version, sa.func.count())
            .where(_WORKERS.c.shares, _WORKERS.c.beat_at >= _now(connection) - lease_s)
            .group_by(_WORKERS.c.version)
        )
        return {row[0]: row[1] for row in found}


def _ended_here(executor_id: str) -> bool:
    """Whether it was a process of this machine that is gone: then nobody has to wait for its lease."""
    host, _, rest = executor_id.partition("/")
    number = rest.partition("/")[0]
    if host != socket.gethostname() or not number.isdigit():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def _now(connection: sa.Connection) -> float:
    """The database's clock, seconds: machines differ in theirs."""
    clock = "(julianday('now') - 2440587.5) * 86400.0"
    if connection.dialect.name == "postgresql":
        clock = "extract(epoch from clock_timestamp())"
    return float(connection.execute(sa.text(f"SELECT {clock}")).scalar_one())
