"""A literature run as the tool of a durable parent: a durable run of its own.

Steps of parallel children inside one workflow are numbered as they start and would replay into each other, so each
child is a workflow, named by the parent's run and the tool call. What it may spend is fixed when it is called.
"""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pydantic_ai import RunContext, ToolFailed
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.usage import RunUsage, UsageLimits

from literature_agent.errors import ConfigurationError
from literature_agent.outputs import AggregationRequest, Budget, LiteratureAggregationOutput
from literature_agent.registry import ArtifactRegistry

if TYPE_CHECKING:
    from literature_agent.agents.aggregator import LiteratureAggregator

_SHARE_OF_PARENTS_TIME = 0.8


def is_durable(ctx: RunContext[Any]) -> bool:
    """Whether the run behind `ctx` is a durable one, so that what its tools do must be recorded."""
    if ctx.agent is None:
        return False
    # Slow to load, and of use only to a parent.
    from pydantic_ai.durable_exec import BaseDurabilityCapability

    found: BaseDurabilityCapability[Any] | None = BaseDurabilityCapability.from_agent(ctx.agent)
    return found is not None and found.in_durable_context


async def answer_durable_parent(
    aggregator: LiteratureAggregator,
    ctx: RunContext[Any],
    request: AggregationRequest,
    registry: ArtifactRegistry | None,
    budget: Budget,
) -> LiteratureAggregationOutput:
    """Answer in a child workflow; its usage is added to the parent's when it returns.

    Raises:
        ConfigurationError: the aggregator was built without an engine or without a model of its own.
    """
    if aggregator.durability is None:
        raise ConfigurationError(
            "The agent that asks is durable, and this LiteratureAggregator is not: its work would be lost in a crash.",
            recovery="Build it with LiteratureAggregator(model, durability=DurableRuns(...)).",
        )
    if aggregator.model is None:
        raise ConfigurationError(
            "Inside a durable agent the LiteratureAggregator can't use the model of the agent that asks.",
            recovery="Give it a model when it is built: LiteratureAggregator(model, durability=...).",
        )
    share = _share(ctx, budget)
    if share is None:
        raise ToolFailed("The limit of model requests leaves none for a literature search: answer without it.")
    call_id = ctx.tool_call_id or f"{ctx.tool_name}-{ctx.run_step}"
    before, mine = aggregator.last_children.get(ctx.run_id), asyncio.Event()
    aggregator.last_children[ctx.run_id] = mine
    try:
        output = await aggregator.durability.child(aggregator, call_id, request, share)
        if before is not None:
            # In the order of the calls, so that order of arrival never shows in the registry.
            await before.wait()
        ctx.usage.incr(_usage_of(output))
        if registry is not None and output.registry is not None:
            registry.merge(output.registry)
            output.attach(registry)
        return output
    finally:
        mine.set()
        if aggregator.last_children.get(ctx.run_id) is mine:
            del aggregator.last_children[ctx.run_id]


def _share(ctx: RunContext[Any], budget: Budget) -> Budget | None:
    """An even share of what the parent has left, for each call of this tool in this turn; None if it leaves nothing."""
    limits, used = ctx.usage_limits or UsageLimits(), ctx.usage
    calls = _calls_in_this_turn(ctx)
    share: dict[str, Any] = {}

    def bind(name: str, left: float | None, least: float) -> bool:
        if left is None:
            return True
        each = left / calls
        own = getattr(budget, name)
        each = each if own is None else min(own, each)
        share[name] = int(each) if isinstance(least, int) else float(each)
        return each >= least

    if limits.request_limit is not None:
        # The parent keeps one request to go on, and where there is room one more for its closing turn.
        kept = 2 if limits.request_limit >= 6 else 1
        if not bind("max_requests", limits.request_limit - used.requests - kept, 1):
            return None
    if limits.tool_calls_limit is not None:
        # The calls of this turn count themselves.
        share["max_tool_calls"] = max(0, int((limits.tool_calls_limit - used.tool_calls - calls) / calls))
        if budget.max_tool_calls is not None:
            share["max_tool_calls"] = min(share["max_tool_calls"], budget.max_tool_calls)
    if limits.total_tokens_limit is not None and not bind(
        "max_tokens", limits.total_tokens_limit - used.total_tokens, 1
    ):
        return None
    if limits.cost_limit is not None and not bind(
        "max_cost_usd", float(limits.cost_limit - (used.cost or Decimal(0))), 0.0
    ):
        return None
    seconds = ctx.remaining_time()
    if seconds is not None:
        # Side by side they share the same time.
        seconds *= _SHARE_OF_PARENTS_TIME
        share["deadline_s"] = max(0.01, min(budget.deadline_s or seconds, seconds))
    return budget.model_copy(update=share)


def _calls_in_this_turn(ctx: RunContext[Any]) -> int:
    for message in reversed(ctx.messages):
        if isinstance(message, ModelResponse):
            return max(1, sum(isinstance(p, ToolCallPart) and p.tool_name == ctx.tool_name for p in message.parts))
    return 1


def _usage_of(output: LiteratureAggregationOutput) -> RunUsage:
    used = output.usage
    return RunUsage(
        requests=used.requests,
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        tool_calls=used.tool_calls,
        cost=None if used.cost_usd is None else Decimal(str(used.cost_usd)),
    )
