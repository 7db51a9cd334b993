"""The wire format: every kind reads back equal, alone and wherever artifacts are listed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from inspect import signature

import pytest
from pydantic import Field, TypeAdapter, ValidationError

import literature_agent
from literature_agent.artifacts import (
    AbstractSection,
    Artifact,
    Author,
    BioRxivPreprint,
    Chemical,
    CitationArtifact,
    CitedWork,
    ClinicalTrial,
    DetailedArticle,
    DetailedEuropePMCArticle,
    DetailedPreprint,
    EuropePMCArticle,
    Figure,
    Grant,
    MeshHeading,
    Notice,
    PMCArticle,
    Provenance,
    PubMedArticle,
    Quote,
    Record,
    RelatedRecord,
    Table,
    TextSection,
    TrialArm,
    TrialEligibility,
    TrialIntervention,
    TrialLocation,
    TrialOutcome,
    TrialResult,
    TrialResultValue,
    article_url,
    first_author_of,
)
from literature_agent.outputs import Budget
from literature_agent.results import FetchResult, FullText, SearchResult, TrailStep

_COMMON = {
    "title": "A synthetic title",
    "doi": "10.5555/x",
    "authors": (Author(family="Doe", given="Jane Ann", initials="JA"), Author(collective="EX Group")),
    "abstract_sections": (AbstractSection(label="AIM", category="OBJECTIVE", text="To test."),),
    "notices": (Notice(kind="corrected_by", reference_id="90000009", date="2021", text="Erratum"),),
    "related": (RelatedRecord(relation="preprint", doi="10.5555/y", certainty="inferred"),),
    "provenance": (Provenance(source="pubmed", request="GET x", retrieved_at=datetime(2026, 1, 2, tzinfo=UTC)),),
    "quotes": (Quote(text="To test.", copy="pubmed:1", section="abstract", start=0, end=8, text_hash="00"),),
    "relevance_score": 0.5,
}
SECTIONS = (TextSection(heading="Methods", text="We did.", sections=(TextSection(heading="Mice", level=2),)),)
TABLES = (Table(label="Table 1", header=("a", "b"), rows=(("1", "2"),), footnotes=("n",)),)
KINDS: list[CitationArtifact] = [
    PubMedArticle(pmid="90000001", **_COMMON),
    DetailedArticle(
        pmid="90000001",
        volume="1",
        pages="4002.e26",
        mesh_headings=(MeshHeading(descriptor="Aged", ui="D000368", major=True, qualifiers=("blood",)),),
        chemicals=(Chemical(name="X", registry_number="0"),),
        grants=(Grant(agency="A"),),
        accession_numbers=("NCT90000001",),
        cited_works=(CitedWork(citation="Roe 2001", pmid="90000002"),),
        **_COMMON,
    ),
    PMCArticle(pmcid="PMC90000001", sections=SECTIONS, tables=TABLES, figures=(Figure(label="F"),), **_COMMON),
    EuropePMCArticle(epmc_id="90000001", epmc_source="MED", citation_count=3, is_open_access=False, **_COMMON),
    DetailedEuropePMCArticle(epmc_id="PPR1", epmc_source="PPR", volume="2", **_COMMON),
    BioRxivPreprint(server="biorxiv", source="biorxiv", version=2, versions=(1, 2), **_COMMON),
    DetailedPreprint(server="medrxiv", source="medrxiv", funders=("F",), **_COMMON),
    ClinicalTrial(
        nct_id="NCT90000001",
        interventions=(TrialIntervention(name="M"),),
        arms=(TrialArm(label="A", interventions=("M",)),),
        outcomes=(TrialOutcome(kind="primary", measure="HbA1c"),),
        results=(TrialResult(measure="HbA1c", values=(TrialResultValue(group="A", value="not reached"),)),),
        eligibility=TrialEligibility(sex="ALL"),
        locations=(TrialLocation(city="X"),),
        **_COMMON,
    ),
]


@pytest.mark.parametrize("artifact", KINDS, ids=lambda artifact: artifact.kind)
@pytest.mark.parametrize("by_alias", [False, True])
def test_every_kind_reads_back_equal(artifact: CitationArtifact, by_alias: bool) -> None:
    adapter: TypeAdapter[CitationArtifact] = TypeAdapter(Artifact)
    assert adapter.validate_json(artifact.model_dump_json(by_alias=by_alias)) == artifact
    assert type(artifact).model_validate_json(artifact.model_dump_json(by_alias=by_alias)) == artifact


def test_no_subclass_field_is_lost_where_artifacts_are_listed() -> None:
    for result in (SearchResult(status="ok", artifacts=tuple(KINDS)), FetchResult(artifacts=tuple(KINDS))):
        again = type(result).model_validate_json(result.model_dump_json())
        assert again == result
        assert [type(artifact) for artifact in again.artifacts] == [type(artifact) for artifact in KINDS]


def test_a_full_text_reads_back_equal() -> None:
    article = next(kind for kind in KINDS if isinstance(kind, PMCArticle))
    text = FullText(artifact=article, sections=SECTIONS, tables=TABLES, trail=(TrailStep(route="pmc", result="found"),))
    assert FullText.model_validate_json(text.model_dump_json()) == text


def test_the_kind_decides_the_class() -> None:
    assert len({artifact.kind for artifact in KINDS}) == len(KINDS)
    with pytest.raises(ValidationError):
        TypeAdapter(Artifact).validate_python({"kind": "link:cite:unknown", "source": "pubmed"})


def test_json_is_snake_case_and_camel_case_by_alias() -> None:
    artifact = KINDS[0]
    assert "first_author" in artifact.model_dump()
    assert "firstAuthor" in artifact.model_dump(by_alias=True)


def _all_records(of: type[Record] = Record) -> Iterator[type[Record]]:
    for each in of.__subclasses__():
        yield each
        yield from _all_records(each)


def test_help_shows_the_names_that_people_write() -> None:
    for name in literature_agent.__all__:
        getattr(literature_agent, name)
    records = list(_all_records())
    assert Budget in records
    assert len(records) > 40
    for record in records:
        assert list(signature(record).parameters) == list(record.model_fields), record
    # Both are taken.
    assert Budget.model_validate({"maxRequests": 3}) == Budget(max_requests=3)


def test_a_model_of_ones_own_may_name_its_members_and_classes_as_it_likes() -> None:
    class Noted(PubMedArticle):
        own_note: str = Field("", alias="remark")

    assert list(signature(Noted).parameters)[-1] == "remark"

    class Chained(PubMedArticle):
        next_one: "Chained | Unborn | None" = None  # type: ignore[name-defined]  # noqa: F821, UP037  # the class still to come is what is tested

    assert Chained.__name__ == "Chained"


def test_artifacts_are_frozen() -> None:
    with pytest.raises(ValidationError):
        KINDS[0].title = "other"  # type: ignore[misc]  # the assignment is what is tested


def test_the_address_of_a_record_is_its_doi_then_pubmed_then_the_source() -> None:
    assert article_url(doi="10.1002/a<b>c", pmid="1") == "https://doi.org/10.1002/a%3Cb%3Ec"
    assert article_url(pmid="1", epmc=("MED", "1")) == "https://pubmed.ncbi.nlm.nih.gov/1/"
    assert article_url(epmc=("PPR", "PPR1")) == "https://europepmc.org/article/PPR/PPR1"
    assert article_url(nct_id="NCT90000001") == "https://clinicaltrials.gov/study/NCT90000001"
    assert article_url() is None


def test_the_first_author_is_the_first_with_a_name() -> None:
    assert first_author_of([Author(), Author(family="van der Berg", given="Jan-Piet", suffix="Jr")]) == (
        "van der Berg JP Jr"
    )
    assert first_author_of([]) is None


def test_a_preprint_comes_from_its_server_unless_said_otherwise() -> None:
    assert BioRxivPreprint(server="biorxiv").source == "biorxiv"
    assert DetailedPreprint(server="medrxiv").source == "medrxiv"
    assert BioRxivPreprint(server="medrxiv", source="preprint").source == "preprint"
