"""What parsers return: one frozen record of one source. Field names are the wire format.

JSON is snake_case, camelCase with `by_alias=True`. Wherever artifacts are listed the type is `Artifact`, a union tagged
by `kind`, so that reading back never drops the fields of a subclass.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from datetime import datetime
from inspect import Signature
from typing import Annotated, Any, Literal, TypeAlias
from urllib.parse import quote as percent_encode

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

SourceName = Literal["pubmed", "europepmc", "preprint", "pmc", "biorxiv", "medrxiv", "clinicaltrials"]
CorrectionStatus = Literal["none", "corrected", "concern", "retracted", "reinstated", "unknown"]
NoticeKind = Literal[
    "retracted_by",
    "retraction_of",
    "concern_by",
    "concern_about",
    "corrected_by",
    "correction_of",
    "reinstated_by",
]
Relation = Literal["published_as", "preprint", "updated_by", "update_of", "trial", "pmc_copy"]


class _Signature:
    """The signature of a model by the names that people write; pydantic's own has its aliases, which are for JSON."""

    def __init__(self, aliased: Any) -> None:
        self._aliased = aliased

    def __get__(self, _: object, model: type[BaseModel]) -> Signature:
        aliased: Signature = self._aliased.__get__(None, model)
        names = {to_camel(name): name for name in model.model_fields}
        return aliased.replace(
            parameters=[each.replace(name=names.get(each.name, each.name)) for each in aliased.parameters.values()]
        )


class Record(BaseModel):
    """Base of all wire models: frozen, snake_case by name, camelCase by alias."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True, extra="forbid")

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        # A model that names a class still to come has none yet.
        if aliased := cls.__dict__.get("__signature__"):
            type.__setattr__(cls, "__signature__", _Signature(aliased))


class Author(Record):
    """One author as printed; a group has only `collective`. Missing parts stay None (K029)."""

    family: str | None = None
    given: str | None = None
    initials: str | None = None
    suffix: str | None = None
    collective: str | None = None
    orcid: str | None = None
    affiliations: tuple[str, ...] = ()

    @property
    def display(self) -> str:
        """`Family INITIALS Suffix`, or the group's name."""
        return display_name(self.family, self.given, self.initials, self.suffix, self.collective)


def display_name(
    family: str | None = None,
    given: str | None = None,
    initials: str | None = None,
    suffix: str | None = None,
    collective: str | None = None,
) -> str:
    """`Family INITIALS Suffix`, or the group's name; initials are taken from the given names where none are stated."""
    if collective:
        return collective
    if not initials and given:
        initials = "".join(part[0] for part in given.replace("-", " ").split())
    return " ".join(part for part in (family, initials, suffix) if part)


class AbstractSection(Record):
    """One part of an abstract: label as printed, NLM category, text."""

    label: str | None = None
    category: str | None = None
    text: str


class Notice(Record):
    """A link between a paper and a notice about it, as stated by the source."""

    kind: NoticeKind
    """Seen from this record."""
    reference_id: str | None = None
    """Upstream identifier of the other record: PMID, else DOI; never one of our references."""
    date: str | None = None
    text: str | None = None


class RelatedRecord(Record):
    """Another record of the same family: `relation` is the other record seen from this one."""

    relation: Relation
    doi: str | None = None
    pmid: str | None = None
    pmcid: str | None = None
    nct_id: str | None = None
    certainty: Literal["stated", "inferred"] = "stated"


class Provenance(Record):
    """Where a record came from. `request` carries no key and no address of a person."""

    source: str
    request: str
    retrieved_at: datetime


