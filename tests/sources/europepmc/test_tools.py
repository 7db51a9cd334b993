"""Search and fetch as a caller sees them: typed results and errors, through the real client over a fake network."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from literature_agent.errors import InvalidInputError, SourceError
from literature_agent.results import SearchResult
from literature_agent.settings import Settings
from literature_agent.sources.europepmc import SOURCE
from literature_agent.sources.europepmc.client import EuropePMCClient
from literature_agent.sources.europepmc.tools import EuropePMCTools
from literature_agent.transport import Transport

if TYPE_CHECKING:
    from tests.desks import Desk, StillClock

Rows = Callable[..., dict[str, Any]]


async def failure(call: Awaitable[object]) -> SourceError:
    with pytest.raises(SourceError) as caught:
        await call
    return caught.value


def loosely(tools: EuropePMCTools) -> Callable[..., Awaitable[SearchResult]]:
    """Its search, called as by somebody who reads no types."""
    return tools.search_europepmc


def ids_of(result: SearchResult) -> list[str]:
    return [getattr(artifact, "epmc_id", "") for artifact in result.artifacts]


# --- search -----------------------------------------------------------------------------------------------------------


async def test_search_returns_records_with_priors_provenance_and_links(tools: EuropePMCTools, desk: Desk) -> None:
    desk.answers("search", "search-core.json")
    result = await tools.search_europepmc("synthetic widgets", date_from="2020", publication_types=["review"])
    assert (result.status, result.total, result.returned, result.next_page) == ("ok", 3, 3, None)
    assert [artifact.relevance_score for artifact in result.artifacts] == [0.9, 0.75, 0.9]
    assert [artifact.source for artifact in result.artifacts] == ["europepmc", "preprint", "europepmc"]
    assert result.query_sent == (
        "(synthetic widgets) AND (SRC:MED OR SRC:PMC OR SRC:PPR) AND (FIRST_PDATE:[2020-01-01 TO 3000-12-31]) "
        'AND (PUB_TYPE:"review")'
    )
    assert desk.sent[0].fields["query"] == result.query_sent
    assert result.search_url is not None
    assert result.search_url.startswith("https://europepmc.org/search?query=%28synthetic%20widgets%29%20AND")
    assert result.applied_filters == {
        "sources": "MED, PMC, PPR",
        "date_from": "2020",
        "publication_types": "review",
    }
    (origin,) = result.artifacts[0].provenance
    assert origin.source == "europepmc"
    assert origin.request.startswith("GET search?query=")
    assert origin.retrieved_at == result.artifacts[0].correction_checked_at
    assert origin.retrieved_at.isoformat() == "2026-11-30T12:00:00+00:00"


async def test_lite_records_have_no_date_of_a_correction_check(tools: EuropePMCTools, desk: Desk) -> None:
    """Ours: `lite` lists no corrections, so nothing was checked, except where the type says "retracted"."""
    desk.answers("resultType=lite", "search-lite.json")
    result = await tools.search_europepmc("synthetic widgets", max_results=5, result_type="lite")
    checked = [artifact.correction_checked_at is not None for artifact in result.artifacts]
    assert checked == [False, False, True, False, False]


async def test_nothing_found_is_empty_and_says_where(tools: EuropePMCTools, desk: Desk) -> None:
    desk.answers("search", "search-nothing.json")
    result = await tools.search_europepmc("synthetic widgets", sources=["AGR"])
    assert (result.status, result.total, result.artifacts, result.error) == ("empty", 0, (), None)
    assert result.notice == "Europe PMC has no record for this query in AGR."


async def test_long_query_is_posted(tools: EuropePMCTools, desk: Desk) -> None:
    """K011: the same parameters as a form."""
    desk.answers("POST .*searchPOST", "search-core.json")
    result = await tools.search_europepmc(" OR ".join(f'"synthetic term {n}"' for n in range(100)))
    assert result.status == "ok"
    assert (desk.sent[0].method, desk.sent[0].path) == ("POST", "searchPOST")
    assert desk.sent[0].fields["format"] == "json"


async def test_disabled_source_says_so_and_sends_nothing(desk: Desk) -> None:
    settings = Settings(europepmc_enabled=False, pace="off", rate_limit_store="memory")
    async with Transport(settings, network=httpx.MockTransport(desk)) as transport:
        tools = EuropePMCTools(EuropePMCClient(transport))
        for call in (tools.search_europepmc("x"), tools.fetch_europepmc(["90000101"])):
            error = await failure(call)
            assert (error.reason, error.retryable) == ("europepmc_disabled", False)
    assert not SOURCE.enabled(settings)
    assert desk.sent == []


# --- pages ------------------------------------------------------------------------------------------------------------


async def test_pages_follow_the_cursor_and_the_last_request_is_smaller(
    tools: EuropePMCTools, desk: Desk, rows: Rows
) -> None:
    """Ours: `next_page` continues right after the last record returned."""
    desk.answers(r"cursorMark=\*", rows(["1", "2"], total=9, cursor="AoI/x=="))
    desk.answers("cursorMark=AoI/x==", rows(["3"], total=8, cursor="AoI/y+z=="))
    result = await tools.search_europepmc("x", max_results=3, page_size=2)
    assert ids_of(result) == ["1", "2", "3"]
    assert (result.status, result.total, result.page, result.next_page) == ("ok", 9, None, "AoI/y+z==")
    assert [sent.fields["pageSize"] for sent in desk.sent] == ["2", "1"]


@pytest.mark.parametrize("name", ["page", "cursor_mark"])
async def test_next_page_is_taken_back_under_either_name(
    tools: EuropePMCTools, desk: Desk, rows: Rows, name: str
) -> None:
    desk.answers("cursorMark=AoI/y", rows(["4", "5"], total=9, cursor="AoI/z=="))
    result = await loosely(tools)("x", max_results=2, **{name: "AoI/y+z=="})
    assert (ids_of(result), result.page, result.next_page) == (["4", "5"], "AoI/y+z==", "AoI/z==")


async def test_page_without_cursor_is_the_last(tools: EuropePMCTools, desk: Desk, rows: Rows) -> None:
    """K047: 39 records on two pages, the second without `nextCursorMark`."""
    first, second = [str(n) for n in range(1, 26)], [str(n) for n in range(26, 40)]
    desk.answers(r"cursorMark=\*", rows(first, total=39, cursor="AoI1"))
    desk.answers("cursorMark=AoI1", rows(second, total=39))
    result = await tools.search_europepmc("AUTHORID:0000-0000-0000-0001", max_results=100, page_size=25)
    assert (result.status, result.total, result.returned, result.next_page) == ("ok", 39, 39, None)
    assert result.warnings == ()


@pytest.mark.parametrize("cursor", ["", "\ud800", "a b", "a\n", 7, {}, None, "x" * 2001])
async def test_what_is_no_cursor_ends_the_list(tools: EuropePMCTools, desk: Desk, rows: Rows, cursor: object) -> None:
    """K047: such a value could not be sent back."""
    desk.answers("search", {**rows(["1"], total=9), "nextCursorMark": cursor})
    result = await tools.search_europepmc("x")
    assert (result.status, ids_of(result), result.next_page, len(desk.sent)) == ("ok", ["1"], None, 1)
    assert "its list ended after 1 record" in result.warnings[0]


async def test_repeated_cursor_ends_the_list(tools: EuropePMCTools, desk: Desk, rows: Rows) -> None:
    """K048: the same cursor for ever; what was got stays, once, and the shortfall is said."""
    desk.answers("search", rows(["1", "2"], total=9832, cursor="AoI1"))
    result = await tools.search_europepmc("x", max_results=60, page_size=2)
    assert (result.status, ids_of(result), result.next_page) == ("ok", ["1", "2"], None)
    assert result.warnings == ("Europe PMC states 9,832 hits, but its list ended after 2 records.",)
    assert len(desk.sent) == 2


async def test_cursor_that_changes_but_brings_nothing_new_ends_the_list(
    tools: EuropePMCTools, desk: Desk, rows: Rows
) -> None:
    """K048: neither a circle of cursors nor pages of known records go on for ever."""
    desk.answers(r"cursorMark=\*", rows(["1", "2"], total=99, cursor="AoI1"))
    desk.answers("cursorMark=AoI1", rows(["3"], total=99, cursor="AoI2"))
    desk.answers("cursorMark=AoI2", rows(["2", "3"], total=99, cursor="AoI3"))
    result = await tools.search_europepmc("x", max_results=60, page_size=2)
    assert ids_of(result) == ["1", "2", "3"]
    assert len(desk.sent) == 3


async def test_empty_page_ends_the_list(tools: EuropePMCTools, desk: Desk, rows: Rows) -> None:
    """K048: the page that holds the last hit still has a cursor; the next one is empty."""
    desk.answers("cursorMark=AoI1", rows([], total=3, cursor="AoI1"))
    desk.answers("search", rows(["1", "2"], total=3, cursor="AoI1"))
    result = await tools.search_europepmc("x", max_results=60, page_size=2)
    assert (result.status, ids_of(result), result.next_page) == ("ok", ["1", "2"], None)
    assert result.warnings == ("Europe PMC states 3 hits, but its list ended after 2 records.",)


async def test_a_record_that_comes_twice_does_not_end_the_list_before_the_last(
    tools: EuropePMCTools, desk: Desk, rows: Rows
) -> None:
    """Ours: while a list is read, a new record may move the others on by one."""
    desk.answers(r"cursorMark=\*", rows(["1", "2"], total=4, cursor="AoI1"))
    desk.answers("cursorMark=AoI1", rows(["2", "3"], total=4, cursor="AoI2"))
    desk.answers("cursorMark=AoI2", rows(["4"], total=4, cursor="AoI3"))
    result = await tools.search_europepmc("x", max_results=60, page_size=2)
    assert (ids_of(result), result.next_page, result.warnings) == (["1", "2", "3", "4"], None, ())


async def test_stated_total_ends_the_list_without_one_more_request(
    tools: EuropePMCTools, desk: Desk, rows: Rows
) -> None:
    """K048: total reached."""
    desk.answers("search", rows(["1", "2"], total=2, cursor="AoI1"))
    result = await tools.search_europepmc("x", max_results=60)
    assert (result.returned, result.next_page, len(desk.sent)) == (2, None, 1)


async def test_page_after_the_end_is_no_empty_search(tools: EuropePMCTools, desk: Desk, rows: Rows) -> None:
    desk.answers("search", rows([], total=2, cursor="AoI1"))
    result = await tools.search_europepmc("x", page="AoI1")
    assert (result.status, result.total, result.returned, result.next_page) == ("ok", 2, 0, None)
    assert result.notice == "The list ends here: there are no further records."


async def test_echoed_cursor_is_not_compared(tools: EuropePMCTools, desk: Desk, rows: Rows) -> None:
    """K049: the echo is percent-encoded; what was sent is compared with `nextCursorMark`, and encoded once."""
    echo = {"cursorMark": "AoI%2Fx%3D%3D"}
    desk.answers(r"cursorMark=\*", rows(["1"], total=9, cursor="AoI/x=="))
    desk.answers("cursorMark=AoI/x==", {**rows(["2"], total=9, cursor="AoI/x=="), "request": echo})
    result = await tools.search_europepmc("x", max_results=5, page_size=1)
    assert ids_of(result) == ["1", "2"]
    assert len(desk.sent) == 2
    assert "cursorMark=AoI%2Fx%3D%3D" in desk.sent[1].raw


async def test_records_are_the_same_only_with_the_same_source(tools: EuropePMCTools, desk: Desk) -> None:
    """Upstream: hits drift between pages; `(source, id)` is the identity."""
    twins = [{"id": "7", "source": "MED", "title": "a"}, {"id": "7", "source": "CTX", "title": "b"}] * 2
    desk.answers("search", {"hitCount": 4, "resultList": {"result": twins}})
    result = await tools.search_europepmc("x")
    assert [artifact.title for artifact in result.artifacts] == ["a", "b"]


async def test_more_rows_than_asked_are_cut_and_said(tools: EuropePMCTools, desk: Desk, rows: Rows) -> None:
    desk.answers("search", rows(["1", "2", "3"], total=9, cursor="AoI1"))
    result = await tools.search_europepmc("x", max_results=2)
    assert ids_of(result) == ["1", "2"]
    assert result.warnings == ("Europe PMC sent 1 record more than asked, left out here.",)


async def test_later_page_that_fails_keeps_the_earlier_ones(tools: EuropePMCTools, desk: Desk, rows: Rows) -> None:
    """Promise 4: answered in part is neither whole nor failed; `next_page` asks for what is missing."""
    desk.answers(r"cursorMark=\*", rows(["1", "2"], total=9, cursor="AoI1"))
    desk.answers("cursorMark=AoI1", "down", status=503, kind="text/plain")
    result = await tools.search_europepmc("x", max_results=4, page_size=2)
    assert (result.status, ids_of(result), result.next_page) == ("partial", ["1", "2"], "AoI1")
    assert result.error is not None
    assert (result.error.reason, result.error.retryable) == ("europepmc_unreachable", True)
    assert len(desk.sent) == 4


async def test_unreadable_row_makes_the_page_partial(tools: EuropePMCTools, desk: Desk) -> None:
    desk.answers("search", "search-half-missing.json")
    result = await tools.search_europepmc("x")
    assert (result.status, ids_of(result)) == ("partial", ["90000131"])
    assert result.error is not None
    assert result.error.reason == "europepmc_invalid_response"
    assert "2 records could not be read: record 2 (no id)" in result.error.message


# --- sort -------------------------------------------------------------------------------------------------------------


def _dated(rows: Rows, source: str) -> dict[str, Any]:
    page = rows([f"{source}1", f"{source}2", f"{source}3"], total=3)
    for row, day in zip(page["resultList"]["result"], ["2024-05-01", "2025-01-09", ""], strict=True):
        row["firstPublicationDate"] = day
    return page


@pytest.mark.parametrize(
    ("sort", "order"), [("P_PDATE_D desc", "213"), ("p_pdate_d ASC", "123"), ("PUB_YEAR desc", "123")]
)
async def test_preprints_are_sorted_here_where_the_server_does_not(
    tools: EuropePMCTools, desk: Desk, rows: Rows, sort: str, order: str
) -> None:
    """K053: `P_PDATE_D` is ignored for preprints; sorted by first publication date, and said to hold for the page."""
    desk.answers("search", _dated(rows, "PPR"))
    result = await tools.search_europepmc("x", sources=["PPR"], sort=sort)
    assert "".join(name[-1] for name in ids_of(result)) == order
    assert ("within this page of results only" in (result.notice or "")) is sort.upper().startswith("P_PDATE_D")


async def test_sort_by_print_date_among_other_records_keeps_the_order_and_warns(
    tools: EuropePMCTools, desk: Desk, rows: Rows
) -> None:
    """K053: with journals among the sources the server's order stays."""
    desk.answers("search", _dated(rows, "PPR"))
    result = await tools.search_europepmc("x", sort="P_PDATE_D desc")
    assert ids_of(result) == ["PPR1", "PPR2", "PPR3"]
    assert "does not sort preprints" in (result.notice or "")
    assert desk.sent[0].fields["sort"] == "P_PDATE_D desc"


