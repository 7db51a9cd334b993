"""How fast a host is asked."""

from __future__ import annotations

import asyncio
import itertools
import logging
import multiprocessing
import os
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import httpx
import pytest

from literature_agent.errors import ConfigurationError, SourceError
from literature_agent.settings import Settings
from literature_agent.transport import (
    Answer,
    MemoryPaceStore,
    Pace,
    PaceStore,
    Request,
    Sandboxes,
    Transport,
    limiter_for,
)
from literature_agent.transport.stores import FilePaceStore, Kept, pace_store
from literature_agent.transport.turns import MARGIN, Rate, Row

if TYPE_CHECKING:
    from tests.transport.conftest import FakeClock, Wire

R = TypeVar("R")

OK = httpx.Response(200, content=b"answer")
THROTTLED = httpx.Response(429, content=b'{"error":"API rate limit exceeded","limit":"3"}')
KEY = "0123456789abcdef"


def body(answer: Answer) -> bytes:
    return answer.body


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> PaceStore:
    return MemoryPaceStore() if request.param == "memory" else FilePaceStore(tmp_path / "new" / "pace.sqlite3")


async def test_four_refusals_do_not_come_back_as_a_burst(
    ask: Request, wire: Callable[..., Wire], open_transport: Callable[..., Transport]
) -> None:
    """K108: retries of several callers pass the pace one by one, and a 429 makes everybody rest."""
    replies = wire(*[THROTTLED] * 4, OK)
    async with open_transport(replies, retry_attempts=5) as transport:
        assert await asyncio.gather(*(transport.send(ask, body) for _ in range(6))) == [b"answer"] * 6
    assert len(replies.requests) == 10
    assert min(replies.gaps) >= 1 / 3


@pytest.mark.parametrize(("key", "rate"), [(None, 3), (KEY, 10)])
async def test_never_more_requests_a_second_than_ncbi_allows(
    key: str | None,
    rate: int,
    ask: Request,
    wire: Callable[..., Wire],
    open_transport: Callable[..., Transport],
) -> None:
    """K108 and K110: any second of 40 waiting calls sees at most the allowed number."""
    replies = wire(OK)
    async with open_transport(replies, ncbi_api_key=key) as transport:
        await asyncio.gather(*(transport.send(ask, body) for _ in range(40)))
    for start in replies.times:
        assert sum(start <= time < start + 1 for time in replies.times) <= rate
    assert replies.times[-1] < 40 / rate * 1.1  # and not needlessly slow


async def test_the_twelfth_call_at_three_a_second_does_not_come_before_three_seconds(
    clock: FakeClock, store: PaceStore
) -> None:
    """K110: nothing is saved up, not even after a rest."""
    pace = Pace("host", 3, store=store, clock=clock)
    await clock.sleep(60)
    began = clock.seconds
    for _ in range(12):
        await pace.acquire()
    assert clock.seconds - began == pytest.approx(11 / (3 * MARGIN), abs=1e-3)


@pytest.mark.parametrize("rate", [0, -1, float("nan")])
def test_a_rate_of_nothing_is_refused_at_the_start(rate: float) -> None:
    """K110."""
    with pytest.raises(ConfigurationError, match="above zero"):
        Pace("host", rate, store=MemoryPaceStore())


async def test_every_request_takes_a_turn_not_every_call(
    ask: Request, wire: Callable[..., Wire], open_transport: Callable[..., Transport]
) -> None:
    """K111: within one job each request, and each redirect, waits for its own turn."""
    moved = httpx.Response(302, headers={"Location": "/elsewhere"})
    replies = wire(OK, moved, OK, OK)
    async with open_transport(replies) as transport, transport.job("eutils"):
        for _ in range(3):
            await transport.send(ask, body)
    assert len(replies.requests) == 4
    assert min(replies.gaps) == pytest.approx(1 / (3 * MARGIN), abs=1e-3)


