"""Stored text as it may be shown: identifiers, reference tokens and fence tags masked, each with its place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from literature_agent.ids import IdentifierKind, find_identifiers
from literature_agent.registry import TOKEN_MASK, find_references

TRIAL_MASK = "[trial, see linked]"
IDENTIFIER_MASK = "[identifier]"
MASKS = (TRIAL_MASK, IDENTIFIER_MASK, TOKEN_MASK)

# What paper text could contain to look like one of ours: a reference token in any spelling, or a fence tag.
_OURS = re.compile(
    r"(?:[«<\[(]{1,2}\s*)?(?:artifact\s*:[^»>\])\s]{0,60}|cite~\w{1,20})[»>\])]{0,2}|</?\s*papers?\b[^>]{0,80}>?", re.I
)
_TRIAL_KINDS = frozenset({"nct", "isrctn", "eudract"})

Lookup = Callable[[IdentifierKind, str], str | None]
"""Reference of the work that carries an identifier, if this run has shown the work."""


class MaskedPiece(NamedTuple):
    """`text` stands for `stored[start:end]`; `masked` if something else is shown in its place."""

    text: str
    start: int
    end: int
    masked: bool


def _joined(marks: Iterable[tuple[int, int, str]]) -> Iterator[tuple[int, int, str]]:
    """Overlapping ranges as one, with what the first of them shows."""
    held: tuple[int, int, str] | None = None
    for start, end, shown in marks:
        if held is not None and start < held[1]:
            held = (held[0], max(held[1], end), held[2])
            continue
        if held is not None:
            yield held
        held = (start, end, shown)
    if held is not None:
        yield held


def mask(stored: str, lookup: Lookup | None = None) -> Iterator[MaskedPiece]:
    """`stored` as a model may see it, in pieces that cover it without gap or overlap, in one linear pass."""
    marks: list[tuple[int, int, str]] = []
    if "~" in stored or "<" in stored or "fact" in stored.casefold():
        marks += [(found.start(), found.end(), TOKEN_MASK) for found in _OURS.finditer(stored)]
    # By the reader's own grammar, so that nothing is left that it would read as a reference.
    marks += [(token.start, token.end, TOKEN_MASK) for token in find_references(stored)]
    for found in find_identifiers(stored):
        known = lookup(found.kind, found.value) if lookup else None
        marks.append((found.start, found.end, known or (TRIAL_MASK if found.kind in _TRIAL_KINDS else IDENTIFIER_MASK)))
    at = 0
    for start, end, shown in _joined(sorted(marks)):
        if start > at:
            yield MaskedPiece(stored[at:start], at, start, False)
        yield MaskedPiece(shown, start, end, True)
        at = end
    if at < len(stored):
        yield MaskedPiece(stored[at:], at, len(stored), False)


def masked(text: str) -> str:
    """`text` of a paper on one line as a model may see it."""
    return "".join(piece.text for piece in mask(text))
