"""Citations as people paste them, taken apart: author, title, journal, year, volume, page, identifiers.

Reads the styles of biomedicine (Vancouver and AMA, APA and Harvard, Nature, MLA). What cannot be told apart stays
unsaid; nothing is guessed into a field.
"""

from __future__ import annotations

import re
from typing import Any

from literature_agent.artifacts import Record
from literature_agent.ids import find_identifiers
from literature_agent.sources._text import clean_text

LONGEST_CITATION = 2_000

_NUMBERED = re.compile(r"^\s*(?:\[\d{1,4}\]|\(\d{1,4}\)|\d{1,4}[.)])\s+")
_LEFT_OVER = re.compile(
    r"\b(?:https?://)?(?:dx\.)?doi(?:\.org)?\s*[:/]?\s*(?=[.\s]|$)|"
    r"\b(?:Available (?:from|at)|PMC?ID)\s*:?\s*(?=[.;\s]|$)|"
    r"\bEpub (?:ahead of print )?(?:\d{4} \w{3,9}(?: \d{1,2})?)?",
    re.I,
)
_YEAR = r"(?P<year>(?:18|19|20)\d{2})"
_VOLUME = r"(?P<volume>[A-Za-z]{0,6}\d[\w-]*)"
_ISSUE = r"(?:\s*\([^()]{1,24}\))?"
_PAGE = r"(?P<page>[A-Za-z]{0,4}\d[\w.]*)"
_LAST_PAGE = r"(?:\s*[-–—]\s*[A-Za-z]{0,4}\d[\w.]*)?"

_VANCOUVER = re.compile(
    rf"\b{_YEAR}(?:\s+[A-Za-z]{{3,9}}\.?(?:\s*[-/]\s*[A-Za-z]{{3,9}}\.?)?(?:\s+\d{{1,2}})?)?\s*;\s*{_VOLUME}{_ISSUE}\s*:\s*{_PAGE}"
)
_NATURE = re.compile(rf"\s(?:vol\.\s*)?{_VOLUME}{_ISSUE}\s*[,:]\s*(?:pp?\.\s*)?{_PAGE}{_LAST_PAGE}\s*\({_YEAR}\)", re.I)
_YEAR_IN_BRACKETS = re.compile(rf"\(\s*{_YEAR}[a-z]?(?:\s*,[^()]{{0,24}})?\)[.,:]?\s*")
_APA = re.compile(
    rf"(?:,|\s)\s*(?:vol\.\s*)?{_VOLUME}{_ISSUE}(?:\s*,?\s*no\.\s*\w+)?\s*[,:]\s*(?:pp?\.\s*|article\s+)?{_PAGE}", re.I
)
_MLA = re.compile(
    rf"[,\s]\s*vol\.\s*{_VOLUME}(?:\s*,\s*(?:no|iss)\.\s*[\w-]+)?(?:\s*,[^,]{{0,12}}?{_YEAR})?\s*,\s*pp?\.\s*{_PAGE}",
    re.I,
)
_ANY_YEAR = re.compile(rf"(?<![\d-]){_YEAR}(?!\d)")
_QUOTED = re.compile(r"[“\"](?P<title>[^”\"]{8,400}?)[.,]?[”\"][.,]?\s*")
# Without hyphens: those join words below, and a pattern that can read one in two ways takes for ever.
_WORD = r"[^\W\d_][\w'’`]*"
_CAPITAL = "[A-Z\u00c0-\u00d6\u00d8-\u00de]"
# A name ends before a comma, a full stop, initials, `et al`, `and`, or a year.
_AUTHOR = re.compile(
    rf"(?P<family>{_WORD}(?:[ -]{_WORD}){{0,5}}?)"
    rf"(?:\s*,|\.(?:\s|$)|\s+(?:{_CAPITAL}\.?-?){{1,4}}(?=[\s,.;:&(]|$)|\s+(?:et\s+al\b|(?:and|&)\s+{_CAPITAL})|"
    r"\s*\(?(?=(?:18|19|20)\d{2}))"
)
_SENTENCE_END = re.compile(r"(?<=[.?!])\s+")
_INITIALS = re.compile(r"(?:&\s*|and\s+)?(?:[\w'’-]+,\s*)?(?:[A-Z]\.?[\s-]?){1,4}|et al\.?", re.I)
_ABBREVIATED = re.compile(r"(?:[A-Z][\w&-]{0,7}|U\.?S\.?A?|of|the)\.?(?:\s+[A-Z][\w-]{0,5}\.?)?")


