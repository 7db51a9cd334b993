"""Europe PMC's answers to records: bytes in, artifacts out."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from literature_agent.artifacts import DetailedEuropePMCArticle, EuropePMCArticle
from literature_agent.errors import InvalidInputError, LiteratureError, SourceError
from literature_agent.sources.europepmc.parse import BareEnvelope, parse_article, parse_search
from literature_agent.transport import TransientAnswer
from tests import desks
from tests.desks import damaged_bytes, mutated_json

PAYLOADS = desks.PAYLOADS / "europepmc"


def one(**members: Any) -> DetailedEuropePMCArticle:
    """The record of a row that has these members beside its identity."""
    row = {"id": "90000001", "source": "MED", **members}
    article = parse_article(json.dumps({"version": "6.9", "hitCount": 1, "result": row}).encode())
    assert article is not None
    return article


def comments(*items: dict[str, Any]) -> dict[str, Any]:
    return {"commentCorrectionList": {"commentCorrection": list(items)}}


# --- a whole record ---------------------------------------------------------------------------------------------------


def test_core_record_is_read_whole(payload: Callable[[str], bytes]) -> None:
    """K023, K024, K031: text through markup, raised digits kept, escapes decoded once; K034: strings stay strings."""
    article = parse_search(payload("search-core.json"), detailed=True).articles[0]
    assert article.model_dump(mode="json", exclude_defaults=True) == {
        "epmc_id": "90000101",
        "epmc_source": "MED",
        "pmid": "90000101",
        "pmcid": "PMC99000101",
        "doi": "10.5555/synthetic.101",
        "url": "https://doi.org/10.5555/synthetic.101",
        "title": "Effect of widget dose on CO2 uptake at 10⁵ in vitro: a trial.",
        "authors": [
            {
                "family": "de Muster",
                "given": "Erika Vera",
                "initials": "EV",
                "orcid": "0000-0000-0000-0001",
                "affiliations": ["Invented Institute, Nowhere.", "Second Place"],
            },
            {"family": "Ökçün", "given": "Gül Su", "initials": "GS"},
            {"collective": "Synthetic Widget Study Group"},
        ],
        "first_author": "de Muster EV",
        "journal": "Journal of Synthetic Results & Widgets",
        "journal_abbreviation": "J. Synth. Res.",
        "year": 2024,
        "published": "2024-11",
        "published_online": "2024-09-01",
        "abstract_text": (
            "Widgets matter.\n"
            "Background: Little is known; P<0.001 and c.7390T>C were seen.\n"
            "Methods: We gave H2S at 40 kg m⁻². Twice.\n"
            "Results: Uptake rose & stayed <5%."
        ),
        "abstract_sections": [
            {"text": "Widgets matter."},
            {"label": "Background", "text": "Little is known; P<0.001 and c.7390T>C were seen."},
            {"label": "Methods", "text": "We gave H2S at 40 kg m⁻². Twice."},
            {"label": "Results", "text": "Uptake rose & stayed <5%."},
        ],
        "publication_types": ["research-article", "Journal Article", "Randomized Controlled Trial"],
        "keywords": ["Widget", "Dose & response"],
        "language": "eng",
        "languages": ["eng"],
        "correction_status": "corrected",
        "notices": [
            {
                "kind": "corrected_by",
                "reference_id": "90000102",
                "date": "2025-02-03",
                "text": "J Synth Res. 2025 Feb 3;8(1):9. doi: 10.5555/synthetic.102.",
            }
        ],
        "related": [{"relation": "preprint"}, {"relation": "pmc_copy", "pmcid": "PMC99000101"}],
        "citation_count": 12,
        "is_open_access": True,
        "volume": "7",
        "issue": "0012",
        "pages": "4002.e26",
        "issn": "1111-222X",
        "mesh_headings": [
            {"descriptor": "Humans"},
            {"descriptor": "Widgets", "major": True, "qualifiers": ["therapeutic use"]},
        ],
        "chemicals": [{"name": "Hydrogen Sulfide", "registry_number": "YY9FVM7NSN"}],
        "grants": [{"grant_id": "CSR&D-1", "agency": "Invented Fund"}],
        "license": "cc by",
    }


def test_search_gives_plain_records_and_fetch_detailed_ones(payload: Callable[[str], bytes]) -> None:
    body = payload("search-core.json")
    assert {type(article) for article in parse_search(body).articles} == {EuropePMCArticle}
    assert {type(article) for article in parse_search(body, detailed=True).articles} == {DetailedEuropePMCArticle}
    assert type(parse_article(payload("article-core.json"))) is DetailedEuropePMCArticle


def test_preprint_carries_its_server_date_and_probable_journal_version(payload: Callable[[str], bytes]) -> None:
    """Upstream: the link "Preprint of" comes from matching title and first author: inferred, and without a DOI."""
    preprint = parse_search(payload("search-core.json")).articles[1]
    assert (preprint.source, preprint.is_preprint, preprint.epmc_source) == ("preprint", True, "PPR")
    assert (preprint.journal, preprint.published, preprint.pmid) == ("Synthetic Preprints", "2024-03-04", None)
    assert preprint.authors[0].family == "Muster"
    (link,) = preprint.related
    assert (link.relation, link.pmid, link.certainty) == ("published_as", "90000104", "inferred")
    assert preprint.abstract_text == "An abstract without headings."
    assert preprint.abstract_sections == ()


def test_paper_only_in_pmc_gets_year_and_date_from_first_publication(payload: Callable[[str], bytes]) -> None:
    paper = parse_search(payload("search-core.json")).articles[2]
    assert (paper.source, paper.pmcid, paper.pmid, paper.doi) == ("europepmc", "PMC99000105", None, None)
    assert (paper.year, paper.published) == (2024, "2024-06-05")
    assert paper.url == "https://europepmc.org/article/PMC/PMC99000105"
    assert paper.correction_status == "none"


def test_lite_record_says_the_same_as_far_as_it_knows(payload: Callable[[str], bytes]) -> None:
    page = parse_search(payload("search-lite.json"), detailed=True)
    article = page.articles[0]
    assert isinstance(article, DetailedEuropePMCArticle)
    names = [(author.family, author.initials, author.suffix, author.collective) for author in article.authors]
    assert names == [
        ("de Muster", "EV", None, None),
        ("Pasca di Beispiel", "M", None, None),
        ("Heslop-Muster", "JSP", None, None),
        ("Mononym", None, None, None),
        ("Probe", "A", "Jr", None),
        (None, None, None, "Synthetic Widget Consortium"),
    ]
    assert article.publication_types == ("randomized controlled trial", "journal article", "research-article")
    assert (article.year, article.published, article.published_online) == (2023, "2023", None)
    assert (article.volume, article.issue, article.pages, article.issn) == ("2", "1", "1-9", "1111-222X")
    assert article.correction_status == "unknown"
    assert (page.total, page.rows, page.next_cursor) == (5, 5, "AoIIsynthetic1==")


def test_lite_types_tell_notices_and_retracted_papers_apart(payload: Callable[[str], bytes]) -> None:
    """K036: the notice is no retracted paper, and the retracted paper no notice."""
    _, erratum, retracted, note, preprint = parse_search(payload("search-lite.json")).articles
    assert (erratum.is_notice, erratum.correction_status, erratum.authors, erratum.first_author) == (
        True,
        "unknown",
        (),
        None,
    )
    assert (retracted.is_notice, retracted.correction_status) == (False, "retracted")
    assert (note.is_notice, note.correction_status) == (True, "unknown")
    assert preprint.title == "PKC-ι in ¹⁸F-widgets"
    assert preprint.is_preprint


# --- corrections ------------------------------------------------------------------------------------------------------


def test_retraction_outweighs_concern_and_both_notices_are_kept(payload: Callable[[str], bytes]) -> None:
    paper = parse_article(payload("article-core.json"))
    assert paper is not None
    assert (paper.correction_status, paper.is_notice) == ("retracted", False)
    assert [(n.kind, n.reference_id, n.date) for n in paper.notices] == [
        ("retracted_by", "90000142", "2022-03"),
        ("concern_by", "90000143", "2021-12-24"),
    ]
    assert paper.published == "2021"


def test_notice_points_at_its_paper_and_is_not_retracted_itself(payload: Callable[[str], bytes]) -> None:
    notice = parse_article(payload("article-notice.json"))
    assert notice is not None
    assert (notice.is_notice, notice.correction_status) == (True, "none")
    assert [(n.kind, n.reference_id) for n in notice.notices] == [("retraction_of", "90000141")]


@pytest.mark.parametrize(
    ("phrase", "kind", "status", "is_notice"),
    [
        ("Retraction in", "retracted_by", "retracted", False),
        ("ERRATUM IN", "corrected_by", "corrected", False),
        ("Expression of concern in", "concern_by", "concern", False),
        ("Corrected and republished in", "corrected_by", "corrected", False),
        ("Retraction of", "retraction_of", "none", True),
        ("Erratum for", "correction_of", "none", True),
        ("Expression of concern for", "concern_about", "none", True),
    ],
)
def test_phrase_decides_who_speaks_about_whom(phrase: str, kind: str, status: str, is_notice: bool) -> None:
    """Upstream: `in` speaks about this paper, `of` and `for` make this record the notice."""
    article = one(**comments({"id": "90000002", "source": "MED", "type": phrase}))
    assert [notice.kind for notice in article.notices] == [kind]
    assert (article.correction_status, article.is_notice) == (status, is_notice)


@pytest.mark.parametrize(
    ("source", "status"), [("MED", "none"), ("PPR", "none"), ("AGR", "unknown"), ("PAT", "unknown")]
)
def test_no_correction_is_told_only_where_europe_pmc_would_know(source: str, status: str) -> None:
    found = one(source=source, id="X1", pubTypeList={"pubType": ["Patent"]})
    assert found.correction_status == status


@pytest.mark.parametrize("phrase", ["Comment in", "Comment on", "Republished in", "Summary for patients in", "", None])
def test_other_phrases_say_nothing_about_correctness(phrase: str | None) -> None:
    article = one(**comments({"id": "90000002", "source": "MED", "type": phrase}))
    assert (article.notices, article.related, article.correction_status, article.is_notice) == ((), (), "none", False)


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        (
            {"id": "90000002", "source": "MED", "type": "Preprint of"},
            ("published_as", "90000002", None, None, "stated"),
        ),
        (
            {"id": "PMC99000002", "source": "PMC", "type": "Preprint of"},
            ("published_as", None, "PMC99000002", None, "stated"),
        ),
        (
            {"id": "PPR1", "source": "PPR", "type": "Preprint in", "reference": "Synth. doi: 10.5555/Pre.1."},
            ("preprint", None, None, "10.5555/pre.1", "stated"),
        ),
        ({"id": "90000002", "source": "MED", "type": "Update in"}, ("updated_by", "90000002", None, None, "stated")),
        ({"id": "90000002", "source": "MED", "type": "Update of"}, ("update_of", "90000002", None, None, "stated")),
    ],
)
def test_relations_name_the_other_record(comment: dict[str, Any], expected: tuple[str | None, ...]) -> None:
    (link,) = one(**comments(comment)).related
    assert (link.relation, link.pmid, link.pmcid, link.doi, link.certainty) == expected


def test_withdrawn_preprint_is_marked_by_its_title() -> None:
    """Servers withdraw by a new title; in journals the same word also heads notices and decides nothing."""
    withdrawn = one(source="PPR", id="PPR1", title="WITHDRAWN: Widgets", pubTypeList={"pubType": ["Preprint"]})
    assert withdrawn.correction_status == "retracted"
    assert one(title="Retracted: Widgets", pubTypeList={"pubType": ["Journal Article"]}).correction_status == "none"


# --- small members ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("members", "year", "published"),
    [
        ({"pubYear": "2020"}, 2020, "2020"),
        ({"pubYear": 2020}, 2020, "2020"),
        ({"pubYear": "2020", "firstPublicationDate": "2019-12-30"}, 2020, "2020"),
        ({"firstPublicationDate": "2019-12-30"}, 2019, "2019-12-30"),
        ({"journalInfo": {"dateOfPublication": "2016 Nov 10", "yearOfPublication": 2016}}, 2016, "2016-11-10"),
        ({"journalInfo": {"dateOfPublication": "2016 Winter", "yearOfPublication": 2016}}, 2016, "2016"),
        ({"journalInfo": {"yearOfPublication": 2016, "monthOfPublication": 7}}, 2016, "2016-07"),
        ({"journalInfo": {"yearOfPublication": 2016, "monthOfPublication": 0}}, 2016, "2016"),
        ({"pubYear": "Wint"}, None, None),
        ({}, None, None),
    ],
)
def test_dates_keep_the_precision_given(members: dict[str, Any], year: int | None, published: str | None) -> None:
    """K027, K028: the printed issue date, never an invented day, never a date of revision."""
    article = one(**members, dateOfRevision="2025-01-01", dateOfCreation="2024-01-01")
    assert (article.year, article.published) == (year, published)


def test_missing_name_parts_stay_missing() -> None:
    """K029: nothing is swapped or made up."""
    article = one(authorList={"author": [{"lastName": "Solo"}, {"fullName": "Probe AB"}, {"firstName": "Lost"}, {}]})
    assert [(a.family, a.given, a.initials) for a in article.authors] == [("Solo", None, None), ("Probe", None, "AB")]


@pytest.mark.parametrize(("flag", "expected"), [("Y", True), ("N", False), ("", None), (None, None), ("?", None)])
def test_open_access_flag_is_true_false_or_unknown(flag: str | None, expected: bool | None) -> None:
    assert one(isOpenAccess=flag).is_open_access is expected


def test_address_is_doi_then_pubmed_then_europe_pmc() -> None:
    assert one(doi="10.5555/a").url == "https://doi.org/10.5555/a"
    assert one().url == "https://pubmed.ncbi.nlm.nih.gov/90000001/"
    assert one(source="AGR", id="IND 1/2").url == "https://europepmc.org/article/AGR/IND%201%2F2"


def test_text_hides_nothing_and_loses_no_letter() -> None:
    """K030, K031: Greek stays Greek; soft hyphens, bidirectional and other unseen characters go."""
    assert one(title="17β-estra\u00addiol\u202e &amp; P&lt;0.001").title == "17β-estradiol & P<0.001"


def test_single_objects_are_read_as_lists_of_one(payload: Callable[[str], bytes]) -> None:
    page = parse_search(payload("search-single-object.json"))
    assert [(article.pmid, article.year) for article in page.articles] == [("90000121", 2020)]
    assert one(keywordList={"keyword": "alone"}).keywords == ("alone",)
    assert one(keywordList=None, authorList={}).keywords == ()


# --- answers that are no records --------------------------------------------------------------------------------------


def test_nothing_found_is_a_page_without_records(payload: Callable[[str], bytes]) -> None:
    page = parse_search(payload("search-nothing.json"))
    assert (page.total, page.rows, page.articles, page.next_cursor) == (0, 0, (), None)
    assert parse_article(payload("article-unknown.json")) is None


def test_bare_envelope_is_no_zero(payload: Callable[[str], bytes]) -> None:
    """K050: `{"version": "6.9"}` is noise or a refusal, never "nothing found"."""
    with pytest.raises(BareEnvelope):
        parse_search(payload("bare-envelope.json"))
    with pytest.raises(BareEnvelope):
        parse_article(payload("bare-envelope.json"))


def test_refusal_inside_200_is_the_callers_error(payload: Callable[[str], bytes]) -> None:
    """K050: the server's words are passed on, without markup."""
    with pytest.raises(InvalidInputError, match=r"refused the request: No search criteria .* give a query\."):
        parse_search(payload("errcode-query.json"))
    with pytest.raises(InvalidInputError, match="Valid size is between 1 and 1000"):
        parse_search(payload("errcode-page-size.json"))


