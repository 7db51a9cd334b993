"""What was asked lately is not asked again, and nothing but accepted answers is served so."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from literature_agent.artifacts import EuropePMCArticle
from literature_agent.cli import main
from literature_agent.errors import SourceError, source_error
from literature_agent.sandbox import SandboxServer
from literature_agent.settings import Settings, load_settings
from literature_agent.sources.europepmc.client import EuropePMCClient
from literature_agent.sources.europepmc.tools import EuropePMCTools
from literature_agent.sources.pmc.client import PMCClient
from literature_agent.sources.pubmed.client import PubMedClient
from literature_agent.sources.pubmed.tools import PubMedTools
from literature_agent.transport import A_DAY, Answer, Request, TransientAnswer, Transport
from literature_agent.transport import cache as cache_module
from literature_agent.transport.cache import AnswerCache, key_of
from literature_agent.transport.hosts import host_of

if TYPE_CHECKING:
    from tests.transport.conftest import FakeClock, Handler, Loopback

KEY = "0123456789abcdef"
NOW = datetime(2026, 11, 30, tzinfo=UTC)
XML = b"<records>" + b"<record>sleep apnoea</record>" * 50 + b"</records>"
POSTED = Request("pubmed", "eutils", "efetch.fcgi", form=(("db", "pubmed"), ("id", "90000001,90000002")))


def body(answer: Answer) -> bytes:
    return answer.body


def strict(answer: Answer) -> bytes:
    """A reader as the sources have them."""
    if answer.status == 404:
        return b"none"
    if answer.body.startswith(b"<ERROR>"):
        raise source_error("pubmed", "invalid_input", "refused")
    if not answer.body.startswith(b"<records>") or not answer.body.endswith(b"</records>"):
        raise TransientAnswer("no records", kind="invalid_response")
    return answer.body


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "kept" / "answers.sqlite3"


@pytest.fixture
def cached(open_transport: Callable[..., Transport], file: Path) -> Callable[..., Transport]:
    """`open_transport` with the cache on."""

    def build(**given: Any) -> Transport:
        return open_transport(**{"cache": "on", "cache_dir": file.parent, **given})

    return build


def kept_in(file: Path) -> AnswerCache:
    return AnswerCache(file, max_age_s=7 * A_DAY, max_bytes=10**8)


def size(file: Path) -> int:
    """Bytes on disk; 0 where there is no file."""
    return file.stat().st_size if file.exists() else 0


def count(file: Path) -> int:
    with closing(sqlite3.connect(file)) as connection:
        return int(connection.execute("SELECT count(*) FROM answers").fetchone()[0])


# Served again


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_the_same_question_is_sent_once_also_by_another_client(
    method: str, ask: Request, serve: Callable[..., Loopback], cached: Callable[..., Transport]
) -> None:
    server = serve(lambda handler: handler.answer(200, XML, Content_Type="text/xml"))
    asked = ask if method == "GET" else POSTED
    async with cached(url=server.url) as transport:
        for _ in range(2):
            assert await transport.send(asked, strict) == XML
    async with cached(url=server.url) as another:
        answer = await another.send(asked, lambda answer: answer)
    assert (answer.status, answer.body, answer.content_type) == (200, XML, "text/xml")
    assert [request[0] for request in server.requests] == [method]


async def test_a_stored_answer_serves_while_the_host_is_down(
    ask: Request, serve: Callable[..., Loopback], cached: Callable[..., Transport]
) -> None:
    server: Loopback = serve(
        lambda handler: handler.answer(200, XML) if len(server.requests) == 1 else handler.answer(503)
    )
    async with cached(url=server.url) as transport:
        assert await transport.send(ask, strict) == XML
        with pytest.raises(SourceError):
            await transport.send(POSTED, strict)
        assert await transport.send(ask, strict) == XML


async def test_a_stored_answer_waits_for_no_turn(
    serve: Callable[..., Loopback], cached: Callable[..., Transport], clock: FakeClock
) -> None:
    server = serve(lambda handler: handler.answer(200, XML))
    request = Request("biorxiv", "biorxiv", "details")  # one request a second
    async with cached(url=server.url) as transport:
        for _ in range(20):
            await transport.send(request, strict)
    assert (len(server.requests), clock.slept) == (1, [])


async def test_the_time_of_an_answer_is_when_it_came_and_not_when_it_was_served_again(
    ask: Request, serve: Callable[..., Loopback], cached: Callable[..., Transport], clock: FakeClock
) -> None:
    server = serve(lambda handler: handler.answer(200, XML))
    async with cached(url=server.url) as transport:
        first = await transport.receive(ask, strict)
        clock.seconds += 3600
        again = await transport.receive(ask, strict)
    assert first == (XML, NOW, False)
    assert again == (XML, NOW, True)


async def test_with_the_cache_off_everything_is_sent_and_nothing_written(
    ask: Request, serve: Callable[..., Loopback], cached: Callable[..., Transport], file: Path
) -> None:
    server = serve(lambda handler: handler.answer(200, XML))
    async with cached(url=server.url, cache="off") as transport:
        for _ in range(2):
            assert not (await transport.receive(ask, strict)).was_stored
    assert len(server.requests) == 2
    assert size(file) == 0


# What is the same question


async def test_who_asks_is_no_part_of_the_question(
    ask: Request, serve: Callable[..., Loopback], cached: Callable[..., Transport], file: Path
) -> None:
    server = serve(lambda handler: handler.answer(200, XML))
    async with cached(url=server.url, email="someone@example.org", ncbi_api_key=KEY) as transport:
        for asked in (ask, POSTED):
            await transport.send(asked, strict)
    assert KEY in server.requests[0][1]
    async with cached(url=server.url, email="other@example.org") as another:
        for asked in (ask, POSTED):
            assert (await another.receive(asked, strict)).was_stored
    assert len(server.requests) == 2
    named = replace(ask, params=(*ask.params, ("api_key", KEY), ("email", "a@b.c"), ("tool", "x")))
    form = replace(POSTED, form=(("api_key", KEY), *(POSTED.form or ())))
    host = host_of("eutils", Settings())
    assert key_of(named, host) == key_of(ask, host)
    assert key_of(form, host) == key_of(POSTED, host)
    written = await asyncio.to_thread(file.read_bytes)
    assert [word for word in (KEY.encode(), b"someone", b"apnoea", b"literature", b"esearch") if word in written] == []


def test_everything_else_is_a_part_of_it(ask: Request) -> None:
    host = host_of("eutils", Settings())
    others = [
        (replace(ask, params=(), form=ask.params), host),
        (replace(ask, path="espell.fcgi"), host),
        (replace(ask, params=(*ask.params, ("retstart", "0"))), host),
        (replace(ask, params=(("db", "pubmed"), ("term", "sleep"))), host),
        (replace(POSTED, form=(("db", "pubmed"), ("id", "90000001"))), host),
        (POSTED, host),
        (ask, host_of("eutils", Settings(ncbi_base_url="http://127.0.0.1:8001/entrez/eutils/"))),
        (ask, host_of("eutils", Settings(ncbi_base_url="http://127.0.0.1:8002/entrez/eutils/"))),
        (ask, host_of("eutils", Settings(ncbi_base_url="http://127.0.0.1:8002/"))),
    ]
    assert len({key_of(ask, host), *(key_of(*other) for other in others)}) == 1 + len(others)
    assert key_of(replace(ask, accept="text/xml", source="pmc", max_age_s=5), host) == key_of(ask, host)


async def test_two_servers_do_not_answer_for_each_other(
    ask: Request, serve: Callable[..., Loopback], cached: Callable[..., Transport]
) -> None:
    one, two = serve(lambda handler: handler.answer(200, b"one")), serve(lambda handler: handler.answer(200, b"two"))
    for server, expected in ((one, b"one"), (two, b"two"), (one, b"one")):
        async with cached(url=server.url) as transport:
            assert await transport.send(ask, body) == expected
    assert (len(one.requests), len(two.requests)) == (1, 1)


# What is not stored


def cut(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(XML)))
    handler.end_headers()
    handler.wfile.write(XML[: len(XML) // 2])
    handler.close_connection = True


def cut_without_a_length(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("Connection", "close")
    handler.end_headers()
    handler.wfile.write(XML[: len(XML) // 2])
    handler.close_connection = True


@pytest.mark.parametrize("reader", [strict, body])
@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(lambda handler: handler.answer(429), id="429"),
        pytest.param(lambda handler: handler.answer(500), id="500"),
        pytest.param(lambda handler: handler.answer(503), id="503"),
        pytest.param(lambda handler: handler.answer(403), id="403"),
        pytest.param(lambda handler: handler.answer(404, b"<records></records>"), id="404"),
        pytest.param(lambda handler: handler.answer(400, b"<ERROR>no</ERROR>"), id="400"),
        pytest.param(lambda handler: handler.answer(204), id="204"),
        pytest.param(lambda handler: handler.answer(200, b" \n"), id="empty"),
        pytest.param(lambda handler: handler.answer(200, b"<!DOCTYPE html><html>"), id="page"),
        pytest.param(lambda handler: handler.answer(200, XML, Content_Type="text/html"), id="called a page"),
        pytest.param(cut, id="cut"),
    ],
)
async def test_an_answer_that_is_none_is_asked_for_again_even_if_a_reader_takes_it(
    bad: Callable[[Handler], None],
    reader: Callable[[Answer], bytes],
    ask: Request,
    serve: Callable[..., Loopback],
    cached: Callable[..., Transport],
) -> None:
    server: Loopback = serve(lambda handler: handler.answer(200, XML) if len(server.requests) > 1 else bad(handler))
    async with cached(url=server.url, retry_attempts=1) as transport:
        with suppress(SourceError):
            await transport.send(ask, reader)
        assert await transport.receive(ask, body) == (XML, transport.now(), False)
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(lambda handler: handler.answer(200, b"<ERROR>unknown db</ERROR>"), id="error in a 200"),
        pytest.param(lambda handler: handler.answer(200, b'{"version":"6.9"}'), id="empty envelope"),
        pytest.param(cut_without_a_length, id="cut"),
    ],
)
async def test_an_answer_that_the_reader_refuses_is_not_stored(
    bad: Callable[[Handler], None], ask: Request, serve: Callable[..., Loopback], cached: Callable[..., Transport]
) -> None:
    server: Loopback = serve(lambda handler: handler.answer(200, XML) if len(server.requests) > 1 else bad(handler))
    async with cached(url=server.url, retry_attempts=1) as transport:
        with pytest.raises(SourceError):
            await transport.send(ask, strict)
        assert await transport.send(ask, body) == XML
    assert len(server.requests) == 2


async def test_what_came_of_an_answer_may_speak_against_storing_it(
    ask: Request, serve: Callable[..., Loopback], cached: Callable[..., Transport]
) -> None:
    server = serve(lambda handler: handler.answer(200, XML))
    async with cached(url=server.url) as transport:
        for keep in (False, True, True):
            await transport.receive(ask, strict, keep=lambda value, keep=keep: keep)  # type: ignore[misc]
    assert len(server.requests) == 2


async def test_a_retry_asks_the_service_and_not_the_cache(
    ask: Request, serve: Callable[..., Loopback], cached: Callable[..., Transport]
) -> None:
    """Whatever lies there: here an answer that another reader took."""
    server: Loopback = serve(lambda handler: handler.answer(200, XML if len(server.requests) > 2 else b"other"))
    async with cached(url=server.url) as transport:
        assert await transport.send(ask, body) == b"other"
        assert await transport.send(ask, strict) == XML
        assert len(server.requests) == 3
        assert await transport.send(ask, body) == XML
    assert len(server.requests) == 3


# Age


@pytest.mark.parametrize(
    ("given", "asked", "age", "sent"),
    [
        ({}, None, 7 * A_DAY, 1),
        ({}, None, 7 * A_DAY + 1, 2),
        ({"cache_max_age_s": 60}, None, 60, 1),
        ({"cache_max_age_s": 60}, None, 61, 2),
        ({}, A_DAY, A_DAY, 1),
        ({}, A_DAY, A_DAY + 1, 2),
        ({"cache_max_age_s": 60}, A_DAY, 61, 2),
        ({}, 0, 0, 2),
        ({}, None, -1, 2),
    ],
)
async def test_an_answer_serves_as_long_as_settings_and_request_allow(
    given: dict[str, Any],
    asked: float | None,
    age: float,
    sent: int,
    ask: Request,
    serve: Callable[..., Loopback],
    cached: Callable[..., Transport],
    clock: FakeClock,
) -> None:
    """-1: the clock was set back, so the age is unknown."""
    server = serve(lambda handler: handler.answer(200, XML))
    request = replace(ask, max_age_s=asked)
    async with cached(url=server.url, pace="off", **given) as transport:
        await transport.send(request, strict)
        clock.seconds += age
        found = await transport.receive(request, strict)
    assert len(server.requests) == sent
    assert found.at == NOW + timedelta(seconds=0 if sent == 1 else age)


async def test_what_must_always_be_asked_anew_is_neither_stored_nor_served(
    ask: Request, serve: Callable[..., Loopback], cached: Callable[..., Transport]
) -> None:
    server = serve(lambda handler: handler.answer(200, XML))
    async with cached(url=server.url) as transport:
        await transport.send(replace(ask, max_age_s=0), strict)
        await transport.send(ask, strict)
        assert len(server.requests) == 2
        await transport.send(replace(ask, max_age_s=0), strict)
    assert len(server.requests) == 3


async def test_old_answers_are_removed(file: Path) -> None:
    kept = AnswerCache(file, max_age_s=100, max_bytes=10**8)
    for number in range(5):
        await kept.put(bytes([number]), Answer(200, XML), NOW + timedelta(seconds=50 * number))
    assert count(file) == 3


# Size


async def test_the_file_stays_within_its_size_and_the_longest_unused_go_first(file: Path) -> None:
    kept = AnswerCache(file, max_age_s=A_DAY, max_bytes=1_000_000)
    noise = [os.urandom(100_000) for _ in range(30)]
    for number, text in enumerate(noise):
        now = NOW + timedelta(seconds=number)
        await kept.put(bytes([number]), Answer(200, text), now)
        assert size(file) <= 1_000_000
        assert await kept.get(b"\0", now) is not None  # used again and again
    alive = [number for number in range(30) if await kept.get(bytes([number]), NOW + timedelta(hours=1))]
    assert alive == [0, *range(31 - len(alive), 30)]
    assert 8 <= len(alive) <= 9


async def test_an_answer_larger_than_the_cache_drives_nothing_out(file: Path) -> None:
    kept = AnswerCache(file, max_age_s=A_DAY, max_bytes=200_000)
    await kept.put(b"small", Answer(200, XML), NOW)
    await kept.put(b"large", Answer(200, os.urandom(300_000)), NOW)
    assert await kept.get(b"small", NOW) is not None
    assert await kept.get(b"large", NOW) is None


async def test_a_smaller_limit_gives_the_space_back(file: Path) -> None:
    large = AnswerCache(file, max_age_s=A_DAY, max_bytes=10**7)
    for number in range(20):
        await large.put(bytes([number]), Answer(200, os.urandom(100_000)), NOW)
    assert size(file) > 2_000_000
    await AnswerCache(file, max_age_s=A_DAY, max_bytes=500_000).put(b"new", Answer(200, XML), NOW)
    assert size(file) <= 500_000


async def test_bodies_are_compressed(file: Path) -> None:
    kept = kept_in(file)
    for number in range(20):
        await kept.put(bytes([number]), Answer(200, XML * 100), NOW)
    assert size(file) < 20 * len(XML * 100) / 10
    assert (await kept.get(b"\1", NOW)) is not None


# The file


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
async def test_file_and_folder_are_for_their_owner_alone(
    ask: Request, serve: Callable[..., Loopback], cached: Callable[..., Transport], file: Path
) -> None:
    server = serve(lambda handler: handler.answer(200, XML))
    before = os.umask(0)
    try:
        async with cached(url=server.url) as transport:
            await transport.send(ask, strict)
    finally:
        os.umask(before)
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert {stat.S_IMODE(one.stat().st_mode) for one in file.parent.iterdir()} == {0o600}


def garbage(file: Path) -> None:
    file.write_bytes(b"this is no database, and long enough to be looked at" * 200)


def torn(file: Path) -> None:
    """The first page is whole, the rest is not."""
    kept = kept_in(file)
    for number in range(50):
        asyncio.run(kept.put(bytes([number]), Answer(200, os.urandom(5_000)), NOW))
    whole = file.read_bytes()
    file.write_bytes(whole[:4096] + os.urandom(len(whole) - 4096))


@pytest.mark.parametrize("damage", [garbage, torn])
def test_a_damaged_file_is_begun_anew_with_one_warning(
    damage: Callable[[Path], None],
    ask: Request,
    serve: Callable[..., Loopback],
    cached: Callable[..., Transport],
    file: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    file.parent.mkdir()
    damage(file)
    server = serve(lambda handler: handler.answer(200, XML))

    async def ask_three_times() -> None:
        async with cached(url=server.url) as transport:
            for asked in (ask, POSTED, ask):
                assert await transport.send(asked, strict) == XML

    asyncio.run(ask_three_times())
    assert len(server.requests) == 2
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "answers.sqlite3" in caplog.text
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def a_folder(file: Path) -> None:
    file.mkdir(parents=True)


def no_place(file: Path) -> None:
    file.parent.write_bytes(b"a file where a folder should be")


def from_the_future(file: Path) -> None:
    asyncio.run(kept_in(file).put(b"x", Answer(200, XML), NOW))
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA user_version = 99")


def locked(file: Path) -> None:
    asyncio.run(kept_in(file).put(b"x", Answer(200, XML), NOW))
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    _LOCKING.append(connection)


_LOCKING: list[sqlite3.Connection] = []


@pytest.mark.parametrize("obstacle", [a_folder, no_place, from_the_future, locked])
def test_a_file_that_cannot_be_used_fails_no_request_and_is_warned_of_once(
    obstacle: Callable[[Path], None],
    ask: Request,
    serve: Callable[..., Loopback],
    cached: Callable[..., Transport],
    file: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cache_module, "_PATIENCE_S", 0.01)
    obstacle(file)
    server = serve(lambda handler: handler.answer(200, XML))

    async def ask_three_times() -> None:
        async with cached(url=server.url, rate_limit_store="memory") as transport:
            for _ in range(3):
                assert await transport.send(ask, strict) == XML

    asyncio.run(ask_three_times())
    while _LOCKING:
        _LOCKING.pop().close()
    assert len(server.requests) == 3
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "not kept" in caplog.text


def test_a_file_damaged_again_and_again_is_warned_of_once(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    kept = kept_in(file)
    file.parent.mkdir()
    for _ in range(3):
        garbage(file)
        asyncio.run(kept.put(b"key", Answer(200, XML), NOW))
        assert asyncio.run(kept.get(b"key", NOW)) is not None
    assert len(caplog.records) == 1


def test_a_file_that_could_not_be_used_is_left_alone_from_then_on(file: Path) -> None:
    """So that each request does not wait for it anew."""
    kept = kept_in(file)
    a_folder(file)
    asyncio.run(kept.put(b"key", Answer(200, XML), NOW))
    file.rmdir()
    asyncio.run(kept.put(b"key", Answer(200, XML), NOW))
    assert not file.exists()


async def test_a_garbled_body_is_asked_for_again(
    ask: Request, serve: Callable[..., Loopback], cached: Callable[..., Transport], file: Path
) -> None:
    server = serve(lambda handler: handler.answer(200, XML))
    async with cached(url=server.url) as transport:
        await transport.send(ask, strict)
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute("UPDATE answers SET body = substr(body, 1, 20)")
        for _ in range(2):
            assert await transport.send(ask, body) == XML
    assert len(server.requests) == 2


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="permissions do not bind this user")
async def test_a_file_that_can_only_be_read_still_answers(file: Path) -> None:
    await kept_in(file).put(b"key", Answer(200, XML), NOW)
    os.chmod(file, 0o400)  # noqa: PTH101 - in a coroutine
    assert await kept_in(file).get(b"key", NOW) is not None


# Many at once


WRITE_AND_READ = """
import asyncio, sys
from datetime import UTC, datetime
from pathlib import Path
from literature_agent.transport.cache import AnswerCache
from literature_agent.transport.messages import Answer

