"""What all machines share in PostgreSQL: pace, slots, answers; and what happens when it is not there."""

from __future__ import annotations

import asyncio
import itertools
import logging
import multiprocessing
import os
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import psycopg
import pytest

from evals.postgres import Postgres
from literature_agent.errors import ConfigurationError, SourceError
from literature_agent.settings import Settings, load_settings
from literature_agent.transport import A_DAY, Answer, Request, Transport, limiter_for
from literature_agent.transport.asking import PATIENCE_S
from literature_agent.transport.cache import SharedAnswerCache, answer_cache
from literature_agent.transport.clock import SystemClock
from literature_agent.transport.gate import SharedGate
from literature_agent.transport.postgres import Database, database
from literature_agent.transport.stores import Kept, pace_store

if TYPE_CHECKING:
    from tests.transport.conftest import FakeClock, Wire

NOWHERE = "postgresql://someone:very-secret@127.0.0.1:1/papers"
OK = httpx.Response(200, content=b"answer")
NOW = datetime(2026, 11, 30, tzinfo=UTC)
KEY = "0123456789abcdef"
PAGE = Answer(200, b"<records/>", "text/xml")


def body(answer: Answer) -> bytes:
    return answer.body


def count(kept: Kept) -> int:
    kept.text = str(int(kept.text or 0) + 1)
    return int(kept.text)


def close_the_door(postgres: Postgres, url: str) -> None:
    """Nobody gets into the database any more, and who is in it is thrown out."""
    name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
    with psycopg.connect(postgres.address, autocommit=True) as connection:
        connection.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))


def open_the_door(postgres: Postgres, url: str) -> None:
    name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
    with psycopg.connect(postgres.address, autocommit=True) as connection:
        connection.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')


# Not there


async def test_a_store_that_cannot_be_reached_lets_nothing_out_and_says_what_to_do(
    ask: Request, wire: Callable[..., Wire], clock: FakeClock, open_transport: Callable[..., Transport]
) -> None:
    replies = wire(OK)
    store = pace_store(Settings(rate_limit_store=NOWHERE))
    async with open_transport(replies, store=store) as transport:
        with pytest.raises(SourceError) as sending:
            await transport.send(ask, body)
        with pytest.raises(SourceError) as entering:
            async with transport.job("eutils", "pmc"):
                pytest.fail("there is no slot without a store")
    assert replies.requests == []
    assert (sending.value.reason, entering.value.reason) == ("pubmed_unreachable", "pmc_unreachable")
    for failed in (sending.value, entering.value):
        assert failed.retryable
        assert "'papers' at 127.0.0.1:1" in failed.message
        assert "LITERATURE_AGENT_RATE_LIMIT_STORE" in failed.recovery
        assert "secret" not in failed.message + failed.recovery
        assert "Nothing was sent" in failed.message
    assert clock.seconds == pytest.approx(2 * sum(PATIENCE_S))


def test_an_application_is_told_too_and_in_time(clock: FakeClock) -> None:
    pace = limiter_for("eutils", Settings(rate_limit_store=NOWHERE), clock=clock)
    with pytest.raises(SourceError, match="cannot be reached") as failed:
        pace.acquire_sync(within=1)
    assert failed.value.reason == "request_unreachable"
    assert clock.seconds <= 1


@pytest.mark.parametrize("url", ["postgresql://host/x?no=such", "postgres://u:very-secret@[/x"])
def test_an_address_that_is_none_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(ConfigurationError, match="RATE_LIMIT_STORE") as refused:
        pace_store(Settings(rate_limit_store=url))
    assert "secret" not in refused.value.message


def test_a_database_that_does_not_exist_is_a_matter_of_the_settings(postgres: Postgres) -> None:
    url = postgres.address.replace("/postgres?", "/nowhere?")
    with pytest.raises(ConfigurationError, match=r"'nowhere'.*refuses"):
        pace_store(Settings(rate_limit_store=url)).change("row", lambda: 0.0, count)


def test_a_missing_driver_is_named_with_the_extra_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ConfigurationError, match="psycopg") as refused:
        Database("postgresql://host/x", "RATE_LIMIT_STORE")
    assert "literature-agent[postgres]" in refused.value.recovery


def test_settings_do_not_show_the_address() -> None:
    assert "very-secret" not in repr(Settings(rate_limit_store=NOWHERE))


# Lost in the middle


