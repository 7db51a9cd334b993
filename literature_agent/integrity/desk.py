"""What the checks may know: the run's registry and ledger, asked in the terms of the checks."""

from __future__ import annotations

from dataclasses import dataclass

from literature_agent.artifacts import CitationArtifact
from literature_agent.ids import IdentifierKind
from literature_agent.integrity.quotes import ShownSection
from literature_agent.ledger import Ledger, SearchRecord
from literature_agent.registry import ArtifactRegistry, near, read_reference


@dataclass(frozen=True)
class Desk:
    """Registry and ledger of one run. Citeable is what this run has shown, not what the registry holds."""

    registry: ArtifactRegistry
    ledger: Ledger
    question: str = ""

    def shown(self, written: str) -> str | None:
        """The canonical reference that `written` names, if this run has shown the work; a typo names nothing here."""
        reference = read_reference(written)
        if reference is None:
            return None
        canonical = self.registry.canonical(reference)
        if canonical is None or not self.ledger.is_shown(str(canonical)):
            return None
        return str(canonical)

    def meant(self, written: str) -> str | None:
        """The shown reference that a mistyped `written` is one edit away from, if exactly one is."""
        return near(written, self.ledger.shown_references())

    def work_of(self, kind: IdentifierKind, value: str) -> str | None:
        """Reference of the work with this identifier, if this run has shown it."""
        reference = self.registry.find_by_identifier(kind, value)
        return None if reference is None else self.shown(str(reference))

    def work(self, reference: str) -> CitationArtifact | None:
        return self.registry.find(reference)

    def strongest(self, reference: str) -> str:
        """The reference under the strongest identifier known by now."""
        return str(self.registry.strongest(reference) or reference)

    def sections(self, reference: str) -> list[ShownSection]:
        """The stored texts of a work of which this run has shown something."""
        sections = []
        for shown in self.ledger.shown_texts(reference):
            text = self.registry.stored_text(shown.copy_id, shown.section, shown.text_hash)
            if text is not None:
                sections.append(ShownSection(shown.copy_id, shown.section, text, shown.end))
        return sections

    def search(self, search_id: str) -> SearchRecord | None:
        return self.ledger.search(search_id)
