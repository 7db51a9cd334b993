"""Runs that go wrong in their own way, through the real loop: every one ends typed, and nothing keeps working."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from pydantic_ai import CancellationToken
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

from literature_agent import (
    ArtifactRegistry,
    Budget,
    Event,
    LiteratureAggregationOutput,
    LiteratureAggregator,
    Settings,
)
from literature_agent.agents.sync import run_in_own_loop
from literature_agent.sandbox import SandboxServer
from literature_agent.testing import Calls, Seen, scripted_model, submit

QUESTION = "Does metformin slow cognitive decline in older adults with diabetes?"
WORDS = ("metformin", "dementia", "cognition", "diabetes", "insulin", "older adults", "memory", "glucose")


def search(query: str) -> Calls:
    return [("search_pubmed", {"query": query, "max_results": 5})]


def cite_first(seen: Seen) -> Calls:
    return submit(f"Metformin slowed decline {seen.references[0]}.", [seen.references[0]])


async def run(model: Model, settings: Settings, **options: Any) -> LiteratureAggregationOutput:
    return await LiteratureAggregator(model, settings=settings).run(QUESTION, **options)


class SlowFetch:
    """A script whose second turn fetches three times at once while the source is slow."""

    def __init__(self, sandbox: SandboxServer) -> None:
        self.begun = asyncio.Event()
        self.sandbox = sandbox

    def model(self) -> Model:
        def fetch(seen: Seen) -> Calls:
            self.sandbox.faults.set("eutils", "slow", seconds=20)
            self.begun.set()
            return [("fetch_pubmed", {"references": [reference]}) for reference in seen.references[:3]]

        return scripted_model(search("metformin"), fetch, cite_first)

    async def is_under_way(self) -> None:
        await asyncio.wait_for(self.begun.wait(), 20)
        for _ in range(200):
            await asyncio.sleep(0)


async def test_a_token_cancels_in_mid_fetch_and_what_was_found_comes_back(
    settings: Settings, sandbox: SandboxServer
) -> None:
    """K091: the fetches under way are stopped, none is left behind."""
    before = asyncio.all_tasks()
    slow, token = SlowFetch(sandbox), CancellationToken()
    task = asyncio.create_task(run(slow.model(), settings, cancellation_token=token))
    await slow.is_under_way()
    token.cancel()
    output = await asyncio.wait_for(task, 15)
    assert output.status == "partial"
    assert output.relevant_articles != ()
    assert any("cancelled" in sentence for sentence in output.limitations)
    assert asyncio.all_tasks() - before == set()


async def test_cancelling_the_task_in_mid_fetch_stops_every_tool(settings: Settings, sandbox: SandboxServer) -> None:
    """K091: raises, leaves no task, and what was found stays in the caller's registry."""
    before = asyncio.all_tasks()
    slow, registry = SlowFetch(sandbox), ArtifactRegistry()
    task = asyncio.create_task(run(slow.model(), settings, registry=registry))
    await slow.is_under_way()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 15)
    assert len(registry) == 5
    assert asyncio.all_tasks() - before == set()


async def test_forty_tool_calls_are_logged_in_order_and_the_answer_stands(settings: Settings) -> None:
    def ten(seen: Seen) -> Calls:
        return [
            ("search_pubmed", {"query": f"{WORDS[n % len(WORDS)]} OR word{seen.turn}x{n}", "max_results": 3})
            for n in range(10)
        ]

    output = await run(scripted_model(ten, ten, ten, ten, cite_first), settings)
    assert output.status == "complete"
    assert output.usage.tool_calls == 40
    assert [line.search_id for line in output.search_log] == [f"s{n}" for n in range(1, 41)]
    assert output.flow is not None
    assert output.flow.identified - output.flow.duplicates + output.flow.otherwise == output.flow.unique


async def test_a_model_that_answers_at_once_and_will_not_search_gets_no_claim_through(settings: Settings) -> None:
    """K097: sent back with the tool to begin with; after that, code says that nothing was asked."""
    told: list[str] = []

    def at_once(seen: Seen) -> Calls:
        told.append(seen.last)
        return submit("Metformin works.")

    output = await run(scripted_model(at_once), settings)
    assert "search first with `search_pubmed`" in told[1]
    assert len(told) <= 1 + settings.repair_rounds
    assert output.status == "failed"
    assert "works" not in output.summary
    assert "no search was made" in output.summary