with warnings.catch_warnings():
    # The wire name `copy` shadows pydantic's deprecated BaseModel.copy, which nobody calls on a quote.
    warnings.filterwarnings("ignore", message='Field name "copy" in "Quote" shadows', category=UserWarning)

    class Quote(Record):
        """Words that stand in stored text: `text` equals the section's `[start:end]`, white space folded."""

        text: str
        copy: str  # type: ignore[assignment]  # the wire name; see above
        """The record the words stand in: `source:identifier`."""
        section: str
        """`title`, `abstract`, `abstract/<label>`, or the path of headings in the full text."""
        start: int
        end: int
        text_hash: str
        """BLAKE2b-128 of the stored text of that section."""


class CitationArtifact(Record):
    """One record of one source. `kind` tells the class."""

    kind: str
    reference: str | None = None
    """Our reference to the work; None until the record is held by a registry."""
    title: str = ""
    url: str | None = None
    """DOI address, else PubMed, else the page of Europe PMC or of the registry."""
    doi: str | None = None
    """Bare, lower case."""
    alternate_dois: tuple[str, ...] = ()
    authors: tuple[Author, ...] = ()
    first_author: str | None = None
    journal: str | None = None
    journal_abbreviation: str | None = None
    year: int | None = None
    published: str | None = None
    """Issue date as printed, `YYYY[-MM[-DD]]`."""
    published_online: str | None = None
    abstract_text: str | None = None
    abstract_sections: tuple[AbstractSection, ...] = ()
    source: SourceName
    publication_types: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    language: str | None = None
    languages: tuple[str, ...] = ()
    is_preprint: bool = False
    correction_status: CorrectionStatus = "unknown"
    """`none`: a source that would know says nothing."""
    correction_checked_at: datetime | None = None
    notices: tuple[Notice, ...] = ()
    is_notice: bool = False
    related: tuple[RelatedRecord, ...] = ()
    provenance: tuple[Provenance, ...] = ()

    # Set only on copies inside an output or a federated search; a Europe PMC search result carries its prior.
    relevance: str | None = None
    relevance_score: Annotated[float, Field(ge=0, le=1)] | None = None
    quotes: tuple[Quote, ...] = ()

    @property
    def copy_id(self) -> str:
        """Names this record among the copies of a work: `source:identifier`."""
        return f"{self.source}:{self.doi or self.title}"


class MeshHeading(Record):
    """One MeSH heading; `major` if the descriptor or any qualifier is a major topic."""

    descriptor: str
    ui: str | None = None
    major: bool = False
    qualifiers: tuple[str, ...] = ()


class Chemical(Record):
    name: str
    registry_number: str | None = None


class Grant(Record):
    grant_id: str | None = None
    agency: str | None = None
    country: str | None = None


class CitedWork(Record):
    """One entry of a reference list, as printed, with the identifiers the source gives it."""

    citation: str = ""
    pmid: str | None = None
    doi: str | None = None
    pmcid: str | None = None


class PubMedArticle(CitationArtifact):
    kind: Literal["link:cite:pubmed"] = "link:cite:pubmed"
    source: SourceName = "pubmed"
    pmid: str
    pmcid: str | None = None

    @property
    def copy_id(self) -> str:
        return f"{self.source}:{self.pmid}"


class DetailedArticle(PubMedArticle):
    """A whole PubMed record (EFetch)."""

    kind: Literal["link:cite:pubmed:full"] = "link:cite:pubmed:full"  # type: ignore[assignment]  # the tag differs
    volume: str | None = None
    issue: str | None = None
    pages: str | None = None
    issn: str | None = None
    mesh_headings: tuple[MeshHeading, ...] = ()
    chemicals: tuple[Chemical, ...] = ()
    grants: tuple[Grant, ...] = ()
    accession_numbers: tuple[str, ...] = ()
    cited_works: tuple[CitedWork, ...] = ()
    conflict_of_interest: str | None = None


class TextSection(Record):
    """A section of a full text: own paragraphs in `text`, subsections in `sections`; `level` counts from 1."""

    heading: str = ""
    level: int = 1
    text: str = ""
    sections: tuple[TextSection, ...] = ()


