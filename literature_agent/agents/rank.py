"""Which papers bear on a question: words in common, weighed by rarity, with small priors for study type and date."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from literature_agent.agents.evidence import Paper
from literature_agent.agents.plan import SPECIFIC, plan_question, without_identifiers
from literature_agent.agents.words import BROAD_WORDS, PREFIXES, WEAK_WORDS, is_weak, stem, stem_groups, stems

# BM25 with the usual constants; a word in the title counts like three in the abstract.
_K1 = 1.2
_B = 0.5
_IN_TITLE = 3.0
_IN_HEADINGS = 1.0
_PHRASE = 0.6
_POSITION = 0.15
_OTHER_NAME = 0.6
_WEAK = 0.35
_BROAD = 0.8
_NUMBER = 0.15
# Of a question on scorpion stings in pregnancy a paper on aspirin in pregnancy holds 0.28; of 150 questions of
# PubMedQA with their right paper one holds less than 0.5, and it holds a whole name.
_LEAST_SHARE = 0.35
# More than any one word, no more than two words that many papers of a field have.
_SUBJECT = 1.5

# Sums over sets are exact (`fsum`): rounded one by one they would differ with the order in which a process keeps them.

_TYPE_PRIOR = {
    "meta-analysis": 0.12,
    "systematic review": 0.12,
    "practice guideline": 0.10,
    "guideline": 0.10,
    "randomized controlled trial": 0.10,
    "controlled clinical trial": 0.06,
    "clinical trial, phase iii": 0.06,
    "clinical trial, phase ii": 0.04,
    "clinical trial": 0.04,
    "observational study": 0.02,
    "multicenter study": 0.02,
    "clinical trial protocol": -0.10,
    "registered trial": -0.10,
    "case reports": -0.08,
    "editorial": -0.12,
    "letter": -0.12,
    "comment": -0.12,
    "preprint": -0.04,
}
_DATE_PRIOR = 0.06
_DATE_YEARS = 15.0


@dataclass(frozen=True)
class Ranked:
    """A paper with its score (only comparable within one ranking), 1.0 for the best."""

    paper: Paper
    score: float
    covered: float
    """Share of the question that the paper's shown text holds, weak words counting little: 0..1."""
    bears: bool
    """Whether it holds enough of the question, or the whole of one specific thing that the question is about, to have
    to do with it; always so for a work that the question names."""
    named: bool = False
    """Whether the question itself names the work."""


class Wording:
    """The words of a question, with other names of what they stand for."""

    def __init__(self, question: str) -> None:
        text = without_identifiers(question)
        self.stems = tuple(dict.fromkeys(stems(text)))
        self.pairs = frozenset(pairwise(stems(text)))
        self.concepts = plan_question(question).concepts
        self.kinds = _kinds(text)
        self._same: dict[str, frozenset[str]] = {word: frozenset((word,)) for word in self.stems}
        for concept in self.concepts:
            own = frozenset(stems(concept.names[0]))
            for name in concept.names[1:]:
                other = frozenset(stems(name))
                for word in other - own:
                    # `impairment` stands for `decline` where `cognitive impairment` does for `cognitive decline`.
                    self._same.setdefault(word, own - other)

    def stands_for(self, word: str) -> frozenset[str]:
        """Words of the question that a stem stands for: itself, or what it is another name of."""
        return self._same.get(word, frozenset())

    def found_in(self, text: str) -> frozenset[str]:
        """Words of the question that `text` holds, under any of their names."""
        return frozenset(word for token in set(stems(text)) for word in self.stands_for(token))

    def share_of(self, text: str) -> float:
        """How much of the question `text` holds, weak words counting little: 0..1."""
        total = math.fsum(self.kinds.values())
        return math.fsum(self.kinds[word] for word in self.found_in(text)) / total if total else 0.0

    def names_subject(self, text: str, words: int = 1) -> bool:
        """Whether `text` holds the whole of one specific thing that the question is about, of at least so many
        `words`."""
        found = self.found_in(text)
        return any(
            concept.weight >= SPECIFIC and len(own := stems(concept.names[0])) >= words and found.issuperset(own)
            for concept in self.concepts
        )

    def holds_subject(self, text: str) -> bool:
        """Whether `text` holds more than one word of the question that says something by itself, or all there are."""
        strong = {word: kind for word, kind in self.kinds.items() if word not in _weak() and not word.isdigit()}
        held = math.fsum(strong[word] for word in self.found_in(text) if word in strong)
        return held >= min(_SUBJECT, math.fsum(strong.values()))

    def named_in(self, text: str) -> list[str]:
        """What the question is about and `text` holds, as the question writes it; whole names before single words."""
        found = self.found_in(text)
        named: list[str] = []
        for concept in self.concepts:
            own = stems(concept.names[0])
            if found.issuperset(own):
                named.append(concept.names[0])
            else:
                words = [word for word in concept.names[0].split() if not (is_weak(word) or word.isdigit())]
                named += [word for word in words if found.issuperset(stems(word))]
        return list(dict.fromkeys(named))


