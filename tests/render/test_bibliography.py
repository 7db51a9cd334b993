"""Bibliography entries, printed from records alone."""

from __future__ import annotations

from typing import Any

import pytest

from literature_agent.artifacts import (
    Author,
    BioRxivPreprint,
    ClinicalTrial,
    EuropePMCArticle,
    PMCArticle,
    PubMedArticle,
)
from literature_agent.render import bibliography_entry, bibliography_entry_markdown

from .conftest import article


def test_an_article_is_printed_in_the_vancouver_form() -> None:
    """ICMJE sample references: authors, title, journal, `year;volume(issue):pages`, identifiers."""
    assert bibliography_entry(article(1)) == (
        "Lindqvist ÅM, Nair PR. Synthetic finding number 1. Synthetic Journal of Tests. 2021;48(3):201-12. "
        "doi:10.5555/synthetic.1 PMID: 90000001"
    )


@pytest.mark.parametrize(
    ("title", "printed"),
    [
        ("Final report.", ". Final report. Synthetic"),
        ("Final report", ". Final report. Synthetic"),
        ("Does it work?", ". Does it work? Synthetic"),
        ('The "final report."', '. The "final report." Synthetic'),
        ("", ". [No title]. Synthetic"),
    ],
)
def test_no_sentence_ends_in_two_full_stops(title: str, printed: str) -> None:
    """K123."""
    entry = bibliography_entry(article(1, title=title, authors=(Author(family="Roe", initials="J", suffix="Jr."),)))
    assert entry.startswith("Roe J Jr. ")
    assert printed in entry
    assert ".." not in entry


@pytest.mark.parametrize(("count", "et_al"), [(6, False), (7, True)])
def test_six_authors_are_named_and_then_et_al(count: int, et_al: bool) -> None:
    authors = tuple(Author(family=f"Name{n}", initials="A") for n in range(1, count + 1))
    entry = bibliography_entry(article(1, authors=authors))
    assert "Name6 A" in entry
    assert "Name7" not in entry
    assert ("Name6 A, et al. Synthetic" in entry) is et_al


def test_a_group_is_named_as_it_is_and_nobody_is_invented() -> None:
    group = Author(collective="Synthetic Study Group")
    assert bibliography_entry(article(1, authors=(group,))).startswith("Synthetic Study Group. Synthetic finding")
    assert bibliography_entry(article(1, authors=())).startswith("Synthetic finding number 1. ")
    assert bibliography_entry(article(1, authors=(Author(),))).startswith("Synthetic finding number 1. ")


@pytest.mark.parametrize(
    ("values", "mark"),
    [
        ({"is_preprint": True}, "[PREPRINT - Not peer-reviewed]"),
        ({"correction_status": "retracted"}, "[RETRACTED]"),
        ({"correction_status": "concern"}, "[CONCERN]"),
        ({"correction_status": "corrected"}, "[CORRECTED]"),
        ({"is_preprint": True, "correction_status": "retracted"}, "[PREPRINT - Not peer-reviewed] [RETRACTED]"),
    ],
)
def test_marks_stand_behind_the_title_in_every_form(values: dict[str, Any], mark: str) -> None:
    assert f"finding number 1. {mark} Synthetic Journal" in bibliography_entry(article(1, **values))
    assert f"finding number 1. {mark} Synthetic Journal" in bibliography_entry_markdown(article(1, **values))


@pytest.mark.parametrize(
    ("values", "printed"),
    [
        ({"volume": None, "issue": None, "pages": None}, " 2021. doi:"),
        ({"issue": None}, " 2021;48:201-12. doi:"),
        ({"volume": None}, " 2021;(3):201-12. doi:"),
        ({"volume": None, "issue": None, "pages": "e123"}, " 2021:e123. doi:"),
        ({"year": None, "volume": None, "issue": None, "pages": None}, " [date unknown]. doi:"),
        ({"journal": None, "journal_abbreviation": "Synth J Tests"}, ". Synth J Tests. 2021;48"),
        ({"journal": None}, "number 1. 2021;48"),
    ],
)
def test_absent_parts_leave_no_empty_punctuation(values: dict[str, Any], printed: str) -> None:
    assert printed in bibliography_entry(article(1, **values))


