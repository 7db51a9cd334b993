"""NBIB."""

from __future__ import annotations

import io
from typing import Any

from Bio import Medline

from literature_agent.artifacts import Author, ClinicalTrial, MeshHeading, Notice
from literature_agent.render.nbib import WIDTH, render_nbib

from .conftest import article


def _read(text: str) -> list[dict[str, Any]]:
    return list(Medline.parse(io.StringIO(text)))  # type: ignore[no-untyped-call]  # it has no types


def test_an_article_is_written_whole() -> None:
    record = article(
        1,
        authors=(
            Author(family="van der Berg", given="Jan Pieter", initials="JP", orcid="0000-0001-0002-0003"),
            Author(family="Roe", initials="J", suffix="Jr"),
            Author(collective="KDIGO Working Group"),
        ),
        published="2021-03-04",
        published_online="2021-01-31",
        pages="737-8",
        issn="1234-5678",
        language="eng",
        journal_abbreviation="Synth J Tests",
        pmcid="PMC90000001",
        accession_numbers=("NCT90000001", "GSE1234"),
        keywords=("Databases, Protein",),
        mesh_headings=(MeshHeading(descriptor="Metformin", major=True, qualifiers=("therapeutic use",)),),
        correction_status="retracted",
        notices=(
            Notice(kind="retracted_by", reference_id="90000099", text="Synth J Tests. 2022;49(1):1."),
            Notice(kind="reinstated_by", reference_id="90000098"),
        ),
    )
    assert render_nbib([record]).splitlines() == [
        "PMID- 90000001",
        "IS  - 1234-5678 (Undetermined)",
        "VI  - 48",
        "IP  - 3",
        "DP  - 2021 Mar 4",
        "TI  - Synthetic finding number 1",
        "PG  - 737-738",
        "AB  - Finding 1 stands here.",
        "FAU - van der Berg, Jan Pieter",
        "AU  - van der Berg JP",
        "AUID- ORCID: 0000-0001-0002-0003",
        "FAU - Roe, J. Jr",
        "AU  - Roe J Jr",
        "CN  - KDIGO Working Group",
        "LA  - eng",
        "SI  - ClinicalTrials.gov/NCT90000001",
        "PT  - Journal Article",
        "PT  - Randomized Controlled Trial",
        "DEP - 20210131",
        "TA  - Synth J Tests",
        "JT  - Synthetic Journal of Tests",
        "MH  - *Metformin/therapeutic use",
        "OT  - Databases, Protein",
        "RIN - Synth J Tests. 2022;49(1):1. PMID: 90000099",
        "PMC - PMC90000001",
        "AID - 10.5555/synthetic.1 [doi]",
        "GN  - [RETRACTED] [SYNTHETIC - Made up for testing]",
    ]


def test_long_texts_are_wrapped_and_read_back_in_one_piece() -> None:
    title = "A very long title about " + "synthetic things and other matters " * 8 + "at the end"
    abstract = "word " * 400 + "https://example.org/" + "x" * 200
    written = render_nbib([article(1, title=title, abstract_text=abstract)])
    lines = written.splitlines()
    assert max(len(line) for line in lines if "example.org" not in line) <= WIDTH
    assert sum(line.startswith("      ") for line in lines) > 20
    (record,) = _read(written)
    assert record["TI"] == title
    assert record["AB"] == abstract


def test_entries_of_a_list_are_never_wrapped() -> None:
    """Readers take a wrapped entry of a list for two."""
    keyword = "a keyword of many words " * 10
    (record,) = _read(render_nbib([article(1, keywords=(keyword, "short"))]))
    assert record["OT"] == [keyword.strip(), "short"]


def test_records_without_a_pmid_are_records_too_and_come_last() -> None:
    """Zotero looks for `PMID- ` among the first lines to tell what a file is."""
    trial = ClinicalTrial(nct_id="NCT01234567", title="A trial", sponsor="University of Nowhere", year=2020)
    first, second, third = _read(render_nbib([trial, article(3), article(2)]))
    assert (first["PMID"], second["PMID"]) == ("90000003", "90000002")
    assert "PMID" not in third
    assert third["SI"] == ["ClinicalTrials.gov/NCT01234567"]
    assert third["CN"] == ["University of Nowhere"]


def test_a_record_cannot_be_smuggled_in() -> None:
    (record,) = _read(render_nbib([article(1, title="x\n\nPMID- 1\nTI  - evil", keywords=("a\nPMID- 2",))]))
    assert record["PMID"] == "90000001"
    assert record["TI"] == "x PMID- 1 TI - evil"


def test_nothing_gives_nothing() -> None:
    assert render_nbib([]) == ""
