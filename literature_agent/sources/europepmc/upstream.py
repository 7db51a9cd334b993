"""Search results as Europe PMC writes them (JSON): only the members we use.

Types follow the answers seen, for the service publishes no schema: flags are `Y` and `N`, years come as text or number,
empty lists are left out, and lists stand inside an object of one member.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


def inside(member: str) -> Callable[[object], list[Any]]:
    """Unwraps a list written as `{member: [...]}`; a single item may stand without its list."""

    def unwrap(value: object) -> list[Any]:
        if value is None:
            return []
        items = value.get(member) if isinstance(value, dict) else value or None
        return [item for item in (items if isinstance(items, list) else [items]) if item is not None]

    return unwrap


class Wire(BaseModel):
    # Built on first use: most who import the package ask other sources.
    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True, defer_build=True)


class WireAuthorId(Wire):
    type: str | None = None
    value: str | None = None


class WireAffiliation(Wire):
    affiliation: str | None = None


class WireAuthor(Wire):
    fullName: str | None = None
    firstName: str | None = None
    lastName: str | None = None
    initials: str | None = None
    collectiveName: str | None = None
    authorId: WireAuthorId | None = None
    authorAffiliationDetailsList: Annotated[
        tuple[WireAffiliation, ...], BeforeValidator(inside("authorAffiliation"))
    ] = ()


class WireJournal(Wire):
    title: str | None = None
    isoabbreviation: str | None = None
    medlineAbbreviation: str | None = None
    issn: str | None = None
    essn: str | None = None


class WireJournalInfo(Wire):
    issue: str | None = None
    volume: str | None = None
    dateOfPublication: str | None = None
    monthOfPublication: str | None = None
    yearOfPublication: str | None = None
    journal: WireJournal | None = None


class WireQualifier(Wire):
    qualifierName: str | None = None
    majorTopic_YN: str | None = None


class WireHeading(Wire):
    descriptorName: str | None = None
    majorTopic_YN: str | None = None
    meshQualifierList: Annotated[tuple[WireQualifier, ...], BeforeValidator(inside("meshQualifier"))] = ()


class WireChemical(Wire):
    name: str | None = None
    registryNumber: str | None = None


class WireGrant(Wire):
    grantId: str | None = None
    agency: str | None = None


class WireComment(Wire):
    id: str | None = None
    source: str | None = None
    type: str | None = None
    reference: str | None = None
    note: str | None = None


class WireReport(Wire):
    publisher: str | None = None


class Row(Wire):
    """The members we use of a search result; only identity is required."""

    id: Annotated[str, Field(min_length=1)]
    source: Annotated[str, Field(min_length=1)]
    pmid: str | None = None
    pmcid: str | None = None
    doi: str | None = None
    title: str | None = None
    authorString: str | None = None
    authorList: Annotated[tuple[WireAuthor, ...], BeforeValidator(inside("author"))] = ()
    journalTitle: str | None = None
    journalIssn: str | None = None
    journalVolume: str | None = None
    journalInfo: WireJournalInfo | None = None
    issue: str | None = None
    pageInfo: str | None = None
    pubYear: str | None = None
    pubType: str | None = None
    pubTypeList: Annotated[tuple[str, ...], BeforeValidator(inside("pubType"))] = ()
    abstractText: str | None = None
    language: str | None = None
    keywordList: Annotated[tuple[str, ...], BeforeValidator(inside("keyword"))] = ()
    meshHeadingList: Annotated[tuple[WireHeading, ...], BeforeValidator(inside("meshHeading"))] = ()
    chemicalList: Annotated[tuple[WireChemical, ...], BeforeValidator(inside("chemical"))] = ()
    grantsList: Annotated[tuple[WireGrant, ...], BeforeValidator(inside("grant"))] = ()
    commentCorrectionList: Annotated[tuple[WireComment, ...], BeforeValidator(inside("commentCorrection"))] = ()
    bookOrReportDetails: WireReport | None = None
    license: str | None = None
    isOpenAccess: str | None = None
    citedByCount: Annotated[int, Field(ge=0)] | None = None
    firstPublicationDate: str | None = None
    electronicPublicationDate: str | None = None

    @property
    def is_core(self) -> bool:
        """Whether the row is of the `core` kind, which lists corrections. `lite` rows have none of these members."""
        return bool(self.model_fields_set & {"pubTypeList", "journalInfo", "authorList", "commentCorrectionList"})
