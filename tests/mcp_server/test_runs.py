"""Long calls: progress, cancellation, partial answers, start and poll, retry by key."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from literature_agent.agents.aggregator import LiteratureAggregator
from literature_agent.mcp_server import LiteratureServer, Policy
from literature_agent.mcp_server.runs import LiveRun, Runs
from literature_agent.mcp_server.shelf import LEASE, Shelf
from literature_agent.outputs import AggregationRequest, Budget
from literature_agent.sandbox import SandboxServer
from literature_agent.settings import Settings
from tests.mcp_server.conftest import Connect, all_tools, for_the_person, page_of, text_of
from tests.waiting import asked, pass_time

QUESTION = {"question": "Does metformin slow cognitive decline?"}


@pytest.fixture
def slow(sandbox: SandboxServer) -> None:
    """Every answer of PubMed takes 0.4 seconds."""
    sandbox.faults.set("eutils", "slow", seconds=0.4)


async def finished(client: Client, run_id: str) -> Any:
    """The status of a run that has ended."""
    async with asyncio.timeout(60):
        while True:
            state = await client.call_tool("literature_status", {"run_id": run_id})
            if state.structured_content["status"] != "running":
                return state
            await asyncio.sleep(0.02)


async def test_a_long_call_is_heard_of_all_the_time_in_sentences(connect: Connect, slow: None) -> None:
    """At least every 10 s: the server's interval is 5 s, here a fiftieth of a second."""
    heard: list[tuple[float, str | None]] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, message))

    async with connect() as client:
        await client.call_tool("search_pubmed", {"query": "metformin"}, progress_callback=listen)
    numbers = [number for number, _ in heard]
    assert numbers == sorted(set(numbers))
    assert len(numbers) > 10
    assert "PubMed: metformin" in {message for _, message in heard}
    assert any(message and message.startswith("PubMed: metformin (") for _, message in heard)
    assert LiteratureServer.progress_every_s < 10


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_cancelled_run_gets_no_reply_and_its_partial_answer_is_kept(
    connect: Connect, slow: None, sandbox: SandboxServer, tmp_path: Path, mode: str
) -> None:
    """K105: requests to the sources end at once."""
    said: list[str] = []
    found = asyncio.Event()

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        said.append(message or "")
        if said[-1].startswith("Europe PMC: ") and said[-1].endswith(" new"):
            found.set()

    async with connect(mode=mode) as client:
        call = asyncio.create_task(client.call_tool("literature_aggregator", QUESTION, progress_callback=listen))
        async with asyncio.timeout(60):
            await found.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        run_id = next(line for line in said if line.startswith("Run ")).split()[1]
        state = await finished(client, run_id)
        assert state.structured_content["status"] == "cancelled"
        asked = len(sandbox.requests)
        kept = await client.call_tool("literature_result", {"run_id": run_id})
        assert len(sandbox.requests) == asked
        assert kept.structured_content["run_id"] == run_id
        assert kept.structured_content["references"]
        assert "cancelled" in text_of(kept)
        page = await client.read_resource(f"run://{run_id}")
        assert "10.5555/" in page_of(page)


async def test_a_cancelled_search_ends_its_request_upstream(
    connect: Connect, sandbox: SandboxServer, settings: Settings, tmp_path: Path
) -> None:
    """K105: nothing goes on, and the next call is served."""
    sandbox.requests.clear()
    sandbox.faults.set("eutils", "slow", seconds=60)
    server = LiteratureServer(settings, Policy(consumer=(all_tools(),)), tmp_path / "mcp")
    async with connect(server=server) as client:
        call = asyncio.create_task(client.call_tool("search_pubmed", {"query": "metformin AND cancelling"}))
        await asked(sandbox)
        async with asyncio.timeout(30):  # the answer would take twice as long
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            found = await client.call_tool("search_europepmc", {"query": "metformin", "max_results": 1})
        assert not found.is_error


async def test_a_run_is_started_polled_and_fetched(connect: Connect) -> None:
    """For clients that wait a minute at most."""
    async with connect() as client:
        started = await client.call_tool("literature_start", QUESTION)
        run_id = started.structured_content["run_id"]
        assert started.structured_content["status"] == "running"
        early = await client.call_tool("literature_result", {"run_id": run_id})
        assert early.structured_content["status"] == "running"
        assert "Ask literature_result" in text_of(early)
        state = await finished(client, run_id)
        assert state.structured_content["status"] == "complete"
        answer = await client.call_tool("literature_result", {"run_id": run_id})
        assert answer.structured_content["status"] == "complete"
        assert "Summary: " in text_of(answer)
        assert "[1] " in for_the_person(answer)
        (reference, *_) = answer.structured_content["references"]
        assert not (await client.call_tool("fetch_pubmed", {"references": [reference]})).is_error


