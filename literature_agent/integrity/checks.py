"""All checks over one draft: `review` says together what is to be mended, `settle` cuts what was not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from literature_agent.artifacts import Quote
from literature_agent.integrity.desk import Desk
from literature_agent.integrity.leaks import find_leaks
from literature_agent.integrity.quotes import verify_quote
from literature_agent.integrity.sentences import sentence_spans
from literature_agent.outputs import AggregationDraft, DraftGap, IntegrityReport, KeyTheme, ResearchGap
from literature_agent.registry import find_references

UNSUPPORTED = " [unsupported]"


class Problem(NamedTuple):
    """One thing to mend: where, what stands there, what to do."""

    field: str
    text: str
    fix: str

    def __str__(self) -> str:
        return f"- {self.field}: {self.text!r}: {self.fix}"


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


# --- review -----------------------------------------------------------------------------------------------------------


def review(draft: AggregationDraft, desk: Desk) -> tuple[Problem, ...]:
    """Everything in the draft that is to be mended, in the order of its fields; empty if it can stand as it is."""
    problems: list[Problem] = []
    for name, text in _prose(draft):
        problems += _review_prose(name, text, desk)
    for name, references in _reference_lists(draft):
        problems += [p for raw in references if (p := _review_reference(name, raw, desk)) is not None]
    for index, article in enumerate(draft.relevant_articles):
        reference = desk.shown(article.reference)
        for quote in article.quotes if reference else ():
            if _verified([quote], [reference or ""], desk)[1]:
                problems.append(_bad_quote(f"relevant_articles[{index}].quotes", quote))
    for index, gap in enumerate(draft.research_gaps):
        problems += _review_gap(f"research_gaps[{index}]", gap, desk)
    if not any(True for name, text in _prose(draft) if name == "summary" and list(find_references(text))) and (
        desk.ledger.shown_references()
    ):
        problems.append(
            Problem("summary", draft.summary[:80], "cite the papers that support it, in the sentences they support.")
        )
    return tuple(problems)


def _prose(draft: AggregationDraft) -> Iterable[tuple[str, str]]:
    yield "summary", draft.summary
    for index, article in enumerate(draft.relevant_articles):
        yield f"relevant_articles[{index}].reason", article.reason
    for index, theme in enumerate(draft.key_themes):
        yield f"key_themes[{index}].name", theme.name
        yield f"key_themes[{index}].description", theme.description
    for index, gap in enumerate(draft.research_gaps):
        yield f"research_gaps[{index}].description", gap.description


def _reference_lists(draft: AggregationDraft) -> Iterable[tuple[str, Sequence[str]]]:
    for index, article in enumerate(draft.relevant_articles):
        yield f"relevant_articles[{index}].reference", [article.reference]
    for index, theme in enumerate(draft.key_themes):
        yield f"key_themes[{index}].references", theme.references
    for index, gap in enumerate(draft.research_gaps):
        yield f"research_gaps[{index}].references", gap.references


def _review_prose(name: str, text: str, desk: Desk) -> list[Problem]:
    problems = [p for found in find_references(text) if (p := _review_reference(name, found.raw, desk)) is not None]
    for leak in find_leaks(text, desk.work_of):
        fix = (
            f"write the reference {leak.reference} instead."
            if leak.reference
            else "remove it: identifiers and addresses are never written, only references that a tool result has shown."
        )
        problems.append(Problem(name, leak.text, fix))
    return problems


def _review_reference(name: str, raw: str, desk: Desk) -> Problem | None:
    if desk.shown(raw) is not None:
        return None
    meant = desk.meant(raw)
    if meant is not None:
        return Problem(name, raw, f"mistyped; the reference is {meant}.")
    return Problem(name, raw, "unknown; cite only what you were shown.")


def _bad_quote(name: str, quote: str) -> Problem:
    return Problem(
        name,
        quote[:160],
        "these words do not stand in the text you were shown; copy them exactly, or leave the quote out.",
    )


def _review_gap(name: str, gap: DraftGap, desk: Desk) -> list[Problem]:
    problems: list[Problem] = []
    references = [r for raw in gap.references if (r := desk.shown(raw)) is not None]
    kept, dropped = _verified(gap.quotes, references, desk)
    problems += [_bad_quote(f"{name}.quotes", quote) for quote in dropped]
    if gap.basis == "stated_in_literature" and not kept and not dropped:
        problems.append(
            Problem(
                f"{name}.basis",
                gap.basis,
                "copy into `quotes` the words in which authors name it, with their reference; else `not_searched`.",
            )
        )
    if gap.basis == "null_search":
        for search_id in gap.searches:
            if not _is_null_search(search_id, desk):
                problems.append(
                    Problem(f"{name}.searches", search_id, "not a search that was answered with nothing found.")
                )
        if not gap.searches:
            problems.append(
                Problem(
                    f"{name}.basis", gap.basis, "give the ids of the searches that found nothing; else `not_searched`."
                )
            )
    return problems


def _is_null_search(search_id: str, desk: Desk) -> bool:
    record = desk.search(search_id.strip())
    return record is not None and record.status == "empty"


def _verified(quotes: Iterable[str], references: Sequence[str], desk: Desk) -> tuple[tuple[Quote, ...], list[str]]:
    """Quotes that stand in what was shown of the given works, and those that do not."""
    sections = [section for reference in references for section in desk.sections(reference)]
    kept: list[Quote] = []
    dropped: list[str] = []
    for quote in quotes:
        found = verify_quote(quote, sections)
        if found is None:
            dropped.append(quote)
        else:
            kept += [part for part in found if part not in kept]
    return tuple(kept), dropped


# --- settle -----------------------------------------------------------------------------------------------------------


@dataclass
class _Count:
    unknown_references: int = 0
    leaks_replaced: int = 0
    leaks_cut: int = 0
    quotes_dropped: int = 0
    claims_unsupported: int = 0
    gaps_downgraded: int = 0
    seen: set[str] = field(default_factory=set)


def settle(draft: AggregationDraft, desk: Desk, *, max_articles: int, repair_rounds: int = 0) -> Settled:
    """The draft with everything cut that the checks refuse, each cut counted. Idempotent on a clean draft."""
    count = _Count()
    summary = _settle_prose(draft.summary, desk, count, claims=True)
    articles = _settle_articles(draft, desk, count)[:max_articles]
    themes: list[KeyTheme] = []
    for theme in draft.key_themes:
        name = _settle_prose(theme.name, desk, count)
        description = _settle_prose(theme.description, desk, count, claims=True)
        references = _settle_references(theme.references, desk, count)
        if name and (description or references):
            themes.append(KeyTheme(name=name, description=description, references=references))
    gaps = [gap for draft_gap in draft.research_gaps if (gap := _settle_gap(draft_gap, desk, count)) is not None]
    report = IntegrityReport(
        unknown_references=count.unknown_references,
        leaks_replaced=count.leaks_replaced,
        leaks_cut=count.leaks_cut,
        quotes_dropped=count.quotes_dropped,
        claims_unsupported=count.claims_unsupported,
        gaps_downgraded=count.gaps_downgraded,
        repair_rounds=repair_rounds,
    )
    return Settled(summary, tuple(articles), tuple(themes), tuple(gaps), report)


def _settle_articles(draft: AggregationDraft, desk: Desk, count: _Count) -> list[CitedArticle]:
    articles: dict[str, CitedArticle] = {}
    for article in draft.relevant_articles:
        reference = desk.shown(article.reference)
        if reference is None:
            count.unknown_references += 1
            continue
        final = desk.strongest(reference)
        if final in articles:
            continue
        quotes, dropped = _verified(article.quotes, [reference], desk)
        count.quotes_dropped += len(dropped)
        articles[final] = CitedArticle(final, _settle_prose(article.reason, desk, count), quotes)
    return list(articles.values())


def _settle_references(written: Iterable[str], desk: Desk, count: _Count) -> tuple[str, ...]:
    kept: list[str] = []
    for raw in written:
        reference = desk.shown(raw)
        if reference is None:
            count.unknown_references += 1
        else:
            kept.append(desk.strongest(reference))
    return tuple(dict.fromkeys(kept))


def _settle_gap(gap: DraftGap, desk: Desk, count: _Count) -> ResearchGap | None:
    description = _settle_prose(gap.description, desk, count)
    if not description:
        return None
    shown = [r for raw in gap.references if (r := desk.shown(raw)) is not None]
    references = _settle_references(gap.references, desk, count)
    quotes, dropped = _verified(gap.quotes, shown, desk)
    count.quotes_dropped += len(dropped)
    searches = tuple(dict.fromkeys(s.strip() for s in gap.searches if _is_null_search(s, desk)))
    basis = gap.basis
    if (basis == "stated_in_literature" and not quotes) or (basis == "null_search" and not searches):
        basis = "not_searched"
        count.gaps_downgraded += 1
    return ResearchGap(
        description=description,
        basis=basis,
        references=references,
        searches=searches if basis == "null_search" else (),
        quotes=quotes,
    )


def _settle_prose(text: str, desk: Desk, count: _Count, *, claims: bool = False) -> str:
    """Sentences with an identifier that can't be replaced are cut; unknown references are cut out of theirs."""
    kept: list[str] = []
    at = 0
    for start, end in sentence_spans(text):
        gap_before, at = text[at:start], end
        sentence = _settle_sentence(text[start:end], desk, count, claims=claims)
        if sentence:
            kept += [gap_before if kept else "", sentence]
    return "".join(kept).strip()


