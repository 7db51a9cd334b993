"""References: the only form in which a model handles a paper.

`«artifact:link:cite~K7QX2MDA4T»`: nine characters of Crockford base 32 (45 bits of a hash of the strongest
identifier) and a check character. A key is a name, not a right: whether it may be cited is the ledger's matter.
Reading is lenient, writing exact.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from typing import NamedTuple

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Crockford base 32: no I, L, O, U."""
KEY_LENGTH = 10

_VALUE = {character: value for value, character in enumerate(ALPHABET)}
_SHAPE = re.compile(f"[{ALPHABET}]{{{KEY_LENGTH}}}")
_CONFUSED = str.maketrans({"O": "0", "I": "1", "L": "1"})


def _times(left: int, right: int) -> int:
    """Product in GF(2^5) with x^5 + x^2 + 1."""
    product = 0
    for bit in range(5):
        if right >> bit & 1:
            product ^= left << bit
    for bit in range(8, 4, -1):
        if product >> bit & 1:
            product ^= 0b100101 << (bit - 5)
    return product


def _weights() -> tuple[int, ...]:
    weights = [1]
    while len(weights) < KEY_LENGTH:
        weights.append(_times(weights[-1], 2))
    return tuple(weights)


# A key is right when the sum of a^i * character i over all ten is zero. The powers of `a` differ from each other and
# from zero, so that a changed character and a swap of two neighbours always change the sum; a sum modulo 32 misses
# some.
_WEIGHTS = _weights()
_TERMS = tuple({character: _times(weight, value) for character, value in _VALUE.items()} for weight in _WEIGHTS)
_LAST = {term: character for character, term in _TERMS[-1].items()}


def _sum(characters: str) -> int:
    total = 0
    for terms, character in zip(_TERMS, characters, strict=False):
        total ^= terms[character]
    return total


def is_key(key: str) -> bool:
    """Whether `key`, as written exactly, has ten characters of the alphabet and the right check character."""
    return len(key) == KEY_LENGTH and _is_right(key)


@lru_cache(maxsize=16384)
def _is_right(key: str) -> bool:
    return _SHAPE.fullmatch(key) is not None and _sum(key) == 0


def normalise_key(raw: str) -> str:
    """`raw` in upper case with O read as 0 and I, L as 1. It need not be a valid key."""
    return raw.upper().translate(_CONFUSED)


def key_of(identity: str, *, round: int = 0) -> str:
    """The key of an identity; see `Reference.for_identity`."""
    # The salt of round 0 is all zeros, which is BLAKE2b without a salt.
    digest = blake2b(identity.encode(), digest_size=8, salt=round.to_bytes(8, "big")).digest()
    number = int.from_bytes(digest, "big") >> 19
    body = "".join([ALPHABET[number >> shift & 31] for shift in _SHIFTS])
    return body + _LAST[_sum(body)]


_SHIFTS = tuple(range(40, -1, -5))


@dataclass(frozen=True, slots=True, order=True)
class Reference:
    """The name of one work. `str(reference)` is its one written form.

    Raises:
        ValueError: `key` is not a valid key.
    """

    key: str

    def __post_init__(self) -> None:
        if not is_key(self.key):
            raise ValueError(f"{self.key!r} is no reference key: ten characters of {ALPHABET}, the last a check")

    def __str__(self) -> str:
        return f"«artifact:link:cite~{self.key}»"

    @classmethod
    def for_identity(cls, identity: str, *, round: int = 0) -> Reference:
        """The reference of `identity` (`doi:10.5555/x`, `pmid:90000001`, ...). `round` counts taken keys skipped."""
        return cls(key_of(identity, round=round))

    @classmethod
    def parse(cls, text: str) -> Reference | None:
        """The reference that `text`, taken whole, spells in any readable form, also as a bare key; None if none."""
        key = _key_in(text)
        return _named(key) if is_key(key) else None


_named = lru_cache(maxsize=16384)(Reference)


class FoundReference(NamedTuple):
    """A token in a text that spells a reference, or tries to: `text[start:end] == raw`."""

    start: int
    end: int
    raw: str
    key: str
    """As normalised; any length, and maybe outside the alphabet, where `check_ok` is False."""
    check_ok: bool
    """Ten characters of the alphabet and the right check character."""

    @property
    def reference(self) -> Reference | None:
        return Reference(self.key) if self.check_ok else None


# Every repeat is bounded or a single character class followed by what it cannot match, so that the pass is linear.
_TOKEN = re.compile(
    r"""
    (?P<open>«|<<|<|‹|\[)? [ \u00a0\u202f]?
    (?<![^\W_])
    (?P<label>(?:artifact:)?(?:link:)?) cite (?::[a-z]{1,12}){0,2} \\?[~∼～˜]
    (?P<key>[0-9A-Za-z]*)
    (?P<close>[ \u00a0\u202f]?(?:»|>>|>|›|\]))?
    """,
    re.X | re.I,
)
_TILDES = "~∼～˜"
_PAIRS = {"[": "]", "<": ">"}


