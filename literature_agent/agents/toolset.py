"""The agent's tools: the sources' own signatures, carried out by custody.

Search tools take what the source's search takes; fetch tools take references only. Everything a call does goes
through `Custody`, so the toolset holds no run and is built once.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from types import MethodType
from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from pydantic_ai import FunctionToolset, ModelRetry, RunContext, Tool, ToolFailed, ToolReturn
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.toolsets import ToolsetTool, WrapperToolset

from literature_agent.agents.conduct import OUTPUT_TOOL
from literature_agent.agents.run import Run
from literature_agent.custody import READ_TOOL, Call, Shown
from literature_agent.sources import Source

TOOL_RETRIES = 3
_NO_MORE_CALLS = f"The budget of tool calls is used up: call `{OUTPUT_TOOL}` with what you have."


def _as_list(value: Any) -> Any:
    """Models send one value, or a list as JSON text, where a list is wanted (K093, K102)."""
    if isinstance(value, str):
        text = value.strip()
        if text.startswith("["):
            try:
                return json.loads(text)
            except ValueError:
                return [text]
        return [part.strip() for part in text.split(",") if part.strip()]
    return value


References = Annotated[
    list[str],
    BeforeValidator(_as_list),
    Field(min_length=1, max_length=25, description="References copied exactly from tool results, at most 25."),
]


async def _fetch(references: References) -> str:
    raise NotImplementedError  # carried out by custody, see CustodyToolset.call_tool


async def read_pmc_full_text(
    reference: Annotated[str, Field(description="Reference copied exactly from a tool result.")],
    sections: Annotated[
        list[str],
        BeforeValidator(_as_list),
        Field(default_factory=list, description="Headings wanted, as in the outline; tables by label (`Table 2`)."),
    ],
) -> str:
    """Read the open full text of one paper. Without `sections` it gives the outline: headings with their length; then
    ask for the sections you need. Says why, where no full text can be read."""
    raise NotImplementedError  # carried out by custody


async def current_time() -> str:
    """Today's date and the time in UTC, for questions that speak of now, recent or last year."""
    raise NotImplementedError  # carried out by custody


@dataclass
class CustodyToolset(WrapperToolset[Run]):
    """Hands every call to the run's custody and maps its answer to the framework."""

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Run], tool: ToolsetTool[Run]
    ) -> Any:
        call = Call(id=ctx.tool_call_id or f"{name}-{ctx.run_step}", turn=ctx.run_step, index=_index_of(ctx))
        run = ctx.deps
        if name != "current_time":
            limit = run.budget.max_tool_calls
            if run.ending is not None or (limit is not None and run.tool_calls >= limit):
                raise ToolFailed(_NO_MORE_CALLS)
            if run.purse is not None and not run.purse.take_tool_call():
                raise ToolFailed(_NO_MORE_CALLS)
            run.tool_calls += 1
        shown: Shown = await run.custody.call(name, tool_args, call)
        if shown.outcome == "correction" and ctx.retry < ctx.max_retries:
            raise ModelRetry(shown.text)
        if shown.outcome == "fact":
            raise ToolFailed(shown.text)
        return ToolReturn(shown.text, metadata=shown.result)


def _index_of(ctx: RunContext[Run]) -> int:
    """Position of this call among the calls of its turn."""
    for message in reversed(ctx.messages):
        if isinstance(message, ModelResponse):
            calls = [part.tool_call_id for part in message.parts if isinstance(part, ToolCallPart)]
            return calls.index(ctx.tool_call_id) if ctx.tool_call_id in calls else len(calls)
    return 0


def build_toolset(sources: Sequence[Source]) -> CustodyToolset:
    """The tools of the given sources, and `current_time`."""
    tools: list[Tool[Any]] = []
    names: set[str] = set()
    for source in sources:
        if source.search_tool not in names:
            # An unbound method has the signature that a model must see, less `self`.
            method = MethodType(getattr(source.tools, source.search_tool), object())
            tools.append(Tool(method, name=source.search_tool, takes_ctx=False))
            names.add(source.search_tool)
        if source.fetch_tool not in names:
            description = (
                f"Whole records of papers found in {source.label}: full abstract, MeSH headings, linked works. "
                "Takes references only; ask for several at once."
            )
            tools.append(Tool(_fetch, name=source.fetch_tool, description=description, takes_ctx=False))
            names.add(source.fetch_tool)
    tools.append(Tool(read_pmc_full_text, name=READ_TOOL, takes_ctx=False))
    tools.append(Tool(current_time, takes_ctx=False))
    return CustodyToolset(FunctionToolset(tools, max_retries=TOOL_RETRIES))
