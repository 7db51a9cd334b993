"""Answers of ClinicalTrials.gov's API v2 (JSON) to registered studies: bytes in, records out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import ValidationError

from literature_agent.artifacts import (
    AbstractSection,
    ClinicalTrial,
    RelatedRecord,
    TrialArm,
    TrialDesign,
    TrialEligibility,
    TrialIntervention,
    TrialLocation,
    TrialOutcome,
    TrialResult,
    TrialResultValue,
    article_url,
)
from literature_agent.errors import source_error
from literature_agent.ids import find_identifiers, normalise_nct, normalise_pmid
from literature_agent.sources._text import clean_text, one_line, printed_date, year_of
from literature_agent.sources.clinicaltrials.upstream import (
    WireAnalysis,
    WireDate,
    WireDesign,
    WireGroup,
    WireMeasure,
    WireMeasurement,
    WireOutcome,
    WireProtocol,
    WireReferences,
    WireResults,
    WireStudy,
)
from literature_agent.transport.messages import TransientAnswer

NAME = "clinicaltrials"

_UNKNOWN_ENROLLMENT = 99_999_999
"""What the registry writes for a number it does not know."""


@dataclass(frozen=True)
class Study:
    """A study, and what of its record is not part of the artifact."""

    trial: ClinicalTrial
    aliases: tuple[str, ...] = ()
    """Former NCT numbers."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class StudyPage:
    """One page of a search."""

    studies: tuple[Study, ...]
    rows: int
    total: int | None
    """Given with the first page only."""
    next_token: str | None
    unreadable: tuple[str, ...] = ()


def parse_page(body: bytes) -> StudyPage:
    """One page of `GET /studies`; a study that cannot be read is named in `unreadable`.

    Raises:
        TransientAnswer: not JSON, or JSON of another shape.
    """
    answer = _decoded(body)
    rows = answer.get("studies")
    if not isinstance(rows, list):
        raise TransientAnswer("the answer held no list of studies", kind="invalid_response")
    studies: list[Study] = []
    unreadable: list[str] = []
    for number, row in enumerate(rows, 1):
        try:
            studies.append(_study(row))
        except ValidationError as bad:
            unreadable.append(f"study {number} at {_complaint(bad)}")
    total, token = answer.get("totalCount"), answer.get("nextPageToken")
    if total and not rows:
        raise TransientAnswer(f"{one_line(str(total), 40)} studies are stated and none listed", kind="invalid_response")
    return StudyPage(
        studies=tuple(studies),
        rows=len(rows),
        total=total if isinstance(total, int) and not isinstance(total, bool) and total >= 0 else None,
        next_token=token if isinstance(token, str) and token.strip() else None,
        unreadable=tuple(unreadable),
    )


def parse_study(body: bytes) -> Study:
    """The study of `GET /studies/{nctId}`.

    Raises:
        TransientAnswer: not JSON.
        SourceError: `clinicaltrials_invalid_response`, the record lacks its number or is of another shape.
    """
    try:
        return _study(_decoded(body))
    except ValidationError as bad:
        raise source_error(NAME, "invalid_response", f"The record cannot be read at {_complaint(bad)}.") from None


