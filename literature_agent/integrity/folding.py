"""Text as the guard reads it: one spelling for what can be spelled in many ways, with the way back to the original.

Undone are markup and emphasis, HTML entities, percent and backslash escapes, compatibility forms (full width,
ligatures), digits of other scripts, letters that only look Latin, variants of dashes, dots, slashes and quotation
marks, and characters that cannot be seen. Reference tokens become one character, `TOKEN`; white space becomes one
blank.
"""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote

from literature_agent.registry import find_references

TOKEN = "\ufffc"
"""Stands for a reference token, so that no pattern reads into one."""

# Escapes may be nested (`%2526#46;`); deeper than this nobody reads them either.
_ROUNDS = 4

_ESCAPED = re.compile(
    r"""
    (?P<entity>&(?:\#[0-9]{1,7}|\#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});)
  | (?P<percent>(?:%[0-9A-Fa-f]{2})+)
  | (?P<escape>\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[^\w\s]))
    """,
    re.X,
)
_ESCAPES = re.compile(r"[&%\\]")
_SPECIAL = re.compile(
    r"""
    (?P<markup><!--[^<>]{0,200}-->|</?(?:a|b|br|code|em|font|i|mark|p|small|span|strong|sub|tt|u|wbr)\b[^<>]{0,160}>)
  | (?P<raised></?sup\b[^<>]{0,160}>)
  | (?P<emphasis>[*`]+|__+)
  | (?P<hyphenation>(?<=[A-Za-z0-9])-[ \t]*\n[ \t]*)
  | (?P<superscript>[\u00b9\u00b2\u00b3\u2070-\u207f]+)
  | (?P<circled>[\u2460-\u2473\u2776-\u2793\u24f5-\u24fe])
  | (?P<blank>[\s\u2800\u3164\uffa0]{2,}|[^\S\ ]|[\u2800\u3164\uffa0])
  | (?P<other>[\x00-\x1f]|[^\x00-\x7f])
    """,
    re.X,
)
# Where none of these stands, the text is read as it is.
_ANYTHING = re.compile(r"[^\x20-\x7e]|[&%\\*`<~]|__|\ \ ")
_VARIANTS = str.maketrans(
    {
        **dict.fromkeys("‐‑‒–—―−﹘⁃", "-"),
        **dict.fromkeys("⁄∕⧸／╱", "/"),
        **dict.fromkeys("․。．｡٫·‧∙⋅•・", "."),
        **dict.fromkeys("‘’‚‛′ʼʹ´ˈ", "'"),
        **dict.fromkeys("“”„‟″«»❝❞〝〞〟", '"'),
        **dict.fromkeys("∼～˜", "~"),
        **dict.fromkeys("ː꞉∶", ":"),
        **dict.fromkeys("【〔［", "["),
        **dict.fromkeys("】〕］", "]"),
        # NFKC would make `No` of it, which grows together with what stands beside it.
        "№": "#",
        "，": ",",
        "、": ",",
        "；": ";",
    }
)
# Cyrillic and Greek letters with the shape of a Latin one.
_LOOKALIKE = str.maketrans(
    "АВЕКМНОРСТУХЅІЈаеорсухѕіјԁԛԝһոΑΒΕΖΗΙΚΜΝΟΡΤΥΧοѴ",
    "ABEKMHOPCTYXSIJaeopcyxsijdqwhnABEZHIKMNOPTYXoV",
)
_WORD = re.compile(r"(?:[^\W_]|[.:/-])+")
_FOREIGN = re.compile("[\u0370-\u058f]")


