"""PubMed's answers to values; pure."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from literature_agent.artifacts import DetailedArticle
from literature_agent.errors import SourceError
from literature_agent.sources._xml import parse_xml
from literature_agent.sources.pubmed.hits import hits_of, spelling_of
from literature_agent.sources.pubmed.parse import parse_articles
from literature_agent.transport import TransientAnswer

Payload = Callable[[str], bytes]


@pytest.fixture
def by_pmid(payload: Payload) -> Callable[[str], dict[str, DetailedArticle]]:
    return lambda name: {article.pmid: article for article in parse_articles(payload(name))}


def article_with(inner: str, *, pubmed_data: str = "") -> DetailedArticle:
    """The record whose `Article` holds `inner`."""
    (article,) = parse_articles(
        f"<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>90000001</PMID><Article>{inner}</Article>"
        f"</MedlineCitation><PubmedData>{pubmed_data}</PubmedData></PubmedArticle></PubmedArticleSet>".encode()
    )
    return article


def dated(pub_date: str, more: str = "") -> DetailedArticle:
    return article_with(f"<Journal><JournalIssue><PubDate>{pub_date}</PubDate></JournalIssue></Journal>{more}")


def test_whole_record(payload: Payload) -> None:
    """Every field that PubMed gives, from one record."""
    (article,) = parse_articles(payload("full-record.xml"))
    assert article.model_dump(mode="json", exclude_defaults=True) == {
        "pmid": "90000501",
        "pmcid": "PMC9900501",
        "doi": "10.5555/synthetic.501",
        "url": "https://doi.org/10.5555/synthetic.501",
        "title": "Invented tablets for an invented disease: a synthetic trial.",
        "authors": [
            {
                "family": "Sample-Name",
                "given": "Ada Q",
                "initials": "AQ",
                "suffix": "Jr",
                "orcid": "0000-0000-0000-000X",
                "affiliations": ["Department of Invention, Nowhere.", "Second institute."],
            },
            {"family": "Specimen", "given": "Bo", "initials": "B"},
            {"collective": "Synthetic Trial Group"},
        ],
        "first_author": "Sample-Name AQ Jr",
        "journal": "Journal of synthetic records",
        "journal_abbreviation": "J Synth Rec",
        "year": 2024,
        "published": "2024-03-05",
        "published_online": "2023-12-01",
        "abstract_text": (
            "BACKGROUND: Nobody has the disease.\nMETHODS: We invented 120 people.\nRegistration: NCT99000001."
        ),
        "abstract_sections": [
            {"label": "BACKGROUND", "category": "BACKGROUND", "text": "Nobody has the disease."},
            {"label": "METHODS", "category": "METHODS", "text": "We invented 120 people."},
            {"text": "Registration: NCT99000001."},
        ],
        "publication_types": ["Journal Article", "Randomized Controlled Trial"],
        "keywords": ["synthetic data", "Inventio spp."],
        "language": "eng",
        "languages": ["eng", "ger"],
        "correction_status": "none",
        "related": [
            {"relation": "trial", "nct_id": "NCT99000001"},
            {"relation": "pmc_copy", "pmcid": "PMC9900501"},
        ],
        "volume": "007",
        "issue": "0012",
        "pages": "244-255",
        "issn": "0000-0019",
        "mesh_headings": [
            {"descriptor": "Invention", "ui": "D000003", "major": True},
            {"descriptor": "Tablets", "ui": "D000004", "major": True, "qualifiers": ["economics", "history"]},
            {"descriptor": "Humans", "ui": "D000005"},
        ],
        "chemicals": [{"name": "Inventions"}, {"name": "inventase", "registry_number": "EC 1.2.3.4"}],
        "grants": [
            {"grant_id": "CSR&D", "agency": "Synthetic Agency", "country": "Nowhere"},
            {"agency": "Agency without a number"},
        ],
        "accession_numbers": ["NCT99000001", "GSE000001"],
        "cited_works": [
            {
                "citation": "Sample A. A cited paper. J Synth Rec 2001;1:1.",
                "pmid": "90000599",
                "doi": "10.5555/cited.1",
            },
            {"citation": "A work that was not found."},
            {"citation": "A PMCID under the wrong name.", "pmcid": "PMC9900599"},
        ],
        "conflict_of_interest": "The authors do not exist.",
    }


def test_record_survives_reading_back(payload: Payload) -> None:
    (article,) = parse_articles(payload("full-record.xml"))
    assert DetailedArticle.model_validate_json(article.model_dump_json(by_alias=True)) == article


def test_records_of_a_list_share_the_set_of_their_fields_and_a_copy_has_its_own(payload: Payload) -> None:
    (article,) = parse_articles(payload("full-record.xml"))
    for parts in (article.authors, article.mesh_headings, article.cited_works, article.abstract_sections):
        assert len(parts) > 1
        assert {id(part.model_fields_set) for part in parts} == {id(parts[0].model_fields_set)}
        assert parts[0].model_fields_set == set(type(parts[0]).model_fields)
    copy = article.authors[0].model_copy(update={"family": "Other"})
    assert copy.model_fields_set is not article.authors[0].model_fields_set


def test_record_with_half_its_fields_missing_has_none_in_their_place(by_pmid: Any) -> None:
    article = by_pmid("half-missing.xml")["90000502"]
    assert (article.title, article.year, article.published, article.published_online) == ("", None, None, None)
    assert (article.authors, article.first_author, article.abstract_text, article.doi) == ((), None, None, None)
    assert (article.journal, article.journal_abbreviation) == (None, "Synth Lett")
    assert article.url == "https://pubmed.ncbi.nlm.nih.gov/90000502/"


def test_deleted_citations_are_no_records(by_pmid: Any) -> None:
    assert list(by_pmid("half-missing.xml")) == ["90000502", "90000503"]


def test_title_that_is_not_available_gives_way_to_the_original_one(by_pmid: Any) -> None:
    assert by_pmid("half-missing.xml")["90000503"].title == "Un titre inventé."


def test_free_text_pages_stay_as_printed(by_pmid: Any) -> None:
    assert by_pmid("half-missing.xml")["90000503"].pages == "1563-5; author reply 1565-6"


def test_doi_comes_from_the_id_list_where_only_a_pii_is_located(by_pmid: Any) -> None:
    """K026; a DOI of the nineties holds angle brackets."""
    article = by_pmid("half-missing.xml")["90000503"]
    assert article.doi == "10.5555/(sici)1234-5678(1998)1:1<1::aid-syn1>3.0.co;2-4"


def test_doi_is_not_overwritten_by_the_pii_or_an_invalid_one() -> None:
    """K026."""
    article = article_with(
        '<ELocationID EIdType="doi" ValidYN="N">10.5555/wrong</ELocationID>'
        '<ELocationID EIdType="doi" ValidYN="Y">10.5555/Right(14)70019-0</ELocationID>'
        '<ELocationID EIdType="pii" ValidYN="Y">10.5555/pii</ELocationID>'
    )
    assert (article.doi, article.alternate_dois) == ("10.5555/right(14)70019-0", ())


def test_second_doi_that_differs_is_kept_as_alternate() -> None:
    article = article_with(
        '<ELocationID EIdType="doi">10.5555/B</ELocationID>',
        pubmed_data='<ArticleIdList><ArticleId IdType="doi">10.5555/A</ArticleId></ArticleIdList>',
    )
    assert (article.doi, article.alternate_dois) == ("10.5555/a", ("10.5555/b",))


def test_inline_markup_keeps_the_whole_text(by_pmid: Any) -> None:
    """K023, K024: digits and the space after them are kept; a raised number stays apart from its base."""
    title = by_pmid("markup.xml")["90000504"].title
    assert title == "Risk at the TERT gene region in 1.73 m² of body and BCL-XL at 10⁻⁵."


def test_formula_greek_and_double_escapes_come_as_plain_text(by_pmid: Any) -> None:
    """K025, K030, K031: no repr, no TeX twice, no soft hyphen, `P<0.001` survives."""
    article = by_pmid("markup.xml")["90000504"]
    assert article.abstract_text == (
        "A synthetic abstract with 17β-estradiol, P<0.001 and c.1022T>C, of italics and CSR&D, where x² = 1/4 holds, "
        "and this sentence is kept. E = m The end."
    )


def test_numbers_that_are_names_stay_text(by_pmid: Any) -> None:
    """K034."""
    assert by_pmid("markup.xml")["90000504"].pages == "4002.e26"
    assert by_pmid("full-record.xml")["90000501"].issue == "0012"


@pytest.mark.parametrize(
    ("pub_date", "published", "year"),
    [
        ("<Year>2018</Year><Month>Jun</Month>", "2018-06", 2018),
        ("<Year>2018</Year><Month>06</Month><Day>5</Day>", "2018-06-05", 2018),
        ("<Year>2018</Year><Month>Feb</Month><Day>30</Day>", "2018-02", 2018),
        ("<Year>2018</Year><Season>Spring</Season>", "2018", 2018),
        ("<MedlineDate>2018 Jun-Jul</MedlineDate>", "2018-06", 2018),
        ("<MedlineDate>1990 May-Jun</MedlineDate>", "1990-05", 1990),
        ("<MedlineDate>1978-1979 Winter</MedlineDate>", "1978", 1978),
        ("<MedlineDate>Winter 2016</MedlineDate>", "2016", 2016),
        ("<Year/><MedlineDate>2000 Spring-Summer</MedlineDate>", "2000", 2000),
        ("<Year>Wint</Year>", None, None),
        ("", None, None),
    ],
)
def test_issue_date_is_as_printed_and_nothing_is_guessed(
    pub_date: str, published: str | None, year: int | None
) -> None:
    """K010, K027."""
    article = dated(pub_date)
    assert (article.published, article.year) == (published, year)


def test_both_dates_are_kept_and_the_year_is_that_of_the_issue() -> None:
    """K028."""
    online = '<ArticleDate DateType="Electronic"><Year>2016</Year><Month>9</Month><Day>15</Day></ArticleDate>'
    article = dated("<Year>2017</Year><Month>Nov</Month><Day>10</Day>", online)
    assert (article.published, article.published_online, article.year) == ("2017-11-10", "2016-09-15", 2017)
    assert dated("", online).year == 2016


def test_names_stay_as_given(by_pmid: Any) -> None:
    """K029: nothing is swapped, what is missing is None."""
    first, second = by_pmid("half-missing.xml")["90000503"].authors
    assert (first.family, first.given, first.initials) == ("Longgivenname", "Li", None)
    assert (second.family, second.given, second.initials) == ("Onlyfamily", None, None)


def test_plain_abstract_has_no_sections() -> None:
    article = article_with("<Abstract><AbstractText>One.</AbstractText></Abstract>")
    assert (article.abstract_text, article.abstract_sections) == ("One.", ())
    assert article_with("<Abstract><AbstractText/></Abstract>").abstract_text is None


def test_retracted_paper_and_its_notice_are_told_apart(by_pmid: Any) -> None:
    """K036."""
    found = by_pmid("corrections.xml")
    paper, notice = found["90000510"], found["90000511"]
    assert (paper.correction_status, paper.is_notice) == ("retracted", False)
    assert [one.model_dump(exclude_none=True) for one in paper.notices] == [
        {
            "kind": "retracted_by",
            "reference_id": "90000511",
            "date": "2021-06-03",
            "text": "J Synth Rec. 2021 Jun 3;9(1):1. doi: 10.5555/notice.511. in: Sample A",
        }
    ]
    assert (notice.correction_status, notice.is_notice) == ("none", True)
    assert [(one.kind, one.reference_id) for one in notice.notices] == [("retraction_of", "90000510")]


def test_retraction_link_without_pmid_still_retracts_and_is_dated(by_pmid: Any) -> None:
    """Two of ten notices have no PMID; `Mar Synth Biol` is a journal, not a month."""
    paper = by_pmid("corrections.xml")["90000512"]
    assert paper.correction_status == "retracted"
    assert [(one.reference_id, one.date) for one in paper.notices] == [(None, "2020-08")]


@pytest.mark.parametrize(
    ("pmid", "status", "is_notice", "notices"),
    [
        ("90000513", "concern", False, [("concern_by", "10.5555/concern.1"), ("corrected_by", "90000599")]),
        ("90000514", "corrected", False, [("corrected_by", "90000515")]),
        ("90000515", "none", True, [("correction_of", "90000514")]),
        ("90000520", "retracted", False, [("retracted_by", "90000521")]),
        ("90000521", "none", False, []),
        ("90000522", "none", False, []),
    ],
)
def test_correction_status_follows_what_links_in(
    by_pmid: Any, pmid: str, status: str, is_notice: bool, notices: list[tuple[str, str]]
) -> None:
    article = by_pmid("corrections.xml")[pmid]
    assert (article.correction_status, article.is_notice) == (status, is_notice)
    assert [(one.kind, one.reference_id) for one in article.notices] == notices


@pytest.mark.parametrize(
    ("pmid", "relation", "other", "is_preprint"),
    [
        ("90000516", "published_as", "90000517", True),
        ("90000517", "preprint", "90000516", False),
        ("90000518", "update_of", "90000519", False),
        ("90000520", "updated_by", "90000521", False),
        ("90000521", "update_of", "90000520", False),
    ],
)
def test_other_versions_are_related_by_what_they_are(
    by_pmid: Any, pmid: str, relation: str, other: str, is_preprint: bool
) -> None:
    """PubMed links preprints and updated reviews alike: only the first kind is a preprint."""
    article = by_pmid("corrections.xml")[pmid]
    assert [(one.relation, one.pmid) for one in article.related] == [(relation, other)]
    assert article.is_preprint is is_preprint


@pytest.mark.parametrize(
    ("title", "kind", "status"),
    [
        ("WITHDRAWN: Widgets in mice", "Preprint", "retracted"),
        ("[Retracted] Widgets in mice", "Preprint", "retracted"),
        ("Withdrawn drugs in mice", "Preprint", "none"),
        ("WITHDRAWN: Widgets in mice", "Journal Article", "none"),
    ],
)
def test_withdrawn_preprint_is_marked_by_its_title(title: str, kind: str, status: str) -> None:
    """Servers withdraw by a new title; in journals the same word also heads notices and decides nothing."""
    types = f"<PublicationTypeList><PublicationType>{kind}</PublicationType></PublicationTypeList>"
    article = article_with(f"<ArticleTitle>{title}</ArticleTitle>{types}")
    assert article.correction_status == status


def test_chapter_has_its_own_title_authors_and_date(by_pmid: Any) -> None:
    """Neither the book's editors nor its first year."""
    chapter = by_pmid("books.xml")["90000530"]
    assert (chapter.title, chapter.journal) == ("Synthetic Disorder", "SyntheticReviews®")
    assert [author.family for author in chapter.authors] == ["Chapter"]
    assert (chapter.published, chapter.year) == ("2024-12-19", 2024)
    assert chapter.publication_types == ("Review",)
    assert [(one.label, one.text) for one in chapter.abstract_sections] == [("DIAGNOSIS/TESTING", "Interval >480 ms.")]