# --- answers that are no answers --------------------------------------------------------------------------------------


async def test_bare_envelope_is_asked_again(tools: EuropePMCTools, desk: Desk) -> None:
    """K050: one in five good pages comes so in bad times."""
    desk.answers("search", "bare-envelope.json", times=2)
    desk.answers("search", "search-core.json")
    result = await tools.search_europepmc("x")
    assert (result.status, result.total, len(desk.sent)) == ("ok", 3, 3)


async def test_bare_envelope_for_ever_is_a_failure_and_no_zero(
    tools: EuropePMCTools, desk: Desk, clock: StillClock
) -> None:
    """K050, K054: bounded attempts, an error within seconds."""
    desk.answers("search", "bare-envelope.json")
    error = await failure(tools.search_europepmc("x", sort="CITED desc"))
    assert (error.reason, error.retryable) == ("europepmc_unreachable", True)
    assert len(desk.sent) == 3
    assert clock.waited < 10


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"sort": "FIRST_PIDATE desc"}, "'FIRST_PIDATE'"),
        ({"sort": "CITED"}, "lacks a direction"),
        ({"sort": "cited DESC,PUB_YEAR asc"}, "'CITED desc,PUB_YEAR asc'"),
        ({"sort": "CITED desc,NO_SUCH asc"}, "'NO_SUCH'"),
        ({"page": "AoIbroken"}, "'AoIbroken'"),
        ({"sort": "FIRST_PIDATE desc", "page": "AoIbroken"}, "'FIRST_PIDATE'"),
    ],
)
async def test_bare_envelope_for_ever_blames_sort_or_cursor_by_name(
    tools: EuropePMCTools, desk: Desk, asked: dict[str, str], named: str
) -> None:
    """K050: the server's only sign that it refuses them."""
    desk.answers("search", "bare-envelope.json")
    error = await failure(loosely(tools)("x", **asked))
    assert isinstance(error, InvalidInputError)
    assert (error.reason, error.retryable) == ("europepmc_invalid_input", False)
    assert named in error.message
    assert "AoIbroken" not in error.message or "without `page`" in error.message


