"""An answer put together by rule from what a run has shown: sentences selected, none written.

It is what the extractive model submits, and what stands in for an answer when a run ends before its model has
submitted one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from literature_agent.agents.abstracts import Sentence, sentences_of
from literature_agent.agents.evidence import UNTYPED, Asked, Paper
from literature_agent.agents.rank import Ranked, matched_words, rank
from literature_agent.agents.words import STOP_WORDS, bare, is_weak, stems, word_tokens
from literature_agent.outputs import AggregationDraft, DraftArticle, DraftGap, DraftTheme

_LEAST_SCORE = 0.30
_LEAST_COVERED = 0.30
_KEPT_ANYWAY = 3
_CLAIMS = 6
_CLAIM_CHARACTERS = 1_800
_THEMES = 5
_GAPS = 4
_LISTED = 10
_NO_CLAIMS = frozenset({"registered trial", "clinical trial protocol", "notice"})

_TYPE_NAMES = {
    UNTYPED.lower(): "paper",
    "randomized controlled trial": "randomised controlled trial",
    "clinical trial, phase iii": "phase III trial",
    "clinical trial, phase ii": "phase II trial",
    "clinical trial, phase i": "phase I trial",
    "clinical trial protocol": "trial protocol",
    "multicenter study": "multicentre study",
    "case reports": "case report",
    "comment": "commentary",
}
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


@dataclass(frozen=True)
class _Chosen:
    """A paper of the answer with its sentences and the one that says most about the question."""

    paper: Paper
    sentences: tuple[Sentence, ...]
    claim: Sentence | None
    words: tuple[str, ...]


def compose(
    question: str, papers: Sequence[Paper], searches: Sequence[Asked], max_articles: int = 20
) -> AggregationDraft:
    """The answer to `question` that `papers` and `searches` allow, from words that stand in them.

    Retracted works, works under an expression of concern and notices carry nothing; a preprint gives way to its
    published version. Without papers the answer says so and cites nothing.
    """
    chosen = [_chosen(question, paper) for paper in select(question, papers, max_articles)]
    told = _claims(chosen)
    return AggregationDraft(
        summary=_summary(chosen, told, papers, searches),
        relevant_articles=[_article(item) for item in chosen],
        key_themes=_themes(question, chosen, {claim.text for _, claim in told}),
        research_gaps=[*_stated_gaps(chosen), *_null_searches(papers, searches)],
    )


def select(question: str, papers: Sequence[Paper], at_most: int) -> list[Paper]:
    """The papers that bear on the question, best first, each family once."""
    ranked = [item for item in rank(question, papers) if item.paper.supports]
    kept = [item for item in ranked if item.score >= _LEAST_SCORE and item.covered >= _LEAST_COVERED]
    if len(kept) < _KEPT_ANYWAY:
        kept = ranked[:_KEPT_ANYWAY]
    return [item.paper for item in _without_superseded(kept)][:at_most]


def _without_superseded(ranked: Sequence[Ranked]) -> list[Ranked]:
    """The papers without preprints of which the published version is among them."""
    here = {item.paper.reference for item in ranked}
    titles = {_title_key(item.paper) for item in ranked if "preprint" not in item.paper.marks} - {""}
    return [item for item in ranked if not _is_superseded(item.paper, here, titles)]


def _is_superseded(paper: Paper, here: set[str], titles: set[str]) -> bool:
    if "preprint" not in paper.marks:
        return False
    published = {reference for relation, reference in paper.linked if relation == "published_as"}
    return bool(published & here) or _title_key(paper) in titles


def _title_key(paper: Paper) -> str:
    return " ".join(stems(paper.title))


# --- sentences --------------------------------------------------------------------------------------------------------

_ANSWERS = re.compile(
    r"\b(?:significant|associat|reduc|improv|increas|decreas|lower|higher|effective|benefi|risk|safe|not?\b|neither|"
    r"suggest|support|recommend|should|may|predict|superior|comparable|similar)",
    re.I,
)


def _chosen(question: str, paper: Paper) -> _Chosen:
    sentences = tuple(sentences_of(paper))
    asked = set(stems(question))
    claim = None
    if paper.whole and paper.study_type.lower() not in _NO_CLAIMS:
        scored = [(_says(sentence, asked), -number, sentence) for number, sentence in enumerate(sentences)]
        claim = max((item for item in scored if item[0] > 0), default=(0.0, 0, None))[2]
    return _Chosen(paper, sentences, claim, tuple(matched_words(question, paper)))


def _says(sentence: Sentence, asked: set[str]) -> float:
    """How much a sentence looks like an answer; 0 or less for one that can't be."""
    if not sentence.repeatable or sentence.role in ("background", "administration"):
        return 0.0
    shared = len(asked & set(stems(sentence.text))) / max(len(asked), 1)
    if not shared and not sentence.concludes:
        return 0.0
    score = shared + 0.5 * sentence.concludes + 0.15 * bool(_ANSWERS.search(sentence.text))
    return score - 0.4 * sentence.names_gap