def test_whole_book_has_the_title_and_date_of_the_book(by_pmid: Any) -> None:
    book = by_pmid("books.xml")["90000531"]
    assert (book.title, book.journal, book.year) == ("A whole synthetic book", None, 2011)
    assert [author.family for author in book.authors] == ["Whole"]


def test_empty_set_has_no_records(payload: Payload) -> None:
    assert parse_articles(payload("empty-set.xml")) == []


@pytest.mark.parametrize("name", ["prolog-only.xml", "cut-off.xml", "maintenance.html", "gateway-failure.xml"])
def test_answer_that_is_no_set_of_records_is_an_error(payload: Payload, name: str) -> None:
    """K015, K017: never an empty list."""
    with pytest.raises(SourceError) as broken:
        parse_articles(payload(name))
    assert broken.value.reason == "pubmed_invalid_response"


def test_namespaced_document_is_read_by_local_names(payload: Payload) -> None:
    """K035."""
    plain = payload("full-record.xml")
    namespaced = plain.replace(b"<PubmedArticleSet>", b'<PubmedArticleSet xmlns="http://synthetic.example/ns">')
    assert parse_articles(namespaced) == parse_articles(plain)


@pytest.mark.parametrize(
    "body",
    [
        b"<feed xmlns='http://www.w3.org/2005/Atom'><entry/></feed>",
        b"<PubmedArticleSet><Surprise/></PubmedArticleSet>",
        b"<PubmedArticleSet><PubmedArticle><MedlineCitation/></PubmedArticle></PubmedArticleSet>",
    ],
)
def test_document_without_known_elements_is_an_error(body: bytes) -> None:
    """K035."""
    with pytest.raises(SourceError):
        parse_articles(body)


