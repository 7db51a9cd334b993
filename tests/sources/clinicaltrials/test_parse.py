"""ClinicalTrials.gov's answers to studies: bytes in, artifacts out."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from literature_agent.artifacts import ClinicalTrial
from literature_agent.errors import LiteratureError, SourceError
from literature_agent.sources.clinicaltrials.parse import parse_page, parse_study
from literature_agent.transport import TransientAnswer
from tests import desks
from tests.desks import damaged_bytes, mutated_json

PAYLOADS = desks.PAYLOADS / "clinicaltrials"


def one(**modules: Any) -> ClinicalTrial:
    """The record of a study that has these modules beside its number."""
    protocol = {"identificationModule": {"nctId": "NCT90000001"}, **modules}
    return parse_study(json.dumps({"protocolSection": protocol}).encode()).trial


def measured(**members: Any) -> ClinicalTrial:
    """A study with one posted outcome of one group."""
    measurement = {"groupId": "OG000", **members.pop("measurement")}
    measure = {
        "title": "Synthetic outcome",
        "groups": [{"id": "OG000", "title": "Widgetumab"}],
        "classes": [{"categories": [{"measurements": [measurement]}]}],
        **members,
    }
    study = {
        "protocolSection": {"identificationModule": {"nctId": "NCT90000001"}},
        "resultsSection": {"outcomeMeasuresModule": {"outcomeMeasures": [measure]}},
    }
    return parse_study(json.dumps(study).encode()).trial


# --- whole records ----------------------------------------------------------------------------------------------------


def test_a_study_is_read_whole(payload: Callable[[str], bytes]) -> None:
    """Escapes of Markdown are gone, dates keep their precision, 0 participants are a number."""
    study = parse_study(payload("study-whole.json"))
    shown = study.trial.model_dump(mode="json", exclude_defaults=True)
    results = shown.pop("results")
    assert shown == {
        "title": "Widgetumab for Invented Lymphoma (Synthetic)",
        "url": "https://clinicaltrials.gov/study/NCT90000004",
        "year": 2018,
        "published": "2018-04-02",
        "abstract_text": "This invented study asks whether widgetumab [WID-1] delays progression.\n"
        "Participants receive:\n* widgetumab, dose >= 2 mg\n* or placebo\nNothing here is real.",
        "abstract_sections": [
            {
                "label": "Brief summary",
                "text": "This invented study asks whether widgetumab [WID-1] delays progression.",
            },
            {
                "label": "Detailed description",
                "text": "Participants receive:\n* widgetumab, dose >= 2 mg\n* or placebo\nNothing here is real.",
            },
        ],
        "keywords": ["widget", "antibody"],
        "related": [
            {"relation": "published_as", "pmid": "90000201"},
            {"relation": "published_as", "pmid": "90000202", "certainty": "inferred"},
            {"relation": "published_as", "doi": "10.5555/synthetic.trial.4"},
        ],
        "nct_id": "NCT90000004",
        "official_title": "A Randomized, Double-Blind Trial of Widgetumab in Adults With Invented Lymphoma",
        "overall_status": "TERMINATED",
        "why_stopped": "Slow accrual.",
        "study_type": "INTERVENTIONAL",
        "design": {
            "allocation": "RANDOMIZED",
            "model": "PARALLEL",
            "purpose": "TREATMENT",
            "masking": "DOUBLE",
            "who_masked": ["PARTICIPANT", "INVESTIGATOR"],
        },
        "phases": ["PHASE3"],
        "conditions": ["Invented Lymphoma", "Lymphoma, Synthetic"],
        "interventions": [
            {
                "name": "Widgetumab",
                "type": "DRUG",
                "description": "Invented antibody",
                "other_names": ["WID-1", "Widgetra"],
            },
            {"name": "Placebo", "type": "DRUG"},
        ],
        "arms": [
            {
                "label": "Widgetumab",
                "type": "EXPERIMENTAL",
                "description": "2 mg weekly",
                "interventions": ["Drug: Widgetumab"],
            },
            {"label": "Placebo", "type": "PLACEBO_COMPARATOR", "interventions": ["Drug: Placebo"]},
        ],
        "outcomes": [
            {
                "kind": "primary",
                "measure": "Progression-free survival",
                "description": "Time to progression or death",
                "time_frame": "up to 36 months",
            },
            {"kind": "secondary", "measure": "Response rate", "time_frame": "6 months"},
            {"kind": "other", "measure": "Invented biomarker"},
        ],
        "enrollment": 0,
        "start_date": "2018-05",
        "completion_date": "2021-06-30",
        "eligibility": {
            "criteria": "Inclusion Criteria:\n* Age >= 18\nExclusion Criteria:\n* P<0.001",
            "sex": "ALL",
            "minimum_age": "18 Years",
        },
        "sponsor": "Institute of Nowhere",
        "locations": [
            {"facility": "Hospital of Nowhere", "city": "Nowhere", "country": "Utopia", "status": "COMPLETED"},
            {"facility": "Clinic of Elsewhere", "city": "Elsewhere", "country": "Utopia"},
        ],
        "has_results": True,
    }
    assert [result["measure"] for result in results] == [
        "Progression-free Survival",
        "Biomarker Level",
        "Response Rate",
        "All-cause mortality",
        "Serious adverse events",
    ]
    assert study.aliases == ("NCT90000099",)


def test_posted_results_are_shown_as_reported(payload: Callable[[str], bytes]) -> None:
    """K067: no group is dropped because its value is no number."""
    survival, biomarker, unposted, deaths, serious = parse_study(payload("study-whole.json")).trial.results
    assert [(value.group, value.value) for value in survival.values] == [
        ("Widgetumab", "not reached"),
        ("Placebo", "12.1"),
    ]
    assert (survival.values[0].lower_limit, survival.values[0].upper_limit) == ("18.2", "NA")
    assert survival.values[0].comment == "Too few events."
    assert (survival.kind, survival.unit, survival.parameter) == ("primary", "months", "MEDIAN")
    assert survival.analyses == (
        "Hazard Ratio (HR) 0.52 (95% CI 0.40 to 0.70); P<0.001; Log Rank; Widgetumab vs Placebo",
        "P=0.03; Chi-squared",
    )
    assert [(value.category, value.value) for value in biomarker.values] == [
        ("Week 4 / High", "NA"),
        ("Week 4 / Low", "not given"),
    ]
    assert unposted.values == ()
    assert [(value.group, value.value) for value in deaths.values] == [
        ("Widgetumab", "2 of 50"),
        ("Placebo", "0 of 48"),
    ]
    assert (serious.kind, serious.values[0].value) == ("adverse_events", "7 of 50")


@pytest.mark.parametrize(
    ("value", "parameter", "unit", "shown"),
    [
        ("NA", "MEDIAN", "months", "not reached"),
        ("NA", "MEDIAN", None, "not reached"),
        ("N/A", "Median", "Days", "not reached"),
        ("NR", "MEDIAN", "pg/ml", "not reached"),
        ("NA", "MEDIAN", "pg/ml", "NA"),
        ("NA", "MEAN", "months", "NA"),
        ("12.1", "MEDIAN", "months", "12.1"),
        ("<0.01", "MEAN", "pg/ml", "<0.01"),
        (12.5, "MEAN", "pg/ml", "12.5"),
        (None, "MEDIAN", "months", "not given"),
    ],
)
def test_a_median_time_that_is_no_number_was_not_reached(
    value: object, parameter: str, unit: str | None, shown: str
) -> None:
    """K067."""
    trial = measured(measurement={"value": value}, paramType=parameter, unitOfMeasure=unit)
    assert [each.value for each in trial.results[0].values] == [shown]


def test_names_of_groups_can_be_written_whatever_stands_in_them() -> None:
    """Ours: half of a character, as JSON may hold it, reaches no record."""
    trial = measured(
        measurement={"groupId": "OG9\ud800", "value": "1"}, analyses=[{"groupIds": ["\ud800"], "pValue": "1"}]
    )
    assert trial.results[0].values[0].group == "OG9"
    assert trial.results[0].analyses == ("P=1",)
    assert trial.model_dump_json()


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ({}, None),
        (None, None),
        ({"date": None}, None),
        ({"date": ""}, None),
        ({"date": "2024"}, "2024"),
        ({"date": "2024-03"}, "2024-03"),
        ({"date": "2024-03-15"}, "2024-03-15"),
        ({"date": "May 1984"}, "1984-05"),
        ({"date": "March 15, 2024"}, "2024-03-15"),
        ({"date": "unknown"}, None),
    ],
)
def test_dates_are_as_precise_as_registered(written: object, read: str | None) -> None:
    """K070: nothing becomes 1970, and no month gains a day."""
    status = {} if written is None else {"startDateStruct": written, "completionDateStruct": written}
    trial = one(statusModule=status)
    assert (trial.start_date, trial.completion_date) == (read, read)


def test_long_lists_are_whole() -> None:
    """K068."""
    trial = one(
        conditionsModule={"conditions": [f"Condition {number}" for number in range(8)]},
        contactsLocationsModule={"locations": [{"facility": f"Site {number}"} for number in range(1_148)]},
    )
    assert (len(trial.conditions), len(trial.locations)) == (8, 1_148)


def test_an_unknown_enrolment_is_none_and_nobody_is_zero() -> None:
    counts = [
        one(designModule={"enrollmentInfo": {"count": count}}).enrollment for count in (99_999_999, 0, 12, None, "7")
    ]
    assert counts == [None, 0, 12, None, 7]


def test_retractions_of_what_a_study_cites_are_told(payload: Callable[[str], bytes]) -> None:
    """They are of the papers, so the study itself is not marked."""
    study = parse_study(payload("study-whole.json"))
    assert study.warnings == (
        "NCT90000004 cites a retracted paper, PMID 90000201 (retraction notice: PMID 90000299), as its own results.",
        "NCT90000004 cites a retracted paper, PMID 90000203.",
    )
    assert (study.trial.correction_status, study.trial.notices) == ("unknown", ())


def test_only_the_number_is_required(payload: Callable[[str], bytes]) -> None:
    trial = parse_study(payload("study-minimal.json")).trial
    assert trial.model_dump(exclude_defaults=True) == {
        "nct_id": "NCT90000005",
        "url": "https://clinicaltrials.gov/study/NCT90000005",
    }


def test_the_official_title_or_the_acronym_stands_in_for_a_title() -> None:
    named = {"nctId": "NCT90000001", "officialTitle": "Official", "acronym": "ACR"}
    assert one(identificationModule=named).title == "Official"
    assert one(identificationModule={"nctId": "NCT90000001", "acronym": "ACR"}).title == "ACR"


def test_a_summary_alone_has_no_sections() -> None:
    trial = one(descriptionModule={"briefSummary": "One.\n\nTwo."})
    assert (trial.abstract_text, trial.abstract_sections) == ("One.\nTwo.", ())


def test_a_start_says_the_year_where_no_posting_does() -> None:
    trial = one(statusModule={"startDateStruct": {"date": "2016-07"}})
    assert (trial.year, trial.published) == (2016, None)


# --- pages ------------------------------------------------------------------------------------------------------------


def test_a_page_gives_total_and_token(payload: Callable[[str], bytes]) -> None:
    page = parse_page(payload("page-first.json"))
    assert [study.trial.nct_id for study in page.studies] == ["NCT90000001", "NCT90000002"]
    assert (page.total, page.next_token, page.rows, page.unreadable) == (3, "synthetic-token_1", 2, ())
    first, second = (study.trial for study in page.studies)
    assert (first.phases, first.enrollment, first.start_date, first.completion_date) == (
        ("PHASE1", "PHASE2"),
        None,
        "2024-03",
        "2026-12",
    )
    assert first.abstract_text == "An invented study of [widgets]."
    assert (second.phases, second.start_date, second.has_results, second.abstract_text) == ((), None, False, None)


def test_a_later_page_has_no_total_and_the_last_no_token(payload: Callable[[str], bytes]) -> None:
    page = parse_page(payload("page-last.json"))
    assert (page.total, page.next_token, page.rows) == (None, None, 1)


def test_a_study_that_cannot_be_read_is_named_and_the_others_are_read(studies: Callable[..., dict[str, Any]]) -> None:
    page = studies(1, 2, 3)
    del page["studies"][1]["protocolSection"]["identificationModule"]["nctId"]
    read = parse_page(json.dumps(page).encode())
    assert [study.trial.title for study in read.studies] == ["Synthetic 1", "Synthetic 3"]
    assert read.unreadable == ("study 2 at protocolSection.identificationModule.nctId: field required",)


@pytest.mark.parametrize(
    "body",
    [b"", b"text", b"[]", b"{}", b'{"studies":', b'{"studies":{}}', b"[" * 100_000, b'{"studies":[],"totalCount":9}'],
)
def test_what_is_no_page_is_a_passing_fault(body: bytes) -> None:
    with pytest.raises(TransientAnswer):
        parse_page(body)


def test_a_record_without_a_number_is_an_invalid_response() -> None:
    with pytest.raises(SourceError) as error:
        parse_study(b'{"protocolSection": {}}')
    assert error.value.reason == "clinicaltrials_invalid_response"
    assert "identificationModule" in error.value.message


# --- anything at all --------------------------------------------------------------------------------------------------

_ANSWERS = [PAYLOADS / name for name in ("study-whole.json", "study-minimal.json", "page-first.json", "page-last.json")]


def _parsed(body: bytes) -> None:
    with contextlib.suppress(LiteratureError, TransientAnswer):
        parse_study(body).trial.model_dump_json()
    with contextlib.suppress(LiteratureError, TransientAnswer):
        for study in parse_page(body).studies:
            study.trial.model_dump_json()


@given(body=mutated_json(_ANSWERS))
def test_mutated_answers_raise_only_errors_of_ours(body: bytes) -> None:
    """Ours: any member replaced by anything, or removed."""
    _parsed(body)


@given(body=damaged_bytes(_ANSWERS))
def test_damaged_bytes_raise_only_errors_of_ours(body: bytes) -> None:
    """Ours: bytes cut out, put in, or broken off."""
    _parsed(body)


# --- recorded answers -------------------------------------------------------------------------------------------------


def test_every_recorded_answer_is_read_without_loss(shared_dir: Path) -> None:
    paths = sorted((shared_dir / "recorded" / "clinicaltrials").glob("*.json"))
    assert len(paths) > 10
    for path in paths:
        raw = json.loads(path.read_bytes())
        if "studies" in raw:
            page = parse_page(path.read_bytes())
            assert (page.unreadable, len(page.studies)) == ((), len(raw["studies"])), path.name
            pairs = list(zip(raw["studies"], (study.trial for study in page.studies), strict=True))
        else:
            pairs = [(raw, parse_study(path.read_bytes()).trial)]
        for study, trial in pairs:
            protocol = study["protocolSection"]
            assert trial.title, path.name
            assert trial.year, path.name
            criteria = trial.eligibility.criteria if trial.eligibility else None
            assert "\\" not in f"{trial.title}{trial.abstract_text}{criteria}", path.name
            assert len(trial.locations) == len(protocol.get("contactsLocationsModule", {}).get("locations", ()))
            assert list(trial.conditions) == protocol["conditionsModule"]["conditions"]
            module = study.get("resultsSection", {}).get("outcomeMeasuresModule", {})
            measured = [result for result in trial.results if result.kind != "adverse_events"]
            assert len(measured) == len(module.get("outcomeMeasures", ()))
