"""What prose puts in quotation marks, whatever marks they are: words that somebody is said to have said."""

from __future__ import annotations

import re
from collections.abc import Iterator

from literature_agent.integrity.folding import TOKEN, fold
from literature_agent.integrity.known import plain_words

QUOTED_WORDS = 5
"""Fewer words in quotation marks are a term, not a quote."""
ATTRIBUTED_WORDS = 3
"""So few are a quote where somebody is said to have said them."""

# Marks that open and close differently may hold others.
_PAIRED = re.compile(
    r"“([^“”]{12,4000})”|„([^„“”]{12,1500})[“”]|«(?!\s?artifact)([^«»]{12,1500})»|‘((?:[^‘’]|’(?=\w)){12,1500})’(?!\w)"
    r"|(?<!\w)\"([^\"]{12,1500})\"(?!\w)"
)
# Folding has made `"` and `'` of most marks, and one character of each reference. Inches and apostrophes open nothing.
_QUOTED = re.compile(
    r"(?<!\w)\"\s?(?P<double>[^\"]{12,4000}?)\s?\"(?!\w)"
    r"|(?<![\w'])'\s?(?P<single>(?!\d\ds?\b)\w(?:[^']|'(?=\w)){12,1500})\s?'(?!\w)"
    r"|[‹›「『]\s?(?P<other>[^‹›「」『』]{12,1500}?)\s?[‹›」』]"
    r"|<q\b[^<>]{0,40}>(?P<tagged>[^<]{12,1500})</q>"
    rf"|(?<!\w)\"(?=\w)(?P<unclosed>[^\"{TOKEN}]{{20,1500}})[^\"]*$"
)
# What folding takes for emphasis or loses with the line ends.
_TICKED = re.compile(r"``([^`']{12,1500})''")
# Folding makes one of all double marks, so that a quote within a quote would end it.
_AROUND_OTHERS = re.compile(r"“([^“”]{12,4000})”")
_BLOCK = re.compile(r"(?:^|\n)[ \t]*>[ \t]?([^\n]{12,1500})")
_SAID = (
    r"\b(?:writes?|wrote|written|states?|stated|says?|said|conclud(?:es?|ed)|notes?|noted|argues?|argued|claims?|claimed|quotes?"
    r"|quoted|words|declares?|declared|reports?|reported)\b"
)
_SAID_BEFORE = re.compile(rf"{_SAID}(?:\sthat)?[,:]?\s?$", re.I)
# Some of these words are nouns, too: `covers several states`.
_SAID_BEHIND = re.compile(
    rf"[,.]?\s?(?:{_SAID}|(?:\w+\s){{1,2}}(?!(?:states|notes|words|claims|reports|quotes)\b){_SAID})", re.I
)


def quotations(sentence: str) -> Iterator[str]:
    """The quoted words of `sentence`, as they are written there, left to right for each kind of mark."""
    folded = fold(sentence)
    paired = [match.span() for match in _PAIRED.finditer(sentence)]
    for start, end in paired:
        words = sentence[start + 1 : end - 1].strip()
        said = _is_said(sentence[max(0, start - 30) : start], sentence[end : end + 40])
        if len(plain_words(words)) >= (ATTRIBUTED_WORDS if said else QUOTED_WORDS):
            yield words
    for match in _QUOTED.finditer(folded.text):
        name = match.lastgroup
        assert name is not None
        start, end = folded.span(match.start(name), match.end(name))
        if any(first <= start and end <= last for first, last in paired):
            continue
        words = sentence[start:end].strip()
        before, behind = folded.text[max(0, match.start() - 30) : match.start()], folded.text[match.end() :][:40]
        if len(plain_words(words)) >= (ATTRIBUTED_WORDS if _is_said(before, behind) else QUOTED_WORDS):
            yield words
    for pattern in (_TICKED, _AROUND_OTHERS, _BLOCK):
        for match in pattern.finditer(sentence):
            words = match.group(1).strip()
            if len(plain_words(words)) >= QUOTED_WORDS and (pattern is not _AROUND_OTHERS or '"' in words):
                yield words


def _is_said(before: str, behind: str) -> bool:
    return _SAID_BEFORE.search(before) is not None or _SAID_BEHIND.match(behind) is not None
