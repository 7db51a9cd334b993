"""Europe PMC over the small corpus, asked over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from lxml import etree

Ask = Callable[..., dict[str, Any]]

REST = "/europepmc/webservices/rest/"
TRIAL, REVIEW, PREPRINT, LETTER = "90001001", "90001002", "90001003", "90001004"
ALONE, PPR, SOIL = "PMC90001050", "PPR900001", "IND900001"


def ids(envelope: dict[str, Any]) -> list[str]:
    return [record["id"] for record in envelope["resultList"]["result"]]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("metformin", {TRIAL, REVIEW}),
        ("TITLE:metformin", {TRIAL}),
        ("TITLE:metformin OR TITLE:dementia", {TRIAL, REVIEW, LETTER}),
        ('ABSTRACT:"cognitive decline"', {TRIAL}),
        ("TITLE_ABS:(sleep AND memory)", {PPR}),
        ("sleep", {PPR, ALONE}),
        ("zigzag", {TRIAL}),
        ("BODY:zigzag", {TRIAL}),
        ("dement*", {REVIEW, LETTER}),
        ('AUTH:"Müller JA"', {TRIAL}),
        ('AUTH:"Smith J"', {REVIEW, PREPRINT}),
        ('AUTH_FIRST:"Roe R"', set()),
        ('AUTH_FIRST:"Doe J"', {PPR, "90001005"}),
        ('JOURNAL:"Synth J Metab"', {TRIAL}),
        ("DOI:10.5555/sandbox.1001", {TRIAL}),
        ('DOI:"10.5555/SANDBOX.1001"', {TRIAL}),
        ("EXT_ID:90001001 AND SRC:MED", {TRIAL}),
        ('EXT_ID:"90001001"', {TRIAL}),
        ('EXT_ID:"90001001" AND (SRC:MED OR SRC:PPR)', {TRIAL}),
        ("PMCID:PMC90001001", {TRIAL}),
        ("PMCID:PMC90001001 AND SRC:PMC", set()),
        ("PMCID:PMC90001050 AND SRC:PMC", {ALONE}),
        ("SRC:PPR", {PPR}),
        ("SRC:AGR", {SOIL}),
        ("memory AND NOT SRC:AGR", {TRIAL, PREPRINT, PPR}),
        ("PUB_YEAR:2015", {TRIAL}),
        ("PUB_YEAR:[2020 TO 2024]", {REVIEW, PREPRINT, ALONE, PPR}),
        ("FIRST_PDATE:[2015-03-01 TO 2015-03-31]", {TRIAL}),
        ("FIRST_PDATE:2015-03-20", {TRIAL}),
        ('PUB_TYPE:"retracted publication"', {LETTER}),
        ('dementia NOT PUB_TYPE:"Retracted Publication"', {REVIEW}),
        ("MESH:dementia", {REVIEW, LETTER}),
        ('KW:"memory clinics"', {TRIAL}),
        ("LANG:ger", {LETTER}),
        ("LANG:german", {LETTER}),
        ("OPEN_ACCESS:y", {TRIAL, ALONE}),
        ("sleep AND HAS_ABSTRACT:y", {PPR, ALONE}),
        ("CITES:90001001_MED", {REVIEW}),
        ("CITED:[10 TO 100]", {REVIEW}),
        ("AUTHORID:0000-0000-0000-0001", {TRIAL}),
        ('PUBLISHER:"bioRxiv"', {PPR}),
        ("asdkfjhasdkfj", set()),
        ("metformin asdkfjhasdkfj", set()),
        ("the effect of metformin", set()),
        ("the metformin", {TRIAL, REVIEW}),
        ("TITLE:the AND TITLE:metformin", {TRIAL}),
        ("PMCID:90001001", {TRIAL}),
        ("OPEN_ACCESS:true AND metformin", {TRIAL}),
        ("PUB_YEAR:[x TO 2020]", set()),
        ("FIRST_PDATE:[2024 TO *]", {PPR}),
        ("FIRST_PDATE:[2024-02 TO 2024-02]", {PPR}),
        ("FIRST_PDATE:[then TO now]", set()),
        ("SRC:PPR NOT sleep", set()),
        ("NOT SRC:MED", {ALONE, PPR, SOIL}),
    ],
)
def test_each_form_of_query_finds_what_europe_pmc_would(epmc: Ask, query: str, found: set[str]) -> None:
    assert set(ids(epmc(query, pageSize="100"))) == found


def test_a_quoted_id_beside_a_bare_source_matches_nothing(epmc: Ask) -> None:
    """K051."""
    assert epmc('EXT_ID:"90001001" AND SRC:MED')["hitCount"] == 0
    assert epmc("EXT_ID:90001001 AND SRC:MED")["hitCount"] == 1


def test_an_empty_answer_has_no_cursor(epmc: Ask) -> None:
    assert epmc("asdkfjh") == {
        "version": "6.9",
        "hitCount": 0,
        "request": {
            "queryString": "asdkfjh",
            "resultType": "lite",
            "cursorMark": "%2A",
            "pageSize": 25,
            "sort": "",
            "synonym": False,
        },
        "resultList": {"result": []},
    }


def test_the_lite_record_of_a_pubmed_paper(epmc: Ask) -> None:
    [record] = epmc("EXT_ID:90001001")["resultList"]["result"]
    assert record == {
        "id": "90001001",
        "source": "MED",
        "pmid": "90001001",
        "pmcid": "PMC90001001",
        "fullTextIdList": {"fullTextId": ["PMC90001001"]},
        "doi": "10.5555/sandbox.1001",
        "title": "Metformin and cognitive decline in adults with type 2 diabetes: a randomized trial.",
        "authorString": "Müller JA, Roe R, MEMORY Study Group.",
        "journalTitle": "Synth J Metab",
        "issue": "3",
        "journalVolume": "12",
        "pubYear": "2015",
        "journalIssn": "0000-0019",
        "pageInfo": "101-110",
        "pubType": "journal article; randomized controlled trial",
        "isOpenAccess": "Y",
        "inEPMC": "Y",
        "inPMC": "Y",
        "hasPDF": "N",
        "hasBook": "N",
        "hasSuppl": "N",
        "citedByCount": 1,
        "hasReferences": "N",
        "hasTextMinedTerms": "N",
        "hasDbCrossReferences": "N",
        "hasLabsLinks": "N",
        "hasTMAccessionNumbers": "N",
        "firstIndexDate": "2015-03-22",
        "firstPublicationDate": "2015-03-20",
    }


def test_the_core_record_of_a_pubmed_paper(epmc: Ask) -> None:
    [record] = epmc("EXT_ID:90001001", resultType="core")["resultList"]["result"]
    assert record["abstractText"] == (
        "<h4>Background</h4>Cognitive decline is common in diabetes.<h4>Results</h4>Metformin slowed decline"
        " (<i>P</i><0.001) in 1.73 m<sup>2</sup> units."
    )
    first, second, group = record["authorList"]["author"]
    assert first == {
        "fullName": "Müller JA",
        "firstName": "Jana Ada",
        "lastName": "Müller",
        "initials": "JA",
        "authorId": {"type": "ORCID", "value": "0000-0000-0000-0001"},
        "authorAffiliationDetailsList": {"authorAffiliation": [{"affiliation": "University of Examples, Sampletown."}]},
    }
    assert second["fullName"] == "Roe R"
    assert group == {"collectiveName": "MEMORY Study Group"}
    assert record["journalInfo"] == {
        "issue": "3",
        "volume": "12",
        "dateOfPublication": "2015 Jun",
        "monthOfPublication": 6,
        "yearOfPublication": 2015,
        "printPublicationDate": "2015-06-01",
        "journal": {
            "title": "Synthetic journal of metabolism",
            "medlineAbbreviation": "Synth J Metab",
            "isoabbreviation": "Synth J Metab",
            "nlmid": "9000001",
            "issn": "0000-0019",
        },
    }
    assert record["pubTypeList"] == {"pubType": ["Journal Article", "Randomized Controlled Trial"]}
    assert record["meshHeadingList"]["meshHeading"][1] == {
        "majorTopic_YN": "N",
        "descriptorName": "Metformin",
        "meshQualifierList": {"meshQualifier": [{"qualifierName": "therapeutic use", "majorTopic_YN": "Y"}]},
    }
    assert record["grantsList"] == {
        "grant": [{"grantId": "EX-1", "agency": "Example Fund", "acronym": "EX", "orderIn": 0}]
    }
    assert record["keywordList"] == {"keyword": ["memory clinics"]}
    assert "commentCorrectionList" not in record


def test_corrections_are_phrases_and_citations_are_none_of_them(epmc: Ask) -> None:
    [record] = epmc("EXT_ID:90001004", resultType="core")["resultList"]["result"]
    assert record["commentCorrectionList"] == {
        "commentCorrection": [
            {
                "id": "90001009",
                "source": "MED",
                "reference": "Synth Lett. 2001;33:9",
                "type": "Retraction in",
                "orderIn": 1,
            }
        ]
    }


def test_a_preprint_record_keeps_its_own_fields(epmc: Ask) -> None:
    [record] = epmc("SRC:PPR", resultType="core")["resultList"]["result"]
    assert record["bookOrReportDetails"] == {"publisher": "bioRxiv", "yearOfPublication": 2024}
    assert "journalInfo" not in record
    [lite] = epmc("SRC:PPR")["resultList"]["result"]
    assert lite["pubType"] == "preprint"
    assert "abstractText" not in lite


def test_a_native_record_is_completed_from_pubmed(epmc: Ask) -> None:
    [record] = epmc("EXT_ID:90001002", resultType="core")["resultList"]["result"]
    assert record["citedByCount"] == 17
    assert record["abstractText"].startswith("Mechanisms that link")
    assert record["pubTypeList"] == {"pubType": ["systematic review", "journal article"]}


def test_a_full_text_without_pmid_is_a_pmc_record(epmc: Ask) -> None:
    [record] = epmc("SRC:PMC", resultType="core")["resultList"]["result"]
    assert (record["id"], record["title"]) == (ALONE, "Sleep hygiene in invented towns")
    assert "pmid" not in record
    assert record["authorString"] == "Nemo AB."


def test_id_lists_hold_ids_only(epmc: Ask) -> None:
    [record] = epmc("EXT_ID:90001001", resultType="idlist")["resultList"]["result"]
    assert set(record) == {"id", "source", "pmid", "pmcid", "fullTextIdList"}


def test_cursors_lead_through_all_pages_to_an_empty_one(epmc: Ask) -> None:
    """K047, K048: the last page still has a cursor; the page after it is empty with the full count."""
    whole = ids(epmc("*", pageSize="100"))
    seen: list[str] = []
    cursor, pages = "*", 0
    while True:
        envelope = epmc("*", pageSize="4", cursorMark=cursor)
        assert envelope["hitCount"] == len(whole)
        if not ids(envelope):
            assert envelope["nextCursorMark"] == cursor
            break
        seen += ids(envelope)
        cursor, pages = envelope["nextCursorMark"], pages + 1
    assert seen == whole
    assert pages == -(-len(whole) // 4)


def test_everything_on_one_page_has_no_cursor(epmc: Ask) -> None:
    assert "nextCursorMark" not in epmc("metformin")


def test_shallow_paging_by_number(epmc: Ask) -> None:
    assert ids(epmc("*", pageSize="3", page="2")) == ids(epmc("*", pageSize="100"))[3:6]


@pytest.mark.parametrize(
    "parameters",
    [{"sort": "FIRST_PIDATE desc"}, {"cursorMark": "nonsense"}, {"cursorMark": "bm9uc2Vuc2U="}, {"sort": "CITED up"}],
)
def test_what_the_service_does_not_know_gives_an_envelope_of_a_version_only(
    epmc: Ask, parameters: dict[str, str]
) -> None:
    """K050."""
    assert epmc("metformin", **parameters) == {"version": "6.9"}


def test_refusals_come_as_an_error_code_inside_200(epmc: Ask) -> None:
    """K050."""
    assert epmc("")["errCode"] == 404
    assert epmc("")["errMsg"].startswith("No search criteria provided.")
    for size in ("0", "1001", "x"):
        refusal = epmc("metformin", pageSize=size)
        assert refusal == {"errCode": 404, "errMsg": "Invalid page size provided. Valid size is between 1 and 1000"}


def test_sorting(epmc: Ask) -> None:
    assert ids(epmc("metformin", sort="CITED desc")) == [REVIEW, TRIAL]
    assert ids(epmc("metformin", sort="CITED asc")) == [TRIAL, REVIEW]
    assert ids(epmc("metformin", sort="PUB_YEAR desc")) == [REVIEW, TRIAL]
    assert ids(epmc("metformin sort_date:y")) == [REVIEW, TRIAL]
    assert ids(epmc("metformin", sort="AUTH_FIRST asc")) == [TRIAL, REVIEW]
    assert ids(epmc("metformin", sort="FIRST_IDATE_D asc")) == [TRIAL, REVIEW]


def test_sorting_by_print_date_leaves_preprints_at_the_end(epmc: Ask) -> None:
    """K053."""
    assert ids(epmc("memory AND (SRC:PPR OR SRC:MED)", sort="P_PDATE_D asc"))[-1] == PPR


def test_relevance_puts_the_title_match_first(epmc: Ask) -> None:
    assert ids(epmc("metformin")) == [TRIAL, REVIEW]


def test_synonyms_add_the_other_number(epmc: Ask) -> None:
    assert ids(epmc("mechanism")) == []
    assert ids(epmc("mechanism", synonym="true")) == [REVIEW]


def test_a_posted_search_has_no_next_address(client: httpx.Client) -> None:
    """K011: `searchPOST` for long queries."""
    query = " OR ".join(f"EXT_ID:{number}" for number in range(90001000, 90001500))
    reply = client.post(REST + "searchPOST", data={"query": query, "pageSize": "1", "format": "json"})
    envelope = reply.json()
    assert envelope["hitCount"] == 6
    assert envelope["request"]["cursorMark"] == "*"
    assert "nextPageUrl" not in envelope
    assert "nextCursorMark" in envelope


def test_xml_is_the_default_format(client: httpx.Client) -> None:
    root = etree.fromstring(client.get(REST + "search", params={"query": "metformin[", "pageSize": "1"}).content)
    assert root.tag == "responseWrapper"
    assert root.findtext("hitCount") == "2"
    assert root.findtext("resultList/result/fullTextIdList/fullTextId") == "PMC90001001"
    refused = etree.fromstring(client.get(REST + "search").content)
    assert (refused.tag, refused.findtext("errCode")) == ("errorBean", "404")


def test_an_article_is_fetched_by_source_and_id(client: httpx.Client) -> None:
    sent = {"format": "json", "resultType": "core"}
    found = client.get(REST + "article/MED/90001001", params=sent).json()
    assert (found["hitCount"], found["result"]["pmcid"]) == (1, "PMC90001001")
    assert client.get(REST + "article/PPR/PPR900001", params=sent).json()["result"]["source"] == "PPR"
    unknown = client.get(REST + "article/MED/99999999", params=sent)
    assert unknown.status_code == 200
    assert unknown.json()["hitCount"] == 0
    assert "result" not in unknown.json()


def test_full_text_is_served_for_open_articles_only(client: httpx.Client) -> None:
    """K055: 404 with an empty body otherwise."""
    reply = client.get(REST + "PMC90001001/fullTextXML")
    assert reply.headers["content-type"].startswith("application/xml")
    assert etree.fromstring(reply.content).findtext("body/sec/p") == "We used the zigzag questionnaire."
    namespaced = etree.fromstring(client.get(REST + "PMC90001050/fullTextXML").content)
    assert etree.QName(namespaced).localname == "article"
    for path in ("PMC99/fullTextXML", "90001002/fullTextXML", "PMC/PMC90001001/fullTextXML"):
        missing = client.get(REST + path)
        assert missing.status_code == 404
    assert client.get(REST + "PMC99/fullTextXML").content == b""


def test_citations_and_references_follow_the_reference_lists(client: httpx.Client) -> None:
    cited = client.get(REST + "MED/90001001/citations", params={"format": "json"}).json()
    [citation] = cited["citationList"]["citation"]
    assert (cited["hitCount"], citation["id"], citation["pubYear"]) == (1, REVIEW, 2020)
    listed = client.get(REST + "MED/90001002/references", params={"format": "json"}).json()
    known, unknown = listed["referenceList"]["reference"]
    assert (known["id"], known["source"], known["citedOrder"]) == (TRIAL, "MED", 1)
    assert unknown == {"title": "A report that no index holds. 1999.", "citedOrder": 2, "match": "N"}
    none = client.get(REST + "MED/90001003/citations", params={"format": "json"}).json()
    assert (none["hitCount"], none["citationList"]) == (0, {"citation": []})


def test_unknown_addresses_are_not_found(client: httpx.Client) -> None:
    for path in ("profile", "MED/1/nothing", "article/MED", "a/b/c/d"):
        assert client.get(REST + path).status_code == 404
    for path in ("/pmc/tools/other/", "/api/v2/stats/size", "/biorxiv/pubs/x", "/_sandbox/other"):
        assert client.get(path).status_code == 404
