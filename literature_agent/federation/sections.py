"""Parts of a full text: the sections asked for by heading, and what a budget of characters leaves of them.

What is cut (K041): sections are given whole in document order, body before back matter; the one in which the budget
ends is cut between characters, never inside one; of all later sections the heading is kept, without text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from literature_agent.artifacts import TextSection
from literature_agent.errors import refused
from literature_agent.results import FullText
from literature_agent.sources._jats import walk
from literature_agent.sources._text import one_line

MOST_HEADINGS = 60
"""Headings named in a message; an article seldom has more."""

# --- sections wanted --------------------------------------------------------------------------------------------------

# "2.1 Methods", "2) Methods", "IV. Results", "A. Setting", "Section 3: Results".
_NUMBERING = re.compile(
    r"(?:section|part)?\s*(?:[0-9]+(?:\.[0-9]+)*[.):]?(?=\s)|[ivxlc]{1,6}[.):](?=\s)|[a-z](?:\.[0-9]+)*[.):](?=\s))\s*"
)


def fitted(full: FullText, wanted: Sequence[str], max_characters: int | None) -> FullText:
    """The text with only the sections wanted, then cut to the budget; `characters_total` is that of the sections.

    Raises:
        InvalidInputError: none of the headings exists; the message lists those that do.
    """
    body, back, warnings = full.sections, full.back_sections, list(full.warnings)
    if wanted:
        body, back, missing = _selected(body, back, wanted)
        if missing:
            there = _headings(full)
            if not body and not back:
                raise refused(
                    "pmc",
                    f"There is no section {_listed(missing)}.",
                    recovery=f"Ask for one of: {there}."
                    if there
                    else "Leave `sections` out: this text has no headings.",
                )
            warnings.append(f"There is no section {_listed(missing)}; there are: {there}.")
    total = length_of((*body, *back))
    is_cut = max_characters is not None and total > max_characters
    if max_characters is not None and is_cut:
        cut = _Cut(max_characters)
        body, back = cut.sections(body), cut.sections(back)
        given = length_of((*body, *back))
        warnings.append(f"Cut to {given:,} of {total:,} characters; not given whole: {', '.join(cut.short)}.")
    return full.model_copy(
        update={
            "sections": body,
            "back_sections": back,
            "truncated": full.truncated or is_cut,
            "characters_total": total,
            "warnings": tuple(warnings),
        }
    )


def sections_named(full: FullText, names: Sequence[str]) -> tuple[frozenset[int], list[str]]:
    """`id()` of each section of those names with all inside it, and the names that are none."""
    body, back, missing = _selected(full.sections, full.back_sections, names_of(names))
    return frozenset(id(section) for _, section in walk((*body, *back))), missing


def whole_characters(text: str, most: int) -> str:
    """The first `most` characters, or a few less: no letter is parted from its marks, no emoji taken apart."""
    if len(text) <= most:
        return text
    end = most
    while end > 0 and _belongs_together(text[end - 1], text[end]):
        end -= 1
    # Flags are pairs of letters of their own.
    flags = len(text[:end]) - len(text[:end].rstrip(_FLAG_LETTERS))
    return text[: end - 1] if flags % 2 and text[end] in _FLAG_LETTERS else text[:end]


_JOINER = "\u200d"
_FLAG_LETTERS = "".join(chr(code) for code in range(0x1F1E6, 0x1F200))


def _belongs_together(before: str, after: str) -> bool:
    return (
        after in (_JOINER, "\ufe0e", "\ufe0f", "\u20e3")
        or before == _JOINER
        or "\U0001f3fb" <= after <= "\U0001f3ff"
        or unicodedata.category(after) in ("Mn", "Me", "Mc")
    )


def names_of(sections: Sequence[str] | str | None) -> tuple[str, ...]:
    listed = (sections,) if isinstance(sections, str) else tuple(sections or ())
    return tuple(dict.fromkeys(text.strip() for text in listed if text.strip()))


def _plain(heading: str) -> str:
    """A heading as it is compared: without case, number and punctuation."""
    text = unicodedata.normalize("NFKC", heading).casefold().replace("&", " and ").strip()
    text = _NUMBERING.sub("", text, count=1) if _NUMBERING.match(text) else text
    return " ".join(re.findall(r"\w+", text)) or text


def _selected(
    body: tuple[TextSection, ...], back: tuple[TextSection, ...], wanted: Sequence[str]
) -> tuple[tuple[TextSection, ...], tuple[TextSection, ...], list[str]]:
    """The sections of those names with all inside them, and the names that are none."""
    chosen: set[int] = set()
    missing: list[str] = []
    paths = [(tuple(_plain(part) for part in parts), section) for parts, section in _paths((*body, *back))]
    for name in wanted:
        found = _matching(paths, name)
        chosen |= {id(section) for section in found}
        if not found:
            missing.append(name)
    return _kept(body, chosen), _kept(back, chosen), missing


def _paths(
    sections: Iterable[TextSection], above: tuple[str, ...] = ()
) -> Iterable[tuple[tuple[str, ...], TextSection]]:
    for section in sections:
        path = (*above, section.heading)
        yield path, section
        yield from _paths(section.sections, path)


def _matching(paths: Sequence[tuple[tuple[str, ...], TextSection]], name: str) -> list[TextSection]:
    """Sections of that heading; else of that path; else whose heading has the words (`Materials and Methods`)."""
    plain = _plain(name)
    if exact := [section for path, section in paths if path[-1] == plain]:
        return exact
    parts = tuple(_plain(part) for part in name.split("/"))
    if len(parts) > 1 and (below := [section for path, section in paths if path[-len(parts) :] == parts]):
        return below
    return [section for path, section in paths if plain and f" {plain} " in f" {path[-1]} "]


def _kept(sections: tuple[TextSection, ...], chosen: set[int]) -> tuple[TextSection, ...]:
    found: list[TextSection] = []
    for section in sections:
        if id(section) in chosen:
            found.append(section)
        else:
            found += _kept(section.sections, chosen)
    return tuple(found)


def _headings(full: FullText) -> str:
    named = [section.heading for _, section in walk((*full.sections, *full.back_sections)) if section.heading]
    more = len(named) - MOST_HEADINGS
    return "; ".join(named[:MOST_HEADINGS]) + (f"; and {more} more" if more > 0 else "")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(repr(one_line(name, 80)) for name in names)


# --- budget -----------------------------------------------------------------------------------------------------------


def length_of(sections: tuple[TextSection, ...]) -> int:
    return sum(len(section.text) for _, section in walk(sections))


@dataclass
class _Cut:
    """Gives text out until the budget is spent."""

    left: int
    short: list[str] = field(default_factory=list)
    """Headings of what was cut or left out."""

    def sections(self, sections: tuple[TextSection, ...]) -> tuple[TextSection, ...]:
        return tuple(self._section(section) for section in sections)

    def _section(self, section: TextSection) -> TextSection:
        text = section.text if len(section.text) <= self.left else whole_characters(section.text, self.left)
        # Nothing follows the place where the text was cut, also if a later section would still fit.
        if len(text) < len(section.text):
            self.left = 0
            self.short.append(f"{section.heading or 'text without heading'} ({len(text):,} of {len(section.text):,})")
        else:
            self.left -= len(text)
        return section.model_copy(update={"text": text, "sections": self.sections(section.sections)})
