"""Prompts that a person picks in a client. Their arguments are text; all but the subject are optional (K106)."""

from __future__ import annotations

from collections.abc import Mapping
from string import Template

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, GetPromptResult, Prompt, PromptArgument, PromptMessage, TextContent

from literature_agent.errors import InvalidInputError, told
from literature_agent.mcp_server.arguments import tidy
from literature_agent.prompts import load_prompt

LONGEST_ARGUMENT = 4_000

_FOCUS = PromptArgument(
    name="focus_areas",
    description="Aspects that matter most, parted by commas: dose, older adults, safety.",
    required=False,
)
_SINCE = PromptArgument(name="since", description="First publication date, YYYY[-MM[-DD]].", required=False)

PROMPTS = (
    Prompt(
        name="research_plan",
        title="Plan a literature search",
        description="A search plan: concepts, lines for each source, limits, what would count as an answer.",
        arguments=[
            PromptArgument(name="question", description="The question, in words.", required=True),
            _FOCUS,
            _SINCE,
        ],
    ),
    Prompt(
        name="gap_analysis",
        title="Find research gaps",
        description="What is not known, told apart: authors say so, searches found nothing, not searched.",
        arguments=[
            PromptArgument(name="topic", description="The topic, in words.", required=True),
            _FOCUS,
            _SINCE,
        ],
    ),
)


def get_prompt(name: str, arguments: Mapping[str, str] | None) -> GetPromptResult:
    """The prompt with its arguments put in.

    Raises:
        MCPError: there is no such prompt, or an argument is missing, unknown or too long.
    """
    prompt = next((prompt for prompt in PROMPTS if prompt.name == name), None)
    if prompt is None:
        raise MCPError(code=INVALID_PARAMS, message=f"Unknown prompt: {name[:60]!r}")
    listed = prompt.arguments or []
    schema = {
        "properties": {argument.name: {"type": "string"} for argument in listed},
        "required": [argument.name for argument in listed if argument.required],
    }
    try:
        given = tidy(arguments or {}, schema)
    except InvalidInputError as refused:
        raise MCPError(code=INVALID_PARAMS, message=told(refused)) from None
    for argument, text in given.items():
        if len(text) > LONGEST_ARGUMENT:
            raise MCPError(code=INVALID_PARAMS, message=f"{argument} has more than {LONGEST_ARGUMENT:,} characters.")
    areas = [area.strip() for area in given.get("focus_areas", "").split(",") if area.strip()]
    filled = Template(load_prompt(f"mcp/{name}")).substitute(
        {argument.name: given.get(argument.name, "") for argument in listed},
        focus_areas="; ".join(areas) or "none given",
        since=given.get("since") or "no limit",
    )
    return GetPromptResult(
        description=prompt.description, messages=[PromptMessage(role="user", content=TextContent(text=filled))]
    )
