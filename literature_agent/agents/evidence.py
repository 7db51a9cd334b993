"""What ranking and composing work on: papers as shown in a run, and the searches that were made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

UNTYPED = "Article"
"""Study type of a record that names none."""

Mark = Literal["preprint", "retracted", "concern", "corrected", "notice"]


@dataclass(frozen=True)
class Paper:
    """One work as far as it was shown: nothing here names an author, a journal or an identifier."""

    reference: str
    title: str = ""
    abstract: str = ""
    """As shown: identifiers masked, cut where the view cut it."""
    whole: bool = False
    """Whether `abstract` is all of it."""
    year: int | None = None
    study_type: str = UNTYPED
    marks: frozenset[Mark] = frozenset()
    headings: tuple[str, ...] = ()
    """MeSH descriptors and keywords."""
    linked: tuple[tuple[str, str], ...] = ()
    """(what it is, reference) of the other works of the family: (`paper`, `«...»`)."""
    has_unseen_links: bool = False
    """Works of its family are known that were not shown."""
    positions: tuple[int, ...] = ()
    """Its places in the hit lists that showed it, from 0."""

    @property
    def supports(self) -> bool:
        """Whether it may carry a claim: not retracted, not under concern, no notice."""
        return not self.marks & {"retracted", "concern", "notice"}


@dataclass(frozen=True)
class Asked:
    """One search of one source and how it ended."""

    search_id: str
    source: str
    status: Literal["ok", "empty", "partial", "failed"]
    query: str = ""
    filters: str = ""
    """Limits beside the query, as shown: `date_from=2020; languages=eng`."""
    as_written: bool = True
    """The source ran the query as it stands: it left nothing out and suggests no other spelling."""
