"""Every record of the packaged corpus and of the recorded answers, and a few of the kinds that no parser gives yet."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

from literature_agent.artifacts import (
    Author,
    BioRxivPreprint,
    CitationArtifact,
    ClinicalTrial,
    EuropePMCArticle,
    article_url,
)
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
            found += map(_preprint, json.loads(body)["collection"])
        elif file.name == "trials.json":
            found += map(_trial, json.loads(body)["studies"])
    return found


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
        found += map(_preprint, json.loads(file.read_bytes())["collection"])
    for file in sorted((folder / "clinicaltrials").glob("study-NCT*.json")):
        found.append(_trial(json.loads(file.read_bytes())))
    return found


def _europepmc(body: bytes) -> Iterator[EuropePMCArticle]:
    yield from parse_search(body, detailed=True).articles


def _preprint(row: dict[str, Any]) -> BioRxivPreprint:
    authors = tuple(
        Author(family=family, given=given.strip(" ,") or None)
        for name in row["authors"].split(";")
        for family, _, given in [name.strip().partition(", ")]
        if family
    )
    server = "medrxiv" if "medrxiv" in (row.get("server") or row["jatsxml"]).lower() else "biorxiv"
    return BioRxivPreprint(
        source=server,
        server=server,
        title=row["title"],
        doi=row["doi"].lower(),
        url=article_url(doi=row["doi"].lower()),
        authors=authors,
        year=int(row["date"][:4]),
        published=row["date"],
        version=int(row["version"]),
        abstract_text=html.unescape(row["abstract"]),
        category=row["category"],
    )


def _trial(study: dict[str, Any]) -> ClinicalTrial:
    protocol = study["protocolSection"]
    names, status = protocol["identificationModule"], protocol["statusModule"]
    posted = status.get("studyFirstPostDateStruct", {}).get("date")
    return ClinicalTrial(
        nct_id=names["nctId"],
        title=names["briefTitle"],
        official_title=names.get("officialTitle"),
        url=article_url(nct_id=names["nctId"]),
        sponsor=protocol.get("sponsorCollaboratorsModule", {}).get("leadSponsor", {}).get("name"),
        published=posted,
        year=int(posted[:4]) if posted else None,
        overall_status=status.get("overallStatus"),
        keywords=tuple(protocol.get("conditionsModule", {}).get("keywords", ())),
    )
