"""A question about one article that is held: answered from its own text, with quotes that are checked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import BaseModel, Field
from pydantic_ai import Agent
from pydantic_ai.exceptions import AgentRunError, UserError
from pydantic_ai.models import Model

from literature_agent.agents.ending import why_no_answer
from literature_agent.agents.limitations import dropped_quotes
from literature_agent.agents.models import EXTRACTIVE, model_name, provided, resolve_model
from literature_agent.agents.rank import Wording
from literature_agent.artifacts import Quote, Record, TextSection
from literature_agent.errors import InvalidInputError, LiteratureError, SourceError, counted
from literature_agent.federation import read
from literature_agent.integrity import Desk, settle
from literature_agent.integrity.quotes import verify_quote
from literature_agent.integrity.sentences import sentence_spans
from literature_agent.ledger import Ledger
from literature_agent.outputs import AggregationDraft, DraftArticle
from literature_agent.prompts import load_prompt
from literature_agent.registry import ArtifactRegistry
from literature_agent.results import FetchResult, FullText
from literature_agent.settings import Settings, load_settings
from literature_agent.views import view_fetch, view_full_text

_MOST_QUOTES = 5
_LEAST_SHARE = 0.2
_SHORTEST, _LONGEST = 40, 600
# What opens a part of a structured abstract.
_LABEL = re.compile(r"[A-Z][A-Z /&,-]{2,40}: ")


class ArticleAnswer(Record):
    """What one article says about a question. `quotes` stand word for word in its text."""

    question: str
    reference: str
    title: str
    answer: str
    """Prose with references, checked like that of a run; by the stand-in `extractive` only how much was found."""
    quotes: tuple[Quote, ...] = ()
    read: Literal["abstract", "full_text", "title"]
    limitations: tuple[str, ...] = ()
    model: str


class _Reply(BaseModel):
    """What the model submits."""

    answer: str = Field(description="At most five sentences, each with the article's reference.")
    quotes: list[str] = Field(default_factory=list, description="One to three sentences copied word for word.")


async def ask_article(
    question: str,
    reference: str,
    *,
    registry: ArtifactRegistry,
    model: Model | str | None = None,
    settings: Settings | None = None,
) -> ArticleAnswer:
    """Answer `question` from the text of the work that `reference` names in `registry`.

    Its open full text is read where there is one and kept in the registry; else the abstract must do. Without a model
    the sentences nearest to the words of the question are given, and nothing is written.

    Raises:
        InvalidInputError: the question is empty, or the registry does not hold the work.
        SourceError: the model failed (`request_unreachable`).
        ConfigurationError: the model's key or package is missing.
    """
    used = settings if settings is not None else load_settings()
    chosen = resolve_model(model or used.model or EXTRACTIVE)
    work = registry.find(reference)
    if not any(character.isalnum() for character in question):
        raise InvalidInputError("The question about the article is empty.", recovery="Ask in words.")
    if work is None or work.reference is None:
        raise InvalidInputError(f"The reference {reference!r} is not held.", recovery="Name an article of the answer.")
    full, limitations = await _full_text(work.reference, registry, used)
    ledger = Ledger("0" * 32, registry)
    desk = Desk(registry, ledger, question)
    record = registry.copies(work.reference)[0]
    views = [view_fetch(FetchResult(artifacts=(record,)), [work.reference], lookup=desk.work_of)]
    if full is not None:
        everything = frozenset(id(part) for part in _all_parts((*full.sections, *full.back_sections)))
        tables = [f"table/{table.label}" for table in full.tables if table.label]
        views.append(view_full_text(full, work.reference, chosen=everything, tables=tables, lookup=desk.work_of))
    for shown in (shown for view in views for shown in view.shown):
        ledger.show(shown.reference, shown.copy_id, shown.section, shown.end, shown.length, text_hash=shown.text_hash)
    if model_name(chosen) == EXTRACTIVE:
        answer, quotes = _nearest(question, desk, work.reference)
        limitations.append("No language model was used: sentences were selected by rule, and nothing was written.")
    else:
        reply = await _reply(chosen, question, work.reference, [view.text for view in views], used)
        article = DraftArticle(reference=work.reference, reason="", quotes=reply.quotes)
        draft = AggregationDraft(summary=reply.answer, relevant_articles=[article], key_themes=[], research_gaps=[])
        settled = settle(draft, desk, max_articles=1)
        answer = settled.summary or "The model gave no answer that could be kept."
        quotes = settled.articles[0].quotes if settled.articles else ()
        if settled.integrity.quotes_dropped:
            limitations.append(dropped_quotes(settled.integrity.quotes_dropped))
        if settled.integrity.leaks_cut:
            cut = settled.integrity.leaks_cut
            limitations.append(
                f"{counted(cut, 'identifier')} that the model wrote {'was' if cut == 1 else 'were'} cut."
            )
    if work.correction_status in ("retracted", "concern"):
        state = "has been retracted" if work.correction_status == "retracted" else "is under an expression of concern"
        limitations.insert(0, f"This article {state}.")
    return ArticleAnswer(
        question=question,
        reference=work.reference,
        title=work.title or "",
        answer=answer,
        quotes=quotes,
        read="full_text" if full is not None else "abstract" if work.abstract_text else "title",
        limitations=tuple(limitations),
        model=model_name(chosen),
    )


async def _full_text(
    reference: str, registry: ArtifactRegistry, settings: Settings
) -> tuple[FullText | None, list[str]]:
    """The open full text, or None and why: no open text and a source that failed are two things."""
    held = registry.full_text(reference)
    if held is not None:
        return held, []
    try:
        full = await read(reference, registry=registry, settings=settings)
    except InvalidInputError:
        return None, ["Its full text can't be looked for: no identifier of it is known."]
    except LiteratureError as failed:
        return None, [f"Its full text could not be got, so only the record was read: {failed.message}"]
    if full.available:
        return full, []
    if full.reason == "temporarily_unavailable":
        return None, ["Its full text could not be got for now, so only the record was read."]
    return None, ["There is no open full text of it, so only the record was read."]


def _all_parts(sections: Sequence[TextSection]) -> Iterator[TextSection]:
    for section in sections:
        yield section
        yield from _all_parts(section.sections)


def _nearest(question: str, desk: Desk, reference: str) -> tuple[str, tuple[Quote, ...]]:
    """The sentences of the text that hold most of the question, best first."""
    wording = Wording(question)
    found: dict[str, tuple[float, Quote]] = {}
    for section in desk.sections(reference):
        if section.section == "title":
            continue
        for start, end in sentence_spans(section.text):
            label = _LABEL.match(section.text, start, end)
            text = section.text[label.end() if label else start : end]
            share = wording.share_of(text)
            key = " ".join(text.split())
            if share < _LEAST_SHARE or not _SHORTEST <= len(text) <= _LONGEST or key in found:
                continue
            quotes = verify_quote(text, [section])
            if quotes:
                found[key] = (share, quotes[0])
    best = sorted(found.values(), key=lambda pair: -pair[0])[:_MOST_QUOTES]
    if not best:
        return f"No sentence of what could be read of {reference} holds the words of the question.", ()
    return f"Nearest to the question in {reference}:", tuple(quote for _, quote in best)


async def _reply(model: Model, question: str, reference: str, texts: Sequence[str], settings: Settings) -> _Reply:
    agent = Agent(provided(model), output_type=_Reply, instructions=load_prompt("ask"))
    prompt = "\n\n".join([f"<question>\n{question.strip()}\n</question>", f"The article: {reference}", *texts])
    try:
        return (await agent.run(prompt)).output
    except (AgentRunError, UserError) as failed:
        said = why_no_answer(failed, settings)
    raise SourceError(f"The model gave no answer: {said}", reason="request_unreachable", recovery="Ask again.")