@pytest.mark.parametrize("order", ["bare first", "bare last"])
async def test_only_a_wrong_sort_is_blamed_for_an_empty_envelope_among_other_failures(
    tools: EuropePMCTools, desk: Desk, order: str
) -> None:
    """Now and then one comes for nothing: a cursor is blamed when nothing else came, whichever came last."""

    def fail() -> None:
        if order == "bare first":
            desk.answers("search", "bare-envelope.json", times=1)
            desk.answers("search", "down", status=503, kind="text/plain", times=2)
        else:
            desk.answers("search", "down", status=503, kind="text/plain", times=2)
            desk.answers("search", "bare-envelope.json", times=1)

    fail()
    error = await failure(tools.search_europepmc("x", page="AoIgood"))
    assert (error.reason, error.retryable) == ("europepmc_unreachable", True)
    fail()
    error = await failure(tools.search_europepmc("x", sort="CITED desc,PUB_YEAR asc"))
    assert error.reason == "europepmc_unreachable"
    fail()
    error = await failure(tools.search_europepmc("x", sort="NO_SUCH desc"))
    assert error.reason == "europepmc_invalid_input"
    assert "'NO_SUCH'" in error.message


async def test_cursor_that_keeps_failing_advises_to_start_again(tools: EuropePMCTools, desk: Desk) -> None:
    """Upstream: an expired cursor has been answered 503 for ever while page one works."""
    desk.answers("search", "down", status=503, kind="text/plain")
    error = await failure(tools.search_europepmc("x", page="AoIold"))
    assert error.reason == "europepmc_unreachable"
    assert "without `page`" in error.recovery


