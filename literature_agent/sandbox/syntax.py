"""What a parsed query is made of, for PubMed and Europe PMC alike: values only, no search."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

Operator = Literal["AND", "OR", "NOT"]

_TOKEN = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Term:
    """Words, a phrase or a value, searched in one field (`field` None: wherever the service looks by default)."""

    text: str
    field: str | None = None
    quoted: bool = False
    explode: bool = True
    near: int | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """A range of dates or numbers in one field; an empty bound is open."""

    field: str
    low: str
    high: str


@dataclass(frozen=True, slots=True)
class Chain:
    """Parts joined from left to right; the operator of the first part is meaningless."""

    parts: tuple[tuple[Operator, Node], ...]


Node = Term | Span | Chain


EVERYTHING = Term("*")


@dataclass(slots=True)
class Group:
    """One open parenthesis while a text is read in which AND and NOT bind tighter than OR.

    `name` is the field that the parenthesis stands in.
    """

    name: str | None = None
    parts: list[tuple[Operator, Node]] = field(default_factory=list)
    waiting: Operator | None = None

    def operator(self, operator: Operator) -> None:
        if operator == "NOT":
            if not self.parts:
                self.parts.append(("AND", EVERYTHING))
            self.waiting = "NOT"
        elif self.parts and self.waiting is None:
            self.waiting = operator

    def operand(self, node: Node) -> None:
        self.parts.append((self.waiting or "AND", node))
        self.waiting = None

    def closed(self) -> Node | None:
        """What was read, as one node; None where nothing was."""
        alternatives: list[list[tuple[Operator, Node]]] = []
        for operator, node in self.parts:
            if operator == "OR" or not alternatives:
                alternatives.append([("AND", node)])
            else:
                alternatives[-1].append((operator, node))
        return chained([("OR", part) for parts in alternatives if (part := chained(parts)) is not None])


def chained(parts: Sequence[tuple[Operator, Node]]) -> Node | None:
    """The parts as one node: the part itself where there is only one."""
    if not parts:
        return None
    return parts[0][1] if len(parts) == 1 else Chain(tuple(parts))


def tokens(text: str) -> list[str]:
    """The words of a text as the index sees them: letters and digits, lower case."""
    return _TOKEN.findall(text.lower())


@lru_cache(maxsize=4096)
def plain(text: str) -> str:
    """One spelling for values that are compared whole: lower case, no accents, no punctuation, single spaces."""
    if not text.isascii():
        text = "".join(ch for ch in unicodedata.normalize("NFKD", text) if not unicodedata.combining(ch))
    return " ".join(tokens(text))
