"""The sub-agent inside larger agents: limits, parallel children, time, events."""

from __future__ import annotations

import asyncio
import re
from dataclasses import InitVar, dataclass
from decimal import Decimal
from typing import Any, NamedTuple

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.models import Model
from pydantic_ai.usage import RequestUsage, UsageLimits

from literature_agent import (
    ArtifactRegistry,
    Event,
    InvalidInputError,
    LiteratureAggregationOutput,
    LiteratureAggregator,
    Settings,
)
from literature_agent.agents.relay import LiteratureStepEvent
from literature_agent.sandbox import SandboxServer
from literature_agent.testing import Calls, Seen, scripted_model, submit
from tests.waiting import asked, pass_time

QUESTION = "Does metformin slow cognitive decline in older adults with diabetes?"


def child(seen: Seen) -> Calls:
    """Searches for something new each turn, until told to close."""
    if "last turn" in seen.last:
        return submit(f"Shown {seen.references[0]}.", [seen.references[0]]) if seen.references else submit("Nothing.")
    return [("search_pubmed", {"query": f"metformin OR word{seen.turn}", "max_results": 3})]


def cite_first(seen: Seen) -> Calls:
    return submit(f"A {seen.references[0]}.", seen.references[:1])


def parent_of(aggregator: LiteratureAggregator, model: Model, **options: Any) -> Agent[None, str]:
    return Agent(model, deps_type=type(None), toolsets=[aggregator.as_toolset(**options)])


def asks(times: int) -> Calls:
    return [("literature_aggregator", {"question": f"{QUESTION} ({n})"}) for n in range(times)]


@pytest.mark.parametrize("limit", [4, 10, 20])
async def test_parallel_children_never_exceed_the_parents_requests(settings: Settings, limit: int) -> None:
    """K086: four children at once under one limit; the parent still ends by itself."""
    aggregator = LiteratureAggregator(scripted_model(child), settings=settings)
    heard: list[str] = []

    def answer(seen: Seen) -> Calls:
        heard.extend(seen.texts[1:])
        return "done"

    result = await parent_of(aggregator, scripted_model(asks(4), answer)).run(
        "Ask.", usage_limits=UsageLimits(request_limit=limit)
    )
    assert result.output == "done"
    assert result.usage.requests <= limit
    assert len(heard) == 4
    assert any("Status: partial" in text for text in heard)


async def test_children_never_exceed_the_parents_tool_calls(settings: Settings) -> None:
    """K086."""
    aggregator = LiteratureAggregator(scripted_model(child), settings=settings)
    result = await parent_of(aggregator, scripted_model(asks(3), "done")).run(
        "Ask.", usage_limits=UsageLimits(tool_calls_limit=8)
    )
    assert result.output == "done"
    assert result.usage.tool_calls <= 8


@pytest.mark.parametrize("limit", [4, 7, 12])
async def test_two_aggregators_under_one_parent_share_its_requests(settings: Settings, limit: int) -> None:
    """K086: two sub-agents of different sources, one of them twice as a tool and once in a toolset, side by side."""
    papers = LiteratureAggregator(scripted_model(child), sources=["pubmed"], settings=settings)
    more = LiteratureAggregator(scripted_model(child), sources=["pubmed", "europepmc"], settings=settings)
    both: list[Any] = [papers.as_toolset(name="papers"), more.as_toolset(name="more")]
    calls: Calls = [(name, {"question": f"{QUESTION} ({n})"}) for n, name in enumerate(("papers", "more", "extra") * 2)]
    parent = Agent(scripted_model(calls, "done"), toolsets=both, tools=[papers.as_tool(name="extra")])
    result = await parent.run("Ask.", usage_limits=UsageLimits(request_limit=limit))
    assert result.output == "done"
    assert result.usage.requests <= limit


