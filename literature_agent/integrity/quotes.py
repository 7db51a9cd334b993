"""Verified quotes: words are shown as a quote only where they stand, word for word, in text this run has shown.

Folded before comparing: white space, Unicode compatibility forms (NFKC), and the typographic variants of quotation
marks and dashes. Nothing else: not case, not numbers, not negations. What is emitted is always the stored text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from literature_agent.artifacts import Quote
from literature_agent.registry import text_hash
from literature_agent.views import MASKS, mask

MIN_QUOTE_CHARACTERS = 12

# One character that stands for any masked identifier, in stored text and in the model's copy of it alike.
_HIDDEN = "\ufffc"
_VARIANTS = {ord(c): "'" for c in "‘’‚‛′`´"} | {ord(c): '"' for c in "“”„‟″«»"} | {ord(c): "-" for c in "‐‑‒–—―−"}
_ELLIPSIS = re.compile(r"\s*(?:\[\s*(?:\.{3}|…)\s*\]|\(\s*(?:\.{3}|…)\s*\)|\.{3,}|…)\s*")
_NEGATION_BEFORE = re.compile(r"(?:\b(?:no|not|never|neither|nor|without|cannot)|n't)\s+$", re.I)
_MASK = re.compile("|".join(re.escape(name) for name in MASKS) + r"|«artifact:link:cite~\w{10}»")


@dataclass(frozen=True)
class ShownSection:
    """Stored text of one section of one copy, and how many of its characters this run has shown."""

    copy_id: str
    section: str
    text: str
    end: int


class _Folded(NamedTuple):
    text: str
    origin: list[int]
    """`origin[i]` is the index in the unfolded text that folded character `i` comes from; one more at the end."""


def _fold(text: str, hidden: Iterable[tuple[int, int]] = ()) -> _Folded:
    out: list[str] = []
    origin: list[int] = []
    masks = dict(hidden)
    at, blank = 0, True
    while at < len(text):
        if at in masks:
            out.append(_HIDDEN)
            origin.append(at)
            at, blank = masks[at], False
            continue
        for character in unicodedata.normalize("NFKC", text[at]).translate(_VARIANTS):
            if character.isspace():
                if blank:
                    continue
                character = " "
            blank = character == " "
            out.append(character)
            origin.append(at)
        at += 1
    origin.append(len(text))
    return _Folded("".join(out), origin)


def _fold_stored(section: ShownSection) -> _Folded:
    pieces = mask(section.text[: section.end])
    return _fold(section.text[: section.end], [(piece.start, piece.end) for piece in pieces if piece.masked])


def _fold_claimed(text: str) -> str:
    from_masks = [(m.start(), m.end()) for m in _MASK.finditer(text)]
    return _fold(text, from_masks).text.strip()


def verify_quote(claimed: str, sections: Iterable[ShownSection]) -> tuple[Quote, ...] | None:
    """The stored words that `claimed` copies, one quote for each part between ellipses; None if any part is not there.

    All parts must stand in one section, in order. A part must be whole words and numbers, and must not begin right
    after a negation that it leaves out.
    """
    bare = claimed.strip()
    # A model often puts its own quotation marks around the words it copies.
    while len(bare) > 1 and bare[0] in "\"'“‘«" and bare[-1] in "\"'”’»":
        bare = bare[1:-1].strip()
    parts = [part for part in (_fold_claimed(p) for p in _ELLIPSIS.split(bare)) if part]
    if not parts or any(len(part) < MIN_QUOTE_CHARACTERS for part in parts):
        return None
    for section in sections:
        stored = _fold_stored(section)
        found: list[Quote] = []
        after = 0
        for part in parts:
            place = _find_whole(stored.text, part, after)
            if place is None:
                break
            after = place + len(part)
            start, end = stored.origin[place], _end_of(stored, place + len(part))
            found.append(
                Quote(
                    text=" ".join(section.text[start:end].split()),
                    copy=section.copy_id,
                    section=section.section,
                    start=start,
                    end=end,
                    text_hash=text_hash(section.text),
                )
            )
        else:
            return tuple(found)
    return None


def _end_of(stored: _Folded, folded_end: int) -> int:
    """Index after the last unfolded character of the folded range: white space that follows is left out."""
    last = stored.origin[folded_end - 1]
    after = stored.origin[folded_end]
    return after if stored.text[folded_end - 1] == _HIDDEN else min(after, last + 1)


def _find_whole(text: str, part: str, after: int) -> int | None:
    place = text.find(part, after)
    while place >= 0:
        if _whole(text, place, place + len(part)):
            return place
        place = text.find(part, place + 1)
    return None


def _whole(text: str, start: int, end: int) -> bool:
    """Whether the range cuts no word or number and leaves out no negation right before it."""
    before, first = text[:start], text[start]
    last, behind = text[end - 1], text[end:]
    if first.isalnum() and before and (before[-1].isalnum() or _joins_number(before[-2:], first)):
        return False
    if last.isalnum() and behind and (behind[0].isalnum() or (last.isdigit() and re.match(r"[.,:]\d|%", behind))):
        return False
    return not _NEGATION_BEFORE.search(before[-12:])


def _joins_number(before: str, first: str) -> bool:
    """Whether a number goes on to the left: `0.|5`, `-|5`, `<|5`."""
    if not first.isdigit():
        return False
    if before[-1] in ".," and len(before) > 1 and before[-2].isdigit():
        return True
    return before[-1] in "-<>≤≥±~" and not (len(before) > 1 and before[-2].isalnum())
