"""From a draft to the answer: checks applied, every bibliographic fact and every count put in by code."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from datetime import datetime

from pydantic_ai.usage import RunUsage as ModelUsage

from literature_agent.agents.models import EXTRACTIVE, EXTRACTIVE_NOTE
from literature_agent.agents.run import Ending, Run
from literature_agent.artifacts import Artifact, CitationArtifact
from literature_agent.custody import request_limits
from literature_agent.errors import counted
from literature_agent.integrity import UNSUPPORTED, CitedArticle, Desk, Settled, settle
from literature_agent.ledger import SourceCoverage
from literature_agent.outputs import (
    AggregationDraft,
    ExcludedWork,
    LiteratureAggregationOutput,
    OutputStatus,
    RunUsage,
)
from literature_agent.render import render_answer_markdown, render_notebook_html

_NAMED_LIMITS = ("languages", "publication_types")
"""Limits whose values a source may not know."""
_FREE = "test:"
"""Models of pydantic-ai's own that ask nobody."""


def write_answer(
    run: Run,
    draft: AggregationDraft,
    *,
    model: str,
    usage: ModelUsage,
    ending: Ending | None,
    started: datetime,
    finished: datetime,
) -> LiteratureAggregationOutput:
    """The output of a run: counts, coverage and search log from the ledger, facts about papers from the registry."""
    desk = run.desk()
    settled = settle(draft, desk, max_articles=run.request.max_articles, repair_rounds=run.repair_rounds)
    coverage = run.ledger.coverage(source.name for source in run.custody.sources)
    found = bool(run.ledger.shown_references())
    # What the question names was looked for, though no search followed.
    looked = bool(run.ledger.entries) and not run.ledger.failures()
    status = _status(coverage, ending, found=found, looked=looked, is_cut=_is_cut(run, ending))
    nothing = None if found else _nothing_found(status, coverage)
    if nothing:
        settled = Settled(nothing, (), (), settled.gaps, settled.integrity)
    excluded = _excluded(run, settled)
    articles = [_article(cited, rank, len(settled.articles), desk) for rank, cited in enumerate(settled.articles)]
    output = LiteratureAggregationOutput(
        run_id=run.run_id,
        question=run.request.question,
        summary=settled.summary or "The model gave no summary that could be kept; see the articles.",
        relevant_articles=tuple(articles),
        articles_analyzed=run.ledger.count_analyzed(),
        key_themes=settled.themes,
        research_gaps=settled.gaps,
        status=status,
        limitations=tuple(dict.fromkeys(_limitations(run, settled, articles, coverage, ending, model, usage))),
        coverage=coverage,
        search_log=run.ledger.search_log(),
        excluded=excluded,
        flow=run.ledger.flow(
            [article.reference for article in settled.articles], {work.reference: work.reason for work in excluded}
        ),
        integrity=settled.integrity,
        usage=RunUsage(
            requests=usage.requests,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            tool_calls=run.tool_calls,
            cost_usd=None if usage.cost is None else float(usage.cost),
        ),
        model=model,
        started_at=started,
        duration_s=round((finished - started).total_seconds(), 3),
    )
    run.ledger.cite(article.reference for article in settled.articles)
    return output.attach(run.registry, html=render_notebook_html, markdown=render_answer_markdown)


def _article(cited: CitedArticle, rank: int, of: int, desk: Desk) -> Artifact:
    """The completed record with its reason; the score falls evenly with the rank that the model gave."""
    artifact = desk.work(cited.reference)
    assert artifact is not None  # `settle` keeps only references of held works
    return artifact.model_copy(  # type: ignore[return-value]  # the registry holds nothing but members of the union
        update={
            "reference": cited.reference,
            "relevance": cited.reason,
            "relevance_score": round(1 - rank / of, 3),
            "quotes": cited.quotes,
        }
    )


