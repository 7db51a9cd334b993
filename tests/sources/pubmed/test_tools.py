"""The tools through the real transport: typed results, and what becomes of faults."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from literature_agent.artifacts import DetailedArticle
from literature_agent.errors import InvalidInputError, SourceError
from literature_agent.results import FetchResult, SearchResult
from literature_agent.sources import SOURCES, pubmed
from literature_agent.sources.pubmed.tools import PubMedTools
from literature_agent.transport import Transport

Hits = Callable[..., str]
Records = Callable[[list[str]], bytes]


def pmids(result: SearchResult | FetchResult) -> list[str]:
    return [article.pmid for article in result.artifacts if isinstance(article, DetailedArticle)]


def many(first: int, number: int) -> list[str]:
    return [str(first + n) for n in range(number)]


# --- search -----------------------------------------------------------------------------------------------------------


async def test_search_gives_records_in_the_order_of_the_search(
    desk: Any, tools: PubMedTools, hits: Hits, records: Records
) -> None:
    """EFetch promises no order."""
    desk.answers("esearch", hits(["90000003", "90000001", "90000002"], count=115258), kind="application/json")
    desk.answers("efetch", records(["90000001", "90000002", "90000003"]))
    result = await tools.search_pubmed("attention mechanism")
    assert pmids(result) == ["90000003", "90000001", "90000002"]
    assert (result.status, result.total, result.returned, result.error) == ("ok", 115258, 3, None)
    assert (result.query_sent, result.query_interpreted) == ("attention mechanism", "synthetic")
    assert result.search_url == "https://pubmed.ncbi.nlm.nih.gov/?term=attention+mechanism"


async def test_records_say_where_and_when_they_came_from(serves_all: Any, tools: PubMedTools, hits: Hits) -> None:
    """Provenance never holds the key."""
    serves_all.answers("esearch", hits(["90000001"]), kind="application/json")
    (article,) = (await tools.search_pubmed("x")).artifacts
    now = datetime(2026, 11, 30, 12, tzinfo=UTC)
    assert article.correction_checked_at == now
    (origin,) = article.provenance
    assert (origin.source, origin.retrieved_at) == ("pubmed", now)
    assert origin.request == "GET efetch.fcgi?db=pubmed&id=90000001&retmode=xml"
    assert "synthetic-secret-key" in serves_all.asked("efetch")[0].raw


async def test_one_hit_is_a_page_that_begins_at_record_zero(serves_all: Any, tools: PubMedTools, hits: Hits) -> None:
    """K012."""
    serves_all.answers("esearch", hits(["90000001"]), kind="application/json")
    result = await tools.search_pubmed("x")
    assert serves_all.asked("esearch")[0].fields["retstart"] == "0"
    assert (result.status, result.returned, result.next_page, result.page) == ("ok", 1, None, None)


async def test_next_page_continues_right_after_the_last_record(serves_all: Any, tools: PubMedTools, hits: Hits) -> None:
    serves_all.answers("esearch", hits(["90000001", "90000002"], count=5), kind="application/json")
    first = await tools.search_pubmed("x", max_results=2)
    await tools.search_pubmed("x", max_results=2, page=first.next_page)
    assert first.next_page == "2"
    assert [one.fields["retstart"] for one in serves_all.asked("esearch")] == ["0", "2"]


async def test_list_that_goes_beyond_reach_is_partial_and_says_how_to_get_the_rest(
    serves_all: Any, tools: PubMedTools, hits: Hits
) -> None:
    """K001: 1,000,000 asked, 36,935 match, 9,999 come."""
    adjusted = {"warninglist": {"outputmessages": ["Start and count were adjusted."]}}
    serves_all.answers("esearch", hits(many(90_000_000, 9_999), count=36_935, **adjusted), kind="application/json")
    result = await tools.search_pubmed("x", max_results=1_000_000)
    assert serves_all.asked("esearch")[0].fields["retmax"] == "9999"
    assert (result.status, result.total, result.returned, result.next_page) == ("partial", 36_935, 9_999, None)
    assert result.error is not None
    assert "Split the search by date" in result.error.recovery
    assert "PubMed says: Start and count were adjusted." in result.warnings
    assert any("only the first 9,999 of these 36,935" in warning for warning in result.warnings)
    assert len(serves_all.asked("efetch")) == 50


async def test_more_matches_than_were_asked_for_are_no_fault(serves_all: Any, tools: PubMedTools, hits: Hits) -> None:
    serves_all.answers("esearch", hits(["90000001"], count=50_000), kind="application/json")
    result = await tools.search_pubmed("x", max_results=1)
    assert (result.status, result.next_page) == ("ok", "1")


async def test_last_reachable_page_is_made_smaller(serves_all: Any, tools: PubMedTools, hits: Hits) -> None:
    serves_all.answers("esearch", hits(many(90_000_000, 9), count=50_000), kind="application/json")
    result = await tools.search_pubmed("x", max_results=20, page="9990")
    assert serves_all.asked("esearch")[0].fields["retmax"] == "9"
    assert (result.status, result.next_page) == ("partial", None)


@pytest.mark.parametrize("arguments", [{"page": "10000"}, {"sort": "colour"}, {"max_results": 0}])
async def test_refused_arguments_send_nothing(desk: Any, tools: PubMedTools, arguments: dict[str, Any]) -> None:
    """K002."""
    with pytest.raises(InvalidInputError) as refused:
        await tools.search_pubmed("cancer", **arguments)
    assert refused.value.reason == "pubmed_invalid_input"
    assert desk.sent == []


async def test_nothing_found_is_empty_and_carries_the_spelling_suggestion(desk: Any, tools: PubMedTools) -> None:
    desk.answers_with("esearch", "esearch-nothing.json")
    desk.answers_with("espell", "espell-corrected.xml")
    result = await tools.search_pubmed("metfromin")
    assert (result.status, result.total, result.returned, result.artifacts, result.error) == ("empty", 0, 0, (), None)
    assert result.notice == "PubMed found nothing. Its spelling aid suggests: metformin"
    assert result.warnings == ("PubMed has nothing for 'metfromin' and left it out of the search.",)
    assert desk.asked("efetch") == []


async def test_spelling_aid_that_fails_takes_nothing_away(desk: Any, tools: PubMedTools, transport: Transport) -> None:
    desk.answers_with("esearch", "esearch-nothing.json")
    desk.answers("espell", "Service Unavailable", status=503, kind="text/plain")
    result = await tools.search_pubmed("metfromin")
    assert (result.status, result.notice) == ("empty", "PubMed found nothing.")
    assert transport.time_left() is None, "its patience does not outlive it"


async def test_spelling_aid_is_not_asked_when_there_are_hits(serves_all: Any, tools: PubMedTools, hits: Hits) -> None:
    serves_all.answers("esearch", hits(["90000001"]), kind="application/json")
    await tools.search_pubmed("x")
    assert serves_all.asked("espell") == []


async def test_a_word_left_out_asks_the_spelling_aid_although_the_rest_has_hits(
    serves_all: Any, tools: PubMedTools, hits: Hits
) -> None:
    found = hits(["90000001"], errorlist={"phrasesnotfound": ["metfromin"], "fieldsnotfound": []})
    serves_all.answers("esearch", found, kind="application/json")
    serves_all.answers_with("espell", "espell-corrected.xml")
    result = await tools.search_pubmed("metfromin dementia")
    assert (result.status, result.returned) == ("ok", 1)
    assert result.notice == ("PubMed left out words that it does not know. Its spelling aid suggests: metformin")


async def test_page_after_the_last_record_says_so(desk: Any, tools: PubMedTools, hits: Hits) -> None:
    desk.answers("esearch", hits([], count=5), kind="application/json")
    result = await tools.search_pubmed("x", page="5")
    assert (result.status, result.total, result.returned, result.page) == ("ok", 5, 0, "5")
    assert result.notice is not None
    assert "no further records" in result.notice


async def test_what_pubmed_left_out_reaches_the_caller(desk: Any, tools: PubMedTools, records: Records) -> None:
    """K004, K005: hits and warnings together."""
    desk.answers_with("esearch", "esearch-phrase-and-tag-dropped.json")
    desk.answers("efetch", records(["90000501", "90000502"]))
    result = await tools.search_pubmed("flu p.X1Y[NoSuchField]", sort="journal")
    assert (result.total, result.returned) == (40362, 2)
    for said in ("NoSuchField", "p.X1Y", "no such phrase", "'of'", "sort schema"):
        assert any(said in warning for warning in result.warnings), said


async def test_record_found_but_not_handed_out_makes_the_page_partial(
    desk: Any, tools: PubMedTools, hits: Hits, records: Records
) -> None:
    desk.answers("esearch", hits(["90000001", "90000002"]), kind="application/json")
    desk.answers("efetch", records(["90000001"]))
    result = await tools.search_pubmed("x")
    assert (result.status, pmids(result)) == ("partial", ["90000001"])
    assert any("PMID 90000002" in warning for warning in result.warnings)


async def test_records_that_cannot_be_read_leave_the_count_and_the_cause(
    desk: Any, tools: PubMedTools, hits: Hits
) -> None:
    """Ours: the search itself was answered, so it is partial and not failed."""
    desk.answers("esearch", hits(["90000001", "90000002"], count=7), kind="application/json")
    desk.answers("efetch", "down", status=503, kind="text/plain")
    result = await tools.search_pubmed("x")
    assert (result.status, result.total, result.returned) == ("partial", 7, 0)
    assert result.error is not None
    assert (result.error.reason, result.error.retryable) == ("pubmed_unreachable", True)


async def test_long_query_is_posted(serves_all: Any, tools: PubMedTools, hits: Hits) -> None:
    """K011: 5,000 characters."""
    serves_all.answers("esearch", hits(["90000001"]), kind="application/json")
    query = " OR ".join(["synthetic[tiab]"] * 260)
    result = await tools.search_pubmed(query)
    (sent,) = serves_all.asked("esearch")
    assert (sent.method, sent.fields["term"]) == ("POST", query)
    assert result.query_sent == query


# --- faults of the service --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("payload", "status"),
    [("prolog-only.xml", 200), ("cut-off.xml", 200), ("gateway-failure.xml", 400), ("maintenance.html", 200)],
)
async def test_passing_fault_of_efetch_is_asked_again(
    desk: Any, tools: PubMedTools, hits: Hits, records: Records, payload: str, status: int
) -> None:
    """K014, K015, K016, K017."""
    desk.answers("esearch", hits(["90000001"]), kind="application/json")
    desk.answers_with("efetch", payload, status=status)
    desk.answers("efetch", records(["90000001"]))
    result = await tools.search_pubmed("x")
    assert (result.status, result.returned, len(desk.asked("efetch"))) == ("ok", 1, 2)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ('{"ERROR":"TXCLIENT(CException::eUnknown) EOF"}', "application/json"),
        ('{"esearchresult":{"ERROR":"Search Backend failed: address table is empty."}}', "application/json"),
        ("<eSearchResult><ERROR>Search Backend failed: x</ERROR></eSearchResult>", "text/xml"),
        ("NCBI C++ Exception: CTxRawClient", "text/plain"),
        ("<html><body>Service Temporarily Unavailable</body></html>", "text/html"),
        ("", "application/json"),
        ('{"header":{}, "esearchresult":{"count":"5","idli', "application/json"),
        ('{"header":{}, "esearchresult":{}}', "application/json"),
    ],
)
async def test_passing_fault_of_esearch_is_asked_again_and_never_zero_hits(
    desk: Any, tools: PubMedTools, body: str, kind: str
) -> None:
    """K003, K015, K016: an error after bounded attempts, whatever its dress."""
    desk.answers("esearch", body, kind=kind)
    with pytest.raises(SourceError) as failed:
        await tools.search_pubmed("x")
    assert failed.value.reason in ("pubmed_unreachable", "pubmed_invalid_response")
    assert failed.value.retryable
    assert len(desk.asked("esearch")) == 3


@pytest.mark.parametrize(
    "body",
    [
        '{"esearchresult":{"ERROR":"Invalid db name specified: x&api_key=0123456789abcdef0123456789abcdef0123"}}',
        "<eSearchResult><ERROR>Invalid db name specified: x&amp;api_key=0123456789abcdef0123456789abcdef0123</ERROR>"
        "</eSearchResult>",
    ],
)
async def test_refusal_in_json_or_xml_is_one_error_with_the_reason_and_without_the_key(
    desk: Any, tools: PubMedTools, body: str
) -> None:
    """K003."""
    desk.answers("esearch", body)
    with pytest.raises(InvalidInputError) as refused:
        await tools.search_pubmed("x")
    assert refused.value.reason == "pubmed_invalid_input"
    assert "Invalid db name specified: x" in refused.value.message
    assert "0123456789abcdef" not in refused.value.message
    assert len(desk.sent) == 1


async def test_error_text_with_a_raw_line_break_is_still_read(desk: Any, tools: PubMedTools) -> None:
    """K002: strict JSON decoding fails on it."""
    desk.answers_with("esearch", "esearch-error-raw-newline.json")
    with pytest.raises(InvalidInputError, match="'retstart' cannot be larger than 9998"):
        await tools.search_pubmed("x")
    assert len(desk.sent) == 1


async def test_wrong_key_is_a_configuration_error_that_names_the_setting(desk: Any, tools: PubMedTools) -> None:
    """K022: HTTP 400 as for a wrong id, but not one; not repeated, and the key is not shown."""
    desk.answers_with("efetch", "api-key-invalid.json", status=400)
    with pytest.raises(SourceError) as failed:
        await tools.fetch_pubmed(["90000001"])
    assert (failed.value.reason, failed.value.retryable) == ("pubmed_configuration", False)
    assert "NCBI_API_KEY" in failed.value.message
    assert "0123456789abcdef" not in failed.value.message + failed.value.recovery
    assert len(desk.sent) == 1


async def test_rate_limit_for_ever_ends_as_rate_limited(desk: Any, tools: PubMedTools) -> None:
    desk.answers_with("esearch", "rate-limit.json", status=429)
    with pytest.raises(SourceError) as failed:
        await tools.search_pubmed("x")
    assert failed.value.reason == "pubmed_rate_limited"
    assert "203.0.113.7" not in failed.value.message


# --- fetch ------------------------------------------------------------------------------------------------------------


async def test_fetch_joins_by_identifier_in_the_order_asked(desk: Any, tools: PubMedTools, records: Records) -> None:
    desk.answers("efetch", records(["90000002", "90000001"]))
    result = await tools.fetch_pubmed(["PMID:90000001", "90000003", "90000002", "90000001"])
    assert pmids(result) == ["90000001", "90000002"]
    assert (result.not_found, result.failed) == (("90000003",), {})
    assert desk.sent[0].ids == ["90000001", "90000003", "90000002"]


async def test_no_identifiers_send_nothing(desk: Any, tools: PubMedTools) -> None:
    """K013."""
    assert await tools.fetch_pubmed([]) == FetchResult()
    assert desk.sent == []


@pytest.mark.parametrize(
    ("pmid", "payload", "status"),
    [("87654321", "id-list-empty.xml", 400), ("99999999", "empty-set.xml", 200)],
)
async def test_identifier_without_a_record_is_not_found(
    desk: Any, tools: PubMedTools, pmid: str, payload: str, status: int
) -> None:
    """K013: both ways in which EFetch says it."""
    desk.answers_with("efetch", payload, status=status)
    result = await tools.fetch_pubmed([pmid])
    assert (result.artifacts, result.not_found, result.failed) == ((), (pmid,), {})


async def test_impossible_identifier_is_not_found_without_asking(desk: Any, tools: PubMedTools) -> None:
    """K013."""
    result = await tools.fetch_pubmed(["00000000"])
    assert (result.artifacts, result.not_found) == ((), ("00000000",))
    assert desk.sent == []


async def test_free_text_is_refused_before_anything_is_sent(desk: Any, tools: PubMedTools) -> None:
    """K018."""
    with pytest.raises(InvalidInputError, match="'PMC123, see 45' is no identifier"):
        await tools.fetch_pubmed(["PMC123, see 45"])
    assert desk.sent == []


async def test_free_text_among_identifiers_is_named_and_the_rest_is_fetched(
    serves_all: Any, tools: PubMedTools
) -> None:
    result = await tools.fetch_pubmed(["PMC123, see 45", "90000001", "NCT90000001"])
    assert pmids(result) == ["90000001"]
    assert result.not_found == ()
    assert {text: error.reason for text, error in result.failed.items()} == {
        "PMC123, see 45": "pubmed_invalid_input",
        "NCT90000001": "pubmed_invalid_input",
    }


async def test_doi_and_pmcid_find_their_records(serves_all: Any, tools: PubMedTools, hits: Hits) -> None:
    serves_all.answers("esearch", hits(["90000001", "90000002"]), kind="application/json")
    asked = ["https://doi.org/10.5555/SYNTHETIC.90000002", "PMC9900001", "90000003"]
    result = await tools.fetch_pubmed(asked)
    assert pmids(result) == ["90000002", "90000001", "90000003"]
    assert (result.not_found, result.failed) == ((), {})
    assert len(serves_all.asked("esearch")) == len(serves_all.asked("efetch")) == 1


async def test_doi_of_a_neighbour_is_not_found(serves_all: Any, tools: PubMedTools, hits: Hits) -> None:
    """K020: the only hit of the search has another DOI."""
    serves_all.answers("esearch", hits(["90000001"]), kind="application/json")
    result = await tools.fetch_pubmed(["10.5555/synthetic.90000006"])
    assert (result.artifacts, result.not_found) == ((), ("10.5555/synthetic.90000006",))


async def test_doi_that_a_notice_shares_gives_the_paper(desk: Any, tools: PubMedTools, hits: Hits) -> None:
    def record(pmid: str, kind: str) -> str:
        return (
            f"<PubmedArticle><MedlineCitation><PMID>{pmid}</PMID><Article><ArticleTitle>Synthetic</ArticleTitle>"
            '<ELocationID EIdType="doi">10.5555/shared</ELocationID><PublicationTypeList><PublicationType>'
            f"{kind}</PublicationType></PublicationTypeList></Article></MedlineCitation></PubmedArticle>"
        )

    both = record("90000009", "Published Erratum") + record("90000001", "Journal Article")
    desk.answers("esearch", hits(["90000009", "90000001"]), kind="application/json")
    desk.answers("efetch", f"<PubmedArticleSet>{both}</PubmedArticleSet>")
    assert pmids(await tools.fetch_pubmed(["10.5555/shared"])) == ["90000001"]


async def test_number_of_a_pmcid_is_no_pmid(serves_all: Any, tools: PubMedTools, hits: Hits) -> None:
    """K021."""
    serves_all.answers("esearch", hits([]), kind="application/json")
    result = await tools.fetch_pubmed(["PMC1017419"])
    assert result.not_found == ("PMC1017419",)
    assert serves_all.asked("efetch") == []
    assert serves_all.asked("esearch")[0].fields["term"] == "PMC1017419[pmc]"


async def test_look_up_that_fails_is_failed_and_not_not_found(serves_all: Any, tools: PubMedTools) -> None:
    serves_all.answers("esearch", "down", status=503, kind="text/plain")
    result = await tools.fetch_pubmed(["10.5555/synthetic.90000001", "90000002"])
    assert pmids(result) == ["90000002"]
    assert [(text, error.reason) for text, error in result.failed.items()] == [
        ("10.5555/synthetic.90000001", "pubmed_unreachable")
    ]


async def test_record_of_a_doi_that_cannot_be_read_is_failed_and_not_not_found(
    desk: Any, tools: PubMedTools, hits: Hits
) -> None:
    desk.answers("esearch", hits(["90000001"]), kind="application/json")
    desk.answers("efetch", "down", status=503, kind="text/plain")
    with pytest.raises(SourceError) as failed:
        await tools.fetch_pubmed(["10.5555/synthetic.90000001"])
    assert failed.value.reason == "pubmed_unreachable"


async def test_fetch_that_answers_for_no_identifier_fails(desk: Any, tools: PubMedTools) -> None:
    """Cut off every time: the id is not 'not found'."""
    desk.answers_with("efetch", "cut-off.xml")
    with pytest.raises(SourceError) as failed:
        await tools.fetch_pubmed(["90000501"])
    assert failed.value.reason == "pubmed_invalid_response"
    assert len(desk.sent) == 3


async def test_broken_batch_is_tried_in_halves_and_costs_no_other(
    desk: Any, tools: PubMedTools, records: Records
) -> None:
    """K017: 8 batches of 200, in the third a record on which the connection always breaks."""
    wanted = many(90_000_000, 1_600)
    poisoned = wanted[450]

    def reply(sent: Any) -> httpx.Response:
        if poisoned in sent.ids:
            raise httpx.RemoteProtocolError("peer closed connection without sending complete message body")
        return httpx.Response(200, content=records(sent.ids), headers={"content-type": "text/xml"})

    desk.answers_by("efetch", reply)
    result = await tools.fetch_pubmed(wanted)
    assert result.not_found == ()
    assert poisoned in result.failed
    assert len(result.failed) <= 20
    assert pmids(result) == [pmid for pmid in wanted if pmid not in result.failed]
    assert {error.reason for error in result.failed.values()} == {"pubmed_unreachable"}


async def test_cut_off_batch_of_which_both_halves_fail_is_given_up(
    desk: Any, tools: PubMedTools, records: Records
) -> None:
    """K017: what lies around it is kept, and its ids are listed as failed."""
    wanted = many(90_000_000, 600)

    def reply(sent: Any) -> httpx.Response:
        whole = records(sent.ids)
        cut = whole[: len(whole) // 2] if max(sent.ids) >= "90000250" and min(sent.ids) < "90000400" else whole
        return httpx.Response(200, content=cut, headers={"content-type": "text/xml"})

    desk.answers_by("efetch", reply)
    result = await tools.fetch_pubmed(wanted)
    assert list(result.failed) == wanted[200:400]
    assert pmids(result) == wanted[:200] + wanted[400:]
    assert {error.reason for error in result.failed.values()} == {"pubmed_invalid_response"}
    assert len(desk.sent) == 2 + 3 * 3, "three attempts for the batch and for each half"


async def test_source_that_stays_down_is_not_asked_for_every_batch(desk: Any, tools: PubMedTools) -> None:
    desk.answers("efetch", "down", status=503, kind="text/plain")
    with pytest.raises(SourceError):
        await tools.fetch_pubmed(many(90_000_000, 2_000))
    assert len(desk.sent) == 2 * 3 * 3, "two batches with their halves, three attempts each"


async def test_refusal_of_the_client_ends_the_batches_at_once(desk: Any, tools: PubMedTools, records: Records) -> None:
    desk.answers("efetch", records(many(90_000_000, 200)))
    desk.answers("efetch", "<html>Forbidden</html>", status=403, kind="text/html")
    result = await tools.fetch_pubmed(many(90_000_000, 1_000))
    assert len(result.artifacts) == 200
    assert len(result.failed) == 800
    assert {error.reason for error in result.failed.values()} == {"pubmed_blocked"}
    assert len(desk.sent) == 2


async def test_many_ids_are_posted_in_batches(serves_all: Any, tools: PubMedTools) -> None:
    """K011: 600 ids."""
    result = await tools.fetch_pubmed(many(90_000_000, 600))
    assert len(result.artifacts) == 600
    assert [(one.method, len(one.ids)) for one in serves_all.sent] == [("POST", 200)] * 3


# --- registration -----------------------------------------------------------------------------------------------------


def test_registration_names_the_tools_and_their_filters(transport: Transport) -> None:
    source = pubmed.SOURCE
    assert source in SOURCES
    built = source.build(transport)
    assert built.search == getattr(built, source.search_tool)
    assert built.fetch == getattr(built, source.fetch_tool)
    assert source.enabled(transport.settings)
