"""An answer put together by rule from what a run has shown: sentences selected, none written.

It is what the extractive model submits, and what stands in for an answer when a run ends before its model has
submitted one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from literature_agent.agents.abstracts import Sentence, sentences_of
from literature_agent.agents.evidence import UNTYPED, Asked, Paper
from literature_agent.agents.rank import Ranked, Wording, rank, text_of
from literature_agent.agents.words import STOP_WORDS, bare, is_weak, stems, word_tokens
from literature_agent.outputs import AggregationDraft, DraftArticle, DraftGap, DraftTheme
from literature_agent.render.search_log import source_label

# Below these shares a paper has little more in common with the question than any paper of the field; chosen so that
# the paper known to answer a question stays in, and unrelated ones stay out.
_LEAST_SCORE = 0.30
_LEAST_COVERED = 0.50
_KEPT_ANYWAY = 3
_UNRELIABLE = 3
_CLAIMS = 6
_TRUSTED = 4
_CLAIM_CHARACTERS = 1_800
_THEMES = 5
_GAPS = 4
_LISTED = 10
_LONGEST_ACRONYM = 6
# What views and registry call the published version of a preprint.
_PUBLISHED = ("paper", "published_as")
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
    subjects: tuple[str, ...]
    """What the question is about and the paper holds."""
    quoted: bool = True
    """Whether it holds enough of the question for its sentences to stand as an answer."""


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
    selected = _selected(ranked, max_articles)
    most = max((wording.share_of(text_of(paper)) for paper in selected), default=0.0)
    chosen = [_chosen(wording, paper, _is_quoted(wording, paper, most, named)) for paper in selected]
    unreliable = _unreliable(ranked)
    told = _claims(wording, chosen)
    listed = [*(_article(item) for item in chosen), *(_unreliable_article(paper) for paper in unreliable)]
    return AggregationDraft(
        summary=_summary(wording, chosen, told, unreliable, papers, searches),
        relevant_articles=listed[:max_articles],
        key_themes=_themes(wording, chosen, {claim.text for _, claim in told}),
        research_gaps=[*_stated_gaps(chosen), *_null_searches(wording, searches)],
    )


def select(question: str, papers: Sequence[Paper], at_most: int, named: Collection[str] = ()) -> list[Paper]:
    """The papers that bear on the question and may carry a claim, best first, each family once."""
    return _selected(rank(question, papers, named), at_most)


def _selected(ranked: Sequence[Ranked], at_most: int) -> list[Paper]:
    bearing = [item for item in ranked if item.paper.supports and item.bears]
    # Of a long question even the best paper holds a small part.
    covered = min(_LEAST_COVERED, max((item.covered for item in bearing), default=0.0) / 2)
    kept = [item for item in bearing if item.named or (item.score >= _LEAST_SCORE and item.covered >= covered)]
    if len(kept) < _KEPT_ANYWAY:
        kept = bearing[:_KEPT_ANYWAY]
    return _published_first(kept, ranked)[:at_most]


def _unreliable(ranked: Sequence[Ranked]) -> list[Paper]:
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


# --- sentences --------------------------------------------------------------------------------------------------------

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


def _chosen(wording: Wording, paper: Paper, quoted: bool) -> _Chosen:
    sentences = tuple(sentences_of(paper))
    claim = None
    if quoted and paper.whole and paper.study_type.lower() not in _NO_CLAIMS:
        claim = _best_answer(sentences, wording)
    return _Chosen(paper, sentences, claim, tuple(wording.named_in(text_of(paper))), quoted)


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


def _claims(wording: Wording, chosen: Sequence[_Chosen]) -> list[tuple[_Chosen, Sentence]]:
    """The sentences of the summary, one of a paper, as many as fit.

    A conclusion of one of the best papers answers the question even if it does not repeat its words.
    """
    told: list[tuple[_Chosen, Sentence]] = []
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


def _cited(introduction: str, sentence: Sentence, reference: str) -> str:
    """`A trial concludes: “...” «reference».` One sentence that carries its reference."""
    words = sentence.text.rstrip(".").translate(_INNER_QUOTES)
    return f"{introduction}: “{words}” {reference}."


_INNER_QUOTES = str.maketrans({"“": "‘", "”": "’", '"': "'"})


def _study(paper: Paper) -> str:
    """`randomised controlled trial of 2021`, `preprint of 2023, not peer-reviewed,`."""
    kind = _TYPE_NAMES.get(paper.study_type.lower(), paper.study_type.lower())
    of = f" of {paper.year}" if paper.year else ""
    if "preprint" not in paper.marks:
        return f"{kind}{of}"
    return (
        f"preprint{of}, not peer-reviewed,"
        if kind in ("paper", "preprint")
        else f"{kind}{of}, a preprint not peer-reviewed,"
    )


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
    wording: Wording,
    chosen: Sequence[_Chosen],
    told: Sequence[tuple[_Chosen, Sentence]],
    unreliable: Sequence[Paper],
    papers: Sequence[Paper],
    searches: Sequence[Asked],
) -> str:
    if not chosen:
        return " ".join([_without_support(wording, unreliable, papers, searches), *_marked(unreliable)])
    works = [item.paper for item, _ in told]
    if told:
        lead = (
            f"These sentences were selected by rule, without a language model, from {_number(len(works), 'abstract')} "
            f"close to the question; they are copied, not weighed against each other {_references(works)}."
        )
    else:
        lead = (
            f"The searches found {_number(len(chosen), 'work')} that may bear on the question; from what was read of "
            f"them no sentence could be selected as an answer {_references(i.paper for i in chosen[:_CLAIMS])}."
        )
    return " ".join([lead, *(_told(item.paper, sentence) for item, sentence in told), *_marked(unreliable)])


def _without_support(
    wording: Wording, unreliable: Sequence[Paper], papers: Sequence[Paper], searches: Sequence[Asked]
) -> str:
    if unreliable:
        return (
            "The searches found no work on this question that can be relied on: what bears on it has been retracted "
            f"or is under an expression of concern {_references(unreliable)}."
        )
    if papers and any(search.status != "failed" for search in searches):
        found = f"No evidence was found on {_subject(wording)}: the searches found only works on other subjects."
        return f"{found}{_not_known(searches)}"
    return _nothing(searches)


def _marked(unreliable: Sequence[Paper]) -> Iterator[str]:
    """A sentence for each work that bears on the question and carries nothing, which says why."""
    for paper in unreliable:
        told = f"on this question {_state(paper)} and supports nothing here"
        yield f"{_with_article(_study(paper))} {told} {paper.reference}."


def _subject(wording: Wording) -> str:
    return _listing([concept.names[0] for concept in wording.concepts] or list(wording.stems) or ["this question"])


def _told(paper: Paper, sentence: Sentence) -> str:
    verb = "concludes" if sentence.concludes else "reports"
    return _cited(f"{_with_article(_study(paper))} {verb}", sentence, paper.reference)


def _nothing(searches: Sequence[Asked]) -> str:
    answered = _labels(search for search in searches if search.status != "failed")
    if not searches:
        return "No search was made, so this says nothing about the literature."
    if not answered:
        return f"No source answered ({_listing(_labels(searches))}), so this says nothing about the literature."
    text = f"No evidence was found: {_listing(answered)} answered and had no match for this question."
    return f"{text}{_not_known(searches)}"


def _not_known(searches: Sequence[Asked]) -> str:
    """A sentence on the sources of which every search failed, after a space; empty where there are none."""
    answered = _labels(search for search in searches if search.status != "failed")
    unknown = [source for source in _labels(searches) if source not in answered]
    return f" What {_listing(unknown)} would hold is not known, as every search there failed." if unknown else ""


def _labels(searches: Iterable[Asked]) -> list[str]:
    return list(dict.fromkeys(source_label(search.source) for search in searches))


def _article(item: _Chosen) -> DraftArticle:
    paper = item.paper
    place = "title and abstract" if paper.abstract and paper.title else "abstract" if paper.abstract else "title"
    subject = _study(paper)
    if item.subjects:
        reason = f"{_capital(subject)} whose {place} {_verb(place)} {_listing(item.subjects[:6])}."
    else:
        reason = f"{_capital(subject)} found by the searches for this question."
    quotes = [item.claim.text] if item.claim and item.claim.quotable else []
    return DraftArticle(reference=paper.reference, reason=reason, quotes=quotes)


def _unreliable_article(paper: Paper) -> DraftArticle:
    reason = f"{_capital(_study(paper))} on this question that {_state(paper)}: it supports nothing."
    return DraftArticle(reference=paper.reference, reason=reason, quotes=[])


def _state(paper: Paper) -> str:
    return "has been retracted" if "retracted" in paper.marks else "is under an expression of concern"


def _capital(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"


def _verb(place: str) -> str:
    return "cover" if " and " in place else "covers"


def _themes(wording: Wording, chosen: Sequence[_Chosen], used: set[str]) -> list[DraftTheme]:
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
            f"{_number(len(items), 'work').capitalize()} listed here share this subject "
            f"{_references(item.paper for item in listed)}."
        ]
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
    if not item.quoted or not item.paper.whole or item.paper.study_type.lower() in _NO_CLAIMS:
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


def _shared_subjects(wording: Wording, chosen: Sequence[_Chosen]) -> list[tuple[str, list[_Chosen]]]:
    names: dict[str, str] = {}
    holders: dict[str, list[_Chosen]] = {}
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

    def weight(entry: tuple[str, list[_Chosen]]) -> tuple[float, int]:
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

    return _capital(re.sub(r"\S+", cased, name))


def _stated_gaps(chosen: Sequence[_Chosen]) -> list[DraftGap]:
    """What authors call unknown, one sentence of a paper at most."""
    gaps: list[DraftGap] = []
    for item in chosen:
        sentence = next((s for s in reversed(item.sentences) if s.names_gap and s.repeatable), None)
        if sentence is None or not item.quoted or not item.paper.whole or len(gaps) == _GAPS:
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


@dataclass(frozen=True)
class _Nothing:
    """Searches of one source with the same limits that asked for the same subjects and were answered with nothing."""

    source: str
    subjects: tuple[str, ...]
    filters: str
    searches: tuple[Asked, ...]
    others: Literal["none", "wider", "other"]
    """The searches of the source that found something, beside them."""


def _null_searches(wording: Wording, searches: Sequence[Asked]) -> list[DraftGap]:
    """Searches that asked for this question and were answered with nothing, a gap for sources of which the same can be
    said: a failed search is none."""
    alike: dict[tuple[object, ...], list[_Nothing]] = {}
    for nothing in _answered_with_nothing(wording, searches):
        same = (nothing.subjects, _limits(nothing.filters), len(nothing.searches), nothing.others)
        alike.setdefault(same, []).append(nothing)
    return [
        DraftGap(
            description=_found_nothing(group),
            basis="null_search",
            references=[],
            searches=[search.search_id for nothing in group for search in nothing.searches],
            quotes=[],
        )
        for group in alike.values()
    ]


def _answered_with_nothing(wording: Wording, searches: Sequence[Asked]) -> Iterator[_Nothing]:
    empty = [search for search in searches if search.status == "empty" and search.as_written]
    for source, filters in dict.fromkeys((search.source, search.filters) for search in empty):
        subjects: tuple[str, ...] = ()
        kept: list[Asked] = []
        for search in empty:
            if (search.source, search.filters) != (source, filters):
                continue
            held = _held(subjects if kept else _subjects(wording), search.query)
            if held:
                subjects = held
                kept.append(search)
        if kept:
            found = [s for s in searches if s.source == source and s.status in ("ok", "partial")]
            yield _Nothing(source, subjects, filters, tuple(kept), _beside(kept, found, subjects))


def _beside(
    empty: Sequence[Asked], found: Sequence[Asked], subjects: Sequence[str]
) -> Literal["none", "wider", "other"]:
    if not found:
        return "none"
    fewest = min(search.query.count(" AND ") for search in empty)
    about = {word for subject in subjects for word in _content(subject)}
    wider = all(s.query.count(" AND ") < fewest and any(_has(s.query, word) for word in about) for s in found)
    return "wider" if wider else "other"


def _found_nothing(group: Sequence[_Nothing]) -> str:
    """One sentence that is true of each source of the group."""
    first = group[0]
    sources = _listing([source_label(nothing.source) for nothing in group])
    subject, number = _listing(first.subjects), len(first.searches)
    limits = f", {within}" if (within := _limits(first.filters)) else ""
    if first.others == "wider":
        asked = "search" if number == len(group) == 1 else "searches"
        said = f" ({within})" if within else ""
        return f"The narrowest {asked} of {sources} on {subject}{said} found no record; wider ones did."
    made = f"{number} {'search' if number == 1 else 'searches'}{' each' if len(group) > 1 else ''}"
    beside = "; other searches there found some" if first.others == "other" else ""
    return f"No record was found in {sources} for {subject} ({made}{limits}){beside}."


_LIMITS = {"languages": "language {}", "publication_types": "of type {}", "since_entry_date": "entered since {}"}
# Other names of the source itself.
_NO_LIMITS = frozenset({"server"})


def _limits(filters: str) -> str:
    """`dated 2026-11-23 to 2026-11-30, language eng` for `date_from=2026-11-23; date_to=2026-11-30; languages=eng`."""
    given = {name.strip(): value.strip() for name, _, value in (part.partition("=") for part in filters.split("; "))}
    since, until = given.pop("date_from", ""), given.pop("date_to", "")
    dated = f"dated {since} to {until}" if since and until else f"dated from {since}" if since else ""
    if until and not since:
        dated = f"dated up to {until}"
    named = [
        _LIMITS.get(name, f"{name.replace('_', ' ')} {{}}").format(value)
        for name, value in given.items()
        if value and name not in _NO_LIMITS
    ]
    return ", ".join(filter(None, [dated, *named]))


def _subjects(wording: Wording) -> tuple[str, ...]:
    return tuple(concept.names[0] for concept in wording.concepts) or wording.stems


def _held(subjects: Sequence[str], query: str) -> tuple[str, ...]:
    """The subjects that a query holds whole; none if it has fewer than two words of them."""
    held = tuple(s for s in subjects if (words := _content(s)) and all(_has(query, word) for word in words))
    return held if len({word for subject in held for word in _content(subject)}) > 1 else ()


def _content(subject: str) -> list[str]:
    return [word for token in word_tokens(subject) if (word := bare(token)) not in STOP_WORDS and not word.isdigit()]


def _has(query: str, word: str) -> bool:
    """Whether a query asks for a word, by itself or by its beginning (`metform*`)."""
    return any(word == part or (part.endswith("*") and word.startswith(part[:-1])) for part in _asked(query))


def _asked(query: str) -> set[str]:
    """The words of a query, field names aside."""
    return {bare(word) for word in re.findall(r"[^\W_][\w-]*\*?", re.sub(r"\b[A-Z_]+:", " ", query))}