def test_server_fault_inside_200_is_asked_again() -> None:
    with pytest.raises(TransientAnswer):
        parse_search(b'{"errCode": 500, "errMsg": "Internal error"}')


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not json",
        b"[]",
        b"null",
        b'{"hitCount": 1, "resultList"',
        b'{"hitCount": null}',
        b'{"hitCount": -1}',
        b"\xff{}",
    ],
)
def test_broken_answer_is_a_passing_fault(body: bytes) -> None:
    with pytest.raises(TransientAnswer) as caught:
        parse_search(body)
    assert caught.value.kind == "invalid_response"


def test_deeply_nested_answer_is_a_passing_fault() -> None:
    with pytest.raises(TransientAnswer):
        parse_search(b'{"hitCount":' + b"[" * 100_000)


def test_unreadable_rows_are_named_and_the_rest_is_kept(payload: Callable[[str], bytes]) -> None:
    """Ours: one bad row costs itself only; a row of nothing but its identity is a record (K076)."""
    page = parse_search(payload("search-half-missing.json"))
    assert [(article.pmid, article.title) for article in page.articles] == [("90000131", "")]
    assert page.rows == 3
    assert page.unreadable[0].startswith("record 2 (no id) at id: ")
    assert page.unreadable[1].startswith("record 3 (90000132) at citedByCount: ")


