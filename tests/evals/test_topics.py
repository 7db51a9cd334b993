"""The questions on the packaged corpus: what they judge is there, and every trap is one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from evals.cases import About, Expected
from evals.datasets import HERE, CaseSet, read_dataset
from literature_agent.sandbox import Corpus

TRAPS_ASKED_FOR = {
    "retracted",
    "preprint_pair",
    "injection",
    "near_duplicate",
    "empty_topic",
    "misspelt",
    "identifier",
}


@pytest.fixture(scope="module")
def topics() -> CaseSet:
    return read_dataset(Path(HERE) / "topics.yaml")


@pytest.fixture(scope="module")
def corpus() -> Iterator[Corpus]:
    packaged = Corpus.packaged()
    yield packaged
    packaged.close()


@pytest.fixture(scope="module")
def texts(corpus: Corpus) -> dict[str, str]:
    """Title and abstract by every identifier that the packaged corpus knows a record under."""
    found = {
        name: f"{paper.title} {paper.abstract_text}"
        for paper in corpus.papers
        for name in (paper.pmid, paper.doi, paper.pmcid)
        if name
    }
    for record in corpus.europepmc.records:
        text = f"{record['title']} {record.get('abstractText', '')}"
        for name in (record["id"], record.get("doi"), record.get("pmcid")):
            if name:
                found.setdefault(name, text)
    for (doi, _), row in corpus.preprints.items():
        found.setdefault(doi, f"{row['title']} {row['abstract']}")
    for number, study in corpus.trials.items():
        found[number] = study["protocolSection"]["identificationModule"]["briefTitle"]
    return found


def _expected(case: object) -> Expected:
    expected = getattr(case, "expected_output", None)
    assert isinstance(expected, Expected)
    return expected


def _about(case: object) -> About:
    about = getattr(case, "metadata", None)
    assert isinstance(about, About)
    return about


def test_there_are_forty_questions_or_more_over_twelve_subject_areas_or_more(topics: CaseSet) -> None:
    assert len(topics.cases) >= 40
    assert len({case.inputs.question for case in topics.cases}) == len(topics.cases)
    assert len({_about(case).subject for case in topics.cases} - {"", "none"}) >= 12


def test_every_judged_and_every_planted_record_is_in_the_packaged_corpus(
    topics: CaseSet, texts: dict[str, str]
) -> None:
    for case in topics.cases:
        expected = _expected(case)
        named = {*expected.relevant, *(name for group in expected.same for name in group)}
        named |= {record for trap in _about(case).traps for record in trap.records}
        assert named <= texts.keys(), case.name


def test_every_kind_of_trap_is_planted_and_watched(topics: CaseSet) -> None:
    planted = Counter(trap.kind for case in topics.cases for trap in _about(case).traps)
    assert planted.keys() >= TRAPS_ASKED_FOR
    watched = {behaviour for case in topics.cases for behaviour in _about(case).required}
    assert watched >= {
        "no_evidence",
        "partial",
        "marks_retracted",
        "one_family",
        "no_injection",
        "suggests_spelling",
        "resolves_identifier",
    }


def test_a_question_has_relevant_records_unless_nothing_is_known_of_it(topics: CaseSet) -> None:
    for case in topics.cases:
        expected = _expected(case)
        assert bool(expected.relevant) == (expected.status != "no_evidence"), case.name


def test_the_words_of_an_injection_stand_in_its_record_and_in_no_other_judged_one(
    topics: CaseSet, texts: dict[str, str]
) -> None:
    for case in topics.cases:
        for trap in _about(case).traps:
            if trap.kind == "injection":
                for text in trap.texts:
                    assert all(text in texts[record] for record in trap.records), case.name
                    carriers = {texts[name] for name in _expected(case).relevant if text in texts[name]}
                    assert carriers <= {texts[record] for record in trap.records}, case.name


def test_misspelt_words_are_unknown_to_the_corpus_and_the_right_ones_are_not(
    topics: CaseSet, texts: dict[str, str]
) -> None:
    known = set(re.findall(r"\w+", " ".join(texts.values()).lower()))
    for case in topics.cases:
        for trap in _about(case).traps:
            if trap.kind == "misspelt":
                asked = set(re.findall(r"\w+", case.inputs.question.lower()))
                assert asked - known, case.name
                assert set(trap.texts) <= known, case.name
                assert not set(trap.texts) & asked, case.name


def test_retracted_traps_are_retracted(topics: CaseSet, corpus: Corpus) -> None:
    for case in topics.cases:
        for trap in _about(case).traps:
            if trap.kind == "retracted":
                assert all("Retracted Publication" in corpus.by_pmid[pmid].types for pmid in trap.records), case.name
