"""Where sentences begin and end in prose of biomedicine."""

from __future__ import annotations

import re

# Full stops that end no sentence in this field's prose.
_ABBREVIATIONS = re.compile(
    r"(?:\b(?:e\.g|i\.e|vs|cf|approx|Fig|Figs|Dr|Prof|No|Nos|St|resp|ca|al|spp|sp|subsp|var|Eq|Ref|Refs|Inc|Ltd|Jr|Sr|"
    r"min|max|incl|excl|etc|Suppl|Vol|pp|Tab|dept)|\b[A-Z]|\b[a-z]\.[a-z])\.$"
)
_END = re.compile(r"[.!?]+[)\]\"'”’»]*(?=\s|$)|\n\s*\n")


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Half-open ranges of the sentences of `text`, left to right, without the white space between them.

    References after the full stop (`... improved. «ref»`) belong to the sentence before them.
    """
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _END.finditer(text):
        head = text[max(start, match.end() - 12) : match.end()]
        if match.group().startswith(".") and _ABBREVIATIONS.search(head.rstrip(")]\"'”’»")):
            continue
        end = match.end()
        trailing = re.match(r"(?:\s*[(\[]?\s*(?:«[^«»]{1,80}»[\s,;]*)+[)\]]?\.?)", text[end:])
        if trailing:
            end += len(trailing.group().rstrip())
        if end <= start:
            continue
        spans.append((start, end))
        start = end
    spans.append((start, len(text)))
    return [trimmed for trimmed in (_trim(text, a, b) for a, b in spans) if trimmed is not None]


def _trim(text: str, start: int, end: int) -> tuple[int, int] | None:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return (start, end) if end > start else None
