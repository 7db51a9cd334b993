"""The workers of the trials: literature runs, and durable agents that ask four of them at once."""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.synchronize import Event
from typing import Any

from dbos import DBOS
from pydantic_ai import Agent
from pydantic_ai.durable_exec.dbos import DBOSDurability
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from literature_agent import LiteratureAggregator
from literature_agent.durable import DurableRuns
from literature_agent.durable.worker import working
from literature_agent.settings import Settings, load_settings

MODEL = "loopback"
PARENT_WORKFLOW = "trial_parent"
QUEUE = "trial"


def loopback_model(address: str) -> OpenAIChatModel:
    """The model behind a `ModelServer`."""
    return OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=address, api_key="none"))


def register_parents(runs: DurableRuns, address: str) -> Any:
    """The workflow of a durable agent whose tool is the literature aggregator."""
    model = loopback_model(address)
    aggregator = LiteratureAggregator(model, settings=runs.settings, sources=["pubmed", "europepmc"], durability=runs)
    agent = Agent(model, name="trial_parent", tools=[aggregator.as_tool()], capabilities=[DBOSDurability()])

    @DBOS.workflow(name=PARENT_WORKFLOW)
    async def trial_parent(question: str) -> dict[str, Any]:
        result = await agent.run(question)
        return {"said": result.output, "requests": result.usage.requests}

    return trial_parent


@contextmanager
def trial_worker(
    settings: Settings, address: str, *, concurrency: int, beat_s: float, lease_s: float
) -> Iterator[DurableRuns]:
    """A worker of the trial."""
    with working(
        settings,
        QUEUE,
        concurrency=concurrency,
        models={MODEL: loopback_model(address)},
        register=lambda runs: register_parents(runs, address),
        poll_s=0.3,
        beat_s=beat_s,
        lease_s=lease_s,
    ) as runs:
        yield runs


def serve(
    settings: dict[str, Any], address: str, concurrency: int, beat_s: float, lease_s: float, ready: Event
) -> None:
    """What a worker process does: work until SIGTERM or until the trial is gone, and say when it is ready."""
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    trial = multiprocessing.parent_process()
    with trial_worker(load_settings(**settings), address, concurrency=concurrency, beat_s=beat_s, lease_s=lease_s):
        ready.set()
        while not stop.wait(1.0):
            if trial is not None and not trial.is_alive():
                return
