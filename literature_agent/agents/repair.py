"""Mends an answer by what was said against it: takes out what is named, and more of the answer each time."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

from literature_agent.agents.transcript import REFERENCE
from literature_agent.integrity.sentences import sentence_spans
from literature_agent.outputs import AggregationDraft, DraftArticle, DraftGap, DraftTheme

_POINT = re.compile(r"^- (?P<field>[\w.\[\]]+): (?P<text>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"): (?P<fix>.*)$", re.M)
_MEANT = re.compile(rf"the reference is ({REFERENCE.pattern})")
_PLAIN_REASON = "Found by the searches for this question."
_CITED_ANYWAY = 5


@dataclass(frozen=True)
class Point:
    """One thing said against an answer: where, the words there, what to put instead (None: nothing)."""

    field: str
    text: str
    instead: str | None = None
    whole: bool = False
    """The field as a whole is meant, not these words in it."""


def points_of(feedback: str) -> list[Point]:
    """The points of one repair message; text that is no such message has none."""
    points = []
    for found in _POINT.finditer(feedback):
        meant = _MEANT.search(found["fix"])
        points.append(
            Point(
                field=found["field"],
                text=str(ast.literal_eval(found["text"])),
                instead=meant.group(1) if meant else None,
                whole=found["fix"].startswith("cite "),
            )
        )
    return points


def mend(draft: AggregationDraft, feedback: Sequence[str]) -> AggregationDraft:
    """`draft` after everything in `feedback` (oldest first) has been acted upon.

    A message that names nothing which stands in the answer costs it its frailest parts, so that no answer is
    submitted twice.
    """
    for message in feedback:
        before = draft
        for point in points_of(message):
            draft = _without(draft, point)
        if draft == before:
            draft = _reduced(draft)
    return _cited(draft)


def _without(draft: AggregationDraft, point: Point) -> AggregationDraft:
    if point.instead is not None:
        text = draft.model_dump_json()
        return AggregationDraft.model_validate_json(text.replace(point.text, point.instead))
    if point.whole:
        return draft.model_copy(update={"summary": ""})
    where = "" if REFERENCE.fullmatch(point.text) else point.field

    def concerned(part: str) -> bool:
        return where.startswith(part) or not where

    articles, themes, gaps = draft.relevant_articles, draft.key_themes, draft.research_gaps
    if concerned("relevant_articles"):
        articles = [kept for article in articles if (kept := _article_without(article, point.text))]
    if concerned("key_themes"):
        themes = [kept_theme for theme in themes if (kept_theme := _theme_without(theme, point.text))]
    if concerned("research_gaps"):
        gaps = [kept_gap for gap in gaps if (kept_gap := _gap_without(gap, point))]
    return AggregationDraft(
        summary=_text_without(draft.summary, point.text) if concerned("summary") else draft.summary,
        relevant_articles=articles,
        key_themes=themes,
        research_gaps=gaps,
    )


def _text_without(text: str, words: str) -> str:
    kept = [text[start:end] for start, end in sentence_spans(text) if words not in text[start:end]]
    return " ".join(kept)


def _article_without(article: DraftArticle, words: str) -> DraftArticle | None:
    if article.reference == words:
        return None
    return DraftArticle(
        reference=article.reference,
        reason=_PLAIN_REASON if words in article.reason else article.reason,
        quotes=[quote for quote in article.quotes if not quote.startswith(words)],
    )


def _theme_without(theme: DraftTheme, words: str) -> DraftTheme | None:
    references = [reference for reference in theme.references if reference != words]
    description = _text_without(theme.description, words)
    if words in theme.name or not references or not description:
        return None
    return DraftTheme(name=theme.name, description=description, references=references)


def _gap_without(gap: DraftGap, point: Point) -> DraftGap | None:
    words = point.text
    references = [reference for reference in gap.references if reference != words]
    searches = [search for search in gap.searches if search != words]
    quotes = [quote for quote in gap.quotes if not quote.startswith(words)]
    lost = (
        words in gap.description
        or (gap.basis == "stated_in_literature" and not (quotes and references))
        or (gap.basis == "null_search" and not searches)
    )
    if lost:
        return None
    return gap.model_copy(update={"references": references, "searches": searches, "quotes": quotes})


def _reduced(draft: AggregationDraft) -> AggregationDraft:
    """The answer without its frailest part: quotes and gaps, then themes, then the selected sentences, then reasons."""
    articles = [article.model_copy(update={"quotes": []}) for article in draft.relevant_articles]
    without_quotes = draft.model_copy(update={"relevant_articles": articles, "research_gaps": []})
    if without_quotes != draft:
        return without_quotes
    if draft.key_themes:
        return draft.model_copy(update={"key_themes": []})
    plain = [article.model_copy(update={"reason": _PLAIN_REASON}) for article in articles]
    return AggregationDraft(summary="", relevant_articles=plain, key_themes=[], research_gaps=[])


def _cited(draft: AggregationDraft) -> AggregationDraft:
    """The answer with a summary that cites: where none is left, one that says only what was found."""
    if REFERENCE.search(draft.summary) or (draft.summary and not draft.relevant_articles):
        return draft
    listed = [article.reference for article in draft.relevant_articles[:_CITED_ANYWAY]]
    if not listed:
        return draft.model_copy(update={"summary": "No answer could be put together from what the searches found."})
    summary = f"The searches found works that may bear on the question; no answer was put together {' '.join(listed)}."
    return draft.model_copy(update={"summary": summary})