async def test_a_store_lost_while_waiting_stops_the_caller_and_is_used_again_when_it_is_back(
    postgres: Postgres,
    postgres_url: str,
    ask: Request,
    wire: Callable[..., Wire],
    clock: FakeClock,
    open_transport: Callable[..., Transport],
) -> None:
    replies, store = wire(OK), pace_store(Settings(rate_limit_store=postgres_url))
    async with open_transport(replies, store=store) as transport:
        await transport.send(ask, body)

        async def lost(seconds: float) -> None:
            clock.seconds += seconds
            await asyncio.to_thread(close_the_door, postgres, postgres_url)

        clock.sleep = lost  # type: ignore[method-assign]  # the first thing that is waited for is the turn
        with pytest.raises(SourceError, match="cannot be reached"):
            await transport.send(ask, body)
        assert len(replies.requests) == 1

        async def back(seconds: float) -> None:
            clock.seconds += seconds
            await asyncio.to_thread(open_the_door, postgres, postgres_url)

        clock.sleep = back  # type: ignore[method-assign]  # this time it is back after the first pause
        assert await transport.send(ask, body) == b"answer"


def test_connections_that_were_ended_are_replaced(postgres: Postgres, postgres_url: str) -> None:
    store = pace_store(Settings(rate_limit_store=postgres_url))
    assert store.change("row", lambda: 0.0, count) == 1
    close_the_door(postgres, postgres_url)
    open_the_door(postgres, postgres_url)
    assert store.change("row", lambda: 0.0, count) == 2


def _count_three(url: str) -> list[int]:
    store = pace_store(Settings(rate_limit_store=url))
    return [store.change("row", lambda: 0.0, count) for _ in range(3)]


