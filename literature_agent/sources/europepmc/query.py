"""What a caller asks, in Europe PMC's grammar, checked before anything is sent."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, get_args
from urllib.parse import quote

from literature_agent.errors import refused
from literature_agent.sources._text import date_bounds, first_day, last_day, quoted, require_query
from literature_agent.sources.europepmc.parse import NAME

EuropePMCSource = Literal["MED", "PMC", "PPR", "PAT", "AGR"]
ResultType = Literal["core", "lite", "idlist"]
_RESULT_TYPES: tuple[ResultType, ...] = ("core", "lite", "idlist")

DEFAULT_SOURCES: tuple[EuropePMCSource, ...] = ("MED", "PMC", "PPR")
MOST_RESULTS = 10_000
LARGEST_PAGE = 100
"""Rows of one page: `core` rows are large. Europe PMC itself refuses 1,001."""

LONGEST_ADDRESS = 8000
"""Characters of an address that servers and browsers still take."""

# Documented or seen to work; any other field is answered with the bare envelope (K050).
_SORT_FIELDS = frozenset({"P_PDATE_D", "CITED", "AUTH_FIRST", "PUB_YEAR", "FIRST_IDATE_D"})
_PLAIN_SORTS = {"relevance": "", "date": "P_PDATE_D desc", "pub_date": "P_PDATE_D desc"}
_RANGE_WITHOUT_COLON = re.compile(r"\b([A-Z][A-Z_]{2,40})\s?(\[[^\[\]]{0,60}\bTO\b[^\[\]]{0,60}\])")
_PUBMED_TAG = re.compile(r"(?<!:)\[[A-Za-z][A-Za-z /:]{0,40}\](?!\w)")
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def effective_query(
    query: str,
    *,
    sources: Sequence[str] = DEFAULT_SOURCES,
    date_from: str | None = None,
    date_to: str | None = None,
    publication_types: Sequence[str] = (),
) -> str:
    """The query with its filters: `(query) AND (SRC:MED OR ...) AND (FIRST_PDATE:[... TO ...])`.

    Raises:
        InvalidInputError: blank, malformed or too long a query; a bad filter value.
    """
    _require_grammar(require_query(query, NAME))
    clauses = [f"({query.strip()})", "(" + " OR ".join(f"SRC:{name}" for name in known_sources(sources)) + ")"]
    start, end = date_bounds(date_from, date_to, source=NAME)
    if start or end:
        # An open end is written as a year beyond all records, as Europe PMC's own site does.
        first = first_day(start) if start else "1000-01-01"
        last = last_day(end) if end else max(first, "3000-12-31")
        clauses.append(f"(FIRST_PDATE:[{first} TO {last}])")
    if types := listed(publication_types, "publication_types"):
        clauses.append("(" + " OR ".join(f"PUB_TYPE:{phrase(name)}" for name in types) + ")")
    return " AND ".join(clauses)


def known_sources(sources: Sequence[str]) -> tuple[EuropePMCSource, ...]:
    """The record sources named, each once; none named gives the default."""
    known = get_args(EuropePMCSource)
    named = dict.fromkeys(name.upper() for name in listed(sources, "sources"))
    for name in named:
        if name not in known:
            raise refused(NAME, f"sources: {name!r} is not searched here; choose from {', '.join(known)}.")
    return tuple(name for name in known if name in named) or DEFAULT_SOURCES


def listed(values: Sequence[str] | str, name: str) -> tuple[str, ...]:
    """Values without blanks; a text with commas is a list written in one line."""
    parts = values.split(",") if isinstance(values, str) else values
    for part in parts:
        if not isinstance(part, str) or len(part) > 200 or CONTROL.search(part.strip()):
            raise refused(NAME, f"{name}: {quoted(part)} is not a plain short text; write it without line breaks.")
    return tuple(part.strip() for part in parts if part.strip())


def phrase(text: str) -> str:
    """`text` as a quoted phrase."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def search_page_url(query: str) -> str | None:
    """Where a person sees the same search; None for a query that is too long for an address."""
    address = f"https://europepmc.org/search?query={quote(query, safe='')}"
    return address if len(address) <= LONGEST_ADDRESS else None


