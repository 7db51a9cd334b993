"""The agent behind every run: its instructions, its tools, and the checks of what it submits. It holds no run."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic_ai import Agent, ModelRetry, RunContext, ToolOutput
from pydantic_ai.models import Model

from literature_agent.agents.conduct import OUTPUT_TOOL, Conduct
from literature_agent.agents.durability import Durability
from literature_agent.agents.run import Run
from literature_agent.agents.toolset import TOOL_RETRIES, build_toolset
from literature_agent.custody import Event
from literature_agent.errors import counted
from literature_agent.integrity import repair_message, review
from literature_agent.outputs import AggregationDraft
from literature_agent.prompts import load_prompt
from literature_agent.settings import Settings
from literature_agent.sources import Source

# Beyond the repair rounds of the checks, arguments that can't be parsed get this many more attempts.
_PARSE_ATTEMPTS = 2


def build_agent(
    sources: Sequence[Source],
    settings: Settings,
    *,
    model: Model | None = None,
    durability: Durability | None = None,
) -> Agent[Run, AggregationDraft]:
    """The agent whose tools are those of `sources`. One that is durable has its `model` from the start."""
    agent = Agent(
        model,
        name="literature_aggregator",
        deps_type=Run,
        output_type=ToolOutput(
            AggregationDraft,
            name=OUTPUT_TOOL,
            description="Submit the whole answer, once, when the research is done",
            max_retries=settings.repair_rounds + _PARSE_ATTEMPTS,
        ),
        instructions=instructions(sources),
        toolsets=[build_toolset(sources)],
        retries={"tools": TOOL_RETRIES},
        capabilities=[Conduct()] if durability is None else [Conduct(), *durability.capabilities()],
    )
    agent.output_validator(_check_draft)
    return agent


def instructions(sources: Sequence[Source]) -> str:
    """The fixed instructions: the aggregator's prompt and one guide per source. Constant within a run."""
    guides = dict.fromkeys(source.guide for source in sources)
    return "\n\n".join([load_prompt("literature_aggregator"), *(load_prompt(f"sources/{guide}") for guide in guides)])


async def _check_draft(ctx: RunContext[Run], draft: AggregationDraft) -> AggregationDraft:
    """Send back for repair what the checks refuse, at most `repair_rounds` times; after that, code cuts."""
    run = ctx.deps
    run.last_draft = draft
    if run.repair_rounds >= run.settings.repair_rounds:
        return draft
    problems = review(draft, run.desk())
    points = [repair_message(problems)] if problems else []
    if run.ending is None and not run.ledger.search_log():
        tool = run.custody.sources[0].search_tool
        points.insert(0, f"- No search was made yet: search first with `{tool}`, then answer.")
    if points:
        run.repair_rounds += 1
        run.tell(Event(kind="repair_asked", text=f"{counted(len(problems), 'point')} to mend", run_id=run.run_id))
        raise ModelRetry("\n".join([load_prompt("repair"), *points]))
    return draft
