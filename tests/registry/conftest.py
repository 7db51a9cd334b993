"""Small builders of synthetic records, and a registry in memory and in a file."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from literature_agent.artifacts import (
    BioRxivPreprint,
    ClinicalTrial,
    DetailedArticle,
    EuropePMCArticle,
    PMCArticle,
    Provenance,
    PubMedArticle,
)
from literature_agent.registry import ArtifactRegistry, SQLiteStore

AT = datetime(2031, 1, 2, tzinfo=UTC)


class Records:
    """Synthetic records; keyword arguments are fields."""

    def pubmed(self, pmid: int | str = 90000001, **fields: Any) -> PubMedArticle:
        return PubMedArticle(pmid=str(pmid), **{"title": f"Synthetic paper {pmid}", **fields})

    def detailed(self, pmid: int | str = 90000001, **fields: Any) -> DetailedArticle:
        return DetailedArticle(pmid=str(pmid), **{"title": f"Synthetic paper {pmid}", **fields})

    def europepmc(self, epmc_id: int | str = 90000001, epmc_source: str = "MED", **fields: Any) -> EuropePMCArticle:
        return EuropePMCArticle(epmc_id=str(epmc_id), epmc_source=epmc_source, **fields)

    def pmc(self, pmcid: str = "PMC9900001", **fields: Any) -> PMCArticle:
        return PMCArticle(pmcid=pmcid, **fields)

    def preprint(self, doi: str | None = "10.1101/2031.01.01.990001", **fields: Any) -> BioRxivPreprint:
        return BioRxivPreprint(doi=doi, **{"server": "biorxiv", "source": "biorxiv", **fields})

    def trial(self, nct_id: str = "NCT99000001", **fields: Any) -> ClinicalTrial:
        return ClinicalTrial(nct_id=nct_id, **fields)

    def provenance(self, source: str = "pubmed", request: str = "GET esearch.fcgi") -> Provenance:
        return Provenance(source=source, request=request, retrieved_at=AT)


@pytest.fixture
def make() -> Records:
    return Records()


@pytest.fixture(params=["memory", "sqlite"])
def registry(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ArtifactRegistry]:
    """An empty registry; every test that takes it runs over both stores."""
    if request.param == "memory":
        yield ArtifactRegistry()
        return
    store = SQLiteStore(tmp_path / "registry.db")
    yield ArtifactRegistry(store=store)
    store.close()
