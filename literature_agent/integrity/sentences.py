"""Where sentences begin and end in prose of biomedicine."""

from __future__ import annotations

import re
from collections.abc import Iterator

# Full stops that end no sentence in this field's prose.
_ABBREVIATIONS = re.compile(
    r"(?:\b(?:e\.g|i\.e|vs|cf|approx|Fig|Figs|Dr|Prof|No|Nos|St|resp|ca|al|spp|sp|subsp|var|Eq|[Rr]efs?|Inc|Ltd|Jr|Sr|"
    r"min|max|incl|excl|etc|Suppl|Vol|pp|Tab|dept)|\b[A-Z]|\b[a-z]\.[a-z])\.$"
)
_ITEM = r"[ \t]*(?:[-*•–]|\d{1,2}[.)])[ \t]+(?=\S)"
# A blank line, an item of a list, a row of a table.
_END = re.compile(rf"[.!?]+[)\]\"'”’»*_]*(?=\s|$)|\n\s*\n|\n(?={_ITEM})|\n(?=[ \t]*\|)")
# `The question "Does it help?" remains open.`
_GOES_ON_BEHIND_A_QUOTE = re.compile(r"[\"'”’»]\s[^\W\d_](?<=[a-zà-öø-ÿ])")
_NUMBER_OF_ITEM = re.compile(r"(?:^|\n)[ \t]*\d{1,2}\.$")
# What only leads to the next line: a heading, or a line that ends with a colon.
_LEADS_ON = re.compile(r"(?:^|\n)[ \t]*(?:\#{1,6}[ \t][^\n]*|\*\*[^\n*]+\*\*:?|[^\n]*:\**)$")
_ROW = re.compile(r"[ \t]*\|")
_RULE_OF_TABLE = re.compile(r"[ \t]*\|[ \t:|-]*$")
_RULE_BEHIND = re.compile(r"[ \t]*\|[ \t:|-]*(?=\n|$)")
_TRAILING = re.compile(
    r"\s*[(\[]?\s*(?:«[^«»]{1,80}»[\s,;]*)+[)\]]?\.?|\s*\[(?:unsupported|RETRACTED|CONCERN)\](?:\.(?=\s|$))?"
)
# Longer ones were never closed. An apostrophe closes nothing, and what stands in « and » may be a reference.
_QUOTATION = re.compile(
    r"“[^“”]{0,1500}”|„[^„“”]{0,1500}[“”]|‘(?:[^‘’]|’(?=\w)){0,1500}’(?!\w)|«(?!\s?artifact)[^«»]{0,1500}»|‹[^‹›]{0,1500}›"
    r"|「[^「」]{0,1500}」|(?<!\w)\"(?=\S)[^\"\n]{0,1500}\"(?!\w)|(?<![\w'])'(?!\d\ds?\b)(?=\w)(?:[^'\n]|'(?=\w)){0,1500}'(?!\w)"
)


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Half-open ranges of the sentences of `text`, left to right, without the white space between them.

    An item of a list and a row of a table are sentences, headings belong to what follows.

    References and marks after the full stop (`... improved. «ref»`) belong to the sentence before them; a full stop
    within quotation marks ends no sentence.
    """
    spans: list[tuple[int, int]] = []
    start = 0
    quotations = _quotations(text)
    open_one = next(quotations, None)
    for match in _END.finditer(text):
        if match.start() < start:
            continue
        while open_one is not None and open_one[1] <= match.start():
            open_one = next(quotations, None)
        if open_one is not None and open_one[0] < match.start() and match.end() <= open_one[1]:
            continue
        if match.group().startswith("\n") and _goes_on(text, start, match):
            continue
        if _GOES_ON_BEHIND_A_QUOTE.match(text, match.end() - 1):
            continue
        head = text[max(start, match.end() - 12) : match.end()]
        if _NUMBER_OF_ITEM.search(head):
            continue
        if match.group().startswith(".") and _ABBREVIATIONS.search(head.rstrip(")]\"'”’»")):
            continue
        end = match.end()
        while (trailing := _TRAILING.match(text, end)) is not None:
            end += len(trailing.group().rstrip())
        spans.append((start, end))
        start = end
    spans.append((start, len(text)))
    return [trimmed for trimmed in (_trim(text, a, b) for a, b in spans) if trimmed is not None]


def _goes_on(text: str, start: int, newline: re.Match[str]) -> bool:
    """Whether the line before this line end leads to the line behind it."""
    before = text[max(start, text.rfind("\n", start, newline.start()) + 1) : newline.start()]
    if _ROW.match(text, newline.end()) and newline.group() == "\n":
        # The row of names, the rule under it and the first row of values are one.
        return _RULE_OF_TABLE.match(before) is not None or _RULE_BEHIND.match(text, newline.end()) is not None
    return _LEADS_ON.search(before) is not None


def _quotations(text: str) -> Iterator[tuple[int, int]]:
    """Ranges between quotation marks."""
    for match in _QUOTATION.finditer(text):
        yield match.start(), match.end() - 1


def _trim(text: str, start: int, end: int) -> tuple[int, int] | None:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return (start, end) if end > start else None
