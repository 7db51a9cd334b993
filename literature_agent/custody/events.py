"""What a run tells while it works: to `on_event`, the command line, a parent agent, spans."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from literature_agent.artifacts import Record

EventKind = Literal[
    "started",
    "search_started",
    "search_progress",
    "search_finished",
    "fetch_finished",
    "article_read",
    "repair_asked",
    "budget",
    "source_failed",
    "finished",
]


class Event(Record):
    """One step of a run; a run tells at most a hundred.

    `text` is a sentence for people; it holds no key, no address and no text of a paper.
    """

    kind: EventKind
    text: str
    run_id: str = ""
    source: str | None = None
    search_id: str | None = None
    status: str | None = None
    """Of a search: `ok`, `empty`, `partial` or `failed`; of the end: that of the answer."""
    found: int | None = None
    """Records got."""
    new: int | None = None
    """Works among them that this run had not held before (searches)."""
    elapsed_s: float = 0.0
    """Since the run began, seconds."""


Observer = Callable[[Event], None]
