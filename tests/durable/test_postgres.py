"""The PostgreSQL that trials and tests start for themselves."""

from __future__ import annotations

import psycopg

from evals.postgres import Postgres


def test_each_test_gets_an_empty_database_of_its_own(postgres: Postgres) -> None:
    first, second = postgres.database(), postgres.database()
    with psycopg.connect(first) as connection:
        connection.execute("CREATE TABLE only_here (n integer)")
    with psycopg.connect(second) as connection:
        found = connection.execute("SELECT to_regclass('only_here')").fetchone()
    assert first != second
    assert found == (None,)
