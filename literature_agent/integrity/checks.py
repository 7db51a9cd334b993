"""All checks over one draft: `review` says together what is to be mended, `settle` cuts what was not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from literature_agent.artifacts import Quote
from literature_agent.errors import counted
from literature_agent.integrity.desk import Desk
from literature_agent.integrity.gaps import objection, says_absent, search_id_of, states
from literature_agent.integrity.prose import (
    NOT_WORD_FOR_WORD,
    UNSUPPORTED,
    Problem,
    Prose,
    Tally,
    one_study,
    review_prose,
    review_reference,
    settle_prose,
)
from literature_agent.integrity.quotes import verify_quote
from literature_agent.integrity.sentences import sentence_spans
from literature_agent.integrity.standing import counted_twice, silent_mark
from literature_agent.outputs import AggregationDraft, DraftGap, IntegrityReport, KeyTheme, ResearchGap
from literature_agent.registry import find_references

CITED_ONLY = "Cited in the answer; no reason of its own was given."
PUBLISHED_VERSION = "Published version of the preprint {}."

MOST_POINTS = 60
"""Points of one repair message; more of them help nobody to mend the answer."""


@dataclass(frozen=True)
class CitedArticle:
    """An article that passed: canonical reference, reason, verified quotes."""

    reference: str
    reason: str
    quotes: tuple[Quote, ...] = ()


@dataclass(frozen=True)
class Settled:
    """What is left of a draft when code has cut everything that can't be kept."""

    summary: str
    articles: tuple[CitedArticle, ...]
    themes: tuple[KeyTheme, ...]
    gaps: tuple[ResearchGap, ...]
    integrity: IntegrityReport

    @property
    def prose(self) -> tuple[str, ...]:
        """Everything in it that the model wrote."""
        themes = (text for theme in self.themes for text in (theme.name, theme.description))
        gaps = (gap.description for gap in self.gaps)
        return self.summary, *(article.reason for article in self.articles), *themes, *gaps

    @property
    def cited(self) -> tuple[str, ...]:
        """Every work that the answer cites anywhere, articles first."""
        listed = [article.reference for article in self.articles]
        listed += [str(found.reference) for text in self.prose for found in find_references(text) if found.reference]
        listed += [reference for theme in self.themes for reference in theme.references]
        listed += [reference for gap in self.gaps for reference in gap.references]
        return tuple(dict.fromkeys(listed))


# --- review -----------------------------------------------------------------------------------------------------------


def review(draft: AggregationDraft, desk: Desk) -> tuple[Problem, ...]:
    """Everything in the draft that is to be mended, each thing once; empty if it can stand as it is."""
    problems = [problem for prose in _prose(draft, desk) for problem in review_prose(prose, desk)]
    if not re.search(r"\w", draft.summary):
        problems.append(
            Problem("summary", draft.summary[:160], "answer the question here, or say that nothing was found.")
        )
    for name, references in _reference_lists(draft):
        problems += [p for raw in references if (p := review_reference(name, raw, desk)) is not None]
        for earlier, later in counted_twice("", _shown(references, desk), desk).items():
            problems.append(Problem(name, earlier, one_study(earlier, later, desk)))
    for index, article in enumerate(draft.relevant_articles):
        reference = desk.shown(article.reference)
        _, dropped = _verified(article.quotes, [reference] if reference else [], desk)
        problems += [Problem(f"relevant_articles[{index}].quotes", quote[:160], NOT_WORD_FOR_WORD) for quote in dropped]
    for index, theme in enumerate(draft.key_themes):
        problems += _review_silent(f"key_themes[{index}]", f"{theme.name} {theme.description}", theme.references, desk)
    for index, gap in enumerate(draft.research_gaps):
        problems += _review_gap(f"research_gaps[{index}]", gap, desk)
        problems += _review_silent(f"research_gaps[{index}]", gap.description, gap.references, desk)
    return tuple(dict.fromkeys(problems))


def repair_message(problems: Sequence[Problem]) -> str:
    """The points of a repair, one a line; beyond `MOST_POINTS` they are counted by field."""
    lines = [str(problem) for problem in problems[:MOST_POINTS]]
    rest = problems[MOST_POINTS:]
    if rest:
        fields = ", ".join(dict.fromkeys(problem.field.partition("[")[0] for problem in rest))
        lines.append(f"({counted(len(rest), 'more point')} of these kinds, in {fields}.)")
    return "\n".join(lines)


def _prose(draft: AggregationDraft, desk: Desk) -> Iterator[Prose]:
    yield Prose("summary", draft.summary, claims=True)
    for index, article in enumerate(draft.relevant_articles):
        yield Prose(f"relevant_articles[{index}].reason", article.reason, beside=_shown([article.reference], desk))
    for index, theme in enumerate(draft.key_themes):
        beside = _shown(theme.references, desk)
        yield Prose(f"key_themes[{index}].name", theme.name, beside=beside)
        yield Prose(f"key_themes[{index}].description", theme.description, claims=True)
    for index, gap in enumerate(draft.research_gaps):
        yield Prose(f"research_gaps[{index}].description", gap.description, beside=_shown(gap.references, desk))