async def test_refusal_inside_200_is_not_asked_again(tools: EuropePMCTools, desk: Desk) -> None:
    """K050: `errCode` says what was refused."""
    desk.answers("search", "errcode-query.json")
    error = await failure(tools.search_europepmc("NOT"))
    assert isinstance(error, InvalidInputError)
    assert "No search criteria provided" in error.message
    assert len(desk.sent) == 1


@pytest.mark.parametrize(
    ("status", "body", "kind", "reason"),
    [
        (503, "This API is temporarily unavailable due to maintenance.", "text/plain", "europepmc_unreachable"),
        (504, "<html><body>504 Gateway Time-out</body></html>", "text/html", "europepmc_timeout"),
        (404, "", "text/plain", "europepmc_unreachable"),
        (500, "", "text/plain", "europepmc_unreachable"),
        (429, "", "text/plain", "europepmc_rate_limited"),
        (200, "<html>Service Temporarily Unavailable</html>", "text/html", "europepmc_unreachable"),
        (200, "", "application/json", "europepmc_invalid_response"),
        (200, '{"version":"6.9","hitCount":9,"resultList":{"resu', "application/json", "europepmc_invalid_response"),
        (
            200,
            '{"version":"6.9","hitCount":9,"resultList":{"result":[]}}',
            "application/json",
            "europepmc_invalid_response",
        ),
    ],
)
async def test_outage_is_asked_again_and_then_named(
    tools: EuropePMCTools, desk: Desk, status: int, body: str, kind: str, reason: str
) -> None:
    """K016, K095: an outage is a failure of the source, whatever its shape, and never "nothing found"."""
    desk.answers("search", body, status=status, kind=kind)
    error = await failure(tools.search_europepmc("x"))
    assert (error.reason, error.retryable) == (reason, True)
    assert len(desk.sent) == 3


