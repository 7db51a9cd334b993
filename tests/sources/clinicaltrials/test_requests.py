"""What would be sent to ClinicalTrials.gov."""

from __future__ import annotations

from typing import Any

import pytest

from literature_agent.errors import InvalidInputError
from literature_agent.sources.clinicaltrials.client import search_request, studies_request, study_request
from literature_agent.sources.clinicaltrials.query import plan_search, token_of
from literature_agent.transport import describe


def params(query: str = "", **filters: Any) -> dict[str, str]:
    return dict(plan_search(query, **filters).params)


# --- requests ---------------------------------------------------------------------------------------------------------


def test_the_first_page_asks_for_the_total_and_later_ones_give_their_token() -> None:
    plan = plan_search("widgets")
    first = dict(search_request(plan, page_size=10).params)
    assert (first["query.term"], first["pageSize"], first["countTotal"]) == ("widgets", "10", "true")
    assert "pageToken" not in first
    later = dict(search_request(plan, page_size=4, token="synthetic-token_1").params)
    assert (later["pageToken"], later["pageSize"]) == ("synthetic-token_1", "4")
    assert "countTotal" not in later


def test_a_search_asks_for_sites_but_not_for_their_contacts_or_for_results() -> None:
    """K068: every site of a study is listed."""
    fields = dict(search_request(plan_search("widgets"), page_size=10).params)["fields"].split(",")
    assert {"LocationFacility", "LocationCity", "LocationCountry", "LocationStatus", "HasResults"} <= set(fields)
    assert not any("results" in name or "Contact" in name for name in fields)


def test_studies_are_asked_by_number() -> None:
    assert describe(study_request("NCT90000004")) == "GET studies/NCT90000004"
    request = studies_request(["NCT90000001", "NCT90000002"])
    assert dict(request.params) == {"filter.ids": "NCT90000001,NCT90000002", "pageSize": "2"}
    assert request.max_age_s == 86_400


# --- filters ----------------------------------------------------------------------------------------------------------


def test_a_condition_and_an_intervention_are_looked_for_in_their_own_fields() -> None:
    """K065: the queries alone also match titles and descriptions."""
    assert params(condition="hypertension", intervention="vedolizumab") == {
        "query.cond": "hypertension",
        "query.intr": "vedolizumab",
        "filter.advanced": "AREA[Condition](hypertension) AND "
        "(AREA[InterventionName](vedolizumab) OR AREA[InterventionOtherName](vedolizumab))",
    }


def test_filters_are_joined_with_and_and_values_of_one_filter_with_or() -> None:
    """K064, K066: adding a filter never raises the total."""
    assert params("widgets", overall_status=["completed", "RECRUITING"], phases=["3", "PHASE2"], date_from="2020") == {
        "query.term": "widgets",
        "filter.overallStatus": "COMPLETED,RECRUITING",
        "filter.advanced": "AREA[Phase](PHASE2 OR PHASE3) AND AREA[StudyFirstPostDate]RANGE[2020-01-01,MAX]",
    }


def test_query_and_term_must_both_hold() -> None:
    assert params("a OR b", term="c OR d")["query.term"] == "(a OR b) AND (c OR d)"
    plan = plan_search("a", term="b", condition="c")
    assert (plan.sent, plan.applied["term"]) == ("term=(a) AND (b); cond=c", "b")
    assert plan_search("a").sent == "a"
    assert params("", term="b")["query.term"] == "b"


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ("recruiting", "RECRUITING"),
        (["Active, not recruiting", "completed"], "ACTIVE_NOT_RECRUITING,COMPLETED"),
        ("active, NOT recruiting, not yet recruiting", "ACTIVE_NOT_RECRUITING,NOT_YET_RECRUITING"),
        (["enrolling-by-invitation"], "ENROLLING_BY_INVITATION"),
        ("COMPLETED|completed", "COMPLETED"),
    ],
)
def test_a_status_is_taken_in_any_spelling(given: Any, sent: str) -> None:
    """K064: the registry knows capitals only."""
    assert params("a", overall_status=given)["filter.overallStatus"] == sent


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ("3", "PHASE3"),
        (["phase III"], "PHASE3"),
        ("Phase 2/Phase 3", "PHASE2 OR PHASE3"),
        ("1/2", "PHASE1 OR PHASE2"),
        (["early phase 1", "PHASE_4"], "EARLY_PHASE1 OR PHASE4"),
        ("na", "NA"),
        ("Not applicable", "NA"),
    ],
)
def test_a_phase_is_taken_in_any_spelling(given: Any, sent: str) -> None:
    assert params("a", phases=given)["filter.advanced"] == f"AREA[Phase]({sent})"


