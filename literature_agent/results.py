"""What tools return: typed, frozen, and explicit about what was not got.

"Nothing found" (`empty`), "source failed" (`failed`), "cut short" (`partial`) and "not asked" (`not_asked` in a
federated search, else no outcome at all) are four different things and never share a shape.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from literature_agent.artifacts import (
    Artifact,
    CitedWork,
    Figure,
    Notice,
    Record,
    RelatedRecord,
    Table,
    TextSection,
)
from literature_agent.errors import LiteratureError, SourceError

SearchStatus = Literal["ok", "empty", "partial", "failed"]
OutcomeStatus = Literal["ok", "empty", "partial", "failed", "not_asked"]
RelatedKind = Literal["similar", "cited_by", "references", "linked"]
FullTextReason = Literal[
    "not_open_access",
    "not_in_pmc",
    "publisher_restricted",
    "embargoed",
    "no_body",
    "unknown_id",
    "temporarily_unavailable",
]


class ErrorInfo(Record):
    """An error as data: machine reason, sentence, whether trying again can help, one next step."""

    reason: str
    message: str
    retryable: bool = False
    recovery: str = ""

    @classmethod
    def of(cls, error: LiteratureError) -> ErrorInfo:
        """The same four members as `error`."""
        return cls(reason=error.reason, message=error.message, retryable=error.retryable, recovery=error.recovery)

    def as_error(self) -> SourceError:
        """An error with the same four members, to be raised."""
        return SourceError(self.message, reason=self.reason, retryable=self.retryable, recovery=self.recovery)


class SourceOutcome(Record):
    """What one source answered to a federated search; `not_asked` says why in `warnings`."""

    source: str
    status: OutcomeStatus
    query_sent: str | None = None
    total: int | None = None
    returned: int = 0
    warnings: tuple[str, ...] = ()
    error: ErrorInfo | None = None


class SearchResult(Record):
    """One page of hits.

    `status` is `ok` also when more exist (`next_page`); `empty` when the source answered that nothing matches;
    `partial` when it answered but something asked for could not be read; `failed` (with `error`) otherwise.
    """

    status: SearchStatus
    query_sent: str | None = None
    query_interpreted: str | None = None
    """The server's own translation, as it answered it."""
    search_url: str | None = None
    """Where a person sees the same search in a browser."""
    applied_filters: dict[str, str] = Field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    """Ignored tags, unmatched phrases, dropped filters."""
    notice: str | None = None
    total: int | None = None
    returned: int = 0
    page: str | None = None
    next_page: str | None = None
    """Opaque; give it back as `page` to continue right after the last returned artifact."""
    artifacts: tuple[Artifact, ...] = ()
    error: ErrorInfo | None = None
    outcomes: tuple[SourceOutcome, ...] = ()


class FetchResult(Record):
    """Records in the order asked, joined by identifier; every identifier asked is in exactly one of the three."""

    artifacts: tuple[Artifact, ...] = ()
    not_found: tuple[str, ...] = ()
    failed: dict[str, ErrorInfo] = Field(default_factory=dict)
    warnings: tuple[str, ...] = ()


class TrailStep(Record):
    """One route tried for a full text."""

    route: str
    result: Literal["found", "none", "failed", "not_tried"]
    reason: str | None = None


class FullText(Record):
    """A full text, or why there is none.

    `artifact` is set also when there is no text, as far as any source knows the record; it carries no text of its own.
    """

    artifact: Artifact | None = None
    sections: tuple[TextSection, ...] = ()
    back_sections: tuple[TextSection, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    cited_works: tuple[CitedWork, ...] = ()
    truncated: bool = False
    characters_total: int = 0
    """Characters of all sections that were asked for, before the text was cut."""
    warnings: tuple[str, ...] = ()
    """What was asked for and is not here: headings that do not exist, sections left out or cut."""
    available: bool = False
    reason: FullTextReason | None = None
    trail: tuple[TrailStep, ...] = ()


class RelatedResult(Record):
    """Works related to one work, at most as many as were asked for; the work itself is never among them."""

    kind: RelatedKind
    status: SearchStatus
    """`empty`: a route answered that there are none; `partial`: some could not be read, or a route failed and the
    others may know less."""
    artifacts: tuple[Artifact, ...] = ()
    relations: tuple[str, ...] = ()
    """Of `linked`: what each artifact is, seen from the work (`preprint`, `published_as`, `retracted_by` ...)."""
    links: tuple[RelatedRecord, ...] = ()
    """Of `linked`: every record that a source links, also where it could not be read."""
    notices: tuple[Notice, ...] = ()
    total: int | None = None
    returned: int = 0
    warnings: tuple[str, ...] = ()
    notice: str | None = None
    error: ErrorInfo | None = None
    trail: tuple[TrailStep, ...] = ()


class FieldDifference(Record):
    """A field of a citation that is not as the record has it."""

    field: str
    given: str
    found: str | None = None


class CitationMatch(Record):
    """What one citation turned out to be.

    `matched`: every field agrees with the record. `miscited`: it is that work, but the fields in `differs` are wrong.
    `unknown`: no record is meant by it, as far as the sources know. `failed`: a source that would know did not answer.
    """

    key: str
    """The caller's; several may be equal, the order is that of the citations."""
    status: Literal["matched", "miscited", "unknown", "failed"]
    pmid: str | None = None
    doi: str | None = None
    artifact: Artifact | None = None
    differs: tuple[FieldDifference, ...] = ()
    note: str | None = None
    error: ErrorInfo | None = None


class MeshTerm(Record):
    """One record of MeSH."""

    descriptor: str
    ui: str | None = None
    """`D003924`; `C...` is a supplementary concept, `Q...` a qualifier."""
    kind: str | None = None
    scope_note: str | None = None
    entry_terms: tuple[str, ...] = ()
    """Synonyms that lead to it."""
    tree_numbers: tuple[str, ...] = ()


class MeshResult(Record):
    """MeSH records for a term, the one it names first."""

    term: str
    status: SearchStatus
    terms: tuple[MeshTerm, ...] = ()
    total: int = 0
