"""Which records are copies of one work, and which reference it has."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from literature_agent.artifacts import CitationArtifact, PubMedArticle, Quote
from literature_agent.registry import ArtifactRegistry, Reference

# Two names whose 45 bits of BLAKE2b are equal, found by search.
TWINS = ("10.5555/19689708f81e", "10.5555/1263315d75de")


def test_the_same_record_held_twice_is_one_work_and_changes_nothing(registry: ArtifactRegistry, make: Any) -> None:
    first = registry.hold(make.pubmed(doi="10.5555/a"))
    before = registry.to_json()
    assert registry.hold(make.pubmed(doi="10.5555/a")) == first
    assert registry.to_json() == before
    assert len(registry) == 1


def test_the_same_record_from_another_request_changes_nothing(registry: ArtifactRegistry, make: Any) -> None:
    registry.hold(make.pubmed(provenance=(make.provenance(request="GET one"),)))
    before = registry.to_json()
    registry.hold(make.pubmed(provenance=(make.provenance(request="GET two"),)))
    assert registry.to_json() == before


def test_relevance_score_quotes_and_foreign_references_are_not_kept(registry: ArtifactRegistry, make: Any) -> None:
    """Design: custody strips the prior and the reasons on holding."""
    quote = Quote(text="x", copy="pubmed:1", section="title", start=0, end=1, text_hash="0")
    record = make.pubmed(relevance="fits", relevance_score=0.9, quotes=(quote,), reference="«artifact:link:cite~X»")
    reference = registry.hold(record)
    found = registry.find(reference)
    assert found is not None
    assert (found.relevance, found.relevance_score, found.quotes) == (None, None, ())
    assert found.reference == str(reference)


def test_held_gives_the_record_as_it_came_with_its_reference(registry: ArtifactRegistry, make: Any) -> None:
    record = registry.held(make.pubmed(relevance_score=0.9))
    assert isinstance(record, PubMedArticle)
    assert record.relevance_score == 0.9
    assert record.reference is not None
    assert registry.canonical(record.reference) is not None


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("pubmed", {"pmid": 90000001}), ("europepmc", {"epmc_id": "x", "epmc_source": "MED", "pmid": "90000001"})),
        (("pubmed", {"pmid": 90000001}), ("europepmc", {"epmc_id": "90000001"})),
        (("pubmed", {"pmid": 90000001}), ("pmc", {"pmid": "90000001"})),
        (("pubmed", {"pmcid": "PMC9900001"}), ("pmc", {"pmcid": "PMC9900001"})),
        (("pubmed", {"pmcid": "PMC9900001"}), ("europepmc", {"epmc_id": "PMC9900001", "epmc_source": "PMC"})),
        (
            ("pubmed", {"doi": "10.5555/a"}),
            ("europepmc", {"epmc_id": "AGR1", "epmc_source": "AGR", "doi": "10.5555/A"}),
        ),
        (("trial", {"nct_id": "NCT99000001"}), ("trial", {"nct_id": "nct99000001"})),
        (
            ("preprint", {"doi": "10.1101/2031.01.01.990001"}),
            ("europepmc", {"epmc_id": "PPR1", "epmc_source": "PPR", "doi": "10.1101/2031.01.01.990001v2"}),
        ),
    ],
)
def test_one_shared_identifier_makes_copies_of_one_work(
    registry: ArtifactRegistry, make: Any, first: tuple[str, Any], second: tuple[str, Any]
) -> None:
    """Same PMID, PMCID, NCT or DOI without version joins, in any spelling (K075)."""
    one, two = (getattr(make, kind)(**fields) for kind, fields in (first, second))
    assert registry.hold(one) == registry.hold(two)
    assert len(registry) == 1


@pytest.mark.parametrize(
    "doi",
    ["10.21203/rs.3.rs-9900001/v{}", "10.20944/preprints203101.0001.v{}", "10.12688/f1000research.990001.{}"],
    ids=["Research Square", "Preprints.org", "F1000Research"],
)
def test_versions_of_one_preprint_are_one_work_and_the_doi_shown_resolves(
    registry: ArtifactRegistry, make: Any, doi: str
) -> None:
    """Their DOI without version leads nowhere, so it is the identity and never shown."""
    first = registry.hold(make.europepmc("PPR1", "PPR", doi=doi.format(1)))
    assert registry.hold(make.europepmc("PPR2", "PPR", doi=doi.format(2))) == first
    assert registry.find_by_identifier("doi", doi.format(3)) == first
    work = registry.find(first)
    assert work is not None
    assert (work.doi, work.alternate_dois) == (doi.format(1), ())


@pytest.mark.parametrize(
    "doi", ["https://doi.org/10.5555/X", "doi:10.5555/x.", "DOI: 10.5555/x;", "10.5555/x10.5555/x", "10.5555/x"]
)
def test_a_dressed_up_doi_is_the_same_identifier(registry: ArtifactRegistry, make: Any, doi: str) -> None:
    """K075."""
    reference = registry.hold(make.pubmed(doi="10.5555/x"))
    assert registry.hold(make.europepmc("AGR1", "AGR", doi=doi)) == reference
    assert registry.find_by_identifier("doi", doi) == reference


def test_part_one_and_part_two_stay_apart(registry: ArtifactRegistry, make: Any) -> None:
    """K072: same authors, year and journal, other DOI."""
    same = {"year": 2031, "journal": "Synthetic Journal"}
    one = registry.hold(make.europepmc("AGR1", "AGR", title="A study. Part I", doi="10.5555/one", **same))
    two = registry.hold(make.europepmc("AGR2", "AGR", title="A study. Part II", doi="10.5555/two", **same))
    assert one != two
    assert len(registry) == 2


def test_recurring_headings_stay_apart(registry: ArtifactRegistry, make: Any) -> None:
    """K073."""
    references = {
        registry.hold(
            make.pubmed(90000010 + number, title="Synthetic Highlights", year=2018, doi=f"10.5555/h.{number}")
        )
        for number in range(3)
    }
    assert len(references) == 3


def test_a_review_of_a_work_with_its_title_stays_apart(registry: ArtifactRegistry, make: Any) -> None:
    """K074."""
    work = registry.hold(make.pubmed(90000020, title="The synthetic problem", year=1916))
    assert registry.hold(make.pubmed(90000021, title="The synthetic problem", year=1917)) != work


def test_records_without_title_stay_apart(registry: ArtifactRegistry, make: Any) -> None:
    """K076."""
    one = registry.hold(make.pubmed(90000030, title=""))
    assert registry.hold(make.pubmed(90000031, title="")) != one
    bare = [registry.hold(make.preprint(doi=None, title="", year=year)) for year in (2030, 2031)]
    assert len({one, *bare}) == 3
    assert registry.hold(make.preprint(doi=None, title="", year=2031)) == bare[1]


def test_a_differing_doi_keeps_records_with_one_pmcid_apart(registry: ArtifactRegistry, make: Any) -> None:
    one = registry.hold(make.pubmed(90000001, doi="10.5555/one", pmcid="PMC9900001"))
    two = registry.hold(make.pmc("PMC9900001", doi="10.5555/two"))
    assert one != two
    assert registry.find_by_identifier("pmcid", "PMC9900001") == one
    (note,) = registry.notes(two)
    assert "kept apart" in note


def test_a_differing_doi_of_the_same_pmid_is_kept_as_an_alternate_with_a_warning(
    registry: ArtifactRegistry, make: Any
) -> None:
    reference = registry.hold(make.pubmed(90000001, doi="10.5555/one"))
    assert registry.hold(make.europepmc(90000001, pmid="90000001", doi="10.5555/two")) == reference
    found = registry.find(reference)
    assert found is not None
    assert (found.doi, found.alternate_dois) == ("10.5555/one", ("10.5555/two",))
    (note,) = registry.notes()
    assert "alternate_dois" in note
    assert registry.find_by_identifier("doi", "10.5555/two") == reference


def test_a_third_record_never_joins_two_works_with_differing_dois(registry: ArtifactRegistry, make: Any) -> None:
    one = registry.hold(make.pubmed(90000001, doi="10.5555/one"))
    two = registry.hold(make.pmc("PMC9900001", doi="10.5555/two"))
    assert registry.hold(make.europepmc(90000001, pmid="90000001", pmcid="PMC9900001")) == one
    assert registry.canonical(two) == two
    assert len(registry) == 2


def test_a_record_that_joins_two_works_leaves_both_keys_valid(registry: ArtifactRegistry, make: Any) -> None:
    by_pmid = registry.hold(make.pubmed(90000001))
    between = registry.hold(make.pubmed(90000002))
    by_doi = registry.hold(make.europepmc("AGR1", "AGR", doi="10.5555/a"))
    joined = registry.hold(make.europepmc(90000001, pmid="90000001", doi="10.5555/a"))
    assert joined == by_pmid != by_doi
    assert registry.canonical(by_doi) == by_pmid
    assert {copy.copy_id for copy in registry.copies(by_doi)} == {
        "pubmed:90000001",
        "europepmc:AGR:AGR1",
        "europepmc:MED:90000001",
    }
    assert list(registry) == [by_pmid, between]
    assert {by_pmid.key, by_doi.key} <= registry.keys(by_doi)


def test_a_work_keeps_the_key_it_was_first_held_under(registry: ArtifactRegistry, make: Any) -> None:
    reference = registry.hold(make.pubmed(90000001))
    assert reference == Reference.for_identity("pmid:90000001")
    assert registry.hold(make.detailed(90000001, doi="10.5555/a", pmcid="PMC9900001")) == reference
    for identity in ("doi:10.5555/a", "pmid:90000001", "pmcid:PMC9900001"):
        assert registry.canonical(Reference.for_identity(identity)) == reference
    assert registry.strongest(reference) == Reference.for_identity("doi:10.5555/a")


@pytest.mark.parametrize(
    ("kind", "fields", "identity"),
    [
        ("pubmed", {"doi": "10.5555/a", "pmcid": "PMC9900001"}, "doi:10.5555/a"),
        ("pubmed", {"pmcid": "PMC9900001"}, "pmid:90000001"),
        ("pmc", {}, "pmcid:PMC9900001"),
        ("trial", {}, "nct:NCT99000001"),
        ("europepmc", {"epmc_id": "AGR1", "epmc_source": "AGR"}, "europepmc:AGR:AGR1"),
        ("preprint", {"doi": "10.1101/2031.01.01.990001v3"}, "doi:10.1101/2031.01.01.990001"),
    ],
)
def test_the_key_is_that_of_the_strongest_identifier(
    registry: ArtifactRegistry, make: Any, kind: str, fields: Any, identity: str
) -> None:
    reference = registry.hold(getattr(make, kind)(**fields))
    assert reference == registry.strongest(reference) == Reference.for_identity(identity)


def test_numbers_of_one_kind_are_never_read_as_another(registry: ArtifactRegistry, make: Any) -> None:
    """K021."""
    paper = registry.hold(make.pubmed(9900001))
    assert registry.hold(make.pmc("PMC9900001")) != paper
    assert registry.hold(make.pubmed(90000005, pmcid="9900001")) != paper
    assert registry.find_by_identifier("pmcid", "9900001") is None


def test_a_taken_key_is_skipped_and_noted(registry: ArtifactRegistry, make: Any) -> None:
    """A real collision of 45 bits."""
    first, second = (registry.hold(make.preprint(doi=doi)) for doi in TWINS)
    assert first == Reference.for_identity(f"doi:{TWINS[0]}") == Reference.for_identity(f"doi:{TWINS[1]}")
    assert second == Reference.for_identity(f"doi:{TWINS[1]}", round=1)
    (note,) = registry.notes(second)
    assert "hash round 1" in note
    read = ArtifactRegistry.from_json(registry.to_json())
    for reference, doi in zip((first, second), TWINS, strict=True):
        found = read.find(reference)
        assert found is not None
        assert found.doi == doi


def test_what_a_record_would_join_is_told_without_holding_it(registry: ArtifactRegistry, make: Any) -> None:
    assert registry.work_of(make.pubmed(90000001)) is None
    reference = registry.hold(make.pubmed(90000001))
    assert registry.work_of(make.europepmc(90000001, pmid="90000001")) == reference
    assert len(registry) == 1


@pytest.mark.parametrize(
    ("kind", "value"),
    [("doi", "10.1101/2031.01.01.990001v9"), ("ppr", "ppr77"), ("source", "europepmc:PPR:PPR77")],
)
def test_a_work_is_found_by_any_of_its_identifiers(
    registry: ArtifactRegistry, make: Any, kind: str, value: str
) -> None:
    reference = registry.hold(make.europepmc("PPR77", "PPR", doi="10.1101/2031.01.01.990001"))
    assert registry.find_by_identifier(kind, value) == reference
    assert registry.find_by_identifier("pmid", "90000009") is None
    assert registry.find_by_identifier("doi", "no doi") is None


def test_only_records_of_the_sources_are_held(registry: ArtifactRegistry) -> None:
    with pytest.raises(TypeError, match="CitationArtifact"):
        registry.hold(CitationArtifact(kind="link:cite", source="pubmed"))
    assert len(registry) == 0


IDENTIFIED = st.builds(
    lambda pmid, doi, pmcid, title: PubMedArticle(
        pmid=str(90000000 + pmid),
        doi=None if doi is None else f"10.5555/{doi}",
        pmcid=None if pmcid is None else f"PMC{9900000 + pmcid}",
        title=title,
    ),
    st.integers(0, 5),
    st.none() | st.integers(0, 5),
    st.none() | st.integers(0, 3),
    st.sampled_from(["", "Same title"]),
)


@given(st.lists(IDENTIFIED, max_size=12))
def test_every_key_ever_given_stays_valid_and_every_identifier_has_one_work(records: list[PubMedArticle]) -> None:
    registry = ArtifactRegistry()
    given = [(record, registry.hold(record)) for record in records]
    works = set(registry)
    assert len(works) == len(registry)
    for record, reference in given:
        work = registry.canonical(reference)
        assert work in works
        assert record.copy_id in {copy.copy_id for copy in registry.copies(reference)}
        assert registry.find_by_identifier("pmid", record.pmid) == work
        assert registry.strongest(reference) is not None
    keys = [key for work in works for key in registry.keys(work)]
    assert len(keys) == len(set(keys))
    again = ArtifactRegistry.from_json(registry.to_json())
    assert again.to_json() == registry.to_json()


CONSISTENT = st.integers(0, 4).flatmap(
    lambda number: st.sampled_from(
        [
            PubMedArticle(pmid=str(90000000 + number), doi=f"10.5555/{number}"),
            PubMedArticle(pmid=str(90000000 + number), pmcid=f"PMC{9900000 + number}"),
            PubMedArticle(pmid=str(90000000 + number)),
        ]
    )
)


@given(st.lists(CONSISTENT, max_size=10), st.randoms(use_true_random=False))
def test_the_order_of_arrival_never_shows_in_the_strongest_reference(records: list[PubMedArticle], random: Any) -> None:
    """Design: output is rewritten to the key of the strongest identifier known at the end."""

    def names(order: list[PubMedArticle]) -> dict[str, Reference | None]:
        registry = ArtifactRegistry()
        registry.hold_all(order)
        return {record.pmid: registry.strongest(registry.hold(record)) for record in records}

    shuffled = list(records)
    random.shuffle(shuffled)
    assert names(records) == names(shuffled)