def test_a_forked_process_opens_connections_of_its_own(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYDANTIC_DISABLE_PLUGINS", "__all__")  # they only slow the processes' start
    store = pace_store(Settings(rate_limit_store=postgres_url))
    assert store.change("row", lambda: 0.0, count) == 1
    with multiprocessing.get_context("fork").Pool(2) as pool:
        counted = itertools.chain.from_iterable(pool.map_async(_count_three, [postgres_url] * 2).get(timeout=60))
    assert sorted(counted) == list(range(2, 8))
    assert store.change("row", lambda: 0.0, count) == 8


def test_connections_are_closed_when_nobody_uses_them(postgres: Postgres, postgres_url: str) -> None:
    store = pace_store(Settings(rate_limit_store=postgres_url))
    store.change("row", lambda: 0.0, count)
    del store
    name = psycopg.conninfo.conninfo_to_dict(postgres_url)["dbname"]
    with psycopg.connect(postgres.address, autocommit=True) as connection:
        for _ in range(100):  # a backend takes a moment to go
            left = connection.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = %s", (name,)).fetchone()
            if left == (0,):
                return
            threading.Event().wait(0.05)
    pytest.fail("connections were left open")


# Rows


def test_the_row_is_kept_for_one_caller_and_its_time_is_the_servers(postgres_url: str) -> None:
    store = pace_store(Settings(rate_limit_store=postgres_url))
    inside, on = threading.Event(), threading.Event()
    order: list[str] = []

    def slow(kept: Kept) -> None:
        inside.set()
        assert on.wait(30)
        order.append("slow")

    holder = threading.Thread(target=store.change, args=("row", lambda: 0.0, slow))
    holder.start()
    assert inside.wait(30)
    other = threading.Thread(target=store.change, args=("row", lambda: 0.0, lambda kept: order.append("other")))
    other.start()
    assert store.change("another row", lambda: 0.0, lambda kept: kept.now) > 1_600_000_000
    on.set()
    for thread in (holder, other):
        thread.join(30)
    assert order == ["slow", "other"]


def test_the_database_knows_the_key_as_a_hash_alone(postgres_url: str) -> None:
    limiter_for("eutils", Settings(rate_limit_store=postgres_url, ncbi_api_key=KEY)).acquire_sync()
    with psycopg.connect(postgres_url) as connection:
        rows = connection.execute("SELECT name, text FROM literature_agent_rows").fetchall()
    assert len(rows) == 1
    assert KEY not in str(rows)


async def test_slots_are_shared_through_the_database(postgres_url: str) -> None:
    one, two = (
        SharedGate("host.test", 1, pace_store(Settings(rate_limit_store=postgres_url)), SystemClock()) for _ in range(2)
    )
    async with one.place():
        entering = asyncio.create_task(two.place().__aenter__())
        done, _ = await asyncio.wait([entering], timeout=0.3)
        assert not done
        entering.cancel()
        await asyncio.wait([entering])
    async with asyncio.timeout(30), two.place():
        pass


# Answers


@pytest.fixture
def answers(postgres_url: str) -> Callable[..., SharedAnswerCache]:
    def build(**given: Any) -> SharedAnswerCache:
        limits = {"max_age_s": 7 * A_DAY, "max_bytes": 10**8, **given}
        return SharedAnswerCache(database(postgres_url, "DATABASE_URL"), SystemClock(), **limits)

    return build


async def test_what_one_machine_was_answered_serves_another(
    postgres_url: str, ask: Request, wire: Callable[..., Wire], open_transport: Callable[..., Transport], tmp_path: Path
) -> None:
    replies = wire(httpx.Response(200, content=PAGE.body, headers={"Content-Type": "text/xml"}))
    shared = {"cache": "on", "database_url": postgres_url}
    async with open_transport(replies, **shared, cache_dir=tmp_path / "one", ncbi_api_key=KEY) as one:
        assert not (await one.receive(ask, body)).was_stored
    async with open_transport(replies, **shared, cache_dir=tmp_path / "two", email="someone@example.org") as two:
        received = await two.receive(ask, body)
        assert (received.value, received.was_stored) == (PAGE.body, True)
        anew = Request(ask.source, ask.service, ask.path, ask.params, max_age_s=0)
        assert not (await two.receive(anew, body)).was_stored
    assert len(replies.requests) == 2
    assert not any((tmp_path / name / "answers.sqlite3").exists() for name in ("one", "two"))
    with psycopg.connect(postgres_url) as connection:
        kept = str(connection.execute("SELECT * FROM literature_agent_answers").fetchall())
    assert KEY not in kept
    assert "someone" not in kept


@pytest.mark.parametrize("field", ["database_url", "rate_limit_store"])
def test_either_setting_names_the_database_of_the_answers(field: str, postgres_url: str) -> None:
    assert isinstance(answer_cache(load_settings(**{field: postgres_url}), SystemClock()), SharedAnswerCache)
    assert not isinstance(answer_cache(Settings(database_url="sqlite:///x"), SystemClock()), SharedAnswerCache)


async def test_an_answer_serves_as_long_as_it_may_and_then_goes(answers: Callable[..., SharedAnswerCache]) -> None:
    kept = answers(max_age_s=A_DAY)
    await kept.put(b"old", PAGE, NOW)
    assert (await kept.get(b"old", NOW + timedelta(hours=23))) is not None
    assert (await kept.get(b"old", NOW + timedelta(hours=2), 3600)) is None
    assert (await kept.get(b"old", NOW + timedelta(hours=25))) is None
    await kept.put(b"new", PAGE, NOW + timedelta(hours=25))
    assert (await answers().get(b"old", NOW + timedelta(hours=25))) is None
    assert (await kept.get(b"new", NOW - timedelta(hours=1))) is None  # from the future: its age is unknown


async def test_what_is_no_answer_is_not_kept(answers: Callable[..., SharedAnswerCache]) -> None:
    kept = answers()
    for answer in (Answer(404, b"x"), Answer(200, b" "), Answer(200, b"<html>down</html>")):
        await kept.put(b"key", answer, NOW)
    assert await kept.get(b"key", NOW) is None


async def test_the_longest_unused_go_first_and_the_size_is_kept(
    answers: Callable[..., SharedAnswerCache], postgres_url: str
) -> None:
    kept = answers(max_bytes=400_000)
    for number in range(60):
        await kept.put(b"%d" % number, Answer(200, os.urandom(2_000)), NOW + timedelta(minutes=2 * number))
        assert await kept.get(b"0", NOW + timedelta(minutes=2 * number + 1)) is not None
    await kept.put(b"huge", Answer(200, os.urandom(500_000)), NOW + timedelta(hours=3))
    with psycopg.connect(postgres_url) as connection:
        rows = connection.execute("SELECT key, length(body) FROM literature_agent_answers ORDER BY received").fetchall()
    assert 20 <= len(rows) <= 40
    assert sum(size for _, size in rows) <= 400_000
    assert rows[-1][0] == b"59"


async def test_a_database_that_is_down_costs_the_cache_a_warning_and_no_request(
    ask: Request,
    wire: Callable[..., Wire],
    open_transport: Callable[..., Transport],
    caplog: pytest.LogCaptureFixture,
) -> None:
    replies = wire(OK)
    with caplog.at_level(logging.WARNING):
        async with open_transport(replies, cache="on", database_url=NOWHERE) as transport:
            for _ in range(3):
                assert await transport.send(ask, body) == b"answer"
    assert len(replies.requests) == 3
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "Answers are not kept" in caplog.text
    assert "secret" not in caplog.text