def _shown(written: Iterable[str], desk: Desk) -> tuple[str, ...]:
    return tuple(dict.fromkeys(reference for raw in written if (reference := desk.shown(raw)) is not None))


def _reference_lists(draft: AggregationDraft) -> Iterator[tuple[str, Sequence[str]]]:
    for index, article in enumerate(draft.relevant_articles):
        yield f"relevant_articles[{index}].reference", [article.reference]
    for index, theme in enumerate(draft.key_themes):
        yield f"key_themes[{index}].references", theme.references
    for index, gap in enumerate(draft.research_gaps):
        yield f"research_gaps[{index}].references", gap.references


def _review_gap(name: str, gap: DraftGap, desk: Desk) -> Iterator[Problem]:
    kept, dropped = _verified(gap.quotes, _shown(gap.references, desk), desk)
    for quote in dropped:
        yield Problem(f"{name}.quotes", quote[:160], NOT_WORD_FOR_WORD)
    if gap.basis == "stated_in_literature" and not kept and not dropped:
        fix = "copy into `quotes` the words in which authors name it, with their reference; else `not_searched`."
        yield Problem(f"{name}.basis", gap.basis, fix)
    elif gap.basis == "stated_in_literature":
        stated = _stated(gap.quotes, gap.references, gap.description, desk)
        if kept and not stated:
            fix = (
                "the quotes do not speak of this gap, or are titles: copy the words in which authors name it, and "
                "describe it in those words; else `not_searched`."
            )
            yield Problem(f"{name}.quotes", gap.quotes[0][:160], fix)
        elif kept:
            for reference in _shown(gap.references, desk):
                if reference not in stated:
                    yield Problem(f"{name}.references", reference, "none of the quotes that name this gap is from it.")
    if gap.basis == "null_search":
        for search_id in gap.searches:
            if (why := objection(search_id, gap.description, desk)) is not None:
                yield Problem(
                    f"{name}.searches",
                    search_id[:160],
                    f"{why}. Mend that or leave the id out; a gap without one is `not_searched`.",
                )
        if not gap.searches:
            fix = "give the ids of the searches that found nothing; else `not_searched`."
            yield Problem(f"{name}.basis", gap.basis, fix)
    if gap.basis == "not_searched":
        for start, end in _unshown_absences(gap.description, desk):
            fix = (
                "says that something is not there: give the id of the search that found nothing, with "
                "`null_search`, or say only what is open."
            )
            yield Problem(f"{name}.description", gap.description[start:end][:160], fix)


def _unshown_absences(description: str, desk: Desk) -> Iterator[tuple[int, int]]:
    """Sentences of a gap without a search that say that something is not there, and no work that says so."""
    for start, end in sentence_spans(description):
        sentence = description[start:end]
        if says_absent(sentence) and not _shown((found.raw for found in find_references(sentence)), desk):
            yield start, end


def _review_silent(name: str, said: str, references: Sequence[str], desk: Desk) -> Iterator[Problem]:
    for reference in _shown(references, desk):
        if (mark := silent_mark(reference, said, desk)) is not None:
            status = "has been retracted" if mark == "[RETRACTED]" else "is under an expression of concern"
            yield Problem(f"{name}.references", reference, f"{status}: say so in the description, or leave it out.")


def _stated(
    quotes: Sequence[str], references: Iterable[str], description: str, desk: Desk
) -> dict[str, tuple[Quote, ...]]:
    """The works whose authors name the gap, each with the words; a title states nothing."""
    stated: dict[str, tuple[Quote, ...]] = {}
    for reference in _shown(references, desk):
        kept, _ = _verified(quotes, [reference], desk)
        kept = tuple(quote for quote in kept if quote.section != "title")
        if states((quote.text for quote in kept), description):
            stated[reference] = kept
    return stated


def _verified(
    quotes: Iterable[str], references: Sequence[str], desk: Desk
) -> tuple[tuple[Quote, ...], tuple[str, ...]]:
    """Quotes that stand in what was shown of the given works, and those that do not."""
    sections = [section for reference in references for section in desk.sections(reference)]
    # Words of the title that stand in the text too are quoted from the text.
    sections.sort(key=lambda each: each.section == "title")
    kept: list[Quote] = []
    dropped: list[str] = []
    for quote in dict.fromkeys(quotes):
        found = verify_quote(quote, sections)
        if found is None:
            dropped.append(quote)
        else:
            kept += [part for part in found if part not in kept]
    return tuple(kept), tuple(dropped)


# --- settle -----------------------------------------------------------------------------------------------------------


