"""The PostgreSQL that trials and tests start for themselves."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import psycopg
import pytest

from evals.postgres import Postgres, patiently

_USER = """
import sys, time
from pathlib import Path
from evals.postgres import running_postgres

with running_postgres(Path(sys.argv[1])) as server:
    print(server.address, flush=True)
    time.sleep(600)
"""


def test_each_test_gets_an_empty_database_of_its_own(postgres: Postgres) -> None:
    first, second = postgres.database(), postgres.database()
    with psycopg.connect(first) as connection:
        connection.execute("CREATE TABLE only_here (n integer)")
    with psycopg.connect(second) as connection:
        found = connection.execute("SELECT to_regclass('only_here')").fetchone()
    assert first != second
    assert found == (None,)


def test_a_start_that_takes_long_is_waited_for() -> None:
    slow = [AssertionError("not ready"), subprocess.TimeoutExpired("pg_ctl", 10)]

    def start() -> None:
        if slow:
            raise slow.pop()

    with pytest.raises(subprocess.TimeoutExpired):
        patiently(start, patience_s=-1)
    slow.append(subprocess.TimeoutExpired("pg_ctl", 10))
    patiently(start)
    assert slow == []


def test_a_server_ends_with_the_last_of_its_users_also_when_they_are_killed(tmp_path: Path, postgres: Postgres) -> None:
    # Beside the shared one and not in `tmp_path`, which pytest closes to other users.
    folder = Path(postgres.address.partition("?host=")[2]).with_name(f"literature-agent-{tmp_path.parent.name}")
    users = [
        subprocess.Popen([sys.executable, "-c", _USER, str(folder)], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = [user.stdout.readline().strip() for user in users if user.stdout is not None]
    watches = [watch for user in users for watch in psutil.Process(user.pid).children()]
    server = psutil.Process(int((folder / "postmaster.pid").read_text(encoding="utf-8").split()[0]))

    def gone(process: psutil.Process) -> bool:
        with suppress(psutil.NoSuchProcess):
            return bool(process.status() == psutil.STATUS_ZOMBIE)
        return True

    def kill(place: int) -> None:
        users[place].kill()
        users[place].communicate()
        until = time.monotonic() + 30
        while not gone(watches[place]) and time.monotonic() < until:
            time.sleep(0.02)

    assert said[0] == said[1]
    kill(0)
    psycopg.connect(said[0]).close()
    kill(1)
    assert gone(server)
    assert not folder.exists()
