"""From a question to queries: its concepts by specificity, and a ladder from the narrowest search to the widest."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from literature_agent.agents.citations import pasted_citations
from literature_agent.agents.words import (
    STOP_WORDS,
    bare,
    closed_compound,
    is_weak,
    other_spelling,
    specificity,
    split_compound,
    stem,
    synonyms,
    truncated,
    word_tokens,
)
from literature_agent.ids import find_identifiers

Form = Literal["plain", "narrow", "truncated"]

_LONGEST_QUESTION = 3_000
_MOST_CONCEPTS = 6
_FIRST_CONCEPTS = 3
_MOST_WORDS = 16
_LONGEST_NAME = 3
_POPULATION = 0.5
SPECIFIC = 0.95
"""Weight from which a concept narrows a search by itself."""


@dataclass(frozen=True)
class Concept:
    """One thing the question is about: its names, the question's own first, and how much it narrows a search."""

    names: tuple[str, ...]
    weight: float


@dataclass(frozen=True)
class Plan:
    """Concepts, most specific first, and all words of the question that carry meaning."""

    concepts: tuple[Concept, ...]
    words: tuple[str, ...]

    @property
    def first(self) -> tuple[Concept, ...]:
        """The concepts of the first search: two or three, or the only one there is."""
        specific = [concept for concept in self.concepts if concept.weight >= SPECIFIC]
        return self.concepts[: max(2, min(_FIRST_CONCEPTS, len(specific)))]


def plan_question(question: str) -> Plan:
    """The plan for `question`. A question without any word of meaning is planned from the words it has."""
    concepts: dict[frozenset[str], Concept] = {}
    for chunk in _chunks(question):
        for phrase, weight in _concepts_of(chunk):
            concepts.setdefault(frozenset(stem(word) for word in phrase), Concept(_names(phrase), weight))
    # A word that also stands in a phrase of its own says nothing more.
    distinct = [concept for key, concept in concepts.items() if not any(key < other for other in concepts)]
    order = sorted(distinct, key=lambda concept: -concept.weight)
    words = content_words(question)
    if not order:
        fallback = words or [word for word in word_tokens(without_identifiers(question)) if len(word) > 2]
        order = [Concept((word,), 0.25) for word in dict.fromkeys(fallback)]
    return Plan(tuple(order[:_MOST_CONCEPTS]), _by_specificity(words))


def content_words(question: str) -> list[str]:
    """Words of the question that carry meaning, as written, in order, each once; compounds of two words split."""
    found: dict[str, str] = {}
    for clause in _clauses(question):
        for word in _words_of(clause):
            plain = re.sub(r"['’]s?$", "", word)
            if plain and plain.lower() not in STOP_WORDS and (len(plain) > 1 or not plain.isascii()):
                found.setdefault(stem(plain), plain)
    return list(found.values())


def without_identifiers(question: str) -> str:
    """The question without pasted citations, identifiers, references and field tags, which no word search should
    hold."""
    text = question[:_LONGEST_QUESTION]
    for citation in reversed(pasted_citations(text)):
        text = f"{text[: citation.start]} {text[citation.end :]}"
    text = re.sub(r"«[^«»]{0,80}»|\[[A-Za-z/ :~\d-]{1,30}\]", " ", text)
    at, kept = 0, []
    for found in find_identifiers(text):
        kept.append(text[at : found.start])
        at = found.end
    return " ".join([*kept, text[at:]])


def _clauses(question: str) -> list[str]:
    text = without_identifiers(question)
    return [clause for clause in re.split(r"[^\w\s'’.·/+-]+|(?<=\w)\.(?=\s|$)|\s[-–]\s", text) if clause.strip()]


def _words_of(clause: str) -> list[str]:
    """Words of a clause; the capital that only opens a sentence is taken off."""
    words = [word for token in word_tokens(clause) for word in split_compound(token)]
    if words and words[0][:1].isupper() and words[0][1:].islower():
        words[0] = words[0].lower()
    return words


