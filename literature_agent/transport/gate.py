"""How many calls may be under way at a host at the same time: in this process, and in all that share a store."""

from __future__ import annotations

import asyncio
import secrets
import threading
import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TypeVar

from literature_agent.errors import LiteratureError
from literature_agent.transport.asking import ask
from literature_agent.transport.clock import Clock
from literature_agent.transport.stores import Kept, PaceStore
from literature_agent.transport.turns import LEASE_S, Slots

R = TypeVar("R")

BEAT_S = LEASE_S / 3
"""A holder shows its ticket so often."""
LOOK_S = 0.1
"""A process whose ticket waits looks so often whether it is in; each look keeps the ticket from lapsing too."""


class _Waiter:
    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.turn: asyncio.Future[None] = self.loop.create_future()
        self.granted = False

    def wake(self) -> None:
        if not self.turn.done():
            self.turn.set_result(None)


class JobGate:
    """Lets `limit` calls in, the rest in the order they came; shared by threads and event loops.

    Only a waiter belongs to a loop, and only while it waits, so the gate outlives every loop (a lock of asyncio
    would not).
    """

    def __init__(self, limit: int) -> None:
        self._lock = threading.Lock()
        self._free = limit
        self._waiting: deque[_Waiter] = deque()

    async def enter(self) -> None:
        """Wait for a place; a cancelled waiter leaves no trace."""
        with self._lock:
            if self._free > 0:
                self._free -= 1
                return
            waiter = _Waiter()
            self._waiting.append(waiter)
        try:
            await waiter.turn
        except BaseException:  # cancelled, or thrown away with its loop: the place must go on either way
            with self._lock:
                if waiter.granted:
                    self._pass_on()
                elif waiter in self._waiting:
                    self._waiting.remove(waiter)
            raise

    def leave(self) -> None:
        """Give the place to whoever has waited longest."""
        with self._lock:
            self._pass_on()

    def _pass_on(self) -> None:
        while self._waiting:
            waiter = self._waiting.popleft()
            try:
                waiter.loop.call_soon_threadsafe(waiter.wake)
            except RuntimeError:  # its loop was closed while it waited
                continue
            waiter.granted = True
            return
        self._free += 1


# Calls of several clients, threads and loops count together, so gates are found by name; one that no client holds
# any more is free of calls and goes away.
_gates: weakref.WeakValueDictionary[tuple[str, int], JobGate] = weakref.WeakValueDictionary()
_gates_lock = threading.Lock()


def job_gate(row: str, limit: int) -> JobGate:
    """The gate of this process for `row`."""
    with _gates_lock:
        gate = _gates.get((row, limit))
        if gate is None:
            gate = _gates[row, limit] = JobGate(limit)
        return gate


class SharedGate:
    """The gate of `row` for everybody who uses `store`: its slots are leases that lapse when their holder is gone.

    A process draws one ticket at a time, so that processes get in by turns however many calls wait in each.
    """

    def __init__(self, row: str, limit: int, store: PaceStore, clock: Clock) -> None:
        self._row = f"slots:{row}"
        self._limit = limit
        self._store = store
        self._clock = clock
        self._drawing = job_gate(self._row, 1)

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """A slot, waited for before the block and held until its end.

        Raises:
            SourceError: `request_unreachable`, the store does not answer.
        """
        ticket = _Ticket()
        try:
            await self._drawing.enter()
            try:
                while not await ask(self._store, self._clock, partial(self._show, ticket)):
                    await self._clock.sleep(LOOK_S)
            finally:
                self._drawing.leave()
            beating = asyncio.create_task(self._beat(ticket))
            try:
                yield
            finally:
                beating.cancel()
                await asyncio.wait([beating])
        finally:
            ticket.gone = True
            if self._store.blocking:
                # Nobody waits for it: a call that is cancelled ends at once, whatever the store does.
                asyncio.get_running_loop().run_in_executor(None, self._drop, ticket)
            else:
                self._drop(ticket)

    async def _beat(self, ticket: _Ticket) -> None:
        while True:
            await self._clock.sleep(BEAT_S)
            with suppress(LiteratureError):  # the call goes on; at worst one too many is under way for a while
                await ask(self._store, self._clock, partial(self._show, ticket, inside=True))

    def _show(self, ticket: _Ticket, *, inside: bool = False) -> bool:
        # One that is still under way in a thread when its call has ended must not bring the ticket back.
        return self._change(lambda slots: not ticket.gone and slots.show(ticket.name, self._limit, inside=inside))

    def _drop(self, ticket: _Ticket) -> None:
        with suppress(LiteratureError):  # it lapses by itself
            self._change(lambda slots: slots.drop(ticket.name))

    def _change(self, work: Callable[[Slots], R]) -> R:
        def change(kept: Kept) -> R:
            slots = Slots.read(kept.text, kept.now)
            answer = work(slots)
            kept.text = slots.written()
            return answer

        return self._store.change(self._row, lambda: self._clock.now().timestamp(), change)


class _Ticket:
    def __init__(self) -> None:
        self.name = secrets.token_hex(8)
        self.gone = False
