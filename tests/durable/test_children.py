"""Literature runs asked side by side by a durable agent: each a run of its own, taken up by another worker."""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from dbos import DBOS, SetEnqueueOptions, SetWorkflowID
from pydantic_ai import Agent
from pydantic_ai.durable_exec.dbos import DBOSDurability
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage, RunUsage, UsageLimits

from literature_agent import LiteratureAggregator
from literature_agent.durable import DurableRuns, open_engine
from literature_agent.durable.book import open_book
from literature_agent.durable.worker import working
from literature_agent.errors import ConfigurationError
from literature_agent.settings import Settings
from literature_agent.testing import Calls, Seen, scripted_model
from tests.durable.conftest import QUESTION, short_reply

TOPICS = ("dementia", "falls", "vision")
WAIT_S = 60


def parent_reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    returns = [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
    if not returns:
        return ModelResponse(
            parts=[ToolCallPart("literature_aggregator", {"question": f"Metformin in {t}?"}, t) for t in TOPICS]
        )
    return ModelResponse(parts=[TextPart(json.dumps({part.tool_call_id: str(part.content) for part in returns}))])


class Child:
    """A child's model, which says what it was asked about; it never answers the second request about `stuck`."""

    def __init__(self, stuck: str | None = None) -> None:
        self.asked: Counter[str] = Counter()
        self.stuck = stuck
        self.stopped = threading.Event()

    async def reply(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        found = re.search(rf"Metformin in ({'|'.join(TOPICS)})", str(messages[0]))
        assert found is not None
        self.asked[found[1]] += 1
        if found[1] == self.stuck and len(messages) > 1:
            self.stopped.set()
            await asyncio.Event().wait()
        response = short_reply(messages, info)
        for part in response.parts:
            if isinstance(part, ToolCallPart):
                arguments = part.args_as_dict()
                if "summary" in arguments:
                    part.args = {**arguments, "summary": f"On {found[1]}: {arguments['summary']}"}
        return response


def parents(model: Model, *, durable: bool = True, own_model: bool = True) -> Callable[[DurableRuns], Any]:
    def register(runs: DurableRuns) -> Any:
        aggregator = LiteratureAggregator(
            model if own_model else None,
            settings=runs.settings,
            sources=["pubmed"],
            durability=runs if durable else None,
        )
        agent = Agent(
            FunctionModel(parent_reply), name="parent", tools=[aggregator.as_tool()], capabilities=[DBOSDurability()]
        )

        @DBOS.workflow(name="parent")
        async def parent(question: str) -> dict[str, Any]:
            result = await agent.run(question, usage_limits=UsageLimits(request_limit=20))
            return {"said": result.output, "requests": result.usage.requests}

        return parent

    return register


def test_children_side_by_side_are_taken_up_by_another_worker_and_answer_their_own_question(
    at: Callable[[str | None], Settings],
) -> None:
    settings = at(None)
    first, second = Child(stuck="falls"), Child()
    started: list[Any] = []

    def working_with(child: Child) -> Any:
        return working(
            settings,
            "q",
            concurrency=2,
            register=lambda runs: started.append(parents(FunctionModel(child.reply))(runs)),
            poll_s=0.05,
            grace_s=0.1,
            beat_s=0.1,
        )

    with working_with(first):
        with SetWorkflowID("p"), SetEnqueueOptions(priority=1):
            DBOS.enqueue_workflow("q", started[0], "Ask about metformin.")
        assert first.stopped.wait(WAIT_S)
    with working_with(second):
        until = time.monotonic() + WAIT_S
        while (status := DBOS.get_workflow_status("p")) is None or status.status in ("PENDING", "ENQUEUED"):
            assert time.monotonic() < until
            threading.Event().wait(0.05)
        outcome: dict[str, Any] = DBOS.retrieve_workflow("p").get_result()
    said = json.loads(outcome["said"])
    assert list(said) == list(TOPICS)
    for topic, answer in said.items():
        assert f"On {topic}:" in answer
    # What the children spent is the parent's: two requests each, and its own two.
    assert outcome["requests"] == 2 * len(TOPICS) + 2
    # Only the request that was on its way was sent again.
    together = first.asked + second.asked
    assert together == Counter({"dementia": 2, "falls": 3, "vision": 2})
    with open_book(settings) as book:
        children = [book.line(f"p-{topic}") for topic in TOPICS]
        assert [child.state for child in children] == ["done"] * len(TOPICS)
        assert book.prune(timedelta(0)) == 1
        assert book.lines(run_ids=[child.run_id for child in children]) == []


@pytest.mark.parametrize(
    ("durable", "own_model", "said"),
    [(False, True, "this LiteratureAggregator is not"), (True, False, "can't use the model of the agent that asks")],
)
async def test_a_durable_agent_refuses_a_tool_that_would_lose_its_work(
    durable: bool, own_model: bool, said: str, at: Callable[[str | None], Settings]
) -> None:
    started: list[Any] = []
    register = parents(FunctionModel(short_reply), durable=durable, own_model=own_model)
    with (
        open_engine(at(None), register=lambda runs: started.append(register(runs))),
        pytest.raises(ConfigurationError, match=said),
    ):
        await started[0]("Ask about metformin.")


@pytest.mark.parametrize(
    "limits",
    [
        UsageLimits(request_limit=14),
        UsageLimits(tool_calls_limit=14),
        UsageLimits(request_limit=None, total_tokens_limit=3000),
        UsageLimits(request_limit=None, input_tokens_limit=2600),
        UsageLimits(request_limit=None, output_tokens_limit=260),
        UsageLimits(request_limit=None, cost_limit=Decimal("0.30")),
    ],
    ids=["requests", "tool calls", "tokens", "input tokens", "output tokens", "cost"],
)
async def test_children_of_two_aggregators_side_by_side_stay_in_their_parents_limits(
    limits: UsageLimits, at: Callable[[str | None], Settings]
) -> None:
    """K086: each kind of limit, also where a toolset has given the tools other names."""
    usage = RequestUsage(input_tokens=100, output_tokens=10, cost=Decimal("0.01"))
    heard: list[str] = []
    spent: list[RunUsage] = []

    def searches(seen: Seen) -> Calls:
        return [("search_pubmed", {"query": f"metformin {len(seen.texts)}"})]

    def answer(seen: Seen) -> Calls:
        heard.extend(seen.texts[1:])
        return "done"

    calls: Calls = [(name, {"question": f"{QUESTION} ({name})"}) for name in ("a_papers", "b_more", "more")]

    def register(runs: DurableRuns) -> Any:
        def aggregator(name: str) -> LiteratureAggregator:
            model = scripted_model(searches, name=name, usage=usage)
            return LiteratureAggregator(model, settings=runs.settings, sources=["pubmed"], durability=runs)

        papers, more = aggregator("one"), aggregator("two")
        agent = Agent(
            scripted_model(calls, answer, usage=usage),
            name="parent",
            tools=[more.as_tool(name="more")],
            toolsets=[papers.as_toolset(name="papers").prefixed("a"), more.as_toolset(name="more").prefixed("b")],
            capabilities=[DBOSDurability()],
        )

        @DBOS.workflow(name="parent")
        async def parent() -> str:
            result = await agent.run("Ask.", usage_limits=limits)
            spent.append(result.usage)
            return result.output

        return parent

    started: list[Any] = []
    with open_engine(at(None), register=lambda runs: started.append(register(runs))):
        assert await started[0]() == "done"
    (used,) = spent
    limits.check_tokens(used)
    limits.check_cost(used)
    assert used.requests <= (limits.request_limit or used.requests)
    assert used.tool_calls <= (limits.tool_calls_limit or used.tool_calls)
    assert len(heard) == len(calls)
    assert all("Status: partial" in text and "«" in text for text in heard)
