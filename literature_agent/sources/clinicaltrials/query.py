"""What a caller asks, in the registry's grammar (Essie), checked before anything is sent."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args
from urllib.parse import quote, urlencode

from literature_agent.errors import refused
from literature_agent.sources._text import (
    LONGEST_QUERY,
    clean_text,
    date_bounds,
    first_day,
    last_day,
    quoted,
    require_query,
)
from literature_agent.sources.clinicaltrials.parse import NAME

OverallStatus = Literal[
    "ACTIVE_NOT_RECRUITING",
    "APPROVED_FOR_MARKETING",
    "AVAILABLE",
    "COMPLETED",
    "ENROLLING_BY_INVITATION",
    "NOT_YET_RECRUITING",
    "NO_LONGER_AVAILABLE",
    "RECRUITING",
    "SUSPENDED",
    "TEMPORARILY_NOT_AVAILABLE",
    "TERMINATED",
    "UNKNOWN",
    "WITHDRAWN",
    "WITHHELD",
]
Phase = Literal["NA", "EARLY_PHASE1", "PHASE1", "PHASE2", "PHASE3", "PHASE4"]

MOST_RESULTS = 1000
"""Studies of one page; the registry gives no more in one answer."""

_SORTS = {
    "relevance": "",
    "date": "StudyFirstPostDate:desc",
    "first_posted": "StudyFirstPostDate:desc",
    "updated": "LastUpdatePostDate:desc",
    "last_updated": "LastUpdatePostDate:desc",
    "start_date": "StartDate:desc",
    "completion_date": "CompletionDate:desc",
}
_SORT_FIELDS = ("StudyFirstPostDate", "LastUpdatePostDate", "StartDate", "PrimaryCompletionDate", "CompletionDate")

_QUOTED = re.compile(r'"[^"]*"')
# Square brackets are syntax behind these words, and nowhere else (K069).
_OPERATOR = re.compile(r"\b(?:AREA|RANGE|SEARCH|COVER|COVERAGE|EXPANSION|TILT|DISTANCE)\[[^\[\]]*\]")
_PUBMED_TAG = re.compile(
    r"\[(?:tiab|ti|ab|tw|title|title/abstract|text words?|all fields|all|mesh(?: terms?| major topic)?|mh|majr|pt|dp|"
    r"au|la|sh|nm|ot|si)(?::~?\w+)?\]",
    re.I,
)
_ROMAN = {"0": "EARLY_PHASE1", "I": "1", "II": "2", "III": "3", "IV": "4"}


@dataclass(frozen=True)
class Plan:
    """One search, checked and complete."""

    params: tuple[tuple[str, str], ...]
    """What narrows and orders the list; paging and fields come on top."""
    sent: str
    """The queries in words, for the log."""
    url: str | None
    applied: dict[str, str]
    warnings: tuple[str, ...] = ()
    condition: str | None = None
    """The condition as one name, where the list is ordered by relevance: studies that carry it come first."""
    intervention: str | None = None


def plan_search(
    query: str,
    *,
    condition: str | None = None,
    intervention: str | None = None,
    term: str | None = None,
    overall_status: Sequence[str] | str | None = None,
    phases: Sequence[str] | str | None = None,
    date_from: str | None = None,
    date_to: str | None = None,
    sort: str | None = None,
) -> Plan:
    """The search to send. `query` and `term` look everywhere; condition and intervention in their own fields (K065);
    filters are joined with AND, the values of one filter with OR (K066).

    Raises:
        InvalidInputError: nothing to look for, a malformed query, an unknown status, phase or sort, a bad date.
    """
    warnings: list[str] = []
    terms = [text for text in (_read(query, "query", warnings), _read(term, "term", warnings)) if text]
    about = _read(condition, "condition", warnings)
    given = _read(intervention, "intervention", warnings)
    if not terms and not about and not given:
        require_query(query, NAME)
    statuses, wanted_phases = _statuses(overall_status), _phases(phases)
    start, end = date_bounds(date_from, date_to, source=NAME)
    params: list[tuple[str, str]] = []
    advanced: list[str] = []
    if terms:
        params.append(("query.term", terms[0] if len(terms) == 1 else " AND ".join(f"({text})" for text in terms)))
    if about:
        params.append(("query.cond", about))
        advanced.append(f"AREA[Condition]({about})")
    if given:
        params.append(("query.intr", given))
        # The query alone matches titles and descriptions too: other drugs' trials that mention this one.
        advanced.append(f"(AREA[InterventionName]({given}) OR AREA[InterventionOtherName]({given}))")
    if statuses:
        params.append(("filter.overallStatus", ",".join(statuses)))
    if wanted_phases:
        advanced.append(f"AREA[Phase]({' OR '.join(wanted_phases)})")
    if start or end:
        # Whole days: the registry would read a year alone as a number.
        first, last = first_day(start) if start else "MIN", last_day(end) if end else "MAX"
        advanced.append(f"AREA[StudyFirstPostDate]RANGE[{first},{last}]")
    if advanced:
        params.append(("filter.advanced", " AND ".join(advanced)))
    order = _sort(sort)
    if order:
        params.append(("sort", order))
    applied = {
        "condition": about,
        "intervention": given,
        "term": terms[-1] if term and len(terms) == 2 else "",
        "overall_status": ", ".join(statuses),
        "phases": ", ".join(wanted_phases),
        "date_from": start,
        "date_to": end,
        "sort": order,
    }
    asked = [(name, value) for name, value in params if name.startswith("query.")]
    return Plan(
        params=tuple(params),
        sent=asked[0][1]
        if len(asked) == 1 and asked[0][0] == "query.term"
        else "; ".join(f"{name.removeprefix('query.')}={value}" for name, value in asked),
        url=_url(asked) if not (statuses or wanted_phases or start or end) else None,
        applied={name: value for name, value in applied.items() if value},
        warnings=tuple(dict.fromkeys(warnings)),
        condition=None if order else _name(about),
        intervention=None if order else _name(given),
    )


def _name(expression: str) -> str | None:
    """The expression as a name in small letters, if it is one name and no combination."""
    is_name = expression and re.search(r"\b(?:AND|OR|NOT)\b|[()\[\]]", expression) is None
    return expression.strip('"').casefold() if is_name else None


def _read(text: str | None, name: str, warnings: list[str]) -> str:
    """An expression that the registry can parse; blank gives an empty one.

    Raises:
        InvalidInputError: an open quote, bracket or parenthesis: the sentence names it.
    """
    if text is None or not clean_text(str(text)):
        return ""
    plain = " ".join(require_query(str(text), NAME).translate(str.maketrans("“”„", '"""')).split())
    if plain.count('"') % 2:
        raise refused(NAME, f'{name}={quoted(plain, 80)} has an open ": close it or leave it out.')
    if tags := dict.fromkeys(_PUBMED_TAG.findall(plain)):
        warnings.append(f"{', '.join(tags)} is PubMed's grammar and was left out of {name}.")
        plain = _PUBMED_TAG.sub(" ", plain)
    pieces: list[str] = []
    at = 0
    for kept in re.finditer(rf"{_QUOTED.pattern}|{_OPERATOR.pattern}", plain):
        pieces += [_plain(plain[at : kept.start()], plain, name, warnings), kept.group()]
        at = kept.end()
    pieces.append(_plain(plain[at:], plain, name, warnings))
    read = " ".join("".join(pieces).split())
    _require_balance(read, plain, name)
    return read