def _claims(chosen: Sequence[_Chosen]) -> list[tuple[_Chosen, Sentence]]:
    """The sentences of the summary: one of each of the best papers, as many as fit."""
    told: list[tuple[_Chosen, Sentence]] = []
    length = 0
    for item in chosen:
        if item.claim is None or len(told) == _CLAIMS:
            continue
        length += len(item.claim.text)
        if told and length > _CLAIM_CHARACTERS:
            break
        told.append((item, item.claim))
    return told


def _cited(introduction: str, sentence: Sentence, reference: str) -> str:
    """`A trial concludes: “...” «reference».` One sentence that carries its reference."""
    words = sentence.text.rstrip(".").translate(_INNER_QUOTES)
    return f"{introduction}: “{words}” {reference}."


_INNER_QUOTES = str.maketrans({"“": "‘", "”": "’", '"': "'"})


def _study(paper: Paper) -> str:
    """`randomised controlled trial of 2021`, `preprint of 2023 that is not peer-reviewed`."""
    kind = _TYPE_NAMES.get(paper.study_type.lower(), paper.study_type.lower())
    preprint = "preprint" in paper.marks
    if preprint and kind in ("paper", "preprint"):
        kind = "preprint"
    of = f" of {paper.year}" if paper.year else ""
    ending = " that is not peer-reviewed" if preprint and kind == "preprint" else ""
    if preprint and not ending:
        ending = " (a preprint that is not peer-reviewed)"
    return f"{kind}{of}{ending}"


def _with_article(noun: str) -> str:
    return f"{'An' if noun[0] in 'aeiou' else 'A'} {noun}"


