"""The one-shot functions: `aggregate`, `search`, `fetch`, `read`, each with a `*_sync` twin."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from literature_agent.agents.sync import run_in_own_loop, run_until_interrupted, takes_what
from literature_agent.errors import expect, expect_texts, refused
from literature_agent.outputs import AggregationRequest, Budget, GivenSearch, LiteratureAggregationOutput
from literature_agent.results import FetchResult, FullText, SearchResult
from literature_agent.settings import Settings, load_settings

if TYPE_CHECKING:
    from pydantic_ai import CancellationToken
    from pydantic_ai.models import Model

    from literature_agent.artifacts import Artifact
    from literature_agent.custody import Observer
    from literature_agent.registry import ArtifactRegistry
    from literature_agent.sources import Source
    from literature_agent.transport import Recording, Transport


R = TypeVar("R", SearchResult, FetchResult)


async def aggregate(
    question: str | AggregationRequest,
    *,
    model: Model | str | None = None,
    sources: Sequence[str] | str | None = None,
    date_from: str | None = None,
    date_to: str | None = None,
    since_entry_date: str | None = None,
    languages: Sequence[str] | None = None,
    publication_types: Sequence[str] | None = None,
    max_articles: int | None = None,
    searches: Sequence[GivenSearch] | None = None,
    budget: Budget | None = None,
    registry: ArtifactRegistry | None = None,
    settings: Settings | None = None,
    on_event: Observer | None = None,
    cancellation_token: CancellationToken | None = None,
    recording: Recording | None = None,
) -> LiteratureAggregationOutput:
    """Answer a biomedical question from the literature, with checked citations.

    Args:
        question: in words, or a whole `AggregationRequest`.
        model: as pydantic-ai writes it (`anthropic:claude-...`); None: the setting `MODEL`, else `extractive`.
        sources: names of sources, as a list or one text with commas; None: those of the settings.
        date_from: first publication date, `YYYY[-MM[-DD]]`.
        date_to: last publication date.
        since_entry_date: only records that entered the database since that date.
        languages: as the source writes them (`eng`).
        publication_types: for example `Randomized Controlled Trial`.
        max_articles: most articles in the answer (20).
        searches: a librarian's own search lines, run first and unchanged.
        budget: limits of requests, tool calls, tokens, cost (US dollars) and wall time (seconds).
        registry: receives every record found; None: one of its own, in `output.registry`.
        settings: None: from the environment.
        on_event: called with an `Event` for each step.
        cancellation_token: cancels the run into a partial answer.
        recording: `Recorder(folder)` keeps every answer of services and model there; `Player(folder)` gives the run
            kept there again, offline (both in `literature_agent.transport`).

    Raises:
        InvalidInputError: the input is refused; the message names value and fix.
        ConfigurationError: a setting or key is missing or wrong.
        SourceError: `recording_not_found`, a recording lacks what its replay asks.
    """
    from literature_agent.agents.aggregator import LiteratureAggregator
    from literature_agent.transport import Player

    # A replay needs no key: it compares what is given with the record, and asks nobody.
    is_replay = isinstance(recording, Player)
    built = None if is_replay else model
    aggregator = LiteratureAggregator(built, sources=sources, settings=settings, budget=budget)
    return await aggregator.run(
        question,
        model=model,
        registry=registry,
        on_event=on_event,
        cancellation_token=cancellation_token,
        recording=recording,
        budget=budget if is_replay else None,
        sources=sources if is_replay else None,
        date_from=date_from,
        date_to=date_to,
        since_entry_date=since_entry_date,
        languages=languages,
        publication_types=publication_types,
        max_articles=max_articles,
        searches=searches,
    )


@takes_what(aggregate)
def aggregate_sync(question: str | AggregationRequest, **options: Any) -> LiteratureAggregationOutput:
    """`aggregate`, for code that is not async; works inside a running event loop too. Ctrl-C ends it in a partial
    answer, a second one raises."""
    token = options.pop("cancellation_token", None)
    return run_until_interrupted(lambda stop: aggregate(question, cancellation_token=stop, **options), token)


async def search(
    source: str,
    query: str,
    *,
    max_results: int = 10,
    page: str | None = None,
    date_from: str | None = None,
    date_to: str | None = None,
    publication_types: Sequence[str] | None = None,
    sort: str | None = None,
    registry: ArtifactRegistry | None = None,
    settings: Settings | None = None,
    **own: Any,
) -> SearchResult:
    """One page of hits of one source. `own` are the filters that only this source has.

    Continue with `page=result.next_page`. With a registry the artifacts are held and carry their reference.

    The source `all` is every source at once: those of the setting SOURCES if it is set, else all that are switched on.
    Its hits are merged and scored (`relevance` tells the parts), `outcomes` says what each source answered, and a
    source that fails raises nothing.

    Raises:
        InvalidInputError: the query, a filter or a value is refused; nothing else was sent.
        SourceError: the source gave no usable answer.
    """
    from literature_agent.sources import ALL, find_source
    from literature_agent.transport import Transport

    expect("source", source, str, "name of a source")
    expect("query", query, str, "text")
    expect("max_results", max_results, int, "whole number")
    for name, text in (("page", page), ("date_from", date_from), ("date_to", date_to), ("sort", sort)):
        expect(name, text, (str, type(None)), "text")
    if publication_types is not None:
        expect_texts("publication_types", publication_types)
    _expect_holders(registry, settings)
    used = settings if settings is not None else load_settings()
    common = {
        "date_from": date_from,
        "date_to": date_to,
        "publication_types": publication_types,
        "sort": sort,
    }
    if source.strip().lower() == ALL:
        return await _search_all(query, max_results, {**common, **own, "page": page}, registry, used)
    registration = find_source(source, used, is_search=True)
    filters = _filters(registration, {**common, **own})
    async with Transport(used) as transport:
        tools = registration.build(transport)
        with _kept_if_cut(transport, registry):
            result = await tools.search(query, max_results=max_results, page=page, **filters)
    return _held(result, registry)


async def _search_all(
    query: str, max_results: int, given: dict[str, Any], registry: ArtifactRegistry | None, settings: Settings
) -> SearchResult:
    from literature_agent.federation import ask_all, merged, plan_all, require_any
    from literature_agent.sources import ALL, SOURCES, sources_of_all
    from literature_agent.transport import Transport

    filters = {name: value for name, value in given.items() if not _is_blank(value)}
    known = frozenset().union(*(source.filters for source in SOURCES))
    for name, value in filters.items():
        if name not in known or name == "cursor_mark":
            has = "no pages" if name in ("page", "cursor_mark") else f"no filter {name!r}"
            raise refused(
                ALL,
                f"A search of all sources has {has} (given: {_as_given(value)!r}).",
                recovery="Search one source by itself.",
            )
    plan = plan_all(sources_of_all(settings), filters)
    require_any(plan)
    async with Transport(settings) as transport:
        with _kept_if_cut(transport, registry):
            answers = await ask_all(transport, plan, query, max_results=max_results)
        result = merged(plan, answers, query, max_results=max_results, year=transport.now().year)
    if registry is None:
        return result
    for answer in answers:
        registry.hold_all(answer.result.artifacts)
    named = [
        artifact.model_copy(update={"reference": str(registry.work_of(artifact) or registry.hold(artifact))})
        for artifact in result.artifacts
    ]
    return result.model_copy(update={"artifacts": tuple(named)})


@takes_what(search)
def search_sync(source: str, query: str, **options: Any) -> SearchResult:
    """`search`, for code that is not async; works inside a running event loop too."""
    return run_in_own_loop(lambda: search(source, query, **options))


async def fetch(
    source: str,
    ids: str | Sequence[str],
    *,
    registry: ArtifactRegistry | None = None,
    settings: Settings | None = None,
) -> FetchResult:
    """Whole records by identifier, in the order asked; what is missing is in `not_found` or `failed`.

    Raises:
        InvalidInputError: no identifier is one; the message names value and fix.
        SourceError: the source answered for no identifier at all.
    """
    from literature_agent.sources import find_source
    from literature_agent.transport import Transport

    expect("source", source, str, "name of a source")
    expect_texts("ids", ids, "identifier or list of identifiers, each a text")
    _expect_holders(registry, settings)
    used = settings if settings is not None else load_settings()
    registration = find_source(source, used)
    asked = [ids] if isinstance(ids, str) else list(ids)
    async with Transport(used) as transport:
        with _kept_if_cut(transport, registry):
            result = await registration.build(transport).fetch(asked)
    return _held(result, registry)


@takes_what(fetch)
def fetch_sync(source: str, ids: str | Sequence[str], **options: Any) -> FetchResult:
    """`fetch`, for code that is not async; works inside a running event loop too."""
    return run_in_own_loop(lambda: fetch(source, ids, **options))


async def read(
    id_or_reference: str,
    *,
    sections: Sequence[str] | str | None = None,
    max_characters: int | None = None,
    registry: ArtifactRegistry | None = None,
    settings: Settings | None = None,
) -> FullText:
    """The open full text of one article, or why there is none (`available`, `reason`, `trail`).

    Args:
        id_or_reference: PMID, PMCID, DOI, preprint id; with a registry also a reference that it holds.
        sections: headings wanted, of any level; None: the whole body.
        max_characters: most characters of section text.
        registry: holds the article and its text.
        settings: None: from the environment.

    Raises:
        InvalidInputError: no identifier of an article, or no section of that name; the message lists those there are.
        SourceError: every route failed (`pmc_...`).
    """
    from literature_agent.federation import read as read_article

    expect("id_or_reference", id_or_reference, str, "text")
    if sections is not None:
        expect_texts("sections", sections, "heading or list of headings")
    if max_characters is not None:
        expect("max_characters", max_characters, int, "whole number")
    _expect_holders(registry, settings)
    return await read_article(
        id_or_reference, sections=sections, max_characters=max_characters, registry=registry, settings=settings
    )


@takes_what(read)
def read_sync(id_or_reference: str, **options: Any) -> FullText:
    """`read`, for code that is not async; works inside a running event loop too."""
    return run_in_own_loop(lambda: read(id_or_reference, **options))


def _expect_holders(registry: object, settings: object) -> None:
    from literature_agent.registry import ArtifactRegistry

    expect("registry", registry, (ArtifactRegistry, type(None)), "ArtifactRegistry")
    expect("settings", settings, (Settings, type(None)), "Settings")


@contextmanager
def _kept_if_cut(transport: Transport, registry: ArtifactRegistry | None) -> Iterator[None]:
    """Hold what has come until then, if the call inside is cancelled."""
    came: list[Artifact] = []
    try:
        with transport.collecting(came):
            yield
    except asyncio.CancelledError:
        if registry is not None:
            registry.hold_all(came)
        raise


def _held(result: R, registry: ArtifactRegistry | None) -> R:
    """The result with its artifacts held, each carrying the reference of its work."""
    if registry is None:
        return result
    references = registry.hold_all(result.artifacts)
    named = [
        artifact.model_copy(update={"reference": str(reference)})
        for artifact, reference in zip(result.artifacts, references, strict=True)
    ]
    return result.model_copy(update={"artifacts": tuple(named)})


def _filters(source: Source, given: dict[str, Any]) -> dict[str, Any]:
    """The filters that are set. A blank one is absent; one that the source does not have is refused by name."""
    wanted = {name: value for name, value in given.items() if not _is_blank(value)}
    for name, value in wanted.items():
        if name not in source.filters:
            raise refused(
                source.name,
                f"{source.label} has no filter {name!r} (given: {_as_given(value)!r}).",
                recovery=f"Use one of: {', '.join(sorted(source.filters))}.",
            )
    return wanted


def _as_given(value: Any) -> str:
    """A value as a person writes it: several with commas."""
    return (", ".join(map(str, value)) if isinstance(value, list | tuple | set) else str(value))[:80]


def _is_blank(value: Any) -> bool:
    if value is None:
        return True
    if isinstance(value, str):
        return not value.strip()
    return isinstance(value, list | tuple | set) and len(value) == 0
