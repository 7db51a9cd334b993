"""How many calls may be under way at a host at the same time."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections import deque


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
