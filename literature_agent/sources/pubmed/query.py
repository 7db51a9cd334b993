"""What is asked: terms, filters, pages and identifiers as callers write them, checked and put into E-utilities' words.

The query itself is never changed. Publication dates go beside it (`datetype=pdat`, `mindate`, `maxdate`); the filters
for which ESearch has no parameter are added to the term with AND: `(query) AND ("Review"[pt])`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple
from urllib.parse import urlencode

from literature_agent.errors import InvalidInputError, SourceError, refused
from literature_agent.ids import identify
from literature_agent.sources._text import (
    date_bounds,
    first_day,
    last_day,
    one_line,
    parse_partial_date,
    quoted,
    require_query,
)

NAME = "pubmed"

REACH = 9_999
"""Records of one search that PubMed gives away, whatever their number (K001, K002)."""
MOST_IDS = 2_000
"""Identifiers that one fetch takes; above, search with the condition that selects them."""

SORTS = {"relevance": "relevance", "pub_date": "pub_date", "author": "Author", "journal": "JournalName"}
"""Orders, and how ESearch spells them."""
_WEB_SORTS = {"pub_date": "pubdate", "author": "fauth", "journal": "jour"}

_EARLIEST, _LATEST = "1000/01/01", "3000/12/31"  # ESearch takes both ends of a range or neither
_TWO_LETTERS = {
    "ar": "ara", "bg": "bul", "cs": "cze", "da": "dan", "de": "ger", "el": "gre", "en": "eng", "es": "spa", "fa": "per",
    "fi": "fin", "fr": "fre", "he": "heb", "hr": "hrv", "hu": "hun", "it": "ita", "ja": "jpn", "ko": "kor", "nl": "dut",
    "no": "nor", "pl": "pol", "pt": "por", "ro": "rum", "ru": "rus", "sr": "srp", "sv": "swe", "tr": "tur", "uk": "ukr",
    "zh": "chi",
}  # fmt: skip
"""PubMed writes languages as MARC does, with three letters; people often write two."""


@dataclass(frozen=True)
class Search:
    """One search, ready to be sent."""

    query: str
    """As the caller wrote it."""
    term: str
    """What is sent: the query, with those filters that have no parameter of their own."""
    sort: str
    start: str | None = None
    """First and last publication day, `YYYY/MM/DD`; both or neither."""
    end: str | None = None
    applied: dict[str, str] = field(default_factory=dict)
    """The filters, as they are sent."""
    warnings: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        """The same search on PubMed's site."""
        term = self.term
        if self.start and self.end:
            term = f'({term}) AND ("{self.start}"[dp] : "{self.end}"[dp])'
        order = {"sort": _WEB_SORTS[self.sort]} if self.sort in _WEB_SORTS else {}
        return "https://pubmed.ncbi.nlm.nih.gov/?" + urlencode({"term": term, **order})


def plan_search(
    query: str,
    *,
    date_from: str | None = None,
    date_to: str | None = None,
    publication_types: Sequence[str] | str | None = None,
    languages: Sequence[str] | str | None = None,
    since_entry_date: str | None = None,
    sort: str | None = None,
) -> Search:
    """The search that these arguments ask for; blank ones are absent.

    Raises:
        InvalidInputError: the query or a filter is refused; the message names value and fix.
    """
    require_query(query, NAME)
    first, last = date_bounds(date_from, date_to, source=NAME)
    applied: dict[str, str] = {}
    conditions: list[str] = []
    for name, date in (("date_from", first), ("date_to", last)):
        if date:
            applied[name] = date
    if types := _values("publication_types", publication_types):
        conditions.append(_any_of([f'"{value}"[pt]' for value in types]))
        applied["publication_types"] = ", ".join(types)
    if spoken := [_language(value) for value in _values("languages", languages)]:
        conditions.append(_any_of([f'"{value}"[la]' for value in spoken]))
        applied["languages"] = ", ".join(spoken)
    if since_entry_date and since_entry_date.strip():
        since = parse_partial_date(since_entry_date, name="since_entry_date", source=NAME)
        conditions.append(f'("{_slashed(first_day(since))}"[edat] : "{_LATEST[:4]}"[edat])')
        applied["since_entry_date"] = since
    order = _order(sort)
    if sort and sort.strip():
        applied["sort"] = order
    ranged = bool(first or last)
    return Search(
        query=query,
        term=" AND ".join([f"({query})", *conditions]) if conditions else query,
        sort=order,
        start=(_slashed(first_day(first)) if first else _EARLIEST) if ranged else None,
        end=(_slashed(last_day(last)) if last else _LATEST) if ranged else None,
        applied=applied,
        warnings=tuple(_doubts(query, bool(conditions))),
    )


