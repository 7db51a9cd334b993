"""The labelled sentences of the tests, and how the checks judge them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from literature_agent.artifacts import Author, PubMedArticle
from literature_agent.integrity.claims import is_claim
from literature_agent.integrity.known import Known
from literature_agent.integrity.leaks import Guard
from literature_agent.integrity.sentences import sentence_spans

DATA = Path(__file__).resolve().parents[2] / "tests" / "integrity" / "data"

_JUDGED = Path(__file__).parent / "data" / "judged_alarms.tsv"

WORKS = (
    PubMedArticle(
        pmid="90000990",
        title="Late evening meals and glucose control in older adults.",
        source="pubmed",
        authors=(
            Author(family="Young", given="Ada", initials="A"),
            Author(family="Ferrante", given="Luca", initials="LM"),
        ),
        journal="Synthetic Journal of Sleep",
        journal_abbreviation="Synth J Sleep",
        year=2021,
    ),
    PubMedArticle(
        pmid="90000991", title="Sleep and memory: a randomised crossover trial in nurses", source="pubmed", year=2022
    ),
)
"""Invented works that the run of the labelled sentences has shown."""


class Sentence(NamedTuple):
    label: str
    text: str


@dataclass(frozen=True)
class Score:
    """How well a yes-or-no judgement fits its labels."""

    true: int
    false_alarms: tuple[Sentence, ...]
    missed: tuple[Sentence, ...]
    quiet: int

    @property
    def precision(self) -> float:
        return self.true / (self.true + len(self.false_alarms))

    @property
    def recall(self) -> float:
        return self.true / (self.true + len(self.missed))

    def line(self, name: str) -> str:
        of = self.true + len(self.false_alarms) + len(self.missed) + self.quiet
        return f"{name}: {of} labelled sentences, precision {self.precision:.3f}, recall {self.recall:.3f}"


def read_labelled(name: str) -> list[Sentence]:
    """Lines of label, tab, sentence."""
    lines = (DATA / name).read_text(encoding="utf-8").split("\n")
    return [Sentence(*line.split("\t", 1)) for line in lines if line]


def score_claims() -> Score:
    """`is_claim` against the labels `claim` and `search`."""
    return _score(read_labelled("claims.tsv"), "search", is_claim)


def score_leaks() -> Score:
    """The leak guard against the labels `clean` and the kinds of leaks."""
    guard = Guard.of(lambda kind, value: None, Known.of(WORKS), "")
    return _score(read_labelled("leaks.tsv"), "clean", lambda text: bool(guard.find(text)))


@dataclass(frozen=True)
class Alarm:
    """What the guard took for a leak in a sentence of a real abstract, and what people say that it is."""

    pmid: str
    kind: str
    text: str
    verdict: str
    """`registration`, `citation`, or `false alarm` where nobody has judged it to be one of these."""


def read_real(corpus: Path) -> tuple[int, list[Alarm]]:
    """Number of sentences in a `corpus.jsonl` of real abstracts, and each alarm of the guard in them."""
    judged: dict[tuple[str, str], str] = {}
    for line in _JUDGED.read_text(encoding="utf-8").splitlines():
        pmid, kind, verdict = line.split("\t")
        judged[pmid, kind] = verdict
    guard = Guard.of(lambda kind, value: None, Known(), "")
    sentences, alarms = 0, []
    for line in corpus.read_text(encoding="utf-8").strip().split("\n"):
        record = json.loads(line)
        for text in (record["title"], record["text"]):
            for start, end in sentence_spans(text):
                sentences += 1
                alarms += [
                    Alarm(record["_id"], leak.kind, leak.text, judged.get((record["_id"], leak.kind), "false alarm"))
                    for leak in guard.find(text[start:end])
                ]
    return sentences, alarms


def _score(sentences: list[Sentence], quiet: str, judge: Callable[[str], bool]) -> Score:
    judged = [(sentence, judge(sentence.text)) for sentence in sentences]

    def which(alarm: bool, labelled: bool) -> Iterator[Sentence]:
        return (sentence for sentence, found in judged if found is alarm and (sentence.label != quiet) is labelled)

    return Score(
        true=len(list(which(True, True))),
        false_alarms=tuple(which(True, False)),
        missed=tuple(which(False, True)),
        quiet=len(list(which(False, False))),
    )