def settle(draft: AggregationDraft, desk: Desk, *, max_articles: int, repair_rounds: int = 0) -> Settled:
    """The draft with everything cut that the checks refuse, each cut counted.

    A work that the prose cites is listed among the articles, and so is the published version of a listed preprint.
    """
    tally = Tally()
    summary = settle_prose(Prose("summary", draft.summary, claims=True), desk, tally)
    articles = _settle_articles(draft, desk, tally)
    themes: list[KeyTheme] = []
    for theme in draft.key_themes:
        beside = _shown(theme.references, desk)
        name = settle_prose(Prose("name", theme.name, beside=beside), desk, tally)
        description = settle_prose(Prose("description", theme.description, claims=True), desk, tally)
        references = _settle_references(theme.references, desk, tally)
        description = _with_marks(description, name, references, desk)
        if name and (description or references):
            themes.append(KeyTheme(name=name, description=description, references=references))
    gaps = [gap for draft_gap in draft.research_gaps if (gap := _settle_gap(draft_gap, desk, tally)) is not None]
    report = IntegrityReport(
        unknown_references=tally.unknown_references,
        leaks_replaced=tally.leaks_replaced,
        leaks_cut=tally.leaks_cut,
        quotes_dropped=tally.quotes_dropped,
        claims_unsupported=tally.claims_unsupported,
        gaps_downgraded=tally.gaps_downgraded,
        versions_joined=tally.versions_joined,
        repair_rounds=repair_rounds,
    )
    settled = Settled(summary, tuple(articles), tuple(themes), tuple(gaps), report)
    return Settled(summary, _listed(settled, desk)[:max_articles], settled.themes, settled.gaps, report)


def _listed(settled: Settled, desk: Desk) -> tuple[CitedArticle, ...]:
    """The articles, each published version before its preprint, and at the end what only the prose cites."""
    given = {article.reference: article for article in settled.articles}
    listed: dict[str, CitedArticle] = {}
    for article in settled.articles:
        published = desk.published_version(article.reference)
        if published is not None and published not in listed:
            reason = PUBLISHED_VERSION.format(article.reference)
            listed[published] = given.get(published) or CitedArticle(published, reason)
        listed.setdefault(article.reference, article)
    for reference in settled.cited:
        listed.setdefault(reference, CitedArticle(reference, CITED_ONLY))
    return tuple(listed.values())


def _settle_articles(draft: AggregationDraft, desk: Desk, tally: Tally) -> list[CitedArticle]:
    articles: dict[str, CitedArticle] = {}
    for article in draft.relevant_articles:
        reference = desk.shown(article.reference)
        if reference is None:
            tally.unknown_references += 1
            tally.quotes_dropped += len(article.quotes)
            continue
        final = desk.strongest(reference)
        if final in articles:
            continue
        quotes, dropped = _verified(article.quotes, [reference], desk)
        tally.quotes_dropped += len(dropped)
        reason = settle_prose(Prose("reason", article.reason, beside=(reference,)), desk, tally)
        articles[final] = CitedArticle(final, reason, quotes)
    return list(articles.values())


def _settle_references(written: Iterable[str], desk: Desk, tally: Tally) -> tuple[str, ...]:
    kept: list[str] = []
    for raw in written:
        reference = desk.shown(raw)
        if reference is None:
            tally.unknown_references += 1
        else:
            kept.append(desk.strongest(reference))
    twice = counted_twice("", dict.fromkeys(kept), desk)
    tally.versions_joined += len(twice)
    return tuple(reference for reference in dict.fromkeys(kept) if reference not in twice)


def _with_marks(description: str, name: str, references: Iterable[str], desk: Desk) -> str:
    """`description` with the marks of listed works of which it does not say that they need one."""
    for reference in references:
        if (mark := silent_mark(reference, f"{name} {description}", desk)) is not None:
            description = f"{description} {reference} {mark}".strip()
    return description


def _settle_gap(gap: DraftGap, desk: Desk, tally: Tally) -> ResearchGap | None:
    shown = _shown(gap.references, desk)
    references = _settle_references(gap.references, desk, tally)
    quotes, dropped = _verified(gap.quotes, shown, desk)
    tally.quotes_dropped += len(dropped)
    description = settle_prose(Prose("description", gap.description, beside=shown), desk, tally)
    if not description:
        return None
    searches = tuple(dict.fromkeys(search_id_of(s) for s in gap.searches if objection(s, description, desk) is None))
    basis = gap.basis
    if basis == "stated_in_literature":
        stated = _stated(gap.quotes, references, description, desk)
        if stated:
            references = tuple(stated)
            quotes = tuple(dict.fromkeys(quote for kept in stated.values() for quote in kept))
        else:
            quotes = ()
    if (basis == "stated_in_literature" and not quotes) or (basis == "null_search" and not searches):
        basis = "not_searched"
        tally.gaps_downgraded += 1
    if basis == "not_searched":
        # Beside "not searched for" nobody may read that nothing was found.
        unshown = [end for _, end in _unshown_absences(description, desk)]
        tally.claims_unsupported += len(unshown)
        for end in reversed(unshown):
            description = description[:end] + UNSUPPORTED + description[end:]
    return ResearchGap(
        description=_with_marks(description, "", references, desk),
        basis=basis,
        references=references,
        searches=searches if basis == "null_search" else (),
        quotes=quotes,
    )