def _chunks(question: str) -> list[list[str]]:
    """Runs of words that carry meaning, cut at punctuation, stop words and weak words; named phrases stay whole."""
    chunks: list[list[str]] = [[]]
    for clause in _clauses(question):
        words = _words_of(clause)
        at = 0
        while at < len(words):
            length = _known_phrase(words, at)
            if length:
                chunks += [words[at : at + length], []]
            elif bare(words[at]) in STOP_WORDS or is_weak(words[at]):
                if _is_number_behind_type(words, at):
                    chunks[-1].append(words[at])
                else:
                    chunks.append([])
            else:
                chunks[-1].append(words[at])
            at += max(length, 1)
        chunks.append([])
    return [chunk for chunk in chunks if chunk]


def _is_number_behind_type(words: Sequence[str], at: int) -> bool:
    """Whether `type`, `stage` or `grade` stands before a number here, as in `type 2 diabetes`."""
    return bare(words[at]) == "type" and at + 1 < len(words) and bool(re.fullmatch(r"\d|[IV]{1,3}", words[at + 1]))


def _known_phrase(words: Sequence[str], at: int) -> int:
    for length in range(_LONGEST_NAME, 1, -1):
        if len(words) >= at + length and synonyms(" ".join(words[at : at + length])):
            return length
    return 0


def _concepts_of(chunk: Sequence[str]) -> list[tuple[tuple[str, ...], float]]:
    """A run of words as concepts: a short run is one; of a longer one the head and each word before it."""
    texts = tuple(re.sub(r"['’]s?$", "", word) for word in chunk)
    if " ".join(text.lower() for text in texts).startswith(("older ", "old age", "elderly")):
        return [(texts, _POPULATION)]
    if len(chunk) <= _LONGEST_NAME:
        return [(texts, _weight(chunk))]
    before, head = texts[:-2], texts[-2:]
    return [*(((word,), specificity(word)) for word in before), (head, _weight(head))]


def _weight(chunk: Sequence[str]) -> float:
    weights = sorted((specificity(word) for word in chunk), reverse=True)
    return weights[0] + 0.25 * sum(weights[1:])


def _names(words: Sequence[str]) -> tuple[str, ...]:
    """The phrase as the question has it, its other spelling, its closed compound, and other names of the thing."""
    phrase = " ".join(words)
    names = [phrase]
    respelled = [other_spelling(word) or word for word in words]
    if respelled != list(words):
        names.append(" ".join(respelled))
    closed = [closed_compound(word) or word for word in words]
    if closed != list(words):
        names.append(" ".join(closed))
    names.extend(synonyms(phrase))
    return tuple(dict.fromkeys(names))


def _by_specificity(words: Sequence[str]) -> tuple[str, ...]:
    ranked = sorted(words, key=lambda word: -specificity(word))
    strong = [word for word in ranked if specificity(word) > 0.25]
    return tuple((strong if len(strong) > 1 else ranked)[:_MOST_WORDS])


# --- queries ----------------------------------------------------------------------------------------------------------


class Grammar:
    """Boolean queries in plain words; the base of every source's own way of writing a term."""

    def word(self, word: str, form: Form) -> str:
        if form == "truncated" and (beginning := truncated(word)):
            return f"{beginning}*"
        return word

    def name(self, name: str, form: Form) -> str:
        words = name.split()
        if len(words) == 1:
            return self.word(name, form)
        if form == "narrow" or any(len(word) < 2 for word in words):
            return self.phrase(name, form)
        return "(" + " AND ".join(self.word(word, form) for word in words) + ")"

    def phrase(self, name: str, form: Form) -> str:
        return f'"{name}"'

    def concept(self, concept: Concept, form: Form) -> str:
        written = list(dict.fromkeys(self.name(name, form) for name in concept.names))
        return written[0] if len(written) == 1 else "(" + " OR ".join(written) + ")"

    def all_of(self, concepts: Sequence[Concept], form: Form = "plain") -> str:
        return " AND ".join(self.concept(concept, form) for concept in concepts)

    def any_two_of(self, concepts: Sequence[Concept], form: Form = "plain") -> str:
        pairs = combinations(concepts, 2)
        return " OR ".join(f"({self.all_of(pair, form)})" for pair in pairs)

    def any_of(self, words: Sequence[str]) -> str:
        return " OR ".join(self.word(word, "plain") for word in words)

    def heading(self, heading: str) -> str | None:
        """A term for a MeSH heading; None where the source has none."""
        return None


