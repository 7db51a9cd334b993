"""The leak guard: what a model may not write, and what it may."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path

import pytest

from evals.integrity.labelled import read_labelled, read_real, score_leaks
from literature_agent.integrity import leaks
from literature_agent.integrity.known import Known
from literature_agent.integrity.leaks import Guard
from tests.integrity.conftest import World, paper

NOBODY = Guard.of(lambda kind, value: None, Known(), "")


def test_the_labelled_sentences_are_told_apart() -> None:
    score = score_leaks()
    assert score.false_alarms == ()
    assert score.missed == ()
    labels = [sentence.label for sentence in read_labelled("leaks.tsv")]
    assert len(labels) >= 300
    assert 0.4 < labels.count("clean") / len(labels) < 0.6


@pytest.mark.parametrize("kind", sorted({s.label for s in read_labelled("leaks.tsv")} - {"clean"}))
def test_without_one_kind_the_labelled_sentences_are_not_all_found(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The set can fail: each kind of the guard is needed for it."""
    monkeypatch.setattr(leaks, "KINDS", leaks.KINDS - {kind})
    assert kind in {sentence.label for sentence in score_leaks().missed}


@pytest.mark.parametrize("written", ["doi:{doi}", "https://doi.org/{doi}", "{doi}", "PMID: {pmid}", "PMID {pmid}"])
def test_an_exact_identifier_of_a_shown_work_has_its_reference(written: str, world: World) -> None:
    shown = paper(1)
    reference = world.show(shown)
    (leak,) = world.desk.guard.find(f"Seen in {written.format(doi=shown.doi, pmid=shown.pmid)}.")
    assert leak.reference == reference


@pytest.mark.parametrize(
    "written", ["Ferrante et al. (2021)", "Synth J Sleep 2021", "[12]", "PMID 90 000 501", "90000501", "desk.90000501"]
)
def test_what_is_no_exact_identifier_is_never_replaced(written: str, world: World) -> None:
    """A guess would be a false attribution."""
    world.show(paper(1))
    found = world.desk.guard.find(f"Seen before in {written}, it was said.")
    assert found
    assert [leak.reference for leak in found] == [None] * len(found)


def test_an_identifier_of_a_work_that_is_held_and_not_shown_has_no_reference(world: World) -> None:
    held = paper(1)
    world.hold(held)
    (leak,) = world.desk.guard.find(f"Seen in PMID {held.pmid}.")
    assert leak.reference is None


@pytest.mark.parametrize(
    "written",
    ["Ferrante found", "by Ferrante", "Ferrante LM", "Luca Ferrante", "Ferrante's trial", "Young (2021)", "Ada Young"],
)
def test_authors_of_the_runs_own_works_are_known_by_name(written: str, world: World) -> None:
    world.show(paper(1))
    assert [leak.kind for leak in world.desk.guard.find(f"It is said that {written} as much.")] == ["author-year"]
    assert NOBODY.find(f"It is said that {written} as much.") == [] or "(2021)" in written


@pytest.mark.parametrize("echoed", ["Smith et al. (2020)", "Smith (2020)", "the 2020 Smith trial", "NEJM 2020"])
def test_what_the_question_names_may_be_echoed(echoed: str) -> None:
    asked = "What did Smith et al. find in 2020 in the NEJM trial?"
    assert Guard.of(lambda kind, value: None, Known(), asked).find(f"In {echoed} it was said.") == []
    assert NOBODY.find(f"In {echoed} it was said.") != []


def test_a_title_that_the_question_holds_may_be_echoed(world: World) -> None:
    shown = paper(1)
    world.show(shown)
    assert [leak.kind for leak in world.desk.guard.find(f"The paper {shown.title} says so.")] == ["title"]
    world.question = f"What does {shown.title} say?"
    assert world.desk.guard.find(f"The paper {shown.title} says so.") == []


def test_exact_identifiers_are_found_though_the_question_names_them() -> None:
    guard = Guard.of(lambda kind, value: None, Known(), "What does PMID 90000001 say?")
    assert [leak.kind for leak in guard.find("PMID 90000001 says nothing.")] == ["pmid"]


def test_leaks_neither_overlap_nor_leave_the_text() -> None:
    text = "See https://doi.org/10.5555/x1, PMID 90000001 (Smith et al., 2020) and NEJM 2020;383:1-9 [3]."
    found = NOBODY.find(text)
    assert [leak.text for leak in found] == [text[leak.start : leak.end] for leak in found]
    assert all(left.end <= right.start for left, right in pairwise(found))
    assert {leak.kind for leak in found} == {"doi", "pmid", "author-year", "journal-year", "marker"}


@pytest.mark.parametrize(
    "piece",
    [
        "Metformin reduced decline by 12% (95% CI 3-20) in 2020. ",
        "Smith et al. (2020) and NEJM 2023; ",
        "10.1234.",
        "10.1234/)",
        "S0140-",
        "doi:",
        "a¹",
        "AAAA",
        "Aa-Aa-",
        "((((",
        "&amp;",
        "PMID 90000001, 90000002, ",
    ],
)
def test_twice_the_text_takes_about_twice_the_time(piece: str) -> None:
    """Linear: eight times the text in far less than the 64 times that a quadratic pass would take."""

    def took(characters: int) -> float:
        text = piece * (characters // len(piece))
        started = time.thread_time()
        NOBODY.find(text)
        return time.thread_time() - started

    took(1_000)
    short = min(took(2_000) for _ in range(3))
    assert min(took(16_000) for _ in range(3)) < 25 * short + 0.05


def test_real_abstracts_give_no_false_alarm(shared_dir: Path) -> None:
    """Every alarm in the corpus of real abstracts was read and judged: a registration, or a citation in the text."""
    sentences, alarms = read_real(shared_dir / "corpora/pubmedqa-dev/corpus.jsonl")
    assert sentences > 6_000
    assert {alarm.verdict for alarm in alarms} == {"registration", "citation"}
