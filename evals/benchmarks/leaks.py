"""What runs leave behind: many at once, a quarter of them cancelled while a source is being asked; then what is still
open is counted."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic_ai import CancellationToken

from evals.benchmarks.measure import Figure, show
from evals.benchmarks.served import sandbox_process
from literature_agent import ArtifactRegistry, LiteratureAggregator
from literature_agent.custody import Event
from literature_agent.settings import Settings, load_settings
from literature_agent.testing import Calls, Seen, scripted_model, submit

_AT_ONCE = 8
_HANDLES = Path("/dev/fd")


def run(*, small: bool = False) -> list[Figure]:
    runs = 8 if small else 200
    with sandbox_process() as (overrides, _), TemporaryDirectory() as folder:
        settings = load_settings(**overrides, cache_dir=folder, rate_limit_store="memory")
        asyncio.run(_runs(settings, 2 if small else 8))
        before = opened()
        ended, cancelled, tasks = asyncio.run(_runs(settings, runs))
        left = left_since(before)
    return show(
        "leaks",
        [
            Figure("runs that ended in an answer", ended),
            Figure("of these cancelled by a token", cancelled["token"]),
            Figure("runs whose task was cancelled", cancelled["task"]),
            Figure("tasks left open", tasks, goal=0),
            *(Figure(f"{name} left open", count, goal=0) for name, count in left.items()),
        ],
    )


def opened() -> dict[str, Counter[object]]:
    """What this process has open, each by what it is. No garbage is collected first: what waits for that is open."""
    targets = []
    for handle in _HANDLES.iterdir():
        with suppress(OSError):  # the handle of the listing itself is gone
            targets.append(str(handle.readlink()))
    return {
        "threads": Counter(threading.enumerate()),
        "sockets": Counter(target for target in targets if target.startswith("socket:")),
        "other file handles": Counter(target for target in targets if not target.startswith("socket:")),
    }


def left_since(before: dict[str, Counter[object]], patience: float = 10) -> dict[str, int]:
    """How much is open that was not before, once all of it is closed or after `patience` seconds. anyio tells its
    worker threads to end when the loop's main task does and joins none of them, so on a busy machine they may outlive
    `asyncio.run` by a moment. What was open before and closes meanwhile is not set off against what is new."""
    until = time.monotonic() + patience
    while True:
        left = {name: (now - before[name]).total() for name, now in opened().items()}
        if not any(left.values()) or time.monotonic() > until:
            return left
        time.sleep(0.05)


async def _runs(settings: Settings, count: int) -> tuple[int, dict[str, int], int]:
    """Runs that ended in an answer, those that were cancelled by kind, and the tasks that are still there."""

    def fetch(seen: Seen) -> Calls:
        return [("fetch_pubmed", {"references": [reference]}) for reference in seen.references[:3]]

    def answer(seen: Seen) -> Calls:
        return submit(f"It helps {seen.references[0]}.", seen.references[:1])

    def first(seen: Seen) -> Calls:
        return [("search_pubmed", {"query": "metformin"}), ("search_europepmc", {"query": "metformin"})]

    def again(seen: Seen) -> Calls:
        return [("search_pubmed", {"query": "gut parkinson"}), ("search_europepmc", {"query": "gut"})]

    model = scripted_model(first, again, fetch, answer)
    own = LiteratureAggregator(model, settings=settings)
    before = asyncio.all_tasks()
    cancelled = {"token": 0, "task": 0}
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(number: int, shared: LiteratureAggregator) -> bool:
        # Every fourth is cancelled: one by its token, the next by its task. Half of all bring a client of their own.
        kind = {0: "token", 4: "task"}.get(number % 8, "")
        token = CancellationToken()
        loop = asyncio.get_running_loop()
        searches = 0

        def stop(event: Event) -> None:
            nonlocal searches
            searches += event.kind == "search_started"
            if event.kind == "search_started" and searches == 3:
                # After a moment: while the source is being asked.
                loop.call_later(0.002, token.cancel if kind == "token" else task.cancel)

        async with gate:
            task = asyncio.create_task(
                (shared if number % 2 else own).run(
                    "Does exercise help?",
                    registry=ArtifactRegistry(),
                    on_event=stop if kind else None,
                    cancellation_token=token,
                )
            )
            try:
                output = await task
            except asyncio.CancelledError:
                cancelled["task"] += 1
                return False
            cancelled["token"] += any("cancelled" in sentence for sentence in output.limitations)
            return True

    async with LiteratureAggregator(model, settings=settings) as shared:
        ended = sum(await asyncio.gather(*(one(number, shared) for number in range(count))))
    return ended, cancelled, len(asyncio.all_tasks() - before)
