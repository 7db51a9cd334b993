"""ESearch over the small corpus, asked over HTTP: what is found and what is said about it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from lxml import etree

Ask = Callable[..., dict[str, Any]]

TRIAL, REVIEW, PREPRINT, LETTER, CHAPTER = "90001001", "90001002", "90001003", "90001004", "90001005"


@pytest.mark.parametrize(
    ("term", "found"),
    [
        ("metformin cognitive decline", {TRIAL}),
        ("metformin[ti]", {TRIAL}),
        ("metformin[tiab]", {TRIAL, REVIEW}),
        ("metformin[ab] NOT metformin[ti]", {REVIEW}),
        ("memory clinics[tiab]", {TRIAL}),
        ("memory clinics[ot]", {TRIAL}),
        ('"cognitive decline"[tiab]', {TRIAL}),
        ('"decline cognitive"[ti]', {TRIAL}),
        ("dement*[ti]", {REVIEW, LETTER}),
        ('"heart fail*"[ti]', {REVIEW}),
        ('"cognitive diabetes"[tiab:~5]', {TRIAL}),
        ("muller ja[au]", {TRIAL}),
        ("Müller J[au]", {TRIAL}),
        ("muller[au]", {TRIAL}),
        ("jana ada muller[au]", {TRIAL}),
        ("muller ja[1au]", {TRIAL}),
        ("roe r[1au]", set()),
        ("MEMORY Study Group[cn]", {TRIAL}),
        ("smith j[au]", {REVIEW, PREPRINT}),
        ('"smith j"[au]', {REVIEW}),
        ("smith ja[au]", {PREPRINT}),
        ("muller[ti]", set()),
        ('"diabetes mellitus, type 2"[mh]', {TRIAL}),
        ("diabetes mellitus, type 2[mh]", {TRIAL}),
        ("type 2 diabetes mellitus[mh]", {TRIAL}),
        ("diabetes mellitus[mh]", {TRIAL}),
        ("diabetes mellitus[mh:noexp]", set()),
        ("metformin/therapeutic use[mh]", {TRIAL}),
        ("metformin[majr]", {TRIAL}),
        ("dementia[mh]", {REVIEW, LETTER}),
        ("dementia[majr]", {LETTER}),
        ("therapeutic use[sh]", {TRIAL}),
        ("randomized controlled trial[pt]", {TRIAL}),
        ('"Clinical Trial"[Publication Type]', {TRIAL}),
        ("systematic[sb]", {REVIEW}),
        ("preprint[pt]", {PREPRINT}),
        ('"retracted publication"[pt]', {LETTER}),
        ("german[la]", {LETTER}),
        ("ger[la]", {LETTER}),
        ("1998[dp]", {LETTER}),
        ("2015[dp]", {TRIAL}),
        ("2015/03[dp]", {TRIAL}),
        ("2015/06[ppdat]", {TRIAL}),
        ("2015/03/20[depdat]", {TRIAL}),
        ('("2015/01/01"[dp] : "2020"[dp])', {TRIAL, REVIEW, "90001006"}),
        ("2019:2023[dp]", {REVIEW, PREPRINT}),
        ('"2020/05/01"[edat] : "3000"[edat]', {REVIEW, PREPRINT}),
        ('"last 5 years"[dp]', {PREPRINT}),
        ("90001001[pmid]", {TRIAL}),
        ("0090001001[uid]", {TRIAL}),
        ("90001001 90001002[pmid]", {TRIAL, REVIEW}),
        ("90001001 90001002", {TRIAL, REVIEW}),
        ("90001001:90001003[uid]", {TRIAL, REVIEW, PREPRINT}),
        ("10.5555/sandbox.1001[doi]", {TRIAL}),
        ("10.5555/SANDBOX.1001[aid]", {TRIAL}),
        ("10.5555/sandbox.1001", {TRIAL}),
        ("PMC90001001[pmc]", {TRIAL}),
        ("NCT90000001[si]", {TRIAL}),
        ("ClinicalTrials.gov/NCT90000001[si]", {TRIAL}),
        ("Synth J Metab[ta]", {TRIAL}),
        ('"Synthetic journal of metabolism"[jour]', {TRIAL}),
        ("12[vi] AND 3[ip] AND 101[pg]", {TRIAL}),
        ("Example Fund[gr]", {TRIAL}),
        ("University of Examples[ad]", {TRIAL}),
        ("free full text[sb]", {TRIAL}),
        ("Demenz[tt]", {LETTER}),
        ("[18F]FDG", {PREPRINT}),
        ("benzo[a]pyrene", {PREPRINT}),
        ("metformin OR dementia AND aspirin", {REVIEW}),
        ("metformin OR (dementia AND letter[pt])", {TRIAL, REVIEW, LETTER}),
        ("dementia NOT review", {LETTER}),
        ("dementia AND NOT review", {REVIEW}),
        ("clinical characteristics childhood", {CHAPTER}),
        ("cat yogurt[mh]", set()),
        ("cat yoghurt", {"90001006"}),
        ("metform*", {TRIAL, REVIEW}),
        ('"cognitive decline"', {TRIAL}),
        ('"cognitive dec*"', {TRIAL}),
        ("dementia hasabstract", {REVIEW}),
        ("german[sb]", {LETTER}),
        ("90001001[pmc]", {TRIAL}),
        ("2015 Jun[ppdat]", {TRIAL}),
        ("2015/13[dp]", set()),
        ("NBK900001[aid]", {CHAPTER}),
        ("humans[sb]", {TRIAL}),
        ("9100L32L2N[rn]", {TRIAL}),
        ("0000-0019[is]", {TRIAL}),
        ("metformin[nm]", {TRIAL}),
        ("nosuchword NOT metformin", set()),
    ],
)
def test_each_form_of_query_finds_what_pubmed_would(esearch: Ask, term: str, found: set[str]) -> None:
    assert set(esearch(term)["idlist"]) == found


def test_a_question_pasted_whole_is_anded_without_its_stop_words(esearch: Ask) -> None:
    result = esearch("Does metformin use during diabetes delay the decline of letters?")
    assert result["idlist"] == []
    assert '"metformin"[MeSH Terms] OR "metformin"[All Fields]' in result["querytranslation"]
    assert "does" not in result["querytranslation"].lower()
    assert esearch("Is there cognitive decline in the diabetes of adults?")["idlist"] == [TRIAL]


def test_a_heading_among_the_words_is_mapped(esearch: Ask) -> None:
    result = esearch("heart failure")
    mapped = (
        '"heart failure"[MeSH Terms] OR ("heart"[All Fields] AND "failure"[All Fields]) OR "heart failure"[All Fields]'
    )
    assert result["translationset"] == [{"from": "heart failure", "to": mapped}]
    assert result["querytranslation"] == mapped


def test_the_answer_has_the_shape_of_the_real_one(client: httpx.Client) -> None:
    """Numbers are strings, lists of trouble are absent without trouble, a line break ends the body."""
    reply = client.get(
        "/entrez/eutils/esearch.fcgi", params={"db": "pubmed", "term": "metformin[ti]", "retmode": "json"}
    )
    assert reply.headers["content-type"].startswith("application/json")
    assert reply.text.endswith("}\n")
    assert reply.json() == {
        "header": {"type": "esearch", "version": "0.3"},
        "esearchresult": {
            "count": "1",
            "retmax": "1",
            "retstart": "0",
            "idlist": [TRIAL],
            "translationset": [],
            "querytranslation": '"metformin"[Title]',
        },
    }


def test_an_unknown_tag_is_reported_and_ignored(esearch: Ask) -> None:
    """K004."""
    result = esearch("metformin[NoSuchField]")
    assert result["errorlist"] == {"phrasesnotfound": [], "fieldsnotfound": ["NoSuchField"]}
    assert result["count"] == "2"


def test_a_word_that_is_nowhere_drops_out_and_is_reported(esearch: Ask) -> None:
    """K005: the rest of the query is answered."""
    result = esearch("p.X1Y AND dementia[ti] AND letter[pt]")
    assert result["errorlist"]["phrasesnotfound"] == ["p.X1Y"]
    assert result["idlist"] == [LETTER]


def test_a_quoted_phrase_that_is_nowhere_is_reported_and_searched_as_words(esearch: Ask) -> None:
    result = esearch('"failure of the heart" AND dementia')
    assert result["warninglist"]["quotedphrasesnotfound"] == ['"failure of the heart"']
    assert result["idlist"] == [REVIEW]


def test_a_heading_that_is_nowhere_drops_out(esearch: Ask) -> None:
    result = esearch('metformin[ti] AND "No Such Heading"[mh]')
    assert result["warninglist"]["quotedphrasesnotfound"] == ['"No Such Heading"[MeSH Terms]']
    assert result["idlist"] == [TRIAL]


def test_a_publication_type_without_records_leaves_nothing(esearch: Ask) -> None:
    """PubMed knows the type, so it is a filter like any other here, and no unknown phrase."""
    result = esearch("metformin AND practice guideline[pt]")
    assert result["count"] == "0"
    assert "errorlist" not in result


def test_nothing_found_is_said_in_words(esearch: Ask) -> None:
    result = esearch("abcXYZ")
    assert (result["count"], result["idlist"]) == ("0", [])
    assert result["errorlist"]["phrasesnotfound"] == ["abcXYZ"]
    assert result["warninglist"]["outputmessages"] == ["No items found."]


def test_xml_is_the_default_and_carries_the_same(client: httpx.Client) -> None:
    reply = client.get("/entrez/eutils/esearch.fcgi", params={"db": "pubmed", "term": 'heart failure "a b" zzqx[xyz]'})
    root = etree.fromstring(reply.content)
    assert reply.headers["content-type"].startswith("text/xml")
    assert [root.findtext(name) for name in ("Count", "RetMax", "RetStart")] == ["1", "1", "0"]
    assert [node.text for node in root.iterfind("IdList/Id")] == [REVIEW]
    assert root.findtext("TranslationSet/Translation/From") == "heart failure"
    assert [node.text for node in root.iterfind("ErrorList/PhraseNotFound")] == ["b", "zzqx"]
    assert root.findtext("ErrorList/FieldNotFound") == "xyz"
    assert root.findtext("WarningList/QuotedPhraseNotFound") == '"a b"'


def test_a_posted_form_is_answered_like_a_get(client: httpx.Client, esearch: Ask) -> None:
    """K011: long queries come as POST."""
    term = " OR ".join(f'"term{number}"[tiab]' for number in range(2000)) + " OR metformin[ti]"
    reply = client.post("/entrez/eutils/esearch.fcgi", data={"db": "pubmed", "term": term, "retmode": "json"})
    assert reply.json()["esearchresult"]["idlist"] == [TRIAL]


def test_pages_follow_each_other_without_gap_or_repeat(esearch: Ask) -> None:
    """K012: the first record is at 0."""
    whole = esearch("all[sb]", retmax="100")
    pages = [esearch("all[sb]", retmax="2", retstart=str(start))["idlist"] for start in range(0, 6, 2)]
    assert whole["count"] == "7"
    assert [pmid for page in pages for pmid in page] == whole["idlist"][:6]
    assert esearch("all[sb]", retstart="50")["idlist"] == []
    assert esearch("all[sb]", retmax="0")["idlist"] == []


def test_paging_past_the_ceiling_is_an_error_inside_200(client: httpx.Client) -> None:
    """K002: and its JSON holds a raw line break, as NCBI sends it."""
    sent = {"db": "pubmed", "term": "metformin", "retstart": "9999", "retmode": "json"}
    reply = client.get("/entrez/eutils/esearch.fcgi", params=sent)
    assert reply.status_code == 200
    with pytest.raises(ValueError, match="control character"):
        json.loads(reply.content)
    message = json.loads(reply.content, strict=False)["esearchresult"]["ERROR"]
    assert message.startswith("Search Backend failed: Exception:\n'retstart' cannot be larger than 9998.")
    xml = client.get("/entrez/eutils/esearch.fcgi", params=sent | {"retmode": "xml"})
    assert "cannot be larger than 9998" in str(etree.fromstring(xml.content).findtext("ERROR"))


@pytest.mark.parametrize("term", ["", "  ", "()", "( )", "\u200b"])
def test_an_empty_term_is_an_error(esearch: Ask, term: str) -> None:
    assert esearch(term) == {"ERROR": "Empty term and query_key - nothing todo"}


def test_an_unknown_database_is_an_error_in_both_forms(client: httpx.Client) -> None:
    """K003."""
    sent = {"db": "x", "term": "metformin"}
    as_json = client.get("/entrez/eutils/esearch.fcgi", params=sent | {"retmode": "json"})
    assert as_json.json()["esearchresult"] == {"ERROR": "Invalid db name specified: x"}
    as_xml = client.get("/entrez/eutils/esearch.fcgi", params=sent)
    assert etree.fromstring(as_xml.content).findtext("ERROR") == "Invalid db name specified: x"


def test_date_parameters_restrict(esearch: Ask) -> None:
    between = {"datetype": "pdat", "mindate": "2015", "maxdate": "2018"}
    result = esearch("all[sb]", **between)
    assert set(result["idlist"]) == {TRIAL, "90001006"}
    assert result["querytranslation"].endswith("AND 2015/01/01:2018/12/31[Date - Publication]")
    assert esearch("all[sb]", datetype="pdat", mindate="2015/06/01", maxdate="2015/06")["idlist"] == [TRIAL]
    assert esearch("all[sb]", datetype="edat", reldate="1200")["idlist"] == [PREPRINT]


def test_one_end_of_a_date_range_restricts_nothing(esearch: Ask) -> None:
    """K006: it vanishes without a word."""
    assert esearch("metformin", datetype="pdat", mindate="2019")["count"] == "2"


def test_relevance_puts_the_title_match_first(esearch: Ask) -> None:
    assert esearch("metformin")["idlist"] == [TRIAL, REVIEW]
    assert esearch("dementia NOT metformin[ti]", sort="relevance")["idlist"][0] in {REVIEW, LETTER}


def test_sorting_by_date_author_and_journal(esearch: Ask) -> None:
    assert esearch("dementia OR metformin", sort="pub_date")["idlist"] == [REVIEW, TRIAL, LETTER]
    assert esearch("dementia OR metformin", sort="Author")["idlist"] == [TRIAL, REVIEW, LETTER]
    assert esearch("dementia OR metformin", sort="JournalName")["idlist"] == [TRIAL, LETTER, REVIEW]


def test_an_unknown_sort_is_ignored_with_a_message(esearch: Ask) -> None:
    result = esearch("metformin", sort="date")
    assert result["warninglist"]["outputmessages"] == ["Unknown sort schema 'date' ignored"]
    assert result["count"] == "2"


def test_only_the_count_on_request(esearch: Ask) -> None:
    assert esearch("metformin", rettype="count") == {"count": "2"}


def test_a_field_parameter_tags_the_whole_term(esearch: Ask) -> None:
    assert esearch("metformin", field="title")["idlist"] == [TRIAL]


def test_history_hands_the_found_ids_to_efetch(client: httpx.Client, esearch: Ask) -> None:
    history = esearch("metformin", usehistory="y")
    sent = {"db": "pubmed", "WebEnv": history["webenv"], "query_key": history["querykey"], "retstart": "1"}
    root = etree.fromstring(client.get("/entrez/eutils/efetch.fcgi", params=sent).content)
    assert [node.text for node in root.iterfind("PubmedArticle/MedlineCitation/PMID")] == [REVIEW]


def test_dates_that_are_none_are_reported(esearch: Ask) -> None:
    for term in ("someday[dp]", "2015/13:2016[dp]", "20/1:3[uid]"):
        result = esearch(f"metformin[ti] AND {term}")
        assert result["idlist"] == [TRIAL]
        assert len(result["errorlist"]["phrasesnotfound"]) == 1


def test_only_stop_words_find_nothing(esearch: Ask) -> None:
    result = esearch("the of and")
    assert result["count"] == "0"
    assert result["warninglist"]["phrasesignored"] == ["the", "of", "and"]


def test_an_unknown_field_parameter_is_reported(esearch: Ask) -> None:
    assert esearch("metformin", field="nosuch")["errorlist"]["fieldsnotfound"] == ["nosuch"]


def test_an_unknown_date_type_restricts_nothing(esearch: Ask) -> None:
    assert esearch("metformin", datetype="xdat", mindate="2019", maxdate="2021")["count"] == "2"


def test_sorting_by_title_and_entry(esearch: Ask) -> None:
    assert esearch("dementia OR metformin", sort="title")["idlist"] == [LETTER, REVIEW, TRIAL]
    assert esearch("dementia OR metformin", sort="most recent")["idlist"] == [REVIEW, TRIAL, LETTER]


def test_count_and_history_in_xml(client: httpx.Client) -> None:
    sent = {"db": "pubmed", "term": "metformin"}
    counted = etree.fromstring(client.get("/entrez/eutils/esearch.fcgi", params=sent | {"rettype": "count"}).content)
    assert [(node.tag, node.text) for node in counted] == [("Count", "2")]
    kept = etree.fromstring(client.get("/entrez/eutils/esearch.fcgi", params=sent | {"usehistory": "y"}).content)
    assert kept.findtext("QueryKey") == "1"
    assert str(kept.findtext("WebEnv")).startswith("MCID_")


def test_only_the_latest_searches_are_kept(client: httpx.Client, esearch: Ask) -> None:
    first = esearch("metformin", usehistory="y")["webenv"]
    names = {esearch("metformin", usehistory="y", retmax="0")["webenv"] for _ in range(201)}
    assert len(names) == 201
    expired = client.get("/entrez/eutils/efetch.fcgi", params={"db": "pubmed", "WebEnv": first, "query_key": "1"})
    assert etree.fromstring(expired.content).findtext("ERROR") == "Unable to obtain query #1"
