"""What durability costs: time beside a plain run, and memory over many questions."""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from evals.durable.crew import MODEL, QUEUE, loopback_model
from evals.durable.kill import Outcome, Plan, crew
from evals.durable.model_server import model_server
from evals.durable.others import other_side
from evals.postgres import running_postgres
from literature_agent import LiteratureAggregator
from literature_agent.durable import open_engine
from literature_agent.durable.batch import Batch, BatchLimits, Progress
from literature_agent.durable.book import open_book
from literature_agent.durable.tables import BatchQuestion, Results
from literature_agent.outputs import AggregationRequest, Budget
from literature_agent.sandbox import Corpus, SandboxServer
from literature_agent.settings import Settings, load_settings

_MODEL_S = 0.05
SOURCES = ("pubmed", "europepmc")


def question_of(number: int) -> AggregationRequest:
    """A question that no other is like."""
    return AggregationRequest(question=f"Does probe{number} help in metformin use?", sources=SOURCES, max_articles=5)


def overhead(questions: int) -> dict[str, Any]:
    """Mean seconds a question takes alone: plain, recorded in SQLite, recorded in PostgreSQL.

    The three take turns, so that what else the machine does weighs on all alike. Model and sources are in a process of
    their own, as they are in life, and both databases write through to the disk.
    """
    with (
        tempfile.TemporaryDirectory(prefix="literature-agent-") as folder,
        other_side(_MODEL_S) as (addresses, model),
        running_postgres(thrown_away=False) as postgres,
    ):
        shared = {**addresses, "pace": "off", "cache": "off"}
        settings = {
            "plain": load_settings(**shared, cache_dir=Path(folder)),
            "SQLite": load_settings(**shared, cache_dir=Path(folder), database_url=f"sqlite:///{folder}/runs.sqlite"),
            "PostgreSQL": load_settings(**shared, cache_dir=Path(folder), database_url=postgres.database()),
        }
        seconds: dict[str, list[float]] = {name: [] for name in settings}
        numbers = iter(range(1, 10_000_000))
        for _ in range(max(1, questions // 10)):
            for name, used in settings.items():
                seconds[name] += _plain(used, model, numbers) if name == "plain" else _kept(used, model, numbers)
    figures: dict[str, Any] = {"questions, each way": len(seconds["plain"])}
    plain = statistics.median(seconds["plain"])
    for name, each in seconds.items():
        median = statistics.median(each)
        figures[f"median seconds a question, {name}"] = round(median, 3)
        if name != "plain":
            figures[f"times the plain run, {name}"] = round(median / plain, 3)
    return figures


def _plain(settings: Settings, address: str, numbers: Iterator[int]) -> list[float]:
    async def ask() -> list[float]:
        async with LiteratureAggregator(loopback_model(address), settings=settings) as aggregator:
            await aggregator.run(question_of(next(numbers)))
            return [await _timed(aggregator.run(question_of(next(numbers)))) for _ in range(10)]

    return asyncio.run(ask())


def _kept(settings: Settings, address: str, numbers: Iterator[int]) -> list[float]:
    with open_engine(settings, models={MODEL: loopback_model(address)}) as runs:

        async def ask() -> list[float]:
            async def one() -> None:
                number = next(numbers)
                await runs.run(question_of(number), run_id=f"run-{number}", model=MODEL)

            await one()
            return [await _timed(one()) for _ in range(10)]

        return asyncio.run(ask())


async def _timed(work: Any) -> float:
    began = time.perf_counter()
    await work
    return time.perf_counter() - began


def memory(questions: int, first: int) -> dict[str, Any]:
    """Resident memory of one worker after `first` questions and after all of them; each further `first` is told."""
    plan = Plan(questions=questions, parents=0, workers=1, limit_s=24 * 3600)
    read: dict[int, float] = {}
    with (
        tempfile.TemporaryDirectory(prefix="literature-agent-") as folder,
        SandboxServer(Corpus.packaged()) as sandbox,
        model_server() as model,
    ):
        settings = load_settings(
            **sandbox.settings_overrides(),
            cache_dir=Path(folder) / "cache",
            database_url=f"sqlite:///{folder}/runs.sqlite",
            pace="off",
        )
        asked = [
            BatchQuestion(key=str(number), request=question_of(number), budget=Budget()) for number in range(questions)
        ]
        with _worker_of(plan, settings, model.address) as process, open_book(settings) as book:

            def tell(progress: Progress) -> None:
                step = progress.done // first * first
                if step and step not in read:
                    read[step] = process.memory_info().rss / 2**20
                    print(f"{step} questions: {read[step]:.1f} MB resident", file=sys.stderr, flush=True)

            results = Results(Path(folder) / "results.jsonl")
            Batch(book.client, "memory", QUEUE, asked, results, MODEL, BatchLimits()).run(
                threading.Event(), every_s=0.3, tell=tell
            )
            read[questions] = process.memory_info().rss / 2**20
    return {
        f"MB resident after {first}": round(read[first], 1),
        f"MB resident after {questions}": round(read[questions], 1),
        "times as much": round(read[questions] / read[first], 3),
    }


@contextmanager
def _worker_of(plan: Plan, settings: Settings, address: str) -> Iterator[psutil.Process]:
    with crew(plan, settings, address, "forkserver", Outcome(), threading.Event(), kill=False) as crowd:
        yield psutil.Process(crowd.workers[0][0].pid)
