"""Integrity without a judge: what the answer says, held against the corpus files and the transcript.

None of these reads the answer's own `integrity` counters or asks the package's checks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext

from evals.cases import About, Ask, Expected
from evals.evaluators.sentences import bare, count_words, sentences
from evals.library import Library, Work, library_of, plain, with_same, words
from evals.outcome import REFERENCE, SHOWN, Outcome, keys_in, printed
from literature_agent.prompts import load_prompt

Context = EvaluatorContext[Ask, Any, About]
Results = Mapping[str, EvaluationReason]

_LONG_QUOTE = re.compile(r"“([^“”]{50,})”")
_IDENTIFIERS = re.compile(
    r"""(?ix) \b10\.\d{4,9}/\S+ | \bPMC\s?\d{4,} | \bNCT\s?\d{6,} | \bPM\s?ID\b\W{0,3}\d+ | \bISRCTN\d+
    | (?:doi\.org|pubmed|ncbi\.nlm\.nih\.gov|europepmc\.org)\S*/\S+ | \bet\s+al\b
    | \b\d{4}\s*;\s*\d+\s*\(?\d*\)?\s*:\s*\w?\d+"""
)
_BYLINE = re.compile(r"\(\s*[A-Z][^\W\d_]+(?:\s+(?:and|&)\s+[A-Z][^\W\d_]+)?,?\s+(?:19|20)\d\d[a-z]?\s*\)")
_LONG_NUMBER = re.compile(r"(?<![\d.,])\d{7,9}(?![\d.,]*\d)")
_RETRACTED = re.compile(r"retract|withdrawn|withdrew", re.I)
_ABOUT_THE_SEARCH = re.compile(
    r"\bno (?:\w+ ){0,3}(?:evidence|record|stud(?:y|ies)|paper|trial|answer|work|match|hit)s?\b|\bnothing was found\b"
    r"|\b(?:search|searches|searched)\b|\bno summary that could be kept\b",
    re.I,
)
_LEAST_WORDS = 4


def outcome_and_library(ctx: Context) -> tuple[Outcome, Library]:
    """What the case left, and its corpus."""
    outcome = ctx.output
    assert isinstance(outcome, Outcome)
    same = ctx.expected_output.same if isinstance(ctx.expected_output, Expected) else ()
    return outcome, _library(outcome.corpus, same)


@lru_cache(maxsize=64)
def _library(corpus: str, same: tuple[tuple[str, ...], ...]) -> Library:
    return with_same(library_of(corpus), same)


def rate(name: str, hits: int, of: int, faults: Sequence[str] = (), *, empty: float | None = None) -> Results:
    """`hits` of `of` under that name, the faults as reason; with nothing to count: `empty`, or no value."""
    told = "; ".join(faults[:5]) + (f"; and {len(faults) - 5} more" if len(faults) > 5 else "")
    reason = f"{hits} of {of}" + (f": {told}" if told else "")
    if of == 0:
        return {} if empty is None else {name: EvaluationReason(empty, reason)}
    return {name: EvaluationReason(hits / of, reason)}


@dataclass
class FabricatedReferences(Evaluator[Ask, Any, About]):
    """Share of the works an answer refers to that the model was never shown, that the corpus does not have, or that
    are printed with another work's identifiers or title."""

    def evaluate(self, ctx: Context) -> Results:
        outcome, library = outcome_and_library(ctx)
        keys = keys_in(_referring(outcome))
        faults: dict[str, str] = {}
        for key in keys:
            if key not in outcome.shown_keys:
                faults[key] = f"{key} was never shown"
            elif library.find(outcome.identifiers_of(f"«artifact:link:cite~{key}»")) is None:
                faults[key] = f"{key} stands for no record of the corpus"
        for article in outcome.articles:
            key = (keys_in([str(article.get("reference") or "")]) or ["?"])[0]
            if fault := _misprinted(article, library):
                faults.setdefault(key, f"{key} {fault}")
        return rate("fabricated_reference_rate", len(faults), len(keys), [*faults.values()], empty=0.0)


def _misprinted(article: Mapping[str, Any], library: Library) -> str:
    names = list(printed(article))
    work = library.find(names)
    if work is None:
        return f"prints {names}, which the corpus does not have"
    foreign = [name for name in names if name not in work.names and library.find([name]) is not None]
    if foreign:
        return f"prints {foreign[0]}, which is another paper's"
    title = words(str(article.get("title") or ""))
    if work.titles and title and title not in work.titles:
        return f"carries the title {str(article['title'])[:80]!r}"
    return ""


def _referring(outcome: Outcome) -> Iterator[str]:
    """Every place of an answer where a reference may stand."""
    yield from (text for _, text in outcome.prose())
    for article in outcome.articles:
        yield str(article.get("reference") or "")
    for part in (*(outcome.output.get("key_themes") or ()), *(outcome.output.get("research_gaps") or ())):
        yield from part.get("references") or ()


