"""Which papers bear on a question: words in common, weighed by rarity, with small priors for study type and date."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from literature_agent.agents.evidence import Paper
from literature_agent.agents.plan import content_words
from literature_agent.agents.words import BROAD_WORDS, WEAK_WORDS, stem, stems

# BM25 with the usual constants; a word in the title counts like three in the abstract.
_K1 = 1.2
_B = 0.5
_IN_TITLE = 3.0
_IN_HEADINGS = 1.0
_PHRASE = 0.6
_POSITION = 0.15
_WEAK = 0.35

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
    """Share of the question, by weight of its words, that the paper's shown text holds: 0..1."""


def rank(question: str, papers: Sequence[Paper]) -> list[Ranked]:
    """All papers, best first; those that may carry no claim come last. The order of `papers` breaks ties."""
    asked = _weights(question, papers)
    total = sum(asked.values())
    newest = max((paper.year for paper in papers if paper.year), default=None)
    length = _mean_length(papers)
    pairs = _neighbours(question)
    scored: list[tuple[float, float, Paper]] = []
    for paper in papers:
        words, covered = _overlap(paper, asked, length, pairs)
        position = max((1 / (1 + place) for place in paper.positions), default=0.0)
        score = words * (1 + _prior(paper, newest)) + _POSITION * position * total
        scored.append((score, covered / total if total else 0.0, paper))
    best = max((score for score, _, _ in scored), default=0.0) or 1.0
    ranked = [Ranked(paper, score / best, covered) for score, covered, paper in scored]
    return sorted(ranked, key=lambda item: (not item.paper.supports, -item.score))


def matched_words(question: str, paper: Paper) -> list[str]:
    """The words of the question that stand in the paper's shown text, as the question writes them, in its order."""
    there = set(stems(f"{paper.title} {paper.abstract} {' '.join(paper.headings)}"))
    found: dict[str, str] = {}
    for word in content_words(question):
        key = stem(word)
        if key in there and key not in found:
            found[key] = word
    return list(found.values())


def _weights(question: str, papers: Sequence[Paper]) -> dict[str, float]:
    """Weight of each word of the question: rare among these papers and specific by its kind."""
    seen: Counter[str] = Counter()
    for paper in papers:
        seen.update(set(stems(f"{paper.title} {paper.abstract} {' '.join(paper.headings)}")))
    weak = {stem(word) for word in WEAK_WORDS}
    broad = {stem(word) for word in BROAD_WORDS}
    number = len(papers)
    weights: dict[str, float] = {}
    for word in stems(question):
        rarity = math.log(1 + (number - seen[word] + 0.5) / (seen[word] + 0.5)) + 0.5
        kind = _WEAK if word in weak else 0.8 if word in broad else 1.0
        weights[word] = rarity * kind
    return weights


def _overlap(
    paper: Paper, asked: dict[str, float], mean_length: float, pairs: set[tuple[str, str]]
) -> tuple[float, float]:
    title, abstract = stems(paper.title), stems(paper.abstract)
    headings = [word for heading in paper.headings for word in stems(heading)]
    counts: Counter[str] = Counter()
    for words, weight in ((title, _IN_TITLE), (abstract, 1.0), (headings, _IN_HEADINGS)):
        for word in words:
            if word in asked:
                counts[word] += weight  # type: ignore[assignment]  # weights are halves and wholes
    norm = _K1 * (1 - _B + _B * len(abstract) / mean_length)
    score = sum(asked[word] * count * (_K1 + 1) / (count + norm) for word, count in counts.items())
    here = {pair for words in (title, abstract) for pair in pairwise(words)} & pairs
    score += sum(_PHRASE * min(asked.get(a, 0), asked.get(b, 0)) for a, b in here)
    return score, sum(asked[word] for word in counts)


def _neighbours(question: str) -> set[tuple[str, str]]:
    words = stems(question)
    return set(pairwise(words))


def _mean_length(papers: Sequence[Paper]) -> float:
    lengths = [len(stems(paper.abstract)) for paper in papers if paper.abstract]
    return max(sum(lengths) / len(lengths), 1.0) if lengths else 1.0


def _prior(paper: Paper, newest: int | None) -> float:
    prior = _TYPE_PRIOR.get(paper.study_type.lower(), 0.0)
    if paper.year and newest:
        prior += _DATE_PRIOR * math.exp(-(newest - paper.year) / _DATE_YEARS)
    return prior - (0.05 if "preprint" in paper.marks else 0.0)
