"""An answer put together by rule from what a run has shown: sentences selected, none written.

It is what the extractive model submits, and what stands in for an answer when a run ends before its model has
submitted one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from literature_agent.agents.abstracts import Sentence
from literature_agent.agents.evidence import Asked, Paper
from literature_agent.agents.gaps import null_searches, stated_gaps
from literature_agent.agents.rank import Wording, rank
from literature_agent.agents.selection import Chosen, bearing_papers, choose, unreliable_papers
from literature_agent.agents.telling import (
    capital,
    listing,
    number_of,
    references_of,
    study_of,
    told_by,
    with_article,
)
from literature_agent.agents.themes import themes_of
from literature_agent.outputs import AggregationDraft, DraftArticle
from literature_agent.render.search_log import source_label

_CLAIMS = 6
_TRUSTED = 4
_CLAIM_CHARACTERS = 1_800


def compose(
    question: str,
    papers: Sequence[Paper],
    searches: Sequence[Asked],
    max_articles: int = 20,
    named: Collection[str] = (),
) -> AggregationDraft:
    """The answer to `question` that `papers` and `searches` allow, from words that stand in them.

    Retracted works and works under an expression of concern carry nothing: they are named as what they are, and listed
    last. Notices are left out; a preprint gives way to its published version.
    Without papers that bear on the question the answer says so and cites nothing. `named` are references of works that
    the question itself names.
    """
    wording = Wording(question)
    ranked = rank(question, papers, named)
    chosen = choose(wording, bearing_papers(ranked, max_articles), named)
    unreliable = unreliable_papers(ranked)
    told = _claims(wording, chosen)
    listed = [*(_article(item) for item in chosen), *(_unreliable_article(paper) for paper in unreliable)]
    return AggregationDraft(
        summary=_summary(wording, chosen, told, unreliable, papers, searches),
        relevant_articles=listed[:max_articles],
        key_themes=themes_of(wording, chosen, {claim.text for _, claim in told}),
        research_gaps=[*stated_gaps(chosen), *null_searches(wording, searches)],
    )


def _claims(wording: Wording, chosen: Sequence[Chosen]) -> list[tuple[Chosen, Sentence]]:
    """The sentences of the summary, one of a paper, as many as fit.

    A conclusion of one of the best papers answers the question even if it does not repeat its words.
    """
    told: list[tuple[Chosen, Sentence]] = []
    length = 0
    for place, item in enumerate(chosen):
        if item.claim is None or len(told) == _CLAIMS:
            continue
        if place >= _TRUSTED and not wording.share_of(item.claim.text):
            continue
        length += len(item.claim.text)
        if told and length > _CLAIM_CHARACTERS:
            break
        told.append((item, item.claim))
    return told


def _summary(
    wording: Wording,
    chosen: Sequence[Chosen],
    told: Sequence[tuple[Chosen, Sentence]],
    unreliable: Sequence[Paper],
    papers: Sequence[Paper],
    searches: Sequence[Asked],
) -> str:
    if not chosen:
        return " ".join([_without_support(wording, unreliable, papers, searches), *_marked(unreliable)])
    works = [item.paper for item, _ in told]
    if told:
        abstracts = number_of(len(works), "abstract")
        lead = (
            f"These sentences were selected by rule, without a language model, from {abstracts} close to the question; "
            f"they are copied, not weighed against each other {references_of(works)}."
        )
    else:
        lead = (
            f"The searches found {number_of(len(chosen), 'work')} that may bear on the question; from what was read of "
            f"them no sentence could be selected as an answer {references_of(i.paper for i in chosen[:_CLAIMS])}."
        )
    return " ".join([lead, *(told_by(item.paper, sentence) for item, sentence in told), *_marked(unreliable)])


def _without_support(
    wording: Wording, unreliable: Sequence[Paper], papers: Sequence[Paper], searches: Sequence[Asked]
) -> str:
    if unreliable:
        return (
            "The searches found no work on this question that can be relied on: what bears on it has been retracted "
            f"or is under an expression of concern {references_of(unreliable)}."
        )
    if papers and any(search.status != "failed" for search in searches):
        found = f"No evidence was found on {_subject(wording)}: the searches found only works on other subjects."
        return f"{found}{_not_known(searches)}"
    return _nothing(searches)


def _marked(unreliable: Sequence[Paper]) -> Iterator[str]:
    """A sentence for each work that bears on the question and carries nothing, which says why."""
    for paper in unreliable:
        told = f"on this question {_state(paper)} and supports nothing here"
        yield f"{with_article(study_of(paper))} {told} {paper.reference}."


def _subject(wording: Wording) -> str:
    return listing([concept.names[0] for concept in wording.concepts] or list(wording.stems) or ["this question"])


def _nothing(searches: Sequence[Asked]) -> str:
    answered = _labels(search for search in searches if search.status != "failed")
    if not searches:
        return "No search was made, so this says nothing about the literature."
    if not answered:
        return f"No source answered ({listing(_labels(searches))}), so this says nothing about the literature."
    text = f"No evidence was found: {listing(answered)} answered and had no match for this question."
    return f"{text}{_not_known(searches)}"


def _not_known(searches: Sequence[Asked]) -> str:
    """A sentence on the sources of which every search failed, after a space; empty where there are none."""
    answered = _labels(search for search in searches if search.status != "failed")
    unknown = [source for source in _labels(searches) if source not in answered]
    return f" What {listing(unknown)} would hold is not known, as every search there failed." if unknown else ""


def _labels(searches: Iterable[Asked]) -> list[str]:
    return list(dict.fromkeys(source_label(search.source) for search in searches))


def _article(item: Chosen) -> DraftArticle:
    paper = item.paper
    place = "title and abstract" if paper.abstract and paper.title else "abstract" if paper.abstract else "title"
    subject = study_of(paper)
    if item.subjects:
        reason = f"{capital(subject)} whose {place} {_verb(place)} {listing(item.subjects[:6])}."
    else:
        reason = f"{capital(subject)} found by the searches for this question."
    quotes = [item.claim.text] if item.claim and item.claim.quotable else []
    return DraftArticle(reference=paper.reference, reason=reason, quotes=quotes)


def _unreliable_article(paper: Paper) -> DraftArticle:
    reason = f"{capital(study_of(paper))} on this question that {_state(paper)}: it supports nothing."
    return DraftArticle(reference=paper.reference, reason=reason, quotes=[])


def _state(paper: Paper) -> str:
    return "has been retracted" if "retracted" in paper.marks else "is under an expression of concern"


def _verb(place: str) -> str:
    return "cover" if " and " in place else "covers"
