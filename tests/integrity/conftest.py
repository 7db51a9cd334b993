"""A small world for the checks: invented works in a registry, a ledger that has shown some of them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from literature_agent.artifacts import Author, BioRxivPreprint, CitationArtifact, Notice, PubMedArticle, RelatedRecord
from literature_agent.integrity import Desk
from literature_agent.ledger import Ledger
from literature_agent.outputs import AggregationDraft
from literature_agent.registry import ArtifactRegistry, text_hash
from literature_agent.results import SearchResult

TRIAL_TEXT = (
    "Metformin did not significantly improve memory in 212 older adults. Decline was slower by 12.5% (95% CI 3-20) "
    "with exercise. No serious events occurred. Insulin worsened memory in women, but exercise improved their sleep. "
    "The protocol is 10.5555/protocol.7 and further trials in children are needed."
)


def paper(number: int, **members: Any) -> PubMedArticle:
    """An invented paper with PMID 90000500 plus `number`."""
    fields: dict[str, Any] = {
        "pmid": str(90_000_500 + number),
        "doi": f"10.5555/desk.{90_000_500 + number}",
        "title": f"Synthetic paper number {number} on metformin, memory and ageing",
        "abstract_text": TRIAL_TEXT,
        "source": "pubmed",
        "authors": (Author(family="Ferrante", given="Luca", initials="LM"), Author(family="Young", given="Ada")),
        "journal": "Synthetic Journal of Sleep",
        "journal_abbreviation": "Synth J Sleep",
        "year": 2021,
    }
    return PubMedArticle(**{**fields, **members})


def draft(summary: str, **members: Any) -> AggregationDraft:
    """A draft as a model submits it; articles may be given as references."""
    listed = [
        each if isinstance(each, Mapping) else {"reference": each, "reason": "It bears on it."}
        for each in members.pop("relevant_articles", ())
    ]
    return AggregationDraft.model_validate({"summary": summary, "relevant_articles": listed, **members})


class World:
    """Registry, ledger and desk of one run, filled by hand."""

    def __init__(self, question: str = "Does metformin help memory?") -> None:
        self.registry = ArtifactRegistry()
        self.ledger = Ledger("run", self.registry)
        self.question = question
        self.searches = 0

    @property
    def desk(self) -> Desk:
        return Desk(self.registry, self.ledger, self.question)

    def hold(self, artifact: CitationArtifact) -> str:
        """The reference of a work that is held and not shown."""
        return str(self.registry.hold(artifact))

    def show(self, artifact: CitationArtifact, *, end: int | None = None) -> str:
        """The reference of a work of which this run has shown title and abstract (or `abstract[:end]`)."""
        reference = self.hold(artifact)
        text = artifact.abstract_text or ""
        self.ledger.record_fetch(reference, source="pubmed", asked=1, references=[reference])
        for section, shown in (("title", artifact.title), ("abstract", text)):
            upto = end if end is not None and section == "abstract" else len(shown)
            self.ledger.show(reference, artifact.copy_id, section, upto, len(shown), text_hash=text_hash(shown))
        return reference

    def search(self, query: str, result: SearchResult | None, **members: Any) -> str:
        """The id of a search that ended so; without a result it failed."""
        self.searches += 1
        record = self.ledger.close_search(
            f"call-{self.searches}",
            source="pubmed",
            query=query,
            started_at=datetime(2026, 1, 1, tzinfo=UTC),
            result=result,
            **members,
        )
        return record.search_id


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def retracted() -> PubMedArticle:
    notice = Notice(kind="retracted_by", reference_id="90000599")
    return paper(60, correction_status="retracted", notices=(notice,))


@pytest.fixture
def preprint_and_paper() -> tuple[BioRxivPreprint, PubMedArticle]:
    """A preprint and the paper that it became."""
    published = paper(71, title="Exercise and memory in print")
    preprint = BioRxivPreprint(
        doi="10.5555/preprint.90000570",
        title="Exercise and memory as a preprint",
        abstract_text=TRIAL_TEXT,
        source="biorxiv",
        server="biorxiv",
        published_doi=published.doi,
        related=(RelatedRecord(relation="published_as", doi=published.doi),),
    )
    return preprint, published