@pytest.mark.parametrize(
    ("status", "reason", "retryable"),
    [
        (400, "europepmc_invalid_input", False),
        (414, "europepmc_invalid_input", False),
        (403, "europepmc_blocked", False),
        (501, "europepmc_unreachable", False),
        (418, "europepmc_invalid_response", True),
    ],
)
async def test_permanent_refusal_is_not_asked_again(
    tools: EuropePMCTools, desk: Desk, status: int, reason: str, retryable: bool
) -> None:
    desk.answers("search", "no", status=status, kind="text/plain")
    error = await failure(tools.search_europepmc("x"))
    assert (error.reason, error.retryable) == (reason, retryable)
    assert len(desk.sent) == 1


async def test_outage_that_passes_is_not_noticed(tools: EuropePMCTools, desk: Desk) -> None:
    desk.answers("search", "", status=404, kind="text/plain", times=1)
    desk.answers("search", "<html>", kind="text/html", times=1)
    desk.answers("search", "search-core.json")
    assert (await tools.search_europepmc("x")).status == "ok"


# --- refused input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"query": ""}, "blank"),
        ({"query": "a\x07b"}, "U+0007"),
        ({"query": "x" * 30_000}, "30,000"),
        ({"max_results": 0}, "max_results=0"),
        ({"max_results": 10_001}, "max_results=10001"),
        ({"max_results": True}, "max_results=True"),
        ({"page_size": 101}, "page_size=101"),
        ({"page_size": 0}, "page_size=0"),
        ({"date_from": "2021", "date_to": "2020"}, "exchange them"),
        ({"date_from": "yesterday"}, "'yesterday'"),
        ({"sources": ["PubMed"]}, "'PUBMED'"),
        ({"result_type": "everything"}, "'everything'"),
        ({"page": "a", "cursor_mark": "b"}, "give one of them"),
        ({"sort": "x" * 300}, "CITED desc"),
        ({"publication_types": ["review\x00"]}, "publication_types: "),
    ],
)
async def test_bad_input_is_refused_by_value_before_anything_is_sent(
    tools: EuropePMCTools, desk: Desk, asked: dict[str, Any], named: str
) -> None:
    error = await failure(loosely(tools)(**{"query": "x", **asked}))
    assert isinstance(error, InvalidInputError)
    assert (error.reason, error.retryable) == ("europepmc_invalid_input", False)
    assert named in error.message
    assert len(error.message) < 300
    assert desk.sent == []


