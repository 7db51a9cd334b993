"""A request as the services see it, and the answer they give: plain values between server and services."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lxml import etree


@dataclass(frozen=True, slots=True)
class Request:
    """One request; `parameters` joins those of the address and of a posted form, in this order."""

    method: str
    path: str
    parameters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def get(self, name: str, default: str = "") -> str:
        """The first value given for the parameter, without surrounding spaces."""
        values = self.parameters.get(name)
        return values[0].strip() if values else default

    def number(self, name: str, default: int) -> int:
        """A parameter that should be a whole number; the default for anything else."""
        text = self.get(name)
        return int(text) if text.isascii() and text.isdecimal() and len(text) < 12 else default

    def listed(self, name: str) -> list[str]:
        """Comma-separated values, also over repeated parameters, in order."""
        values = (part.strip() for value in self.parameters.get(name, ()) for part in value.split(","))
        return [value for value in values if value]


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    content_type: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


def json_reply(value: Any, *, status: int = 200, trailing: str = "") -> Reply:
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":")) + trailing
    # A lone surrogate can come in through an escaped query and has no UTF-8 form.
    return Reply(status, "application/json; charset=UTF-8", body.encode("utf-8", "replace"))


def text_reply(text: str, *, status: int = 200) -> Reply:
    return Reply(status, "text/plain; charset=UTF-8", text.encode("utf-8", "replace"))


def xml_reply(root: etree._Element, *, status: int = 200, doctype: str | None = None) -> Reply:
    head = f'<?xml version="1.0" encoding="UTF-8" ?>\n{doctype + chr(10) if doctype else ""}'
    return xml_text_reply(head + etree.tostring(root, encoding="unicode") + "\n", status=status)


def xml_text_reply(text: str, *, status: int = 200) -> Reply:
    return Reply(status, "text/xml; charset=UTF-8", text.encode("utf-8", "replace"))