def test_ordinary_record_with_many_numeric_references_parses() -> None:
    """K033."""
    article = article_with(f"<Abstract><AbstractText>{'&#x3b2;' * 3000}</AbstractText></Abstract>")
    assert article.abstract_text == "β" * 3000


# --- ESearch and ESpell -----------------------------------------------------------------------------------------------


def esearchresult(payload: bytes) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(payload)["esearchresult"]
    return result


def test_numbers_come_as_strings_and_leave_as_numbers(payload: Payload) -> None:
    found = hits_of(
        esearchresult(payload("esearch-phrase-and-tag-dropped.json")), query="flu p.X1Y[NoSuchField]", limit=10
    )
    assert (found.total, found.pmids) == (40362, ("90000502", "90000501"))
    assert found.translation == '"influenza, human"[MeSH Terms] OR "flu"[All Fields]'


def test_everything_that_was_left_out_is_said(payload: Payload) -> None:
    """K004, K005."""
    found = hits_of(
        esearchresult(payload("esearch-phrase-and-tag-dropped.json")), query="flu p.X1Y[NoSuchField]", limit=10
    )
    assert found.warnings == (
        "PubMed knows no field tag [NoSuchField] and searched without it. "
        "The hits answer a broader question than the one asked.",
        "PubMed has nothing for 'p.X1Y' and left it out of the search. "
        "The hits answer a broader question than the one asked.",
        'PubMed does not know the quoted phrase "no such phrase": its words were searched one by one, or left out.',
        "PubMed ignored 'of'.",
        "PubMed says: Unknown sort schema 'colour' ignored",
    )


