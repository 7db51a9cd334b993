"""Search and fetch as a caller sees them: typed results and errors, through the real client over a fake network."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import pytest

from literature_agent import fetch, search
from literature_agent.artifacts import ClinicalTrial
from literature_agent.errors import InvalidInputError, SourceError
from literature_agent.results import FetchResult, SearchResult
from literature_agent.sandbox import SandboxServer
from literature_agent.settings import Settings
from literature_agent.sources.clinicaltrials.tools import ClinicalTrialsTools

if TYPE_CHECKING:
    from tests.desks import Desk

Studies = Callable[..., dict[str, Any]]


async def failure(call: Awaitable[object]) -> SourceError:
    with pytest.raises(SourceError) as caught:
        await call
    return caught.value


def numbers(result: SearchResult | FetchResult) -> list[str]:
    return [artifact.nct_id for artifact in result.artifacts if isinstance(artifact, ClinicalTrial)]


# --- search -----------------------------------------------------------------------------------------------------------


async def test_search_follows_tokens_and_takes_the_total_from_the_first_page(
    tools: ClinicalTrialsTools, desk: Desk
) -> None:
    desk.answers("pageToken=synthetic-token_1", "page-last.json")
    desk.answers("studies", "page-first.json")
    result = await tools.search_clinicaltrials("widgets")
    assert numbers(result) == ["NCT90000001", "NCT90000002", "NCT90000003"]
    assert (result.status, result.total, result.returned, result.next_page) == ("ok", 3, 3, None)
    assert (result.query_sent, result.warnings, result.error) == ("widgets", (), None)
    assert result.search_url == "https://clinicaltrials.gov/search?term=widgets"
    (origin,) = result.artifacts[0].provenance
    assert (origin.source, origin.retrieved_at.isoformat()) == ("clinicaltrials", "2026-11-30T12:00:00+00:00")
    assert origin.request.startswith("GET studies?query.term=widgets")


async def test_next_page_continues_right_after_the_last_returned(
    tools: ClinicalTrialsTools, desk: Desk, studies: Studies
) -> None:
    """The last request is made smaller, so that no study lies between."""
    desk.answers("pageToken=two", studies(3, total=None, token="three"))
    desk.answers("pageToken=three", studies(4))
    desk.answers("studies", studies(1, 2, total=4, token="two"))
    one = await tools.search("widgets", max_results=3)
    assert (numbers(one), one.next_page, one.total) == (["NCT90000001", "NCT90000002", "NCT90000003"], "three", 4)
    assert [sent.fields["pageSize"] for sent in desk.sent] == ["3", "1"]
    two = await tools.search("widgets", max_results=3, page=one.next_page)
    assert (numbers(two), two.page, two.next_page, two.total) == (["NCT90000004"], "three", None, None)
    assert "countTotal" not in desk.sent[-1].fields


async def test_no_studies_is_empty(tools: ClinicalTrialsTools, desk: Desk) -> None:
    desk.answers("studies", "nothing.json")
    result = await tools.search("qqxzzy")
    assert (result.status, result.total, result.artifacts, result.error) == ("empty", 0, (), None)
    assert result.notice == "No study matches."


async def test_a_page_behind_the_end_is_said(tools: ClinicalTrialsTools, desk: Desk, studies: Studies) -> None:
    desk.answers("studies", studies())
    result = await tools.search("widgets", page="beyond")
    assert (result.status, result.returned, result.total) == ("ok", 0, None)
    assert result.notice == "The list ends here: there are no further studies."


async def test_a_list_that_ends_early_is_a_warning(tools: ClinicalTrialsTools, desk: Desk, studies: Studies) -> None:
    desk.answers("pageToken", studies())
    desk.answers("studies", studies(1, 2, total=480, token="two"))
    result = await tools.search("widgets")
    assert (result.status, result.total, result.returned) == ("ok", 480, 2)
    assert result.warnings == ("ClinicalTrials.gov states 480 studies, but its list ended after 2.",)


async def test_a_server_that_repeats_a_token_is_left(tools: ClinicalTrialsTools, desk: Desk, studies: Studies) -> None:
    desk.answers("studies", studies(1, total=9, token="same"))
    result = await tools.search("widgets")
    assert (numbers(result), result.next_page) == (["NCT90000001"], None)
    assert len(desk.sent) == 2


async def test_more_studies_than_asked_are_left_out_and_said(
    tools: ClinicalTrialsTools, desk: Desk, studies: Studies
) -> None:
    desk.answers("studies", studies(1, 2, 3, total=3))
    result = await tools.search("widgets", max_results=2)
    assert numbers(result) == ["NCT90000001", "NCT90000002"]
    assert "sent 1 study more than asked" in result.warnings[0]


async def test_a_later_page_that_fails_makes_it_partial(
    tools: ClinicalTrialsTools, desk: Desk, studies: Studies
) -> None:
    desk.answers("pageToken", "", status=503)
    desk.answers("studies", studies(1, 2, total=9, token="two"))
    result = await tools.search("widgets")
    assert (result.status, result.returned, result.total) == ("partial", 2, 9)
    assert result.error is not None
    assert result.error.reason == "clinicaltrials_unreachable"
    assert result.next_page == "two"


async def test_an_unreadable_study_makes_it_partial(tools: ClinicalTrialsTools, desk: Desk, studies: Studies) -> None:
    page = studies(1, 2, total=2)
    page["studies"][0] = {"protocolSection": {}}
    desk.answers("studies", page)
    result = await tools.search("widgets")
    assert (result.status, numbers(result)) == ("partial", ["NCT90000002"])
    assert result.warnings[0].startswith("1 study could not be read: study 1 at")


async def test_studies_of_exactly_what_was_asked_come_first(tools: ClinicalTrialsTools, desk: Desk) -> None:
    """K065: `Hypertension` is asked, `Pulmonary Arterial Hypertension` holds the word too."""
    desk.answers("pageToken", "page-last.json")
    desk.answers("studies", "page-first.json")
    result = await tools.search("", condition="hypertension")
    assert numbers(result)[0] == "NCT90000002"
    assert result.query_sent == "cond=hypertension"
    drug = await tools.search("", condition="lymphoma", intervention="wid-1")
    assert numbers(drug)[0] == "NCT90000001"
    newest = await tools.search("", condition="hypertension", sort="date")
    assert numbers(newest)[0] == "NCT90000001"


async def test_filters_are_told(tools: ClinicalTrialsTools, desk: Desk) -> None:
    desk.answers("studies", "nothing.json")
    result = await tools.search(
        "widgets", overall_status=["recruiting"], phases=["3"], date_from="2020", date_to="2024-05", sort="updated"
    )
    assert result.applied_filters == {
        "overall_status": "RECRUITING",
        "phases": "PHASE3",
        "date_from": "2020",
        "date_to": "2024-05",
        "sort": "LastUpdatePostDate:desc",
    }
    assert result.search_url is None


async def test_a_future_date_is_said(tools: ClinicalTrialsTools, desk: Desk) -> None:
    desk.answers("studies", "nothing.json")
    result = await tools.search("widgets", date_from="2027")
    assert result.warnings == ("date_from='2027' lies in the future: no study can have been registered since.",)


@pytest.mark.parametrize(
    "given",
    [
        {"query": ""},
        {"query": "a", "max_results": 0},
        {"query": "a", "max_results": 1_001},
        {"query": "a", "page": "2"},
        {"query": "a", "overall_status": ["nonsense"]},
        {"query": "a", "date_from": "2024-13"},
    ],
)
async def test_bad_input_is_refused_before_sending(
    given: dict[str, Any], tools: ClinicalTrialsTools, desk: Desk
) -> None:
    assert isinstance(await failure(tools.search(**given)), InvalidInputError)
    assert desk.sent == []


# --- errors -----------------------------------------------------------------------------------------------------------


async def test_a_refused_query_is_told_in_a_short_sentence(tools: ClinicalTrialsTools, desk: Desk) -> None:
    """K069: plain text, not JSON; the list of tokens is left out."""
    desk.answers("studies", "refused-bracket.txt", status=400)
    error = await failure(tools.search("widgets"))
    assert isinstance(error, InvalidInputError)
    assert (error.reason, error.retryable) == ("clinicaltrials_invalid_input", False)
    assert error.message == (
        "ClinicalTrials.gov refused the request: Error parsing query in Other terms: mismatched input '['."
    )
    assert len(desk.sent) == 1


async def test_a_refused_token_is_blamed(tools: ClinicalTrialsTools, desk: Desk) -> None:
    desk.answers("studies", "Parameter `pageToken` has incorrect format", status=400, kind="text/plain")
    error = await failure(tools.search("widgets", page="expired"))
    assert "may have expired" in error.message
    assert error.recovery == "Start again without `page`."


async def test_a_blocked_client_is_told_once_with_advice(tools: ClinicalTrialsTools, desk: Desk) -> None:
    """K063: 403 is no answer and is not asked again; the client says who it is."""
    desk.answers("studies", "<html>403 Forbidden</html>", status=403, kind="text/html")
    error = await failure(tools.search("diabetes"))
    assert (error.reason, error.retryable) == ("clinicaltrials_blocked", False)
    assert error.recovery
    assert len(desk.sent) == 1
    assert desk.sent[0].headers["user-agent"].startswith("literature-agent/")


@pytest.mark.parametrize(
    ("body", "status", "kind", "reason", "attempts"),
    [
        ("<html>Maintenance</html>", 200, "text/html", "clinicaltrials_unreachable", 3),
        ("", 200, "application/json", "clinicaltrials_invalid_response", 3),
        ("", 502, "text/plain", "clinicaltrials_unreachable", 3),
        ("", 429, "text/plain", "clinicaltrials_rate_limited", 3),
        ("Not here", 404, "text/plain", "clinicaltrials_invalid_response", 1),
    ],
)
async def test_what_is_no_answer_is_a_failure(
    body: str, status: int, kind: str, reason: str, attempts: int, tools: ClinicalTrialsTools, desk: Desk
) -> None:
    desk.answers("studies", body, status=status, kind=kind)
    assert (await failure(tools.search("widgets"))).reason == reason
    assert len(desk.sent) == attempts


# --- fetch ------------------------------------------------------------------------------------------------------------


async def test_a_study_is_fetched_whole(tools: ClinicalTrialsTools, desk: Desk) -> None:
    """K071: any case, blanks around it."""
    desk.answers("studies/NCT90000004", "study-whole.json")
    result = await tools.fetch_clinicaltrial([" nct90000004 ", "NCT90000004"])
    (trial,) = result.artifacts
    assert isinstance(trial, ClinicalTrial)
    assert (trial.nct_id, len(trial.results), len(trial.locations)) == ("NCT90000004", 5, 2)
    assert trial.provenance[0].request == "GET studies/NCT90000004"
    assert (result.not_found, result.failed) == ((), {})
    assert result.warnings[0].startswith("NCT90000004 cites a retracted paper, PMID 90000201")
    assert len(desk.sent) == 1
    assert "fields" not in desk.sent[0].fields


async def test_several_studies_are_asked_together_and_the_missing_singly(
    tools: ClinicalTrialsTools, desk: Desk, studies: Studies
) -> None:
    """K071: a valid but unknown number is named."""
    desk.answers("filter.ids=", studies(3, 1))
    result = await tools.fetch(["NCT90000001", "NCT99999999", "NCT90000003"])
    assert numbers(result) == ["NCT90000001", "NCT90000003"]
    assert result.not_found == ("NCT99999999",)
    assert [sent.path for sent in desk.sent] == ["studies", "studies/NCT99999999"]
    assert desk.sent[0].fields["filter.ids"] == "NCT90000001,NCT99999999,NCT90000003"


async def test_a_former_number_leads_to_the_study_that_took_it_over(tools: ClinicalTrialsTools, desk: Desk) -> None:
    """301, followed on the same host."""
    desk.answers("studies/NCT90000099", "", status=301, location="/api/v2/studies/NCT90000004")
    desk.answers("studies/NCT90000004", "study-whole.json")
    result = await tools.fetch(["NCT90000099"])
    assert (numbers(result), result.not_found) == (["NCT90000004"], ())
    assert result.warnings[0] == "NCT90000099 is a former number of NCT90000004."


@pytest.mark.parametrize(
    "wrong", ["NCT1234567", "NCT00000000", "12345678", "10.5555/synthetic.1", "NCT9000000A", "x" * 400]
)
async def test_a_wrong_number_is_refused_with_the_form_wanted(
    wrong: str, tools: ClinicalTrialsTools, desk: Desk
) -> None:
    """K071: NCT and 8 digits."""
    error = await failure(tools.fetch([wrong]))
    assert isinstance(error, InvalidInputError)
    assert "write NCT and 8 digits" in error.message
    assert desk.sent == []
    mixed = await tools.fetch([wrong, "NCT99999999"])
    assert (mixed.not_found, list(mixed.failed)) == (("NCT99999999",), [wrong])


async def test_a_study_that_cannot_be_read_is_not_unknown(tools: ClinicalTrialsTools, desk: Desk) -> None:
    desk.answers("studies/NCT90000001", "", status=503)
    result = await tools.fetch(["NCT90000001", "NCT99999999"])
    assert result.not_found == ("NCT99999999",)
    assert result.failed["NCT90000001"].reason == "clinicaltrials_unreachable"
    assert (await failure(tools.fetch(["NCT90000001"]))).reason == "clinicaltrials_unreachable"


async def test_a_page_of_html_under_404_is_no_unknown_number(tools: ClinicalTrialsTools, desk: Desk) -> None:
    desk.answers("studies/", "<html>Not found</html>", status=404, kind="text/html")
    assert (await failure(tools.fetch(["NCT90000001"]))).reason == "clinicaltrials_invalid_response"


async def test_a_dead_service_is_not_asked_for_every_number(tools: ClinicalTrialsTools, desk: Desk) -> None:
    desk.answers("", "", status=503)
    await failure(tools.fetch([f"NCT9000{number:04d}" for number in range(1, 9)]))
    assert len(desk.sent) == 3 + 3 * 3  # together, then three singly, three attempts each


async def test_too_many_identifiers_are_refused(tools: ClinicalTrialsTools, desk: Desk) -> None:
    error = await failure(tools.fetch([f"NCT9000{number:04d}" for number in range(10_000)]))
    assert "10,000 identifiers were given, at most 500" in error.message
    assert desk.sent == []


async def test_nothing_asked_is_nothing_found(tools: ClinicalTrialsTools) -> None:
    assert (await tools.fetch([])).artifacts == ()


# --- over real sockets ------------------------------------------------------------------------------------------------


async def test_search_and_fetch_over_the_sandbox(settings: Settings, sandbox: SandboxServer) -> None:
    found = await search("clinicaltrials", "metformin", max_results=1, settings=settings)
    assert (found.status, found.returned) == ("ok", 1)
    assert found.total is not None
    assert found.total > 1
    more = await search("clinicaltrials", "metformin", max_results=50, page=found.next_page, settings=settings)
    assert set(numbers(found)).isdisjoint(numbers(more))
    assert 1 + more.returned == found.total
    whole = await fetch("clinicaltrials", ["nct90000001", "NCT99999999"], settings=settings)
    assert (numbers(whole), whole.not_found) == (["NCT90000001"], ("NCT99999999",))


async def test_adding_a_filter_never_raises_the_total(settings: Settings) -> None:
    """K066: over the sandbox, which evaluates the filters."""
    narrowing: list[dict[str, Any]] = [
        {},
        {"intervention": "metformin"},
        {"phases": "3"},
        {"overall_status": "completed"},
        {"condition": "type 2 diabetes"},
    ]
    filters: dict[str, Any] = {}
    totals = []
    for more in narrowing:
        filters |= more
        totals.append(
            (await search("clinicaltrials", "diabetes OR cognitive", settings=settings, **filters)).total or 0
        )
    assert totals == sorted(totals, reverse=True)
    assert totals[-1] >= 1


async def test_a_filter_of_other_sources_is_refused_by_name(settings: Settings) -> None:
    error = await failure(search("clinicaltrials", "widgets", languages=["eng"], settings=settings))
    assert "no filter 'languages'" in error.message