class PubMed(Grammar):
    """Untagged words are mapped to headings and plurals by PubMed itself; tags narrow."""

    def word(self, word: str, form: Form) -> str:
        return f"{word}[tiab]" if form == "narrow" else super().word(word, form)

    def name(self, name: str, form: Form) -> str:
        # Together in parentheses, so that PubMed can map the whole phrase.
        return f"({name})" if form == "plain" and " " in name else super().name(name, form)

    def phrase(self, name: str, form: Form) -> str:
        return f'"{name}"[tiab]' if form == "narrow" else super().phrase(name, form)

    def heading(self, heading: str) -> str | None:
        return f'"{heading}"[mesh]'


class EuropePMC(Grammar):
    """Without a field Europe PMC searches full texts, where most words stand somewhere: title and abstract only."""

    def word(self, word: str, form: Form) -> str:
        return f"TITLE_ABS:{super().word(word, form)}"

    def phrase(self, name: str, form: Form) -> str:
        return f'TITLE_ABS:"{name}"'


def grammar_of(source: str) -> Grammar:
    """How to write queries for the source of this name."""
    return {"pubmed": PubMed, "europepmc": EuropePMC}.get(source, Grammar)()


def first_query(plan: Plan, grammar: Grammar) -> str:
    """The narrowest search: the most specific concepts, all of them required."""
    return grammar.all_of(plan.first)


def narrower_query(plan: Plan, grammar: Grammar) -> str:
    """The same concepts, in titles and abstracts only and as phrases."""
    return grammar.all_of(plan.first, "narrow")


def wider_queries(plan: Plan, grammar: Grammar, step: int) -> list[str]:
    """Searches for the `step`-th widening (1, 2), from the less to the more wide; empty when none is left."""
    first = plan.first
    if step == 1:
        if len(first) > 2:
            return [grammar.all_of(first[:-1]), grammar.any_two_of(first)]
        return [grammar.all_of(first, "truncated")]
    if step == 2:
        widest = grammar.any_of(plan.words) if plan.words else grammar.any_of([c.names[0] for c in plan.concepts])
        if len(first) > 2:
            return [grammar.any_two_of(first[:3], "truncated"), widest]
        return [widest]
    return []


def scanning_query(plan: Plan, grammar: Grammar) -> str:
    """The one query for a source that reads a whole window of dates for each: any two concepts, by word beginnings."""
    first = plan.first
    return grammar.any_two_of(first, "truncated") if len(first) > 2 else grammar.all_of(first, "truncated")


def simpler_query(plan: Plan) -> str:
    """For a source that refused a query: the one or two most specific words, without any syntax."""
    return " ".join(concept.names[0] for concept in plan.concepts[:2]) or " ".join(plan.words[:2])


def related_query(plan: Plan, grammar: Grammar, titles: Sequence[str]) -> str | None:
    """The most specific concept with words that several titles share and the question lacks; None without those."""
    known = {stem(word) for concept in plan.concepts for name in concept.names for word in name.split()}
    known |= {stem(word) for word in plan.words}
    holders: Counter[str] = Counter()
    spelled: dict[str, str] = {}
    for title in titles:
        words = {stem(word): word for token in word_tokens(title) for word in split_compound(token)}
        for key, word in words.items():
            if key not in known and specificity(word) >= SPECIFIC and not word.isdigit():
                spelled.setdefault(key, word)
                holders[key] += 1
    shared = [(count * specificity(spelled[key]), spelled[key]) for key, count in holders.items() if count > 2]
    new = [word for _, word in sorted(shared, key=lambda item: -item[0])[:3]]
    if not new or not plan.concepts:
        return None
    return f"{grammar.concept(plan.concepts[0], 'plain')} AND ({grammar.any_of(new)})"


def heading_query(plan: Plan, grammar: Grammar, headings: Sequence[Sequence[str]]) -> str | None:
    """The concepts of the question by the subject headings of the papers read; None where fewer than two have one.

    `headings` are those of each paper, best first.
    """
    terms: list[str] = []
    for concept in plan.first:
        own = {stem(word) for name in concept.names for word in name.split()}
        counts = Counter(name for names in headings for name in names if own & {stem(w) for w in word_tokens(name)})
        for name, count in counts.most_common(1):
            term = grammar.heading(name)
            if count > 1 and term is not None and term not in terms:
                terms.append(term)
    return " AND ".join(terms) if len(terms) > 1 else None