async def test_blank_filters_are_absent(tools: EuropePMCTools, desk: Desk) -> None:
    desk.answers("search", "search-core.json")
    blank: dict[str, Any] = {
        "page": " ",
        "cursor_mark": None,
        "sources": [],
        "date_from": "",
        "date_to": None,
        "publication_types": [""],
        "sort": "",
        "page_size": None,
        "result_type": "",
    }
    result = await loosely(tools)("x", **blank)
    assert result.query_sent == "(x) AND (SRC:MED OR SRC:PMC OR SRC:PPR)"
    assert result.applied_filters == {"sources": "MED, PMC, PPR"}
    assert "sort" not in desk.sent[0].fields


async def test_what_is_odd_but_possible_is_sent_with_a_warning(tools: EuropePMCTools, desk: Desk) -> None:
    desk.answers("search", "search-nothing.json")
    result = await tools.search_europepmc("statins[tiab]", date_from="2031")
    assert [warning.partition(" ")[0] for warning in result.warnings] == ["[tiab]", "date_from='2031'"]


async def test_year_given_as_a_number_is_a_date(tools: EuropePMCTools, desk: Desk) -> None:
    desk.answers("search", "search-nothing.json")
    result = await loosely(tools)("x", date_from=2020)
    assert result.applied_filters["date_from"] == "2020"


# --- fetch ------------------------------------------------------------------------------------------------------------


async def test_fetch_reads_the_whole_record_by_path(tools: EuropePMCTools, desk: Desk) -> None:
    desk.answers("article/MED/90000141", "article-core.json")
    result = await tools.fetch_europepmc(["90000141"])
    (article,) = result.artifacts
    assert (article.kind, article.correction_status) == ("link:cite:europepmc:full", "retracted")
    assert article.relevance_score is None
    assert article.provenance[0].request == "GET article/MED/90000141?resultType=core&format=json"
    assert (result.not_found, result.failed) == ((), {})


async def test_unknown_id_is_not_found(tools: EuropePMCTools, desk: Desk) -> None:
    """Upstream: 200 with `hitCount` 0 and no `result`."""
    desk.answers("article/", "article-unknown.json")
    result = await tools.fetch_europepmc(["99999999"])
    assert (result.artifacts, result.not_found, result.failed) == ((), ("99999999",), {})


async def test_record_of_a_neighbour_is_not_taken(tools: EuropePMCTools, desk: Desk) -> None:
    """K020: an unrelated record has been answered; source and id are checked."""
    desk.answers("article/", "article-core.json")
    desk.answers("search", "search-core.json")
    result = await tools.fetch_europepmc(["NBK1234", "10.5555/other"])
    assert result.not_found == ("NBK1234", "10.5555/other")


async def test_doi_and_pmcid_are_found_by_search(tools: EuropePMCTools, desk: Desk) -> None:
    """K051: `PMCID:PMC...` alone; the record that comes is MED."""
    desk.answers("search", "search-core.json")
    result = await tools.fetch_europepmc(["https://doi.org/10.5555/SYNTHETIC.101", "pmc99000105"])
    assert [getattr(article, "epmc_id", None) for article in result.artifacts] == ["90000101", "PMC99000105"]
    assert [sent.fields["query"] for sent in desk.sent] == ['DOI:"10.5555/synthetic.101"', "PMCID:PMC99000105"]


async def test_same_record_asked_twice_comes_once(tools: EuropePMCTools, desk: Desk) -> None:
    desk.answers("article/MED", {"hitCount": 1, "result": {"id": "90000101", "source": "MED", "pmcid": "PMC99000101"}})
    desk.answers("search", "search-core.json")
    result = await tools.fetch_europepmc(["90000101", "90000101", "PMC99000101"])
    assert len(result.artifacts) == 1
    assert (result.not_found, result.failed) == ((), {})


async def test_curated_record_is_preferred_where_two_sources_hold_a_doi(tools: EuropePMCTools, desk: Desk) -> None:
    both = [
        {"id": name, "source": source, "doi": "10.5555/a"} for name, source in (("IND1", "AGR"), ("90000001", "MED"))
    ]
    desk.answers("search", {"hitCount": 2, "resultList": {"result": both}})
    (article,) = (await tools.fetch_europepmc(["10.5555/a"])).artifacts
    assert getattr(article, "epmc_source", None) == "MED"


