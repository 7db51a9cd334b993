"""A durable run that is left in the middle goes on where it was."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from literature_agent.durable import open_engine
from literature_agent.durable.single import resume
from literature_agent.errors import LiteratureError
from literature_agent.outputs import AggregationRequest, LiteratureAggregationOutput
from literature_agent.sandbox import SandboxServer
from literature_agent.settings import Settings
from tests.durable.conftest import QUESTION, Counting, short_reply

REQUEST = AggregationRequest(question=QUESTION, sources=("pubmed", "europepmc"))


def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Two searches side by side, a fetch, the answer."""
    if len(messages) == 1:
        calls = [
            ToolCallPart(f"search_{name}", {"query": "metformin", "max_results": 3}, name)
            for name in ("pubmed", "europepmc")
        ]
        return ModelResponse(parts=calls)
    if len(messages) == 3:
        shown = re.findall("«artifact:link:cite~[0-9A-Z]{10}»", str(messages[2]))
        return ModelResponse(parts=[ToolCallPart("fetch_pubmed", {"references": shown[:2]}, "fetched")])
    return short_reply(messages[1:], info)


def told(output: LiteratureAggregationOutput) -> dict[str, Any]:
    """The answer without what no two runs share: its id and its times."""
    document = output.model_dump(mode="json", exclude={"run_id", "started_at", "duration_s"})
    for record in document["search_log"]:
        del record["started_at"]
    for article in document["relevant_articles"]:
        del article["correction_checked_at"]
        for origin in article["provenance"]:
            del origin["retrieved_at"]
    return document


async def leave_in_the_middle(settings: Settings, model: Counting, run_id: str) -> None:
    with open_engine(settings, models={"counting": model}) as runs:
        task = asyncio.create_task(runs.run(REQUEST, run_id=run_id, model="counting"))
        await asyncio.wait_for(model.stopped.wait(), 30)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
async def test_a_run_left_in_the_middle_goes_on_without_asking_the_model_twice(
    database: str, at: Callable[[str | None], Settings], request: pytest.FixtureRequest, sandbox: SandboxServer
) -> None:
    settings = at(request.getfixturevalue("postgres_url") if database == "postgresql" else None)
    whole, before, after = (Counting(FunctionModel(reply), stop) for stop in (None, 3, None))
    with open_engine(settings, models={"counting": whole}) as runs:
        undisturbed = await runs.run(REQUEST, run_id="whole", model="counting")

    await leave_in_the_middle(settings, before, "broken")
    sandbox.requests.clear()
    left = datetime.now(UTC)
    resumed = await asyncio.to_thread(resume, "broken", settings=settings, models={"counting": after})

    # Two answers were recorded; the third request was on its way and is the only one sent again.
    assert (whole.requests, before.requests, after.requests) == (3, 3, 1)
    # Nor is a source asked again for what it gave.
    assert [asked.path for asked in sandbox.requests] == []
    assert max(search.started_at for search in resumed.search_log) < left
    assert told(resumed) == told(undisturbed)
    assert resumed.run_id == "broken"
    assert resumed.registry is not None
    assert undisturbed.registry is not None
    assert list(resumed.registry) == list(undisturbed.registry)


async def test_an_ended_run_is_read_back_with_its_registry(at: Callable[[str | None], Settings]) -> None:
    settings = at(None)
    with open_engine(settings, models={"short": FunctionModel(short_reply)}) as runs:
        first = await runs.run(REQUEST, run_id="ended", model="short")
    again = await asyncio.to_thread(resume, "ended", settings=settings)
    assert again == first
    assert again.registry is not None
    assert first.registry is not None
    assert list(again.registry) == list(first.registry)


_AGAIN = "UPDATE workflow_status SET status = 'PENDING', executor_id = 'gone'"


@pytest.mark.parametrize(
    ("table", "column", "written", "interrupted"),
    [
        ("workflow_input", "inputs", '"schema_version":1', True),
        ("operation_outputs", "output", '"schema":1,"started"', True),
        ("workflow_output", "output", '"schema":1,"answer"', False),
    ],
    ids=["question", "step", "answer"],
)
def test_what_is_written_in_another_schema_is_refused_whoever_reads_the_records(
    at: Callable[[str | None], Settings], tmp_path: Path, table: str, column: str, written: str, interrupted: bool
) -> None:
    """A DBOS of one's own brings its own serializer, which knows no schema."""
    settings, models = at(None), {"short": FunctionModel(short_reply)}
    with open_engine(settings, models=models) as runs:
        asyncio.run(runs.run(REQUEST, run_id="older", model="short"))
    with sqlite3.connect(tmp_path / "runs.sqlite") as database:
        if interrupted:
            database.execute(_AGAIN)
        other = written.replace("1", "9")
        assert database.execute(f"UPDATE {table} SET {column} = replace({column}, ?, ?)", (written, other)).rowcount
    database.close()
    with pytest.raises(LiteratureError, match="A record of schema 9 can't be read"):
        resume("older", settings=settings, models=models)
