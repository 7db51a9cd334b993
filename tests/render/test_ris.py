"""RIS."""

from __future__ import annotations

import rispy

from literature_agent.artifacts import Author, BioRxivPreprint, ClinicalTrial, MeshHeading
from literature_agent.render.ris import render_ris

from .conftest import article


def test_an_article_is_written_whole() -> None:
    record = article(
        1,
        title="A &amp; B <i>x</i>.",
        authors=(
            Author(family="van der Berg", given="Jan"),
            Author(family="Roe", initials="J", suffix="Jr."),
            Author(collective="KDIGO Working Group"),
        ),
        published="2021-03-04",
        pages="737-8",
        issn="1234-5678",
        language="eng",
        journal_abbreviation="Synth J Tests",
        pmcid="PMC90000001",
        keywords=("Databases, Protein",),
        mesh_headings=(MeshHeading(descriptor="Humans"), MeshHeading(descriptor="databases, protein")),
        correction_status="retracted",
    )
    assert render_ris([record]).splitlines() == [
        "TY  - JOUR",
        "ID  - vanderberg2021",
        "AU  - van der Berg, Jan",
        "AU  - Roe, J., Jr.",
        "AU  - KDIGO Working Group",
        "TI  - A & B x",
        "T2  - Synthetic Journal of Tests",
        "J2  - Synth J Tests",
        "PY  - 2021",
        "DA  - 2021/03/04/",
        "VL  - 48",
        "IS  - 3",
        "SP  - 737",
        "EP  - 738",
        "SN  - 1234-5678",
        "DO  - 10.5555/synthetic.1",
        "UR  - https://doi.org/10.5555/synthetic.1",
        "AN  - 90000001",
        "C2  - PMC90000001",
        "AB  - Finding 1 stands here.",
        "KW  - Databases, Protein",
        "KW  - Humans",
        "LA  - eng",
        "N1  - [RETRACTED] [SYNTHETIC - Made up for testing]",
        "DB  - PubMed",
        "ER  - ",
    ]


def test_parts_of_a_date_that_are_not_known_stay_empty() -> None:
    assert "DA  - 2021/03//\n" in render_ris([article(1, published="2021-03")])
    assert "DA  - 2021///\n" in render_ris([article(1, published=None)])
    assert "DA  - " not in render_ris([article(1, published=None, year=None)])


def test_an_article_number_has_no_last_page() -> None:
    """K123."""
    (entry,) = rispy.loads(render_ris([article(1, pages="e123")]))
    assert entry["start_page"] == "e123"
    assert "end_page" not in entry


def test_preprints_and_trials_say_what_they_are() -> None:
    preprint = BioRxivPreprint(source="biorxiv", server="biorxiv", title="Early", doi="10.1101/x", version=2)
    trial = ClinicalTrial(nct_id="NCT01234567", title="A trial", sponsor="University of Nowhere")
    first, second = render_ris([preprint, trial]).split("\n\n")
    assert first.startswith("TY  - UNPB\n")
    for line in ("PB  - bioRxiv\n", "ET  - 2\n", "M3  - Preprint\n", "N1  - [PREPRINT - Not peer-reviewed]\n"):
        assert line in first
    assert second.startswith("TY  - ELEC\n")
    for line in ("AU  - University of Nowhere\n", "AN  - NCT01234567\n", "PB  - ClinicalTrials.gov\n"):
        assert line in second


def test_a_record_cannot_be_smuggled_in() -> None:
    record = article(1, title="x\nER  - \n\nTY  - JOUR\nTI  - evil", abstract_text="a\r\nER  - \r\nb\u2028TY  - JOUR")
    (entry,) = rispy.loads(render_ris([record]))
    assert entry["title"] == "x ER - TY - JOUR TI - evil"
    assert entry["abstract"] == "a ER - b TY - JOUR"


def test_nothing_gives_nothing() -> None:
    assert render_ris([]) == ""
