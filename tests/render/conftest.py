"""Records and answers with invented values."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from literature_agent.artifacts import Author, DetailedArticle, Quote
from literature_agent.ledger import SearchRecord, SourceCoverage
from literature_agent.outputs import KeyTheme, LiteratureAggregationOutput, ResearchGap
from literature_agent.registry import ArtifactRegistry

STARTED = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)


def article(number: int, **values: Any) -> DetailedArticle:
    """A synthetic paper; `number` makes its PMID and DOI."""
    given: dict[str, Any] = {
        "pmid": str(90_000_000 + number),
        "doi": f"10.5555/synthetic.{number}",
        "title": f"Synthetic finding number {number}.",
        "authors": (Author(family="Lindqvist", initials="ÅM"), Author(family="Nair", initials="PR")),
        "journal": "Synthetic Journal of Tests",
        "year": 2021,
        "volume": "48",
        "issue": "3",
        "pages": "201-12",
        "correction_status": "none",
        "publication_types": ("Journal Article", "Randomized Controlled Trial"),
        "abstract_text": f"Finding {number} stands here.",
        "url": f"https://doi.org/10.5555/synthetic.{number}",
    }
    return DetailedArticle(**{**given, **values})


@pytest.fixture
def registry() -> ArtifactRegistry:
    return ArtifactRegistry()


def held(registry: ArtifactRegistry, artifact: DetailedArticle, **values: Any) -> DetailedArticle:
    """The record as it stands in an output: with its reference and what only outputs carry."""
    return artifact.model_copy(update={"reference": str(registry.hold(artifact)), **values})


@pytest.fixture
def output(registry: ArtifactRegistry) -> LiteratureAggregationOutput:
    """An answer with three listed articles and one that is only cited."""
    first = held(registry, article(1), relevance="The largest trial.", relevance_score=1.0)
    quote = Quote(
        text="Finding 2 stands here.", copy=first.copy_id, section="abstract", start=0, end=22, text_hash="0" * 32
    )
    second = held(registry, article(2, correction_status="retracted"), relevance="Retracted since.", quotes=(quote,))
    third = held(registry, article(3, is_preprint=True, journal="medRxiv"), relevance="Adds nothing new.")
    cited = held(registry, article(4))
    return LiteratureAggregationOutput(
        run_id="run-1",
        question="Does it work?",
        summary=f"It works {second.reference}. Others agree {first.reference}, {second.reference}.\n\nNot in all.",
        relevant_articles=(first, second, third),
        articles_analyzed=2,
        key_themes=(
            KeyTheme(
                name="Effect",
                description=f"Seen in one trial {first.reference}.",
                references=(str(first.reference), str(cited.reference)),
            ),
        ),
        research_gaps=(
            ResearchGap(description="Nothing on children.", basis="null_search", searches=("s2",)),
            ResearchGap(
                description="Long-term effect.",
                basis="stated_in_literature",
                references=(str(second.reference),),
                quotes=(quote,),
            ),
        ),
        status="partial",
        limitations=("europepmc failed: no answer.", f"{second.reference} has been retracted."),
        coverage=(
            SourceCoverage(source="pubmed", asked=2, answered=2, empty=1, failed=0, truncated=0),
            SourceCoverage(source="europepmc", asked=1, answered=0, empty=0, failed=1, truncated=0),
        ),
        search_log=(
            SearchRecord(
                search_id="s1",
                source="pubmed",
                interface="NCBI E-utilities",
                query="it AND works",
                started_at=STARTED,
                status="ok",
                total=153,
                retrieved=10,
                new=10,
                duplicates=0,
                origin="planned",
            ),
            SearchRecord(
                search_id="s2",
                source="pubmed",
                interface="NCBI E-utilities",
                query="it AND children",
                started_at=STARTED,
                status="empty",
                total=0,
                retrieved=0,
                new=0,
                duplicates=0,
                origin="given",
            ),
            SearchRecord(
                search_id="s3",
                source="europepmc",
                query="it AND works",
                started_at=STARTED,
                status="failed",
                reason="europepmc_timeout",
                filters={"date_from": "2015"},
            ),
        ),
        model="extractive",
        started_at=STARTED,
        duration_s=1.25,
    ).attach(registry)