@dataclass
class LeakedIdentifiers(Evaluator[Ask, Any, About]):
    """Share of the sentences of prose that carry a DOI, PMID, PMCID, trial number, author with year, or citation."""

    def evaluate(self, ctx: Context) -> Results:
        outcome, library = outcome_and_library(ctx)
        faults: list[str] = []
        total = 0
        for place, text in outcome.prose():
            for sentence in sentences(text):
                total += 1
                if leak := _leak(bare(sentence), library):
                    faults.append(f"{place}: {leak!r}")
        return rate("leaked_identifier_rate", len(faults), total, faults, empty=0.0)


def _leak(sentence: str, library: Library) -> str:
    for pattern in (_IDENTIFIERS, _BYLINE):
        if found := pattern.search(sentence):
            return found.group()
    for number in _LONG_NUMBER.findall(sentence):
        if number in library.numbers:
            return str(number)
    byline = library.bylines.search(sentence.casefold()) if library.bylines is not None else None
    return byline.group() if byline is not None else ""


@dataclass
class QuotePassRate(Evaluator[Ask, Any, About]):
    """Share of the quotes, listed or in prose, that stand word for word in the paper they are ascribed to."""

    def evaluate(self, ctx: Context) -> Results:
        outcome, library = outcome_and_library(ctx)
        faults: list[str] = []
        total = 0
        for part in (*outcome.articles, *(outcome.output.get("research_gaps") or ())):
            for quote in part.get("quotes") or ():
                total += 1
                if not stands(quote, library):
                    faults.append(f"{quote['copy']}: {quote['text'][:80]!r}")
        for place, text in outcome.prose():
            for sentence in sentences(text):
                works = _works_named(outcome, library, sentence)
                for said in _LONG_QUOTE.findall(sentence):
                    total += 1
                    if not _in_any(said, works):
                        faults.append(f"{place}: {said[:80]!r}")
        return rate("quote_pass_rate", total - len(faults), total, faults)


def stands(quote: Mapping[str, Any], library: Library) -> bool:
    """Whether a listed quote stands in the paper that its `copy` names."""
    source, _, name = str(quote["copy"]).partition(":")
    work = library.find((name, name.lower(), f"{source}:{name}", name.rpartition(":")[2]))
    return work is not None and _in_any(str(quote["text"]), [work])


def _works_named(outcome: Outcome, library: Library, sentence: str) -> list[Work]:
    references = [match.group() for match in REFERENCE.finditer(sentence)]
    found = [library.find(outcome.identifiers_of(reference)) for reference in references]
    return [work for work in found if work is not None]


def _in_any(said: str, works: Iterable[Work]) -> bool:
    wanted = plain(said).rstrip(".")
    return any(wanted in text for work in works for text in work.texts)


@dataclass
class UnsupportedClaims(Evaluator[Ask, Any, About]):
    """Share of the claims of summary and themes that carry no reference.

    A claim is a sentence of four words or more that says something of the literature; what says that nothing was
    found is none. A theme's list of references supports all that its description says.
    """

    def evaluate(self, ctx: Context) -> Results:
        outcome, _ = outcome_and_library(ctx)
        faults: list[str] = []
        total = 0
        for place, text, supported in _claiming(outcome):
            for sentence in sentences(text):
                if count_words(sentence) < _LEAST_WORDS or _ABOUT_THE_SEARCH.search(bare(sentence)):
                    continue
                total += 1
                if "[unsupported]" in sentence or not (supported or REFERENCE.search(sentence)):
                    faults.append(f"{place}: {bare(sentence)[:100]!r}")
        return rate("unsupported_claim_rate", len(faults), total, faults, empty=0.0)


def _claiming(outcome: Outcome) -> Iterator[tuple[str, str, bool]]:
    yield "summary", str(outcome.output.get("summary") or ""), False
    for theme in outcome.output.get("key_themes") or ():
        yield "theme", str(theme.get("description") or ""), bool(theme.get("references"))


@dataclass
class RetractedAsSupport(Evaluator[Ask, Any, About]):
    """Share of the support (a reference in a sentence, or in a theme's list) that is a retracted paper, where the
    sentence does not say so, and of listed retracted papers that carry no mark."""

    def evaluate(self, ctx: Context) -> Results:
        outcome, library = outcome_and_library(ctx)
        faults: list[str] = []
        total = 0
        for place, said, reference in _supports(outcome):
            total += 1
            work = library.find(outcome.identifiers_of(reference))
            if work is not None and work.retracted and not _RETRACTED.search(bare(said)):
                faults.append(f"{place} rests on {sorted(work.names)[0]}, which is retracted")
        for article in outcome.articles:
            work = library.find(printed(article))
            if work is not None and work.retracted and article.get("correction_status") != "retracted":
                total += 1
                faults.append(f"{sorted(work.names)[0]} is listed without its mark")
        return rate("retracted_as_support_rate", len(faults), total, faults, empty=0.0)


def _supports(outcome: Outcome) -> Iterator[tuple[str, str, str]]:
    for place, text in outcome.prose():
        if place == "reason":
            continue
        for sentence in sentences(text):
            yield from ((place, sentence, match.group()) for match in REFERENCE.finditer(sentence))
    for theme in outcome.output.get("key_themes") or ():
        said = f"{theme.get('name')} {theme.get('description')}"
        yield from (("theme list", said, reference) for reference in theme.get("references") or ())