async def test_ids_that_one_query_does_not_bring_are_asked_singly(
    tools: EuropePMCTools, desk: Desk, rows: Rows
) -> None:
    """K052: an OR of ids answers nothing for some although each works with its source; reconciled per id, in order."""
    desk.answers("query=.* OR ", rows(["90000003", "90000001"], total=2))
    desk.answers("article/MED/90000002", {"hitCount": 1, "result": {"id": "90000002", "source": "MED"}})
    desk.answers("article/PPR/PPR990001", {"hitCount": 1, "result": {"id": "PPR990001", "source": "PPR"}})
    desk.answers("article/MED/90000004", "article-unknown.json")
    asked = ["90000001", "PPR990001", "90000002", "90000003", "90000004"]
    result = await tools.fetch_europepmc(asked)
    assert [getattr(article, "epmc_id", None) for article in result.artifacts] == asked[:4]
    assert result.not_found == ("90000004",)
    assert [sent.path for sent in desk.sent] == [
        "search",
        "article/PPR/PPR990001",
        "article/MED/90000002",
        "article/MED/90000004",
    ]
    assert "(EXT_ID:90000001 AND SRC:MED) OR (EXT_ID:PPR990001 AND SRC:PPR) OR " in desk.sent[0].fields["query"]


async def test_failed_query_for_all_costs_no_record(tools: EuropePMCTools, desk: Desk) -> None:
    """Upstream: a large OR has been answered 504; each id is then asked by itself."""
    desk.answers("search", "", status=504, kind="text/plain")
    for number in range(1, 6):
        name = f"9000000{number}"
        desk.answers(f"article/MED/{name}", {"hitCount": 1, "result": {"id": name, "source": "MED"}})
    result = await tools.fetch_europepmc([f"9000000{number}" for number in range(1, 6)])
    assert len(result.artifacts) == 5


async def test_many_ids_are_asked_in_batches(tools: EuropePMCTools, desk: Desk, rows: Rows) -> None:
    names = [str(90000100 + n) for n in range(60)]
    for start in (0, 25, 50):
        desk.answers(f"query=.*EXT_ID:{names[start]} ", rows(names[start : start + 25], total=25))
    result = await tools.fetch_europepmc(names)
    assert [getattr(article, "epmc_id", None) for article in result.artifacts] == names
    assert len(desk.sent) == 3


async def test_failed_id_is_named_and_the_others_are_kept(tools: EuropePMCTools, desk: Desk) -> None:
    """Promise 4, K094: failed is not the same as not found."""
    desk.answers("article/MED/90000141", "", status=503, kind="text/plain")
    desk.answers("article/MED/99999999", "article-unknown.json")
    desk.answers("article/MED/90000142", "article-notice.json")
    result = await tools.fetch_europepmc(["90000141", "99999999", "90000142"])
    assert [article.is_notice for article in result.artifacts] == [True]
    assert result.not_found == ("99999999",)
    assert {name: error.reason for name, error in result.failed.items()} == {"90000141": "europepmc_unreachable"}


async def test_service_that_stays_down_is_not_asked_for_every_id(tools: EuropePMCTools, desk: Desk) -> None:
    """Ours: three single look-ups in a row that fail, and the rest is failed unasked; nothing answered raises."""
    desk.answers(".", "", status=503, kind="text/plain")
    error = await failure(tools.fetch_europepmc([str(90000100 + n) for n in range(25)]))
    assert error.reason == "europepmc_unreachable"
    assert len(desk.sent) == 3 * (1 + 3)


async def test_service_that_refuses_this_client_is_not_asked_for_every_id(tools: EuropePMCTools, desk: Desk) -> None:
    """Ours: a client that goes on asking where it was refused is blocked for longer."""
    desk.answers(".", "", status=403, kind="text/plain")
    error = await failure(tools.fetch_europepmc([str(90000100 + n) for n in range(150)]))
    assert error.reason == "europepmc_blocked"
    assert len(desk.sent) == 3 + 3


async def test_refused_id_among_good_ones_is_reported_by_itself(tools: EuropePMCTools, desk: Desk) -> None:
    """K018: free text is no identifier; the batch goes on."""
    desk.answers("article/MED/90000142", "article-notice.json")
    result = await tools.fetch_europepmc(["PMC123, see 45", "90000142"])
    assert len(result.artifacts) == 1
    assert result.failed["PMC123, see 45"].reason == "europepmc_invalid_input"
    assert "'PMC123, see 45'" in result.failed["PMC123, see 45"].message


async def test_nothing_but_refused_ids_raises_and_sends_nothing(tools: EuropePMCTools, desk: Desk) -> None:
    error = await failure(tools.fetch_europepmc(["NCT01234567"]))
    assert isinstance(error, InvalidInputError)
    assert "clinicaltrials" in error.message
    error = await failure(tools.fetch_europepmc([str(n) for n in range(10_000)]))
    assert "10,000 identifiers" in error.message
    assert "1,000" in error.message
    assert desk.sent == []