class Citation(Record):
    """One citation by what it says; what is blank it does not say."""

    key: str = ""
    """The caller's own, given back with the match; need not be unique."""
    text: str = ""
    """As pasted."""
    first_author: str | None = None
    title: str | None = None
    journal: str | None = None
    year: int | None = None
    volume: str | None = None
    first_page: str | None = None
    doi: str | None = None
    pmid: str | None = None
    pmcid: str | None = None


def read_citation(text: str, key: str = "") -> Citation:
    """The fields that a pasted citation says."""
    line = _NUMBERED.sub("", clean_text(text[:LONGEST_CITATION]))
    fields: dict[str, Any] = {"key": key, "text": text[:LONGEST_CITATION]}
    rest = line
    for found in reversed(list(find_identifiers(line))):
        if found.kind in ("doi", "pmid", "pmcid"):
            fields[found.kind] = found.value
        rest = rest[: found.start] + rest[found.end :]
    rest = " ".join(_LEFT_OVER.sub(" ", rest).split()).strip(" .;,")
    fields |= _located(rest)
    if author := _AUTHOR.match(rest):
        fields["first_author"] = author["family"].strip(" .,")
    return Citation(**{name: value for name, value in fields.items() if value})


def _located(text: str) -> dict[str, Any]:
    """Title, journal, year, volume and page, by the style that the text has."""
    if match := _VANCOUVER.search(text):
        return {**_numbers(match), **_before(text[: match.start()])}
    quoted = _QUOTED.search(text)
    if quoted and (match := _MLA.search(text, quoted.end() - 1) or _APA.search(text, quoted.end() - 1)):
        year = _ANY_YEAR.search(text[quoted.end() :]) or _ANY_YEAR.search(text)
        return {
            **_numbers(match),
            "year": int(year["year"]) if year else None,
            "title": quoted["title"],
            "journal": text[quoted.end() : match.start()].strip(" .,") or None,
        }
    if match := _NATURE.search(text):
        return {**_numbers(match), **_before(text[: match.start()])}
    if year := _YEAR_IN_BRACKETS.search(text):
        after = text[year.end() :]
        if match := _APA.search(after):
            return {**_numbers(match), "year": int(year["year"]), **_title_and_journal(after[: match.start()])}
        return {"year": int(year["year"]), **_title_and_journal(after)}
    year = _ANY_YEAR.search(text)
    return {"year": int(year["year"]) if year else None, **_only_title(text, quoted)}


def _numbers(match: re.Match[str]) -> dict[str, Any]:
    named = match.groupdict()
    return {
        "year": int(named["year"]) if named.get("year") else None,
        "volume": named["volume"],
        "first_page": (named["page"] or "").rstrip("."),
    }


def _before(text: str) -> dict[str, Any]:
    """Authors, title and journal, one sentence each: `Doe J, Roe R. A title. J Synth`."""
    parts = [part for part in _SENTENCE_END.split(text.strip()) if part.strip(" .,")]
    if len(parts) < 2:
        return {"journal": parts[0].strip(" .,") if parts else None}
    while len(parts) > 2 and _INITIALS.fullmatch(parts[1].strip()):
        parts[:2] = [f"{parts[0]} {parts[1]}"]
    return _title_and_journal(" ".join(parts[1:]))


def _title_and_journal(text: str) -> dict[str, Any]:
    parts = [part for part in _SENTENCE_END.split(text.strip()) if part.strip(" .,")]
    if not parts:
        return {}
    if len(parts) == 1:
        # One sentence in front of volume and page is a journal if it is short, else a title.
        name = "journal" if len(parts[0].split()) <= 5 else "title"
        return {name: parts[0].strip(" .,")}
    first_of_journal = len(parts) - 1
    while first_of_journal > 1 and _ABBREVIATED.fullmatch(parts[first_of_journal - 1].strip()):
        first_of_journal -= 1
    return {
        "title": " ".join(parts[:first_of_journal]).strip(" .,"),
        "journal": " ".join(parts[first_of_journal:]).strip(" .,"),
    }


def _only_title(text: str, quoted: re.Match[str] | None) -> dict[str, Any]:
    """The title of a citation without volume and page: what is quoted, else its longest sentence."""
    if quoted:
        return {"title": quoted["title"]}
    author = _AUTHOR.match(text)
    rest = _ANY_YEAR.sub(" ", text[author.end() :] if author else text)
    parts = [part.strip(" .,;:()") for part in _SENTENCE_END.split(rest)]
    longest = max(parts, key=len, default="")
    return {"title": longest} if len(longest.split()) >= 3 else {}
