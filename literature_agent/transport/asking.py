"""How a store is asked: off the event loop where it may block, and again where it does not answer at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from literature_agent.errors import SourceError
from literature_agent.transport.clock import Clock
from literature_agent.transport.stores import PaceStore

R = TypeVar("R")

PATIENCE_S = (0.5, 1.0, 2.0)
"""Pauses before a store that does not answer is asked again: a database that is restarted is back after seconds."""


async def ask(store: PaceStore, clock: Clock, question: Callable[[], R], until: float | None = None) -> R:
    """What `question` gives, which asks `store`; `until` is the deadline by the monotonic clock.

    Raises:
        SourceError: `request_unreachable`, the store has not answered for a while.
    """
    for pause in PATIENCE_S:
        try:
            return await ask_once(store, question)
        except SourceError:
            if until is not None and clock.monotonic() + pause > until:
                raise
        await clock.sleep(pause)
    return await ask_once(store, question)


def ask_sync(clock: Clock, question: Callable[[], R], until: float | None = None) -> R:
    """Like `ask`, blocking this thread."""
    for pause in PATIENCE_S:
        try:
            return question()
        except SourceError:
            if until is not None and clock.monotonic() + pause > until:
                raise
        clock.block(pause)
    return question()


async def ask_once(store: PaceStore, question: Callable[[], R]) -> R:
    """Like `ask`, without patience."""
    return await asyncio.to_thread(question) if store.blocking else question()