def _decoded(body: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        raise TransientAnswer("no complete JSON document came", kind="invalid_response") from None
    if not isinstance(answer, dict):
        raise TransientAnswer("JSON of another shape came", kind="invalid_response")
    return answer


def _complaint(bad: ValidationError) -> str:
    first = bad.errors(include_input=False, include_url=False)[0]
    return f"{'.'.join(str(step) for step in first['loc']) or 'record'}: {one_line(first['msg'], 80).lower()}"


# --- text -------------------------------------------------------------------------------------------------------------

# Long texts are Markdown in which signs are escaped: `\[rHGG\]`, `\>= 2`.
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


def _line(text: str | None) -> str | None:
    return clean_text(_ESCAPED.sub(r"\1", text or "")) or None


def _lines(text: str | None) -> str | None:
    """A text of several paragraphs, each on its line."""
    return "\n".join(line for part in (text or "").splitlines() if (line := _line(part))) or None


def _each(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(line for text in texts if (line := _line(text)))


def _date(value: WireDate | None) -> str | None:
    """As precise as registered: `2024-03` stays a month, and nothing becomes 1970 (K070)."""
    return printed_date(value.date) if value else None


# --- one study --------------------------------------------------------------------------------------------------------


def _study(value: object) -> Study:
    study = WireStudy.model_validate(value)
    protocol = study.protocolSection
    identity, status, design = protocol.identificationModule, protocol.statusModule, protocol.designModule
    number = normalise_nct(identity.nctId) or clean_text(identity.nctId).upper()
    summary, detail = (
        _lines(protocol.descriptionModule.briefSummary),
        _lines(protocol.descriptionModule.detailedDescription),
    )
    posted, start = _date(status.studyFirstPostDateStruct), _date(status.startDateStruct)
    related, warnings = _publications(number, protocol.referencesModule)
    enrolled = design.enrollmentInfo.count if design.enrollmentInfo else None
    eligibility, sponsor = protocol.eligibilityModule, protocol.sponsorCollaboratorsModule.leadSponsor
    trial = ClinicalTrial(
        nct_id=number,
        title=_line(identity.briefTitle) or _line(identity.officialTitle) or _line(identity.acronym) or "",
        official_title=_line(identity.officialTitle),
        url=article_url(nct_id=number),
        # A registration is published when it is first posted; its start says the year where that is not told.
        year=year_of(posted) or year_of(start),
        published=posted,
        abstract_text="\n".join(text for text in (summary, detail) if text) or None,
        abstract_sections=tuple(
            AbstractSection(label=label, text=text)
            for label, text in (("Brief summary", summary), ("Detailed description", detail))
            if text and summary and detail
        ),
        keywords=_each(protocol.conditionsModule.keywords),
        related=related,
        overall_status=_line(status.overallStatus),
        why_stopped=_line(status.whyStopped),
        study_type=_line(design.studyType),
        design=_design(design),
        phases=_each(design.phases),
        conditions=_each(protocol.conditionsModule.conditions),
        interventions=tuple(_interventions(protocol)),
        arms=tuple(_arms(protocol)),
        outcomes=tuple(_outcomes(protocol)),
        results=tuple(_results(study.resultsSection)) if study.resultsSection else (),
        enrollment=None if enrolled == _UNKNOWN_ENROLLMENT else enrolled,
        start_date=start,
        completion_date=_date(status.completionDateStruct),
        eligibility=TrialEligibility(
            criteria=_lines(eligibility.eligibilityCriteria),
            sex=_line(eligibility.sex),
            minimum_age=_line(eligibility.minimumAge),
            maximum_age=_line(eligibility.maximumAge),
        )
        if eligibility
        else None,
        sponsor=_line(sponsor.name) if sponsor else None,
        locations=tuple(
            TrialLocation(
                facility=_line(place.facility),
                city=_line(place.city),
                country=_line(place.country),
                status=_line(place.status),
            )
            for place in protocol.contactsLocationsModule.locations
        ),
        has_results=study.hasResults or study.resultsSection is not None,
    )
    aliases = tuple(alias for text in identity.nctIdAliases if (alias := normalise_nct(text)))
    return Study(trial, aliases, warnings)


def _design(design: WireDesign) -> TrialDesign | None:
    info = design.designInfo
    if info is None:
        return None
    masking = info.maskingInfo
    return TrialDesign(
        allocation=_line(info.allocation),
        model=_line(info.interventionModel) or _line(info.observationalModel),
        purpose=_line(info.primaryPurpose),
        masking=_line(masking.masking) if masking else None,
        who_masked=_each(masking.whoMasked) if masking else (),
        time_perspective=_line(info.timePerspective),
    )


def _interventions(protocol: WireProtocol) -> Iterator[TrialIntervention]:
    for item in protocol.armsInterventionsModule.interventions:
        if name := _line(item.name):
            yield TrialIntervention(
                name=name,
                type=_line(item.type),
                description=_lines(item.description),
                other_names=_each(item.otherNames),
            )


def _arms(protocol: WireProtocol) -> Iterator[TrialArm]:
    for arm in protocol.armsInterventionsModule.armGroups:
        if label := _line(arm.label):
            yield TrialArm(
                label=label,
                type=_line(arm.type),
                description=_lines(arm.description),
                interventions=_each(arm.interventionNames),
            )


def _outcomes(protocol: WireProtocol) -> Iterator[TrialOutcome]:
    module = protocol.outcomesModule
    kinds: tuple[tuple[Literal["primary", "secondary", "other"], tuple[WireOutcome, ...]], ...] = (
        ("primary", module.primaryOutcomes),
        ("secondary", module.secondaryOutcomes),
        ("other", module.otherOutcomes),
    )
    for kind, outcomes in kinds:
        for outcome in outcomes:
            if measure := _line(outcome.measure):
                yield TrialOutcome(
                    kind=kind,
                    measure=measure,
                    description=_lines(outcome.description),
                    time_frame=_line(outcome.timeFrame),
                )


def _publications(number: str, module: WireReferences) -> tuple[tuple[RelatedRecord, ...], tuple[str, ...]]:
    """Papers of the study, and what the registry knows about retractions of what it cites.

    `RESULT`: the sponsor says that the paper reports this study. `DERIVED`: the registry found the number in the paper.
    `BACKGROUND` is other people's work.
    """
    related: list[RelatedRecord] = []
    warnings: list[str] = []
    for reference in module.references:
        kind = (reference.type or "").upper()
        pmid = normalise_pmid(reference.pmid or "")
        if reference.retractions:
            notices = ", ".join(found for each in reference.retractions if (found := normalise_pmid(each.pmid or "")))
            warnings.append(
                f"{number} cites a retracted paper"
                + (f", PMID {pmid}" if pmid else "")
                + (f" (retraction notice: PMID {notices})" if notices else "")
                + (", as its own results." if kind == "RESULT" else ".")
            )
        if kind not in ("RESULT", "DERIVED"):
            continue
        doi = None if pmid else _doi_in(reference.citation)
        if pmid or doi:
            certainty: Literal["stated", "inferred"] = "stated" if kind == "RESULT" else "inferred"
            related.append(RelatedRecord(relation="published_as", pmid=pmid, doi=doi, certainty=certainty))
    return tuple(dict.fromkeys(related)), tuple(warnings)


def _doi_in(citation: str | None) -> str | None:
    return next((found.value for found in find_identifiers((citation or "")[:2000]) if found.kind == "doi"), None)


# --- results ----------------------------------------------------------------------------------------------------------

_TIME = re.compile(r"\b(?:hours?|days?|weeks?|months?|years?)\b", re.I)


def _results(section: WireResults) -> Iterator[TrialResult]:
    for measure in section.outcomeMeasuresModule.outcomeMeasures:
        groups = _titles(measure.groups)
        yield TrialResult(
            kind=(_line(measure.type) or "").lower() or None,
            measure=_line(measure.title) or "",
            unit=_line(measure.unitOfMeasure),
            parameter=_line(measure.paramType),
            dispersion=_line(measure.dispersionType),
            time_frame=_line(measure.timeFrame),
            values=tuple(_values(measure, groups)),
            analyses=tuple(text for analysis in measure.analyses if (text := _analysis(analysis, groups))),
        )
    yield from _adverse_events(section)


def _titles(groups: Iterable[WireGroup]) -> dict[str, str]:
    return {group.id or "": _line(group.title) or _line(group.id) or "" for group in groups}


def _title(group: str | None, titles: dict[str, str]) -> str:
    return titles.get(group or "") or _line(group) or ""


def _values(measure: WireMeasure, groups: dict[str, str]) -> Iterator[TrialResultValue]:
    for part in measure.classes:
        for category in part.categories:
            names = [name for name in (_line(part.title), _line(category.title)) if name]
            for measurement in category.measurements:
                value = _value(measurement, measure, is_of_a_group=measurement.groupId in groups)
                if value is None:
                    continue
                yield TrialResultValue(
                    group=_title(measurement.groupId, groups),
                    category=" / ".join(names) or None,
                    value=value,
                    spread=_line(measurement.spread),
                    lower_limit=_line(measurement.lowerLimit),
                    upper_limit=_line(measurement.upperLimit),
                    comment=_line(measurement.comment),
                )


def _value(measurement: WireMeasurement, measure: WireMeasure, *, is_of_a_group: bool) -> str | None:
    """The value as reported. A median time that is `NA` or `NR` was not reached (K067); any other `NA` stays one."""
    value = _line(measurement.value)
    if value is None:
        # A group may be reported by its comment or limits alone, or by nothing; it is not left out.
        told = is_of_a_group or measurement.comment or measurement.lowerLimit or measurement.upperLimit
        return "not given" if told else None
    short = value.upper().replace(".", "").replace("/", "")
    is_median_time = (measure.paramType or "").upper() == "MEDIAN" and (
        not measure.unitOfMeasure or _TIME.search(measure.unitOfMeasure) is not None
    )
    return "not reached" if short == "NR" or (short == "NA" and is_median_time) else value


def _analysis(analysis: WireAnalysis, groups: dict[str, str]) -> str | None:
    """One comparison in a line: effect with its interval, P value, method, groups."""
    parts: list[str] = []
    if value := _line(analysis.paramValue):
        effect = f"{_line(analysis.paramType) or 'Estimate'} {value}"
        low, high = _line(analysis.ciLowerLimit), _line(analysis.ciUpperLimit)
        if low or high:
            effect += f" ({_line(analysis.ciPctValue) or '?'}% CI {low or '?'} to {high or '?'})"
        parts.append(effect)
    if p := _line(analysis.pValue):
        parts.append(f"P{p}" if p[0] in "<>=≤≥" else f"P={p}")
    if method := _line(analysis.statisticalMethod):
        parts.append(method)
    compared = [title for group in analysis.groupIds if (title := _title(group, groups))]
    if parts and compared:
        parts.append(" vs ".join(compared))
    return "; ".join(parts) or None


def _adverse_events(section: WireResults) -> Iterator[TrialResult]:
    """Participants affected of those at risk, by group, for deaths, serious and other events."""
    module = section.adverseEventsModule
    for name in ("deaths", "serious", "other"):
        values = []
        for group in module.eventGroups:
            affected, at_risk = getattr(group, f"{name}NumAffected"), getattr(group, f"{name}NumAtRisk")
            if affected is not None:
                title = _line(group.title) or _line(group.id) or ""
                value = f"{affected} of {at_risk}" if at_risk else str(affected)
                values.append(TrialResultValue(group=title, value=value))
        if values:
            yield TrialResult(
                kind="adverse_events",
                measure="All-cause mortality" if name == "deaths" else f"{name.capitalize()} adverse events",
                unit="participants affected of those at risk",
                parameter="COUNT_OF_PARTICIPANTS",
                time_frame=_line(module.timeFrame),
                values=tuple(values),
            )