async def test_a_repeated_request_with_the_same_key_does_nothing_twice(
    connect: Connect, sandbox: SandboxServer
) -> None:
    keyed = {**QUESTION, "request_key": "k-1"}
    async with connect() as client:
        first, joined = await asyncio.gather(
            client.call_tool("literature_aggregator", keyed), client.call_tool("literature_aggregator", keyed)
        )
        assert first.structured_content["run_id"] == joined.structured_content["run_id"]
        asked = len(sandbox.requests)
        again = await client.call_tool("literature_aggregator", keyed)
        started = await client.call_tool("literature_start", keyed)
        assert again.structured_content == first.structured_content
        assert text_of(again) == text_of(first)
        assert started.structured_content["run_id"] == first.structured_content["run_id"]
        assert len(sandbox.requests) == asked
        other = await client.call_tool("literature_start", {"question": "Something else?", "request_key": "k-1"})
        assert "was used for another request" in text_of(other)


async def test_two_servers_with_one_folder_do_nothing_twice_for_one_key(
    connect: Connect, settings: Settings, sandbox: SandboxServer, tmp_path: Path
) -> None:
    """As two processes for one person are; each has connections of its own to the file."""
    keyed = {**QUESTION, "request_key": "k-1", "sources": ["europepmc"]}
    async with connect() as one, connect() as two:
        first, joined = await asyncio.gather(
            one.call_tool("literature_aggregator", keyed), two.call_tool("literature_aggregator", keyed)
        )
        assert joined.structured_content == first.structured_content
        second = {**keyed, "request_key": "k-2"}
        started = await asyncio.gather(
            one.call_tool("literature_start", second), two.call_tool("literature_start", second)
        )
        (run_id,) = {each.structured_content["run_id"] for each in started}
        other = await two.call_tool("literature_start", {"question": "Something else?", "request_key": "k-2"})
        assert "was used for another request" in text_of(other)
        assert (await finished(two, run_id)).structured_content["status"] == "complete"


def test_a_key_is_free_again_when_its_process_is_gone(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "mcp", "stdio", retention_days=1)
    now = datetime.now(UTC)
    assert shelf.claim("k", "killed", now)
    assert not shelf.claim("k", "other", now + LEASE / 2)
    assert shelf.claim("k", "killed", now + LEASE / 2)
    assert shelf.claim("k", "other", now + 2 * LEASE)
    shelf.release("k", "killed")
    assert not shelf.claim("k", "killed", now + 2 * LEASE)
    shelf.release("k", "other")
    assert shelf.claim("k", "killed", now + 2 * LEASE)
    # Nor does it wait for a clock that was set back.
    assert shelf.claim("k", "other", now - timedelta(hours=1))
    shelf.close()


