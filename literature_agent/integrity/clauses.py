"""Cutting a leak out of a sentence without leaving half a statement.

Cut are a bracket around it, a bare marker, or the clause behind `;` or `, whereas` that holds it. Where the leak stands
in the main clause, or more of the sentence follows on its clause, the whole sentence goes.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence

from literature_agent.integrity.leaks import Leak
from literature_agent.registry import cut_out

# Only what opens a whole clause behind a whole one. `, and`, `, which` may also go on with a list or a subject.
_OPENS_CLAUSE = re.compile(r"\s*;\s*|,\s+(?=(?:whereas|whilst|while|although|though|but|yet)\b)", re.I)
_ROUND_OR_SQUARE = re.compile(r"[()\[\]]")
_FINAL = re.compile(r"(?<![.!?])[.!?]+[\"'”’)\]]*\s*$")
_ANAPHORA = re.compile(
    r"^(?:they|he|she|it|its|their|his|her|this|these|those|such|both|neither|"
    r"the (?:authors?|investigators?|researchers?|same|latter|former|trialists)|"
    r"(?:however|moreover|furthermore|similarly|likewise|also|by contrast|in contrast|conversely|indeed|thus|hence|"
    r"therefore|consequently),? (?:they|he|she|it|this|these|those|its|their|the authors?))\b",
    re.I,
)


def refers_back(sentence: str) -> bool:
    """Whether the sentence speaks of what the sentence before it has named."""
    return _ANAPHORA.match(sentence.lstrip("“\"'( ")) is not None


# What a noun must follow: without it the words before hang in the air.
_LEANS_ON = re.compile(
    r"\b(?:by|in|of|from|to|with|see|per|than|like|between|that|whereas|while|as|both|for|on|via|through|unlike|following"
    r"|after|against|about|versus|vs\.?|does|do|did|so|contra|including|and|or|nor|neither|either|are|is|was|were|the|a|an|cites?|cited|says?|found|called)$",
    re.I,
)
_GOES_ON = re.compile(r"[\s)\],:|»\"'”]*[^\W_]")


def carries(text: str, start: int, end: int) -> bool:
    """Whether the grammar rests on `text[start:end]`: it opens a sentence or clause and words go on, or the word before
    leans on it."""
    before = text[max(0, start - 40) : start].rstrip()
    if not re.search(r"[^\W_]", before) or before[-1] in ";:,—–":
        return _GOES_ON.match(text, end) is not None
    return _LEANS_ON.search(before) is not None


# One character for each of a reference: of one that stays, of one that goes.
_STAYS, _GOES = "\ufffc", "\x00"
_FLAT_BRACKET = re.compile(r"[(\[]([^()\[\]]*)[)\]]")
_PART, _SMALL_PART = re.compile(r"[^;]+"), re.compile(r"(?:[^,;]|,(?=\S))+")
_OF_WHICH = re.compile(rf"{_GOES}\s*,?\s*(?:which|who|whose|where|that)\b")
# `{r} and ({u})`
_JOINED_TO = re.compile(rf"(?<=[)\]{_STAYS}])\s*,?\s*(?:and|or|&)\s*$")


# Not a mere list of references.
_SAYS = re.compile(r"(?!(?:and|or)\b)\b[^\W_]", re.I)


def asides(sentence: str, references: Iterable[tuple[int, int, bool]]) -> list[tuple[int, int]] | None:
    """What brackets of `sentence` hold beside references that go (the third of each is true) and none that stays: whole
    brackets, else their parts between `;`, else between commas. None where the sentence rests on such a bracket."""
    read, at = "", 0
    for start, end, goes in references:
        read += sentence[at:start] + (_GOES if goes else _STAYS) * (end - start)
        at = end
    read += sentence[at:]
    cuts: list[tuple[int, int]] = []
    for bracket in _FLAT_BRACKET.finditer(read):
        if _GOES not in bracket[1]:
            continue
        if _STAYS not in bracket[1]:
            joint = _JOINED_TO.search(read, 0, bracket.start())
            start = joint.start() if joint else bracket.start()
            if carries(read, start, bracket.end()):
                return None
            cuts.append((start, bracket.end()))
            continue
        if _OF_WHICH.search(bracket[1]):
            return None
        for part in _PART.finditer(read, bracket.start(1), bracket.end(1)):
            whole = _STAYS not in part.group()
            for each in [part] if whole else _SMALL_PART.finditer(read, part.start(), part.end()):
                alone = _GOES in each.group() and _STAYS not in each.group()
                if alone and (whole or _SAYS.search(each.group())):
                    cuts.append(each.span())
    return cuts


def without(sentence: str, leaks: Sequence[Leak]) -> str:
    """`sentence` without the parts that hold the leaks; empty where no whole statement is left."""
    final = _FINAL.search(sentence)
    body, ending = (sentence[: final.start()], final.group().strip()) if final else (sentence, "")
    read = _Read(body)
    cuts: list[tuple[int, int]] = []
    for leak in leaks:
        aside = read.bracket(leak) or _marker(body, leak)
        cut = aside if aside is not None and not carries(body, *aside) else read.clause(leak)
        if cut is None:
            return ""
        cuts.append(cut)
    kept = _joined(body, cuts)
    return kept + (ending or "") if re.search(r"\w", kept) else ""


class _Read:
    """Brackets and clause openers of a sentence, looked for once."""

    def __init__(self, body: str) -> None:
        self.body = body
        self._closing: dict[int, int] = {}
        # Where the innermost open bracket changes, and which it is then.
        self._changes: list[int] = [0]
        self._innermost: list[int | None] = [None]
        opened: list[int] = []
        for match in _ROUND_OR_SQUARE.finditer(body):
            if match.group() in "([":
                opened.append(match.start())
            elif opened:
                self._closing[opened.pop()] = match.start()
            self._changes.append(match.end())
            self._innermost.append(opened[-1] if opened else None)
        self._openers = [(match.end(), match.start()) for match in _OPENS_CLAUSE.finditer(body)]
        self._last_comma = body.rfind(",")
        self._first_colon = body.find(": ")

    def bracket(self, leak: Leak) -> tuple[int, int] | None:
        """The round or square brackets around the leak, with the blank before them."""
        opening = self._innermost[bisect_right(self._changes, leak.start) - 1]
        closing = None if opening is None else self._closing.get(opening)
        if opening is None or closing is None or closing < leak.end - 1:
            return None
        return _with_blank(self.body, opening), closing + 1

    def clause(self, leak: Leak) -> tuple[int, int] | None:
        """From the last clause opener before the leak to the end, if nothing follows on that clause."""
        number = bisect_right(self._openers, (leak.start, len(self.body))) - 1
        if number < 0 or self._last_comma >= leak.end or -1 < self._first_colon < self._openers[number][1] - 1:
            return None
        return self._openers[number][1], len(self.body)


def _marker(body: str, leak: Leak) -> tuple[int, int] | None:
    if leak.kind != "marker":
        return None
    start, end = leak.start, leak.end
    return (_with_blank(body, start), min(end, len(body))) if start < len(body) else (len(body), len(body))


def _with_blank(body: str, at: int) -> int:
    while at > 0 and body[at - 1] in " \t\u00a0":
        at -= 1
    return at


def _joined(body: str, cuts: Iterable[tuple[int, int]]) -> str:
    kept = cut_out(body, [(start, end, "") for start, end in sorted(cuts)])
    return re.sub(r"(?<!\s)\s+([.,;:!?])", r"\1", kept).strip(" ,;")