def _plain(piece: str, whole: str, name: str, warnings: list[str]) -> str:
    """A stretch of words, without the square brackets that the registry would take for an operator's."""
    bare = re.sub(r"\[([^\[\]]*)\]", r" \1 ", piece)
    if found := re.search(r"[\[\]]", bare):
        raise refused(
            NAME,
            f"{name}={quoted(whole, 80)} has a square bracket {found.group()!r} without its partner, which the "
            "registry cannot read: leave it out.",
        )
    if bare != piece:
        warnings.append(f"Square brackets [ ] in {name} were left out: the registry takes them for AREA[] and RANGE[].")
    return bare


def _require_balance(read: str, whole: str, name: str) -> None:
    depth = 0
    for sign in _QUOTED.sub("", read):
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if depth < 0:
            break
    if depth:
        sign = "(" if depth > 0 else ")"
        raise refused(NAME, f"{name}={quoted(whole, 80)} has a {sign!r} without its partner: balance the parentheses.")


def _listed(values: Sequence[str] | str | None) -> list[str]:
    given = [values] if isinstance(values, str) else list(values or ())
    return [part.strip() for value in given for part in re.split(r"[,|;]", str(value)) if part.strip()]


def _statuses(values: Sequence[str] | str | None) -> tuple[str, ...]:
    """Statuses in capitals, as the registry wants them (K064); `Active, not recruiting` is one status."""
    known = get_args(OverallStatus)
    if isinstance(values, str):
        values = re.sub(r"active\s*,\s*not\s+recruiting", "ACTIVE_NOT_RECRUITING", values, flags=re.I)
    else:
        values = [re.sub(r"active\s*,\s*not", "ACTIVE_NOT", str(value), flags=re.I) for value in values or ()]
    named: dict[str, None] = {}
    for value in _listed(values):
        status = re.sub(r"[\s_-]+", "_", value.upper())
        if status not in known:
            raise refused(
                NAME, f"overall_status: {quoted(value)} is no status of a study.", f"Use some of: {', '.join(known)}."
            )
        named[status] = None
    return tuple(named)


