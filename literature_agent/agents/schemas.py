"""Tool schemas that every provider takes: flat, everything in place, nothing free-form (K099, K100)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.profiles import InlineDefsJsonSchemaTransformer
from pydantic_ai.tools import ToolDefinition

# Members that say nothing to a model; some providers refuse them. Examples stay: they say something.
_DROPPED = frozenset({"title", "format"})


def flat_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """`schema` without references to definitions, titles and formats; objects take no other members."""
    flat = _plain(InlineDefsJsonSchemaTransformer(schema).walk())
    assert isinstance(flat, dict)  # an object schema stays one
    return flat


def _plain(node: Any, *, names: bool = False) -> Any:
    """`names`: the keys of this mapping are names of properties, not words of JSON Schema."""
    if isinstance(node, list):
        return [_plain(item) for item in node]
    if not isinstance(node, dict):
        return node
    if names:
        return {name: _plain(value) for name, value in node.items()}
    kept = {
        key: _plain(value, names=key == "properties")
        for key, value in node.items()
        if key not in _DROPPED and key != "$defs"
    }
    if kept.get("type") == "object":
        kept["additionalProperties"] = False
    return kept


async def prepare_flat(ctx: RunContext[Any], definition: ToolDefinition) -> ToolDefinition:
    """For `Tool(prepare=...)`: the definition with a flat schema."""
    return replace(definition, parameters_json_schema=flat_schema(definition.parameters_json_schema))
