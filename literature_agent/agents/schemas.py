"""Tool schemas that every provider takes: flat, everything in place, nothing free-form (K099, K100)."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic_ai import Tool
from pydantic_ai.profiles import InlineDefsJsonSchemaTransformer

T = TypeVar("T")

# Members that say nothing to a model; some providers refuse them. Examples stay: they say something.
_DROPPED = frozenset({"title", "format"})
_NULL = {"type": "null"}


def flat_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """`schema` without references to definitions, titles and formats; objects take no other members."""
    flat = _plain(InlineDefsJsonSchemaTransformer(schema).walk())
    assert isinstance(flat, dict)  # an object schema stays one
    return flat


def input_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """`flat_schema` of what a model writes.

    A member that need not be given is not offered as null too: to leave it out says the same in fewer words.
    """
    flat = _not_null(flat_schema(schema))
    assert isinstance(flat, dict)  # an object schema stays one
    return flat


def flat_tool(tool: Tool[T]) -> Tool[T]:
    """`tool` with the schema of its arguments made flat, once and for all; what it takes stays the same."""
    tool.function_schema.json_schema = input_schema(tool.function_schema.json_schema)
    return tool


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


def _not_null(node: Any) -> Any:
    if isinstance(node, list):
        return [_not_null(item) for item in node]
    if not isinstance(node, dict):
        return node
    node = {key: _not_null(value) for key, value in node.items()}
    optional = set(node.get("properties", ())) - set(node.get("required", ()))
    for name in optional:
        node["properties"][name] = _given(node["properties"][name])
    return node


def _given(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of an optional property where it is given."""
    forms = schema.get("anyOf")
    if not isinstance(forms, list) or _NULL not in forms:
        return schema
    kept = {key: value for key, value in schema.items() if key != "anyOf" and (key, value) != ("default", None)}
    others = [form for form in forms if form != _NULL]
    return {**others[0], **kept} if len(others) == 1 else {"anyOf": others, **kept}