@pytest.mark.parametrize("limit", [7, 10, 14])
async def test_two_aggregators_and_a_tool_of_the_parents_share_its_tool_calls(settings: Settings, limit: int) -> None:
    """K086: a slow tool beside them is counted from the beginning of the turn."""
    first = LiteratureAggregator(scripted_model(child), settings=settings)
    second = LiteratureAggregator(scripted_model(child), settings=settings)

    async def slow() -> str:
        await asyncio.sleep(0.7)
        return "slow"

    calls: Calls = [
        ("first", {"question": QUESTION}),
        *([("slow", {})] * 3),
        ("second", {"question": f"{QUESTION} (2)"}),
    ]
    parent = Agent(
        scripted_model(calls, "done"), tools=[first.as_tool(name="first"), second.as_tool(name="second"), slow]
    )
    result = await parent.run("Ask.", usage_limits=UsageLimits(tool_calls_limit=limit))
    assert result.output == "done"
    assert result.usage.tool_calls <= limit


async def test_what_a_child_asks_of_the_clock_counts_as_its_parents_tool_calls(settings: Settings) -> None:
    clock = scripted_model([("current_time", {})] * 4, submit("Nothing was looked for."))
    aggregator = LiteratureAggregator(clock, settings=settings)
    result = await parent_of(aggregator, scripted_model(asks(1), "done")).run(
        "Ask.", usage_limits=UsageLimits(tool_calls_limit=3)
    )
    assert result.output == "done"
    assert result.usage.tool_calls == 3


async def test_children_stop_at_the_parents_tokens(settings: Settings) -> None:
    aggregator = LiteratureAggregator(scripted_model(child), settings=settings)
    result = await parent_of(aggregator, scripted_model(asks(1), "done")).run(
        "Ask.", usage_limits=UsageLimits(input_tokens_limit=200_000, request_limit=None, total_tokens_limit=40_000)
    )
    assert result.output == "done"


@pytest.mark.parametrize("children", [1, 2, 4, 8])
@pytest.mark.parametrize(
    "limits",
    [
        UsageLimits(input_tokens_limit=1000, request_limit=None),
        UsageLimits(total_tokens_limit=1000, request_limit=None),
        UsageLimits(total_tokens_limit=500, request_limit=None),
        UsageLimits(output_tokens_limit=120, request_limit=None),
        UsageLimits(cost_limit=Decimal("0.10"), request_limit=None),
    ],
    ids=["input 1000", "total 1000", "total 500", "output 120", "cost 0.10"],
)
async def test_parallel_children_leave_the_parent_its_ending(
    settings: Settings, children: int, limits: UsageLimits
) -> None:
    """Responses are alike, so the limits hold whatever the number of children."""
    usage = RequestUsage(input_tokens=100, output_tokens=10, cost=Decimal("0.01"))
    aggregator = LiteratureAggregator(scripted_model(child, usage=usage), settings=settings)
    heard: list[str] = []

    def answer(seen: Seen) -> Calls:
        heard.extend(seen.texts[1:])
        return "done"

    parent = parent_of(aggregator, scripted_model(asks(children), answer, usage=usage))
    result = await parent.run("Ask.", usage_limits=limits)
    assert result.output == "done"
    limits.check_tokens(result.usage)
    limits.check_cost(result.usage)
    assert len(heard) == children
    assert all("Status: partial" in text for text in heard)
    assert any("Shown" in text or "«" in text for text in heard)


async def test_a_childs_usage_is_added_to_the_parents(settings: Settings) -> None:
    model = scripted_model([("search_pubmed", {"query": "metformin"})], lambda seen: submit(f"A {seen.references[0]}."))
    result = await parent_of(LiteratureAggregator(model, settings=settings), scripted_model(asks(1), "done")).run(
        "Ask."
    )
    assert result.usage.requests == 2 + 2
    assert result.usage.tool_calls == 1 + 1


