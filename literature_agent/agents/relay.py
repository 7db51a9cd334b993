"""The steps of a child run, in its parent's own event stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from pydantic_ai import CustomEvent, RunContext

from literature_agent.custody import Event, Observer


@dataclass(kw_only=True)
class LiteratureStepEvent(CustomEvent):
    """One step of a literature run inside a parent's run."""

    kind: str
    text: str
    source: str | None = None
    search_id: str | None = None
    status: str | None = None


@asynccontextmanager
async def relayed(ctx: RunContext[Any]) -> AsyncIterator[Observer]:
    """Gives an observer whose events are emitted into the parent's stream, in order; all are out when it ends."""
    events: asyncio.Queue[Event | None] = asyncio.Queue()

    async def emit() -> None:
        while (event := await events.get()) is not None:
            await ctx.emit(
                LiteratureStepEvent(
                    kind=event.kind,
                    text=event.text,
                    source=event.source,
                    search_id=event.search_id,
                    status=event.status,
                )
            )

    task = asyncio.create_task(emit())
    try:
        yield events.put_nowait
    except asyncio.CancelledError:
        task.cancel()
        raise
    finally:
        events.put_nowait(None)
        await asyncio.gather(task, return_exceptions=True)
