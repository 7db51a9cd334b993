"""One tool call as it comes in, and what a model gets back of it."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, Literal, Protocol, TypeAlias, TypeVar

from literature_agent.artifacts import Artifact
from literature_agent.errors import InvalidInputError, LiteratureError
from literature_agent.federation import ConvertedId
from literature_agent.outputs import AggregationRequest
from literature_agent.results import CitationMatch, FetchResult, FullText, MeshResult, RelatedResult, SearchResult
from literature_agent.sources._text import first_day, last_day, parse_partial_date

T = TypeVar("T")
Result: TypeAlias = (
    SearchResult
    | FetchResult
    | FullText
    | RelatedResult
    | MeshResult
    | tuple[CitationMatch, ...]
    | tuple[ConvertedId, ...]
)

# What makes the order of words matter: phrases, fields, groups, ranges.
_ORDERED = re.compile(r"[\"'()\[\]:/~^“”]")
_REQUEST_FILTERS = ("date_from", "date_to", "since_entry_date", "languages", "publication_types")


@dataclass(frozen=True)
class Call:
    """One tool call: its id, the turn it belongs to, its place among the calls of that turn."""

    id: str
    turn: int
    index: int


@dataclass(frozen=True)
class Shown:
    """What a model gets back: text, how to take it, and the typed object for everyone else.

    `correction`: mend the call and try again; `fact`: it is so, adapt to it.
    """

    outcome: Literal["ok", "correction", "fact"]
    text: str
    result: Result | None = None
    references: tuple[str | None, ...] = ()
    """Of the works that a full text, checked citations or converted identifiers are of, one by one."""


@dataclass(frozen=True)
class Asked(Generic[T]):
    """What one call to the outside gave, or the error it ended in, and when it was made."""

    started: datetime
    result: T | None = None
    error: LiteratureError | None = None


@dataclass(eq=False)
class UnderWay:
    """What a source was asked, until what came of it stands in the ledger."""

    source: str
    what: str
    """Begins a sentence: `The search`."""
    moment: str
    """Name of the time it was asked at."""
    write: Callable[..., Any]
    """Writes it to the ledger, given how it ended: `references`, `error`, the `result` of a search."""
    search_id: str | None = None
    came: list[Artifact] = field(default_factory=list)
    """Records that have come so far."""
    asked_of: list[str] = field(default_factory=list)
    """The sources that a look across several has asked so far; empty where `source` alone is asked."""
    answer: SearchResult | FetchResult | None = None
    """The whole answer, while others that the same call asks are waited for."""


class Steps(Protocol):
    """Who makes the calls of a run to the outside world, and may keep what they gave.

    A durable run records each and gives the record when it is carried out again, so `call` may not run at all.
    """

    async def step(self, name: str, returns: Any, call: Callable[[], Awaitable[Asked[T]]]) -> Asked[T]:
        """Make the call. `returns` is the type of the result; the step is opened before the first await."""
        ...


class Direct:
    """Makes every call and keeps nothing."""

    async def step(self, name: str, returns: Any, call: Callable[[], Awaitable[Asked[T]]]) -> Asked[T]:
        return await call()


async def outcome_of(started: datetime, call: Awaitable[T]) -> Asked[T]:
    """What a call gives, or the error it ends in."""
    try:
        return Asked(started, await call)
    except LiteratureError as error:
        return Asked(started, error=error)


def search_key(source: str, arguments: Mapping[str, Any]) -> str:
    """Equal for searches that ask the same: white space, letter case of words and unset filters make no difference,
    nor does the order of words that are all required."""
    set_ = {name: value for name, value in arguments.items() if value not in (None, "", (), [])}
    query = " ".join(str(set_.pop("query", "")).split())
    words = [word if word in ("AND", "OR", "NOT") else word.lower() for word in query.split(" ")]
    if not _ORDERED.search(query) and not {"OR", "NOT"} & set(words):
        words = sorted(set(words) - {"AND"})
    folded = " ".join(words)
    return json.dumps([source, folded, set_], sort_keys=True, default=str)


def request_limits(request: AggregationRequest, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The request's own limits, which bind every search of a source that can apply them."""
    limits: dict[str, Any] = {}
    for name in _REQUEST_FILTERS:
        value = getattr(request, name)
        if value in (None, ()):
            continue
        limits[name] = list(value) if isinstance(value, tuple) else value
        if name in ("date_from", "date_to") and arguments.get(name):
            limits[name] = _narrower(name, value, str(arguments[name]))
    return limits


def _narrower(name: str, limit: str, asked: str) -> str:
    """The request's date, or the model's where it leaves less: a search may narrow the window, never widen it."""
    try:
        asked = parse_partial_date(asked)
    except InvalidInputError:
        return limit
    return max(limit, asked, key=first_day) if name == "date_from" else min(limit, asked, key=last_day)