@dataclass(frozen=True)
class Folded:
    """`text` as read, and where each part of it stands in the original."""

    text: str
    _at: tuple[int, ...]
    """Where in `text` each piece begins."""
    _pieces: tuple[tuple[int, int, bool], ...]
    """Original start and end of each piece, and whether it was copied character by character."""

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The original range that `text[start:end]` was read from; `end` is above `start`."""
        return self._place(start)[0], self._place(end - 1)[1]

    def _place(self, index: int) -> tuple[int, int]:
        number = bisect_right(self._at, index) - 1
        start, end, copied = self._pieces[number]
        if not copied:
            return start, end
        here = start + index - self._at[number]
        return here, here + 1


def fold(text: str) -> Folded:
    """`text` as the guard reads it, in linear time."""
    if not _ANYTHING.search(text):
        return Folded(text, (0,), ((0, len(text), True),))
    # A bare label with a wrong key is no token that a reader reads.
    tokens = (found for found in find_references(text) if found.check_ok or not found.raw[0].isalpha())
    folded = _rebuilt(text, ((found.start, found.end, TOKEN) for found in tokens))
    for _ in range(_ROUNDS):
        if not _ESCAPES.search(folded.text):
            break
        again = _rewritten(folded, _ESCAPED)
        if again is folded:
            break
        folded = again
    folded = _rewritten(folded, _SPECIAL)
    if not _FOREIGN.search(folded.text):
        return folded
    # One character for one: the map stays as it is.
    return Folded(_WORD.sub(_latin, folded.text), folded._at, folded._pieces)


def _rewritten(folded: Folded, pattern: re.Pattern[str]) -> Folded:
    again = _rebuilt(folded.text, ((m.start(), m.end(), _read(m)) for m in pattern.finditer(folded.text)))
    return folded if again.text == folded.text else _joined(folded, again)


def _rebuilt(text: str, edits: Iterable[tuple[int, int, str]]) -> Folded:
    """`text` with each edit's range written as its string."""
    parts: list[str] = []
    at: list[int] = []
    pieces: list[tuple[int, int, bool]] = []
    length = done = 0
    for start, end, new in edits:
        if text[start:end] == new:
            continue
        for part, piece in ((text[done:start], (done, start, True)), (new, (start, end, False))):
            if part:
                parts.append(part)
                at.append(length)
                pieces.append(piece)
                length += len(part)
        done = end
    if done < len(text) or not at:
        parts.append(text[done:])
        at.append(length)
        pieces.append((done, len(text), True))
    return Folded("".join(parts), tuple(at), tuple(pieces))


def _joined(first: Folded, second: Folded) -> Folded:
    """The reading of a reading, mapped to the original of the first."""
    at: list[int] = []
    pieces: list[tuple[int, int, bool]] = []
    number = 0
    for place, (start, end, copied) in zip(second._at, second._pieces, strict=True):
        if not copied:
            at.append(place)
            pieces.append((*first.span(start, end), False))
            continue
        # A copied stretch crosses pieces of the first reading: it is cut where they begin.
        while number + 1 < len(first._at) and first._at[number + 1] <= start:
            number += 1
        here = start
        while here < end:
            begun, (before, after, plain) = first._at[number], first._pieces[number]
            until = min(end, first._at[number + 1] if number + 1 < len(first._at) else end)
            at.append(place + here - start)
            if plain:
                pieces.append((before + here - begun, before + until - begun, True))
            else:
                pieces.append((before, after, False))
            here = until
            if here < end:
                number += 1
    return Folded(second.text, tuple(at) or (0,), tuple(pieces) or ((0, 0, True),))


def _read(match: re.Match[str]) -> str:
    raw = match.group()
    match match.lastgroup:
        case "markup" | "emphasis" | "hyphenation":
            return ""
        case "raised":
            return "" if raw[1] == "/" else "^"
        case "entity":
            return html.unescape(raw)
        case "percent":
            plain = unquote(raw, errors="ignore")
            return plain if plain.isprintable() else raw
        case "escape":
            return chr(int(raw[2:], 16)) if raw[1] in "ux" else raw[1]
        case "blank":
            return " "
        case "superscript":
            return "^" + unicodedata.normalize("NFKC", raw).translate(_VARIANTS)
        case "circled":
            return f"^({unicodedata.numeric(raw):.0f})"
    return _plain(raw)


@lru_cache(maxsize=4096)
def _plain(character: str) -> str:
    """The one spelling of a character; empty for one that cannot be seen."""
    if unicodedata.category(character) in ("Cf", "Cc", "Cs", "Co", "Mn") or character in "\u115f\u1160\u034f":
        return ""
    usual = unicodedata.normalize("NFKC", character.translate(_VARIANTS)).translate(_VARIANTS)
    return "".join(c if (digit := unicodedata.decimal(c, None)) is None else str(digit) for c in usual)


def _latin(match: re.Match[str]) -> str:
    """A word of look-alikes in Latin letters; words of another script are left alone."""
    word = match.group()
    if word.isascii():
        return word
    spelled = word.translate(_LOOKALIKE)
    return word if _FOREIGN.search(spelled) else spelled
