"""How many calls are under way at once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from literature_agent.errors import SourceError
from literature_agent.transport import PaceStore, Request, Transport
from literature_agent.transport.gate import JobGate, SharedGate, job_gate
from literature_agent.transport.stores import FilePaceStore, Kept
from literature_agent.transport.turns import LEASE_S, Slots

if TYPE_CHECKING:
    from tests.transport.conftest import FakeClock, Wire


class Counting:
    """Knows the most calls that were under way at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.now = self.most = 0

    def __enter__(self) -> None:
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self.now -= 1


async def settle() -> None:
    """Let every task go on as far as it can."""
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.mark.parametrize(("key", "limit"), [(None, 3), ("0123456789abcdef", 10)])
async def test_three_calls_at_once_without_a_key_and_ten_with_one(
    key: str | None, limit: int, open_transport: Callable[..., Transport]
) -> None:
    counting = Counting()
    async with open_transport(ncbi_api_key=key) as one, open_transport(ncbi_api_key=key) as two:

        async def call(transport: Transport) -> None:
            async with transport.job("eutils"):
                with counting:
                    await settle()

        await asyncio.gather(*(call(transport) for transport in [one, two] * 15))
    assert counting.most == limit


async def test_services_have_gates_of_their_own(open_transport: Callable[..., Transport]) -> None:
    transport = open_transport(ncbi_base_url="http://a.test/", europepmc_base_url="http://b.test/")
    counting = Counting()

    async def call(service: str) -> None:
        async with transport.job(service):  # type: ignore[arg-type]
            with counting:
                await settle()

    await asyncio.gather(*(call(service) for service in ["eutils", "europepmc"] * 5))
    assert counting.most == 6
    await transport.aclose()


async def test_a_call_within_a_call_takes_no_place_whatever_it_asks(open_transport: Callable[..., Transport]) -> None:
    """Six calls that each hold a place and ask the other service would otherwise wait for each other for ever."""
    transport = open_transport(ncbi_base_url="http://a.test/", pmc_base_url="http://b.test/")
    done: list[str] = []

    async def call(outer: str, inner: str) -> None:
        async with transport.job(outer):  # type: ignore[arg-type]
            await settle()

            async def child() -> None:
                async with transport.job(inner), transport.job(outer):  # type: ignore[arg-type]
                    done.append(outer)

            await asyncio.create_task(child())

    async with asyncio.timeout(10):
        await asyncio.gather(*(call(*pair) for pair in [("eutils", "pmc"), ("pmc", "eutils")] * 6))
    assert len(done) == 12
    await transport.aclose()


async def test_the_place_is_kept_to_the_end_of_the_call_and_given_back_when_it_fails(
    open_transport: Callable[..., Transport],
) -> None:
    transport = open_transport()
    for _ in range(5):
        with pytest.raises(KeyError):
            async with transport.job("eutils"):
                raise KeyError
    async with asyncio.timeout(10), transport.job("eutils"), transport.job("eutils"):
        pass
    await transport.aclose()


async def test_calls_come_in_the_order_in_which_they_asked() -> None:
    gate, order = JobGate(1), []
    await gate.enter()

    async def call(number: int) -> None:
        await gate.enter()
        order.append(number)
        gate.leave()

    calls = [asyncio.create_task(call(number)) for number in range(5)]
    await settle()
    gate.leave()
    await asyncio.gather(*calls)
    assert order == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("granted", [False, True])
async def test_a_cancelled_waiter_takes_no_place_with_it(granted: bool) -> None:
    """Also when it was cancelled between being called up and going in."""
    gate = JobGate(1)
    await gate.enter()
    first, second = (asyncio.create_task(gate.enter()) for _ in range(2))
    await settle()
    if granted:
        gate.leave()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    if not granted:
        gate.leave()
    async with asyncio.timeout(10):
        await second
    gate.leave()
    async with asyncio.timeout(10):
        await gate.enter()


async def test_the_deadline_counts_while_waiting_for_a_place(open_transport: Callable[..., Transport]) -> None:
    """K109."""
    transport = open_transport()
    full = asyncio.Event()

    async def hold() -> None:
        async with transport.job("eutils"):
            await full.wait()

    holding = [asyncio.create_task(hold()) for _ in range(3)]
    await settle()
    with transport.deadline(0.01), pytest.raises(SourceError, match="queue") as failed:
        async with asyncio.timeout(10), transport.job("eutils"):
            pytest.fail("there was no place")
    assert failed.value.reason == "pubmed_timeout"
    with transport.deadline(0.01), pytest.raises(SourceError) as failed:
        async with asyncio.timeout(10), transport.job("eutils", "pmc"):
            pytest.fail("there was no place")
    assert failed.value.reason == "pmc_timeout"
    full.set()
    await asyncio.gather(*holding)
    async with asyncio.timeout(10), transport.job("eutils"):
        pass
    await transport.aclose()


def test_threads_with_loops_of_their_own_share_one_gate() -> None:
    gate, counting = JobGate(3), Counting()

    async def calls() -> None:
        async def call() -> None:
            await gate.enter()
            try:
                with counting:
                    await settle()
            finally:
                gate.leave()

        await asyncio.gather(*(call() for _ in range(50)))

    with ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(asyncio.run, calls()) for _ in range(4)]:
            done.result(timeout=30)
    assert counting.now == 0
    assert 2 <= counting.most <= 3