NOW = datetime(2026, 11, 30, tzinfo=UTC)

async def write_and_read(file, who):
    kept = AnswerCache(Path(file), max_age_s=1e6, max_bytes=10**8)
    for number in range(25):
        await kept.put(bytes([number]), Answer(200, bytes([65 + number]) * 20_000), NOW)
        for wanted in (number, (number * 7 + who) % 25):
            found = await kept.get(bytes([wanted]), NOW)
            assert found is not None or wanted != number
            assert found is None or found.answer.body == bytes([65 + wanted]) * 20_000
"""


def test_threads_and_their_loops_share_one_file(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    names: dict[str, Any] = {}
    exec(WRITE_AND_READ, names)  # as the processes below do
    with ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(asyncio.run, names["write_and_read"](file, who)) for who in range(4)]:
            done.result(timeout=60)
    assert count(file) == 25
    assert caplog.records == []


def test_processes_share_one_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYDANTIC_DISABLE_PLUGINS", "__all__")  # they only slow the processes' start
    code = WRITE_AND_READ + "asyncio.run(write_and_read(sys.argv[1], int(sys.argv[2])))"
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(file), str(who)], stderr=subprocess.PIPE, text=True)
        for who in range(3)
    ]
    ended = [(process.communicate(timeout=120)[1], process.returncode) for process in running]
    # A warning of the log would stand in stderr.
    assert ended == [("", 0)] * 3
    assert count(file) == 25


@pytest.mark.parametrize("way", ["compress", "decompress"])
async def test_the_event_loop_is_not_held_while_the_file_is_busy(
    way: str, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = kept_in(file)
    await kept.put(b"key", Answer(200, XML), NOW)
    busy, release = threading.Event(), threading.Event()
    quick = getattr(zlib, way)

    def slow(*given: Any) -> bytes:
        busy.set()
        assert release.wait(10)
        return bytes(quick(*given))

    monkeypatch.setattr(zlib, way, slow)
    working = asyncio.create_task(
        kept.put(b"key", Answer(200, XML), NOW) if way == "compress" else kept.get(b"key", NOW)
    )
    assert await asyncio.to_thread(busy.wait, 10)
    release.set()
    await working
    assert count(file) == 1


# Through the sources


@pytest.fixture
def real(sandbox: SandboxServer, tmp_path: Path) -> Settings:
    """Settings for the sandbox with the cache on, as it is by default."""
    return load_settings(
        **sandbox.settings_overrides(),
        cache_dir=tmp_path / "kept",
        pace="off",
        breaker="off",
        rate_limit_store="memory",
        retry_attempts=1,
    )


def paths(sandbox: SandboxServer) -> list[str]:
    asked = [request.path.rpartition("/")[2] for request in sandbox.requests]
    sandbox.requests.clear()
    return asked


async def test_searches_records_and_their_corrections_are_asked_for_anew_after_a_day(
    sandbox: SandboxServer, real: Settings, clock: FakeClock
) -> None:
    """And carry the time of the answer that they came from, not of the search that was served from here."""
    sandbox.requests.clear()
    times: list[datetime | None] = []
    sent: list[list[str]] = []
    for later in (0.0, 0.9 * A_DAY, 0.2 * A_DAY):
        clock.seconds += later
        async with Transport(real, clock=clock) as transport:
            pubmed = await PubMedTools(PubMedClient(transport)).search("metformin", max_results=3)
            epmc = await EuropePMCTools(EuropePMCClient(transport)).search("metformin", max_results=3)
        found = [*pubmed.artifacts, *epmc.artifacts]
        assert len(found) == 6
        (at,) = {one.provenance[0].retrieved_at for one in found}
        assert {one.correction_checked_at for one in found} <= {at, None}
        assert any(one.correction_checked_at for one in pubmed.artifacts)
        times.append(at)
        sent.append(paths(sandbox))
    assert times == [NOW, NOW, NOW + timedelta(seconds=1.1 * A_DAY)]
    assert sent == [["esearch.fcgi", "efetch.fcgi", "search"], [], ["esearch.fcgi", "efetch.fcgi", "search"]]


async def test_fetched_records_and_texts_too(sandbox: SandboxServer, real: Settings, clock: FakeClock) -> None:
    async with Transport(real, clock=clock) as transport:
        found = await EuropePMCTools(EuropePMCClient(transport)).search("metformin", max_results=20)
        pmcid = next(one.pmcid for one in found.artifacts if isinstance(one, EuropePMCArticle) and one.is_open_access)
        assert pmcid is not None
        sent: list[list[str]] = []
        paths(sandbox)
        for later in (0.0, 0.9 * A_DAY, 0.2 * A_DAY):
            clock.seconds += later
            fetched = await EuropePMCTools(EuropePMCClient(transport)).fetch([pmcid])
            text = await PMCClient(transport).article(pmcid)
            assert fetched.artifacts[0].provenance[0].retrieved_at == text.provenance.retrieved_at
            sent.append(paths(sandbox))
    assert [len(asked) for asked in sent] == [2, 0, 2]
    assert text.provenance.retrieved_at == NOW + timedelta(seconds=1.1 * A_DAY)


async def test_that_there_is_no_text_is_asked_again_each_time(
    serve: Callable[..., Loopback], cached: Callable[..., Transport]
) -> None:
    """K045: absence is never stored, neither after a failure nor after an answer."""
    replies = iter([(503, b""), (404, b""), (200, b"<errorBean/>"), (200, b""), (200, b"<article/>"), (500, b"")])

    server = serve(lambda handler: handler.answer(*next(replies)))
    async with cached(url=server.url, retry_attempts=1) as transport:
        client = EuropePMCClient(transport)
        with pytest.raises(SourceError) as failed:
            await client.full_text_xml("PMC99000101")
        reasons = [(await client.full_text_xml("PMC99000101")).value.reason for _ in range(5)]
    assert failed.value.reason == "europepmc_unreachable"
    assert reasons == ["not_open_access", "not_open_access", "not_open_access", None, None]
    assert len(server.requests) == 5


# From the command line


def test_a_search_is_sent_once_by_two_commands_and_a_sandbox_of_their_own_is_not_stored(
    sandbox: SandboxServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "own"
    monkeypatch.setenv("LITERATURE_AGENT_CACHE_DIR", str(folder))
    for _ in range(2):
        assert main(["search", "pubmed", "metformin", "--sandbox"]) == 0
    assert not (folder / "answers.sqlite3").exists()
    for name, value in sandbox.settings_overrides().items():
        monkeypatch.setenv(f"LITERATURE_AGENT_{name.upper()}", value)
    paths(sandbox)
    shown: list[str] = []
    for _ in range(2):
        capsys.readouterr()
        assert main(["search", "pubmed", "metformin", "--json"]) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]
    assert paths(sandbox) == ["esearch.fcgi", "efetch.fcgi"]
    assert (folder / "answers.sqlite3").exists()