def find_references(text: str) -> Iterator[FoundReference]:
    """All tokens that spell a reference, rightly or not, left to right, in one linear pass.

    Read are `«...»`, `<<...>>`, `<...>`, `[...]` and the bare `artifact:link:cite~KEY`, `cite~KEY`, in any case.
    Round brackets belong to the sentence. Tokens of wrong length or check are found too, to be reported.
    """
    if not any(tilde in text for tilde in _TILDES):
        return
    for match in _TOKEN.finditer(text):
        opening, closing = match["open"] or "", (match["close"] or "").strip()
        if not match["key"] and not (match["label"] or opening):
            continue
        start = match.start()
        end = match.end()
        # A square bracket or a single `<` belongs to the token only where both of the pair stand.
        if opening in _PAIRS and closing != _PAIRS[opening]:
            start = match.start("label")
            opening = ""
        if closing in _PAIRS.values() and _PAIRS.get(opening) != closing:
            end = match.end("key")
        if not opening:
            start = match.start("label")
        key = normalise_key(match["key"])
        yield FoundReference(start, end, text[start:end], key, is_key(key))


TOKEN_MASK = "[token]"
"""What stands where text of a paper spells a reference."""


def mask_references(text: str) -> str:
    """`text` of a paper with `[token]` for whatever `find_references` finds: only we write references."""
    pieces, end = [], 0
    for found in find_references(text):
        pieces += [text[end : found.start], TOKEN_MASK]
        end = found.end
    return "".join([*pieces, text[end:]]) if pieces else text


def read_reference(text: str) -> Reference | None:
    """`Reference.parse`: the reference that `text`, taken whole, spells."""
    return _read_written(text) if len(text) == _WRITTEN_LENGTH else Reference.parse(text)


def near(written: str, shown: Iterable[Reference | str]) -> str | None:
    """The one of `shown` that a mistyped `written` is one edit away from, in the form in which it was given.

    Both may be keys or written references. An edit is a changed, missing or additional character or a swap of two
    neighbours. None when none or several are so near, and when `written` has the right check: then it is no typo.
    """
    key = _key_in(written)
    if is_key(key) or not KEY_LENGTH - 1 <= len(key) <= KEY_LENGTH + 1:
        return None
    edits = set(_edits(key))
    known = {spelled: str(each) for each in shown if (spelled := _spelled(each)) in edits}
    return next(iter(known.values())) if len(known) == 1 else None


def written_key(text: str) -> str | None:
    """The key, perhaps invalid, if `text` is exactly what `str(Reference)` gives; the short way for what we wrote."""
    if len(text) == _WRITTEN_LENGTH and text.startswith(_WRITTEN_START) and text.endswith("»"):
        return text[len(_WRITTEN_START) : -1]
    return None


_WRITTEN_START = "«artifact:link:cite~"
_WRITTEN_LENGTH = len(_WRITTEN_START) + KEY_LENGTH + 1
_read_written = lru_cache(maxsize=16384)(Reference.parse)


def _key_in(text: str) -> str:
    if (written := written_key(text)) is not None and is_key(written):
        return written
    stripped = text.strip()
    match = _TOKEN.fullmatch(stripped)
    return normalise_key(match["key"] if match else stripped)


def _spelled(each: Reference | str) -> str:
    return each.key if isinstance(each, Reference) else written_key(each) or _key_in(each)


def _edits(key: str) -> Iterator[str]:
    if len(key) == KEY_LENGTH:
        for at in range(len(key)):
            for character in ALPHABET:
                yield key[:at] + character + key[at + 1 :]
        for at in range(len(key) - 1):
            yield key[:at] + key[at + 1] + key[at] + key[at + 2 :]
    elif len(key) < KEY_LENGTH:
        for at in range(len(key) + 1):
            for character in ALPHABET:
                yield key[:at] + character + key[at:]
    else:
        for at in range(len(key)):
            yield key[:at] + key[at + 1 :]


def replace_references(text: str, mapping: Mapping[str, str]) -> str:
    """`text` with each token whose key is in `mapping` written as the value; all other characters stay as they are.

    Keys are compared as normalised, the malformed ones too.
    """
    pieces, end = [], 0
    for found in find_references(text):
        if found.key in mapping:
            pieces += [text[end : found.start], mapping[found.key]]
            end = found.end
    return "".join([*pieces, text[end:]])


