"""A run that ends while a source is still asked: the search stands in the log, and what others answered is kept."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import CancellationToken
from pydantic_ai.models import Model

from evals.replay import network_refused
from literature_agent import (
    ArtifactRegistry,
    Budget,
    Event,
    LiteratureAggregationOutput,
    LiteratureAggregator,
    Settings,
)
from literature_agent.sandbox import SandboxServer
from literature_agent.testing import Calls, Seen, scripted_model
from literature_agent.transport import Player, Recorder
from tests.waiting import asked, pass_time

QUESTION = "Does metformin slow cognitive decline in older adults with diabetes?"
BOTH = ["pubmed", "europepmc"]
PUBMED, EUROPEPMC = ("search_pubmed", {"query": "metformin"}), ("search_europepmc", {"query": "metformin"})
SIDE_BY_SIDE: list[Calls] = [
    [PUBMED, EUROPEPMC],
    [EUROPEPMC, PUBMED],
    [("search_all", {"query": "metformin cognition"})],
]


@pytest.fixture(autouse=True)
def _slow(sandbox: SandboxServer) -> None:
    sandbox.requests.clear()
    sandbox.faults.set("europepmc", "slow", seconds=60)


DEADLINE_S = 30.0
ASKED = {"pubmed": "efetch", "europepmc": "search"}
"""Last request of a search at each source."""


async def cut(
    model: Model | str, settings: Settings, sources: list[str], by: str, sandbox: SandboxServer, *also: str
) -> LiteratureAggregationOutput:
    """A run that ends `by` its deadline or a token while Europe PMC, or what is asked `also`, has not answered."""
    aggregator = LiteratureAggregator(model, settings=settings, sources=sources)
    token = CancellationToken()
    budget = Budget(deadline_s=DEADLINE_S) if by == "deadline" else None
    task = asyncio.create_task(aggregator.run(QUESTION, budget=budget, cancellation_token=token))
    await asked(sandbox, *(ASKED[source] for source in sources), *also)
    if by == "deadline":
        pass_time(DEADLINE_S)
    else:
        token.cancel()
    return await asyncio.wait_for(task, 60)


def assert_is_logged_as_cut(output: LiteratureAggregationOutput) -> None:
    assert output.status == "partial"
    (line,) = [line for line in output.search_log if line.source == "europepmc"]
    assert (line.status, line.retrieved) == ("failed", 0)
    assert line.reason == "europepmc_timeout"
    (coverage,) = [each for each in output.coverage if each.source == "europepmc"]
    assert (coverage.asked, coverage.failed) == (1, 1)
    assert not any("Not asked" in sentence for sentence in output.limitations)
    (said,) = [sentence for sentence in output.limitations if sentence.startswith("europepmc failed")]
    assert "cut short" in said or "before the deadline" in said


@pytest.mark.parametrize("by", ["deadline", "token"])
@pytest.mark.parametrize("calls", SIDE_BY_SIDE, ids=["pubmed first", "europepmc first", "search_all"])
async def test_the_search_that_was_cut_is_logged_and_the_others_answer_is_kept(
    settings: Settings, sandbox: SandboxServer, calls: Calls, by: str
) -> None:
    output = await cut(scripted_model(calls), settings, BOTH, by, sandbox)
    assert_is_logged_as_cut(output)
    assert output.registry is not None
    assert len(output.registry) > 0
    assert next(line for line in output.search_log if line.source == "pubmed").retrieved > 0
    assert output.relevant_articles != ()


@pytest.mark.parametrize("by", ["deadline", "token"])
@pytest.mark.parametrize("sources", [BOTH, ["europepmc"]])
async def test_the_extractive_model_is_cut_alike(
    settings: Settings, sandbox: SandboxServer, sources: list[str], by: str
) -> None:
    output = await cut("extractive", settings, sources, by, sandbox)
    assert_is_logged_as_cut(output)
    assert "no search was made" not in output.summary


async def test_a_listener_hears_how_the_search_ended(settings: Settings, sandbox: SandboxServer) -> None:
    heard: list[Event] = []
    aggregator = LiteratureAggregator(scripted_model([EUROPEPMC]), settings=settings, sources=BOTH)
    budget = Budget(deadline_s=DEADLINE_S)
    task = asyncio.create_task(aggregator.run(QUESTION, budget=budget, on_event=heard.append))
    await asked(sandbox, "search")
    pass_time(DEADLINE_S)
    await asyncio.wait_for(task, 60)
    assert [event.kind for event in heard if event.search_id == "s1"] == ["search_started", "source_failed"]


@pytest.mark.parametrize("calls", SIDE_BY_SIDE, ids=["pubmed first", "europepmc first", "search_all"])
async def test_a_cancelled_task_leaves_the_others_answer_in_the_callers_registry(
    settings: Settings, sandbox: SandboxServer, calls: Calls
) -> None:
    registry = ArtifactRegistry()
    aggregator = LiteratureAggregator(scripted_model(calls), settings=settings, sources=BOTH)
    task = asyncio.create_task(aggregator.run(QUESTION, registry=registry))
    await asked(sandbox, "efetch", "search")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 60)
    assert len(registry) > 0


async def test_a_fetch_that_was_cut_is_a_limitation(settings: Settings, sandbox: SandboxServer) -> None:
    def fetch(seen: Seen) -> Calls:
        sandbox.faults.set("eutils", "slow", seconds=60)
        return [("fetch_pubmed", {"references": seen.references[:1]})]

    output = await cut(scripted_model([PUBMED], fetch), settings, ["pubmed"], "token", sandbox, "efetch")
    assert "pubmed failed: The fetch was cut short. The run was cancelled before it was answered." in output.limitations


@pytest.mark.parametrize("calls", SIDE_BY_SIDE, ids=["pubmed first", "europepmc first", "search_all"])
async def test_a_cut_run_replays_to_the_same_bytes(
    settings: Settings, sandbox: SandboxServer, tmp_path: Path, calls: Calls
) -> None:
    aggregator = LiteratureAggregator(settings=settings, sources=BOTH)
    token = CancellationToken()
    task = asyncio.create_task(
        aggregator.run(
            QUESTION, model=scripted_model(calls), recording=Recorder(tmp_path / "r"), cancellation_token=token
        )
    )
    await asked(sandbox, "efetch", "search")
    token.cancel()
    then = await asyncio.wait_for(task, 60)
    assert_is_logged_as_cut(then)
    with network_refused():
        now = await asyncio.wait_for(aggregator.run(QUESTION, recording=Player(tmp_path / "r")), 60)
    assert now.model_dump_json() == then.model_dump_json()


CITATION = (
    "Lindqvist ÅM et al. Metformin to slow cognitive decline. Synthetic Journal of Geriatric Medicine 2021;48:201-212"
)


@pytest.mark.parametrize(
    ("question", "limits"),
    [
        ("What does PMID 90000101 say of memory?", {}),
        (f"Is it real: {CITATION}", {}),
        (QUESTION, {"searches": [{"source": "pubmed", "query": word} for word in ("metformin", "insulin")]}),
    ],
    ids=["identifier", "citation", "given searches"],
)
async def test_a_run_is_cut_before_its_model_is_asked_too(
    settings: Settings, sandbox: SandboxServer, question: str, limits: dict[str, Any]
) -> None:
    sandbox.faults.set("all", "slow", seconds=60)
    token = CancellationToken()
    aggregator = LiteratureAggregator(scripted_model([PUBMED]), settings=settings)
    task = asyncio.create_task(aggregator.run(question, cancellation_token=token, **limits))
    await asked(sandbox)
    token.cancel()
    output = await asyncio.wait_for(task, 60)
    assert output.status == "partial"
    assert "No evidence" not in output.summary
    assert output.limitations[0] == "The run was cancelled before the model had finished."
    assert len(output.search_log) == bool(limits)


async def test_a_cancelled_task_stops_before_its_model_is_asked_too(settings: Settings, sandbox: SandboxServer) -> None:
    sandbox.faults.set("all", "slow", seconds=60)
    aggregator = LiteratureAggregator(scripted_model([PUBMED]), settings=settings)
    run = aggregator.run("What does PMID 90000101 say?", cancellation_token=CancellationToken())
    task = asyncio.create_task(run)
    await asked(sandbox)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 60)
    assert len(asyncio.all_tasks()) == 1


async def test_works_that_no_search_found_are_not_called_off_the_subject(
    settings: Settings, sandbox: SandboxServer
) -> None:
    """The question named the paper, the run ended before a search: that says nothing of what is known."""
    sandbox.faults.clear()
    token = CancellationToken()

    def stop(seen: Seen) -> Calls:
        token.cancel()
        return [PUBMED]

    aggregator = LiteratureAggregator(scripted_model(stop), settings=settings)
    output = await aggregator.run("What does PMID 90000101 say?", cancellation_token=token)
    assert output.status == "partial"
    assert output.search_log == ()
    assert "No evidence" not in output.summary
    assert [getattr(article, "pmid", None) for article in output.relevant_articles] == ["90000101"]
