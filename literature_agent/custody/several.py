"""The agent's tools that are of no single source: search of all, related works, citations, conversion of ids, MeSH.

Each takes references and words, never identifiers, and goes through custody as every call does: the question (one
durable step), then hold, log, view, in the order in which calls were opened.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from literature_agent.artifacts import CitationArtifact
from literature_agent.custody.calls import Call, Shown, request_limits, search_key
from literature_agent.custody.events import Event
from literature_agent.errors import InvalidInputError, counted, refused
from literature_agent.federation import (
    ConvertedId,
    SourceAnswer,
    ask_all,
    convert_ids,
    find_related,
    match_citations,
    merged,
    plan_all,
    require_any,
    seed_of_records,
)
from literature_agent.results import CitationMatch, ErrorInfo, MeshResult, RelatedResult
from literature_agent.sources import ALL
from literature_agent.sources.pubmed.mesh import lookup_mesh
from literature_agent.views import (
    view_conversions,
    view_matches,
    view_mesh,
    view_related,
    view_search_all,
)

if TYPE_CHECKING:
    from literature_agent.custody.gate import Custody

SEARCH_ALL, FIND_RELATED = "search_all", "find_related"
MATCH_CITATIONS, CONVERT_IDS, LOOKUP_MESH = "match_citations", "convert_ids", "lookup_mesh"


async def _search_all(custody: Custody, arguments: Mapping[str, Any], call: Call) -> Shown:
    query = str(arguments.get("query", ""))
    max_results = int(arguments.get("max_results") or 10)
    wanted = {name: value for name, value in arguments.items() if name not in ("query", "max_results")}
    filters = {**wanted, **request_limits(custody.request, wanted)}
    plan = plan_all(
        custody.sources, {name: value for name, value in filters.items() if value not in (None, "", (), [])}
    )
    try:
        require_any(plan)
    except InvalidInputError as error:
        return custody.refusal(f"{SEARCH_ALL} | refused", error)
    key = search_key(ALL, {"query": query, "max_results": max_results, **filters})
    if (again := custody.asked_before(key)) is not None:
        return again
    sources = [asked.source for asked in plan.asked]
    ids = [custody.ledger.open_search(call.id, call.turn, call.index, part=part) for part, _ in enumerate(sources)]
    custody.asked[key] = ids[0]
    async with custody.in_order() as my_turn:
        begun = {
            source.name: custody.begin_search(source, search_id, query, call, part=part, moment=ids[0])
            for part, (source, search_id) in enumerate(zip(sources, ids, strict=True))
        }

        def answered(answer: SourceAnswer) -> None:
            begun[answer.source].answer = answer.result

        asked = await custody.ask(
            SEARCH_ALL,
            tuple[SourceAnswer, ...],
            lambda: ask_all(
                custody.transport,
                plan,
                query,
                max_results=max_results,
                answered=answered,
                came={name: noted.came for name, noted in begun.items()},
            ),
            ids[0],
        )
        await my_turn()
        if asked.error is not None:
            raise asked.error
        answers = asked.result or ()
        for answer in answers:
            custody.got(begun[answer.source], answer.result, started_at=asked.started)
        result = merged(plan, answers, query, max_results=max_results, year=asked.started.year)
        custody.fruitless = 0 if result.artifacts else custody.fruitless + 1
        if any(answer.result.error is not None and answer.result.error.retryable for answer in answers):
            del custody.asked[key]
        if result.status == "failed" and _all_refused(answers):
            return custody.refusal(f"Search {'+'.join(ids)} | {ALL} | failed", _joint_refusal(answers))
        references = [_held(custody, artifact) for artifact in result.artifacts]
        view = view_search_all(
            ids,
            result,
            references,
            lookup=custody.desk.work_of,
            marked=custody.registry.find,
            readable=custody.registry.is_open,
            seen=custody.seen,
        )
        custody.show(view)
        return Shown("fact" if result.status == "failed" else "ok", view.text, result)


def _all_refused(answers: Sequence[SourceAnswer]) -> bool:
    return all(
        answer.result.error is not None and answer.result.error.reason.endswith("_invalid_input") for answer in answers
    )


def _joint_refusal(answers: Sequence[SourceAnswer]) -> InvalidInputError:
    said = dict.fromkeys(answer.result.error.message for answer in answers if answer.result.error is not None)
    return refused(ALL, " ".join(said))


async def _find_related(custody: Custody, arguments: Mapping[str, Any], call: Call) -> Shown:
    written, kind = str(arguments.get("reference", "")), arguments.get("relation", "similar")
    reference = custody.desk.shown(written)
    if reference is None:
        return Shown("correction", custody.not_a_shown_reference(written))
    seed = seed_of_records(custody.registry.copies(reference))
    if not seed.ids and seed.nct_id is None:
        return Shown("fact", f"Nothing related to {reference} can be looked for: no identifier of it is known.")
    limit = int(arguments.get("max_results") or 10)
    async with custody.in_order() as my_turn:
        begun = custody.begin_fetch(call, _asked_first(custody), "The look for related works", asked=limit)
        with custody.transport.collecting(begun.came), custody.transport.noting(begun.asked_of):
            asked = await custody.ask(
                FIND_RELATED,
                RelatedResult,
                lambda: find_related(custody.transport, seed, kind, max_results=limit, sources=custody.sources),
            )
        await my_turn()
        result, error = asked.result, asked.error
        if error is not None:
            custody.close(begun, source=error.reason.partition("_")[0], error=error)
            return custody.refusal(f"{FIND_RELATED} | failed", error)
        assert result is not None
        references = custody.hold(result.artifacts)
        listed_by = _answered_by(result)
        custody.under_way.remove(begun)
        for part, (source, failure) in enumerate(_asked_of(result).items()):
            begun.write(source=source, part=part, references=references if source == listed_by else (), error=failure)
        linked = [pair for pair in custody.linked_to(reference) if pair[1] not in references]
        view = view_related(
            result,
            reference,
            references,
            linked=linked if kind == "linked" else (),
            lookup=custody.desk.work_of,
            marked=custody.registry.find,
            readable=custody.registry.is_open,
            seen=custody.seen,
        )
        custody.show(view)
        custody.tell(
            Event(kind="fetch_finished", text=f"{kind}: {counted(len(references), 'work')}", found=len(references))
        )
        return Shown("ok", view.text, result)


def _asked_first(custody: Custody) -> str:
    """Whom a look across the sources asks first."""
    names = [source.name for source in custody.sources]
    return next((name for name in ("pubmed", "europepmc") if name in names), names[0])


def _answered_by(result: RelatedResult) -> str:
    """The source whose list it is, else the first that was asked."""
    routes = [step.route for step in result.trail if step.result == "found"] or [step.route for step in result.trail]
    return routes[-1].partition("_")[0] if routes else "pubmed"


def _asked_of(result: RelatedResult) -> dict[str, ErrorInfo | None]:
    """Each source that was asked, in the order of asking, and how it failed if it did."""
    asked: dict[str, ErrorInfo | None] = {}
    for step in result.trail:
        if step.result != "not_tried":
            source = step.route.partition("_")[0]
            failure = ErrorInfo(reason=step.reason or "", message=f"{step.route} did not answer.", retryable=True)
            asked[source] = asked.get(source) or (failure if step.result == "failed" else None)
    if result.error is not None:
        asked[result.error.reason.partition("_")[0]] = result.error
    return asked or {_answered_by(result): None}


async def _match_citations(custody: Custody, arguments: Mapping[str, Any], call: Call) -> Shown:
    citations = [str(one) for one in arguments.get("citations") or ()]
    async with custody.in_order() as my_turn:
        begun = custody.begin_fetch(call, _asked_first(custody), "The check of citations", asked=len(citations))
        with custody.transport.noting(begun.asked_of):
            asked = await custody.ask(
                MATCH_CITATIONS,
                tuple[CitationMatch, ...],
                lambda: match_citations(custody.transport, citations, sources=custody.sources),
            )
        await my_turn()
        matches, error = asked.result, asked.error
        if error is not None or matches is None:
            assert error is not None  # no result without an error
            custody.close(begun, error=error)
            return custody.refusal(f"{MATCH_CITATIONS} | refused", error)
        references = _references_of(custody, matches)
        custody.close(
            begun,
            references=[reference for reference in references if reference is not None],
            error=next((match.error for match in matches if match.error is not None), None),
        )
        view = view_matches(
            matches,
            references,
            lookup=custody.desk.work_of,
            marked=custody.registry.find,
            readable=custody.registry.is_open,
        )
        custody.show(view)
        return Shown("ok", view.text, matches, tuple(references))


def _references_of(custody: Custody, matches: Sequence[CitationMatch]) -> list[str | None]:
    return [None if match.artifact is None else str(custody.registry.hold(match.artifact)) for match in matches]


async def _convert_ids(custody: Custody, arguments: Mapping[str, Any], call: Call) -> Shown:
    wanted: dict[str, str] = {}
    problems: list[str] = []
    for written in dict.fromkeys(str(one) for one in arguments.get("references") or ()):
        reference = custody.desk.shown(written)
        if reference is None:
            problems.append(custody.not_a_shown_reference(written))
            continue
        ids = seed_of_records(custody.registry.copies(reference)).ids
        # The converter knows PMIDs, PMCIDs and DOIs.
        if known := ids.pmid or ids.pmcid or ids.doi:
            wanted[known] = reference
        else:
            problems.append(f"{reference} has no PMID, PMCID or DOI that could be converted.")
    if problems:
        return Shown("correction", "\n".join(problems))
    async with custody.in_order() as my_turn:
        begun = custody.begin_fetch(call, "pmc", "The conversion of identifiers", asked=len(wanted))
        asked = await custody.ask(
            CONVERT_IDS, tuple[ConvertedId, ...], lambda: convert_ids(custody.transport, list(wanted))
        )
        await my_turn()
        converted, error = asked.result or (), asked.error
        failures = [one.error for one in converted if one.status == "failed" and one.error is not None]
        if failures and len(failures) == len(converted):
            error = failures[0].as_error()
        if error is not None:
            custody.close(begun, error=error)
            return custody.refusal(f"{CONVERT_IDS} | failed", error)
        rows: list[tuple[str, ConvertedId]] = [(wanted[one.asked], one) for one in converted]
        custody.close(
            begun,
            references=[reference for reference, one in rows if one.status == "found"],
            error=failures[0] if failures else None,
        )
        return Shown("ok", view_conversions(rows), converted, tuple(reference for reference, _ in rows))


async def _lookup_mesh(custody: Custody, arguments: Mapping[str, Any], call: Call) -> Shown:
    begun = custody.begin_fetch(call, "pubmed", "The look into MeSH", asked=0)
    asked = await custody.ask(
        LOOKUP_MESH,
        MeshResult,
        lambda: lookup_mesh(
            custody.transport, str(arguments.get("term", "")), max_results=int(arguments.get("max_results") or 5)
        ),
    )
    result, error = asked.result, asked.error
    custody.close(begun, error=error)
    if error is not None or result is None:
        assert error is not None  # no result without an error
        return custody.refusal(f"{LOOKUP_MESH} | failed", error)
    return Shown("ok", view_mesh(result), result)


def _held(custody: Custody, artifact: CitationArtifact) -> str:
    """The reference of a merged work: its copies were held before."""
    return str(custody.registry.work_of(artifact) or custody.registry.hold(artifact))


SEVERAL: Mapping[str, Callable[[Custody, Mapping[str, Any], Call], Awaitable[Shown]]] = {
    SEARCH_ALL: _search_all,
    FIND_RELATED: _find_related,
    MATCH_CITATIONS: _match_citations,
    CONVERT_IDS: _convert_ids,
    LOOKUP_MESH: _lookup_mesh,
}
"""Name of a tool -> what carries it out."""
