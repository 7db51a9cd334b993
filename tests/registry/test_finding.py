"""The one record that `find` gives: which copy, and what the others add."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from literature_agent.artifacts import (
    AbstractSection,
    Author,
    CorrectionStatus,
    DetailedArticle,
    EuropePMCArticle,
    Notice,
    PMCArticle,
    PubMedArticle,
    RelatedRecord,
)
from literature_agent.registry import ArtifactRegistry, Reference

EARLY, LATE = datetime(2031, 1, 1, tzinfo=UTC), datetime(2031, 2, 1, tzinfo=UTC)


def _found(registry: ArtifactRegistry, *records: Any) -> Any:
    references = {registry.canonical(registry.hold(record)) for record in records}
    assert len(references) == 1
    found = registry.find(references.pop() or "")
    assert found is not None
    return found


def test_a_reference_is_found_in_every_form(registry: ArtifactRegistry, make: Any) -> None:
    reference = registry.hold(make.pubmed())
    found = registry.find(reference)
    assert found is not None
    for form in (str(reference), reference.key, reference.key.lower(), f"see [cite~{reference.key}]."):
        assert registry.find(form) == found
        assert form in registry
    assert reference in registry


@pytest.mark.parametrize("text", ["", "nothing", "K7QX2MDA4T", "«artifact:link:cite~K7QX2MDA4V»"])
def test_what_is_unknown_gives_none_and_empty(registry: ArtifactRegistry, make: Any, text: str) -> None:
    registry.hold(make.pubmed())
    assert registry.find(text) is None
    assert registry.canonical(text) is None
    assert registry.strongest(text) is None
    assert registry.full_text(text) is None
    assert registry.family_key(text) is None
    for nothing in (registry.copies(text), registry.family(text), registry.texts(text), registry.linked(text)):
        assert nothing == ()
    assert registry.keys(text) == frozenset()
    assert text not in registry


def test_several_references_in_one_text_name_no_single_work(registry: ArtifactRegistry, make: Any) -> None:
    one, two = registry.hold(make.pubmed(90000001)), registry.hold(make.pubmed(90000002))
    assert registry.find(f"{one} {two}") is None


def test_a_full_record_comes_before_plain_ones_and_pubmed_first_among_equals(
    registry: ArtifactRegistry, make: Any
) -> None:
    pmc = make.pmc("PMC9900001", pmid="90000001")
    assert isinstance(_found(registry, pmc), PMCArticle)
    assert isinstance(_found(registry, make.europepmc(90000001, pmid="90000001")), EuropePMCArticle)
    assert type(_found(registry, make.pubmed(90000001))) is PubMedArticle
    assert type(_found(registry, make.detailed(90000001))) is DetailedArticle
    assert [copy.copy_id for copy in registry.copies(registry.hold(pmc))] == [
        "pubmed:90000001",
        "europepmc:MED:90000001",
        "pmc:PMC9900001",
    ]


def test_a_plain_record_never_replaces_the_full_one_of_its_source(registry: ArtifactRegistry, make: Any) -> None:
    full = make.detailed(90000001, volume="7", abstract_text="An abstract.")
    found = _found(registry, full, make.pubmed(90000001, title="Other title", journal="Synthetic Journal"))
    assert isinstance(found, DetailedArticle)
    assert (found.volume, found.title, found.journal) == ("7", "Synthetic paper 90000001", "Synthetic Journal")


def test_a_leaner_answer_of_the_same_source_loses_nothing(registry: ArtifactRegistry, make: Any) -> None:
    """Europe PMC's lite search after its core search."""
    core = make.europepmc(90000001, pmid="90000001", title="A", abstract_text="Text.", citation_count=3)
    lite = make.europepmc(90000001, pmid="90000001", title="A, corrected", citation_count=4)
    found = _found(registry, core, lite)
    assert (found.title, found.abstract_text, found.citation_count) == ("A, corrected", "Text.", 4)
    assert len(registry.copies(registry.hold(core))) == 1


def test_gaps_of_the_best_copy_are_filled_from_the_others(registry: ArtifactRegistry, make: Any) -> None:
    author = Author(family="Synthetic", initials="A")
    found = _found(
        registry,
        make.pubmed(90000001, title="Own title", year=2031),
        make.europepmc(
            90000001,
            pmid="90000001",
            pmcid="PMC9900001",
            doi="10.5555/a",
            title="Other title",
            year=2030,
            authors=(author,),
            journal="Synthetic Journal",
        ),
    )
    assert isinstance(found, PubMedArticle)
    assert (found.title, found.year, found.authors, found.journal) == (
        "Own title",
        2031,
        (author,),
        "Synthetic Journal",
    )
    assert (found.doi, found.pmcid, found.url) == ("10.5555/a", "PMC9900001", "https://doi.org/10.5555/a")


def test_the_copies_stay_as_their_sources_gave_them(registry: ArtifactRegistry, make: Any) -> None:
    records = [make.pubmed(90000001), make.europepmc(90000001, pmid="90000001", doi="10.5555/a", title="Other")]
    reference = registry.hold_all(records)[0]
    assert [copy.model_copy(update={"reference": None}) for copy in registry.copies(reference)] == records
    assert {copy.reference for copy in registry.copies(reference)} == {str(reference)}


def test_the_longest_sectioned_abstract_wins(registry: ArtifactRegistry, make: Any) -> None:
    def parts(text: str) -> Any:
        return {"abstract_text": text, "abstract_sections": (AbstractSection(label="RESULTS", text=text),)}

    plain = make.pubmed(90000001, abstract_text="Much longer than all the others, and not in sections.")
    short = make.europepmc(90000001, pmid="90000001", **parts("Short."))
    longer = make.pmc("PMC9900001", pmid="90000001", **parts("Longer than short."))
    found = _found(registry, plain, short, longer)
    assert found.copy_id == "pubmed:90000001"
    assert found.abstract_text == "Longer than short."
    assert found.abstract_sections[0].text == "Longer than short."