@pytest.mark.parametrize(
    ("query", "dropped", "is_alternative"),
    [
        ("(tetanus OR pertussis) AND elderly", "pertussis", True),
        ("(pertussis[tiab] OR tetanus) AND elderly", "pertussis", True),
        ("elderly AND (tetanus OR pertussis OR measles)", "pertussis", True),
        ("elderly AND pertussis", "pertussis", False),
        ("(tetanus OR pertussis cough) AND elderly", "pertussis", False),
        ('(tetanus OR "pertussis cough") AND elderly', "pertussis", False),
        ("elderly NOT pertussis OR tetanus", "pertussis", False),
        ("(tetanus OR pertussis[tiab]) AND elderly", "pertussis[Title/Abstract]", True),
        ('tetanus OR "Pertussis" OR measles', "pertussis", True),
        ("tetanus OR (pertussis AND elderly)", "pertussis", False),
        ("tetanus OR pertussis-like AND elderly", "pertussis[Title/Abstract]", False),
    ],
)
def test_a_dropped_member_of_an_or_group_makes_no_broader_question(
    query: str, dropped: str, is_alternative: bool
) -> None:
    answer = {"count": "3", "idlist": ["90000501"], "errorlist": {"phrasesnotfound": [dropped]}}
    [warning] = hits_of(answer, query=query, limit=1).warnings
    assert ("the words joined to it with OR were searched" in warning) is is_alternative
    assert ("a broader question" in warning) is not is_alternative


