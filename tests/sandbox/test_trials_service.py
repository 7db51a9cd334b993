"""ClinicalTrials.gov's API v2 over the small corpus, asked over HTTP."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from literature_agent.sandbox import Corpus
from literature_agent.sandbox.messages import Request
from literature_agent.sandbox.trials_answers import TrialAnswers

MEMORY, WALKING = "NCT90000001", "NCT90000002"


def studies(client: httpx.Client, **parameters: str) -> dict[str, Any]:
    reply = client.get("/api/v2/studies", params={name.replace("_", "."): text for name, text in parameters.items()})
    assert reply.status_code == 200, reply.text
    answer: dict[str, Any] = reply.json()
    return answer


def numbers(answer: dict[str, Any]) -> list[str]:
    return [study["protocolSection"]["identificationModule"]["nctId"] for study in answer["studies"]]


@pytest.mark.parametrize(
    ("parameters", "found"),
    [
        ({"query_cond": "heart failure"}, {WALKING}),
        ({"query_intr": "metformin"}, {MEMORY}),
        ({"query_term": "metformin"}, {MEMORY, WALKING}),
        ({"query_term": "metformin AND NOT walking"}, {MEMORY}),
        ({"query_term": '"type 2 diabetes" OR rest'}, {MEMORY, WALKING}),
        ({"query_titles": "walking"}, {WALKING}),
        ({"query_spons": "Example Fund"}, {MEMORY}),
        ({"query_id": "NCT90000002"}, {WALKING}),
        ({"filter_overallStatus": "COMPLETED"}, {MEMORY}),
        ({"filter_overallStatus": "COMPLETED|RECRUITING"}, {MEMORY, WALKING}),
        ({"filter_ids": "nct90000001,NCT90000009"}, {MEMORY}),
        ({"filter_advanced": "AREA[Phase]PHASE3"}, {MEMORY}),
        ({"filter_advanced": "AREA[Phase](PHASE2 OR PHASE3)"}, {MEMORY}),
        ({"filter_advanced": "AREA[StartDate]RANGE[2020-01-01,MAX]"}, {WALKING}),
        ({"filter_advanced": "AREA[StartDate]RANGE[MIN,2012]"}, {MEMORY}),
        ({"filter_advanced": "AREA[StudyType]INTERVENTIONAL AND (AREA[Phase]NA OR AREA[Phase]PHASE1)"}, {WALKING}),
        ({"filter_advanced": "NOT AREA[Phase]PHASE3"}, {WALKING}),
        ({"filter_advanced": 'AREA[Condition]"Heart Failure"'}, {WALKING}),
        ({"filter_advanced": "AREA[StartDate]2012"}, {MEMORY}),
        ({"filter_advanced": "metformin AND AREA[Phase]NA"}, {WALKING}),
        ({"filter_advanced": "()"}, {MEMORY, WALKING}),
        ({"query_term": "*"}, {MEMORY, WALKING}),
        ({"query_term": "metformin", "filter_overallStatus": "COMPLETED"}, {MEMORY}),
        ({"query_term": "zeppelin"}, set()),
        ({}, {MEMORY, WALKING}),
    ],
)
def test_each_parameter_narrows_the_answer(client: httpx.Client, parameters: dict[str, str], found: set[str]) -> None:
    """K065, K066."""
    assert set(numbers(studies(client, **parameters))) == found


def test_the_total_stands_on_the_first_page_only(client: httpx.Client) -> None:
    first = studies(client, countTotal="true", pageSize="1")
    assert (first["totalCount"], len(first["studies"])) == (2, 1)
    second = studies(client, countTotal="true", pageSize="1", pageToken=first["nextPageToken"])
    assert "totalCount" not in second
    assert "nextPageToken" not in second
    assert set(numbers(first) + numbers(second)) == {MEMORY, WALKING}


def test_sorting_by_date(client: httpx.Client) -> None:
    assert numbers(studies(client, sort="StartDate:desc")) == [WALKING, MEMORY]
    assert numbers(studies(client, sort="StartDate:asc")) == [MEMORY, WALKING]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"filter.overallStatus": "BADSTATUS"}, "Invalid value in parameter `overallStatus`: `BADSTATUS`"),
        ({"filter.overallStatus": "recruiting"}, "Invalid value in parameter `overallStatus`: `recruiting`"),
        ({"query.term": "diabetes [bracket]"}, "Error parsing query in Other terms: mismatched input '['"),
        ({"query.term": "diabetes (unmatched"}, "Error parsing query in Other terms: missing ')' at '<EOF>'"),
        ({"filter.advanced": "AREA[NotARealField]x"}, "Error parsing query in advanced filter: Unknown area name"),
        ({"filter.advanced": "(AREA[Phase]PHASE3"}, "Error parsing query in advanced filter: missing ')'"),
        ({"filter.advanced": "AREA[Phase]RANGE[1,2]"}, "Error parsing query in advanced filter: RANGE"),
        ({"filter.ids": "NCT1,x"}, "Parameter `filter.ids` has incorrect format: `x`"),
        ({"filter.advanced": "AREA[Phase]PHASE3)"}, "Error parsing query in advanced filter: extraneous input ')'"),
        ({"filter.advanced": "(" * 200 + "x" + ")" * 200}, "Error parsing query in advanced filter: too many"),
        ({"query.term": "diabetes)"}, "Error parsing query in Other terms: extraneous input ')'"),
        ({"pageToken": "bm9uc2Vuc2U="}, "Parameter `pageToken` has incorrect format"),
        ({"pageToken": "nonsense"}, "Parameter `pageToken` has incorrect format"),
    ],
)
def test_refusals_are_400_in_plain_text(client: httpx.Client, parameters: dict[str, str], message: str) -> None:
    """K064, K069."""
    reply = client.get("/api/v2/studies", params=parameters)
    assert reply.status_code == 400
    assert reply.headers["content-type"].startswith("text/plain")
    assert reply.text.startswith(message)


def test_one_study_by_its_number(client: httpx.Client) -> None:
    """K071."""
    assert client.get("/api/v2/studies/nct90000001").json()["hasResults"] is False
    assert client.get("/api/v2/studies/NCT00000009").status_code == 404
    assert client.get("/api/v2/studies/NCT123456789").status_code == 400
    assert client.get("/api/v2/studies/x").status_code == 400
    assert client.get("/api/v2/version").json()["apiVersion"] == "2.0.5"


@given(st.text(alphabet=st.sampled_from(list('AREA[Phase]PHASE3 RANGE[2020,MAX]()" ANDORNOT\x00')), max_size=60))
def test_no_filter_text_breaks_the_answer(small_corpus: Corpus, text: str) -> None:
    answers = TrialAnswers(small_corpus)
    for parameter in ("filter.advanced", "query.term"):
        assert answers.search(Request("GET", "/", {parameter: (text,)})).status in {200, 400}
    answers.close()
