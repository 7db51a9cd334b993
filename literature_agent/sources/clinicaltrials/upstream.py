"""Studies as ClinicalTrials.gov's API v2 writes them (JSON): only the members we use.

Everything but the number of a study may be missing, and `fields` leaves out what was not asked for.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


def _without_nulls(value: object) -> Any:
    """A list without its nulls; a single item may stand without its list."""
    items = value if isinstance(value, list | tuple) else [] if value is None else [value]
    return [item for item in items if item is not None]


T = TypeVar("T")
Listed = Annotated[tuple[T, ...], BeforeValidator(_without_nulls)]


class Wire(BaseModel):
    # Built on first use: most who import the package ask other sources.
    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True, defer_build=True)


class WireDate(Wire):
    date: str | None = None


class WireIdentification(Wire):
    nctId: Annotated[str, Field(min_length=1)]
    nctIdAliases: Listed[str] = ()
    briefTitle: str | None = None
    officialTitle: str | None = None
    acronym: str | None = None


class WireStatus(Wire):
    overallStatus: str | None = None
    whyStopped: str | None = None
    startDateStruct: WireDate | None = None
    completionDateStruct: WireDate | None = None
    studyFirstPostDateStruct: WireDate | None = None


class WireSponsor(Wire):
    name: str | None = None


class WireSponsors(Wire):
    leadSponsor: WireSponsor | None = None


class WireDescription(Wire):
    briefSummary: str | None = None
    detailedDescription: str | None = None


class WireConditions(Wire):
    conditions: Listed[str] = ()
    keywords: Listed[str] = ()


class WireMasking(Wire):
    masking: str | None = None
    whoMasked: Listed[str] = ()


class WireDesignInfo(Wire):
    allocation: str | None = None
    interventionModel: str | None = None
    observationalModel: str | None = None
    primaryPurpose: str | None = None
    timePerspective: str | None = None
    maskingInfo: WireMasking | None = None


class WireEnrollment(Wire):
    count: Annotated[int, Field(ge=0)] | None = None


class WireDesign(Wire):
    studyType: str | None = None
    phases: Listed[str] = ()
    designInfo: WireDesignInfo | None = None
    enrollmentInfo: WireEnrollment | None = None


class WireArm(Wire):
    label: str | None = None
    type: str | None = None
    description: str | None = None
    interventionNames: Listed[str] = ()


class WireIntervention(Wire):
    name: str | None = None
    type: str | None = None
    description: str | None = None
    otherNames: Listed[str] = ()


class WireArms(Wire):
    armGroups: Listed[WireArm] = ()
    interventions: Listed[WireIntervention] = ()


class WireOutcome(Wire):
    measure: str | None = None
    description: str | None = None
    timeFrame: str | None = None


class WireOutcomes(Wire):
    primaryOutcomes: Listed[WireOutcome] = ()
    secondaryOutcomes: Listed[WireOutcome] = ()
    otherOutcomes: Listed[WireOutcome] = ()


class WireEligibility(Wire):
    eligibilityCriteria: str | None = None
    sex: str | None = None
    minimumAge: str | None = None
    maximumAge: str | None = None


class WireLocation(Wire):
    facility: str | None = None
    city: str | None = None
    country: str | None = None
    status: str | None = None


class WireLocations(Wire):
    locations: Listed[WireLocation] = ()


class WireRetraction(Wire):
    pmid: str | None = None


class WireReference(Wire):
    pmid: str | None = None
    type: str | None = None
    citation: str | None = None
    retractions: Listed[WireRetraction] = ()


class WireReferences(Wire):
    references: Listed[WireReference] = ()


class WireProtocol(Wire):
    identificationModule: WireIdentification
    statusModule: WireStatus = WireStatus()
    sponsorCollaboratorsModule: WireSponsors = WireSponsors()
    descriptionModule: WireDescription = WireDescription()
    conditionsModule: WireConditions = WireConditions()
    designModule: WireDesign = WireDesign()
    armsInterventionsModule: WireArms = WireArms()
    outcomesModule: WireOutcomes = WireOutcomes()
    eligibilityModule: WireEligibility | None = None
    contactsLocationsModule: WireLocations = WireLocations()
    referencesModule: WireReferences = WireReferences()


class WireMeasurement(Wire):
    groupId: str | None = None
    value: str | None = None
    spread: str | None = None
    lowerLimit: str | None = None
    upperLimit: str | None = None
    comment: str | None = None


class WireCategory(Wire):
    title: str | None = None
    measurements: Listed[WireMeasurement] = ()


class WireClass(Wire):
    title: str | None = None
    categories: Listed[WireCategory] = ()


class WireGroup(Wire):
    id: str | None = None
    title: str | None = None
    deathsNumAffected: int | None = None
    deathsNumAtRisk: int | None = None
    seriousNumAffected: int | None = None
    seriousNumAtRisk: int | None = None
    otherNumAffected: int | None = None
    otherNumAtRisk: int | None = None


class WireAnalysis(Wire):
    groupIds: Listed[str] = ()
    nonInferiorityType: str | None = None
    statisticalMethod: str | None = None
    pValue: str | None = None
    paramType: str | None = None
    paramValue: str | None = None
    ciPctValue: str | None = None
    ciLowerLimit: str | None = None
    ciUpperLimit: str | None = None


class WireMeasure(Wire):
    type: str | None = None
    title: str | None = None
    timeFrame: str | None = None
    paramType: str | None = None
    dispersionType: str | None = None
    unitOfMeasure: str | None = None
    groups: Listed[WireGroup] = ()
    classes: Listed[WireClass] = ()
    analyses: Listed[WireAnalysis] = ()


class WireMeasures(Wire):
    outcomeMeasures: Listed[WireMeasure] = ()


class WireAdverseEvents(Wire):
    timeFrame: str | None = None
    eventGroups: Listed[WireGroup] = ()


class WireResults(Wire):
    outcomeMeasuresModule: WireMeasures = WireMeasures()
    adverseEventsModule: WireAdverseEvents = WireAdverseEvents()


class WireStudy(Wire):
    """One study; only its number is required."""

    protocolSection: WireProtocol
    resultsSection: WireResults | None = None
    hasResults: bool = False
