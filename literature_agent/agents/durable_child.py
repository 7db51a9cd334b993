"""A literature run as the tool of a durable parent: a durable run of its own.

Steps of parallel children inside one workflow are numbered as they start and would replay into each other, so each
child is a workflow, named by the parent's run and the tool call. What it may spend is fixed when it is called.
"""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pydantic_ai import RunContext, ToolFailed
from pydantic_ai.usage import RunUsage, UsageLimits

from literature_agent.agents.account import GROWTH
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
    calls: int,
) -> LiteratureAggregationOutput:
    """Answer in a child workflow; its usage is added to the parent's when it returns.

    `calls`: tool calls of the parent's turn, this one among them.

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
    share = _share(ctx, budget, calls)
    if share is None:
        raise ToolFailed("The limits of this run leave nothing for a literature search: answer without it.")
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


def _share(ctx: RunContext[Any], budget: Budget, calls: int) -> Budget | None:
    """An even share of what the parent has left, for each call of its turn; None if it leaves nothing.

    Every tool of the turn counts: another may be an aggregator too, whatever it is called there. What a response costs
    is known afterwards only: the parent keeps as much as one of its own, and a child needs room for two.
    """
    limits, used = ctx.usage_limits or UsageLimits(), ctx.usage
    a_response = GROWTH / max(1, used.requests)
    share: dict[str, Any] = {}

    def bind(name: str, left: float, least: float) -> bool:
        each = left / calls
        bounds = (each, share.get(name), getattr(budget, name))
        lowest = min(bound for bound in bounds if bound is not None)
        share[name] = lowest if name == "max_cost_usd" else int(lowest)
        return each > 0 and each >= least

    if limits.request_limit is not None:
        # The parent keeps one request to go on, and where there is room one more for its closing turn.
        kept = 2 if limits.request_limit >= 6 else 1
        if not bind("max_requests", limits.request_limit - used.requests - kept, 1):
            return None
    if limits.tool_calls_limit is not None:
        # The calls of this turn count themselves.
        bind("max_tool_calls", max(0, limits.tool_calls_limit - used.tool_calls - calls), 0)
    for limit, spent in (
        (limits.total_tokens_limit, used.total_tokens),
        (limits.input_tokens_limit, used.input_tokens),
        (limits.output_tokens_limit, used.output_tokens),
    ):
        if limit is None:
            continue
        # A budget knows the sum of both kinds: what that was for each of this kind so far.
        ratio = used.total_tokens / spent if spent else 1.0
        left = limit - spent - a_response * spent
        if not bind("max_tokens", left * ratio, 2 * a_response * used.total_tokens):
            return None
    if limits.cost_limit is not None:
        cost = float(used.cost or 0)
        left = float(limits.cost_limit) - cost - a_response * cost
        if not bind("max_cost_usd", left, 2 * a_response * cost):
            return None
    seconds = ctx.remaining_time()
    if seconds is not None:
        # Side by side they share the same time.
        seconds *= _SHARE_OF_PARENTS_TIME
        share["deadline_s"] = max(0.01, min(budget.deadline_s or seconds, seconds))
    return budget.model_copy(update=share)


def _usage_of(output: LiteratureAggregationOutput) -> RunUsage:
    used = output.usage
    return RunUsage(
        requests=used.requests,
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        tool_calls=used.tool_calls,
        cost=None if used.cost_usd is None else Decimal(str(used.cost_usd)),
    )
