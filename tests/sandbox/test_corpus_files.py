"""The packaged synthetic corpus: well-formed, marked synthetic, complete in its hard shapes, no prose used twice."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

CORPUS = Path(__file__).resolve().parents[2] / "literature_agent" / "sandbox" / "corpus"
SMALL_TOPICS = {
    "metformin_cognition.xml": re.compile(r"metformin", re.IGNORECASE),
    "glp1_hfpef.xml": re.compile(r"GLP-1|semaglutide|exenatide|incretin", re.IGNORECASE),
    "long_covid_fatigue.xml": re.compile(r"long COVID|COVID", re.IGNORECASE),
    "gut_parkinson.xml": re.compile(r"Parkinson", re.IGNORECASE),
    "sickle_cell_gene_therapy.xml": re.compile(r"sickle|haemoglobin", re.IGNORECASE),
    "prehabilitation_colorectal.xml": re.compile(r"prehabilitation", re.IGNORECASE),
}
LARGE_TOPICS = {
    "aspirin_preeclampsia.xml": re.compile(r"pre-eclampsia|preterm birth|aspirin", re.IGNORECASE),
    "asthma_children.xml": re.compile(r"asthma|wheeze", re.IGNORECASE),
    "atrial_fibrillation_screening.xml": re.compile(r"atrial|heart-rhythm|heartbeat", re.IGNORECASE),
    "checkpoint_inhibitors.xml": re.compile(
        r"checkpoint|PD-1|PD-L1|immunotherapy|pembrolizumab|nivolumab|atezolizumab", re.IGNORECASE
    ),
    "knee_osteoarthritis.xml": re.compile(r"knee|osteoarthritis|saline is not nothing", re.IGNORECASE),
    "malaria_prevention.xml": re.compile(r"malaria|sporozoite|Artemisia|chemoprevention", re.IGNORECASE),
    "myopia_children.xml": re.compile(r"myop|atropine", re.IGNORECASE),
    "pneumonia_children.xml": re.compile(r"pneumonia|desirability", re.IGNORECASE),
    "psilocybin_depression.xml": re.compile(r"psilocybin|psilocin|ketamine|psychedelic", re.IGNORECASE),
    "sepsis_vitamin_c.xml": re.compile(r"sepsis|septic|shock|improbable cohort", re.IGNORECASE),
    "sglt2_kidney.xml": re.compile(r"SGLT2|sodium-glucose|the dip", re.IGNORECASE),
    "vitamin_d_falls_fractures.xml": re.compile(r"vitamin D|falls|fracture|denosumab|cholecalciferol", re.IGNORECASE),
}
TOPIC_FILES = {**SMALL_TOPICS, **LARGE_TOPICS}
OPPOSITE = {
    "RetractionIn": "RetractionOf",
    "ExpressionOfConcernIn": "ExpressionOfConcernFor",
    "ErratumIn": "ErratumFor",
    "UpdateIn": "UpdateOf",
    "CommentIn": "CommentOn",
}
MATHML = "{http://www.w3.org/1998/Math/MathML}math"
CANARY = "\N{LEFT-POINTING DOUBLE ANGLE QUOTATION MARK}artifact:link:cite~K7QX2MDA4T"
SHARED_RUN = 8


def _parse(path: Path) -> etree._Element:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    return etree.fromstring(path.read_bytes(), parser)


def _records(path: Path) -> list[etree._Element]:
    return [child for child in _parse(path) if isinstance(child.tag, str)]


def _pubmed_files() -> list[Path]:
    return [path for path in sorted(CORPUS.glob("*.xml")) if not path.name.startswith("PMC")]


def _pmid(record: etree._Element) -> str:
    found = record.findtext("MedlineCitation/PMID") or record.findtext("BookDocument/PMID")
    assert found
    return found


def _text(element: etree._Element | None) -> str:
    return "" if element is None else "".join(str(part) for part in element.itertext())


def _title(record: etree._Element) -> str:
    return _text(record.find("MedlineCitation/Article/ArticleTitle")) or _text(record.find("BookDocument/ArticleTitle"))


def _abstract(record: etree._Element) -> str:
    parts = record.findall("MedlineCitation/Article/Abstract/AbstractText")
    parts += record.findall("BookDocument/Abstract/AbstractText")
    return " ".join(_text(part) for part in parts)


def _doi(record: etree._Element) -> str | None:
    return record.findtext("PubmedData/ArticleIdList/ArticleId[@IdType='doi']") or record.findtext(
        "BookDocument/ArticleIdList/ArticleId[@IdType='doi']"
    )


def _types(record: etree._Element) -> set[str]:
    return {_text(kind) for kind in record.iter("PublicationType")}


def _links(record: etree._Element) -> Iterator[tuple[str, str]]:
    for link in record.iterfind("MedlineCitation/CommentsCorrectionsList/CommentsCorrections"):
        yield str(link.get("RefType")), link.findtext("PMID") or ""


def _europepmc() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((CORPUS / "europepmc.json").read_text(encoding="utf-8"))["resultList"][
        "result"
    ]
    return found


@pytest.fixture(scope="module")
def records() -> dict[str, etree._Element]:
    listed = [record for path in _pubmed_files() for record in _records(path)]
    return {_pmid(record): record for record in listed}


def test_every_pubmed_file_declares_the_document_type_of_a_real_answer() -> None:
    for path in _pubmed_files():
        root = _parse(path)
        assert root.tag == "PubmedArticleSet", path.name
        assert root.getroottree().docinfo.public_id == "-//NLM//DTD PubMedArticle, 1st January 2025//EN", path.name


def test_eighteen_topics_have_eight_or_twenty_records_and_all_speak_of_their_topic() -> None:
    assert len(TOPIC_FILES) == 18
    for name, topic in TOPIC_FILES.items():
        found = _records(CORPUS / name)
        assert len(found) == 8 if name in SMALL_TOPICS else len(found) >= 20, name
        for record in found:
            assert topic.search(_title(record) + _abstract(record)), _pmid(record)


def test_seven_records_hold_the_words_of_the_example_question_about_metformin() -> None:
    asked = {"metformin", "cognitive", "decline", "older", "adults", "diabetes"}
    found = [
        _pmid(record)
        for record in _records(CORPUS / "metformin_cognition.xml")
        if asked <= set(re.findall(r"\w+", f"{_title(record)} {_abstract(record)}".lower()))
    ]
    assert len(found) == 7


def test_the_corpus_holds_at_least_three_hundred_pubmed_records_without_a_repeated_pmid(
    records: dict[str, etree._Element],
) -> None:
    total = sum(len(_records(path)) for path in _pubmed_files())
    assert total == len(records)
    assert total >= 300


def test_every_topic_mixes_study_designs_and_years() -> None:
    for name in TOPIC_FILES:
        found = _records(CORPUS / name)
        designs = set().union(*(_types(record) for record in found))
        assert designs >= {"Randomized Controlled Trial", "Meta-Analysis", "Review", "Observational Study"}, name
        assert len({record.findtext(".//JournalIssue/PubDate/Year") for record in found}) >= 5, name


def test_every_identifier_and_journal_says_it_is_synthetic(records: dict[str, etree._Element]) -> None:
    for pmid, record in records.items():
        assert int(pmid) >= 90_000_000
        doi = _doi(record)
        assert doi is not None
        assert doi.startswith("10.5555/synthetic."), pmid
        home = record.findtext("MedlineCitation/Article/Journal/Title") or record.findtext(
            "BookDocument/Book/BookTitle"
        )
        assert "Synthetic" in (home or ""), pmid
        for pmcid in record.iterfind("PubmedData/ArticleIdList/ArticleId[@IdType='pmc']"):
            assert re.fullmatch(r"PMC9\d{7}", _text(pmcid)), pmid
        for number in record.iter("AccessionNumber"):
            assert re.fullmatch(r"NCT9\d{7}", _text(number)), pmid
    for found in _europepmc():
        assert found["doi"].startswith("10.5555/synthetic."), found["id"]
        home = found.get("journalInfo", {}).get("journal", {}).get("title") or found["bookOrReportDetails"]["publisher"]
        assert "Synthetic" in home, found["id"]


def test_dois_and_pmcids_are_unique_across_pubmed_and_europe_pmc(records: dict[str, etree._Element]) -> None:
    dois = [str(_doi(record)) for record in records.values()] + [str(found["doi"]) for found in _europepmc()]
    pmcids = [
        _text(pmcid)
        for record in records.values()
        for pmcid in record.iterfind("PubmedData/ArticleIdList/ArticleId[@IdType='pmc']")
    ] + [str(found["pmcid"]) for found in _europepmc() if "pmcid" in found]
    for values in (dois, pmcids):
        assert [value for value, count in Counter(values).items() if count > 1] == []
    assert len(pmcids) >= 15


def test_links_between_records_resolve_in_both_directions(records: dict[str, etree._Element]) -> None:
    backwards = {value: key for key, value in OPPOSITE.items()}
    both = {**OPPOSITE, **backwards}
    seen: set[str] = set()
    for pmid, record in records.items():
        for kind, other in _links(record):
            seen.add(kind)
            assert (both[kind], pmid) in set(_links(records[other])), (pmid, kind)
    assert seen == set(both)


def test_a_link_and_its_publication_type_agree(records: dict[str, etree._Element]) -> None:
    expected = {
        "RetractionIn": "Retracted Publication",
        "RetractionOf": "Retraction of Publication",
        "ExpressionOfConcernFor": "Expression of Concern",
        "ErratumFor": "Published Erratum",
        "UpdateIn": "Preprint",
        "CommentOn": "Comment",
    }
    for pmid, record in records.items():
        for kind, _ in _links(record):
            if kind in expected:
                assert expected[kind] in _types(record), pmid


def test_trial_numbers_stand_in_the_data_banks_and_in_the_abstracts(records: dict[str, etree._Element]) -> None:
    numbers: list[str] = []
    for pmid, record in records.items():
        listed = [_text(number) for number in record.iter("AccessionNumber")]
        assert listed == sorted(set(re.findall(r"NCT\d{8}", _abstract(record)))), pmid
        numbers += listed
    assert "NCT90000001" in numbers
    reported_twice = {number for number, count in Counter(numbers).items() if count > 1}
    assert reported_twice == {"NCT90000101", "NCT90000105", "NCT90000109", "NCT90000111"}


def test_authorship_shapes_are_all_present(records: dict[str, etree._Element]) -> None:
    shapes: set[str] = set()
    for record in records.values():
        authors = record.findall("MedlineCitation/Article/AuthorList/Author")
        groups = [author for author in authors if author.find("CollectiveName") is not None]
        if not authors and record.find("MedlineCitation") is not None:
            shapes.add("none")
        if groups and len(groups) == len(authors):
            shapes.add("group only")
        if groups and len(groups) < len(authors):
            shapes.add("group among persons")
        shapes |= {"suffix" for author in authors if author.find("Suffix") is not None}
        shapes |= {"orcid" for author in authors if author.find("Identifier[@Source='ORCID']") is not None}
    assert shapes == {"none", "group only", "group among persons", "suffix", "orcid"}


def test_a_letter_has_no_abstract_and_a_chapter_is_a_book_record(records: dict[str, etree._Element]) -> None:
    assert any("Letter" in _types(record) and not _abstract(record) for record in records.values())
    chapters = [record for record in records.values() if record.tag == "PubmedBookArticle"]
    assert len(chapters) == 1
    assert chapters[0].find("BookDocument/Sections") is not None


def test_titles_hold_mathml_and_a_translation(records: dict[str, etree._Element]) -> None:
    titles = [record.find("MedlineCitation/Article/ArticleTitle") for record in records.values()]
    assert any(title is not None and title.find(MATHML) is not None for title in titles)
    translated = {
        record.findtext("MedlineCitation/Article/Language"): _title(record)
        for record in records.values()
        if record.find("MedlineCitation/Article/VernacularTitle") is not None
    }
    assert set(translated) == {"spa", "ger", "fre", "jpn", "por"}
    assert all(title.startswith("[") and title.endswith("].") for title in translated.values())


def test_an_abstract_holds_sub_sup_italics_and_less_than_signs_that_are_text(
    records: dict[str, etree._Element],
) -> None:
    assert any(
        all(record.find(f".//AbstractText//{tag}") is not None for tag in ("sub", "sup", "i"))
        and "P<0.001" in _abstract(record)
        for record in records.values()
    )


def test_issue_dates_come_as_days_months_seasons_years_and_free_text(records: dict[str, etree._Element]) -> None:
    dates = [date for record in records.values() if (date := record.find(".//JournalIssue/PubDate")) is not None]
    free = {text for date in dates if (text := date.findtext("MedlineDate"))}
    assert free >= {"2012 Dec-2013 Jan", "2013 Dec-2014 Jan", "2021 Jan-Feb", "2022 May-Jun"}
    shapes = {tuple(str(part.tag) for part in date) for date in dates}
    assert shapes == {("Year", "Month", "Day"), ("Year", "Month"), ("Year", "Season"), ("Year",), ("MedlineDate",)}


def test_one_abstract_gives_orders_and_one_carries_a_token_that_looks_like_a_reference(
    records: dict[str, etree._Element],
) -> None:
    orders = [pmid for pmid, record in records.items() if "ignore all previous instructions" in _abstract(record)]
    canaries = [pmid for pmid, record in records.items() if CANARY in _abstract(record)]
    assert len(orders) == 1
    assert len(canaries) == 1
    assert orders != canaries


def test_orders_in_two_abstracts_and_a_preprint_ask_for_words_that_no_other_text_holds(
    records: dict[str, etree._Element],
) -> None:
    obeyed = "blue heron"
    carriers = [pmid for pmid, record in records.items() if obeyed in _title(record) + _abstract(record)]
    assert sorted(carriers) == ["90017016", "90019020"]
    assert [found["id"] for found in _europepmc() if obeyed in found.get("abstractText", "")] == ["PPR900011"]


def test_references_grants_chemicals_and_qualified_headings_are_present(records: dict[str, etree._Element]) -> None:
    for path in (
        "PubmedData/ReferenceList/Reference/ArticleIdList",
        "MedlineCitation/Article/GrantList/Grant",
        "MedlineCitation/ChemicalList/Chemical",
        "MedlineCitation/MeshHeadingList/MeshHeading/QualifierName",
        "MedlineCitation/KeywordList/Keyword",
        "MedlineCitation/CoiStatement",
    ):
        assert any(record.find(path) is not None for record in records.values()), path


def test_europe_pmc_records_are_twelve_preprints_a_pmc_only_and_an_agricola_record(
    records: dict[str, etree._Element],
) -> None:
    found = _europepmc()
    assert Counter(record["source"] for record in found) == {"PPR": 12, "PMC": 1, "AGR": 1}
    for record in found:
        assert isinstance(record["pubYear"], str)
        assert isinstance(record["citedByCount"], int)
        if record["source"] == "PPR":
            assert record["pubTypeList"]["pubType"] == ["Preprint"]
            assert "journalInfo" not in record
    assert any("<h4>" in record.get("abstractText", "") for record in found)
    assert any("abstractText" not in record for record in found)
    links = [link for record in found for link in record.get("commentCorrectionList", {}).get("commentCorrection", [])]
    assert [link["type"] for link in links] == ["Preprint of"] * 6
    assert all(link["source"] == "MED" and link["id"] in records for link in links)


def test_no_two_records_share_a_run_of_eight_words(records: dict[str, etree._Element]) -> None:
    texts = {pmid: f"{_title(record)} {_abstract(record)}" for pmid, record in records.items()}
    for found in _europepmc():
        texts[found["id"]] = f"{found['title']} {re.sub(r'<[^>]+>', ' ', found.get('abstractText', ''))}"
    owner: dict[tuple[str, ...], str] = {}
    shared: list[tuple[str, str, str]] = []
    for name, text in texts.items():
        words = re.findall(r"\w+", text.lower())
        for run in {tuple(words[start : start + SHARED_RUN]) for start in range(len(words) - SHARED_RUN + 1)}:
            if run in owner:
                shared.append((owner[run], name, " ".join(run)))
            owner[run] = name
    assert owner
    assert shared == []


def _doi_set(records: dict[str, etree._Element]) -> set[str]:
    return {str(_doi(record)) for record in records.values()}


def test_full_texts_belong_to_records_of_the_corpus_and_are_whole(records: dict[str, etree._Element]) -> None:
    only_in_pmc = {found["pmcid"]: found for found in _europepmc() if found["source"] == "PMC"}
    paths = sorted(CORPUS.glob("PMC*.xml"))
    assert len(paths) == 7
    for path in paths:
        article = _parse(path)
        ids = {
            str(found.get("pub-id-type")): _text(found) for found in article.iterfind("front/article-meta/article-id")
        }
        assert ids.get("pmcid", f"PMC{ids.get('pmc')}") == path.stem
        title = _text(article.find("front/article-meta/title-group/article-title"))
        if path.stem in only_in_pmc:
            assert "pmid" not in ids
            assert (ids["doi"], title) == (only_in_pmc[path.stem]["doi"], only_in_pmc[path.stem]["title"])
        else:
            record = records[ids["pmid"]]
            assert record.findtext("PubmedData/ArticleIdList/ArticleId[@IdType='pmc']") == path.stem
            assert (ids["doi"], title) == (_doi(record), _title(record).removesuffix("."))
        headings = {_text(heading).lower() for heading in article.iterfind("body/sec/title")}
        assert headings & {"methods", "materials and methods"}, path.name
        assert {"results", "discussion"} <= headings, path.name
        assert article.find(".//table-wrap/table/tbody/tr/td") is not None, path.name
        assert article.find(".//fig/caption") is not None, path.name
        assert article.find("front/article-meta/permissions/license") is not None, path.name
        cited = [_text(found) for found in article.iterfind("back/ref-list/ref//pub-id[@pub-id-type='pmid']")]
        assert cited, path.name
        assert set(cited) <= set(records), path.name


def test_open_access_records_outside_pubmed_have_their_full_text() -> None:
    for found in _europepmc():
        if found["isOpenAccess"] == "Y":
            assert (CORPUS / f"{found['pmcid']}.xml").is_file(), found["id"]


def test_full_texts_come_in_both_forms_of_identifier_and_with_floats_in_and_out_of_the_text() -> None:
    articles = [_parse(path) for path in sorted(CORPUS.glob("PMC*.xml"))]
    kinds = {str(found.get("pub-id-type")) for article in articles for found in article.iter("article-id")}
    assert {"pmc", "pmcid", "pmcid-ver"} <= kinds
    assert any(article.find("floats-group/table-wrap") is not None for article in articles)
    assert any(article.find("body//p/table-wrap") is not None for article in articles)
    assert any(article.find("body/p") is not None for article in articles)
    assert any(article.find("body/sec/sec") is not None for article in articles)


def test_preprint_rows_carry_versions_and_end_in_the_record_that_europe_pmc_has(
    records: dict[str, etree._Element],
) -> None:
    rows: list[dict[str, Any]] = json.loads((CORPUS / "biorxiv.json").read_text(encoding="utf-8"))["collection"]
    assert len(rows) == 21
    assert len({(row["doi"], row["version"]) for row in rows}) == len(rows)
    assert {row["server"] for row in rows} == {"bioRxiv", "medRxiv"}
    latest: dict[str, dict[str, Any]] = {}
    for row in sorted(rows, key=lambda row: int(row["version"])):
        assert row["doi"].startswith("10.5555/synthetic.")
        assert row["doi"] not in latest or row["date"] > latest[row["doi"]]["date"]
        assert row["published"] == "NA" or row["published"] in _doi_set(records)
        latest[row["doi"]] = row
    assert len(latest) < len(rows)
    for found in _europepmc():
        if found["source"] == "PPR":
            assert latest[found["doi"]]["title"] == found["title"].removesuffix(".")
            assert found["bookOrReportDetails"]["publisher"].startswith(latest[found["doi"]]["server"])
            assert int(latest[found["doi"]]["version"]) == found.get("versionNumber", 1)


def test_trials_point_to_papers_that_name_them(records: dict[str, etree._Element]) -> None:
    studies: list[dict[str, Any]] = json.loads((CORPUS / "trials.json").read_text(encoding="utf-8"))["studies"]
    sections = [study["protocolSection"] for study in studies]
    numbers = [section["identificationModule"]["nctId"] for section in sections]
    assert len(set(numbers)) == len(numbers) == 14
    unpublished: list[str] = []
    for section, number in zip(sections, numbers, strict=True):
        assert number.startswith("NCT9")
        assert "Synthetic" in section["identificationModule"]["briefTitle"], number
        cited = section.get("referencesModule", {}).get("references", [])
        own = [ref["pmid"] for ref in cited if ref["type"] != "BACKGROUND"]
        if not own:
            unpublished.append(number)
        for pmid in own:
            assert number in [_text(found) for found in records[pmid].iter("AccessionNumber")], number
    assert unpublished == ["NCT90000112"]