def _listing(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _number(of: int, noun: str) -> str:
    return f"one {noun}" if of == 1 else f"{of} {noun}s"


def _references(papers: Iterable[Paper]) -> str:
    return " ".join(paper.reference for paper in papers)


# --- parts of the answer ----------------------------------------------------------------------------------------------


def _summary(
    chosen: Sequence[_Chosen],
    told: Sequence[tuple[_Chosen, Sentence]],
    papers: Sequence[Paper],
    searches: Sequence[Asked],
) -> str:
    if told:
        works = [item.paper for item, _ in told]
        lead = (
            "This is a selection of sentences and no synthesis: rules, not a language model, took them from "
            f"{_number(len(works), 'abstract')} close to the question {_references(works)}."
        )
        return " ".join([lead, *(_told(item.paper, sentence) for item, sentence in told)])
    if chosen:
        return (
            f"The searches found {_number(len(chosen), 'work')} that may bear on the question; from what was read of "
            f"them no sentence could be selected as an answer {_references(i.paper for i in chosen[:_CLAIMS])}."
        )
    if papers:
        return (
            "The searches found only works that have been retracted, are under an expression of concern or are "
            f"notices, so nothing here supports an answer {_references(papers[:_CLAIMS])}."
        )
    return _nothing(searches)


def _told(paper: Paper, sentence: Sentence) -> str:
    verb = "concludes" if sentence.concludes else "reports"
    return _cited(f"{_with_article(_study(paper))} {verb}", sentence, paper.reference)


def _nothing(searches: Sequence[Asked]) -> str:
    failed = list(dict.fromkeys(search.source for search in searches if search.status == "failed"))
    answered = list(dict.fromkeys(search.source for search in searches if search.status != "failed"))
    unknown = [source for source in failed if source not in answered]
    if not searches:
        return "No search was made, so this says nothing about the literature."
    if not answered:
        return f"No source answered ({_listing(failed)}), so this says nothing about the literature."
    text = f"No evidence was found: {_listing(answered)} answered and had no match for this question."
    return (
        f"{text} What {_listing(unknown)} would hold is not known, as every search there failed." if unknown else text
    )


def _article(item: _Chosen) -> DraftArticle:
    paper = item.paper
    place = "title and abstract" if paper.abstract and paper.title else "abstract" if paper.abstract else "title"
    subject = _study(paper)
    if item.words:
        reason = f"{subject[0].upper()}{subject[1:]} whose {place} {_verb(place)} {_listing(item.words[:6])}."
    else:
        reason = f"{subject[0].upper()}{subject[1:]} found by the searches for this question."
    quotes = [item.claim.text] if item.claim and item.claim.quotable else []
    return DraftArticle(reference=paper.reference, reason=reason, quotes=quotes)


def _verb(place: str) -> str:
    return "cover" if " and " in place else "covers"


def _themes(question: str, chosen: Sequence[_Chosen], used: set[str]) -> list[DraftTheme]:
    """Subjects that several of the papers share, by their headings and keywords, else by pairs of words in titles."""
    shared = _shared_subjects(question, chosen)
    themes: list[DraftTheme] = []
    covered: list[frozenset[str]] = []
    for name, items in shared:
        references = frozenset(item.paper.reference for item in items)
        if references in covered or len(themes) == _THEMES:
            continue
        covered.append(references)
        listed = items[:_LISTED]
        parts = [
            f"{_number(len(items), 'work').capitalize()} listed here share this subject "
            f"{_references(item.paper for item in listed)}."
        ]
        about = frozenset(stems(name))
        for item in listed:
            sentence = _about(item, about, used)
            if sentence is not None and len(parts) < 3:
                used.add(sentence.text)
                parts.append(_told(item.paper, sentence))
        themes.append(
            DraftTheme(name=name, description=" ".join(parts), references=[item.paper.reference for item in listed])
        )
    return themes


def _about(item: _Chosen, subject: frozenset[str], used: set[str]) -> Sentence | None:
    """A sentence of the paper that speaks of the subject, concluding ones first."""
    if not item.paper.whole or item.paper.study_type.lower() in _NO_CLAIMS:
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


def _shared_subjects(question: str, chosen: Sequence[_Chosen]) -> list[tuple[str, list[_Chosen]]]:
    names: dict[str, str] = {}
    holders: dict[str, list[_Chosen]] = {}
    for item in chosen:
        for heading in (*item.paper.headings, *_pairs(item.paper.title)):
            key = " ".join(sorted(set(stems(heading))))
            if bare(heading) in _NO_SUBJECT or not key or not _fit_for_name(heading):
                continue
            names.setdefault(key, _straight(heading))
            if item not in holders.setdefault(key, []):
                holders[key].append(item)
    asked = set(stems(question))
    shared = [(key, items) for key, items in holders.items() if len(items) > 1]

    def weight(entry: tuple[str, list[_Chosen]]) -> tuple[float, int]:
        key, items = entry
        close = len(asked & set(key.split())) / len(key.split())
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


def _stated_gaps(chosen: Sequence[_Chosen]) -> list[DraftGap]:
    """What authors call unknown, one sentence of a paper at most."""
    gaps: list[DraftGap] = []
    for item in chosen:
        sentence = next((s for s in reversed(item.sentences) if s.names_gap and s.repeatable), None)
        if sentence is None or not item.paper.whole or len(gaps) == _GAPS:
            continue
        introduction = f"The authors of {_with_article(_study(item.paper)).lower()} name as open"
        gaps.append(
            DraftGap(
                description=_cited(introduction, sentence, item.paper.reference),
                basis="stated_in_literature",
                references=[item.paper.reference],
                searches=[],
                quotes=[sentence.text],
            )
        )
    return gaps


def _null_searches(papers: Sequence[Paper], searches: Sequence[Asked]) -> list[DraftGap]:
    """Searches that were answered with nothing, as one gap: a failed search is none."""
    empty = [search for search in searches if search.status == "empty"]
    if not empty:
        return []
    sources = _listing(list(dict.fromkeys(search.source for search in empty)))
    if papers:
        text = f"The narrowest searches found no record in {sources}; wider ones found the works that are listed here."
    else:
        text = f"The searches of {sources} found no record on this question."
    ids = [search.search_id for search in empty]
    return [DraftGap(description=text, basis="null_search", references=[], searches=ids, quotes=[])]
