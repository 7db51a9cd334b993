"""One search in all sources at once: asked side by side, merged by identity in the fixed order of the sources, scored.

`plan_all` says who is asked what, `ask_all` asks (the only part that waits), `merged` makes one result of the answers.
A caller who keeps records, as custody does, holds the answers of the sources before they are merged.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from math import ceil
from types import MappingProxyType
from typing import Any

from literature_agent.artifacts import Artifact, CitationArtifact, Record
from literature_agent.errors import LiteratureError, refused
from literature_agent.federation.scoring import Place, formula, score
from literature_agent.registry import ArtifactRegistry, Reference
from literature_agent.results import ErrorInfo, SearchResult, SearchStatus, SourceOutcome
from literature_agent.sources import Source
from literature_agent.transport import Transport

TIME_LIMIT_S = 60.0
"""Seconds that each source has, its queue included."""
LARGEST_SHARE = 0.6
"""Share of the results that one source may have while another has more to give."""

_WINDOW = ("date_from", "date_to")
# The merged list has an order of its own, and no pages: those of its sources run apart.
_NOT_PASSED_ON = {
    "sort": "The merged list is ordered by score: `sort` is not applied. Search one source by itself to sort.",
}


@dataclass(frozen=True)
class Asked:
    """One source and the filters it is asked with."""

    source: Source
    filters: Mapping[str, Any]
    warnings: tuple[str, ...] = ()
    """Filters it cannot apply."""


@dataclass(frozen=True)
class PlanForAll:
    """Who is asked what, in the fixed order of the sources."""

    asked: tuple[Asked, ...]
    not_asked: Mapping[str, str] = field(default_factory=dict)
    """Name of a source -> why it is not asked."""
    warnings: tuple[str, ...] = ()
    filters: Mapping[str, Any] = field(default_factory=dict)
    order: tuple[str, ...] = ()
    """Names of all sources, asked or not."""


class SourceAnswer(Record):
    """What one source answered, before anything is merged; a failure too is an answer here."""

    source: str
    result: SearchResult


def plan_all(sources: Sequence[Source], filters: Mapping[str, Any]) -> PlanForAll:
    """What each source is asked. A filter that a source cannot apply is a warning, not a refusal."""
    warnings = [sentence for name, sentence in _NOT_PASSED_ON.items() if name in filters]
    wanted = {name: value for name, value in filters.items() if name not in _NOT_PASSED_ON}
    asked: list[Asked] = []
    not_asked: dict[str, str] = {}
    for source in sources:
        if source.needs_window and not all(wanted.get(name) for name in _WINDOW):
            not_asked[source.name] = (
                f"{source.label} was not asked: a search there reads a window of days and needs date_from and date_to. "
                "Europe PMC finds its preprints by words (`SRC:PPR` in the query)."
            )
            continue
        cannot = [name for name in wanted if name not in source.filters]
        asked.append(
            Asked(
                source,
                {name: value for name, value in wanted.items() if name in source.filters},
                tuple(f"{source.label} can't filter by {name}; its hits are not limited by it." for name in cannot),
            )
        )
    return PlanForAll(tuple(asked), not_asked, tuple(warnings), wanted, order=tuple(source.name for source in sources))


async def ask_all(
    transport: Transport,
    plan: PlanForAll,
    query: str,
    *,
    max_results: int = 10,
    time_limit: float = TIME_LIMIT_S,
    answered: Callable[[SourceAnswer], object] = lambda answer: None,
    came: Mapping[str, list[Artifact]] = MappingProxyType({}),
) -> tuple[SourceAnswer, ...]:
    """What each source answered, in the order of the plan and not of arrival. Never raises for what a source does.

    Whoever is cancelled while a slow source is asked has what came before: `answered` is handed each answer as it
    arrives, the list of a source in `came` each record.
    """

    async def ask(asked: Asked) -> SourceAnswer:
        answer = SourceAnswer(source=asked.source.name, result=await search(asked))
        answered(answer)
        return answer

    async def search(asked: Asked) -> SearchResult:
        own = came.get(asked.source.name)
        # The deadline binds this task alone: a slow source takes no time from the others.
        with transport.deadline(time_limit), nullcontext() if own is None else transport.collecting(own):
            try:
                tools = asked.source.build(transport)
                return await tools.search(query, max_results=max_results, **asked.filters)
            except LiteratureError as error:
                return SearchResult(status="failed", query_sent=query, error=ErrorInfo.of(error))

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(ask(asked)) for asked in plan.asked]
    return tuple(task.result() for task in tasks)


def merged(
    plan: PlanForAll, answers: Sequence[SourceAnswer], query: str, *, max_results: int = 10, year: int
) -> SearchResult:
    """One list of works out of the answers, best score first; `year` is the current one.

    Records of one publication become one work, completed from all that were found of it. Each work carries its score
    and, in `relevance`, the parts of the score.
    """
    registry = ArtifactRegistry()
    places: dict[Reference, list[Place]] = {}
    for answer in answers:
        for place, reference in enumerate(registry.hold_all(answer.result.artifacts), start=1):
            places.setdefault(reference, []).append(Place(answer.source, place))
    works = _works(registry, places)
    scored: list[tuple[str, CitationArtifact]] = []
    for reference, found in works.items():
        artifact = registry.find(reference)
        assert artifact is not None  # held above
        given = score(artifact, tuple(found), year=year)
        # A work counts for the first source that found it, in the fixed order.
        named = artifact.model_copy(update={"reference": None, "relevance_score": given.value, "relevance": given.text})
        scored.append((found[0].source, named))
    scored.sort(key=lambda pair: -(pair[1].relevance_score or 0))
    shown = _shared_out(scored, max_results)
    outcomes = _outcomes(plan, answers)
    status, error = _status(outcomes)
    labels = {asked.source.name: asked.source.label for asked in plan.asked}
    return SearchResult(
        status=status,
        query_sent=query,
        applied_filters={name: _written(value) for name, value in plan.filters.items()},
        warnings=(
            *plan.warnings,
            *plan.not_asked.values(),
            *(
                _labelled(label, warning)
                for outcome in outcomes
                if (label := labels.get(outcome.source)) is not None
                for warning in outcome.warnings
            ),
        ),
        notice=_notice(plan, answers, len(works), len(shown)),
        returned=len(shown),
        artifacts=shown,
        error=error,
        outcomes=outcomes,
    )


async def search_all(
    transport: Transport,
    sources: Sequence[Source],
    query: str,
    *,
    max_results: int = 10,
    time_limit: float = TIME_LIMIT_S,
    **filters: Any,
) -> SearchResult:
    """Search all `sources` at once; see `merged` for what comes back and `SearchResult.outcomes` for each source.

    `filters` are those of the sources' own searches; each goes to the sources that have it. A source that fails costs
    nothing but its share.

    Raises:
        InvalidInputError: no source can be asked with these filters.
    """
    plan = plan_all(sources, filters)
    require_any(plan)
    answers = await ask_all(transport, plan, query, max_results=max_results, time_limit=time_limit)
    return merged(plan, answers, query, max_results=max_results, year=transport.now().year)


def require_any(plan: PlanForAll) -> None:
    """Raise `InvalidInputError` if the plan asks nobody."""
    if not plan.asked:
        raise refused(
            "all",
            " ".join(plan.not_asked.values()) or "No source to ask.",
            recovery="Give date_from and date_to, or name another source.",
        )


def _works(registry: ArtifactRegistry, places: Mapping[Reference, list[Place]]) -> dict[Reference, list[Place]]:
    """Places by work: a later record may have joined two works that were held apart."""
    joined: dict[Reference, list[Place]] = {}
    for reference, found in places.items():
        canonical = registry.canonical(reference)
        assert canonical is not None  # every key of a work stays valid
        joined.setdefault(canonical, []).extend(found)
    return {
        reference: [
            min((each for each in found if each.source == source), key=lambda each: each.place)
            for source in dict.fromkeys(each.source for each in found)
        ]
        for reference, found in joined.items()
    }


def _shared_out(scored: Sequence[tuple[str, CitationArtifact]], max_results: int) -> tuple[Artifact, ...]:
    """The best `max_results` by score, no source with more than its share while another has something left."""
    most = max(1, ceil(max_results * LARGEST_SHARE))
    counts: dict[str, int] = {}
    within: list[int] = []
    beyond: list[int] = []
    for at, (source, _) in enumerate(scored):
        counts[source] = counts.get(source, 0) + 1
        (within if counts[source] <= most else beyond).append(at)
    chosen = sorted((*within, *beyond[: max(0, max_results - len(within))])[:max_results])
    return tuple(scored[at][1] for at in chosen)  # type: ignore[misc]  # a registry holds members of the union only


def _outcomes(plan: PlanForAll, answers: Sequence[SourceAnswer]) -> tuple[SourceOutcome, ...]:
    could_not = {asked.source.name: asked.warnings for asked in plan.asked}
    found = [
        SourceOutcome(
            source=answer.source,
            status=answer.result.status,
            query_sent=answer.result.query_sent,
            total=answer.result.total,
            returned=len(answer.result.artifacts),
            warnings=(*could_not.get(answer.source, ()), *answer.result.warnings),
            error=answer.result.error,
        )
        for answer in answers
    ]
    left_out = [SourceOutcome(source=name, status="not_asked", warnings=(why,)) for name, why in plan.not_asked.items()]
    return tuple(sorted((*found, *left_out), key=lambda outcome: plan.order.index(outcome.source)))


def _status(outcomes: Sequence[SourceOutcome]) -> tuple[SearchStatus, ErrorInfo | None]:
    """`failed`: no asked source answered; `partial`: one failed or was cut short; who was not asked counts for none."""
    asked = [outcome for outcome in outcomes if outcome.status != "not_asked"]
    broken = [(outcome.source, outcome.error) for outcome in asked if outcome.error is not None]
    if all(outcome.status == "failed" for outcome in asked):
        return "failed", _joint_error(broken)
    if broken or any(outcome.status == "partial" for outcome in asked):
        return "partial", broken[0][1] if len(broken) == 1 else _joint_error(broken)
    return ("ok" if any(outcome.returned for outcome in asked) else "empty"), None


def _joint_error(broken: Sequence[tuple[str, ErrorInfo]]) -> ErrorInfo | None:
    """The errors of several sources as one: `all_<kind>` of the first."""
    if not broken:
        return None
    first = broken[0][1]
    return ErrorInfo(
        reason=f"all_{first.reason.partition('_')[2]}",
        message=" ".join(f"{source}: {error.message}" for source, error in broken),
        retryable=any(error.retryable for _, error in broken),
        recovery=first.recovery,
    )


def _notice(plan: PlanForAll, answers: Sequence[SourceAnswer], works: int, shown: int) -> str | None:
    said: list[str] = []
    if works:
        records = sum(len(answer.result.artifacts) for answer in answers)
        said.append(
            f"{records} {'records are' if records > 1 else 'record is'} {works} {'works' if works > 1 else 'work'}, "
            f"{shown} shown, by score ({formula()}). "
            "For more, search each source by itself."
        )
    labels = {asked.source.name: asked.source.label for asked in plan.asked}
    for answer in answers:
        # What a source says where it found nothing or left something out, such as a better spelling.
        if answer.result.notice and (answer.result.warnings or not answer.result.artifacts):
            said.append(_labelled(labels.get(answer.source, answer.source), answer.result.notice))
    return " ".join(said) or None


def _labelled(label: str, sentence: str) -> str:
    return sentence if sentence.startswith(label) else f"{label}: {sentence}"


def _written(value: Any) -> str:
    return ", ".join(str(one) for one in value) if isinstance(value, list | tuple) else str(value)