@dataclass
class VersionDoubleCount(Evaluator[Ask, Any, About]):
    """Share of the listed studies that stand there twice, as preprint and as paper, without either naming the other,
    or that the answer's own count of studies counts twice."""

    def evaluate(self, ctx: Context) -> Results:
        outcome, library = outcome_and_library(ctx)
        listed: dict[int | str, list[Mapping[str, Any]]] = {}
        for article in outcome.articles:
            work = library.find(printed(article))
            listed.setdefault(work.study if work is not None else str(article.get("reference")), []).append(article)
        faults = [
            f"{[list(printed(one))[:1] for one in group]} are one study"
            for group in listed.values()
            if len(group) > 1 and not any(_names_one_of(one, group) for one in group)
        ]
        counted = (outcome.output.get("flow") or {}).get("studies")
        if not faults and counted is not None and counted > len(listed):
            faults.append(f"{counted} studies are counted where there are {len(listed)}")
        return rate("version_double_count_rate", len(faults), len(listed), faults, empty=0.0)


def _names_one_of(article: Mapping[str, Any], group: Sequence[Mapping[str, Any]]) -> bool:
    others = {name for other in group if other is not article for name in printed(other)}
    related = [one for one in article.get("related") or () if one.get("relation") != "pmc_copy"]
    return any(name in others for one in related for name in printed({**one}))


@dataclass
class GapSupport(Evaluator[Ask, Any, About]):
    """Share of the research gaps that have what they claim to rest on: a quote that stands in a paper, or a search
    that the model was told is empty. A gap that says it was not searched for claims nothing."""

    def evaluate(self, ctx: Context) -> Results:
        outcome, library = outcome_and_library(ctx)
        empty = {search.search_id for search in outcome.shown_searches if search.status == "empty"}
        gaps = outcome.output.get("research_gaps") or ()
        faults: list[str] = []
        for gap in gaps:
            basis = gap.get("basis")
            if basis == "stated_in_literature":
                held = any(stands(quote, library) for quote in gap.get("quotes") or ())
            elif basis == "null_search":
                held = bool(gap.get("searches")) and set(gap["searches"]) <= empty
            else:
                held = basis == "not_searched"
            if not held:
                faults.append(f"{basis}: {bare(str(gap.get('description')))[:80]!r}")
        return rate("gap_support_rate", len(gaps) - len(faults), len(gaps), faults)


@dataclass
class HonestStatus(Evaluator[Ask, Any, About]):
    """1 where the status is what the transcript shows, and `limitations` names every source that failed."""

    def evaluate(self, ctx: Context) -> Results:
        outcome, _ = outcome_and_library(ctx)
        said = str(outcome.output.get("status"))
        limitations = " ".join(outcome.output.get("limitations") or ())
        failed = {search.source for search in outcome.shown_searches if search.status == "failed"}
        allowed = _statuses(outcome, failed)
        faults = [] if said in allowed else [f"says {said!r}, was {' or '.join(sorted(allowed))!r}"]
        faults += [f"does not say that {source} failed" for source in sorted(failed) if source not in limitations]
        if said == "partial" and not failed and not limitations:
            faults.append("does not say why it is partial")
        return rate("honest_status_rate", 0 if faults else 1, 1, faults)


def _statuses(outcome: Outcome, failed: set[str]) -> set[str]:
    """What the status may be, as the transcript tells."""
    answered = [search for search in outcome.shown_searches if search.status != "failed"]
    closing = load_prompt("closing").strip()
    heard = [said for said in outcome.transcript if said.kind in SHOWN]
    calls = [said for said in outcome.transcript if said.kind == "call"]
    early = any(closing in said.text for said in heard) or not calls or calls[-1].tool != SUBMIT
    if not answered and not outcome.shown_keys:
        return {"failed", "partial"} if early and not failed else {"failed"}
    if early or failed:
        return {"partial"}
    return {"complete"} if outcome.shown_keys else {"no_evidence"}


SUBMIT = "submit_answer"
"""The tool by which the model gives its answer."""


@dataclass
class RepairRounds(Evaluator[Ask, Any, About]):
    """How often a submitted answer went back to the model."""

    def evaluate(self, ctx: Context) -> Results:
        outcome, _ = outcome_and_library(ctx)
        rounds = [said for said in outcome.transcript if said.kind == "correction" and said.tool == SUBMIT]
        told = f"{len(rounds)} rounds" + (f": {rounds[0].text[-200:]!r}" if rounds else "")
        return {"repair_rounds": EvaluationReason(len(rounds), told)}


INTEGRITY: tuple[type[Evaluator[Ask, Any, About]], ...] = (
    FabricatedReferences,
    LeakedIdentifiers,
    QuotePassRate,
    UnsupportedClaims,
    RetractedAsSupport,
    VersionDoubleCount,
    GapSupport,
    HonestStatus,
    RepairRounds,
)