_SEPARATOR = re.compile(
    r"\s*(?:(?:[,;/]\s*)+(?:(?:and|or)\s+|&\s*)?|\s(?:and|or|plus|as\s+well\s+as)\s+|[&+|·]\s*)?|[-–—]", re.I
)
_LEAD_IN = r"(?:(?:see(?:\s+also)?|e\.?g\.?,?|cf\.?|refs?\.?:?|references?:?|sources?:?|cited\s+in|reviewed\s+in)\s*)?"
_OPENED = re.compile(rf"\s*[(\[]\s*(?:[,;—–]\s*)*{_LEAD_IN}$", re.I)
_CLOSED = re.compile(r"\s*[)\]]")
_NOTHING_MORE = re.compile(r"\s*(?:[.,;:!?—–]\s*)*[)\]]")
_JOINTS = re.compile(r"([,;/])(?:\s*[,;/])+")
_JOINTS_BEFORE = re.compile(r"(?:\s*[,;—–])*\s*$")
_JOINTS_BEHIND = re.compile(r"\s*(?:[,;—–]\s*)*")
_STOPS_AND_JOINTS = re.compile(r"\s*(?:[.,;:!?—–]\s+|[,;—–]\s*)*")
_JOINTS_OF_LINE = re.compile(r"[ \t]*(?:[,;—–][ \t]*)*")
_STOPS_BEHIND = re.compile(r"[ \t]*(?:[,;:!?]|\.(?!\d))*")
_BLANKS = re.compile(r"[ \t\u00a0]*")
_FRACTION = re.compile(r"\.\d")
# What would stand around nothing.
_AROUND = {"*": "*", "_": "_", "`": "`", "“": "”", "‘": "’", '"': '"', "'": "'", "<": ">", "{": "}"}
_LOOK_BACK = 64


def remove_references(text: str, keys: Collection[str]) -> str:
    """`text` without the tokens whose key is in `keys`: the exact tokens and the joints they leave (K077, K078).

    A separator or `and` between two tokens goes with the removed one; brackets left empty go; the space before a
    removed token goes. Tokens of other keys and all other text stay.
    """
    clusters: list[list[FoundReference]] = []
    for found in find_references(text):
        if clusters and _SEPARATOR.fullmatch(text, clusters[-1][-1].end, found.start):
            clusters[-1].append(found)
        else:
            clusters.append([found])
    cuts: list[tuple[int, int, str]] = []
    for cluster in clusters:
        kept = [index for index, found in enumerate(cluster) if found.key not in keys]
        if len(kept) < len(cluster):
            cuts.append((cluster[0].start, cluster[-1].end, _rejoined(text, cluster, kept)))
    return cut_out(text, cuts)


def cut_out(text: str, cuts: Iterable[tuple[int, int, str]]) -> str:
    """`text` with what stands from `start` to `end` replaced by the third; where that is empty, brackets and
    punctuation that would stand alone go too. The cuts are in the order of the text."""
    done: list[str] = []
    tail = ""
    position = 0
    for start, end, instead in cuts:
        tail += text[position:start]
        done.append(tail[:-_LOOK_BACK])
        tail = tail[-_LOOK_BACK:]
        position = max(position, end)
        if instead:
            tail += instead
        else:
            tail, position = _closed_up(tail, text, position)
    return "".join([*done, tail, text[position:]])


def _rejoined(text: str, cluster: list[FoundReference], kept: list[int]) -> str:
    if not kept:
        return ""
    between = [_JOINTS.sub(r"\1", text[left.end : right.start]) for left, right in pairwise(cluster)]
    joined = cluster[kept[0]].raw
    for index in kept[1:]:
        # `A, B and C` without C is `A and B`: the last pair keeps the last joint.
        joined += between[-1] if index == kept[-1] else between[index - 1]
        joined += cluster[index].raw
    return joined


def _closed_up(before: str, text: str, position: int) -> tuple[str, int]:
    """What stands before and from where `text` goes on, after everything between was cut."""
    while True:
        if _AROUND.get(before[-1:]) == text[position : position + 1] != "":
            before, position = before[:-1], position + 1
        elif (opened := _OPENED.search(before)) and (closed := _NOTHING_MORE.match(text, position)):
            before, position = before[: opened.start()], closed.end()
        else:
            break
    bare = before.rstrip(" \t\u00a0")
    behind = _end_of(_BLANKS, text, position)
    # A fraction may begin with its point.
    following = "" if (ahead := text[behind : behind + 2]) == "" else "0" if _FRACTION.match(ahead) else ahead[0]
    if not bare or bare.endswith("\n"):
        return before, _end_of(_JOINTS_OF_LINE, text, position)
    if bare[-1] in "([":
        return bare, _end_of(_STOPS_AND_JOINTS, text, position)
    if _CLOSED.match(text, position):
        return _JOINTS_BEFORE.sub("", before), _end_of(_JOINTS_BEHIND, text, position)
    if bare[-1] in ".:!?" and following and following in ".,;:!?":
        # What ends behind it has ended before it.
        return bare, _end_of(_STOPS_BEHIND, text, position)
    if not following or following in ".,;:!?—–":
        return _JOINTS_BEFORE.sub("", bare) + " " * (following in tuple("—–")), behind
    if following.isspace() or behind > position or following in "}”’":
        return bare, position
    if (before[-1:].isalnum() or before[-1:] in ")]»") and (following.isalnum() or following in "([«"):
        before += " "
    return before, position


def _end_of(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position
