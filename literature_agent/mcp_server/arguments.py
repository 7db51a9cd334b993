"""Arguments as clients send them, made into what a tool takes; or refused in one sentence.

Clients send lists as text, numbers as text, and null as "null" (K102). An empty list is refused: it never means
"everything" (K103).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import from_json

from literature_agent.errors import InvalidInputError, in_words
from literature_agent.sources._text import BETWEEN_ENTRIES, one_line

# An empty list of these has a meaning that is written in the tool's description.
_MAY_BE_EMPTY = frozenset({"sections", "searches"})
_NULLS = frozenset({"", "null", "none", "undefined"})
# Citations are full of commas.
_BETWEEN_LINES = re.compile(r"[\r\n]+")
_SURROGATE = re.compile("[\ud800-\udfff]")


def tidy(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """`arguments` with text read as the type that `schema` wants, and unset ones left out.

    Raises:
        InvalidInputError: an argument is unknown, missing, or not to be read as what is wanted.
    """
    properties: Mapping[str, Mapping[str, Any]] = schema["properties"]
    required = schema.get("required", ())
    for name, value in arguments.items():
        if name not in properties:
            known = ", ".join(properties) or "none"
            raise InvalidInputError(f"There is no argument {one_line(name, 60)!r}.", recovery=f"Arguments: {known}.")
        _require_text_that_can_be_written(name, value)
    read: dict[str, Any] = {}
    for name, value in arguments.items():
        types = _types(properties[name])
        if value is None or (
            isinstance(value, str) and value.strip().lower() in _NULLS and (name not in required or "array" in types)
        ):
            continue
        read[name] = _read(name, value, types)
    for name in required:
        if name not in read:
            raise InvalidInputError(f"The argument {name!r} is missing.", recovery=f"Give {name}.")
    return read


def refusal(refused: ValidationError) -> InvalidInputError:
    """The first complaint of a validation, as an error of ours."""
    first = refused.errors(include_url=False, include_context=False)[0]
    name = ".".join(str(part) for part in first["loc"]) or "arguments"
    if first["type"] == "missing":
        return InvalidInputError(f"{name} is missing.")
    return InvalidInputError(f"{name}={one_line(repr(first['input']), 60)}: {in_words(first['msg'])}.")


def _types(schema: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(_each_type(schema))


def _each_type(schema: Mapping[str, Any]) -> Iterator[str]:
    if isinstance(schema.get("type"), str):
        yield schema["type"]
    for option in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from _each_type(option)


def _read(name: str, value: Any, types: frozenset[str]) -> Any:
    if "array" in types:
        return _read_list(name, value)
    if isinstance(value, bool) and "boolean" not in types:
        raise InvalidInputError(f"{name}={value!r} is neither text nor number.")
    if isinstance(value, int | float) and types <= {"string", "null"}:
        return str(value)
    return value


def _read_list(name: str, value: Any) -> list[Any]:
    items = value
    between = _BETWEEN_LINES if name == "citations" else BETWEEN_ENTRIES
    if isinstance(value, str):
        text = value.strip()
        if text.startswith("["):
            try:
                items = from_json(text)
            except ValueError:
                # A reference may itself be written in square brackets.
                items = between.split(text)
        else:
            items = between.split(text)
        items = [item.strip() if isinstance(item, str) else item for item in items]
        items = [item for item in items if item != ""]
    if not isinstance(items, list):
        raise InvalidInputError(f"{name}={one_line(str(value), 60)!r} is no list.", recovery="Give a list of texts.")
    if not items and name not in _MAY_BE_EMPTY:
        raise InvalidInputError(f"{name} is an empty list.", recovery=f"Leave {name} out, or name at least one.")
    return items


def _require_text_that_can_be_written(name: str, value: Any) -> None:
    for text in _texts(value):
        if _SURROGATE.search(text):
            raise InvalidInputError(f"{one_line(name, 60)} holds half a character (a lone surrogate).")


def _texts(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, dict):
            waiting += [*each, *each.values()]
        elif isinstance(each, list):
            waiting += each