def _phases(values: Sequence[str] | str | None) -> tuple[str, ...]:
    """Phases as the registry writes them: `3`, `phase III` and `PHASE3` are one; `2/3` is two."""
    known = get_args(Phase)
    named: dict[str, None] = {}
    for value in _listed(values):
        for part in value.upper().split("/"):
            bare = re.sub(r"[\s_-]+", "", part)
            number = bare.removeprefix("EARLY").removeprefix("PHASE")
            number = _ROMAN.get(number, number)
            phase = "NA" if bare in ("NA", "N", "A", "NOTAPPLICABLE") else number
            if number in ("1", "2", "3", "4"):
                phase = f"EARLY_PHASE{number}" if bare.startswith("EARLY") else f"PHASE{number}"
            if phase not in known:
                raise refused(
                    NAME, f"phases: {quoted(value)} is no phase of a trial.", f"Use some of: {', '.join(known)}."
                )
            named[phase] = None
    return tuple(phase for phase in known if phase in named)


def _sort(sort: str | None) -> str:
    given = (sort or "").strip()
    if given.lower() in ("", *_SORTS):
        return _SORTS.get(given.lower(), "")
    field, _, direction = given.partition(":")
    for known in _SORT_FIELDS:
        if field.strip().lower() == known.lower() and direction.strip().lower() in ("", "asc", "desc"):
            return f"{known}:{direction.strip().lower() or 'desc'}"
    raise refused(
        NAME,
        f"sort={quoted(given)} is unknown.",
        f"Use relevance, date, updated, start_date or completion_date, or one of {', '.join(_SORT_FIELDS)} with :asc "
        "or :desc.",
    )


def _url(asked: Sequence[tuple[str, str]]) -> str | None:
    """Where a person sees the same search; None for a query that is too long for an address."""
    address = "https://clinicaltrials.gov/search?" + urlencode(
        [(name.removeprefix("query."), value) for name, value in asked], quote_via=quote
    )
    return address if len(address) <= LONGEST_QUERY // 4 else None


def token_of(page: str | None) -> str | None:
    """The token to continue with; blank is the first page.

    Raises:
        InvalidInputError: it cannot be a token of an answer.
    """
    text = (page or "").strip()
    if not text:
        return None
    if len(text) > 500 or not re.fullmatch(r"[\w.~+/=-]+", text, re.ASCII) or text.isdigit():
        raise refused(NAME, f"page={quoted(text)} is no `next_page` of an answer: give it back unchanged.")
    return text
