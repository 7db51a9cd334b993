"""Time, as something that can be handed in."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """What the package needs of time. Tests hand in one that never really waits."""

    def monotonic(self) -> float:
        """Seconds that only ever grow; deadlines are measured with it."""
        ...

    def now(self) -> datetime:
        """The wall clock, aware, UTC."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait without blocking the event loop; can be cancelled."""
        ...

    def block(self, seconds: float) -> None:
        """Wait and block this thread."""
        ...


class SystemClock:
    """The clock of this machine."""

    def monotonic(self) -> float:
        return time.monotonic()

    def now(self) -> datetime:
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def block(self, seconds: float) -> None:
        time.sleep(seconds)