async def test_a_file_that_fails_for_a_while_costs_a_run_neither_its_key_nor_its_answer(
    settings: Settings, slow: None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What keeps other processes from starting it too is renewed again as soon as that can be done."""
    clock = [datetime.now(UTC)]
    shelf = Shelf(tmp_path / "mcp", "stdio", retention_days=1)
    (file,) = (tmp_path / "mcp").glob("*.sqlite")

    def rename(old: str, new: str) -> None:
        with closing(sqlite3.connect(file)) as other:
            other.execute(f"ALTER TABLE {old} RENAME TO {new}")

    async def until(passed: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while True:
                if passed():
                    return
                await asyncio.sleep(0.01)

    async with LiteratureAggregator(settings=settings) as aggregator:

        async def ready() -> LiteratureAggregator:
            return aggregator

        runs = Runs(all_tools(), shelf, ready, lambda: clock[0], renew_s=0.01)
        run = await runs.begin(AggregationRequest(**QUESTION), "secret-key", detached=False)
        assert isinstance(run, LiveRun)
        rename("claims", "away")
        await until(lambda: bool(caplog.messages))
        clock[0] += 2 * LEASE
        rename("away", "claims")
        await until(lambda: shelf.is_claimed("key secret-key", clock[0]))
        assert not shelf.claim("key secret-key", "another process", clock[0])
        rename("claims", "away")
        rename("runs", "gone")
        assert (await runs.wait(run, lambda said: None)).status == "complete"
    assert runs.live == 0
    (said,) = caplog.messages
    assert (
        said
        == f"Run {run.run_id} goes on but can't be kept, and another process may start it too: no such table: claims."
    )
    shelf.close()


def test_a_run_whose_process_was_killed_is_kept_no_longer_than_others(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "mcp", "stdio", retention_days=1)
    now = datetime.now(UTC)
    for run_id in ("dead", "live"):
        shelf.open_run(run_id, "{}", now, None)
        assert shelf.claim(f"run {run_id}", run_id, now)
    later = now + timedelta(days=2)
    assert shelf.claim("run live", "live", later)
    shelf.prune(later)
    assert (shelf.run("dead"), shelf.run("live") is not None) == (None, True)
    shelf.close()


async def test_a_run_that_is_cancelled_before_it_is_open_asks_nobody(
    settings: Settings, sandbox: SandboxServer, tmp_path: Path
) -> None:
    """K105."""
    shelf, ready = Shelf(tmp_path / "mcp", "stdio", retention_days=1), asyncio.Event()
    async with LiteratureAggregator(settings=settings) as aggregator:

        async def opened() -> LiteratureAggregator:
            await ready.wait()
            return aggregator

        runs = Runs(all_tools(), shelf, opened, lambda: datetime.now(UTC))
        asked = asyncio.create_task(runs.begin(AggregationRequest(**QUESTION), None, detached=False))
        await asyncio.sleep(0)
        run = runs._live[0].task
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        sandbox.requests.clear()
        ready.set()
        await run
    assert not sandbox.requests
    shelf.close()


async def test_a_call_that_two_wait_for_goes_on_when_one_leaves(
    connect: Connect, slow: None, sandbox: SandboxServer
) -> None:
    sandbox.requests.clear()
    keyed = {**QUESTION, "request_key": "k-2", "sources": ["europepmc", "pubmed"]}
    async with connect() as client:
        leaving = asyncio.create_task(client.call_tool("literature_aggregator", keyed))
        staying = asyncio.create_task(client.call_tool("literature_aggregator", keyed))
        await asked(sandbox)
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        sandbox.faults.clear()
        assert (await staying).structured_content["status"] == "complete"


async def test_the_deadline_of_the_policy_gives_a_partial_answer(connect: Connect, sandbox: SandboxServer) -> None:
    sandbox.requests.clear()
    sandbox.faults.set("eutils", "slow", seconds=60)
    async with connect(all_tools(budget=Budget(deadline_s=30))) as client:
        call = asyncio.create_task(client.call_tool("literature_aggregator", QUESTION))
        await asked(sandbox, "search", "esearch")
        pass_time(30)
        answer = await call
    assert not answer.is_error
    assert answer.structured_content["status"] == "partial"
    assert answer.structured_content["references"]


async def test_runs_at_once_and_runs_of_a_day_are_limited(connect: Connect, slow: None, sandbox: SandboxServer) -> None:
    async with connect(all_tools(runs_at_once=1, runs_per_day=2)) as client:
        one = await client.call_tool("literature_start", QUESTION)
        busy = await client.call_tool("literature_start", QUESTION)
        assert busy.structured_content["error"]["reason"] == "request_rate_limited"
        sandbox.faults.clear()
        await finished(client, one.structured_content["run_id"])
        await client.call_tool("literature_aggregator", {**QUESTION, "sources": ["europepmc"]})
        spent = await client.call_tool("literature_start", QUESTION)
        assert "2 runs of this day are used up" in text_of(spent)


async def test_what_runs_when_the_server_ends_is_kept(connect: Connect, slow: None, tmp_path: Path) -> None:
    async with connect() as client:
        started = await client.call_tool("literature_start", QUESTION)
        run_id = started.structured_content["run_id"]
    async with connect() as client:
        kept = await client.call_tool("literature_result", {"run_id": run_id})
    assert kept.structured_content["status"] == "cancelled"


async def test_a_run_whose_process_was_killed_is_told_as_interrupted(connect: Connect, tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "mcp", "stdio", retention_days=30)
    shelf.open_run("dead", "{}", datetime(2020, 1, 1, tzinfo=UTC), None)
    shelf.close()
    async with connect(all_tools(retention_days=3650)) as client:
        state = await client.call_tool("literature_status", {"run_id": "dead"})
        unknown = await client.call_tool("literature_status", {"run_id": "nosuch"})
    assert state.structured_content["status"] == "interrupted"
    assert unknown.structured_content["error"]["reason"] == "request_not_found"


async def test_a_request_that_is_refused_starts_nothing(connect: Connect) -> None:
    async with connect() as client:
        for tool in ("literature_aggregator", "literature_start"):
            refused = await client.call_tool(tool, {"question": " ", "date_from": "2020"})
            assert refused.structured_content["error"]["reason"] == "request_invalid_input"
            refused = await client.call_tool(tool, {"question": "x", "sources": ["nosuch"]})
            assert "nosuch" in text_of(refused)
            refused = await client.call_tool(tool, {"question": "x", "searches": [{"source": "nosuch", "query": "x"}]})
            assert "nosuch" in text_of(refused)
