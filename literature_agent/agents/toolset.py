"""The agent's tools: the sources' own signatures, carried out by custody.

Search tools take what the source's search takes; fetch tools take references only. Everything a call does goes
through `Custody`, so the toolset holds no run and is built once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cache
from types import FunctionType, MethodType
from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from pydantic_ai import FunctionToolset, ModelRetry, RunContext, Tool, ToolFailed, ToolReturn
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.toolsets import ToolsetTool, WrapperToolset

from literature_agent.agents.conduct import OUTPUT_TOOL
from literature_agent.agents.run import Ending, Run
from literature_agent.agents.schemas import flat_tool
from literature_agent.custody import READ_TOOL, Call, Event, Shown
from literature_agent.results import RelatedKind
from literature_agent.sources import Source
from literature_agent.sources._text import as_list, json_list

TOOL_RETRIES = 3
_NO_MORE_CALLS = f"The budget of tool calls is used up: call `{OUTPUT_TOOL}` with what you have."


def _as_citations(value: Any) -> Any:
    """As `as_list`, but a text stays whole up to its line breaks: citations are full of commas."""
    if not isinstance(value, str):
        return value
    # It may be a list of references, whose first number stands in square brackets.
    listed = json_list(value)
    return [line.strip() for line in value.splitlines() if line.strip()] if listed is None else listed


References = Annotated[
    list[str],
    BeforeValidator(as_list),
    Field(min_length=1, max_length=25, description="References copied exactly from tool results, at most 25."),
]


async def _fetch(references: References) -> str:
    raise NotImplementedError  # carried out by custody, see CustodyToolset.call_tool


async def read_pmc_full_text(
    reference: Annotated[str, Field(description="Reference copied exactly from a tool result.")],
    sections: Annotated[
        list[str],
        BeforeValidator(as_list),
        Field(default_factory=list, description="Headings wanted, as in the outline; tables by label (`Table 2`)."),
    ],
) -> str:
    """Read the open full text of one paper. Without `sections` it gives the outline: headings with their length; then
    ask for the sections you need. Says why, where no full text can be read."""
    raise NotImplementedError  # carried out by custody


async def search_all(
    query: Annotated[
        str, Field(description="Plain words, AND OR NOT and phrases: no source's own field tags.", min_length=1)
    ],
    max_results: Annotated[int, Field(description="Works wanted", ge=1, le=50)] = 10,
    date_from: Annotated[str | None, Field(description="First publication date, YYYY[-MM[-DD]]")] = None,
    date_to: Annotated[str | None, Field(description="Last publication date, YYYY[-MM[-DD]]")] = None,
    publication_types: Annotated[
        list[str] | None, BeforeValidator(as_list), Field(description="Any of these types, such as Review")
    ] = None,
) -> str:
    """Search all sources at once: one list, each work once, best score first, and for each source what it answered.
    Good for a first look and for a rare topic; for a careful search use each source's own grammar."""
    raise NotImplementedError  # carried out by custody


async def find_related(
    reference: Annotated[str, Field(description="Reference copied exactly from a tool result.")],
    relation: Annotated[
        RelatedKind,
        Field(
            description="similar; cited_by (newer works that cite it); references (works it cites); linked (its "
            "preprint or paper, notices, registered trial)"
        ),
    ],
    max_results: Annotated[int, Field(description="Works wanted", ge=1, le=50)] = 10,
) -> str:
    """Works related to one paper that a search has shown: snowballing forwards and backwards, similar works, and what
    became of it (notices, the journal version of a preprint, its trial)."""
    raise NotImplementedError  # carried out by custody


async def match_citations(
    citations: Annotated[
        list[str],
        BeforeValidator(_as_citations),
        Field(min_length=1, max_length=25, description="Citations as pasted, one an entry, at most 25."),
    ],
) -> str:
    """Check citations that stand in the question: each is matched, miscited (the wrong fields are named), unknown, or
    failed where it could not be asked. A matched work gets a reference. N in, N out, by number."""
    raise NotImplementedError  # carried out by custody


async def convert_ids(references: References) -> str:
    """Whether works have a record in PubMed, a copy in PMC and a DOI, and when an embargo ends. Takes references."""
    raise NotImplementedError  # carried out by custody


async def lookup_mesh(
    term: Annotated[str, Field(description="One concept, such as 'heart attack'", min_length=1)],
    max_results: Annotated[int, Field(description="Headings wanted", ge=1, le=20)] = 5,
) -> str:
    """Find the MeSH heading of a concept, with synonyms and scope, to write better PubMed queries (heading[mesh])."""
    raise NotImplementedError  # carried out by custody