def test_a_waiter_whose_loop_is_gone_is_passed_over() -> None:
    gate = JobGate(1)
    asyncio.run(gate.enter())

    loop = asyncio.new_event_loop()
    waiting = gate.enter()
    loop.call_soon(waiting.send, None)
    loop.call_soon(loop.stop)
    loop.run_forever()
    loop.close()  # as a door does that was torn down: the waiter is still in the queue

    gate.leave()
    asyncio.run(asyncio.wait_for(gate.enter(), 10))
    waiting.close()

    async def no_second_place() -> None:
        second = asyncio.create_task(gate.enter())
        await settle()
        assert not second.done()
        gate.leave()
        await second

    asyncio.run(asyncio.wait_for(no_second_place(), 10))


def test_one_gate_for_each_host_as_long_as_somebody_holds_it() -> None:
    gate = job_gate("host.test", 3)
    assert job_gate("host.test", 3) is gate
    assert job_gate("host.test", 10) is not gate
    assert job_gate("other.test", 3) is not gate


async def test_a_job_holds_over_several_requests(
    ask: Request, wire: Callable[..., Wire], open_transport: Callable[..., Transport]
) -> None:
    """Twelve calls of two requests each, three at a time: no fourth call begins before one has made both."""
    replies = wire(httpx.Response(200))
    under_way = Counting()
    async with open_transport(replies) as transport:

        async def call() -> None:
            async with transport.job("eutils"):
                with under_way:
                    for _ in range(2):
                        await transport.send(ask, lambda answer: answer.status)

        await asyncio.gather(*(call() for _ in range(12)))
    assert under_way.most == 3
    assert len(replies.requests) == 24


# Shared with other processes


def shared_gate(clock: FakeClock, store: PaceStore, limit: int = 2) -> SharedGate:
    return SharedGate("host.test", limit, store, clock)


def leave_a_ticket(store: PaceStore, clock: FakeClock, name: str = "crashed") -> None:
    """As a process leaves it that was killed while it held a slot."""

    def work(kept: Kept) -> None:
        slots = Slots.read(kept.text, kept.now)
        slots.show(name, 1)
        kept.text = slots.written()

    store.change("slots:host.test", lambda: clock.now().timestamp(), work)


def tickets(store: PaceStore, clock: FakeClock) -> int:
    return store.change(
        "slots:host.test",
        lambda: clock.now().timestamp(),
        lambda kept: len(Slots.read(kept.text, kept.now).tickets),
    )


async def test_all_who_share_a_store_share_its_slots(clock: FakeClock, shared_store: PaceStore) -> None:
    counting = Counting()
    gates = [shared_gate(clock, shared_store) for _ in range(4)]

    async def call(gate: SharedGate) -> None:
        async with gate.place():
            with counting:
                await clock.sleep(30)  # longer than a ticket is good for: its holder keeps it

    await asyncio.gather(*(call(gate) for gate in gates * 3))
    assert counting.most == 2
    assert tickets(shared_store, clock) == 0


async def test_the_slot_of_a_killed_process_is_free_soon(clock: FakeClock, shared_store: PaceStore) -> None:
    leave_a_ticket(shared_store, clock)
    async with shared_gate(clock, shared_store, limit=1).place():
        assert clock.seconds == pytest.approx(LEASE_S, abs=1)


async def test_a_cancelled_waiter_leaves_no_ticket(clock: FakeClock, shared_store: PaceStore) -> None:
    leave_a_ticket(shared_store, clock)
    clock.sleep = lambda seconds: asyncio.Event().wait()  # type: ignore[method-assign, assignment, return-value]
    waiting = asyncio.create_task(shared_gate(clock, shared_store, limit=1).place().__aenter__())
    await settle()
    assert tickets(shared_store, clock) == 2
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert tickets(shared_store, clock) == 1


async def test_calls_of_a_transport_take_shared_slots_except_at_the_sandbox(
    ask: Request,
    wire: Callable[..., Wire],
    clock: FakeClock,
    open_transport: Callable[..., Transport],
    shared_store: PaceStore,
) -> None:
    def held() -> int:
        return shared_store.change(
            "slots:localhost",
            lambda: clock.now().timestamp(),
            lambda kept: len(Slots.read(kept.text, kept.now).tickets),
        )

    replies = wire(httpx.Response(200), httpx.Response(200, headers={"X-Literature-Agent-Sandbox": "1"}))
    async with open_transport(replies, store=shared_store, url="http://localhost/") as transport:
        async with transport.job("eutils"):
            assert held() == 1
            await transport.send(ask, lambda answer: answer.status)
            await transport.send(ask, lambda answer: answer.status)
        assert held() == 0
        async with transport.job("eutils"):
            assert held() == 0
    async with open_transport(replies, store=shared_store, pace="off") as transport, transport.job("eutils"):
        assert held() == 0


async def test_a_file_holds_slots_for_all_processes(clock: FakeClock, tmp_path: Path) -> None:
    one, two = (FilePaceStore(tmp_path / "pace.sqlite3") for _ in range(2))
    async with shared_gate(clock, one, limit=1).place():
        assert tickets(two, clock) == 1
        waiting = asyncio.create_task(shared_gate(clock, two, limit=1).place().__aenter__())
        await clock.asleep.wait()
        waiting.cancel()
        await asyncio.wait([waiting])
