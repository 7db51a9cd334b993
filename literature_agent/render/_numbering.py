"""References in prose become numbers by first use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from literature_agent.artifacts import CitationArtifact
from literature_agent.outputs import LiteratureAggregationOutput
from literature_agent.registry import ArtifactRegistry, Reference, find_references

UNKNOWN_REFERENCE = "[unknown reference]"

Find = Callable[[Reference], CitationArtifact | None]


def finder(records: ArtifactRegistry | LiteratureAggregationOutput) -> Find:
    """How to get the record of a reference: from a registry, or from an answer's articles and then its registry."""
    if isinstance(records, ArtifactRegistry):
        return records.find
    registry = records.registry
    listed = {
        name.key: article
        for article in records.relevant_articles
        if article.reference and (name := Reference.parse(article.reference))
    }

    def find(reference: Reference) -> CitationArtifact | None:
        if reference.key in listed or registry is None:
            return listed.get(reference.key)
        # A work may have been cited by another of its keys than the one that the answer carries.
        named = next((listed[key] for key in registry.keys(reference) if key in listed), None)
        return named or registry.find(reference)

    return find


@dataclass
class Numbering:
    """Numbers of works, given in order of first use and never changed."""

    find: Find
    form: Callable[[int], str] = "[{}]".format
    """How a number is written."""
    works: list[CitationArtifact] = field(default_factory=list)
    """The numbered works; `works[0]` has number 1."""
    unknown: list[str] = field(default_factory=list)
    """Tokens that name no work here, as they were spelled, in order of appearance."""
    _numbers: dict[str, int] = field(default_factory=dict)

    def number(self, artifact: CitationArtifact) -> int:
        """The number of `artifact`, a new one if it has none yet."""
        name = artifact.reference or artifact.copy_id
        if name not in self._numbers:
            self.works.append(artifact)
            self._numbers[name] = len(self.works)
        return self._numbers[name]

    def marker(self, spelled: str, reference: Reference | None) -> str:
        """`[3]`, or the number in another `form`, for a reference; `[unknown reference]` for what names no work."""
        found = self.find(reference) if reference is not None else None
        if found is None:
            self.unknown.append(spelled)
            return UNKNOWN_REFERENCE
        return self.form(self.number(found))

    def prose(self, text: str, escape: Callable[[str], str] = str) -> str:
        """`text` with every reference, rightly spelled or not, replaced by its marker and the rest passed to `escape`.

        Only the tokens themselves are touched (K077, K078).
        """
        pieces, at = [], 0
        for token in find_references(text):
            pieces += [escape(text[at : token.start]), self.marker(token.raw, token.reference)]
            at = token.end
        return "".join([*pieces, escape(text[at:])])

    def markers(self, references: tuple[str, ...]) -> str:
        """The markers of a list of references, each once: `[1] [4]`."""
        return " ".join(dict.fromkeys(self.marker(spelled, Reference.parse(spelled)) for spelled in references))
