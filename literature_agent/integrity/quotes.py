"""Verified quotes: words are shown as a quote only where they stand, word for word, in text this run has shown.

Folded before comparing: white space, Unicode compatibility and composition forms (NFKC), and the typographic variants
of quotation marks and dashes. Nothing else: not case, not numbers, not negations. What is emitted is always the stored
text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from literature_agent.artifacts import Quote
from literature_agent.registry import find_references, text_hash
from literature_agent.views import MASKS, mask

MIN_QUOTE_CHARACTERS = 12
LONGEST_QUOTE = 4_000
"""Characters; nobody quotes more, and the bound keeps the comparison cheap."""

# One character that stands for any masked identifier, in stored text and in the model's copy of it alike.
_HIDDEN = "\ufffc"
_VARIANTS = {ord(c): "'" for c in '‘’‚‛′`´“”„‟″«»"'} | {ord(c): "-" for c in "‐‑‒–—―−"}
_ELLIPSIS = re.compile(r"\s*(?:\[\s*(?:\.{3}|…)\s*\]|\(\s*(?:\.{3}|…)\s*\)|\.{3,}|…)\s*")
_MASK = re.compile("|".join(re.escape(name) for name in MASKS) + r"|«artifact:link:cite~\w{10}»")
# These fold to themselves, one for one: most of any text. A mark behind the last of them would change it.
_PLAIN = re.compile(r"[!#-&(-_a-~]+(?![\u0300-\u036f\u1ab0-\u1aff\u20d0-\u20ff\u1100-\u11ff])")
_CLUSTER = re.compile(r"[\s\S][\u0300-\u036f\u1ab0-\u1aff\u20d0-\u20ff\u1100-\u11ff]*")

_NEGATION = (
    r"(?:no|not|never|neither|nor|none|without|cannot|hardly|rarely|failed|fails|fail|lack|lacked|absence|unlikely"
    r"|nobody|nothing)"
)
_NEGATES = re.compile(rf"(?:\b{_NEGATION}\b|n't\b)", re.I)
# Back from the beginning of a quote to a negation that it leaves out, over a few words of the same clause.
_NEGATION_BEFORE = re.compile(
    rf"(?:\b{_NEGATION}|n't)\s+(?:(?!(?:and|but|or|whereas|while|although|because|that|which)\b)[\w'-]+\s+){{0,4}}$",
    re.I,
)
# The same over `that`: "it is unlikely that", "little evidence that", "did not find that".
_DOUBT_BEFORE = re.compile(
    rf"(?:\b(?:{_NEGATION}|doubt(?:s|ed|ful)?|unclear|unknown|uncertain|little|insufficient|scant)|n't)\s+(?:[\w'-]+\s+){{0,3}}"
    r"(?:that|whether|if)\s+(?:[\w'-]+\s+){0,3}$",
    re.I,
)
_COMPARES_BEFORE = re.compile(r"\b(?:fewer|less|more|greater|lower|higher|larger|smaller|rather|other)\s$", re.I)
_SENTENCE_END = re.compile(r"[.!?:;]['\")\]]*\s")
# What goes on with a number: digits, a range, a percent sign, a magnitude, an exponent.
_NUMBER_GOES_ON = re.compile(
    r"[.,:]\d|\s?[%‰°]|\s?[-/×x^]\s?\d|\s(?:million|billion|thousand|hundred|per\s?cent|percent|fold|times|\d{3}\b|to\s\d|±)|-fold",
    re.I,
)
_NUMBER_BEFORE = re.compile(r"(?:\d[.,:]|\d\s?[-/×]\s?|\d\s|[<>≤≥±~=+]\s?|(?<![\w])-\s?|\bto\s)$")


@dataclass(frozen=True)
class ShownSection:
    """Stored text of one section of one copy, and the stretch of it, `[start:end]`, that this run has shown."""

    copy_id: str
    section: str
    text: str
    end: int
    start: int = 0

    @cached_property
    def folded(self) -> _Folded:
        """What was shown, folded; masked identifiers are one character each."""
        shown = self.text[self.start : self.end]
        return _fold(shown, [(piece.start, piece.end) for piece in mask(shown) if piece.masked])


class _Folded(NamedTuple):
    text: str
    origin: list[int]
    """`origin[i]` is the index in the unfolded text that folded character `i` comes from; one more at the end."""


def _fold(text: str, hidden: Iterable[tuple[int, int]] = ()) -> _Folded:
    """`text` folded; the `hidden` ranges, left to right, become one character each."""
    out: list[str] = []
    origin: list[int] = []
    at, blank = 0, True
    for start, end in (*hidden, (len(text), len(text))):
        while at < start:
            if (plain := _PLAIN.match(text, at, start)) is not None:
                out.append(plain.group())
                origin.extend(range(at, plain.end()))
                at, blank = plain.end(), False
                continue
            cluster = _CLUSTER.match(text, at, start)
            assert cluster is not None
            for character in unicodedata.normalize("NFKC", cluster.group()).translate(_VARIANTS):
                if character.isspace():
                    if blank:
                        continue
                    character = " "
                blank = character == " "
                out.append(character)
                origin.append(at)
            at = cluster.end()
        if start < end:
            out.append(_HIDDEN)
            origin.append(start)
            at, blank = end, False
    origin.append(len(text))
    return _Folded("".join(out), origin)


def _fold_claimed(text: str) -> str:
    from_masks = [(m.start(), m.end()) for m in _MASK.finditer(text)]
    return _fold(text, from_masks).text.strip()


def verify_quote(claimed: str, sections: Iterable[ShownSection]) -> tuple[Quote, ...] | None:
    """The stored words that `claimed` copies, one quote for each part between ellipses; None if any part is not there.

    All parts must stand in one section, in order. A part must be whole words and numbers, and must not begin behind a
    negation that it leaves out; nor may an ellipsis within a sentence leave one out. In a table all must stand in one
    row. A stretch in which the paper prints what looks like one of our references is no quote: it would read as one.
    """
    bare = claimed.strip()
    # A model often puts its own quotation marks around the words it copies.
    while len(bare) > 1 and bare[0] in "\"'“‘«" and bare[-1] in "\"'”’»":
        bare = bare[1:-1].strip()
    if len(bare) > LONGEST_QUOTE:
        return None
    parts = [part for part in (_fold_claimed(p) for p in _ELLIPSIS.split(bare)) if part]
    if not parts or any(len(part) < MIN_QUOTE_CHARACTERS for part in parts):
        return None
    for section in sections:
        places = _places(section.folded.text, parts)
        if places is None:
            continue
        quotes = [_quote(section, start, end) for start, end in places]
        if any(True for quote in quotes for _ in find_references(quote.text)):
            continue
        if section.section.startswith("table/") and "\n" in section.text[quotes[0].start : quotes[-1].end]:
            continue
        return tuple(quotes)
    return None


def _places(text: str, parts: list[str]) -> list[tuple[int, int]] | None:
    """Where the parts stand in folded `text`, each behind the one before it; None if one does not."""
    places: list[tuple[int, int]] = []
    after = 0
    for part in parts:
        place = next((at for at in _occurrences(text, part, after) if _whole(text, at, at + len(part))), None)
        if place is None:
            return None
        if places and _hides_negation(text[places[-1][1] : place]):
            return None
        places.append((place, place + len(part)))
        after = place + len(part)
    return places


def _occurrences(text: str, part: str, after: int) -> Iterator[int]:
    place = text.find(part, after)
    while place >= 0:
        yield place
        place = text.find(part, place + len(part))


def _hides_negation(left_out: str) -> bool:
    """Whether an ellipsis takes a negation out of a sentence that goes on behind it."""
    return not _SENTENCE_END.search(left_out) and _NEGATES.search(left_out) is not None


def _quote(section: ShownSection, start: int, end: int) -> Quote:
    folded = section.folded
    first, last = folded.origin[start], folded.origin[end - 1]
    after = next((at for at in folded.origin[end:] if at > last), folded.origin[-1])
    # White space behind the last character is left out; a masked identifier is taken whole.
    stop = (
        after
        if folded.text[end - 1] == _HIDDEN
        else last + len(section.text[section.start + last : section.start + after].rstrip())
    )
    first, stop = section.start + first, section.start + stop
    return Quote(
        text=" ".join(section.text[first:stop].split()),
        copy=section.copy_id,
        section=section.section,
        start=first,
        end=stop,
        text_hash=text_hash(section.text),
    )


def _whole(text: str, start: int, end: int) -> bool:
    """Whether the range cuts no word or number and leaves out no negation before it."""
    before, behind = text[max(0, start - 80) : start], text[end : end + 12]
    first, last = text[start], text[end - 1]
    if first.isalnum() and before and before[-1].isalnum():
        return False
    if first.isdigit() and _NUMBER_BEFORE.search(before):
        return False
    if last.isalnum() and behind and behind[0].isalnum():
        return False
    if last.isdigit() and _NUMBER_GOES_ON.match(behind):
        return False
    clause = re.split(r"[.!?;:]\s", before)[-1]
    if text.startswith("than ", start) and _COMPARES_BEFORE.search(clause):
        return False
    return not (_NEGATION_BEFORE.search(clause) or _DOUBT_BEFORE.search(clause))
