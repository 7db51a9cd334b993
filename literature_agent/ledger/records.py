"""What a ledger holds and tells: frozen entries, and what is counted from them."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, NamedTuple

from pydantic import Field

from literature_agent.artifacts import Record
from literature_agent.results import ErrorInfo, SearchStatus

Level = Literal["snippet", "abstract", "full_text"]

Origin = Literal["given", "planned"]


class SearchRecord(Record):
    """One line of the search log: one search of one source. `retrieved` is `new` plus `duplicates`."""

    search_id: str
    """`s1`, `s2`, ...: the name by which a model speaks of the search."""
    source: str
    interface: str = ""
    query: str
    """As sent to the tool."""
    query_interpreted: str | None = None
    filters: dict[str, str] = Field(default_factory=dict)
    started_at: datetime
    status: SearchStatus
    total: int | None = None
    """Matches the source says it has."""
    retrieved: int = 0
    """Records got."""
    new: int = 0
    """Works that this run had not held before."""
    duplicates: int = 0
    origin: Origin = "planned"
    """`given`: a line of the caller; `planned`: the model's."""
    reason: str | None = None
    """Machine reason of the error, where the search failed or could not be read in full."""


class SourceCoverage(Record):
    """How the searches of one source ended. `asked` is `answered` plus `failed`; `empty` and `truncated` are among the
    answered; a source that was not asked has zeros."""

    source: str
    asked: int = 0
    answered: int = 0
    empty: int = 0
    failed: int = 0
    truncated: int = 0
    """Answered, but something asked for could not be read."""


class LedgerEntry(Record):
    """One source asked by one call."""

    kind: Literal["search", "fetch", "read"]
    call_id: str
    part: int = 0
    """Place among the sources that the call asked."""
    turn: int = 0
    index: int = 0
    """Place among the calls of the turn."""
    opened: int = 0
    """Order of opening; settles what turn and index leave open."""
    source: str
    asked: int = 0
    """Records asked for (fetch, read)."""
    references: tuple[str, ...] = ()
    """Works got, in order, one for each record."""
    error: ErrorInfo | None = None
    search: SearchRecord | None = None
    warnings: tuple[str, ...] = ()
    """What the source said against the query: ignored tags, unmatched phrases, dropped filters (search)."""
    notice: str | None = None
    """What else it said, such as a better spelling (search)."""


class ShownText(Record):
    """Characters `start` to `end` of a stored text of `length` characters, shown to the model."""

    reference: str
    copy_id: str
    section: str
    start: int = 0
    end: int
    length: int
    text_hash: str | None = None
    level: Level


class Failure(NamedTuple):
    """A call that a source did not answer, or not in full."""

    source: str
    reason: str
    message: str
    call_id: str
    search_id: str | None


class Counts(Record):
    """What a run has done so far, as its status line tells it. Works are counted by family."""

    found: int
    """Families got."""
    analyzed: int
    """Families of which the whole abstract or full text was shown."""
    failed_sources: tuple[str, ...]
    """Sources whose last search failed."""


class FoundBy(Record):
    """How many works exactly these sources gave to searches."""

    sources: tuple[str, ...]
    works: int


class Exclusion(Record):
    """How many works were left out for one reason, after title and snippet (`screening`) or after the whole abstract
    or full text (`reading`)."""

    stage: Literal["screening", "reading"]
    reason: str
    works: int


class Flow(Record):
    """How many works passed each stage of a run, for the flow diagram of PRISMA 2020.

    It adds up: `identified - duplicates + otherwise` is `unique`; `unique - not_screened` is `screened`; that is the
    works excluded at screening, those `analysed`, and those `included_unread`; and `analysed` is the works excluded
    after reading and the rest of those `included`. Works of one study are counted each, but in `studies`.
    """

    identified: int
    """Records that searches got."""
    duplicates: int
    """Records among them of works that the run had got before."""
    otherwise: int = 0
    """Works that came first another way than by search."""
    unique: int
    not_screened: int
    """Works got, of which nothing was shown to the model."""
    screened: int
    """Works of which at least the title was shown."""
    analysed: int | None
    """Works of which the whole abstract or full text was shown; None where it is not known."""
    read: int | None
    """Works among them of which full text was shown; None where it is not known."""
    included: int
    included_unread: int = 0
    """Works included by title and snippet alone."""
    studies: int
    """Families of the works included."""
    excluded: tuple[Exclusion, ...] = ()
    found_by: tuple[FoundBy, ...] = ()
    """The works that searches gave, by the sources that have them."""


class Opened(Record):
    call_id: str
    part: int
    turn: int
    index: int
    order: int

    @property
    def search_id(self) -> str:
        return f"s{self.order}"


class Saved(Record):
    format: Literal[1] = 1
    run_id: str
    opened: tuple[Opened, ...]
    calls_by_code: dict[str, int]
    entries: tuple[LedgerEntry, ...]
    shown: tuple[ShownText, ...]
    cited: tuple[str, ...]
