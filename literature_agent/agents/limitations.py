"""What an answer says of its own limits: sentences written by code."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence

from pydantic_ai.usage import RunUsage

from literature_agent.agents.models import EXTRACTIVE, EXTRACTIVE_NOTE
from literature_agent.agents.run import Ending, Run
from literature_agent.artifacts import CitationArtifact
from literature_agent.custody import request_limits
from literature_agent.errors import counted
from literature_agent.integrity import UNSUPPORTED, Settled
from literature_agent.ledger import SourceCoverage

_NAMED_LIMITS = ("languages", "publication_types")
"""Limits whose values a source may not know."""
_FREE = "test:"
"""Models of pydantic-ai's own that ask nobody."""


def limitations_of(
    run: Run,
    settled: Settled,
    articles: Sequence[CitationArtifact],
    coverage: Sequence[SourceCoverage],
    ending: Ending | None,
    model: str,
    usage: RunUsage,
) -> list[str]:
    """Sentences on how the run ended, what was not asked or not read, what is known against the works, and what the
    checks cut. One may stand there twice."""
    return [
        *_of_ending(run, ending, model, usage),
        *_of_searches(run, coverage),
        *_of_works(run, settled.cited, articles),
        *_of_checks(settled),
    ]


def _of_ending(run: Run, ending: Ending | None, model: str, usage: RunUsage) -> Iterator[str]:
    if ending is not None:
        yield ending.sentence
    dollars = run.budget.max_cost_usd
    if dollars is not None and usage.requests and usage.cost is None and not model.startswith(_FREE):
        name = model.split(":", 1)[-1]
        yield (f"The limit of {dollars:g} US dollars could not be applied: the price of the model {name} is not known.")
    if model == EXTRACTIVE:
        yield EXTRACTIVE_NOTE
    yield from run.unresolved


def _of_searches(run: Run, coverage: Sequence[SourceCoverage]) -> Iterator[str]:
    yield from (f"{failure.source} failed: {failure.message}" for failure in run.ledger.failures())
    asked = {source.source for source in coverage if source.asked}
    yield from _limits_not_applied(run, asked)
    if not_asked := [source.name for source in run.custody.sources if source.name not in asked]:
        yield f"Not asked: {', '.join(not_asked)}."
    yield from (
        f"Given search {entry.search.search_id}: {warning}"
        for entry in run.ledger.entries
        if entry.search is not None and entry.search.origin == "given"
        for warning in entry.warnings
    )
    cut = sum(source.truncated for source in coverage)
    if cut:
        yield f"{cut} of the searches {_was(cut)} cut short: part of what was asked for could not be read."
    log = run.ledger.search_log()
    more = sum(line.total is not None and line.total > line.retrieved for line in log)
    if more:
        of_searches = f"{more} of the {len(log)} searches" if len(log) > 1 else "The one search"
        yield f"{of_searches} had more hits than were looked at."


def _of_works(run: Run, cited: Iterable[str], articles: Sequence[CitationArtifact]) -> Iterator[str]:
    for reference in cited:
        work = run.registry.find(reference)
        if work is not None and work.correction_status == "retracted":
            yield f"{reference} has been retracted."
        elif work is not None and work.correction_status == "concern":
            yield f"An expression of concern has been published about {reference}."
    preprints = sum(artifact.is_preprint for artifact in articles)
    if preprints:
        of_articles = f"{preprints} of the {len(articles)} articles" if len(articles) > 1 else "The one article"
        yield f"{of_articles} {'are preprints' if preprints > 1 else 'is a preprint'}, not peer-reviewed."
    unknown_status = sum(artifact.correction_status == "unknown" for artifact in articles)
    if unknown_status:
        which = f"{unknown_status} of the {len(articles)} articles" if len(articles) > 1 else "the one article"
        yield f"Whether {which} {_was(unknown_status)} corrected or retracted is unknown."


def _of_checks(settled: Settled) -> Iterator[str]:
    report = settled.integrity
    if report.unknown_references:
        number = report.unknown_references
        yield f"{counted(number, 'reference')} that this run had not shown {_was(number)} cut from the answer."
    if report.leaks_cut:
        number = report.leaks_cut
        yield f"{counted(number, 'identifier')} written by the model {_was(number)} cut, with the sentence."
    if report.quotes_dropped:
        yield dropped_quotes(report.quotes_dropped)
    if report.claims_unsupported and any(UNSUPPORTED in prose for prose in settled.prose):
        number = report.claims_unsupported
        verbs = ("rests", "is") if number == 1 else ("rest", "are")
        yield f"{counted(number, 'claim')} {verbs[0]} on no reference or search and {verbs[1]} marked [unsupported]."
    if report.gaps_downgraded:
        number = report.gaps_downgraded
        verbs = ("rests", "it was") if number == 1 else ("rest", "they were")
        yield (f"{counted(number, 'research gap')} {verbs[0]} on no search and no quote: {verbs[1]} not searched for.")
    if report.versions_joined:
        number = report.versions_joined
        yield (
            f"{counted(number, 'reference')} to an earlier version of a cited study {_was(number)} cut or marked: "
            "preprint and paper are one study."
        )


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