class Table(Record):
    """A table as cells: spans repeated, several header rows joined by ` / `."""

    label: str | None = None
    caption: str | None = None
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    footnotes: tuple[str, ...] = ()


class Figure(Record):
    label: str | None = None
    caption: str | None = None


class PMCArticle(CitationArtifact):
    kind: Literal["link:cite:pmc"] = "link:cite:pmc"
    source: SourceName = "pmc"
    pmcid: str
    pmid: str | None = None
    sections: tuple[TextSection, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    license: str | None = None

    @property
    def copy_id(self) -> str:
        return f"{self.source}:{self.pmcid}"


class EuropePMCArticle(CitationArtifact):
    kind: Literal["link:cite:europepmc"] = "link:cite:europepmc"
    source: SourceName = "europepmc"
    epmc_id: str
    epmc_source: str
    pmid: str | None = None
    pmcid: str | None = None
    citation_count: int | None = None
    is_open_access: bool | None = None

    @property
    def copy_id(self) -> str:
        return f"europepmc:{self.epmc_source}:{self.epmc_id}"


class DetailedEuropePMCArticle(EuropePMCArticle):
    """A whole Europe PMC record (`/article`, core)."""

    kind: Literal["link:cite:europepmc:full"] = "link:cite:europepmc:full"  # type: ignore[assignment]  # the tag differs
    volume: str | None = None
    issue: str | None = None
    pages: str | None = None
    issn: str | None = None
    mesh_headings: tuple[MeshHeading, ...] = ()
    chemicals: tuple[Chemical, ...] = ()
    grants: tuple[Grant, ...] = ()
    license: str | None = None


class BioRxivPreprint(CitationArtifact):
    kind: Literal["link:cite:biorxiv"] = "link:cite:biorxiv"
    source: SourceName = "biorxiv"
    """The server, unless given."""
    is_preprint: bool = True
    server: Literal["biorxiv", "medrxiv"]
    version: int | None = None
    versions: tuple[int, ...] = ()
    category: str | None = None
    license: str | None = None
    published_doi: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _comes_from_its_server(cls, values: Any) -> Any:
        if isinstance(values, dict) and "server" in values and "source" not in values:
            return {**values, "source": values["server"]}
        return values


class DetailedPreprint(BioRxivPreprint):
    """A preprint with all its versions (`/details/{server}/{doi}`)."""

    kind: Literal["link:cite:biorxiv:full"] = "link:cite:biorxiv:full"  # type: ignore[assignment]  # the tag differs
    author_corresponding: str | None = None
    author_corresponding_institution: str | None = None
    funders: tuple[str, ...] = ()
    jats_url: str | None = None


class TrialDesign(Record):
    """How a study is built, in the registry's words: `RANDOMIZED`, `PARALLEL`, `TREATMENT`, `QUADRUPLE`."""

    allocation: str | None = None
    model: str | None = None
    """Intervention model, or that of an observational study (`COHORT`)."""
    purpose: str | None = None
    masking: str | None = None
    who_masked: tuple[str, ...] = ()
    time_perspective: str | None = None


class TrialArm(Record):
    label: str
    type: str | None = None
    description: str | None = None
    interventions: tuple[str, ...] = ()


class TrialIntervention(Record):
    name: str
    type: str | None = None
    description: str | None = None
    other_names: tuple[str, ...] = ()


class TrialOutcome(Record):
    """A registered outcome: `kind` is primary, secondary or other."""

    kind: Literal["primary", "secondary", "other"]
    measure: str
    description: str | None = None
    time_frame: str | None = None


class TrialResultValue(Record):
    """One reported value: text as reported (`12.1`, `not reached`), never coerced (K067)."""

    group: str
    category: str | None = None
    value: str
    spread: str | None = None
    lower_limit: str | None = None
    upper_limit: str | None = None
    comment: str | None = None


class TrialResult(Record):
    """A posted result of one outcome."""

    kind: str | None = None
    measure: str
    unit: str | None = None
    parameter: str | None = None
    dispersion: str | None = None
    time_frame: str | None = None
    values: tuple[TrialResultValue, ...] = ()
    analyses: tuple[str, ...] = ()


class TrialEligibility(Record):
    criteria: str | None = None
    sex: str | None = None
    minimum_age: str | None = None
    maximum_age: str | None = None


class TrialLocation(Record):
    facility: str | None = None
    city: str | None = None
    country: str | None = None
    status: str | None = None


class ClinicalTrial(CitationArtifact):
    """A registered study; `title` is the brief title, dates keep the precision of the registry."""

    kind: Literal["link:cite:trial"] = "link:cite:trial"
    source: SourceName = "clinicaltrials"
    nct_id: str
    official_title: str | None = None
    overall_status: str | None = None
    why_stopped: str | None = None
    study_type: str | None = None
    design: TrialDesign | None = None
    phases: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    interventions: tuple[TrialIntervention, ...] = ()
    arms: tuple[TrialArm, ...] = ()
    outcomes: tuple[TrialOutcome, ...] = ()
    results: tuple[TrialResult, ...] = ()
    enrollment: int | None = None
    start_date: str | None = None
    completion_date: str | None = None
    eligibility: TrialEligibility | None = None
    sponsor: str | None = None
    locations: tuple[TrialLocation, ...] = ()
    has_results: bool = False

    @property
    def copy_id(self) -> str:
        return f"{self.source}:{self.nct_id}"


Artifact: TypeAlias = Annotated[
    PubMedArticle
    | DetailedArticle
    | PMCArticle
    | EuropePMCArticle
    | DetailedEuropePMCArticle
    | BioRxivPreprint
    | DetailedPreprint
    | ClinicalTrial,
    Field(discriminator="kind"),
]


def first_author_of(authors: Sequence[Author]) -> str | None:
    """Display string of the first author that has a name."""
    return next((display for author in authors if (display := author.display)), None)


def article_url(
    *,
    doi: str | None = None,
    pmid: str | None = None,
    epmc: tuple[str, str] | None = None,
    pmcid: str | None = None,
    nct_id: str | None = None,
) -> str | None:
    """Where a person reads the record: DOI, else PubMed, else the registry's, PMC's or Europe PMC's page."""
    if doi:
        return f"https://doi.org/{percent_encode(doi, safe='/()[];:,.-_~!*')}"
    if pmid:
        return f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/"
    if nct_id:
        return f"https://clinicaltrials.gov/study/{nct_id}"
    if pmcid:
        return f"https://pmc.ncbi.nlm.nih.gov/articles/{pmcid}/"
    if epmc:
        return f"https://europepmc.org/article/{epmc[0]}/{epmc[1]}"
    return None


# What a reader ranks evidence by, strongest first; the first that a record carries names its study type.
_STUDY_TYPES = (
    "Meta-Analysis",
    "Systematic Review",
    "Practice Guideline",
    "Guideline",
    "Randomized Controlled Trial",
    "Controlled Clinical Trial",
    "Clinical Trial, Phase III",
    "Clinical Trial, Phase II",
    "Clinical Trial, Phase I",
    "Clinical Trial Protocol",
    "Clinical Trial",
    "Multicenter Study",
    "Observational Study",
    "Comparative Study",
    "Case Reports",
    "Review",
    "Editorial",
    "Letter",
    "Comment",
    "Preprint",
)
_SPELLED = {name.lower().replace("-", " "): name for name in _STUDY_TYPES}


def study_type(artifact: CitationArtifact) -> str:
    """The most telling study type the record carries: `Randomized Controlled Trial`, `Registered trial`, `Article`."""
    if isinstance(artifact, ClinicalTrial):
        return "Registered trial"
    carried = {name.lower().replace("-", " ") for name in artifact.publication_types}
    for spelled, name in _SPELLED.items():
        if spelled in carried:
            return name
    return "Notice" if artifact.is_notice else "Article"
