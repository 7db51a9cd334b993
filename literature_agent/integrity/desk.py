"""What the checks may know: the run's registry and ledger, asked in the terms of the checks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from literature_agent.artifacts import CitationArtifact
from literature_agent.integrity.known import Known
from literature_agent.integrity.leaks import Guard
from literature_agent.integrity.quotes import ShownSection
from literature_agent.ledger import Ledger, SearchRecord
from literature_agent.registry import ArtifactRegistry, near, read_reference


@dataclass(frozen=True)
class Desk:
    """Registry and ledger of one run. Citeable is what this run has shown, not what the registry holds.

    What it has looked up of works and texts it remembers: after further calls of the run, ask a new desk.
    """

    registry: ArtifactRegistry
    ledger: Ledger
    question: str = ""
    _sections: dict[str, list[ShownSection]] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def guard(self) -> Guard:
        """The leak guard, with what the run's works would give away."""
        got = dict.fromkeys(reference for entry in self.ledger.entries for reference in entry.references)
        copies = (copy for reference in got for copy in self.registry.copies(reference))
        # Asked through a desk that has no guard: in a circle, all that the run holds would outlive it.
        return Guard.of(Desk(self.registry, self.ledger).work_of, Known.of(copies), self.question)

    def shown(self, written: str) -> str | None:
        """The canonical reference that `written` names, if this run has shown the work; a typo names nothing here."""
        reference = read_reference(written) or read_reference(written.strip(" []()<>{}*`\"'.,;"))
        if reference is None:
            return None
        canonical = self.registry.canonical(reference)
        if canonical is None or not self.ledger.is_shown(str(canonical)):
            return None
        return str(canonical)

    def meant(self, written: str) -> str | None:
        """The shown reference that a mistyped `written` is one edit away from, if exactly one is."""
        return near(written, self.ledger.shown_references())

    def work_of(self, kind: str, value: str) -> str | None:
        """Reference of the work with this identifier (or bare `key`), if this run has shown it."""
        reference = read_reference(value) if kind == "key" else self.registry.find_by_identifier(kind, value)
        return None if reference is None else self.shown(str(reference))

    def work(self, reference: str) -> CitationArtifact | None:
        return self.registry.find(reference)

    def strongest(self, reference: str) -> str:
        """The reference under the strongest identifier known by now."""
        return str(self.registry.strongest(reference) or reference)

    def published_version(self, reference: str) -> str | None:
        """The published paper of a preprint, if this run has shown it too and it has not been retracted."""
        work = self.registry.find(reference)
        if work is None or not work.is_preprint:
            return None
        for linked in self.registry.linked(reference):
            paper = self.registry.find(linked.reference) if linked.relation == "paper" else None
            if paper is not None and self.shown(str(linked.reference)) and paper.correction_status != "retracted":
                return self.strongest(str(linked.reference))
        return None

    def later_version(self, reference: str, among: Iterable[str]) -> str | None:
        """Which of the works `among` is a later version of this one: the paper of a preprint, the update of a paper, of
        two preprints of one study the one that stands first in its family. Notices and registrations are no
        versions."""
        others = [other for other in among if self.strongest(other) != self.strongest(reference)]
        work = self.registry.find(reference) if others else None
        if work is None:
            return None
        if not work.is_preprint:
            return next((other for other in others if self._updates(other, reference)), None)
        linked = {self.strongest(str(each.reference)): each.relation for each in self.registry.linked(reference)}
        papers = [other for other in others if linked.get(self.strongest(other)) == "paper"]
        if papers:
            return papers[0]
        order = [str(member) for member in self.registry.family(reference)]
        place = order.index(self.strongest(reference)) if self.strongest(reference) in order else 0
        return next(
            (
                other
                for other in others
                if self.strongest(other) in order[:place] and linked.get(self.strongest(other)) == "preprint"
            ),
            None,
        )

    def _updates(self, later: str, earlier: str) -> bool:
        """Whether a record of one of the two says that the one is an update of the other."""
        return self.strongest(later) in self._named(earlier, "updated_by") or self.strongest(earlier) in self._named(
            later, "update_of"
        )

    def _named(self, reference: str, relation: str) -> set[str]:
        """The held works that a work names as what stands in this relation to it."""
        named = (
            self.registry.find_by_identifier(kind, value)
            for copy in self.registry.copies(reference)
            for other in copy.related
            if other.relation == relation
            for kind, value in (("doi", other.doi), ("pmid", other.pmid), ("pmcid", other.pmcid))
            if value
        )
        return {self.strongest(str(found)) for found in named if found is not None}

    def sections(self, reference: str) -> list[ShownSection]:
        """The stored texts of a work of which this run has shown something."""
        if reference not in self._sections:
            self._sections[reference] = [
                ShownSection(shown.copy_id, shown.section, text, shown.end, shown.start)
                for shown in self.ledger.shown_texts(reference)
                if (text := self.registry.stored_text(shown.copy_id, shown.section, shown.text_hash)) is not None
            ]
        return self._sections[reference]

    def search(self, search_id: str) -> SearchRecord | None:
        return self.ledger.search(search_id)