def warnings_about(query: str) -> tuple[str, ...]:
    """What in the query Europe PMC will not read as its writer meant it."""
    tags = dict.fromkeys(_PUBMED_TAG.findall(query))
    if not tags:
        return ()
    return (
        f"{', '.join(tags)} is PubMed's grammar and means nothing to Europe PMC; write fields before the term, "
        "such as TITLE_ABS:, KW: or AUTH:.",
    )


def _require_grammar(query: str) -> None:
    """Quotes and brackets must close: an open one would swallow or escape the filters that follow."""
    if found := _RANGE_WITHOUT_COLON.search(query):
        field, span = found.groups()
        raise refused(NAME, f"The range {found.group()!r} lacks a colon after the field: write {field}:{span}.")
    depth, in_quotes, escaped = 0, False, False
    for character in query:
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = True
        elif character == '"':
            in_quotes = not in_quotes
        elif not in_quotes and character in "()":
            depth += 1 if character == "(" else -1
            if depth < 0:
                break
    if in_quotes or escaped:
        sign = '"' if in_quotes else "\\"
        raise refused(NAME, f"The query {quoted(query, 80)} has an open {sign}: close it or leave it out.")
    if depth:
        wrong = "an opening" if depth > 0 else "a closing"
        raise refused(NAME, f"The query {quoted(query, 80)} has {wrong} parenthesis without its partner: balance them.")


# --- order and place --------------------------------------------------------------------------------------------------


def sort_sent(sort: str | None) -> str:
    """The `sort` to send: plain words put into fields, the case of known fields mended, everything else as given.

    Raises:
        InvalidInputError: not one short line.
    """
    given = (sort or "").strip()
    if len(given) > 200 or CONTROL.search(given):
        raise refused(NAME, f"sort={quoted(given)} is not a short line such as 'CITED desc'.")
    if given.lower() in _PLAIN_SORTS:
        return _PLAIN_SORTS[given.lower()]
    return ",".join(_mended(part) for part in given.split(","))


def _mended(part: str) -> str:
    field, _, direction = part.strip().partition(" ")
    if field.upper() in _SORT_FIELDS and direction.strip().lower() in ("asc", "desc"):
        return f"{field.upper()} {direction.strip().lower()}"
    return part.strip()


def sort_complaint(sort: str) -> str | None:
    """Why the server may have refused this sort, or None if it is documented."""
    for part in filter(None, sort.split(",")):
        field, *direction = part.split()
        if field.upper() not in _SORT_FIELDS:
            return f"sort field {field!r} is not one Europe PMC documents ({', '.join(sorted(_SORT_FIELDS))})"
        if [word.lower() for word in direction] not in (["asc"], ["desc"]):
            return f"sort {part!r} lacks a direction: write '{field} asc' or '{field} desc'"
    return None


def start_cursor(page: str | None, cursor_mark: str | None) -> str:
    """The cursor to start from. `page` and `cursor_mark` are two names of one thing; `*` is the first page.

    Raises:
        InvalidInputError: both are given, or the value cannot be a cursor.
    """
    given = [value for value in (_blank_is_none(page), _blank_is_none(cursor_mark)) if value not in (None, "*")]
    if len(given) == 2:
        raise refused(NAME, "page and cursor_mark are two names of one thing: give one of them.")
    cursor = given[0] if given else "*"
    assert cursor is not None
    if cursor.isdigit() and len(cursor) < 8:
        raise refused(
            NAME, f"page={cursor!r} is a number; give back the `next_page` of the answer before, or leave it out."
        )
    if len(cursor) > 2000 or re.search(r"\s", cursor) or CONTROL.search(cursor):
        raise refused(NAME, f"page={quoted(cursor)} is no cursor; give back `next_page` unchanged, or leave it out.")
    return cursor


def _blank_is_none(value: object) -> str | None:
    return (str(value).strip() or None) if value is not None else None


def result_type_sent(result_type: str | None) -> ResultType:
    """The result type, checked; blank gives `core`."""
    wanted = (result_type or "").strip().lower() or "core"
    for known in _RESULT_TYPES:
        if wanted == known:
            return known
    raise refused(NAME, f"result_type={quoted(wanted, 40)} is unknown: choose core, lite or idlist.")