def test_page_without_one_readable_row_is_an_error() -> None:
    with pytest.raises(SourceError) as caught:
        parse_search(b'{"hitCount": 1, "resultList": {"result": [{"title": "x"}]}}')
    assert caught.value.reason == "europepmc_invalid_response"
    assert "record 1 (no id) at id" in caught.value.message


# --- anything at all --------------------------------------------------------------------------------------------------

_ANSWERS = sorted(PAYLOADS.glob("*.json"))


def _parsed(body: bytes) -> None:
    """Whatever the body, the two readers give records or one of the errors that a caller can expect."""
    for read in (lambda: parse_search(body, detailed=True), lambda: parse_article(body)):
        with contextlib.suppress(LiteratureError, TransientAnswer):
            read()


@given(body=mutated_json(_ANSWERS))
def test_mutated_answers_raise_only_errors_of_ours(body: bytes) -> None:
    """Ours: any member replaced by anything, or removed."""
    _parsed(body)


@given(body=damaged_bytes(_ANSWERS))
def test_damaged_bytes_raise_only_errors_of_ours(body: bytes) -> None:
    """Ours: bytes cut out, put in, or broken off."""
    _parsed(body)


# --- recorded answers -------------------------------------------------------------------------------------------------


def test_every_recorded_page_is_read_without_loss(shared_dir: Path) -> None:
    """Real answers of 2016 to 2026: each row becomes a record with a title, an identity and no markup."""
    pages = sorted((shared_dir / "recorded" / "europepmc").glob("search-*.json"))
    assert len(pages) > 10
    for path in pages:
        page = parse_search(path.read_bytes(), detailed=True)
        assert page.unreadable == (), path.name
        assert len(page.articles) == page.rows, path.name
        for article in page.articles:
            assert article.epmc_id, path.name
            assert article.url, path.name
            assert not any(mark in article.title for mark in ("<i>", "<sup>", "&lt;", "&amp;")), article.title
            if "idlist" not in path.name:
                assert article.title, article.epmc_id
                assert article.year, article.epmc_id


def test_recorded_core_and_lite_twins_agree(shared_dir: Path) -> None:
    """The same page in both forms: what both know is the same."""
    folder = shared_dir / "recorded" / "europepmc"
    core = parse_search((folder / "search-core-med-ppr-agr.json").read_bytes()).articles
    lite = parse_search((folder / "search-lite-med-ppr-agr.json").read_bytes()).articles
    same = ("epmc_id", "epmc_source", "doi", "pmid", "pmcid", "title", "year", "is_preprint", "is_open_access", "url")
    for full, short in zip(core, lite, strict=True):
        assert [getattr(full, name) for name in same] == [getattr(short, name) for name in same]
        assert [(a.family, a.initials) for a in full.authors] == [(a.family, a.initials) for a in short.authors]
        assert {t.lower() for t in full.publication_types} == {t.lower() for t in short.publication_types}
