"""What a parsed query is made of, for PubMed and Europe PMC alike: values only, no search."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
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


def tokens(text: str) -> list[str]:
    """The words of a text as the index sees them: letters and digits, lower case."""
    return _TOKEN.findall(text.lower())


@lru_cache(maxsize=4096)
def plain(text: str) -> str:
    """One spelling for values that are compared whole: lower case, no accents, no punctuation, single spaces."""
    if not text.isascii():
        text = "".join(ch for ch in unicodedata.normalize("NFKD", text) if not unicodedata.combining(ch))
    return " ".join(tokens(text))
