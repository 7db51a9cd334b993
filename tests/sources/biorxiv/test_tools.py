"""Search and fetch as a caller sees them: typed results and errors, through the real client over a fake network."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from literature_agent import fetch, search
from literature_agent.artifacts import Artifact, BioRxivPreprint, DetailedPreprint
from literature_agent.errors import InvalidInputError, SourceError
from literature_agent.results import SearchResult
from literature_agent.sandbox import SandboxServer
from literature_agent.settings import Settings
from literature_agent.sources.biorxiv import BIORXIV, MEDRXIV
from literature_agent.sources.biorxiv.pages import KeptPages
from literature_agent.sources.biorxiv.tools import BioRxivTools
from literature_agent.transport import Progress, Transport
from literature_agent.transport.turns import MARGIN
from tests.desks import bare_settings

if TYPE_CHECKING:
    from tests.desks import Desk, StillClock

Row = Callable[..., dict[str, Any]]
PageOf = Callable[..., dict[str, Any]]
Window = Callable[..., None]

JULY: dict[str, Any] = {"date_from": "2026-07-01", "date_to": "2026-07-03"}


async def failure(call: Awaitable[object]) -> SourceError:
    with pytest.raises(SourceError) as caught:
        await call
    return caught.value


def dois(result: SearchResult) -> list[str | None]:
    return [artifact.doi for artifact in result.artifacts]


def first(result: SearchResult) -> BioRxivPreprint:
    artifact = result.artifacts[0]
    assert isinstance(artifact, BioRxivPreprint)
    return artifact


@pytest.fixture
def july(desk: Desk) -> None:
    """Five rows on two pages: four preprints, one with two versions."""
    desk.answers(r"2026-07-01/2026-07-03/0/json", "window-first-page.json")
    desk.answers(r"2026-07-01/2026-07-03/3/json", "window-last-page.json")


# --- search -----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("july")
async def test_every_page_of_the_window_is_read_and_filtered_by_words(tools: BioRxivTools, desk: Desk) -> None:
    """K057, K058: the cursor moves by the rows received, and the words are looked for here."""
    result = await tools.search_biorxiv("immun*", **JULY)
    assert desk.paths == [
        "details/biorxiv/2026-07-01/2026-07-03/0/json",
        "details/biorxiv/2026-07-01/2026-07-03/3/json",
    ]
    assert (result.status, result.total, result.returned, result.next_page) == ("ok", 3, 3, None)
    assert dois(result) == [
        "10.5555/2026.07.02.900004",
        "10.5555/2026.07.01.900003",
        "10.5555/2026.06.30.900001",
    ]
    assert (result.query_sent, result.query_interpreted) == ("immun*", "immun*")
    assert result.applied_filters == {"server": "bioRxiv", "date_from": "2026-07-01", "date_to": "2026-07-03"}
    assert result.notice == "bioRxiv from 2026-07-01 to 2026-07-03: 2 of 2 pages read, 5 versions."
    assert (result.warnings, result.error) == ((), None)
    (origin,) = result.artifacts[0].provenance
    assert origin.request == "GET details/biorxiv/2026-07-01/2026-07-03/3/json"
    assert (origin.source, origin.retrieved_at.isoformat()) == ("biorxiv", "2026-11-30T13:00:00+00:00")
    withdrawn, other, _ = result.artifacts
    assert (withdrawn.correction_status, withdrawn.correction_checked_at) == ("retracted", origin.retrieved_at)
    assert (other.correction_status, other.correction_checked_at) == ("unknown", None)


@pytest.mark.usefixtures("july")
async def test_versions_are_folded_and_the_newest_one_decides(tools: BioRxivTools) -> None:
    """K061: what only the older version says is not found; what it shares is one hit with both numbers."""
    shared = await tools.search("zebrafish", **JULY)
    assert dois(shared) == ["10.5555/2026.06.30.900002"]
    preprint = first(shared)
    assert (preprint.version, preprint.versions, preprint.abstract_text) == (
        2,
        (1, 2),
        "The second version speaks of oxygen.",
    )
    assert (await tools.search("oxygen", **JULY)).total == 1
    assert (await tools.search("nitrogen", **JULY)).status == "empty"


@pytest.mark.usefixtures("july")
async def test_nothing_matches_is_empty_and_not_everything_recent(tools: BioRxivTools) -> None:
    """K058."""
    result = await tools.search("zebrafish nitrogen", **JULY)
    assert (result.status, result.total, result.artifacts, result.error) == ("empty", 0, (), None)
    assert result.notice is not None
    assert "None of the 5 versions has the query" in result.notice


@pytest.mark.usefixtures("july")
async def test_next_page_continues_right_after_the_last_hit_and_sends_nothing(tools: BioRxivTools, desk: Desk) -> None:
    one = await tools.search("immun*", max_results=2, **JULY)
    assert (one.returned, one.total, one.page, one.next_page) == (2, 3, None, "2")
    asked = len(desk.sent)
    two = await tools.search("immun*", max_results=2, page=one.next_page, **JULY)
    assert (dois(two), two.page, two.next_page) == (["10.5555/2026.06.30.900001"], "2", None)
    assert len(desk.sent) == asked
    beyond = await tools.search("immun*", page="7", **JULY)
    assert (beyond.status, beyond.returned, beyond.total) == ("ok", 0, 3)
    assert beyond.notice is not None
    assert "ends before this page" in beyond.notice


async def test_no_posts_found_is_an_empty_window(tools: BioRxivTools, desk: Desk) -> None:
    result = await tools.search("zebrafish", **JULY)
    assert (result.status, result.total, result.error, result.warnings) == ("empty", 0, None, ())
    assert result.notice is not None
    assert result.notice.endswith("0 versions. Nothing was posted in this window.")
    assert len(desk.sent) == 1


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({}, "`date_from` and `date_to`"),
        ({"date_from": "2026-07-01"}, "`date_to`"),
        ({"date_to": "2026-07-01", "date_from": " "}, "`date_from`"),
    ],
)
async def test_a_search_without_a_window_is_refused_before_sending(
    given: dict[str, Any], missing: str, tools: BioRxivTools, desk: Desk
) -> None:
    error = await failure(tools.search("zebrafish", **given))
    assert isinstance(error, InvalidInputError)
    assert error.reason == "biorxiv_invalid_input"
    assert f"{missing} {'are' if ' and ' in missing else 'is'} missing" in error.message
    assert "SRC:PPR" in error.recovery
    assert desk.sent == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"date_from": "2026-07-03", "date_to": "2026-07-01"}, "'2026-07-03' is later than date_to='2026-07-01'"),
        ({"date_from": "2026-02-30", "date_to": "2026-07-01"}, "'2026-02-30' is not in the calendar"),
        ({"date_from": "last week", "date_to": "2026-07-01"}, "'last week' is no date"),
        ({**JULY, "category": "genomix"}, "'genomix' is no category"),
        ({**JULY, "max_results": 0}, "max_results=0"),
        ({**JULY, "max_results": True}, "max_results=True"),
        ({**JULY, "page": "next"}, "page='next'"),
        ({**JULY, "page": "-1"}, "page='-1'"),
        ({**JULY, "server": "medrxiv"}, "server='medrxiv' is not searched here"),
    ],
)
async def test_bad_input_is_refused_with_value_and_fix_before_sending(
    given: dict[str, Any], said: str, tools: BioRxivTools, desk: Desk
) -> None:
    error = await failure(tools.search("zebrafish", **given))
    assert isinstance(error, InvalidInputError)
    assert said in error.message
    assert error.recovery
    assert desk.sent == []


async def test_months_and_years_are_whole_windows(tools: BioRxivTools, desk: Desk) -> None:
    await tools.search("zebrafish", date_from="2024-02", date_to="2024-02")
    await tools.search("zebrafish", date_from="2024/2/9", date_to="2024")
    assert desk.paths == [
        "details/biorxiv/2024-02-01/2024-02-29/0/json",
        "details/biorxiv/2024-02-09/2024-12-31/0/json",
    ]


async def test_a_window_in_the_future_is_said(tools: BioRxivTools) -> None:
    result = await tools.search("zebrafish", date_from="2027-01-01", date_to="2027-01-02")
    assert result.status == "empty"
    assert result.warnings == ("date_from=2027-01-01 lies in the future: nothing can have been posted yet.",)


async def test_rows_outside_the_window_are_left_out(tools: BioRxivTools, desk: Desk, row: Row, page: PageOf) -> None:
    """K060: days are compared as days: `2026-6-30` lies before July, `2026-7-2` within."""
    desk.answers(
        "", page([row(1, date="2026-6-30"), row(2, date="2026-7-2"), row(3, date="2026-07-04"), row(4, date="")])
    )
    assert dois(await tools.search("widgets", **JULY)) == ["10.5555/2026.01.01.000002", "10.5555/2026.01.01.000004"]


# --- the end of a list ------------------------------------------------------------------------------------------------


async def test_a_total_larger_than_what_exists_is_a_normal_end(tools: BioRxivTools, window: Window, desk: Desk) -> None:
    """K056: `no posts found` before the stated total."""
    window(rows=65, total=80)
    result = await tools.search("widgets", max_results=200, **JULY)
    assert (result.status, result.total, result.error) == ("ok", 65, None)
    assert result.warnings == (
        "bioRxiv states 80 versions in this window, but its list ended after 65: there are no more.",
    )
    assert [line.split("/")[4] for line in desk.paths] == ["0", "30", "60", "65"]


async def test_a_total_far_above_what_exists_does_not_refuse_the_window(
    tools: BioRxivTools, window: Window, desk: Desk
) -> None:
    """K056: whether a list is as long as stated is seen by asking for what lies behind the longest readable one."""
    window(rows=40, total=148_231)
    result = await tools.search("widgets", max_results=200, **JULY)
    assert (result.status, result.total) == ("ok", 40)
    assert [line.split("/")[4] for line in desk.paths] == ["0", "1800", "30", "40"]
    assert "states 148,231 versions" in result.warnings[0]


async def test_a_first_page_that_states_posts_and_lists_none_is_a_failure_and_no_empty_window(
    tools: BioRxivTools, desk: Desk, page: PageOf
) -> None:
    desk.answers("", page([], total="50"))
    error = await failure(tools.search("widgets", **JULY))
    assert (error.reason, len(desk.sent)) == ("biorxiv_invalid_response", 3)
    assert "50 versions are stated and none listed" in error.message


async def test_a_list_that_grows_while_it_is_read_is_read_to_its_new_end(
    tools: BioRxivTools, desk: Desk, row: Row, page: PageOf
) -> None:
    """A version posted between two pages moves the others on: the last one then stands on a page more."""
    desk.answers("/0/json", page([row(number) for number in range(1, 31)], total="60"))
    desk.answers("/30/json", page([row(number) for number in range(30, 60)], total="61"))
    desk.answers("/60/json", page([row(60)], total="61"))
    result = await tools.search("widgets", max_results=200, **JULY)
    assert (result.status, result.total, result.warnings) == ("ok", 60, ())
    assert len(desk.sent) == 3


async def test_the_end_of_a_list_that_was_stated_longer_is_not_taken_from_disk(
    desk: Desk, clock: StillClock, window: Window, tmp_path: Path
) -> None:
    """`No posts found` in the midst of a list may be a passing fault; it must not last for days."""
    stored = bare_settings(cache="on", cache_dir=tmp_path)
    for rows in (30, 60):
        desk.rules.clear()
        window(rows=rows, total=60)
        async with Transport(stored, network=httpx.MockTransport(desk), clock=clock) as transport:
            assert (await BIORXIV.build(transport).search("widgets", **JULY)).total == rows


@pytest.mark.parametrize("size", [30, 100])
async def test_pages_of_any_size_are_stepped_through_by_the_rows_received(
    size: int, tools: BioRxivTools, window: Window, desk: Desk
) -> None:
    """K057: 30 today, 100 before; a short last page is the end."""
    window(rows=250, size=size)
    assert (await tools.search("widgets", **JULY)).total == 250
    assert len(desk.sent) == -(-250 // size)


async def test_a_list_without_a_total_is_read_to_its_short_page(
    tools: BioRxivTools, window: Window, desk: Desk
) -> None:
    window(rows=70, total="unknown")
    result = await tools.search("widgets", **JULY)
    assert (result.status, result.total, result.warnings) == ("ok", 70, ())
    assert len(desk.sent) == 3


async def test_a_server_that_repeats_its_page_for_ever_is_left(
    tools: BioRxivTools, desk: Desk, row: Row, page: PageOf
) -> None:
    """Ours: a server that ignores the cursor and states no total ends at the limit of pages, and says so."""
    desk.answers("", page([row(1), row(2)], total="unknown"))
    result = await tools.search("widgets", **JULY)
    assert (result.status, result.total) == ("partial", 2)
    assert result.error is not None
    assert "goes on after 60 pages, the most that are read" in result.error.message
    assert len(desk.sent) == 60


async def test_unreadable_rows_make_the_answer_partial_and_are_asked_again(
    tools: BioRxivTools, desk: Desk, row: Row, page: PageOf
) -> None:
    desk.answers("", page([row(1), row(2, doi="")]))
    result = await tools.search("widgets", **JULY)
    assert (result.status, result.total) == ("partial", 1)
    assert result.warnings == ("1 row could not be read: row 2 has no DOI or title.",)
    await tools.search("widgets", **JULY)
    assert len(desk.sent) == 2


# --- length and time --------------------------------------------------------------------------------------------------


async def test_a_window_that_is_too_long_is_refused_with_numbers(
    tools: BioRxivTools, window: Window, desk: Desk
) -> None:
    window(rows=3_000)
    error = await failure(tools.search("widgets", date_from="2026-07-01", date_to="2026-07-10"))
    assert isinstance(error, InvalidInputError)
    assert "has 100 pages, at most 60 are read" in error.message
    assert error.recovery == (
        "Narrow it to about 6 days, name a category, or search europepmc with SRC:PPR in the query."
    )
    assert len(desk.sent) == 2


@pytest.mark.parametrize(
    ("last", "category", "advice"),
    [
        ("2026-07-01", None, "Name a category, or search"),
        ("2026-07-10", "zoology", "Narrow it to about 6 days, or search"),
        ("2026-07-01", "zoology", "Search"),
    ],
)
async def test_a_window_is_not_advised_to_become_what_it_is(
    last: str, category: str | None, advice: str, tools: BioRxivTools, window: Window
) -> None:
    window(rows=3_000)
    error = await failure(tools.search("widgets", date_from="2026-07-01", date_to=last, category=category))
    assert error.recovery == f"{advice} europepmc with SRC:PPR in the query."


async def test_pages_and_time_are_told_before_reading_and_progress_with_each_page(
    desk: Desk, clock: StillClock, window: Window, paced: Callable[..., Transport]
) -> None:
    """One request a second, less a margin."""
    window(rows=100)
    told: list[tuple[Progress, int]] = []
    async with paced() as transport:
        with transport.watched(lambda progress: told.append((progress, len(desk.sent)))):
            result = await BIORXIV.build(transport).search("widgets", **JULY)
    assert [(progress.done, progress.of, sent) for progress, sent in told] == [
        (0, 4, 1),
        (1, 4, 1),
        (2, 4, 2),
        (3, 4, 3),
        (4, 4, 4),
    ]
    assert told[0][0].text == "bioRxiv: 4 pages in the window, about 3 s to go."
    assert told[2][0].text == "bioRxiv: page 2 of 4 read, about 2 s to go."
    assert told[4][0].text == "bioRxiv: page 4 of 4 read."
    assert result.notice is not None
    assert result.notice.endswith("4 of 4 pages read, 100 versions, estimated at 3 s by the pace before reading.")
    assert clock.waited == pytest.approx(3 / MARGIN)


async def test_a_refusal_tells_how_long_the_window_would_take(window: Window, paced: Callable[..., Transport]) -> None:
    window(rows=6_000)
    async with paced(biorxiv_max_pages=100) as transport:
        error = await failure(BIORXIV.build(transport).search("widgets", **JULY))
    assert "has 200 pages (about 4 minutes), at most 100 are read" in error.message


async def test_a_deadline_gives_what_was_read_and_how_much_that_is(
    desk: Desk, window: Window, paced: Callable[..., Transport]
) -> None:
    """Waiting for a turn counts; the next search reads only what is missing."""
    window(rows=150)
    async with paced() as transport:
        tools = BIORXIV.build(transport)
        with transport.deadline(2.5):
            result = await tools.search("widgets", max_results=200, **JULY)
        assert (result.status, result.total, result.returned) == ("partial", 90, 90)
        assert result.error is not None
        assert result.error.reason == "biorxiv_timeout"
        assert result.error.message.startswith("3 of 5 pages of the window were read.")
        assert result.error.retryable
        sent = len(desk.sent)
        again = await tools.search("widgets", max_results=200, **JULY)
        assert (again.status, again.total) == ("ok", 150)
        assert len(desk.sent) - sent == 2


@pytest.mark.parametrize(("hangs", "first", "end"), [("/60/json", 5, 25), ("/30/json", 5, 25), ("/0/json", 0, 0)])
async def test_a_search_that_is_cut_hands_over_the_hits_of_the_pages_read(
    desk: Desk, window: Window, clock: StillClock, hangs: str, first: int, end: int
) -> None:
    """Promise 5: whoever ends the run has what came until then, from the page that was asked for."""
    window(rows=90)
    asked = asyncio.Event()

    async def network(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith(hangs):
            asked.set()
            await asyncio.Event().wait()
        return desk(request)

    came: list[Artifact] = []
    async with Transport(bare_settings(), network=httpx.MockTransport(network), clock=clock) as transport:
        with transport.collecting(came):
            search = asyncio.create_task(BIORXIV.build(transport).search("widgets", max_results=20, page="5", **JULY))
        await asked.wait()
        search.cancel()
        with pytest.raises(asyncio.CancelledError):
            await search
    assert [artifact.doi for artifact in came] == [f"10.5555/2026.01.01.{number:06d}" for number in range(first, end)]


@pytest.mark.parametrize(
    ("body", "status", "kind", "reason"),
    [
        ("", 200, "application/json", "biorxiv_invalid_response"),
        ("Error : (2002) Connection refused", 200, "text/html; charset=UTF-8", "biorxiv_unreachable"),
        ("<html>Maintenance</html>", 200, "text/html", "biorxiv_unreachable"),
        ("", 503, "text/plain", "biorxiv_unreachable"),
        ("", 429, "text/plain", "biorxiv_rate_limited"),
    ],
)
async def test_an_outage_is_a_failure_after_three_attempts_and_never_an_empty_window(
    body: str, status: int, kind: str, reason: str, tools: BioRxivTools, desk: Desk
) -> None:
    desk.answers("", body, status=status, kind=kind)
    error = await failure(tools.search("widgets", **JULY))
    assert (error.reason, error.retryable) == (reason, True)
    assert len(desk.sent) == 3


@pytest.mark.parametrize(("status", "reason"), [(404, "biorxiv_invalid_response"), (403, "biorxiv_blocked")])
async def test_a_status_that_is_no_answer_ends_it_at_once(
    status: int, reason: str, tools: BioRxivTools, desk: Desk
) -> None:
    desk.answers("", "no", status=status, kind="text/plain")
    assert (await failure(tools.search("widgets", **JULY))).reason == reason
    assert len(desk.sent) == 1


async def test_a_later_page_that_fails_leaves_what_was_read(tools: BioRxivTools, window: Window, desk: Desk) -> None:
    desk.answers("/30/json", "", times=3)
    window(rows=90)
    result = await tools.search("widgets", max_results=100, **JULY)
    assert (result.status, result.total) == ("partial", 30)
    assert result.error is not None
    assert result.error.message.startswith("1 of 3 pages of the window were read.")
    assert (await tools.search("widgets", **JULY)).total == 90


# --- pages that are kept ----------------------------------------------------------------------------------------------


async def test_a_second_query_on_the_same_window_sends_nothing(tools: BioRxivTools, window: Window, desk: Desk) -> None:
    window(rows=90)
    await tools.search("widgets", **JULY)
    asked = len(desk.sent)
    result = await tools.search('"preprint 7"', **JULY)
    assert dois(result) == ["10.5555/2026.01.01.000007"]
    assert len(desk.sent) == asked
    assert result.notice is not None
    assert "3 pages kept from an earlier search" in result.notice


async def test_two_queries_of_one_turn_read_the_window_once(tools: BioRxivTools, window: Window, desk: Desk) -> None:
    window(rows=90)
    one, two = await asyncio.gather(tools.search("widgets", **JULY), tools.search('"preprint 7"', **JULY))
    assert (one.total, two.total) == (90, 1)
    assert len(desk.sent) == 3


async def test_a_server_that_hangs_does_not_hold_up_the_other(desk: Desk, clock: StillClock, window: Window) -> None:
    """Ours: in a search of all sources each has its own time limit."""
    window(rows=30)
    asked, answers = asyncio.Event(), asyncio.Event()

    async def network(request: httpx.Request) -> httpx.Response:
        if "/biorxiv/" in request.url.path:
            asked.set()
            await answers.wait()
        return desk(request)

    async with Transport(bare_settings(), network=httpx.MockTransport(network), clock=clock) as transport:
        hanging = asyncio.create_task(BIORXIV.build(transport).search("widgets", **JULY))
        await asked.wait()
        async with asyncio.timeout(5):
            assert (await MEDRXIV.build(transport).search("widgets", **JULY)).total == 30
        answers.set()
        assert (await hanging).total == 30


async def test_a_search_that_waits_for_another_ends_at_its_deadline(
    transport: Transport, tools: BioRxivTools, window: Window
) -> None:
    window(rows=30)
    async with transport.kept("biorxiv", KeptPages).reading:
        with transport.deadline(0):
            error = await failure(tools.search("widgets", **JULY))
    assert error.reason == "biorxiv_timeout"


async def test_the_days_that_have_not_ended_are_asked_again(
    tools: BioRxivTools, window: Window, desk: Desk, clock: StillClock
) -> None:
    """A day may still grow until it has ended everywhere; the days before it are kept."""
    window(rows=60, where="2026-11-20/2026-11-29")
    window(rows=30, where="2026-11-30/2026-11-30")
    now: dict[str, Any] = {"date_from": "2026-11-20", "date_to": "2026-11-30"}
    await tools.search("widgets", **now)
    assert [line.removeprefix("details/biorxiv/") for line in desk.paths] == [
        "2026-11-20/2026-11-29/0/json",
        "2026-11-30/2026-11-30/0/json",
        "2026-11-20/2026-11-29/30/json",
    ]
    desk.sent.clear()
    await tools.search("preprint", **now)
    assert desk.paths == ["details/biorxiv/2026-11-30/2026-11-30/0/json"]
    desk.sent.clear()
    clock.today = datetime(2026, 11, 30, 11, tzinfo=UTC)
    await tools.search("widgets", **now)
    assert [line.split("/")[2:4] for line in desk.paths] == [["2026-11-20", "2026-11-28"], ["2026-11-29", "2026-11-30"]]


async def test_recent_days_that_fail_leave_the_others(tools: BioRxivTools, window: Window, desk: Desk) -> None:
    window(rows=30, where="2026-11-20/2026-11-29", date="2026-11-20")
    desk.answers("2026-11-30", "")
    result = await tools.search("widgets", date_from="2026-11-20", date_to="2026-11-30")
    assert (result.status, result.total) == ("partial", 30)
    assert result.error is not None
    assert result.error.message.startswith("The days from 2026-11-30 on could not be read.")


async def test_kept_pages_end_with_the_transport_and_the_cache_on_disk_goes_on(
    desk: Desk, clock: StillClock, window: Window, tmp_path: Path
) -> None:
    window(rows=60)
    stored = Settings(pace="off", rate_limit_store="memory", cache="on", breaker="off", cache_dir=tmp_path)
    for _ in range(2):
        async with Transport(stored, network=httpx.MockTransport(desk), clock=clock) as transport:
            assert (await BIORXIV.build(transport).search("widgets", **JULY)).total == 60
    assert len(desk.sent) == 2
    async with Transport(stored, network=httpx.MockTransport(desk), clock=clock) as transport:
        for _ in range(2):
            await BIORXIV.build(transport).search("widgets", date_from="2026-11-30", date_to="2026-11-30")
    assert len(desk.sent) == 2 + 2 * 2


async def test_a_long_window_needs_hardly_more_memory_than_a_short_one(
    desk: Desk, clock: StillClock, window: Window
) -> None:
    """Ours: pages are held compressed, and only what is shown becomes a record."""
    words = [f"word{number * 7919 % 9973}" for number in range(4_000)]

    async def peak(rows: int) -> int:
        desk.rules.clear()
        for cursor in range(0, rows, 30):
            content = {
                "messages": [{"status": "ok", "total": str(rows)}],
                "collection": [
                    {
                        "doi": f"10.5555/2026.01.01.{number:06d}",
                        "title": f"Synthetic preprint {number}",
                        "date": "2026-07-01",
                        "version": "1",
                        "abstract": " ".join(words[number % 3_800 :][:200]),
                    }
                    for number in range(cursor, min(rows, cursor + 30))
                ],
            }
            desk.answers(rf"/{cursor}/json", content)
        settings = Settings(pace="off", rate_limit_store="memory", cache="off", breaker="off", biorxiv_max_pages=200)
        async with Transport(settings, network=httpx.MockTransport(desk), clock=clock) as transport:
            tools = BIORXIV.build(transport)
            tracemalloc.start()
            try:
                assert (await tools.search('"preprint 7"', **JULY)).total == 1
                return tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()

    # 1,200 preprints in full are more than 2 MB.
    assert await peak(1_200) - await peak(120) < 1_000_000


# --- categories -------------------------------------------------------------------------------------------------------


async def test_the_category_is_asked_of_the_server(tools: BioRxivTools, desk: Desk, row: Row, page: PageOf) -> None:
    desk.answers("category=immunology", page([row(1)], category="immunology"))
    result = await tools.search("widgets", category="Immunology", **JULY)
    assert (result.total, result.warnings) == (1, ())
    assert result.applied_filters["category"] == "immunology"
    assert desk.paths == ["details/biorxiv/2026-07-01/2026-07-03/0/json?category=immunology"]


async def test_a_category_that_the_server_ignores_is_filtered_here_and_said(
    medrxiv: BioRxivTools, desk: Desk, row: Row, page: PageOf
) -> None:
    """K058: the answer says `all`."""
    desk.answers("", page([row(1, category="vascular medicine"), row(2, category="oncology")], category="all"))
    result = await medrxiv.search("widgets", category="vascular medicine", **JULY)
    assert dois(result) == ["10.5555/2026.01.01.000001"]
    assert result.warnings == (
        "medRxiv ignores the category 'vascular medicine': the whole window was read and filtered here.",
    )


# --- fetch ------------------------------------------------------------------------------------------------------------


async def test_a_preprint_is_fetched_with_all_versions(medrxiv: BioRxivTools, desk: Desk) -> None:
    desk.answers("details/medrxiv/10.5555/2020.03.24.90000007/na/json", "versions.json")
    result = await medrxiv.fetch_biorxiv([" https://doi.org/10.5555/2020.03.24.90000007 "])
    (preprint,) = result.artifacts
    assert isinstance(preprint, DetailedPreprint)
    assert (preprint.doi, preprint.source, preprint.versions) == ("10.5555/2020.03.24.90000007", "medrxiv", (1, 2, 10))
    assert preprint.provenance[0].request == "GET details/medrxiv/10.5555/2020.03.24.90000007/na/json"
    assert (result.not_found, result.failed) == ((), {})
    assert len(desk.sent) == 1


async def test_the_other_server_is_asked_before_a_doi_is_unknown(tools: BioRxivTools, desk: Desk) -> None:
    """K062: both servers share a prefix."""
    desk.answers("details/medrxiv/10.5555/2020.03.24.90000007", "versions.json")
    result = await tools.fetch_biorxiv(["10.5555/2020.03.24.90000007", "10.1101/2021.06.10.21258608"])
    assert [artifact.source for artifact in result.artifacts] == ["medrxiv"]
    assert result.not_found == ("10.1101/2021.06.10.21258608",)
    assert [line.split("/")[1] for line in desk.paths] == ["biorxiv", "medrxiv"] * 2


async def test_an_empty_answer_beside_a_failure_is_no_proof_of_absence(tools: BioRxivTools, desk: Desk) -> None:
    """K062: nobody knows whether the server that failed has it."""
    desk.answers("details/medrxiv/", "")
    error = await failure(tools.fetch(["10.1101/2021.06.10.21258608"]))
    assert error.reason == "biorxiv_invalid_response"
    desk.answers("details/biorxiv/10.5555", "versions.json")
    mixed = await tools.fetch(["10.5555/2020.03.24.90000007", "10.1101/2021.06.10.21258608"])
    assert (len(mixed.artifacts), mixed.not_found) == (1, ())
    assert mixed.failed["10.1101/2021.06.10.21258608"].retryable


async def test_dois_of_both_registrants_are_asked_without_their_version(tools: BioRxivTools, desk: Desk) -> None:
    """K059."""
    result = await tools.fetch(["10.64898/2025.12.01.123456v2", "10.1101/2024.01.02.24300691v1.full.pdf"])
    assert len(result.not_found) == 2
    assert [line for line in desk.paths if "/biorxiv/" in line] == [
        "details/biorxiv/10.64898/2025.12.01.123456/na/json",
        "details/biorxiv/10.1101/2024.01.02.24300691/na/json",
    ]


async def test_one_preprint_under_two_names_comes_once(medrxiv: BioRxivTools, desk: Desk) -> None:
    desk.answers("10.5555/2020.03.24.90000007", "versions.json")
    result = await medrxiv.fetch(["10.5555/2020.03.24.90000007", "doi:10.5555/2020.03.24.90000007", " "])
    assert (len(result.artifacts), len(desk.sent)) == (1, 1)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("12345678", "'12345678' is no DOI of a preprint"),
        ("NCT01234567", "is no DOI of a preprint"),
        ("10.1016/j.cell.2024.01.001", "whose DOIs begin with 10.1101 or 10.64898"),
        ("10.1101/2024\x00", "is no DOI of a preprint"),
        ("x" * 400, "is no DOI of a preprint"),
    ],
)
async def test_a_wrong_identifier_is_refused_with_value_and_fix(
    wrong: str, said: str, tools: BioRxivTools, desk: Desk
) -> None:
    error = await failure(tools.fetch([wrong]))
    assert isinstance(error, InvalidInputError)
    assert said in error.message
    assert desk.sent == []
    mixed = await tools.fetch([wrong, "10.1101/2021.06.10.21258608"])
    assert [info.reason for info in mixed.failed.values()] == ["biorxiv_invalid_input"]
    assert mixed.not_found == ("10.1101/2021.06.10.21258608",)


async def test_too_many_identifiers_are_refused(tools: BioRxivTools, desk: Desk) -> None:
    error = await failure(tools.fetch([f"10.1101/{number:06d}" for number in range(10_000)]))
    assert "10,000 DOIs were given, at most 200" in error.message
    assert desk.sent == []


async def test_a_dead_service_is_not_asked_for_every_doi(tools: BioRxivTools, desk: Desk) -> None:
    desk.answers("", "", status=503)
    error = await failure(tools.fetch([f"10.1101/{number:06d}" for number in range(10)]))
    assert error.reason == "biorxiv_unreachable"
    assert len(desk.sent) == 3 * 2 * 3  # three DOIs, both servers, three attempts


async def test_nothing_asked_is_nothing_found(tools: BioRxivTools) -> None:
    assert (await tools.fetch([])).artifacts == ()


# --- over real sockets ------------------------------------------------------------------------------------------------


async def test_search_and_fetch_over_the_sandbox(settings: Settings, sandbox: SandboxServer) -> None:
    found = await search(
        "medrxiv",
        "metformin",
        date_from="2026-01-01",
        date_to="2026-03-31",
        category="geriatric medicine",
        settings=settings,
    )
    assert (found.status, found.total) == ("ok", 1)
    preprint = first(found)
    assert (preprint.doi, preprint.server, preprint.versions) == ("10.5555/synthetic.biorxiv.9002", "medrxiv", (1, 2))
    whole = await fetch("biorxiv", ["10.5555/synthetic.biorxiv.9002", "10.1101/2099.01.01.999999"], settings=settings)
    assert [artifact.source for artifact in whole.artifacts] == ["medrxiv"]
    assert whole.not_found == ("10.1101/2099.01.01.999999",)


async def test_a_filter_of_other_sources_is_refused_by_name(settings: Settings) -> None:
    error = await failure(search("biorxiv", "widgets", server="medrxiv", settings=settings, **JULY))
    assert "no filter 'server'" in error.message
