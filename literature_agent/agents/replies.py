"""What small and hasty models leave in their replies: thinking tags, and calls cut by the output limit."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from pydantic_ai.messages import ModelResponse, ModelResponsePart, TextPart, ToolCallPart
from pydantic_core import from_json

_THOUGHT = re.compile(r"<(think|thinking|reasoning|thought)>.*?</\1>\s*", re.S | re.I)
_STRAY = re.compile(r"</?(?:think|thinking|reasoning|thought)>", re.I)


def without_thoughts(text: str) -> str:
    """`text` without thinking tags and what stands between them (K096)."""
    return _STRAY.sub("", _THOUGHT.sub("", text)) if "<" in text else text


def cleaned(response: ModelResponse) -> ModelResponse:
    """The response with no thinking tag in any text or argument; the same object where there was none."""
    parts = [_cleaned_part(part) for part in response.parts]
    changed = any(new is not old for new, old in zip(parts, response.parts, strict=True))
    return replace(response, parts=parts) if changed else response


def is_cut(response: ModelResponse) -> bool:
    """Whether the reply ends in a call whose arguments the output limit cut (K088)."""
    if response.finish_reason != "length" or not response.parts:
        return False
    last = response.parts[-1]
    return isinstance(last, ToolCallPart) and _arguments(last) is None


def _cleaned_part(part: ModelResponsePart) -> ModelResponsePart:
    if isinstance(part, TextPart):
        text = without_thoughts(part.content)
        return part if text == part.content else replace(part, content=text)
    if isinstance(part, ToolCallPart):
        arguments = _arguments(part)
        if arguments is None:
            return part
        clean = _clean_value(arguments)
        return part if clean == arguments else replace(part, args=clean)
    return part


def _clean_value(value: Any) -> Any:
    if isinstance(value, str):
        # Half of a character outside the basic plane can be sent nowhere.
        return without_thoughts(value).encode("utf-8", "ignore").decode("utf-8")
    if isinstance(value, list):
        return [_clean_value(item) for item in value]
    if isinstance(value, dict):
        return {name: _clean_value(item) for name, item in value.items()}
    return value


def _arguments(call: ToolCallPart) -> dict[str, Any] | None:
    """The arguments of a call; None where they are no JSON object."""
    if isinstance(call.args, dict):
        return call.args
    try:
        # Unlike `json`, it refuses what is nested too deep.
        read = from_json(call.args or "{}")
    except ValueError:
        return None
    return read if isinstance(read, dict) else None
