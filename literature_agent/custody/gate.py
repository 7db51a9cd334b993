"""Custody: references to identifiers, the call, hold, log, view; one translation of errors.

Registration follows call order: calls of one turn run side by side, but each is held and logged after the calls that
were opened before it, so the order in which answers arrive never shows.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, Literal, TypeVar, cast

from literature_agent.artifacts import Artifact, CitationArtifact
from literature_agent.custody.calls import (
    Asked,
    Call,
    Direct,
    Shown,
    Steps,
    UnderWay,
    outcome_of,
    request_limits,
    search_key,
)
from literature_agent.custody.events import Event, Observer
from literature_agent.custody.fetching import fetch
from literature_agent.custody.several import SEVERAL
from literature_agent.errors import InvalidInputError, LiteratureError, counted, source_error, told
from literature_agent.federation import ids_of_records, read_full_text, sections_named
from literature_agent.ids import identify
from literature_agent.integrity import Desk
from literature_agent.ledger import Ledger, SearchRecord
from literature_agent.outputs import AggregationRequest
from literature_agent.registry import ArtifactRegistry
from literature_agent.results import CitationMatch, ErrorInfo, FetchResult, FullText, SearchResult
from literature_agent.sources import Source, SourceTools
from literature_agent.sources._text import quoted
from literature_agent.transport import Progress, Transport
from literature_agent.transport.spans import tracer
from literature_agent.views import View, view_fetch, view_full_text, view_search

READ_TOOL = "read_pmc_full_text"
T = TypeVar("T")

# A listener hears of every step of a usual run, and of no run more than a hundred events.
_MOST_STEPS = 90
_MOST_PROGRESS = 20
_CAUSES = {"deadline": "The deadline came", "cancelled": "The run was cancelled"}
_ALWAYS_TOLD = frozenset({"started", "repair_asked", "budget", "finished"})


@dataclass
class Custody:
    """The gate of one run."""

    run_id: str
    sources: Sequence[Source]
    transport: Transport
    registry: ArtifactRegistry
    ledger: Ledger
    request: AggregationRequest
    observer: Observer | None = None
    steps: Steps = field(default_factory=Direct)
    reroutes: bool = False
    """Whether a fetch of a work that only another source of the run has is answered from there. Not where who asks may
    use one tool and not the other."""
    repeats: int = field(default=0, init=False)
    """Searches that were answered from memory, because they had been asked before."""
    fruitless: int = field(default=0, init=False)
    """Searches in a row that failed or found nothing."""
    asked: dict[str, str] = field(default_factory=dict, init=False)
    """Key of a search -> its id."""
    desk: Desk = field(init=False)
    tools: dict[str, SourceTools] = field(default_factory=dict, init=False)
    """Name of a source of the run -> its tools."""
    under_way: list[UnderWay] = field(default_factory=list, init=False)
    """What was asked and is not in the ledger yet, in the order of asking."""
    _tail: asyncio.Event | None = field(default=None, init=False)
    _began: float = field(default_factory=time.monotonic, init=False)
    _told: Counter[str] = field(default_factory=Counter, init=False)

    def __post_init__(self) -> None:
        self.desk = Desk(self.registry, self.ledger, self.request.question)
        self.tools = {source.name: source.build(self.transport) for source in self.sources}

    # --- what the doors call ---

    async def call(self, tool: str, arguments: Mapping[str, Any], call: Call) -> Shown:
        """Carry out the agent's tool `tool`. Never raises for anything a source or an argument can do wrong."""
        with tracer().start_as_current_span(
            f"tool {tool}", attributes={"run_id": self.run_id, "turn": call.turn}
        ) as span:
            shown = await self._call(tool, arguments, call)
            span.set_attributes({"outcome": shown.outcome, "characters": len(shown.text)})
            record = self.ledger.search_of_call(call.id)
            if record is not None:
                span.set_attributes(
                    {"search_id": record.search_id, "status": record.status, "retrieved": record.retrieved}
                )
            return shown

    async def _call(self, tool: str, arguments: Mapping[str, Any], call: Call) -> Shown:
        if tool == "current_time":
            return Shown("ok", (await self.clock(f"call {call.id}")).strftime("%Y-%m-%d %H:%M UTC (%A)"))
        if tool == READ_TOOL:
            return await self._read(arguments["reference"], arguments.get("sections") or [], call)
        if tool in SEVERAL:
            return await SEVERAL[tool](self, arguments, call)
        for source in sorted(self.sources, key=lambda source: not source.takes(arguments)):
            if tool == source.search_tool:
                return await self._search(source, dict(arguments), call, origin="planned")
            if tool == source.fetch_tool:
                return await fetch(self, source, arguments["references"], call)
        raise KeyError(tool)

    async def given(self, source_name: str, query: str, number: int) -> str:
        """Run a librarian's own search line, unchanged, at a source of this run, and give its view."""
        source = next(source for source in self.sources if source.name == source_name)
        shown = await self._search(source, {"query": query}, Call(f"given-{number}", 0, number), origin="given")
        return shown.text

    async def resolve(self, source: Source, values: Sequence[str]) -> tuple[str, LiteratureError | None]:
        """Fetch records by identifier, for code at the door: hold, log and show them, and give their view."""
        call = Call(self.ledger.next_call_id("door"), 0, 0)
        begun = self.begin_fetch(call, source.name, "The fetch", asked=len(values))
        with self.transport.collecting(begun.came):
            asked = await self.ask(source.fetch_tool, FetchResult, lambda: self.tools[source.name].fetch(list(values)))
        result, error = asked.result, asked.error
        if error is not None or result is None:
            self.close(begun, error=error)
            return "", error
        references = self.got(begun, result)
        view = view_fetch(
            result, references, lookup=self.desk.work_of, marked=self.registry.find, readable=self.registry.is_open
        )
        self.show(view)
        failure = next(iter(result.failed.values()), None)
        return view.text, None if failure is None else source_error(source.name, "unreachable", failure.message)

    async def check_citations(self, citations: Sequence[str]) -> tuple[str, tuple[CitationMatch, ...], str]:
        """Check pasted citations, for code at the door: their view, what each is, or else why they were not checked."""
        shown = await self._call(
            "match_citations", {"citations": citations}, Call(self.ledger.next_call_id("door"), 0, 0)
        )
        if shown.outcome != "ok":
            return "", (), shown.text.partition("\n")[2]
        matches = tuple(one for one in cast("tuple[object, ...]", shown.result) if isinstance(one, CitationMatch))
        return shown.text, matches, ""

    def now(self, moment: str = "") -> datetime:
        """The time; a `moment` with a name is the same again in a replay."""
        return self.transport.now(moment)

    async def clock(self, moment: str = "") -> datetime:
        """The time, for what a run says or decides by it: the same when a durable run is carried out again."""
        return (await self.ask("clock", type(None), _nothing, moment)).started

    async def time_left(self, moment: str = "") -> float | None:
        """Seconds until the deadline, for decisions of the run; None when there is none."""
        left = self.transport.time_left(moment)
        if left is None:
            return None

        async def read() -> float:
            return left

        return (await self.ask("time left", float, read)).result

    async def ask(self, name: str, returns: Any, call: Callable[[], Awaitable[T]], moment: str = "") -> Asked[T]:
        """Make one call to the outside: one step of a durable run, opened before the first await.

        `moment` names the time of the call, for a replay.
        """
        return await self.steps.step(name, returns, lambda: outcome_of(self.now(moment), call()))

    def tell(self, event: Event) -> None:
        """Hand an event to the listener. A listener that raises does not end the run."""
        if self.observer is None or self._is_too_much(event):
            return
        timed = event.model_copy(update={"run_id": self.run_id, "elapsed_s": round(time.monotonic() - self._began, 3)})
        try:
            self.observer(timed)
        except Exception:  # noqa: BLE001  # the listener is the caller's code, and only listens
            self.observer = None

    def _is_too_much(self, event: Event) -> bool:
        if event.kind in _ALWAYS_TOLD:
            return False
        self._told[event.kind] += 1
        if event.kind == "search_progress" and self._told[event.kind] > _MOST_PROGRESS:
            return True
        return self._told.total() > _MOST_STEPS

    def cut_short(self, by: str) -> None:
        """Log what is still under way as cut short, because the run ends, and hold what came of it until now: `by` is
        the kind of the ending."""
        cause = _CAUSES.get(by, "The run ended")
        recovery = None if by == "deadline" else "Ask again."
        for asked in [*self.under_way]:
            if not self.transport.had(asked.moment):
                continue  # a replay, of a run that ended before it came to this
            if isinstance(asked.answer, FetchResult):
                self.got(asked, asked.answer)
                continue
            said = f"{asked.what} was cut short. {cause} before it was answered."
            sources = asked.asked_of or [asked.source]
            errors = [source_error(source, "timeout", said, recovery=recovery) for source in sources]
            if asked.search_id is not None:
                self._show_search(asked, asked.answer or _cut(asked.came, errors[0]))
                continue
            for part, (source, error) in enumerate(zip(sources, errors, strict=True)):
                own = [one for one in asked.came if _origin(one, sources) == source]
                more = {"source": source, "part": part} if asked.asked_of else {}
                asked.write(error=error, references=self.hold(own), **more)
        self.under_way.clear()

    # --- search ---

    async def _search(
        self, source: Source, arguments: dict[str, Any], call: Call, *, origin: Literal["given", "planned"]
    ) -> Shown:
        filters, notes = self.request_filters(source, arguments)
        key = search_key(source.name, {**arguments, **filters})
        if (again := self.asked_before(key)) is not None:
            return again
        search_id = self.asked[key] = self.ledger.open_search(call.id, call.turn, call.index)
        async with self.in_order() as my_turn:
            begun = self.begin_search(source, search_id, str(arguments.get("query", "")), call, origin=origin)
            with (
                self.transport.collecting(begun.came),
                self.transport.watched(lambda progress: self.tell_progress(source, search_id, progress)),
            ):
                asked = await self.ask(
                    source.search_tool,
                    SearchResult,
                    lambda: self.tools[source.name].search(**{**arguments, **filters}),
                    search_id,
                )
            await my_turn()
            result, error = asked.result, asked.error
            if error is not None:
                result = SearchResult(
                    status="failed", query_sent=str(arguments.get("query", "")), error=ErrorInfo.of(error)
                )
            assert result is not None
            self.fruitless = 0 if result.artifacts else self.fruitless + 1
            if error is not None:
                if error.retryable:
                    del self.asked[key]
                self.got(begun, result, started_at=asked.started)
                return self.refusal(f"Search {search_id} | {source.name} | failed", error)
            return Shown("ok", self._show_search(begun, result, notes, started_at=asked.started).text, result)

    def _show_search(self, asked: UnderWay, result: SearchResult, notes: Sequence[str] = (), **known: datetime) -> View:
        """Hold, log and show what a search got."""
        assert asked.search_id is not None
        references = self.got(asked, result, **known)
        view = view_search(
            asked.search_id,
            asked.source,
            result,
            references,
            lookup=self.desk.work_of,
            marked=self.registry.find,
            readable=self.registry.is_open,
            seen=self.seen,
            notes=notes,
        )
        self.show(view)
        return view

    def asked_before(self, key: str) -> Shown | None:
        """The nudge for a search that this run has asked already; None for a new one."""
        if key not in self.asked:
            return None
        self.repeats += 1
        return Shown("ok", _nudge(self.asked[key], self.ledger.search(self.asked[key])))

    def request_filters(self, source: Source, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
        """The request's own limits, as far as the source can apply them, and a note for each that it can't."""
        applied: dict[str, Any] = {}
        notes: list[str] = []
        for name, value in request_limits(self.request, arguments).items():
            if name in source.filters:
                applied[name] = value
            else:
                notes.append(f"{source.label} can't filter by {name}; these hits are not limited by it.")
        return applied, notes

    def begin_search(
        self,
        source: Source,
        search_id: str,
        query: str,
        call: Call,
        *,
        part: int = 0,
        origin: Literal["given", "planned"] = "planned",
        moment: str | None = None,
    ) -> UnderWay:
        """Note a search that is asked now, so that it stands in the log also if the run ends before its answer."""
        self.tell(
            Event(kind="search_started", text=f"{source.label}: {query}", source=source.name, search_id=search_id)
        )
        write = partial(
            self.ledger.close_search,
            call.id,
            source=source.name,
            interface=source.interface,
            query=query,
            started_at=self.now(moment or search_id),
            origin=origin,
            part=part,
        )
        return self._begin(UnderWay(source.name, "The search", search_id, write, search_id))

    def begin_fetch(self, call: Call, source: str, what: str, *, asked: int, part: int = 0) -> UnderWay:
        """Note records that are asked for now, as `begin_search` does. `what` begins a sentence."""
        write = partial(self.ledger.record_fetch, call.id, call.turn, call.index, source=source, asked=asked, part=part)
        return self._begin(UnderWay(source, what, f"asked {call.id} {part}", write))

    def _begin(self, asked: UnderWay) -> UnderWay:
        self.now(asked.moment)
        self.under_way.append(asked)
        return asked

    def close(self, asked: UnderWay, **ended: Any) -> Any:
        """Write to the ledger how it ended: `references`, `error`, `result`, and what is known better by now."""
        self.under_way.remove(asked)
        return asked.write(**ended)

    def got(self, asked: UnderWay, result: SearchResult | FetchResult, **known: Any) -> list[str]:
        """Hold and log what a search or fetch got. Gives the reference of each record."""
        references = self.hold(result.artifacts)
        if isinstance(result, FetchResult):
            error = None if references else next(iter(result.failed.values()), None)
            self.close(asked, references=references, error=error, **known)
        else:
            record = self.close(asked, references=references, result=result, **known)
            self._tell_search(asked, result, record.new)
        return references

    def hold(self, artifacts: Iterable[CitationArtifact]) -> list[str]:
        """Hold records. Gives the reference of each."""
        return [str(reference) for reference in self.registry.hold_all(artifacts)]

    def tell_progress(self, source: Source, search_id: str, progress: Progress) -> None:
        """Tell the listener how far a long search is."""
        self.tell(Event(kind="search_progress", text=progress.text, source=source.name, search_id=search_id))

    def _tell_search(self, asked: UnderWay, result: SearchResult, new: int) -> None:
        """Tell the listener how a search ended."""
        label = next(source.label for source in self.sources if source.name == asked.source)
        if result.status == "failed" and result.error is not None:
            self.tell(
                Event(
                    kind="source_failed",
                    text=f"{label} failed: {result.error.message}",
                    source=asked.source,
                    search_id=asked.search_id,
                    status="failed",
                )
            )
            return
        total = "unknown" if result.total is None else f"{result.total:,}"
        self.tell(
            Event(
                kind="search_finished",
                text=f"{label}: {len(result.artifacts)} of {total}, {new} new",
                source=asked.source,
                search_id=asked.search_id,
                status=result.status,
                found=len(result.artifacts),
                new=new,
            )
        )

    def not_a_shown_reference(self, raw: str, asked: Source | None = None) -> str:
        """What is wrong with `raw` where a reference is wanted, by a tool of the source `asked`."""
        identifier = identify(raw)
        written = quoted(raw, 200)
        if identifier is not None:
            able = (source for source in (asked, *self.sources) if source is not None and not source.needs_window)
            kind = "epmc" if identifier.kind == "ppr" else identifier.kind
            found_by = next((source for source in able if kind in source.fetches), None)
            way = (
                f"{found_by.search_tool} with the query {written} shows its reference, if it is there."
                if found_by is not None
                else "No source of this run finds it; search for its title."
            )
            return f"{written} is an identifier; this tool takes references only. {way}"
        meant = self.desk.meant(raw)
        if meant is not None:
            return f"{written} is mistyped; the reference is {meant}."
        return f"{written} is unknown; use only references that a tool result has shown."

    def seen(self, reference: str) -> bool:
        """Whether this run has shown the abstract of the work, or its beginning."""
        return self.ledger.has_shown(reference, "abstract")

    def linked_to(self, reference: str) -> list[tuple[str, str]]:
        """Works of the same family that this run has shown, with what they are to this one."""
        return [
            (linked.relation, str(linked.reference))
            for linked in self.registry.linked(reference)
            if self.ledger.is_shown(linked.reference)
        ]

    # --- read ---

    async def _read(self, written: str, sections: Sequence[str], call: Call) -> Shown:
        reference = self.desk.shown(written)
        if reference is None:
            return Shown("correction", self.not_a_shown_reference(written))
        ids = ids_of_records(self.registry.copies(reference))
        if not ids:
            return Shown("fact", f"{reference} has no full text that could be looked for: no identifier is known.")
        async with self.in_order() as my_turn:
            held = self.registry.full_text(reference)
            full, error = held, None
            write = partial(self.ledger.record_read, call.id, call.turn, call.index, source="pmc")
            begun = self._begin(UnderWay("pmc", f"Reading {reference}", f"asked {call.id} 0", write))
            if held is None:
                asked = await self.ask(READ_TOOL, FullText, lambda: read_full_text(self.transport, ids))
                full, error = asked.result, asked.error
            await my_turn()
            if error is not None:
                self.close(begun, error=error)
                return self.refusal(f"{READ_TOOL} | failed", error)
            assert full is not None
            if full.available and held is None:
                self.registry.hold_full_text(full)
            self.close(begun, references=[reference] if full.available else [])
            tables = [table.label for table in full.tables if table.label]
            asked_tables = [f"table/{label}" for label in tables if _folded(label) in {_folded(s) for s in sections}]
            names = [name for name in sections if _folded(name) not in {_folded(label) for label in tables}]
            chosen, missing = sections_named(full, names) if names else (None, [])
            view = view_full_text(
                full, reference, chosen=chosen, missing=missing, tables=asked_tables, lookup=self.desk.work_of
            )
            self.show(view)
            self.tell(Event(kind="article_read", text="Full text read" if full.available else "No full text"))
            return Shown("ok", view.text, full, (reference,))

    # --- shared ---

    def show(self, view: View) -> None:
        """Write to the ledger what a view shows."""
        for shown in view.shown:
            self.ledger.show(
                shown.reference, shown.copy_id, shown.section, shown.end, shown.length, text_hash=shown.text_hash
            )

    def refusal(self, head: str, error: LiteratureError) -> Shown:
        """The one translation of errors: refused input is for the model to mend, everything else is a fact."""
        if isinstance(error, InvalidInputError):
            return Shown("correction", f"{head}\n{told(error)}")
        return Shown("fact", f"{head}\n{told(error)} This says nothing about the literature.")

    @asynccontextmanager
    async def in_order(self) -> AsyncIterator[Callable[[], Awaitable[None]]]:
        """Gives an awaitable step that passes when all calls opened earlier have been held.

        It passes as well when the call is cancelled while it waits, for by then the answer is there and is to be held;
        the cancelling goes on at the end of the block.
        """
        before, mine = self._tail, asyncio.Event()
        cancelled: list[asyncio.CancelledError] = []
        self._tail = mine

        async def my_turn() -> None:
            try:
                if before is not None:
                    await before.wait()
            except asyncio.CancelledError as cut:
                cancelled.append(cut)

        try:
            yield my_turn
            if cancelled:
                raise cancelled[0]
        finally:
            mine.set()


async def _nothing() -> None:
    return None


def _origin(record: Artifact, sources: Sequence[str]) -> str:
    """Which of the sources asked gave the record."""
    return next((origin.source for origin in record.provenance if origin.source in sources), sources[0])


def _cut(came: Sequence[Artifact], error: LiteratureError) -> SearchResult:
    """What a search got that was cut before its answer was whole."""
    return SearchResult(
        status="partial" if came else "failed",
        query_sent="",
        returned=len(came),
        artifacts=tuple(came),
        error=ErrorInfo.of(error),
    )


def _nudge(search_id: str, record: SearchRecord | None) -> str:
    ended = "is still running" if record is None else f"ended {record.status} with {counted(record.retrieved, 'hit')}"
    return (
        f"This is the same search as {search_id}, which {ended}; nothing was asked again. "
        "Use what it gave, ask for its next page, change the query, or submit the answer."
    )


def _folded(name: str) -> str:
    return " ".join(name.casefold().replace(".", " ").split())