def _status(
    coverage: Sequence[SourceCoverage], ending: Ending | None, *, found: bool, looked: bool, is_cut: bool
) -> OutputStatus:
    asked = [source for source in coverage if source.asked]
    answered = [source for source in asked if source.answered]
    if ending is not None and not asked:
        return "partial" if ending.kind != "model" else "failed"
    if not asked and not found and looked:
        return "no_evidence"
    if not answered and not found:
        return "partial" if is_cut else "failed"
    if ending is not None or any(source.failed for source in asked):
        return "partial"
    return "complete" if found else "no_evidence"


def _is_cut(run: Run, ending: Ending | None) -> bool:
    """Whether the end of the run came from outside and left a search without its answer."""
    if ending is None or ending.kind not in ("deadline", "cancelled"):
        return False
    return any((line.reason or "").endswith("_timeout") for line in run.ledger.search_log())


def _nothing_found(status: OutputStatus, coverage: Sequence[SourceCoverage]) -> str:
    """The summary of a run that has shown no work: written by code, so that it claims nothing."""
    asked = [source.source for source in coverage if source.asked]
    answered = [source.source for source in coverage if source.answered]
    failed = [source.source for source in coverage if source.failed]
    if status == "no_evidence" and not asked:
        return "No evidence was found: no source that was asked has what the question names. No search was made."
    if status == "no_evidence":
        names = ", ".join(answered)
        return f"No evidence was found: every search was answered ({names}) and none had a match. See the search log."
    if not asked:
        return "No answer: no search was made. This says nothing about the literature."
    if not answered and status == "partial":
        return (
            f"No answer: the run ended before {', '.join(asked)} had answered. This says nothing about the literature."
        )
    if not answered:
        return f"No answer: no source could be reached ({', '.join(asked)}). This says nothing about the literature."
    text = f"Nothing was found by the searches that were answered ({', '.join(answered)})."
    if failed:
        return f"{text} What {', '.join(failed)} would hold is not known, as searches there failed."
    return f"{text} The run ended early, so this says little about the literature."


def _limitations(
    run: Run,
    settled: Settled,
    articles: Sequence[CitationArtifact],
    coverage: Sequence[SourceCoverage],
    ending: Ending | None,
    model: str,
    usage: ModelUsage,
) -> list[str]:
    found: list[str] = []
    if ending is not None:
        found.append(ending.sentence)
    dollars = run.budget.max_cost_usd
    if dollars is not None and usage.requests and usage.cost is None and not model.startswith(_FREE):
        name = model.split(":", 1)[-1]
        found.append(
            f"The limit of {dollars:g} US dollars could not be applied: the price of the model {name} is not known."
        )
    if model == EXTRACTIVE:
        found.append(EXTRACTIVE_NOTE)
    found += run.unresolved
    found += [f"{failure.source} failed: {failure.message}" for failure in run.ledger.failures()]
    asked = {source.source for source in coverage if source.asked}
    found += _limits_not_applied(run, asked)
    not_asked = [source.name for source in run.custody.sources if source.name not in asked]
    if not_asked:
        found.append(f"Not asked: {', '.join(not_asked)}.")
    found += [
        f"Given search {entry.search.search_id}: {warning}"
        for entry in run.ledger.entries
        if entry.search is not None and entry.search.origin == "given"
        for warning in entry.warnings
    ]
    cut = sum(source.truncated for source in coverage)
    if cut:
        found.append(f"{cut} of the searches {_was(cut)} cut short: part of what was asked for could not be read.")
    log = run.ledger.search_log()
    more = sum(line.total is not None and line.total > line.retrieved for line in log)
    if more:
        of_searches = f"{more} of the {len(log)} searches" if len(log) > 1 else "The one search"
        found.append(f"{of_searches} had more hits than were looked at.")
    for reference in settled.cited:
        work = run.registry.find(reference)
        if work is not None and work.correction_status == "retracted":
            found.append(f"{reference} has been retracted.")
        elif work is not None and work.correction_status == "concern":
            found.append(f"An expression of concern has been published about {reference}.")
    preprints = sum(artifact.is_preprint for artifact in articles)
    if preprints:
        of_articles = f"{preprints} of the {len(articles)} articles" if len(articles) > 1 else "The one article"
        found.append(f"{of_articles} {'are preprints' if preprints > 1 else 'is a preprint'}, not peer-reviewed.")
    unknown_status = sum(artifact.correction_status == "unknown" for artifact in articles)
    if unknown_status:
        which = f"{unknown_status} of the {len(articles)} articles" if len(articles) > 1 else "the one article"
        found.append(f"Whether {which} {_was(unknown_status)} corrected or retracted is unknown.")
    report = settled.integrity
    if report.unknown_references:
        number = report.unknown_references
        found.append(f"{counted(number, 'reference')} that this run had not shown {_was(number)} cut from the answer.")
    if report.leaks_cut:
        number = report.leaks_cut
        found.append(f"{counted(number, 'identifier')} written by the model {_was(number)} cut, with the sentence.")
    if report.quotes_dropped:
        found.append(dropped_quotes(report.quotes_dropped))
    if report.claims_unsupported and any(UNSUPPORTED in prose for prose in settled.prose):
        number = report.claims_unsupported
        verbs = ("rests", "is") if number == 1 else ("rest", "are")
        found.append(
            f"{counted(number, 'claim')} {verbs[0]} on no reference or search and {verbs[1]} marked [unsupported]."
        )
    if report.gaps_downgraded:
        number = report.gaps_downgraded
        verbs = ("rests", "it was") if number == 1 else ("rest", "they were")
        found.append(
            f"{counted(number, 'research gap')} {verbs[0]} on no search and no quote: {verbs[1]} not searched for."
        )
    if report.versions_joined:
        number = report.versions_joined
        found.append(
            f"{counted(number, 'reference')} to an earlier version of a cited study {_was(number)} cut or marked: "
            "preprint and paper are one study."
        )
    return found


