"""Families: works linked by evidence, which is what counts count."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from literature_agent.artifacts import Notice, RelatedRecord
from literature_agent.registry import ArtifactRegistry, Reference

PREPRINT_DOI = "10.1101/2031.01.01.990001"


def _study(make: Any) -> list[Any]:
    """Preprint, paper, retraction notice and trial of one study."""
    return [
        make.trial("NCT99000001"),
        make.preprint(PREPRINT_DOI, published_doi="10.5555/paper"),
        make.pubmed(90000002, is_notice=True, notices=(Notice(kind="retraction_of", reference_id="90000001"),)),
        make.pubmed(90000001, doi="10.5555/paper", related=(RelatedRecord(relation="trial", nct_id="NCT99000001"),)),
    ]


def test_preprint_paper_notice_and_trial_are_one_family_and_the_paper_stands_for_it(make: Any) -> None:
    """In every order of arrival."""
    for order in permutations(_study(make)):
        registry = ArtifactRegistry()
        registry.hold(make.pubmed(90000050))
        references = registry.hold_all(order)
        paper = registry.find_by_identifier("pmid", "90000001")
        assert paper is not None
        families = {registry.family(reference) for reference in references}
        assert len(families) == 1
        family = families.pop()
        assert family[0] == paper
        assert set(family) == set(references)
        assert {registry.family_key(reference) for reference in references} == {paper.key}
        assert len(registry.families(registry)) == 2


def test_the_other_works_of_a_family_are_named_for_what_they_are(registry: ArtifactRegistry, make: Any) -> None:
    trial, preprint, notice, paper = registry.hold_all(_study(make))
    assert set(registry.linked(paper)) == {("preprint", preprint), ("trial", trial), ("notice", notice)}
    assert ("paper", paper) in registry.linked(notice)


def test_a_work_alone_is_its_own_family(registry: ArtifactRegistry, make: Any) -> None:
    reference = registry.hold(make.pubmed())
    assert registry.family(reference) == (reference,)
    assert registry.family_key(reference) == reference.key
    assert registry.linked(reference) == ()


@pytest.mark.parametrize("certainty", ["stated", "inferred"])
def test_a_link_told_by_one_side_is_enough(registry: ArtifactRegistry, make: Any, certainty: Any) -> None:
    preprint = registry.hold(
        make.europepmc(
            "PPR1",
            "PPR",
            is_preprint=True,
            related=(RelatedRecord(relation="published_as", pmid="90000001", certainty=certainty),),
        )
    )
    paper = registry.hold(make.pubmed(90000001))
    assert registry.family(preprint) == registry.family(paper) == (paper, preprint)


def test_two_records_that_name_the_same_unheld_one_are_a_family(registry: ArtifactRegistry, make: Any) -> None:
    link = (RelatedRecord(relation="trial", nct_id="NCT99000001"),)
    one, two = registry.hold_all([make.pubmed(90000001, related=link), make.pubmed(90000002, related=link)])
    assert registry.family(one) == registry.family(two) == (one, two)


def test_a_published_paper_stands_for_the_family_however_late_it_comes(registry: ArtifactRegistry, make: Any) -> None:
    preprint = registry.hold(make.preprint(PREPRINT_DOI, published_doi="10.5555/paper"))
    assert registry.family_key(preprint) == preprint.key
    paper = registry.hold(make.pubmed(90000001, doi="10.5555/paper"))
    assert registry.family_key(preprint) == paper.key


def test_versions_of_a_preprint_are_copies_and_not_a_family(registry: ArtifactRegistry, make: Any) -> None:
    one = registry.hold(make.preprint(PREPRINT_DOI + "v1"))
    assert registry.hold(make.preprint(PREPRINT_DOI + "v2")) == one
    assert len(registry) == 1


def test_a_notice_about_several_papers_joins_none_of_them(registry: ArtifactRegistry, make: Any) -> None:
    """An expression of concern about ten papers must not make them count as one."""
    papers = registry.hold_all(
        make.pubmed(90000000 + number, notices=(Notice(kind="concern_by", reference_id="90000099"),))
        for number in range(3)
    )
    notice = registry.hold(
        make.pubmed(
            90000099,
            is_notice=True,
            notices=tuple(Notice(kind="concern_about", reference_id=str(90000000 + number)) for number in range(3)),
        )
    )
    assert [registry.family(paper) for paper in papers] == [(paper, notice) for paper in papers]
    assert len(registry.families([*papers, notice])) == len(registry.families([notice, *papers])) == 3


def test_papers_corrected_by_one_unheld_notice_stay_apart(registry: ArtifactRegistry, make: Any) -> None:
    papers = registry.hold_all(
        make.pubmed(90000000 + number, notices=(Notice(kind="corrected_by", reference_id="90000099"),))
        for number in range(2)
    )
    assert len(registry.families(papers)) == 2


def test_notices_about_one_unheld_paper_count_once(registry: ArtifactRegistry, make: Any) -> None:
    notices = registry.hold_all(
        make.pubmed(90000098 + number, is_notice=True, notices=(Notice(kind="correction_of", reference_id="90000001"),))
        for number in range(2)
    )
    assert len(registry.families(notices)) == 1


def test_a_republished_version_is_of_the_family(registry: ArtifactRegistry, make: Any) -> None:
    first = registry.hold(make.pubmed(90000001))
    again = registry.hold(make.pubmed(90000002, notices=(Notice(kind="correction_of", reference_id="90000001"),)))
    assert registry.family(first) == (first, again)


@pytest.mark.parametrize("side", ["paper", "trials"])
def test_a_pooled_analysis_does_not_join_the_trials_it_pools(registry: ArtifactRegistry, make: Any, side: str) -> None:
    numbers = [f"NCT9900000{number}" for number in range(1, 4)]
    pooled = tuple(RelatedRecord(relation="trial", nct_id=number) for number in numbers) if side == "paper" else ()
    result = (RelatedRecord(relation="published_as", pmid="90000001"),) if side == "trials" else ()
    paper = registry.hold(make.pubmed(90000001, related=pooled))
    trials = registry.hold_all(make.trial(number, related=result) for number in numbers)
    own = registry.hold(make.pubmed(90000002, related=(RelatedRecord(relation="trial", nct_id=numbers[0]),)))
    assert registry.family(paper) == (paper,)
    assert registry.family(trials[0]) == (own, trials[0])
    assert len(registry.families(registry)) == 4


def test_trials_pooled_in_one_unheld_paper_stay_apart(registry: ArtifactRegistry, make: Any) -> None:
    result = (RelatedRecord(relation="published_as", pmid="90000001"),)
    trials = registry.hold_all(make.trial(f"NCT9900000{number}", related=result) for number in (1, 2))
    assert len(registry.families(trials)) == 2


def test_papers_that_a_registry_only_infers_are_no_evidence(registry: ArtifactRegistry, make: Any) -> None:
    paper = registry.hold(make.pubmed(90000001))
    trial = registry.hold(
        make.trial(related=(RelatedRecord(relation="published_as", pmid="90000001", certainty="inferred"),))
    )
    assert registry.family(paper) == (paper,)
    assert registry.family(trial) == (trial,)


def test_a_record_that_names_itself_has_no_family(registry: ArtifactRegistry, make: Any) -> None:
    reference = registry.hold(make.pubmed(90000001, related=(RelatedRecord(relation="updated_by", pmid="90000001"),)))
    assert registry.family(reference) == (reference,)


def test_families_of_joined_works_follow_the_joined_work(registry: ArtifactRegistry, make: Any) -> None:
    """Links of a work that was joined to another stay links."""
    first = registry.hold(make.pubmed(90000001))
    second = registry.hold(
        make.europepmc(
            "AGR1",
            "AGR",
            doi="10.5555/a",
            related=(RelatedRecord(relation="preprint", doi=PREPRINT_DOI),),
        )
    )
    preprint = registry.hold(make.preprint(PREPRINT_DOI))
    registry.hold(make.pubmed(90000001, doi="10.5555/a"))
    assert registry.canonical(second) == first
    assert registry.family(preprint) == registry.family(first) == (first, preprint)


def test_unknown_references_are_left_out_of_families(registry: ArtifactRegistry, make: Any) -> None:
    known = registry.hold(make.pubmed(90000001))
    assert registry.families([Reference.for_identity("pmid:90000099"), known, known]) == ((known,),)


def test_a_large_study_is_counted_without_pain(make: Any) -> None:
    registry = ArtifactRegistry()
    link = (RelatedRecord(relation="trial", nct_id="NCT99000001"),)
    references = registry.hold_all(make.pubmed(90000000 + number, related=link) for number in range(300))
    assert len(registry.families(references)) == 1