@pytest.mark.parametrize(
    ("statuses", "status"),
    [
        (("none", "retracted"), "retracted"),
        (("concern", "corrected"), "concern"),
        (("corrected", "none"), "corrected"),
        (("unknown", "none"), "none"),
        (("unknown", "unknown"), "unknown"),
        (("none", "reinstated"), "reinstated"),
        (("reinstated", "retracted"), "retracted"),
        (("reinstated", "concern"), "reinstated"),
    ],
)
def test_the_gravest_correction_status_stands(
    make: Any, statuses: tuple[CorrectionStatus, CorrectionStatus], status: str
) -> None:
    records = [
        make.pubmed(90000001, correction_status=statuses[0]),
        make.europepmc(90000001, pmid="90000001", correction_status=statuses[1]),
    ]
    for order in (records, records[::-1]):
        assert _found(ArtifactRegistry(), *order).correction_status == status


@pytest.mark.parametrize(
    ("retracted", "reinstated", "status"),
    [
        ("2020-01", "2021-01", "reinstated"),
        ("2021", "2020-05", "retracted"),
        (None, "2021", "retracted"),
        ("2020", None, "retracted"),
        ("2020", "2020-05", "retracted"),
        ("2020-05", "2020", "retracted"),
        ("2020-05-01", "2020-05-01", "retracted"),
        ("in May", "2021", "retracted"),
        ("2020-05-01", "2020-05-02", "reinstated"),
    ],
)
def test_retracted_and_reinstated_is_settled_by_date(
    make: Any, retracted: str | None, reinstated: str | None, status: str
) -> None:
    """Undated or not surely later: retracted."""
    records = [
        make.pubmed(
            90000001,
            correction_status="retracted",
            notices=(Notice(kind="retracted_by", reference_id="90000002", date=retracted),),
        ),
        make.europepmc(
            90000001,
            pmid="90000001",
            correction_status="reinstated",
            notices=(Notice(kind="reinstated_by", reference_id="90000003", date=reinstated),),
        ),
    ]
    for order in (records, records[::-1]):
        assert _found(ArtifactRegistry(), *order).correction_status == status


def test_a_known_retraction_is_not_forgotten_when_the_source_answers_without_it(make: Any) -> None:
    registry = ArtifactRegistry()
    found = _found(
        registry,
        make.pubmed(90000001, correction_status="retracted", correction_checked_at=EARLY),
        make.pubmed(90000001, correction_status="unknown", correction_checked_at=LATE),
    )
    assert (found.correction_status, found.correction_checked_at) == ("retracted", EARLY)


def test_the_time_of_the_check_is_that_of_the_status_that_stands(registry: ArtifactRegistry, make: Any) -> None:
    found = _found(
        registry,
        make.pubmed(90000001, correction_status="none", correction_checked_at=LATE),
        make.europepmc(90000001, pmid="90000001", correction_status="retracted", correction_checked_at=EARLY),
    )
    assert found.correction_checked_at == EARLY


def test_notices_links_and_provenance_of_all_copies_are_shown_once(registry: ArtifactRegistry, make: Any) -> None:
    undated = Notice(kind="retracted_by", reference_id="90000002")
    dated = Notice(kind="retracted_by", reference_id="90000002", date="2031-01")
    inferred = RelatedRecord(relation="preprint", doi="10.1101/2031.01.01.990001", certainty="inferred")
    stated = inferred.model_copy(update={"certainty": "stated"})
    found = _found(
        registry,
        make.pubmed(90000001, notices=(undated,), related=(inferred,), provenance=(make.provenance("pubmed"),)),
        make.europepmc(
            90000001,
            pmid="90000001",
            notices=(dated,),
            related=(stated,),
            provenance=(make.provenance("europepmc"), make.provenance("pubmed")),
        ),
    )
    assert found.notices == (dated,)
    assert found.related == (stated,)
    assert [origin.source for origin in found.provenance] == ["pubmed", "europepmc"]


def test_a_notice_with_the_papers_identifier_does_not_make_the_paper_a_notice(
    registry: ArtifactRegistry, make: Any
) -> None:
    found = _found(
        registry, make.pubmed(90000001, doi="10.5555/a"), make.europepmc("X1", "AGR", doi="10.5555/a", is_notice=True)
    )
    assert found.is_notice is False


def test_all_tokens_of_a_text_are_resolved_in_order(registry: ArtifactRegistry, make: Any) -> None:
    known = registry.hold(make.pubmed(90000001))
    unknown = Reference.for_identity("pmid:90000099")
    text = f"One {known}, two cite~{unknown.key}, three «artifact:link:cite~AAA», again [cite~{known.key.lower()}]."
    resolved = registry.resolve(text)
    assert [each.reference for each in resolved] == [known, None, None, known]
    assert [each.artifact is not None for each in resolved] == [True, False, False, True]
    assert [text[each.found.start : each.found.end] for each in resolved] == [each.found.raw for each in resolved]
    assert registry.resolve("") == []


def test_iteration_is_in_order_of_registration(registry: ArtifactRegistry, make: Any) -> None:
    references = [registry.hold(make.pubmed(90000000 + number)) for number in (5, 3, 9, 1)]
    registry.hold(make.pubmed(90000003, doi="10.5555/late"))
    assert list(registry) == references
    assert [artifact.reference for artifact in registry.artifacts()] == [str(reference) for reference in references]


def test_an_empty_registry_is_true(registry: ArtifactRegistry) -> None:
    """`registry or ArtifactRegistry()` must not throw a caller's registry away."""
    assert registry
    assert len(registry) == 0
