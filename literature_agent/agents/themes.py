"""Subjects that several papers of an answer share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from literature_agent.agents.abstracts import Sentence
from literature_agent.agents.rank import Wording, text_of
from literature_agent.agents.selection import NO_CLAIMS, Chosen
from literature_agent.agents.telling import capital, number_of, references_of, told_by
from literature_agent.agents.words import STOP_WORDS, bare, is_weak, stems, word_tokens
from literature_agent.outputs import DraftTheme

_THEMES = 5
_LISTED = 10
_LONGEST_ACRONYM = 6
# MeSH headings that say how and in whom a study was done, not what it is about.
_UNIVERSAL_HEADINGS = """
Adolescent|Adult|Age Factors|Aged|Aged, 80 and over|Analysis of Variance|Animals|Body Mass Index|Case-Control Studies
Child|Child, Preschool|Chi-Square Distribution|Cohort Studies|Comparative Study|Confidence Intervals
Cross-Sectional Studies|Data Collection|Double-Blind Method|England|Feasibility Studies|Female|Follow-Up Studies
Humans|Incidence|Infant|Infant, Newborn|Kaplan-Meier Estimate|Logistic Models|Longitudinal Studies
Male|Mice|Middle Aged|Models, Statistical
Multivariate Analysis|Odds Ratio|Pilot Projects|Predictive Value of Tests|Pregnancy|Prevalence|Prognosis
Proportional Hazards Models|Prospective Studies|Questionnaires|ROC Curve|Randomized Controlled Trials as Topic|Rats
Registries|Regression Analysis|Reproducibility of Results|Research Design|Retrospective Studies|Risk|Risk Assessment
Risk Factors|Sensitivity and Specificity|Severity of Illness Index|Sex Factors|Single-Blind Method|Statistics as Topic
Surveys and Questionnaires|Survival Analysis|Survival Rate|Time Factors|Treatment Outcome|United Kingdom|United States
Young Adult
"""
_NO_SUBJECT = frozenset(bare(name) for name in re.split(r"[|\n]", _UNIVERSAL_HEADINGS) if name)


def themes_of(wording: Wording, chosen: Sequence[Chosen], used: set[str]) -> list[DraftTheme]:
    """Subjects that several of the papers share, by their headings and keywords, else by pairs of words in titles."""
    shared = _shared_subjects(wording, chosen)
    themes: list[DraftTheme] = []
    covered: list[tuple[frozenset[str], frozenset[str]]] = []
    for name, items in shared:
        references, about = frozenset(item.paper.reference for item in items), frozenset(stems(name))
        again = any(references == other or (references < other and about & words) for other, words in covered)
        if again or len(themes) == _THEMES:
            continue
        covered.append((references, about))
        listed = items[:_LISTED]
        parts = [
            f"{number_of(len(items), 'work').capitalize()} listed here share this subject "
            f"{references_of(item.paper for item in listed)}."
        ]
        for item in listed:
            sentence = _about(item, about, used)
            if sentence is not None and len(parts) < 3:
                used.add(sentence.text)
                parts.append(told_by(item.paper, sentence))
        themes.append(
            DraftTheme(name=name, description=" ".join(parts), references=[item.paper.reference for item in listed])
        )
    return themes


def _about(item: Chosen, subject: frozenset[str], used: set[str]) -> Sentence | None:
    """A sentence of the paper that speaks of the subject, concluding ones first."""
    if not item.quoted or not item.paper.whole or item.paper.study_type.lower() in NO_CLAIMS:
        return None
    fitting = [
        sentence
        for sentence in item.sentences
        if sentence.text not in used
        and sentence.repeatable
        and sentence.role in ("body", "conclusion")
        and subject & set(stems(sentence.text))
    ]
    return max(
        fitting, key=lambda sentence: (sentence.concludes, len(subject & set(stems(sentence.text)))), default=None
    )


def _shared_subjects(wording: Wording, chosen: Sequence[Chosen]) -> list[tuple[str, list[Chosen]]]:
    names: dict[str, str] = {}
    holders: dict[str, list[Chosen]] = {}
    titles_too = sum(bool(item.paper.headings) for item in chosen) < 2
    for item in chosen:
        for heading in (*item.paper.headings, *(_pairs(item.paper.title) if titles_too else ())):
            key = " ".join(sorted(set(stems(heading))))
            if bare(heading) in _NO_SUBJECT or not key or not _fit_for_name(heading):
                continue
            names.setdefault(key, _cased(_straight(heading), text_of(item.paper)))
            if item not in holders.setdefault(key, []):
                holders[key].append(item)
    shared = [(key, items) for key, items in holders.items() if len(items) > 1]

    def weight(entry: tuple[str, list[Chosen]]) -> tuple[float, int]:
        key, items = entry
        close = bool(wording.found_in(names[key]))
        # A subject that all share says less than one that some share.
        spread = len(items) if len(items) <= (len(chosen) + 1) // 2 else len(chosen) - len(items) / 2
        return spread * (1 + close), len(key)

    return [(names[key], items) for key, items in sorted(shared, key=weight, reverse=True)]


def _pairs(title: str) -> Iterable[str]:
    words = list(word_tokens(title))
    for first, second in pairwise(words):
        if all(bare(word) not in STOP_WORDS and not is_weak(word) and len(word) > 2 for word in (first, second)):
            yield f"{first} {second}"


def _fit_for_name(heading: str) -> bool:
    return 3 < len(heading) <= 60 and not re.search(r"\d{3}|[«»\[\]@/:]", heading)


def _straight(heading: str) -> str:
    """`Type 2 Diabetes Mellitus` for `Diabetes Mellitus, Type 2`."""
    parts = heading.split(", ")
    return f"{parts[1]} {parts[0]}" if len(parts) == 2 else heading


def _cased(name: str, text: str) -> str:
    """`Pancreatic cancer` for `PANCREATIC CANCER`; what `text` writes in capitals too, as acronyms, stays."""
    if not name.isupper():
        return name
    written = set(word_tokens(text))

    def cased(match: re.Match[str]) -> str:
        word = match.group()
        return word.lower() if word.lower() in written or (len(word) > _LONGEST_ACRONYM and word.isalpha()) else word

    return capital(re.sub(r"\S+", cased, name))