async def test_time_in_the_queue_counts_and_a_hopeless_queue_fails_at_once(
    ask: Request, wire: Callable[..., Wire], clock: FakeClock, open_transport: Callable[..., Transport]
) -> None:
    """K109: 60 calls at 1/s and 30 s."""
    replies = wire(OK)
    slow = Request("biorxiv", "biorxiv", "details/biorxiv/2026-01-01/2026-01-02")
    async with open_transport(replies) as transport:
        with transport.deadline(30):
            ended = await asyncio.gather(*(transport.send(slow, body) for _ in range(60)), return_exceptions=True)
    refused = [error for error in ended if isinstance(error, SourceError)]
    answered = int(30 * MARGIN) + 1  # the first one starts at once
    assert ended.count(b"answer") == answered
    assert len(refused) == 60 - answered
    assert {error.reason for error in refused} == {"biorxiv_timeout"}
    assert all("queue" in error.message for error in refused)
    assert len(replies.requests) == answered
    assert clock.seconds <= 30


async def test_waiting_for_a_turn_can_be_cancelled(
    ask: Request, wire: Callable[..., Wire], clock: FakeClock, open_transport: Callable[..., Transport]
) -> None:
    """K109."""
    replies = wire(OK)
    waiting = asyncio.Event()

    async def sleep(seconds: float) -> None:
        waiting.set()
        await asyncio.Event().wait()

    clock.sleep = sleep  # type: ignore[method-assign]  # waits until it is cancelled
    async with open_transport(replies) as transport:
        await transport.send(ask, body)
        call = asyncio.create_task(transport.send(ask, body))
        await waiting.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    assert len(replies.requests) == 1


async def test_a_refusal_makes_those_rest_who_were_already_waiting(clock: FakeClock, store: PaceStore) -> None:
    """A 429 moves the row for everybody, over several clients of the same host."""
    mine, other = (Pace("host", 3, store=store, clock=clock) for _ in range(2))
    await mine.acquire()
    waiting = asyncio.create_task(other.acquire())
    await clock.asleep.wait()
    mine.hold_sync(5)
    mine.hold_sync(3)  # the shorter rest ends within the longer one
    await waiting
    assert clock.seconds == pytest.approx(5 + mine.interval, abs=2e-3)
    began = clock.seconds
    await mine.acquire()
    assert clock.seconds - began == pytest.approx(mine.interval, abs=2e-3)
    await mine.hold(7)  # nobody waits any more
    began = clock.seconds
    await other.acquire()
    assert clock.seconds - began == pytest.approx(7, abs=2e-3)


async def test_a_refused_call_rests_as_long_as_the_host_asks_and_so_do_the_others(
    ask: Request, wire: Callable[..., Wire], open_transport: Callable[..., Transport]
) -> None:
    store = MemoryPaceStore()
    replies = wire(httpx.Response(429, headers={"Retry-After": "7"}), OK)
    async with open_transport(replies, store=store) as one, open_transport(replies, store=store) as two:
        await asyncio.gather(one.send(ask, body), two.send(ask, body))
    assert len(replies.requests) == 3
    assert replies.times[1] >= 7


async def test_hosts_wait_for_themselves_only_and_pubmed_and_pmc_share_theirs(
    wire: Callable[..., Wire], open_transport: Callable[..., Transport]
) -> None:
    pubmed = Request("pubmed", "eutils", "efetch.fcgi", params=(("db", "pubmed"),))
    pmc = Request("pmc", "eutils", "efetch.fcgi", params=(("db", "pmc"),))
    replies = wire(OK)
    async with open_transport(replies) as transport:
        await transport.send(pubmed, body)
        await transport.send(pmc, body)
    assert replies.gaps == pytest.approx([1 / (3 * MARGIN)], abs=1e-3)

    replies = wire(OK)
    apart = {"ncbi_base_url": "http://ncbi.test/", "europepmc_base_url": "http://epmc.test/"}
    async with open_transport(replies, **apart) as transport:
        await transport.send(pubmed, body)
        await transport.send(Request("europepmc", "europepmc", "search"), body)
    assert replies.gaps == [0]


