"""Every record of the packaged corpus and of the recorded answers, as the sources read them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path

from literature_agent.artifacts import BioRxivPreprint, CitationArtifact, EuropePMCArticle
from literature_agent.sources.biorxiv import parse as biorxiv
from literature_agent.sources.clinicaltrials import parse as clinicaltrials
from literature_agent.sources.europepmc.parse import parse_search
from literature_agent.sources.pmc import parse as pmc
from literature_agent.sources.pubmed import parse as pubmed

CORPUS = Path(str(resources.files("literature_agent.sandbox") / "corpus"))


def packaged_records() -> list[CitationArtifact]:
    """Each record of each file of the packaged corpus."""
    found: list[CitationArtifact] = []
    for file in sorted(CORPUS.iterdir()):
        body = file.read_bytes()
        if file.suffix == ".xml":
            found += pubmed.parse_articles(body) if b"<PubmedArticleSet" in body else pmc.parse_articles(body)
        elif file.name == "europepmc.json":
            rows = json.loads(body)["resultList"]["result"]
            found += _europepmc(json.dumps({"hitCount": len(rows), "resultList": {"result": rows}}).encode())
        elif file.name == "biorxiv.json":
            found += _preprints(body)
        elif file.name == "trials.json":
            found += (study.trial for study in clinicaltrials.parse_page(body).studies)
    return found


def shapes(records: Sequence[CitationArtifact]) -> list[CitationArtifact]:
    """One record of each shape that a printed reference can tell apart."""

    def shape(record: CitationArtifact) -> tuple[object, ...]:
        authors = record.authors
        return (
            record.kind,
            record.is_preprint,
            record.is_notice,
            record.correction_status,
            min(len(authors), 7),
            any(author.collective for author in authors),
            any(author.suffix for author in authors),
            bool(record.doi),
            bool(record.journal),
            bool(getattr(record, "pages", None)),
            bool(getattr(record, "volume", None)),
            record.language,
            record.title.isascii(),
        )

    return list({shape(record): record for record in records}.values())


def recorded_records(folder: Path) -> list[CitationArtifact]:
    """Each record of the recorded answers that hold records of papers or trials."""
    found: list[CitationArtifact] = []
    for file in sorted((folder / "eutils").glob("efetch-pubmed*.xml")):
        body = file.read_bytes()
        if b"<PubmedArticle" in body or b"<PubmedBookArticle" in body:
            found += pubmed.parse_articles(body)
    for file in [*sorted((folder / "pmc").glob("*.xml")), *sorted((folder / "europepmc").glob("fulltext*.xml"))]:
        if b"<article" in file.read_bytes():
            found += pmc.parse_articles(file.read_bytes())
    for file in sorted((folder / "europepmc").glob("search-*.json")):
        if '"resultList"' in file.read_text(encoding="utf-8"):
            found += _europepmc(file.read_bytes())
    for file in sorted((folder / "biorxiv").glob("details-*.json")):
        found += _preprints(file.read_bytes())
    for file in sorted((folder / "clinicaltrials").glob("study-NCT*.json")):
        found.append(clinicaltrials.parse_study(file.read_bytes()).trial)
    return found


def _europepmc(body: bytes) -> Iterator[EuropePMCArticle]:
    yield from parse_search(body, detailed=True).articles


def _preprints(body: bytes) -> Iterator[BioRxivPreprint]:
    """Every version is a record of its own here."""
    for post in biorxiv.parse_details(body).posts:
        yield biorxiv.preprint_of([post], "medrxiv" if b"medrxiv" in body.lower() else "biorxiv")