def test_without_a_doi_the_address_is_printed() -> None:
    page = "https://pubmed.ncbi.nlm.nih.gov/90000001/"
    assert bibliography_entry(article(1, doi=None, url=page)).endswith(f" PMID: 90000001 {page}")
    pmc = PMCArticle(pmcid="PMC90000001", title="Only there", year=2020)
    assert bibliography_entry(pmc) == "Only there. 2020. PMCID: PMC90000001"


def test_an_address_that_is_no_web_address_is_not_printed() -> None:
    assert "javascript" not in bibliography_entry(article(1, doi=None, url="javascript:alert(1)"))
    assert "javascript" not in bibliography_entry_markdown(article(1, doi=None, url="javascript:alert(1)"))


def test_a_preprint_names_its_server_and_version() -> None:
    preprint = BioRxivPreprint(
        source="medrxiv", server="medrxiv", title="Early", doi="10.5555/early", year=2024, version=2
    )
    assert bibliography_entry(preprint) == (
        "Early. [PREPRINT - Not peer-reviewed] medRxiv. 2024 (version 2). doi:10.5555/early"
    )


def test_a_trial_is_printed_as_a_registration() -> None:
    trial = ClinicalTrial(
        nct_id="NCT90000001",
        title="A trial",
        sponsor="University of Nowhere",
        phases=("PHASE2", "PHASE3"),
        overall_status="NOT_YET_RECRUITING",
        start_date="2020-01",
        url="https://clinicaltrials.gov/study/NCT90000001",
    )
    assert bibliography_entry(trial) == (
        "University of Nowhere. A trial. ClinicalTrials.gov. NCT90000001; Phase 2 / Phase 3; not yet recruiting; "
        "start 2020-01. https://clinicaltrials.gov/study/NCT90000001"
    )


def test_a_book_chapter_has_authors_title_book_and_year() -> None:
    chapter = PubMedArticle(
        pmid="90000009",
        title="A chapter",
        authors=(Author(family="Roe", initials="J"),),
        journal="Synthetic Reviews",
        year=2024,
        publication_types=("Review",),
        url="https://pubmed.ncbi.nlm.nih.gov/90000009/",
    )
    assert bibliography_entry(chapter) == (
        "Roe J. A chapter. Synthetic Reviews. 2024. PMID: 90000009 https://pubmed.ncbi.nlm.nih.gov/90000009/"
    )


def test_a_europe_pmc_preprint_without_pmid_has_its_doi() -> None:
    preprint = EuropePMCArticle(
        epmc_id="PPR900001", epmc_source="PPR", title="Early", doi="10.5555/p", year=2024, is_preprint=True
    )
    assert bibliography_entry(preprint) == "Early. [PREPRINT - Not peer-reviewed] 2024. doi:10.5555/p"


# Moves the cursor, colours, sets the window title, rings, turns the writing direction, hides letters.
HOSTILE = "\x1b[2J\x1b[31mRed\x1b[0m \x1b]0;title\x07 a\rb \x9b5A \u202egnirts\u202c \u200bx\U000e0041 \ud800"


@pytest.mark.parametrize("field", ["title", "journal", "volume", "pages"])
def test_nothing_in_a_record_can_control_a_terminal(field: str) -> None:
    for entry in (
        bibliography_entry(article(1, **{field: HOSTILE})),
        bibliography_entry_markdown(article(1, **{field: HOSTILE})),
    ):
        assert "Red" in entry
        assert entry.isprintable()


def test_scripts_that_need_joiners_keep_them() -> None:
    assert "می\u200cشود" in bibliography_entry(article(1, title="می\u200cشود"))


def test_a_title_cannot_become_markup() -> None:
    title = "# <script>x</script> ![i](http://h/i.png) [l](http://h) *a* _b_ `c` |d| [RETRACTED]"
    entry = bibliography_entry_markdown(article(1, title=title, authors=()))
    assert entry.startswith(
        r"\# \<script\>x\</script\> !\[i\](http://h/i.png) \[l\](http://h) \*a\* \_b\_ \`c\` \|d\| \[RETRACTED\]."
    )