async def test_pace_off_waits_for_nothing(
    ask: Request, wire: Callable[..., Wire], clock: FakeClock, open_transport: Callable[..., Transport]
) -> None:
    replies = wire(OK)
    async with open_transport(replies, pace="off") as transport:
        for _ in range(5):
            await transport.send(ask, body)
    assert clock.slept == []


SANDBOX = "http://127.0.0.1:8000/"
MARKED = httpx.Response(200, headers={"X-Literature-Agent-Sandbox": "1"}, content=b"answer")


async def test_the_sandbox_is_asked_at_full_speed_once_it_has_said_so(
    ask: Request, wire: Callable[..., Wire], clock: FakeClock, open_transport: Callable[..., Transport]
) -> None:
    async with open_transport(wire(OK, MARKED), url=SANDBOX) as transport:
        await transport.send(ask, body)
        await transport.send(ask, body)
        assert len(clock.slept) == 1  # nobody had said so before the second answer
        for _ in range(5):
            await transport.send(ask, body)
        assert transport.pace_interval("eutils") == 0
    assert len(clock.slept) == 1


async def test_what_the_sandbox_has_said_is_known_to_the_transports_that_follow(
    ask: Request, wire: Callable[..., Wire], clock: FakeClock, open_transport: Callable[..., Transport]
) -> None:
    """One-shot calls that follow each other do not wait for what the first one has learned."""
    known, store = Sandboxes(), MemoryPaceStore()
    for _ in range(5):
        async with open_transport(wire(MARKED), url=SANDBOX, sandboxes=known, store=store) as transport:
            await transport.send(ask, body)
    assert clock.slept == []
    async with open_transport(wire(MARKED), url=SANDBOX, sandboxes=known, store=store, pace="on") as transport:
        for _ in range(3):
            await transport.send(ask, body)
    assert len(clock.slept) == 3


@pytest.mark.parametrize(
    "url",
    [
        "https://eutils.ncbi.nlm.nih.gov/entrez/eutils/",
        "http://service.test/",
        "http://127.0.0.1.service.test/",
        "http://localhost.service.test/",
        "http://10.0.0.7/",
    ],
)
async def test_a_host_out_there_that_calls_itself_the_sandbox_is_not_believed(
    ask: Request, wire: Callable[..., Wire], clock: FakeClock, open_transport: Callable[..., Transport], url: str
) -> None:
    async with open_transport(wire(MARKED), url=url) as transport:
        for _ in range(3):
            await transport.send(ask, body)
    assert len(clock.slept) == 2


async def test_an_address_is_the_sandbox_no_longer_than_it_says_so(
    ask: Request, wire: Callable[..., Wire], clock: FakeClock, open_transport: Callable[..., Transport]
) -> None:
    """Another server may get the port of one that has ended."""
    async with open_transport(wire(MARKED, OK), url=SANDBOX) as transport:
        await transport.send(ask, body)
        await transport.send(ask, body)
        assert clock.slept == []
        for _ in range(3):
            await transport.send(ask, body)
    assert len(clock.slept) == 3


async def test_pace_on_does_not_listen_to_the_sandbox(
    ask: Request, wire: Callable[..., Wire], clock: FakeClock, open_transport: Callable[..., Transport]
) -> None:
    async with open_transport(wire(MARKED), url=SANDBOX, pace="on") as transport:
        for _ in range(3):
            await transport.send(ask, body)
    assert len(clock.slept) == 2


@pytest.fixture(params=["memory", "file", "postgres"])
def any_store(request: pytest.FixtureRequest, tmp_path: Path) -> PaceStore:
    if request.param == "postgres":
        return pace_store(Settings(rate_limit_store=request.getfixturevalue("postgres_url")))
    return MemoryPaceStore() if request.param == "memory" else FilePaceStore(tmp_path / "pace.sqlite3")


SLOW = Rate.of(0.01 / MARGIN)  # a turn every 100 s, so that no stall of the machine plays a part


