"""From a draft to the answer: checks applied, every bibliographic fact and every count put in by code."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from pydantic_ai.usage import RunUsage as ModelUsage

from literature_agent.agents.limitations import limitations_of
from literature_agent.agents.run import Ending, Run
from literature_agent.artifacts import Artifact
from literature_agent.integrity import CitedArticle, Desk, Settled, settle
from literature_agent.ledger import SourceCoverage
from literature_agent.outputs import (
    AggregationDraft,
    ExcludedWork,
    LiteratureAggregationOutput,
    OutputStatus,
    RunUsage,
)
from literature_agent.render import render_answer_markdown, render_notebook_html


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
        summary=settled.summary
        or f"The model gave no summary that could be kept{'; see the articles' * bool(articles)}.",
        relevant_articles=tuple(articles),
        articles_analyzed=run.ledger.count_analyzed(),
        key_themes=settled.themes,
        research_gaps=settled.gaps,
        status=status,
        limitations=tuple(dict.fromkeys(limitations_of(run, settled, articles, coverage, ending, model, usage))),
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
