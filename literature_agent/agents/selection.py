"""Which papers bear on a question, and which sentence of each says most about it."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from literature_agent.agents.abstracts import Sentence, sentences_of
from literature_agent.agents.evidence import Paper
from literature_agent.agents.rank import Ranked, Wording, rank, text_of
from literature_agent.agents.words import stems

# Below these shares a paper has little more in common with the question than any paper of the field; chosen so that
# the paper known to answer a question stays in, and unrelated ones stay out.
_LEAST_SCORE = 0.30
_LEAST_COVERED = 0.50
_KEPT_ANYWAY = 3
_UNRELIABLE = 3
# What views and registry call the published version of a preprint.
_PUBLISHED = ("paper", "published_as")
NO_CLAIMS = frozenset({"registered trial", "clinical trial protocol", "notice"})
"""Types of record that report no result of their own."""


@dataclass(frozen=True)
class Chosen:
    """A paper of the answer with its sentences and the one that says most about the question."""

    paper: Paper
    sentences: tuple[Sentence, ...]
    claim: Sentence | None
    subjects: tuple[str, ...]
    """What the question is about and the paper holds."""
    quoted: bool = True
    """Whether it holds enough of the question for its sentences to stand as an answer."""


def select(question: str, papers: Sequence[Paper], at_most: int, named: Collection[str] = ()) -> list[Paper]:
    """The papers that bear on the question and may carry a claim, best first, each family once."""
    return bearing_papers(rank(question, papers, named), at_most)


def bearing_papers(ranked: Sequence[Ranked], at_most: int) -> list[Paper]:
    """`select`, of papers that are ranked already."""
    bearing = [item for item in ranked if item.paper.supports and item.bears]
    # Of a long question even the best paper holds a small part.
    covered = min(_LEAST_COVERED, max((item.covered for item in bearing), default=0.0) / 2)
    kept = [item for item in bearing if item.named or (item.score >= _LEAST_SCORE and item.covered >= covered)]
    if len(kept) < _KEPT_ANYWAY:
        kept = bearing[:_KEPT_ANYWAY]
    return _published_first(kept, ranked)[:at_most]


def unreliable_papers(ranked: Sequence[Ranked]) -> list[Paper]:
    """Retracted works and works under concern that bear on the question as much as what is listed does."""
    return [
        item.paper
        for item in ranked
        if item.paper.marks & {"retracted", "concern"}
        and "notice" not in item.paper.marks
        and item.bears
        and (item.named or (item.score >= _LEAST_SCORE and item.covered >= _LEAST_COVERED))
    ][:_UNRELIABLE]


def _published_first(kept: Sequence[Ranked], ranked: Sequence[Ranked]) -> list[Paper]:
    """The papers kept, with the published version in place of each preprint of which one was shown."""
    published = [item.paper for item in ranked if item.paper.supports and "preprint" not in item.paper.marks]
    by_reference = {paper.reference: paper for paper in published}
    by_title = {key: paper for paper in reversed(published) if (key := _title_key(paper))}
    by_preprint = {
        reference: paper for paper in published for relation, reference in paper.linked if relation == "preprint"
    }

    def final(paper: Paper) -> Paper:
        if "preprint" not in paper.marks:
            return paper
        later = [by_reference[r] for relation, r in paper.linked if relation in _PUBLISHED and r in by_reference]
        found = later[0] if later else by_preprint.get(paper.reference) or by_title.get(_title_key(paper))
        return found or paper

    return list({paper.reference: paper for paper in (final(item.paper) for item in kept)}.values())


def _title_key(paper: Paper) -> str:
    return " ".join(stems(paper.title))


_ANSWERS = re.compile(
    r"\b(?:significant|associat|reduc|improv|increas|decreas|lower|higher|effective|benefi|risk|safe|neither|suggest|"
    r"support|recommend|should|may|predict|superior|comparable|similar)",
    re.I,
)
# Openings that say little without the sentence before.
_LEANS_ON_OTHERS = re.compile(
    r"(?:None|It|They|Such|However|Moreover|Furthermore|Another|Both|But|Also|Here|There|Others?|Those"
    r"|The (?:latter|former))\b"
)


def choose(wording: Wording, papers: Sequence[Paper], named: Collection[str]) -> list[Chosen]:
    """The papers of an answer, each with its sentences; `named` are references that the question itself names."""
    most = max((wording.share_of(text_of(paper)) for paper in papers), default=0.0)
    return [_chosen(wording, paper, _is_quoted(wording, paper, most, named)) for paper in papers]


def _chosen(wording: Wording, paper: Paper, quoted: bool) -> Chosen:
    sentences = tuple(sentences_of(paper))
    claim = None
    if quoted and paper.whole and paper.study_type.lower() not in NO_CLAIMS:
        claim = _best_answer(sentences, wording)
    return Chosen(paper, sentences, claim, tuple(wording.named_in(text_of(paper))), quoted)


def _is_quoted(wording: Wording, paper: Paper, most: float, named: Collection[str]) -> bool:
    """Whether a listed paper has the subject, not one word of it: a trial of tonsillectomy in inpatients says nothing
    about inpatients with fever. `most` is the largest share of the question that a listed paper holds."""
    if paper.reference in named or any(reference in named for _, reference in paper.linked):
        return True
    text = text_of(paper)
    return wording.holds_subject(text) and (
        wording.share_of(text) >= min(_LEAST_COVERED, most / 2) or wording.names_subject(text, words=2)
    )


def _best_answer(sentences: Sequence[Sentence], wording: Wording) -> Sentence | None:
    best, most = None, 0.0
    opened = False
    for sentence in sentences:
        score = _says(sentence, wording)
        if sentence.role == "conclusion" and not opened:
            # The first sentence of the conclusions is the answer that the authors give.
            score, opened = score + (0.15 if score > 0 else 0.0), True
        if score > most:
            best, most = sentence, score
    return best


def _says(sentence: Sentence, wording: Wording) -> float:
    """How much a sentence looks like an answer; 0 or less for one that can't be."""
    if not sentence.repeatable or sentence.role not in ("body", "conclusion"):
        return 0.0
    shared = wording.share_of(sentence.text)
    if not shared and not sentence.concludes:
        return 0.0
    score = shared + 0.3 * sentence.concludes + 0.1 * bool(_ANSWERS.search(sentence.text))
    return score - 0.3 * sentence.names_gap - 0.15 * bool(_LEANS_ON_OTHERS.match(sentence.text))