def reserve(store: PaceStore, name: str = "row", within: float | None = None) -> float:
    """Real time of the reserved turn, by a clock that stands or the store's own."""

    def work(kept: Kept) -> float:
        row = Row.read(kept.text, kept.now)
        at = row.reserve(SLOW, within) + row.shift
        kept.text = row.written()
        return at

    return store.change(name, lambda: 1000.0, work)


def test_a_store_gives_each_time_once_and_keeps_nothing_of_a_change_that_failed(any_store: PaceStore) -> None:
    first = reserve(any_store)
    assert [reserve(any_store) - first for _ in range(2)] == pytest.approx([100, 200])
    with pytest.raises(TimeoutError):
        reserve(any_store, within=50)
    assert reserve(any_store) - first == pytest.approx(300)
    assert reserve(any_store, "other") - first < 100


def test_threads_never_get_the_same_time(any_store: PaceStore) -> None:
    with ThreadPoolExecutor(8) as threads:
        times = sorted(threads.map(lambda _: reserve(any_store), range(40)))
    assert [later - earlier for earlier, later in itertools.pairwise(times)] == pytest.approx([100] * 39)


def _reserve_many(path: Path) -> list[float]:
    store = FilePaceStore(path)
    return [reserve(store) for _ in range(20)]


def test_processes_never_get_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYDANTIC_DISABLE_PLUGINS", "__all__")  # they only slow the processes' start
    path = tmp_path / "pace.sqlite3"
    with multiprocessing.get_context("fork").Pool(2) as pool:
        times = sorted(itertools.chain.from_iterable(pool.map(_reserve_many, [path] * 2)))
    assert times == pytest.approx([1000.0 + 100 * n for n in range(40)])


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_the_file_and_its_folder_are_for_their_owner_alone_and_hold_no_key(tmp_path: Path) -> None:
    settings = Settings(cache_dir=tmp_path / "cache", ncbi_api_key=KEY)
    limiter_for("eutils", settings).acquire_sync()
    file = tmp_path / "cache" / "pace.sqlite3"
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert KEY.encode() not in file.read_bytes()


def test_an_unusable_file_leaves_the_pace_within_the_process_and_says_so(
    tmp_path: Path, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "pace.sqlite3").write_bytes(b"this is no database, and long enough to be looked at" * 100)
    settings = Settings(cache_dir=tmp_path, ncbi_base_url="http://unusable.test/")
    pace = limiter_for("eutils", settings, clock=clock)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            pace.acquire_sync()
    assert clock.seconds == pytest.approx(2 / (3 * MARGIN), abs=1e-3)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "pace.sqlite3" in caplog.text


async def test_an_unusable_file_is_survived_when_the_host_asks_for_a_rest(tmp_path: Path, clock: FakeClock) -> None:
    settings = Settings(cache_dir=tmp_path / "a file" / "cache", ncbi_base_url="http://unusable-too.test/")
    (tmp_path / "a file").write_bytes(b"")
    pace = limiter_for("eutils", settings, clock=clock)
    await pace.hold(5)
    await pace.acquire()
    assert clock.seconds >= 5


def test_memory_is_one_store_for_the_process() -> None:
    memory = Settings(rate_limit_store="memory")
    assert pace_store(memory) is pace_store(memory)


def test_a_sqlite_address_names_the_file(tmp_path: Path) -> None:
    settings = Settings(rate_limit_store=f"sqlite:///{tmp_path / 'own.sqlite3'}")
    limiter_for("biorxiv", settings).acquire_sync()
    assert (tmp_path / "own.sqlite3").is_file()


async def test_a_named_file_that_cannot_be_used_lets_nothing_out(
    ask: Request, wire: Callable[..., Wire], open_transport: Callable[..., Transport], tmp_path: Path
) -> None:
    """Whoever names a file wants it shared; without it nobody would keep the limit."""
    (tmp_path / "file").write_bytes(b"")
    replies = wire(OK)
    store = pace_store(Settings(rate_limit_store=f"sqlite:///{tmp_path / 'file' / 'pace.sqlite3'}"))
    async with open_transport(replies, store=store) as transport:
        with pytest.raises(SourceError, match=r"pace\.sqlite3.*cannot be used") as failed:
            await transport.send(ask, body)
    assert failed.value.reason == "pubmed_unreachable"
    assert replies.requests == []