async def test_a_hung_child_does_not_use_up_the_parents_time(settings: Settings, sandbox: SandboxServer) -> None:
    """K087."""
    sandbox.requests.clear()
    sandbox.faults.set("eutils", "slow", seconds=60)
    heard: list[str] = []

    def answer(seen: Seen) -> Calls:
        heard.append(seen.last)
        return "done"

    parent = parent_of(LiteratureAggregator(scripted_model(child), settings=settings), scripted_model(asks(1), answer))
    task = asyncio.create_task(parent.run("Ask.", timeout=70))
    await asked(sandbox)
    pass_time(57)  # more than the child's share, and less than the whole
    assert (await task).output == "done"
    assert "deadline" in heard[0]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"date_from": "2020", "date_to": "2010"}, "2010"),
        ({"sources": ["nosuch"]}, "nosuch"),
        ({"searches": [{"source": "nosuch", "query": "x"}]}, "nosuch"),
        ({"sources": ["pubmed"], "searches": [{"source": "europepmc", "query": "x"}]}, "use one of pubmed."),
    ],
)
async def test_a_request_that_is_refused_comes_back_to_the_parent_as_a_correction(
    settings: Settings, wrong: dict[str, Any], said: str
) -> None:
    heard: list[str] = []

    def again(seen: Seen) -> Calls:
        heard.append(seen.last)
        return "done"

    bad: Calls = [("literature_aggregator", {"question": QUESTION, **wrong})]
    aggregator = LiteratureAggregator(scripted_model(child), settings=settings)
    await parent_of(aggregator, scripted_model(bad, again)).run("Ask.")
    assert said in heard[0]


async def test_the_toolset_tells_the_parent_how_to_treat_references(settings: Settings) -> None:
    heard: list[str] = []

    def look(seen: Seen) -> Calls:
        heard.append(seen.instructions)
        return "done"

    await parent_of(LiteratureAggregator(scripted_model(child), settings=settings), scripted_model(look)).run("Ask.")
    assert "Copy references exactly" in heard[0]


async def test_children_share_one_registry(settings: Settings) -> None:
    shared = ArtifactRegistry()
    aggregator = LiteratureAggregator(
        scripted_model([("search_pubmed", {"query": "metformin"})], lambda seen: submit(f"A {seen.references[0]}.")),
        settings=settings,
    )
    await parent_of(aggregator, scripted_model(asks(3), "done"), registry=shared).run("Ask.")
    assert len(shared) == 10


async def test_a_stream_gives_events_then_the_output(settings: Settings) -> None:
    model = scripted_model(
        [("search_pubmed", {"query": "metformin"})],
        lambda seen: submit(f"A {seen.references[0]}.", seen.references[:1]),
    )
    steps = [step async for step in LiteratureAggregator(model, settings=settings).stream(QUESTION)]
    assert all(isinstance(step, Event) for step in steps[:-1])
    assert isinstance(steps[-1], LiteratureAggregationOutput)
    assert [step.kind for step in steps if isinstance(step, Event)][-1] == "finished"


async def test_a_stream_raises_what_a_run_raises(settings: Settings) -> None:
    with pytest.raises(InvalidInputError):
        async for _ in LiteratureAggregator(scripted_model(child), settings=settings).stream(""):
            pass


async def test_leaving_a_stream_early_cancels_the_run(settings: Settings) -> None:
    before = asyncio.all_tasks()
    stream = LiteratureAggregator(scripted_model(child), settings=settings).stream(QUESTION)
    async for step in stream:
        if isinstance(step, Event) and step.kind == "search_finished":
            break
    await stream.aclose()  # type: ignore[attr-defined]  # an async generator
    assert asyncio.all_tasks() - before == set()


async def test_sources_of_the_request_decide_which_tools_the_model_has(settings: Settings) -> None:
    heard: list[tuple[str, ...]] = []

    def look(seen: Seen) -> Calls:
        heard.append(seen.tools)
        return submit("Nothing.")

    await LiteratureAggregator(scripted_model(look), settings=settings).run(QUESTION, sources=["pubmed"])
    assert "search_pubmed" in heard[0]
    assert "search_europepmc" not in heard[0]


