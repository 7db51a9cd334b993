"""Citations that stand in a question, as pasted from a reference list."""

from __future__ import annotations

import re
from typing import NamedTuple

MOST_CITATIONS = 25

_NUMBERING = re.compile(r"^\s*(?:[-*•]\s+|\[?\d{1,3}[\].)]\s*)?")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
# Volume and page as references end: `383(2):120-9`, `12(3), 45-67`.
_LOCATOR = re.compile(
    r"\b\d{1,4}(?:\s?\([^()]{1,12}\))?\s?:\s?[A-Za-z]?\d{1,7}|\b\d{1,4}\s?\([^()]{1,12}\),\s?[A-Za-z]?\d{1,7}"
)
_PARTED = re.compile(r"[.,;] ")
_CITATION_LENGTHS = range(40, 800)


class PastedCitation(NamedTuple):
    """`question[start:end]` is the citation with its number in the list; `text` is without."""

    start: int
    end: int
    text: str


def pasted_citations(question: str) -> list[PastedCitation]:
    """Lines that are citations: of the length of one, in several parts, with year, volume and page."""
    found = []
    at = 0
    for line in question.splitlines(keepends=True):
        text = _NUMBERING.sub("", line).strip()
        if _is_citation(text):
            found.append(PastedCitation(at, at + len(line.rstrip()), text))
        at += len(line)
    return found[:MOST_CITATIONS]


def _is_citation(line: str) -> bool:
    if len(line) not in _CITATION_LENGTHS or line.endswith("?") or len(_PARTED.findall(line)) < 2:
        return False
    return _YEAR.search(line) is not None and _LOCATOR.search(line) is not None