def test_several_unknown_phrases_are_told_in_one_sentence() -> None:
    answer = {"count": "0", "idlist": [], "warninglist": {"quotedphrasesnotfound": ['"one two"', '"three four"']}}
    assert hits_of(answer, query='"one two" OR "three four"', limit=1).warnings == (
        'PubMed does not know the quoted phrases "one two", "three four": '
        "their words were searched one by one, or left out.",
    )


@pytest.mark.parametrize(
    ("query", "translation", "lost"),
    [
        (
            "Townes-Brocks-Branchiootorenal-Like Syndrome[MeSH Terms:noexp]",
            '"Syndrome"[MeSH Terms:noexp]',
            "'Townes', 'Brocks', 'Branchiootorenal', 'Like'",
        ),
        ("(Hyphen-name J[au])", "J[au]", "'Hyphen', 'name'"),
    ],
)
def test_distinctive_word_that_vanished_without_a_report_is_named(query: str, translation: str, lost: str) -> None:
    """K005."""
    found = hits_of({"count": "264", "idlist": ["90000501"], "querytranslation": translation}, query=query, limit=1)
    assert found.warnings == (
        f"Words of the query that are not in what PubMed searched: {lost}. The hits may not answer it: compare the "
        "query with the interpreted one.",
    )


@pytest.mark.parametrize(
    ("query", "translation", "mapped"),
    [
        ("the effect of statins", '"effect"[All Fields] AND "statins"[All Fields]', []),
        ("heart attack", '"myocardial infarction"[MeSH Terms]', [{"from": "heart attack", "to": "x"}]),
        ("flu AND eng[la] AND hasabstract", '"flu"[All Fields] AND "english"[Language] AND "fha"[Filter]', []),
        ("flu AND 2020:2022[dp]", '"flu"[All Fields] AND 2020/01/01:2022/12/31[Date - Publication]', []),
    ],
)
def test_words_that_pubmed_only_wrote_differently_are_not_called_lost(
    query: str, translation: str, mapped: list[dict[str, str]]
) -> None:
    result = {"count": "5", "idlist": ["90000501"], "querytranslation": translation, "translationset": mapped}
    assert hits_of(result, query=query, limit=1).warnings == ()


