"""Builders for tests and evals: a model that plays a script.

The script is written in the terms of a run: what was seen, which tools are called. No key, no network.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, TypeAlias

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_ai.usage import RequestUsage

__all__ = ["Calls", "Seen", "Turn", "scripted_model", "submit"]

_REFERENCE = re.compile(r"«artifact:link:cite~[0-9A-Z]{10}»")

Calls: TypeAlias = Sequence[tuple[str, Mapping[str, Any]]] | str
"""Tool calls of one turn as (tool, arguments), or plain text."""


@dataclass(frozen=True)
class Seen:
    """What the scripted model has been sent so far."""

    texts: tuple[str, ...]
    """User prompts, tool results and corrections, in order."""
    tools: tuple[str, ...]
    instructions: str
    turn: int
    """From 1."""

    @property
    def last(self) -> str:
        return self.texts[-1] if self.texts else ""

    @property
    def references(self) -> list[str]:
        """References seen, each once, in order of first sight."""
        return list(dict.fromkeys(_REFERENCE.findall("\n".join(self.texts))))


Turn: TypeAlias = Calls | Callable[[Seen], Calls]


def scripted_model(*turns: Turn, name: str = "scripted", usage: RequestUsage | None = None) -> Model:
    """A model that answers its n-th request with the n-th turn; the last turn repeats. Each reply says that it took
    `usage`; without it tokens are estimated from all texts, which takes time of its own."""

    def play(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        turn = 1 + sum(isinstance(message, ModelResponse) for message in messages)
        seen = Seen(
            texts=tuple(_texts(messages)),
            tools=tuple(tool.name for tool in info.function_tools),
            instructions=info.instructions or "",
            turn=turn,
        )
        chosen = turns[min(turn, len(turns)) - 1]
        calls = chosen(seen) if callable(chosen) else chosen
        parts: list[TextPart | ToolCallPart]
        if isinstance(calls, str):
            parts = [TextPart(calls)]
        else:
            parts = [ToolCallPart(tool, dict(arguments)) for tool, arguments in calls]
        return ModelResponse(parts=parts, usage=copy(usage) if usage is not None else RequestUsage())

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        for number, part in enumerate(play(messages, info).parts):
            if isinstance(part, ToolCallPart):
                yield {
                    number: DeltaToolCall(
                        name=part.tool_name, json_args=part.args_as_json_str(), tool_call_id=part.tool_call_id
                    )
                }
            elif isinstance(part, TextPart):
                yield part.content

    return FunctionModel(play, stream_function=stream, model_name=name)


def submit(summary: str, articles: Sequence[str] = (), **members: Any) -> Calls:
    """The call that submits an answer citing `articles`."""
    listed = [{"reference": reference, "reason": "It bears on the question."} for reference in articles]
    return [("submit_answer", {"summary": summary, "relevant_articles": listed, **members})]


def _texts(messages: Sequence[ModelMessage]) -> list[str]:
    texts = []
    for message in messages:
        if not isinstance(message, ModelRequest):
            continue
        for part in message.parts:
            if isinstance(part, ToolReturnPart):
                texts.append(part.model_response_str())
            elif isinstance(part, UserPromptPart):
                texts.append(part.content if isinstance(part.content, str) else str(part.content))
            elif hasattr(part, "model_response"):
                texts.append(part.model_response())
    return texts