def offset_of(page: str | None) -> int:
    """Number of records before the page.

    Raises:
        InvalidInputError: not a `next_page` of PubMed, or beyond its reach.
    """
    text = str(page if page is not None else "").strip() or "0"
    if not (text.isascii() and text.isdigit()):
        raise refused(NAME, f"page={quoted(text, 40)} is no page of PubMed: give `next_page` of the answer before.")
    if len(text) > 9 or int(text) >= REACH:
        raise refused(
            NAME,
            f"page={quoted(text, 40)} lies beyond the first {REACH:,} records, and PubMed gives no more of one "
            "search: narrow it, or split it by date (date_from, date_to).",
        )
    return int(text)


def limit_of(max_results: int) -> int:
    """The number of records wanted.

    Raises:
        InvalidInputError: below 1.
    """
    if max_results < 1:
        raise refused(NAME, f"max_results={max_results!r} is too small: ask for at least 1.")
    return max_results


class Asked(NamedTuple):
    """One identifier as asked, and what it is; kind None: digits that can be no PMID."""

    text: str
    kind: Literal["pmid", "pmcid", "doi"] | None
    value: str


def read_ids(ids: Sequence[str] | str) -> tuple[list[Asked], dict[str, SourceError]]:
    """The identifiers, each once, in the order asked, and why some are none. Nothing is cut out of free text (K018).

    Raises:
        InvalidInputError: too many, or none that PubMed knows records by; the message names the first and the way.
    """
    given = [ids] if isinstance(ids, str) else [str(one) for one in ids]
    if len(given) > MOST_IDS:
        raise refused(NAME, f"{len(given):,} identifiers are too many: fetch at most {MOST_IDS:,} at once.")
    asked: list[Asked] = []
    wrong: dict[str, SourceError] = {}
    for text in dict.fromkeys(given):
        try:
            asked.append(_read_id(text))
        except InvalidInputError as refusal:
            wrong[text] = refusal
    if wrong and not asked:
        raise next(iter(wrong.values()))
    return asked, wrong


def _read_id(text: str) -> Asked:
    bare = text.strip()
    known = identify(text)
    if known is None:
        # A number that no record can have is not found, as any other that is not there (K013).
        if bare.isascii() and bare.isdigit():
            return Asked(text, None, bare)
        raise refused(
            NAME,
            f"{quoted(text, 80)} is no identifier that PubMed knows: give one PMID, PMCID or DOI an entry, such as "
            "33301246, PMC7759461 or 10.1056/NEJMoa2001017.",
        )
    if known.kind == "pmid" or known.kind == "pmcid" or known.kind == "doi":
        return Asked(text, known.kind, known.value)
    elsewhere = {
        "nct": f"fetch it from clinicaltrials, or search pubmed for {known.value}[si] to find papers about the trial",
        "ppr": "fetch it from europepmc",
        "nbk": f"search pubmed for {known.value}[book] to find its chapters",
    }
    raise refused(
        NAME, f"{quoted(text, 80)} is no record of PubMed: {elsewhere.get(known.kind, 'search for its title')}."
    )


def _order(sort: str | None) -> str:
    if not sort or not sort.strip():
        return "relevance"
    asked = sort.strip().lower()
    for name, spelling in SORTS.items():
        if asked in (name, spelling.lower()):
            return name
    raise refused(NAME, f"sort={quoted(sort, 40)} is no order of PubMed: use one of {', '.join(SORTS)}.")


def _values(name: str, given: Sequence[str] | str | None) -> list[str]:
    """The values of a list filter, each once, without blanks."""
    listed = [given] if isinstance(given, str) else list(given or ())
    values = list(dict.fromkeys(one_line(str(value)) for value in listed if str(value).strip()))
    for value in values:
        if re.search(r'["\[\]()*]', value) or not re.search(r"\w", value):
            raise refused(
                NAME, f"{name}={value!r} is refused: give the plain name, without quotes, brackets or asterisks."
            )
    return values


def _language(value: str) -> str:
    return _TWO_LETTERS.get(value.lower(), value.lower())


def _any_of(conditions: Sequence[str]) -> str:
    return f"({' OR '.join(conditions)})"


def _slashed(date: str) -> str:
    return date.replace("-", "/")


def _doubts(query: str, is_extended: bool) -> list[str]:
    doubts = []
    if re.search(r"\bAND\s+NOT\b", query):
        doubts.append("PubMed reads 'AND NOT' as 'AND': write 'NOT' alone.")
    if query.count('"') % 2 or query.count("(") != query.count(")"):
        also = " and the filters that are added to it" if is_extended else ""
        doubts.append(f"A quote or bracket of the query is not closed: PubMed may misread it{also}.")
    return doubts