def test_nothing_found_is_a_count_of_zero_with_the_phrase_named(payload: Payload) -> None:
    found = hits_of(esearchresult(payload("esearch-nothing.json")), query="metfromin", limit=10)
    assert (found.total, found.pmids) == (0, ())
    assert found.warnings == ("PubMed has nothing for 'metfromin' and left it out of the search.",)


@pytest.mark.parametrize(
    "result", [{}, {"count": "many"}, {"count": "5", "idlist": []}, {"count": "5", "idlist": ["none"]}]
)
def test_count_without_its_identifiers_is_a_passing_fault(result: dict[str, Any]) -> None:
    """Never zero hits."""
    with pytest.raises(TransientAnswer):
        hits_of(result, query="x", limit=10)


def test_identifiers_beyond_the_number_asked_for_are_left_for_the_next_page() -> None:
    found = hits_of({"count": "300", "idlist": ["90000001", "90000002", "90000003"]}, query="x", limit=2)
    assert (found.total, found.pmids) == (300, ("90000001", "90000002"))


def test_words_of_a_very_long_query_are_not_called_lost() -> None:
    words = [f"synthetic{number}" for number in range(1_500)]
    translation = " OR ".join(f'"{word}"[All Fields]' for word in words)
    result = {"count": "1", "idlist": ["90000001"], "querytranslation": translation}
    assert hits_of(result, query=" OR ".join(words), limit=1).warnings == ()


