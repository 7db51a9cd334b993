"""Stored texts: what quotes are checked against, by copy and section."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

from literature_agent.artifacts import (
    AbstractSection,
    Figure,
    PubMedArticle,
    Table,
    TextSection,
    TrialEligibility,
    TrialOutcome,
)
from literature_agent.registry import ArtifactRegistry, stored_texts, table_text, text_hash
from literature_agent.results import FullText


def _full_text(make: Any, *sections: TextSection, **fields: Any) -> FullText:
    return FullText(artifact=make.pmc("PMC9900001", pmid="90000001"), available=True, sections=sections, **fields)


METHODS = TextSection(
    heading="Methods", text="We did it.", sections=(TextSection(heading="Statistics", level=2, text="We counted."),)
)
RESULTS = TextSection(heading="Results", text="It worked.")


def test_title_and_abstract_are_stored_by_section() -> None:
    record = PubMedArticle(
        pmid="90000001",
        title="A title",
        abstract_text="AIM: x RESULTS: y RESULTS: z",
        abstract_sections=(
            AbstractSection(label="AIM", text="x"),
            AbstractSection(label="RESULTS", text="y"),
            AbstractSection(label="RESULTS", text="z"),
            AbstractSection(text="w"),
            AbstractSection(label="EMPTY", text=""),
        ),
    )
    assert [(text.section, text.text) for text in stored_texts(record)] == [
        ("title", "A title"),
        ("abstract", "AIM: x RESULTS: y RESULTS: z"),
        ("abstract/AIM", "x"),
        ("abstract/RESULTS", "y"),
        ("abstract/RESULTS (2)", "z"),
        ("abstract/4", "w"),
    ]
    assert {text.copy_id for text in stored_texts(record)} == {"pubmed:90000001"}
    assert stored_texts(record)[0].text_hash == text_hash("A title")


def test_the_hash_is_blake2b_of_128_bits() -> None:
    """`Quote.text_hash`."""
    assert text_hash("µg") == blake2b("µg".encode(), digest_size=16).hexdigest()
    # Half a surrogate pair can stand in text of a broken page; it must not end a run.
    assert len(text_hash("\ud800")) == 32


def test_a_read_full_text_is_stored_by_path_of_headings(registry: ArtifactRegistry, make: Any) -> None:
    table = Table(label="Table 1", caption="Doses", header=("Arm", "Dose"), rows=(("A", "5 mg"),), footnotes=("n",))
    reference = registry.hold_full_text(
        _full_text(
            make,
            METHODS,
            RESULTS,
            TextSection(heading="Results", text="Again."),
            TextSection(text="No heading."),
            back_sections=(TextSection(heading="Funding", text="None."),),
            tables=(table,),
            figures=(Figure(label="Figure 1", caption="A curve."),),
        )
    )
    assert reference is not None
    assert {text.section: text.text for text in registry.texts(reference)} == {
        "Methods": "We did it.",
        "Methods/Statistics": "We counted.",
        "Results": "It worked.",
        "Results (2)": "Again.",
        "section 4": "No heading.",
        "Funding": "None.",
        "table/Table 1": "Doses\nArm | Dose\nA | 5 mg\nn",
        "figure/Figure 1": "A curve.",
    }
    assert registry.stored_text("pmc:PMC9900001", "Methods/Statistics") == "We counted."
    assert registry.stored_text("pmc:PMC9900001", "Discussion") is None
    assert registry.stored_text("pmc:PMC9900009", "Methods") is None
    assert table_text(Table()) == ""


def test_sections_read_one_after_the_other_are_kept_together(registry: ArtifactRegistry, make: Any) -> None:
    registry.hold_full_text(_full_text(make, METHODS, truncated=True, characters_total=100))
    reference = registry.hold_full_text(_full_text(make, RESULTS, characters_total=100))
    registry.hold_full_text(_full_text(make, TextSection(heading="Methods", text="We did it, later version.")))
    registry.hold_full_text(FullText(artifact=make.pmc("PMC9900001", pmid="90000001"), reason="unknown_id"))
    held = registry.full_text(reference or "")
    assert held is not None
    assert held.artifact is not None
    assert held.artifact.reference == str(reference)
    assert (held.truncated, held.available, held.characters_total) == (False, True, 100)
    assert registry.stored_text("pmc:PMC9900001", "Methods") == "We did it, later version."
    assert registry.stored_text("pmc:PMC9900001", "Methods/Statistics") == "We counted."
    assert registry.stored_text("pmc:PMC9900001", "Results") == "It worked."


def test_a_full_text_without_record_holds_nothing(registry: ArtifactRegistry) -> None:
    assert registry.hold_full_text(FullText(reason="unknown_id")) is None
    assert len(registry) == 0


def test_a_full_text_that_is_not_open_holds_the_record_alone(registry: ArtifactRegistry, make: Any) -> None:
    reference = registry.hold_full_text(FullText(artifact=make.pmc(), reason="not_open_access"))
    assert reference is not None
    assert registry.full_text(reference) is None
    assert registry.find(reference) is not None


def test_a_quote_from_a_text_that_was_replaced_stays_true(registry: ArtifactRegistry, make: Any) -> None:
    """Promise 3: a quote stands in stored text that this run has shown, also when the source has since changed it."""
    registry.hold(make.pubmed(abstract_text="First state."))
    registry.hold(make.pubmed(abstract_text="Second state."))
    for state in ("First state.", "Second state."):
        assert registry.stored_text("pubmed:90000001", "abstract", text_hash(state)) == state
    assert registry.stored_text("pubmed:90000001", "abstract") == "Second state."
    assert registry.stored_text("pubmed:90000001", "abstract", text_hash("Third state.")) is None


def test_texts_begin_with_what_find_shows(registry: ArtifactRegistry, make: Any) -> None:
    reference = registry.hold(make.pubmed(90000001, title="Title", abstract_text="Plain."))
    registry.hold(
        make.europepmc(
            90000001,
            pmid="90000001",
            title="Other title",
            abstract_text="In sections.",
            abstract_sections=(AbstractSection(label="AIM", text="In sections."),),
        )
    )
    found = registry.find(reference)
    assert found is not None
    first = {text.section: text.text for text in reversed(registry.texts(reference))}
    assert (first["title"], first["abstract"]) == (found.title, found.abstract_text) == ("Title", "In sections.")
    assert {text.text for text in registry.texts(reference)} >= {"Plain.", "Other title"}


def test_eligibility_and_outcomes_of_a_trial_are_stored(make: Any) -> None:
    trial = make.trial(
        title="Brief",
        official_title="Official",
        eligibility=TrialEligibility(criteria="Adults."),
        outcomes=(
            TrialOutcome(kind="primary", measure="Pain", description="0 to 10", time_frame="12 weeks"),
            TrialOutcome(kind="secondary", measure="Sleep"),
        ),
    )
    assert {text.section: text.text for text in stored_texts(trial)} == {
        "title": "Brief",
        "official title": "Official",
        "eligibility": "Adults.",
        "outcomes": "Pain - 0 to 10 - 12 weeks\nSleep",
    }