def _settle_sentence(sentence: str, desk: Desk, count: _Count, *, claims: bool) -> str:
    edits: list[tuple[int, int, str]] = []
    leaks = list(find_leaks(sentence, desk.work_of))
    if any(leak.reference is None for leak in leaks):
        count.leaks_cut += len(leaks)
        return ""
    for leak in leaks:
        count.leaks_replaced += 1
        edits.append((leak.start, leak.end, desk.strongest(leak.reference or "")))
    known = len(edits)
    unknown = 0
    for found in find_references(sentence):
        reference = desk.shown(found.raw)
        if reference is None:
            unknown += 1
            edits.append((found.start, found.end, ""))
        else:
            known += 1
            edits.append((found.start, found.end, desk.strongest(reference)))
    count.unknown_references += unknown
    for start, end, text in sorted(edits, reverse=True):
        sentence = sentence[:start] + text + sentence[end:]
    if unknown:
        sentence = _tidy(sentence)
        if claims and not known and sentence:
            count.claims_unsupported += 1
            sentence += UNSUPPORTED
    return sentence


def _tidy(sentence: str) -> str:
    """What a removed token leaves behind: empty brackets, doubled commas, blanks before punctuation."""
    for _ in range(3):
        for old, new in (
            ("( ", "("),
            (" )", ")"),
            ("()", ""),
            ("[]", ""),
            ("(, ", "("),
            (", )", ")"),
            (",,", ","),
            ("; ;", ";"),
        ):
            sentence = sentence.replace(old, new)
    sentence = " ".join(sentence.split())
    for mark in ".,;:":
        sentence = sentence.replace(f" {mark}", mark)
    return sentence.strip()