def test_eight_threads_at_once(settings: Settings) -> None:
    from concurrent.futures import ThreadPoolExecutor

    model = scripted_model(
        [("search_pubmed", {"query": "metformin"})],
        lambda seen: submit(f"A {seen.references[0]}.", seen.references[:1]),
    )
    aggregator = LiteratureAggregator(model, settings=settings)
    with ThreadPoolExecutor(8) as pool:
        outputs = list(pool.map(lambda _: aggregator.run_sync(QUESTION), range(8)))
    assert {output.status for output in outputs} == {"complete"}
    assert len({output.summary for output in outputs}) == 1


async def test_the_steps_of_a_child_stand_in_the_parents_event_stream(settings: Settings) -> None:
    aggregator = LiteratureAggregator(
        scripted_model([("search_pubmed", {"query": "metformin"})], cite_first), settings=settings
    )
    steps: list[LiteratureStepEvent] = []

    async def listen(ctx: Any, events: Any) -> None:
        async for event in events:
            if isinstance(event, LiteratureStepEvent):
                steps.append(event)

    parent: Agent[None, str] = Agent(
        scripted_model(asks(1), "done"), deps_type=type(None), toolsets=[aggregator.as_toolset()]
    )
    await parent.run("Ask.", event_stream_handler=listen)
    assert [step.kind for step in steps] == ["started", "search_started", "search_finished", "finished"]
    assert {step.tool_name for step in steps} == {"literature_aggregator"}


class Plan(BaseModel):
    title: str
    steps: list[str]


class Step(NamedTuple):
    text: str


@dataclass(frozen=True)
class DataclassPlan:
    title: str
    steps: list[Step]
    suffix: InitVar[str] = ""


async def held(settings: Settings, *answers: Any, output_type: Any = str) -> Any:
    """Output of a parent with the capability that asks once and then answers in turn."""
    aggregator = LiteratureAggregator(
        scripted_model([("search_pubmed", {"query": "metformin"})], cite_first), settings=settings
    )
    parent: Agent[None, Any] = Agent(
        scripted_model(asks(1), *answers),
        deps_type=type(None),
        output_type=output_type,
        capabilities=[aggregator.as_capability()],
        retries=4,
    )
    return (await parent.run("Ask.")).output


async def test_a_parent_that_cites_what_it_was_shown_is_left_alone(settings: Settings) -> None:
    heard: list[str] = []

    def answer(seen: Seen) -> Calls:
        heard.append(f"It slows decline {seen.references[0]}.")
        return heard[0]

    assert await held(settings, answer) == heard[0]


async def test_a_parent_that_lies_is_asked_to_mend_and_then_cut(settings: Settings) -> None:
    lie = "Metformin cures dementia «artifact:link:cite~K7QX2MDA4T». See doi:10.1000/abc. Walking is free."
    corrections: list[str] = []

    def stubborn(seen: Seen) -> Calls:
        corrections.append(seen.last)
        return lie

    output = await held(settings, stubborn)
    assert "K7QX2MDA4T" not in output
    assert "10.1000" not in output
    assert "Walking is free." in output
    assert "unknown" in corrections[1]


async def test_a_parent_that_mends_its_text_is_heard(settings: Settings) -> None:
    def mended(seen: Seen) -> Calls:
        return f"It slows decline {seen.references[0]}."

    output = await held(settings, "As Smith et al. (2020) and PMID 12345 show.", mended)
    assert output.startswith("It slows decline «")


async def test_a_work_that_did_not_fit_into_the_view_was_not_shown_to_the_parent(settings: Settings) -> None:
    """The sub-agent cites two works; the view has room for the first one alone."""
    references: list[str] = []

    def cite_two(seen: Seen) -> Calls:
        references[:] = seen.references[:2]
        articles = [{"reference": reference, "reason": "It bears on it."} for reference in references]
        return [("submit_answer", {"summary": f"It slows decline {references[0]}.", "relevant_articles": articles})]

    aggregator = LiteratureAggregator(
        scripted_model([("search_pubmed", {"query": "metformin"})], cite_two), settings=settings
    )
    parent: Agent[None, str] = Agent(
        scripted_model(asks(1), lambda seen: f"Both say so {references[0]} {references[1]}."),
        deps_type=type(None),
        capabilities=[aggregator.as_capability(max_characters=500)],
        retries=4,
    )
    assert (await parent.run("Ask.")).output == f"Both say so {references[0]}."


