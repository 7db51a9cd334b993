"""Records by reference: whom to ask, by which identifier, and what is shown of what came.

A work that only another source of the run has is asked for there, where custody may (`Custody.reroutes`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from literature_agent.artifacts import CitationArtifact
from literature_agent.custody.calls import Call, Shown, UnderWay
from literature_agent.custody.events import Event
from literature_agent.errors import LiteratureError, counted
from literature_agent.results import ErrorInfo, FetchResult
from literature_agent.sources import Source
from literature_agent.views import view_fetch

if TYPE_CHECKING:
    from literature_agent.custody.gate import Custody


async def fetch(custody: Custody, source: Source, written: Sequence[str], call: Call) -> Shown:
    """Carry out the fetch tool of `source` with what the model wrote as references."""
    wanted, elsewhere, problems = _identifiers(custody, source, written)
    asked = [(source, wanted)] if wanted else []
    refused: list[tuple[str, str]] = []
    for reference in elsewhere:
        other = next(_other_sources(custody, source, reference), None)
        if other is not None and custody.reroutes:
            _add(asked, *other, reference)
        else:
            advice = f"use {other[0].fetch_tool}." if other else "no source of this run can fetch it."
            refused.append((reference, f"no record in {source.label}; {advice}"))
    if problems or not asked:
        no_record = [f"{reference}: {why}" for reference, why in refused]
        return Shown("correction", "\n".join([*problems, *no_record]))
    async with custody.in_order() as my_turn:
        begun = [_begun(custody, call, part, *each) for part, each in enumerate(asked)]

        async def fetched() -> tuple[FetchResult, ...]:
            results = await _side_by_side(custody, asked, begun, first_round=True)
            again = _second_round(custody, source, asked, results)
            begun.extend(_begun(custody, call, part, *each) for part, each in enumerate(again, len(asked)))
            return (*results, *await _side_by_side(custody, again, begun[len(asked) :], first_round=False))

        got = await custody.ask(source.fetch_tool, tuple[FetchResult, ...], fetched)
        await my_turn()
        if got.error is not None:
            (only,) = begun  # of several each says in its result what it could not do
            custody.close(only, error=got.error)
            return custody.refusal(f"{asked[0][0].fetch_tool} | failed", got.error)
        results = got.result or ()
        asked += _second_round(custody, source, asked, results)
        # A durable run that is carried out again has the results without asking.
        begun += [_begun(custody, call, part, *asked[part]) for part in range(len(begun), len(asked))]
        return _fetch_shown(custody, source, asked, begun, results, refused)


def _begun(custody: Custody, call: Call, part: int, source: Source, wanted: Mapping[str, str]) -> UnderWay:
    return custody.begin_fetch(call, source.name, "The fetch", asked=len(wanted), part=part)


def _fetch_shown(
    custody: Custody,
    source: Source,
    asked: Sequence[tuple[Source, Mapping[str, str]]],
    begun: Sequence[UnderWay],
    results: Sequence[FetchResult],
    refused: Sequence[tuple[str, str]],
) -> Shown:
    """Hold, log and view what a fetch gave; `source` is the one whose tool was called."""
    references: list[str] = []
    not_found: dict[str, None] = {}
    answered: set[str] = set()
    failed = dict(refused)
    notes: list[str] = []
    for (answering, wanted), noted, result in zip(asked, begun, results, strict=True):
        held = custody.got(noted, result)
        references += held
        not_found |= dict.fromkeys(wanted[i] for i in result.not_found if i in wanted)
        answered.update(
            reference for i, reference in wanted.items() if i not in result.not_found and i not in result.failed
        )
        failed |= {wanted[i]: info.message for i, info in result.failed.items() if i in wanted}
        if answering.fetch_tool != source.fetch_tool and held:
            notes.append(
                f"{source.label} has no record of {', '.join(held)}; this is what {answering.label} has, as "
                f"{answering.fetch_tool} gives it."
            )
        custody.tell(
            Event(
                kind="fetch_finished",
                text=f"{answering.label}: {counted(len(held), 'record')} read",
                source=answering.name,
                found=len(held),
            )
        )
    missing = [reference for reference in not_found if reference not in answered and reference not in failed]
    for reference in missing:
        others = [] if custody.reroutes else _other_sources(custody, source, reference, showing=True)
        if tools := dict.fromkeys(other.fetch_tool for other, _ in others):
            failed[reference] = f"no record in {source.label}; use {' or '.join(tools)}."
    result = FetchResult(
        artifacts=tuple(artifact for one in results for artifact in one.artifacts),
        not_found=tuple(dict.fromkeys(missed for one in results for missed in one.not_found)),
        failed={asked_for: info for one in results for asked_for, info in one.failed.items()},
        warnings=tuple(dict.fromkeys(warning for one in results for warning in one.warnings)),
    )
    view = view_fetch(
        result,
        references,
        lookup=custody.desk.work_of,
        marked=custody.registry.find,
        readable=custody.registry.is_open,
        linked=custody.linked_to,
        not_found=[reference for reference in missing if reference not in failed],
        failed=list(failed.items()),
        notes=notes,
    )
    custody.show(view)
    return Shown("ok", view.text, result)


async def _side_by_side(
    custody: Custody,
    asked: Sequence[tuple[Source, Mapping[str, str]]],
    begun: Sequence[UnderWay],
    *,
    first_round: bool,
) -> list[FetchResult]:
    """What each source gives; one that fails costs the others nothing.

    Raises:
        LiteratureError: in the first round there is one source to ask, and it failed.
    """

    async def one(source: Source, wanted: Mapping[str, str], noted: UnderWay) -> FetchResult:
        try:
            with custody.transport.collecting(noted.came):
                noted.answer = await custody.tools[source.name].fetch(list(wanted))
        except LiteratureError as error:
            if first_round and len(asked) == 1:
                raise
            noted.answer = FetchResult(failed=dict.fromkeys(wanted, ErrorInfo.of(error)))
        return noted.answer

    return list(await asyncio.gather(*(one(*each, noted) for each, noted in zip(asked, begun, strict=True))))


def _second_round(
    custody: Custody, source: Source, asked: Sequence[tuple[Source, Mapping[str, str]]], results: Sequence[FetchResult]
) -> list[tuple[Source, dict[str, str]]]:
    """Whom to ask for what `source` does not have, though another source has shown it in this run."""
    again: list[tuple[Source, dict[str, str]]] = []
    if not custody.reroutes:
        return again
    for (answering, wanted), result in zip(asked, results, strict=False):
        if answering is not source:
            continue
        for missed in result.not_found:
            if missed not in wanted:
                continue
            other = next(_other_sources(custody, source, wanted[missed], showing=True), None)
            if other is not None:
                _add(again, *other, wanted[missed])
    return again


def _other_sources(
    custody: Custody, source: Source, reference: str, *, showing: bool = False
) -> Iterator[tuple[Source, str]]:
    """Each source of another fetch tool that can fetch the work, and by which identifier: those that have shown it
    first, or, if they must be `showing` it, alone."""
    shown_by = _shown_by(custody, reference)
    for other in sorted(custody.sources, key=lambda each: each.name not in shown_by):
        if other.fetch_tool == source.fetch_tool or (showing and other.name not in shown_by):
            continue
        identifier = identifier_for(other, custody.registry.copies(reference))
        if identifier is not None:
            yield other, identifier


def _shown_by(custody: Custody, reference: str) -> set[str]:
    return {origin.source for copy in custody.registry.copies(reference) for origin in copy.provenance}


def _identifiers(
    custody: Custody, source: Source, written: Sequence[str]
) -> tuple[dict[str, str], list[str], list[str]]:
    """Identifier the source can fetch -> reference; works it has no record of; a sentence for each thing that is
    no shown reference."""
    wanted: dict[str, str] = {}
    elsewhere: list[str] = []
    problems: list[str] = []
    for raw in dict.fromkeys(written):
        reference = custody.desk.shown(raw)
        if reference is None:
            problems.append(custody.not_a_shown_reference(raw, source))
            continue
        identifier = identifier_for(source, custody.registry.copies(reference))
        if identifier is None:
            elsewhere.append(reference)
        else:
            wanted[identifier] = reference
    return wanted, elsewhere, problems


def identifier_for(source: Source, copies: Sequence[CitationArtifact]) -> str | None:
    """An identifier of the work of these records that the source's fetch takes, the source's own kind first."""
    found = (_identifier_of(copy, kind) for kind in source.fetches for copy in copies)
    return next((value for value in found if value is not None), None)


def _add(asked: list[tuple[Source, dict[str, str]]], source: Source, identifier: str, reference: str) -> None:
    """Ask `source` for the work too."""
    for known, wanted in asked:
        if known is source:
            wanted[identifier] = reference
            return
    asked.append((source, {identifier: reference}))


def _identifier_of(copy: CitationArtifact, kind: str) -> str | None:
    """The identifier of a record that a source's `fetch` takes as `kind` (`pmid`, `doi`, `epmc` ...)."""
    if kind == "epmc":
        source, number = getattr(copy, "epmc_source", None), getattr(copy, "epmc_id", None)
        return f"{source}:{number}" if source and number else None
    value = getattr(copy, {"nct": "nct_id"}.get(kind, kind), None)
    return value if isinstance(value, str) else None
