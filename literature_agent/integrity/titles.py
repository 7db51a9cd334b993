"""Titles of shown works written out in folded prose."""

from __future__ import annotations

import re
from collections.abc import Iterator

from literature_agent.integrity.hits import Hit
from literature_agent.integrity.known import SHORTEST_QUOTED_TITLE, SHORTEST_TITLE, Known, plain_tokens

_QUOTE = re.compile(r"[\"'(_]\s?$")


def titles_in(text: str, known: Known) -> Iterator[Hit]:
    """Whole titles, whatever stands between their words; short ones only in quotation marks."""
    if not known.titles:
        return
    tokens, written = plain_tokens(text)
    for at in range(len(written) - SHORTEST_QUOTED_TITLE + 1):
        for title in known.titles.get(tuple(written[at : at + SHORTEST_QUOTED_TITLE]), ()):
            if tuple(written[at : at + len(title)]) != title:
                continue
            start, end = tokens[at].start(), tokens[at + len(title) - 1].end()
            if len(title) >= SHORTEST_TITLE or _QUOTE.search(text[max(0, start - 2) : start]):
                yield Hit("title", start, end)