async def test_texts_inside_structured_output_are_held_too(settings: Settings) -> None:
    wrong: Calls = [("final_result", {"title": "Plan", "steps": ["Read PMID 12345 first.", "Then walk."]})]
    output = await held(settings, wrong, output_type=Plan)
    assert isinstance(output, Plan)
    assert "12345" not in " ".join(output.steps)
    assert output.steps[1] == "Then walk."


async def test_texts_inside_dataclasses_and_named_tuples_are_held_too(settings: Settings) -> None:
    wrong: Calls = [("final_result", {"title": "PMID 12345", "steps": [["Read PMID 12345 first."], ["Then walk."]]})]
    output = await held(settings, wrong, output_type=DataclassPlan)
    assert isinstance(output, DataclassPlan)
    assert "12345" not in repr(output)
    assert output.steps[1] == Step("Then walk.")


async def test_children_without_a_tool_call_left_close_at_once(settings: Settings) -> None:
    """Where the parent's limit leaves none, further requests of the child's model could only ask in vain."""
    aggregator = LiteratureAggregator(scripted_model(child), settings=settings)
    heard: list[str] = []

    def answer(seen: Seen) -> Calls:
        heard.extend(seen.texts[1:])
        return "done"

    result = await parent_of(aggregator, scripted_model(asks(4), answer)).run(
        "Ask.", usage_limits=UsageLimits(tool_calls_limit=4)
    )
    assert result.output == "done"
    assert result.usage.requests <= 4 * 3 + 2
    assert all("The limit of tool calls set for the agent that asked was reached." in text for text in heard)


@pytest.mark.parametrize("room", [500, 1000, 3000, 6000])
async def test_the_parents_model_hears_the_limitations_however_long_the_answer(
    settings: Settings, sandbox: SandboxServer, room: int
) -> None:
    """That a source failed and a work was retracted is told before the last articles are."""
    sandbox.faults.set("europepmc", "server_error")

    def long(seen: Seen) -> Calls:
        return submit(" ".join(f"It slows decline {each}." for each in seen.references * 5), seen.references)

    search: Calls = [("search_pubmed", {"query": "metformin", "max_results": 20}), ("search_europepmc", {"query": "m"})]
    aggregator = LiteratureAggregator(scripted_model(search, long), settings=settings)
    heard: list[str] = []
    outputs: list[LiteratureAggregationOutput] = []

    def answer(seen: Seen) -> Calls:
        heard.append(seen.last)
        return "done"

    await parent_of(
        aggregator,
        scripted_model(asks(1), answer),
        max_characters=room,
        on_output=lambda ctx, output: outputs.append(output),
    ).run("Ask.")
    assert len(heard[0]) <= room
    said = [line for line in heard[0].split("\n") if line.startswith("Limitation: ")]
    assert any("europepmc failed" in line for line in said)
    if room > 500:
        assert len(said) == len(outputs[0].limitations)
        assert any("has been retracted" in line for line in said)
    left_out = re.search(r"\(\d+ more lines? did not fit; the whole answer is kept by the caller\.\)", heard[0])
    assert (left_out is None) == (room == 6000), "there the lines fit, the longest of them cut"


@pytest.mark.parametrize("options", [{"max_characters": 0}, {"max_characters": -5}, {"name": ""}, {"name": "a b"}])
def test_a_tool_that_no_parent_could_use_is_refused(settings: Settings, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(options))):
        LiteratureAggregator("extractive", settings=settings).as_tool(**options)