def rank(question: str, papers: Sequence[Paper], named: Collection[str] = ()) -> list[Ranked]:
    """All papers, best first; those that may carry no claim come last. The order of `papers` breaks ties.

    `named` are references of works that the question itself names: they come before what the searches found.
    """
    wording = Wording(question)
    weights = _weights(wording, papers)
    total = sum(weights.values())
    newest = max((paper.year for paper in papers if paper.year), default=None)
    length = _mean_length(papers)
    scored: list[tuple[float, Paper]] = []
    for paper in papers:
        words = _overlap(paper, wording, weights, length)
        position = max((1 / (1 + place) for place in paper.positions), default=0.0)
        scored.append((words * (1 + _prior(paper, newest)) + _POSITION * position * total, paper))
    best = max((score for score, _ in scored), default=0.0) or 1.0
    ranked = [_ranked(paper, score / best, wording, named) for score, paper in scored]
    return sorted(ranked, key=lambda item: (not item.paper.supports, not item.named, -item.score))


def _ranked(paper: Paper, score: float, wording: Wording, named: Collection[str]) -> Ranked:
    text = text_of(paper)
    covered = wording.share_of(text)
    bears = covered >= _LEAST_SHARE or wording.names_subject(text) or paper.reference in named
    return Ranked(paper, score, covered, bears, paper.reference in named)


def text_of(paper: Paper) -> str:
    """Everything shown of a paper that has words."""
    return f"{paper.title} . {paper.abstract} . {' . '.join(paper.headings)}"


def _kinds(text: str) -> dict[str, float]:
    """How much each stem of a text says by its kind. A compound is one thing, half as a whole and half in its parts;
    it says as much as the least of them (`low-dose`), a prefix aside."""
    kinds: dict[str, float] = {}
    for first, *parts in stem_groups(text):
        value = min((_kind(part) for part in parts if part not in PREFIXES), default=_kind(first))
        shares = {first: value / 2, **{part: value / 2 / len(parts) for part in parts}} if parts else {first: value}
        for word, share in shares.items():
            kinds[word] = max(share, kinds.get(word, 0.0))
    return kinds


def _kind(word: str) -> float:
    if word.isdigit():
        return _NUMBER
    return _WEAK if word in _weak() else _BROAD if word in _broad() else 1.0


@lru_cache(maxsize=1)
def _weak() -> frozenset[str]:
    return frozenset(stem(word) for word in WEAK_WORDS)


@lru_cache(maxsize=1)
def _broad() -> frozenset[str]:
    return frozenset(stem(word) for word in BROAD_WORDS)


def _weights(wording: Wording, papers: Sequence[Paper]) -> dict[str, float]:
    """Weight of each word of the question: rare among these papers and specific by its kind."""
    seen: Counter[str] = Counter()
    for paper in papers:
        seen.update(wording.found_in(text_of(paper)))
    number = len(papers)
    weights: dict[str, float] = {}
    for word in wording.stems:
        rarity = math.log(1 + (number - seen[word] + 0.5) / (seen[word] + 0.5)) + 0.5
        weights[word] = rarity * wording.kinds[word]
    return weights


def _overlap(paper: Paper, wording: Wording, weights: Mapping[str, float], mean_length: float) -> float:
    title, abstract = stems(paper.title), stems(paper.abstract)
    headings = [word for heading in paper.headings for word in stems(heading)]
    counts: dict[str, float] = {}
    for words, weight in ((title, _IN_TITLE), (abstract, 1.0), (headings, _IN_HEADINGS)):
        for word in words:
            for meant in wording.stands_for(word):
                counts[meant] = counts.get(meant, 0.0) + (weight if meant == word else weight * _OTHER_NAME)
    norm = _K1 * (1 - _B + _B * len(abstract) / mean_length)
    score = math.fsum(weights[word] * count * (_K1 + 1) / (count + norm) for word, count in counts.items())
    here = {pair for words in (title, abstract) for pair in pairwise(words)} & wording.pairs
    return score + sum(_PHRASE * min(weights[first], weights[second]) for first, second in sorted(here))


def _mean_length(papers: Sequence[Paper]) -> float:
    lengths = [len(stems(paper.abstract)) for paper in papers if paper.abstract]
    return max(sum(lengths) / len(lengths), 1.0) if lengths else 1.0


def _prior(paper: Paper, newest: int | None) -> float:
    prior = _TYPE_PRIOR.get(paper.study_type.lower(), 0.0)
    if paper.year and newest:
        prior += _DATE_PRIOR * math.exp(-(newest - paper.year) / _DATE_YEARS)
    return prior - (0.05 if "preprint" in paper.marks else 0.0)
