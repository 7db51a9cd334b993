"""How a run is kept inside its budget: a status line after each turn's results, and one closing turn at the end.

The status line is written once to the last tool result of a turn and then stays, so that provider caches hold. In the
closing turn all tool definitions stand as before; the output tool is forced.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import ValidationError
from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability, WrapModelRequestHandler
from pydantic_ai.exceptions import ModelRetry, ToolFailed, UsageLimitExceeded
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RunUsage

from literature_agent.agents.replies import cleaned, is_cut
from literature_agent.agents.run import Ending, Run
from literature_agent.agents.schemas import input_schema
from literature_agent.custody import Event
from literature_agent.errors import counted
from literature_agent.outputs import Budget
from literature_agent.prompts import load_prompt
from literature_agent.transport.spans import tracer
from literature_agent.views import shrunk

OUTPUT_TOOL = "submit_answer"

# Share of the wall time that is kept for closing.
_RESERVE = 0.15
_CLOSING_TURNS = 2
CONTEXT_CHARACTERS = 160_000
"""Characters of tool results in one history, about 40,000 tokens; beyond it old results are reduced."""
_REPEATS = 3
_FRUITLESS = 10
"""Searches in a row without a hit, or five for each source asked where they are more than two."""
_REFUSED = 10
"""Calls in a row that could not be carried out as they were written."""


@dataclass
class Conduct(AbstractCapability[Run]):
    """Adds the status line, turns the end of a budget into a closing turn, cleans replies, keeps schemas flat."""

    _flat: dict[str, dict[str, Any]] = field(default_factory=dict, init=False, repr=False)
    """Flat schemas of output tools by name: they are the same in every run of the agent."""

    async def prepare_output_tools(self, ctx: RunContext[Run], tool_defs: list[ToolDefinition]) -> list[ToolDefinition]:
        for definition in tool_defs:
            if definition.name not in self._flat:
                self._flat[definition.name] = input_schema(definition.parameters_json_schema)
        return [replace(each, parameters_json_schema=self._flat[each.name]) for each in tool_defs]

    async def wrap_model_request(
        self, ctx: RunContext[Run], *, request_context: ModelRequestContext, handler: WrapModelRequestHandler
    ) -> ModelResponse:
        with tracer().start_as_current_span(
            "model turn", attributes={"run_id": ctx.deps.run_id, "turn": ctx.run_step}
        ) as span:
            response = await handler(request_context)
            span.set_attributes(
                {
                    "input_tokens": response.usage.input_tokens,
                    "output_tokens": response.usage.output_tokens,
                    "tool_calls": len(response.tool_calls),
                }
            )
            return response

    async def after_model_request(
        self, ctx: RunContext[Run], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        if is_cut(response):
            # The framework ends the run, with `IncompleteToolCall`, where another reply is cut too.
            raise ModelRetry(
                "Your reply was cut by your output limit, so its last tool call is incomplete and was not carried out. "
                "Say the same shorter: fewer articles, shorter reasons, no quotes."
            )
        offered = request_context.model_request_parameters
        known = {tool.name for tool in (*offered.function_tools, *offered.output_tools)}
        if unknown := [call for call in response.tool_calls if call.tool_name not in known]:
            ctx.deps.refuse(len(unknown))
        return cleaned(response)

    async def on_tool_validate_error(
        self,
        ctx: RunContext[Run],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: str | dict[str, Any],
        error: ValidationError | ModelRetry,
    ) -> dict[str, Any]:
        """The last attempt too ends in words and not the run (K093): what a call costs bounds them."""
        ctx.deps.refuse()
        if ctx.retry >= ctx.max_retries:
            raise ToolFailed(f"The arguments of `{call.tool_name}` could not be read again: go on without it.")
        raise error

    async def before_model_request(
        self, ctx: RunContext[Run], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        run = ctx.deps
        left = await run.custody.time_left(f"before request {ctx.usage.requests + 1}")
        if run.ending is None:
            run.ending = _reason_to_close(run, ctx.usage, left)
            if run.ending is not None:
                run.tell(Event(kind="budget", text=run.ending.sentence))
        lines = [_status_line(run, ctx.usage, left)]
        if run.ending is not None:
            # The first closing turn of a child was reserved when it began; a second one must be there to be had.
            again = run.closing_turns > 0 and run.purse is not None and not run.purse.take_request()
            # Nor may a closing turn cost the parent its own ending: without one, code puts the answer together.
            dear = run.purse is not None and run.purse.take_turn(closing=True) is not None
            dear = dear or used_up(run.budget, ctx.usage, turns=1) is not None
            if run.closing_turns >= _CLOSING_TURNS or again or dear:
                raise UsageLimitExceeded(run.ending.sentence.rstrip("."))
            run.closing_turns += 1
            lines.append(load_prompt("closing"))
            settings = ModelSettings(**{**(request_context.model_settings or {}), "tool_choice": [OUTPUT_TOOL]})
            request_context = replace(request_context, model_settings=settings)
        _append(ctx.messages, request_context.messages, "\n".join(lines))
        _shrink(ctx.messages, request_context.messages)
        return request_context


def _reason_to_close(run: Run, usage: RunUsage, left: float | None) -> Ending | None:
    budget = run.budget
    if budget.max_requests is not None and usage.requests >= budget.max_requests - _requests_kept(budget):
        return Ending("budget", f"The budget of {counted(budget.max_requests, 'model request')} was used up.")
    if budget.max_tool_calls is not None and run.tool_calls >= budget.max_tool_calls:
        return Ending("budget", f"The budget of {counted(budget.max_tool_calls, 'tool call')} was used up.")
    # One more research turn must leave room for the closing one, and each costs more than the mean of those before it,
    # because the history grows: twice the mean is taken.
    if (spent := used_up(budget, usage, turns=4)) is not None:
        return Ending("budget", spent)
    if run.purse is not None:
        spent = run.purse.take_turn(closing=False)
        if spent is not None:
            return Ending("budget", spent)
    if budget.deadline_s is not None and left is not None and left <= budget.deadline_s * _RESERVE:
        return Ending("deadline", f"The deadline of {budget.deadline_s:g} seconds was near.")
    if run.custody.repeats >= _REPEATS:
        return Ending("loop", f"The model asked the same search {run.custody.repeats + 1} times.")
    fruitless = run.custody.fruitless
    if fruitless >= _FRUITLESS and fruitless >= 5 * len(run.custody.ledger.coverage()):
        return Ending("loop", f"{fruitless} searches in a row failed or found nothing.")
    if run.refused >= _REFUSED:
        return Ending("loop", f"{run.refused} tool calls in a row could not be carried out.")
    if run.purse is not None and not run.purse.take_request():
        return Ending("budget", "The limit of model requests set for the agent that asked was reached.")
    return None


def used_up(budget: Budget, usage: RunUsage, *, turns: int = 0) -> str | None:
    """Which budget of tokens or money does not hold what was used and `turns` more of the mean so far, in a sentence;
    None where each does."""
    share = 1 + turns / max(1, usage.requests)
    if budget.max_tokens is not None and usage.total_tokens * share > budget.max_tokens:
        return f"The budget of {counted(budget.max_tokens, 'token')} was used up."
    if budget.max_cost_usd is not None and float(usage.cost or 0) * share > budget.max_cost_usd:
        return f"The budget of {budget.max_cost_usd:g} US dollars was used up."
    return None


def _requests_kept(budget: Budget) -> int:
    """One request for closing, and one to mend the answer where the budget has room for it."""
    return 2 if budget.max_requests is not None and budget.max_requests >= 6 else 1


def _status_line(run: Run, usage: RunUsage, left: float | None) -> str:
    counts = run.ledger.counts()
    parts = [f"{counted(counts.found, 'work')} found", f"{counts.analyzed} read in whole abstract or full text"]
    if counts.failed_sources:
        parts.append(f"failed: {', '.join(counts.failed_sources)}")
    budget = run.budget
    if budget.max_requests is not None:
        parts.append(f"{counted(max(0, budget.max_requests - usage.requests), 'turn')} left")
    if budget.max_tool_calls is not None:
        parts.append(f"{counted(max(0, budget.max_tool_calls - run.tool_calls), 'tool call')} left")
    if left is not None:
        parts.append(f"{left:.0f} s left")
    return f"[status: {'; '.join(parts)}]"


def _shrink(history: list[ModelMessage], sent: list[ModelMessage]) -> None:
    """When the tool results fill the context, reduce the oldest half of them, in history and in what is sent.

    Large steps, so that a provider's cache is seldom lost; whole results in their place, so that no call is parted from
    its return (K089, K090).
    """
    places = [
        (at, place, part.content)
        for at, message in enumerate(history[:-1])
        if isinstance(message, ModelRequest)
        for place, part in enumerate(message.parts)
        if isinstance(part, ToolReturnPart) and isinstance(part.content, str)
    ]
    newest = sum(len(str(part.content)) for part in history[-1].parts if isinstance(part, ToolReturnPart))
    if newest + sum(len(content) for _, _, content in places) <= CONTEXT_CHARACTERS:
        return
    freed = 0
    for at, place, content in places:
        less = shrunk(content)
        freed += len(content) - len(less)
        _replace_text(history, sent, at, place, less)
        if freed >= CONTEXT_CHARACTERS // 2:
            break


def _replace_text(history: list[ModelMessage], sent: list[ModelMessage], at: int, place: int, text: str) -> None:
    message = history[at]
    assert isinstance(message, ModelRequest)  # the caller looked
    parts: list[Any] = list(message.parts)
    parts[place] = replace(parts[place], content=text)
    changed = replace(message, parts=parts)
    for number, other in enumerate(sent):
        if other is message:
            sent[number] = changed
    history[at] = changed


def _append(history: list[ModelMessage], sent: list[ModelMessage], text: str) -> None:
    """Write `text` to the last tool result of the newest request, in the history and in what is sent."""
    if not history or not isinstance(history[-1], ModelRequest):
        return
    newest = history[-1]
    for place in range(len(newest.parts) - 1, -1, -1):
        part = newest.parts[place]
        if isinstance(part, ToolReturnPart) and isinstance(part.content, str):
            _replace_text(history, sent, len(history) - 1, place, f"{part.content}\n{text}")
            return