def priced(model: Model, dollars: str) -> Model:
    """`model` at that price a request."""
    assert isinstance(model, FunctionModel)
    inner = model.function
    assert inner is not None

    async def play(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        reply = inner(messages, info)
        assert isinstance(reply, ModelResponse)
        return replace(reply, usage=RequestUsage(input_tokens=10, output_tokens=1, cost=Decimal(dollars)))

    return FunctionModel(play, model_name="priced")


async def test_a_budget_of_money_ends_in_a_closing_turn_inside_it(settings: Settings) -> None:
    def obedient(seen: Seen) -> Calls:
        return cite_first(seen) if "last turn" in seen.last else search(WORDS[seen.turn % len(WORDS)])

    output = await run(priced(scripted_model(obedient), "0.01"), settings, budget=Budget(max_cost_usd=0.08))
    assert output.status == "partial"
    assert output.summary.startswith("Metformin slowed decline")
    assert output.usage.cost_usd is not None
    assert 0 < output.usage.cost_usd <= 0.08
    assert any("0.08 US dollars" in sentence for sentence in output.limitations)


async def test_a_preprint_beside_its_paper_is_one_study_and_the_paper_comes_first(settings: Settings) -> None:
    query = {"query": "tryptophan", "max_results": 25}

    def cite_preprint(seen: Seen) -> Calls:
        preprint = next(line.split(" |")[0] for line in seen.texts[2].split("\n") if "[PREPRINT" in line)
        return submit(f"A preprint links metabolites to symptoms {preprint}.", [preprint])

    both: Calls = [("search_pubmed", query), ("search_europepmc", query)]
    output = await run(scripted_model(both, cite_preprint), settings)
    assert output.registry is not None
    paper, preprint = output.relevant_articles
    assert (paper.is_preprint, preprint.is_preprint) == (False, True)
    assert paper.reference is not None
    assert preprint.reference is not None
    assert output.registry.family_key(paper.reference) == output.registry.family_key(preprint.reference)
    assert any("preprint" in sentence for sentence in output.limitations)


async def test_a_work_that_only_the_text_cites_is_not_called_uncited(settings: Settings) -> None:
    def cite_two(seen: Seen) -> Calls:
        first, second = seen.references[:2]
        return submit(f"It helps {first}. It harms {second}.", [first])

    output = await run(scripted_model(search("metformin"), cite_two), settings, max_articles=1)
    (listed,) = output.relevant_articles
    cited = [work for work in output.excluded if work.reference in output.summary]
    assert [work.reference for work in cited] != [listed.reference]
    assert [work.reason for work in cited] == ["screened by title and snippet; cited in the text, not listed"]
    assert "screened by title and snippet; not cited" in {work.reason for work in output.excluded}


def interrupt_once() -> Callable[[Event], None]:
    """A listener that sends Ctrl-C to this process when the first search has ended."""
    sent: list[None] = []

    def listen(event: Event) -> None:
        if event.kind == "search_finished" and not sent:
            sent.append(None)
            signal.raise_signal(signal.SIGINT)

    return listen


@pytest.fixture
def usual_interrupt() -> Iterator[None]:
    """Ctrl-C as a plain program has it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("usual_interrupt")
def test_ctrl_c_ends_a_synchronous_run_in_a_partial_answer(settings: Settings) -> None:
    output = LiteratureAggregator(scripted_model(search("metformin"), search("dementia")), settings=settings).run_sync(
        QUESTION, on_event=interrupt_once()
    )
    assert output.status == "partial"
    assert output.relevant_articles != ()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


async def test_an_interrupt_in_a_notebook_ends_the_run_too(settings: Settings, usual_interrupt: None) -> None:
    # The test's own loop has taken the signal for itself; a notebook leaves it to the cell.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        output = LiteratureAggregator(
            scripted_model(search("metformin"), search("dementia")), settings=settings
        ).run_sync(QUESTION, on_event=interrupt_once())
    finally:
        signal.signal(signal.SIGINT, before)
    assert output.status == "partial"
    assert output.relevant_articles != ()
    assert not [thread for thread in threading.enumerate() if thread.name == "literature-agent-sync"]


async def test_an_interrupt_of_anything_else_leaves_nothing_at_work() -> None:
    """Whenever it comes: in some of the rounds the thread that works has just been started."""
    main = threading.get_ident()

    def interrupt(begun: threading.Event) -> None:
        begun.wait(20)
        # Only the thread that gets the signal is woken by it.
        signal.pthread_kill(main, signal.SIGINT)

    async def work(begun: threading.Event, ended: list[str]) -> None:
        try:
            begun.set()
            await asyncio.sleep(60)
        finally:
            ended.append("stopped")

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        for _ in range(40):
            begun, ended = threading.Event(), list[str]()
            thread = threading.Thread(target=interrupt, args=[begun])
            thread.start()
            with pytest.raises(KeyboardInterrupt):
                run_in_own_loop(partial(work, begun, ended))
            thread.join()
            assert ended == ["stopped"]
    finally:
        signal.signal(signal.SIGINT, before)