async def test_no_ids_send_nothing(tools: EuropePMCTools, desk: Desk) -> None:
    """K013: an empty list, and ids that cannot exist, are answered without a request."""
    result = await tools.fetch_europepmc([])
    assert (result.artifacts, result.not_found, result.failed) == ((), (), {})
    assert (await tools.fetch_europepmc(["00000000"])).not_found == ("00000000",)
    assert desk.sent == []


# --- full text --------------------------------------------------------------------------------------------------------


async def test_full_text_is_the_answer_itself(
    tools: EuropePMCTools, desk: Desk, payload: Callable[[str], bytes]
) -> None:
    desk.answers("PMC99000101/fullTextXML", "full-text.xml")
    found, at, _ = await tools.client.full_text_xml("pmc99000101")
    assert (found.xml, found.reason) == (payload("full-text.xml"), None)
    assert at.isoformat() == "2026-11-30T12:00:00+00:00"


async def test_a_full_text_that_is_cut_off_is_asked_for_again(
    tools: EuropePMCTools, desk: Desk, payload: Callable[[str], bytes]
) -> None:
    whole = payload("full-text.xml").decode()
    desk.answers("fullTextXML", whole[: len(whole) // 2], kind="application/xml", times=1)
    desk.answers("fullTextXML", "full-text.xml")
    found = await tools.client.full_text_xml("PMC99000101")
    assert found.value.xml == whole.encode()
    assert len(desk.sent) == 2


@pytest.mark.parametrize(("status", "payload_name"), [(404, None), (204, None), (200, None), (200, "error-bean.xml")])
async def test_absent_full_text_is_none_with_a_reason(
    tools: EuropePMCTools, desk: Desk, status: int, payload_name: str | None
) -> None:
    """K055: through the real client, so that the 404 is the one it really meets."""
    if payload_name:
        desk.answers("fullTextXML", payload_name)
    else:
        desk.answers("fullTextXML", "", status=status, kind="application/xml")
    found = (await tools.client.full_text_xml("PMC99000151")).value
    assert (found.xml, found.reason) == (None, "not_open_access")
    assert len(desk.sent) == 1


async def test_failed_full_text_is_an_error_and_not_an_absence(tools: EuropePMCTools, desk: Desk) -> None:
    """K045."""
    desk.answers("fullTextXML", "", status=503, kind="text/plain")
    error = await failure(tools.client.full_text_xml("PMC99000151"))
    assert error.reason == "europepmc_unreachable"
    assert "PMC" in (await failure(tools.client.full_text_xml("90000101"))).message


# --- the wire ---------------------------------------------------------------------------------------------------------


async def test_recorded_pages_over_real_sockets(shared_dir: Path, clock: StillClock) -> None:
    """Two recorded pages of 100 by cursor, one bare envelope between them, over loopback HTTP."""
    folder = shared_dir / "recorded" / "europepmc"
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            later = "cursorMark=AoIIP4OKzyg1MzE3ODI1Mg%3D%3D" in self.path
            noise = later and len(asked) == 2
            name = "search-lite-cursor-page5-of-10.json" if later else "search-lite-cursor-page3-of-10.json"
            body = b'{"version":"6.9"}' if noise else (folder / name).read_bytes()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        settings = Settings(
            europepmc_base_url=f"http://127.0.0.1:{server.server_address[1]}/rest/",
            pace="off",
            rate_limit_store="memory",
        )
        async with Transport(settings, clock=clock) as transport:
            result = await SOURCE.build(transport).search("cancer", max_results=200)
    finally:
        await asyncio.to_thread(server.shutdown)
        server.server_close()
        thread.join()
    assert (result.status, result.total, result.returned) == ("ok", 5059039, 200)
    assert len(asked) == 3
    assert result.next_page is not None
    assert all(path.startswith("/rest/search?query=%28cancer%29%20AND%20") for path in asked)


def test_registration_names_what_exists() -> None:
    assert SOURCE.tools is EuropePMCTools
    for name in (SOURCE.search_tool, SOURCE.fetch_tool):
        assert callable(getattr(EuropePMCTools, name))
    annotations = EuropePMCTools.search_europepmc.__annotations__
    assert set(annotations) - {"query", "max_results", "page", "return"} == SOURCE.filters


def test_result_survives_json(payload: Callable[[str], bytes]) -> None:
    """No field of the subclass is lost on the way through JSON."""
    from literature_agent.sources.europepmc.parse import parse_search

    result = SearchResult(status="ok", artifacts=parse_search(payload("search-core.json"), detailed=True).articles)
    assert SearchResult.model_validate(json.loads(result.model_dump_json())) == result