def _limits_not_applied(run: Run, asked: Container[str]) -> Iterable[str]:
    """The request's own limits that a source has not applied, once for each source and limit: it has no such filter,
    or it did not know the value and searched without it."""
    limits = request_limits(run.request, {})
    told: dict[str, None] = {}
    for source in run.custody.sources:
        if source.name in asked:
            told.update(
                (f"{source.label} can't filter by {name}; its hits are not limited by it.", None)
                for name in limits
                if name not in source.filters
            )
    values = [str(value).lower() for name in _NAMED_LIMITS for value in limits.get(name, ())]
    for entry in run.ledger.entries:
        # The values are the caller's own and stand in quotes, as they are sent: words of the question do not count.
        told.update(
            (warning, None)
            for warning in entry.warnings
            if any(f'"{value}"' in warning.lower() or f"'{value}'" in warning.lower() for value in values)
        )
    return told


def _was(number: int) -> str:
    return "was" if number == 1 else "were"


def dropped_quotes(number: int) -> str:
    """The sentence about quotes that the checks have dropped."""
    verb = "does" if number == 1 else "do"
    return f"{counted(number, 'quote')} that {verb} not stand in the text {_was(number)} dropped."


def _excluded(run: Run, settled: Settled) -> tuple[ExcludedWork, ...]:
    kept = {article.reference for article in settled.articles}
    cited_in_text = set(settled.cited)
    excluded = []
    for reference, level in run.ledger.levels().items():
        final = str(run.registry.strongest(reference) or reference)
        if final in kept:
            continue
        kept.add(final)
        read = level in ("abstract", "full_text")
        cited = "cited in the text, not listed" if final in cited_in_text else "not cited"
        reason = f"abstract or full text read; {cited}" if read else f"screened by title and snippet; {cited}"
        artifact = run.registry.find(final)
        if artifact is not None and artifact.is_notice:
            reason = "a notice about another work"
        elif artifact is not None and artifact.correction_status in ("retracted", "concern"):
            reason = "retracted" if artifact.correction_status == "retracted" else "under an expression of concern"
        excluded.append(ExcludedWork(reference=final, reason=reason))
    return tuple(excluded)