def test_an_unknown_store_is_refused_by_name() -> None:
    with pytest.raises(ConfigurationError, match="RATE_LIMIT_STORE"):
        Transport(Settings(rate_limit_store="redis://host"))


@pytest.mark.parametrize(
    "host",
    ["eutils", "eutils.ncbi.nlm.nih.gov", "https://eutils.ncbi.nlm.nih.gov/entrez/eutils/", "EUTILS.ncbi.nlm.nih.gov"],
)
async def test_an_application_gets_the_same_pace_by_host(host: str, clock: FakeClock, tmp_path: Path) -> None:
    settings = Settings(cache_dir=tmp_path)
    async with limiter_for(host, settings, clock=clock):
        assert clock.seconds == 0
    limiter_for("eutils", settings, clock=clock).acquire_sync()
    assert clock.seconds == pytest.approx(1 / (3 * MARGIN), abs=1e-3)
    with pytest.raises(TimeoutError):
        await limiter_for(host, settings, clock=clock).acquire(within=0.1)
    with pytest.raises(TimeoutError):
        limiter_for(host, settings, clock=clock).acquire_sync(within=0.1)


async def test_an_application_and_the_package_share_one_pace(
    ask: Request, wire: Callable[..., Wire], clock: FakeClock, tmp_path: Path
) -> None:
    settings = Settings(cache_dir=tmp_path)
    replies = wire(OK)
    await limiter_for("eutils", settings, clock=clock).acquire()
    async with Transport(settings, network=replies.transport, clock=clock) as transport:
        await transport.send(ask, body)
    assert replies.times == pytest.approx([1 / (3 * MARGIN)], abs=1e-3)


def test_the_pace_is_lifted_for_applications_too(clock: FakeClock, tmp_path: Path) -> None:
    pace = limiter_for("biorxiv", Settings(cache_dir=tmp_path, pace="off"), clock=clock)
    for _ in range(5):
        pace.acquire_sync()
    assert clock.seconds == 0


def test_a_rest_holds_blocking_callers_as_well(clock: FakeClock, store: PaceStore) -> None:
    pace = Pace("host", 1, store=store, clock=clock)
    pace.acquire_sync()

    real = clock.block

    def block(seconds: float) -> None:  # the host asks for a rest while this thread sleeps
        if len(clock.slept) == 0:
            pace.hold_sync(30)
        real(seconds)

    clock.block = block  # type: ignore[method-assign]
    pace.acquire_sync()
    assert clock.seconds == pytest.approx(30 + pace.interval, abs=2e-3)


def test_an_unknown_host_is_refused_by_name() -> None:
    with pytest.raises(ConfigurationError, match=r"api\.crossref\.org.*eutils\.ncbi"):
        limiter_for("api.crossref.org", Settings())


def test_two_event_loops_in_two_threads_share_one_pace(tmp_path: Path, wire: Callable[..., Wire], ask: Request) -> None:
    settings = Settings(cache_dir=tmp_path, cache="off", ncbi_api_key=KEY)
    starts: set[float] = set()

    class Noting(MemoryPaceStore):
        def change(self, name: str, time: Callable[[], float], work: Callable[[Kept], R]) -> R:
            def noted(kept: Kept) -> R:
                result = work(kept)
                starts.update(Row.read(kept.text, kept.now).sent)
                return result

            return super().change(name, time, noted)

    store = Noting()

    async def two_calls() -> None:
        async with Transport(settings, network=wire(OK).transport, store=store) as transport:
            for _ in range(2):
                await transport.send(ask, body)

    with ThreadPoolExecutor(2) as threads:
        for done in [threads.submit(asyncio.run, two_calls()) for _ in range(2)]:
            done.result()
    assert len(starts) == 4
    assert min(later - earlier for earlier, later in itertools.pairwise(sorted(starts))) >= Rate.of(10).interval / 2
