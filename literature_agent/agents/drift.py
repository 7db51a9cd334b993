"""What has changed at the services since a run was recorded.

The searches of the record are made again, word for word: the recorded model says what to ask, the services answer as
they do now. Works are compared, not bytes: counters and orders change every day.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from pydantic_ai import CancellationToken

from literature_agent.agents.aggregator import LiteratureAggregator
from literature_agent.agents.recording import ScriptedModel, recorded_run
from literature_agent.artifacts import Artifact, CitationArtifact, CorrectionStatus, Record
from literature_agent.custody import Observer, identifier_for
from literature_agent.errors import LiteratureError
from literature_agent.ledger import SearchRecord
from literature_agent.outputs import LiteratureAggregationOutput
from literature_agent.registry import ArtifactRegistry, Reference
from literature_agent.results import SearchStatus
from literature_agent.settings import Settings, load_settings
from literature_agent.sources import Source, select_sources
from literature_agent.transport import Player, Transport


class SearchDrift(Record):
    """One search, then and now; None where it was not made: the run was stopped, or its source is switched off."""

    source: str
    query: str
    status_then: SearchStatus | None
    status_now: SearchStatus | None
    total_then: int | None
    total_now: int | None
    reason_now: str | None = None
    """Machine reason, where it failed or could not be read in full."""

    @property
    def is_answered(self) -> bool:
        """Whether it was answered in full now."""
        return self.status_now in ("ok", "empty")


class StatusDrift(Record):
    """A work whose correction status has changed."""

    work: Artifact
    then: CorrectionStatus
    now: CorrectionStatus


class Drift(Record):
    """What has changed upstream since a run was recorded."""

    question: str
    recorded_at: datetime
    checked_at: datetime
    works_then: int
    works_now: int | None
    """At least so many where not `is_complete`; None: no search was answered, so nothing is known."""
    searches: tuple[SearchDrift, ...]
    new: tuple[Artifact, ...]
    """Found now and not then."""
    gone: tuple[Artifact, ...]
    """Found then; the source has no such record any more."""
    not_listed: tuple[Artifact, ...]
    """Found then; the record is still there, but the same searches do not show it any more."""
    newly_retracted: tuple[StatusDrift, ...]
    otherwise_corrected: tuple[StatusDrift, ...]
    """Newly corrected, under concern, reinstated."""
    not_checked: tuple[Artifact, ...]
    """Found then and not now, while a source or a search was not answered: whether they still are is not known."""

    @property
    def is_complete(self) -> bool:
        """Whether every search was answered and every work could be looked at."""
        return not self.not_checked and all(search.is_answered for search in self.searches)

    @property
    def has_changes(self) -> bool:
        return bool(self.new or self.gone or self.not_listed or self.newly_retracted or self.otherwise_corrected)


async def find_drift(
    folder: Path | str,
    *,
    settings: Settings | None = None,
    on_event: Observer | None = None,
    cancellation_token: CancellationToken | None = None,
) -> Drift:
    """Make the searches of the recording in `folder` again and compare. Costs no request to any model.

    Raises:
        InvalidInputError: the recording is broken.
        SourceError: `recording_not_found`, it was made by another version.
    """
    # Every answer is to be of today.
    used = (settings if settings is not None else load_settings()).model_copy(update={"cache": "off"})
    player = Player(folder)
    run = recorded_run(player)
    model = ScriptedModel(player, run, used)
    again = LiteratureAggregator(model, sources=run.sources, settings=run.settings(used), budget=run.budget)
    then = await again.run(run.request, recording=player)
    now = await again.run(run.request, on_event=on_event, cancellation_token=cancellation_token)
    assert then.registry is not None  # a run leaves its registry
    assert now.registry is not None
    lost = [reference for reference in then.registry if _same(then.registry, reference, now.registry) is None]
    stopped = cancellation_token is not None and cancellation_token.cancelled
    sources = () if stopped else select_sources(run.sources, run.settings(used))
    fetched = await _fetched(lost, then.registry, sources, used)
    return _compared(lost, fetched, then, then.registry, now, now.registry)


def _compared(
    lost: list[Reference],
    fetched: _Fetched,
    then: LiteratureAggregationOutput,
    held_then: ArtifactRegistry,
    now: LiteratureAggregationOutput,
    held_now: ArtifactRegistry,
) -> Drift:
    searches = tuple(_searches(then.search_log, now.search_log))
    pairs = [
        (work, other)
        for reference in held_then
        if (work := held_then.find(reference)) is not None
        if (other := _same(held_then, reference, held_now) or _same(held_then, reference, fetched.records)) is not None
    ]
    changed = [
        StatusDrift(work=other, then=work.correction_status, now=other.correction_status)
        for work, other in pairs
        if other.correction_status not in (work.correction_status, "unknown")
        if other.correction_status == "retracted" or work.correction_status != "unknown"
    ]
    known = {str(reference) for reference in lost if _same(held_then, reference, fetched.records) is not None}
    # A search that was not answered may still have a record among its hits.
    unlisted = known if all(search.is_answered for search in searches) else set[str]()
    is_known = not searches or any(search.status_now not in (None, "failed") for search in searches)
    return Drift(
        question=then.question,
        recorded_at=then.started_at,
        checked_at=now.started_at,
        works_then=len(held_then),
        works_now=len(held_now) if is_known else None,
        searches=searches,
        new=tuple(work for work in held_now.artifacts() if _same(held_now, str(work.reference), held_then) is None),
        gone=_works(held_then, (r for r in lost if str(r) in fetched.missing and str(r) not in known)),
        not_listed=_works(held_then, (r for r in lost if str(r) in unlisted)),
        newly_retracted=tuple(change for change in changed if change.now == "retracted"),
        otherwise_corrected=tuple(change for change in changed if change.now != "retracted"),
        not_checked=_works(held_then, (r for r in lost if str(r) not in unlisted | (fetched.missing - known))),
    )


class _Fetched:
    """Records that were asked for by identifier, and the references of those that no source has."""

    def __init__(self) -> None:
        self.records = ArtifactRegistry()
        self.missing: set[str] = set()


async def _fetched(
    lost: list[Reference], held: ArtifactRegistry, sources: Iterable[Source], settings: Settings
) -> _Fetched:
    """Ask every source that takes an identifier of a lost work whether it still has it."""
    fetched = _Fetched()
    failed: set[str] = set()
    async with Transport(settings) as transport:
        for source in sources:
            wanted = {
                identifier: str(reference)
                for reference in lost
                if (identifier := identifier_for(source, held.copies(reference))) is not None
            }
            if not wanted:
                continue
            try:
                result = await source.build(transport).fetch(list(wanted))
            except LiteratureError:
                failed |= set(wanted.values())
                continue
            fetched.records.hold_all(result.artifacts)
            fetched.missing |= {wanted[identifier] for identifier in result.not_found if identifier in wanted}
            failed |= {wanted[identifier] for identifier in result.failed if identifier in wanted}
    # One source's "not found" says nothing while another that may have the record did not answer.
    fetched.missing -= failed
    return fetched


def _same(held: ArtifactRegistry, reference: Reference | str, other: ArtifactRegistry) -> CitationArtifact | None:
    """The work that `reference` means in `held`, as `other` has it: a work is known by any of its keys."""
    for key in sorted(held.keys(reference)):
        found = other.find(Reference(key))
        if found is not None:
            return found
    return None


def _works(held: ArtifactRegistry, references: Iterable[Reference]) -> tuple[CitationArtifact, ...]:
    return tuple(work for reference in references if (work := held.find(reference)) is not None)


def _searches(then: Iterable[SearchRecord], now: Iterable[SearchRecord]) -> Iterable[SearchDrift]:
    """Searches of both runs side by side; the same search made twice is paired in order."""

    def named(log: Iterable[SearchRecord]) -> dict[tuple[object, ...], SearchRecord]:
        seen: Counter[tuple[object, ...]] = Counter()
        found: dict[tuple[object, ...], SearchRecord] = {}
        for search in log:
            # Not the filters, which a source names in its answer: a failed search has none.
            asked = (search.source, search.query)
            seen[asked] += 1
            found[*asked, seen[asked]] = search
        return found

    before, after = named(then), named(now)
    for asked in dict.fromkeys([*before, *after]):
        old, new = before.get(asked), after.get(asked)
        either = old or new
        assert either is not None  # it is in one of the two
        yield SearchDrift(
            source=either.source,
            query=either.query,
            status_then=None if old is None else old.status,
            status_now=None if new is None else new.status,
            total_then=None if old is None else old.total,
            total_now=None if new is None else new.total,
            reason_now=None if new is None else new.reason,
        )