def test_page_after_the_last_record_is_empty_without_fault() -> None:
    assert hits_of({"count": "5", "idlist": []}, query="x", offset=5, limit=10).pmids == ()


def test_suggestion_is_the_corrected_query_and_its_empty_error_element_means_nothing(payload: Payload) -> None:
    assert spelling_of(parse_xml(payload("espell-corrected.xml"), "pubmed")) == "metformin"
    for corrected in ("", "METFORMIN"):
        same = f"<eSpellResult><Query>metformin</Query><CorrectedQuery>{corrected}</CorrectedQuery></eSpellResult>"
        assert spelling_of(parse_xml(same.encode(), "pubmed")) is None


# --- recorded answers -------------------------------------------------------------------------------------------------


def recorded(shared_dir: Path, name: str) -> dict[str, DetailedArticle]:
    body = (shared_dir / "recorded" / "eutils" / name).read_bytes()
    return {article.pmid: article for article in parse_articles(body)}


def test_every_recorded_record_parses_with_a_title_and_its_own_pmid(shared_dir: Path) -> None:
    files = sorted((shared_dir / "recorded" / "eutils").glob("efetch-pubmed-*.xml"))
    files += sorted((shared_dir / "recorded" / "eutils").glob("pubmed-sample-*.xml"))
    assert len(files) > 40
    seen = 0
    for file in files:
        root = parse_xml(file.read_bytes(), "pubmed")
        expected = [
            pmid.text
            for record in root
            for pmid in record.iterfind(
                "MedlineCitation/PMID" if record.tag == "PubmedArticle" else "BookDocument/PMID"
            )
        ]
        articles = parse_articles(file.read_bytes())
        assert [article.pmid for article in articles] == expected, file.name
        for article in articles:
            seen += 1
            assert article.title, file.name
            assert article.year is None or 1900 < article.year < 2030, file.name
            shown = " ".join([article.title, article.abstract_text or "", *article.keywords])
            assert not any(trace in shown for trace in ("&amp;", "&lt;", "<i>", "<sub>", "mml:", "\u00ad")), file.name
    assert seen > 60


@pytest.mark.parametrize(
    ("name", "pmid", "expected"),
    [
        (
            "efetch-pubmed-1234567.xml",
            "1234567",
            {"doi": "10.1159/000398269", "published": "1975", "pages": "94-104", "issue": None},
        ),
        (
            "efetch-pubmed-erratum-in-38147649.xml",
            "38147649",
            {"published": "2024-01-02", "published_online": "2023-12-26", "correction_status": "corrected"},
        ),
        (
            "efetch-pubmed-book-article-20301577.xml",
            "20301577",
            {"published": "2024-12-19", "title": "CACNA1C-Related Disorders", "doi": None},
        ),
        (
            "pubmed-sample-medlinedate.xml",
            "10188493",
            {"published": "1998-12", "year": 1998},
        ),
        (
            "efetch-pubmed-preprint-36798302.xml",
            "36798302",
            {"is_preprint": True, "correction_status": "none", "is_notice": False},
        ),
        (
            "pubmed-sample-retracted-and-notice.xml",
            "9634358",
            {"is_notice": True, "publication_types": ("Retraction of Publication",)},
        ),
    ],
)
def test_recorded_record_has_the_values_that_stand_in_its_file(
    shared_dir: Path, name: str, pmid: str, expected: dict[str, Any]
) -> None:
    article = recorded(shared_dir, name)[pmid]
    assert {field: getattr(article, field) for field in expected} == expected