async def current_time() -> str:
    """Today's date and the time in UTC, for questions that speak of now, recent or last year."""
    raise NotImplementedError  # carried out by custody


@dataclass
class CustodyToolset(WrapperToolset[Run]):
    """Hands every call to the run's custody and maps its answer to the framework."""

    _offered: dict[str, ToolsetTool[Run]] | None = field(default=None, init=False, repr=False, compare=False)
    """The tools are the same in every run and turn: the framework's preparation of each is done once."""

    async def get_tools(self, ctx: RunContext[Run]) -> dict[str, ToolsetTool[Run]]:
        if self._offered is None:
            self._offered = await super().get_tools(ctx)
        return dict(self._offered)

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Run], tool: ToolsetTool[Run]
    ) -> Any:
        call = Call(id=ctx.tool_call_id or f"{name}-{ctx.run_step}", turn=ctx.run_step, index=_index_of(ctx))
        run = ctx.deps
        limit = run.budget.max_tool_calls
        if run.ending is not None or (limit is not None and run.tool_calls >= limit):
            raise ToolFailed(_NO_MORE_CALLS)
        if run.purse is not None and not run.purse.take_tool_call():
            run.ending = Ending("budget", "The limit of tool calls set for the agent that asked was reached.")
            run.tell(Event(kind="budget", text=run.ending.sentence))
            raise ToolFailed(_NO_MORE_CALLS)
        run.tool_calls += 1
        try:
            shown: Shown = await run.custody.call(name, tool_args, call)
        except asyncio.CancelledError:
            run.tool_calls -= 1  # a call that is cut with its run is none; whether it had begun is a matter of chance
            raise
        run.refused = run.refused + 1 if shown.outcome == "correction" else 0
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


def _tool(function: Callable[..., Any], name: str | None = None, description: str | None = None) -> Tool[Any]:
    return _own(_built(function, name, description))


def _search_tool(tools: Any, name: str) -> Tool[Any]:
    return _own(_built_search(tools, name))


# The schema of a tool takes some hundredths of a second to build and is the same each time.
@cache
def _built(function: Callable[..., Any], name: str | None, description: str | None) -> Tool[Any]:
    return flat_tool(Tool(function, name=name, description=description, takes_ctx=False))


@cache
def _built_search(tools: Any, name: str) -> Tool[Any]:
    # An unbound method has the signature that a model must see, less `self`.
    method = MethodType(_giving_text(getattr(tools, name)), object())
    return flat_tool(Tool(method, name=name, takes_ctx=False))


def _giving_text(function: FunctionType) -> FunctionType:
    """The function as the model knows it: custody answers with text, and the schema of the typed result, which the
    framework would make, takes longer than all the others."""
    copied = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    copied.__kwdefaults__ = function.__kwdefaults__
    copied.__annotations__ = {**function.__annotations__, "return": "str"}
    copied.__doc__ = function.__doc__
    copied.__module__ = function.__module__
    copied.__qualname__ = function.__qualname__
    return copied


def _own(tool: Tool[Any]) -> Tool[Any]:
    """A copy of `tool` that a toolset may change."""
    copied = copy(tool)
    copied.function_schema = copy(tool.function_schema)
    return copied


def build_toolset(sources: Sequence[Source]) -> CustodyToolset:
    """The tools of the given sources, those that need several of them, and `current_time`."""
    tools: list[Tool[Any]] = []
    names: set[str] = set()
    for source in sources:
        if source.search_tool not in names:
            tools.append(_search_tool(source.tools, source.search_tool))
            names.add(source.search_tool)
        if source.fetch_tool not in names:
            description = f"Whole {source.holds}. Takes references only; ask for several at once."
            tools.append(_tool(_fetch, source.fetch_tool, description))
            names.add(source.fetch_tool)
    tools.append(_tool(read_pmc_full_text, READ_TOOL))
    asked = {source.name for source in sources}
    if len(asked) > 1:
        tools.append(_tool(search_all))
    if asked & {"pubmed", "europepmc"}:
        tools += [_tool(find_related), _tool(match_citations)]
    if "pubmed" in asked:
        tools += [_tool(convert_ids), _tool(lookup_mesh)]
    tools.append(_tool(current_time))
    return CustodyToolset(FunctionToolset(tools, max_retries=TOOL_RETRIES))
