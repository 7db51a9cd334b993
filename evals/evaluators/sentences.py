"""Prose of an answer cut into sentences, by no code of the package."""

from __future__ import annotations

import re
from collections.abc import Iterator

from evals.outcome import REFERENCE

_QUOTED = re.compile(r"“[^“”]*”")
_END = re.compile(r"(?<=[.!?])\s+(?=[^\W\d_a-z]|[“\"'(\[«])|\n+")
_ONLY_REFERENCES = re.compile(rf"(?:\s|[.,;]|{REFERENCE.pattern})*")
_WORD = re.compile(r"[^\W\d_]{2,}")


def sentences(text: str) -> Iterator[str]:
    """Sentences, each with the references that follow it. Stops inside quotation marks end nothing."""
    marks = [(found.start(), found.end()) for found in _QUOTED.finditer(text)]
    pieces: list[str] = []
    at = 0
    for end in _END.finditer(text):
        if any(start < end.start() < stop for start, stop in marks):
            continue
        pieces.append(text[at : end.start()])
        at = end.end()
    pieces.append(text[at:])
    waiting = ""
    for piece in pieces:
        # References after the full stop belong to the sentence before them.
        leading = _ONLY_REFERENCES.match(piece)
        split = leading.end() if leading is not None and waiting else 0
        head, rest = piece[:split], piece[split:]
        waiting = f"{waiting} {head}".strip() if head.strip() else waiting
        if rest.strip():
            if waiting:
                yield waiting
            waiting = rest.strip()
    if waiting:
        yield waiting


def bare(text: str) -> str:
    """The text without references."""
    return REFERENCE.sub("", text)


def count_words(text: str) -> int:
    """Words of two letters or more."""
    return len(_WORD.findall(bare(text)))