def test_dates_bound_the_first_posting() -> None:
    assert params("a", date_to="2020-05")["filter.advanced"] == "AREA[StudyFirstPostDate]RANGE[MIN,2020-05-31]"
    assert "filter.advanced" not in params("a", date_from=" ", date_to="")


def test_sorting_has_plain_names() -> None:
    assert "sort" not in params("a", sort="relevance")
    assert params("a", sort="Date")["sort"] == "StudyFirstPostDate:desc"
    assert params("a", sort="startdate:ASC")["sort"] == "StartDate:asc"


def test_blank_filters_are_absent() -> None:
    assert params("a", condition=" ", intervention="", term=None, overall_status=[], phases="") == {"query.term": "a"}


def test_people_get_the_address_of_the_same_search_where_there_is_one() -> None:
    assert plan_search("a b", condition="c").url == "https://clinicaltrials.gov/search?term=a%20b&cond=c"
    assert plan_search("a", phases="3").url is None
    assert plan_search("a " * 3_000).url is None


# --- what cannot be sent ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        ({"query": ""}, "blank"),
        ({"query": " \u200b"}, "blank"),
        ({"query": "a\x00"}, "control character"),
        ({"query": "a" * 20_001}, "20,001 characters"),
        ({"query": "BRAF [V600E"}, "'[' without its partner"),
        ({"query": "BRAF V600E]"}, "']' without its partner"),
        ({"query": "a (b"}, "'(' without its partner"),
        ({"query": "a) (b"}, "')' without its partner"),
        ({"query": '"a b'}, 'open "'),
        ({"query": "", "condition": "x) OR (y"}, "')' without its partner"),
        ({"query": "a", "overall_status": ["finished"]}, "'finished' is no status"),
        ({"query": "a", "phases": ["5"]}, "'5' is no phase"),
        ({"query": "a", "phases": "PHASE2b"}, "'PHASE2b' is no phase"),
        ({"query": "a", "sort": "EnrollmentCount:desc"}, "sort='EnrollmentCount:desc' is unknown"),
        ({"query": "a", "date_from": "2024", "date_to": "2023"}, "'2024' is later than"),
        ({"query": "a", "date_from": "May 1984"}, "'May 1984' is no date"),
    ],
)
def test_bad_input_is_refused_with_value_and_fix(filters: dict[str, Any], said: str) -> None:
    """K069 among others: one sentence that names the character."""
    with pytest.raises(InvalidInputError) as error:
        plan_search(**filters)
    assert said in error.value.message
    assert error.value.reason == "clinicaltrials_invalid_input"
    assert error.value.recovery
    assert len(error.value.message) < 300


def test_a_refused_status_comes_with_the_list() -> None:
    with pytest.raises(InvalidInputError) as error:
        plan_search("a", overall_status="finished")
    assert "COMPLETED" in error.value.recovery


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("BRAF [V600E] melanoma", "BRAF V600E melanoma"),
        ('"BRAF [V600E]" melanoma', '"BRAF [V600E]" melanoma'),
        ("AREA[Phase]PHASE3 AND widgets", "AREA[Phase]PHASE3 AND widgets"),
        ("AREA[StartDate]RANGE[2020-01-01,MAX]", "AREA[StartDate]RANGE[2020-01-01,MAX]"),
        ("“invented  lymphoma”", '"invented lymphoma"'),
    ],
)
def test_square_brackets_are_left_out_unless_they_are_an_operators(written: str, sent: str) -> None:
    """K069."""
    plan = plan_search(written)
    assert dict(plan.params)["query.term"] == sent
    assert bool(plan.warnings) == (sent == "BRAF V600E melanoma")
    assert params("", condition="lymphoma [stage II]")["query.cond"] == "lymphoma stage II"


def test_tags_of_pubmed_are_left_out_and_said() -> None:
    plan = plan_search("widgets[tiab] AND lymphoma[mesh terms]")
    assert dict(plan.params)["query.term"] == "widgets AND lymphoma"
    assert plan.warnings == ("[tiab], [mesh terms] is PubMed's grammar and was left out of query.",)


def test_a_page_is_a_token() -> None:
    assert token_of(" synthetic-token_1 ") == "synthetic-token_1"
    assert token_of("") is None
    for wrong in ("2", "a b", "a&b", "é", "x" * 501):
        with pytest.raises(InvalidInputError, match="no `next_page`"):
            token_of(wrong)
