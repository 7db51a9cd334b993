"""What serves one consumer: its shelf, its sessions, and every tool carried out over custody."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from literature_agent.artifacts import CitationArtifact
from literature_agent.custody import Call, Custody
from literature_agent.custody.several import CONVERT_IDS
from literature_agent.errors import InvalidInputError, SourceError, counted
from literature_agent.ledger import Ledger, LedgerEntry, SearchRecord
from literature_agent.mcp_server import raw
from literature_agent.mcp_server.offers import (
    AGGREGATOR,
    RAW_FETCH,
    RAW_SEARCH,
    RENDER,
    RESULT,
    START,
    STATUS,
)
from literature_agent.mcp_server.policy import Consumer
from literature_agent.mcp_server.replies import LONGEST_RENDERED, MOST_HITS, Answer, fit_view, size
from literature_agent.mcp_server.runs import INTERRUPTED, RUNNING, LiveRun, Runs, output_of
from literature_agent.mcp_server.shelf import Shelf, StoredRun
from literature_agent.mcp_server.twins import (
    CitationsTwin,
    ErrorTwin,
    RunTwin,
    conversions_twin,
    error_twin,
    fetch_twin,
    headed,
    matches_twin,
    mentioned,
    mesh_twin,
    read_twin,
    related_twin,
    run_twin,
    search_twin,
    sentence,
)
from literature_agent.outputs import AggregationRequest, LiteratureAggregationOutput
from literature_agent.registry import Reference, find_references, replace_references
from literature_agent.render import UNKNOWN_REFERENCE, render_text
from literature_agent.render.formats import BibliographyFormat, find_format
from literature_agent.results import ErrorInfo, FetchResult, FullText, MeshResult, RelatedResult, SearchResult
from literature_agent.sources import Source
from literature_agent.transport import Transport
from literature_agent.views import view_output

Tell = Callable[[str], None]
"""Hears a sentence for people about how far a call has come."""

_IDLE_S = 30 * 60.0
_MOST_SEARCHES = 500
_MOST_SESSIONS = 200
_LONGEST_UNKNOWN = 60
_PRUNE_EVERY_S = 3600.0


class CallFailed(Exception):
    """A call that came to nothing: the error, and the text that the agent's model would see."""

    def __init__(self, error: ErrorTwin, text: str) -> None:
        super().__init__(error.message)
        self.error = error
        self.text = text


class SessionLedger(Ledger):
    """The ledger of a conversation. It is no run and may be long: nobody counts what was new in each search, so that
    looking one up does not read all of them."""

    def search(self, search_id: str) -> SearchRecord | None:
        return next((entry.search for entry in self._unsorted() if _is_search(entry, search_id)), None)

    def search_of_call(self, call_id: str) -> SearchRecord | None:
        return next((entry.search for entry in self._unsorted() if entry.call_id == call_id and entry.search), None)

    def error_of_call(self, call_id: str) -> ErrorInfo | None:
        return next((entry.error for entry in self._unsorted() if entry.call_id == call_id and entry.error), None)

    def _unsorted(self) -> Sequence[LedgerEntry]:
        """The newest first."""
        with self._lock:
            return list(reversed(self._entries.values()))


def _is_search(entry: LedgerEntry, search_id: str) -> bool:
    return entry.search is not None and entry.search.search_id == search_id


def _that_fit(works: Sequence[CitationArtifact], form: BibliographyFormat, room: int) -> list[CitationArtifact]:
    """The most works from the first on whose print in that format has at most `room` bytes: a cut file is no file."""
    if size(form.render(works)) <= room:
        return list(works)
    fits, too_many = 0, len(works)
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if size(form.render(works[:middle])) <= room:
            fits = middle
        else:
            too_many = middle
    return list(works[:fits])


@dataclass
class _Session:
    """One conversation: what its model was shown."""

    ledger: SessionLedger
    used: float = field(default_factory=time.monotonic)
    searches: int = 0


class Desk:
    """One consumer's place in the server."""

    def __init__(
        self, consumer: Consumer, shelf: Shelf, runs: Runs, sources: Sequence[Source], transport: Transport
    ) -> None:
        self.consumer = consumer
        self.shelf = shelf
        self.runs = runs
        self._sources = sources
        self._transport = transport
        self._sessions: dict[str, _Session] = {}
        self._pruned: float | None = None

    @property
    def raw(self) -> bool:
        return self.consumer.identifiers == "raw"

    def now(self) -> datetime:
        return self._transport.now()

    async def close(self) -> None:
        await self.runs.close()
        self.shelf.close()

    def take_call(self) -> None:
        """Count one call of the day.

        Raises:
            SourceError: the budget of the day is used up.
        """
        if not self.shelf.take("calls", self.now().date().isoformat(), self.consumer.calls_per_day):
            raise SourceError(
                f"The {self.consumer.calls_per_day} calls of this day are used up.",
                reason="request_rate_limited",
                recovery="The count starts anew at 00:00 UTC.",
            )

    async def carry_out(self, tool: str, arguments: dict[str, Any], session_id: str, tell: Tell) -> Answer:
        """The answer of a tool whose arguments were read.

        Raises:
            CallFailed: custody's own refusal or failure.
            LiteratureError: any other.
        """
        self._prune()
        session = self._session(session_id)
        if tool == RAW_SEARCH:
            return await raw.search(self._transport, arguments)
        if tool == RAW_FETCH:
            return await raw.fetch(self._transport, arguments)
        if tool == RENDER:
            answer = self._render(arguments)
        elif tool in (AGGREGATOR, START):
            answer = await self._run(tool, arguments, session, tell)
        elif tool in (STATUS, RESULT):
            answer = self._look(tool, arguments["run_id"], session)
        else:
            answer = await self._call(tool, arguments, session, tell)
        self.shelf.note_shown(mentioned(answer.text), self.now())
        return answer

    # The agent's tools

    async def _call(self, tool: str, arguments: dict[str, Any], session: _Session, tell: Tell) -> Answer:
        ledger = session.ledger
        self._revive(ledger, arguments)
        limited = tool.startswith("search_") and arguments.get("max_results", 0) > MOST_HITS
        if limited:
            arguments = {**arguments, "max_results": MOST_HITS}
        session.searches += 1
        call = Call(ledger.next_call_id("door"), session.searches, 0)
        # One gate for each call: calls of a client are independent, none waits for another, and asked again is
        # answered again.
        custody = Custody(
            run_id=ledger.run_id,
            sources=self._sources,
            transport=self._transport,
            registry=self.shelf.registry,
            ledger=ledger,
            request=AggregationRequest(question=""),
            observer=lambda event: tell(event.text),
        )
        try:
            shown = await custody.call(tool, arguments, call)
        except asyncio.CancelledError:
            custody.cut_short("cancelled")
            raise
        if shown.outcome != "ok":
            raise CallFailed(self._error_of(ledger, call, shown.text, shown.outcome), shown.text)
        fitted = fit_view(shown.text)
        text = fitted.text
        result: Any = shown.result
        if limited:
            text += f"\nNote: at most {MOST_HITS} hits come in one reply; the next page continues."
        if isinstance(result, SearchResult):
            if fitted.left_out:
                text += f"\nAsk again with max_results={len(headed(text))} or less, then follow its next page."
            return Answer(text, search_twin(result, text).document(), tuple(headed(text)))
        if isinstance(result, FetchResult):
            return Answer(text, fetch_twin(result, text, fitted.left_out).document(), tuple(headed(text)))
        named = tuple(reference for reference in shown.references if reference is not None)
        if isinstance(result, FullText):
            return Answer(text, read_twin(result, named[0]).document(), named)
        if isinstance(result, RelatedResult):
            return Answer(text, related_twin(result, text).document(), tuple(headed(text)))
        if isinstance(result, MeshResult):
            return Answer(text, mesh_twin(result).document())
        if tool == CONVERT_IDS:
            return Answer(text, conversions_twin(result, named).document(), named)
        matches = matches_twin(result, shown.references, text)
        if matches.status == "failed" and matches.error is not None:
            raise CallFailed(matches.error, text)
        return Answer(text, matches.document(), tuple(matches.references))

    def _error_of(self, ledger: SessionLedger, call: Call, text: str, outcome: str) -> ErrorTwin:
        """The error that custody logged for a call; a refusal before anything was asked is logged nowhere."""
        logged = ledger.error_of_call(call.id)
        if logged is not None:
            return error_twin(logged)
        kind = "request_invalid_input" if outcome == "correction" else "request_not_found"
        return error_twin(ErrorInfo(reason=kind, message=text))

    def _revive(self, ledger: Ledger, arguments: Mapping[str, Any]) -> None:
        """What an earlier session of this consumer was shown may be spoken of in this one."""
        for written in (arguments.get("reference"), *(arguments.get("references") or ())):
            if not isinstance(written, str):
                continue
            reference = Reference.parse(written)
            if reference is not None and not ledger.is_shown(reference) and self.shelf.was_shown(reference):
                self._show(ledger, str(reference))

    def _show(self, ledger: Ledger, reference: str) -> None:
        artifact = self.shelf.registry.find(reference)
        if artifact is not None:
            length = len(artifact.title)
            ledger.show(artifact.reference or reference, artifact.copy_id, "title", length, length, level="snippet")

    # Runs

    async def start_run(self, arguments: dict[str, Any]) -> str:
        """Start a run that is asked for later. Gives its run id.

        Raises:
            LiteratureError: the request is refused, or no run may be started now.
        """
        return (await self._begin(arguments, detached=True)).run_id

    async def _begin(self, arguments: dict[str, Any], *, detached: bool) -> LiveRun | StoredRun:
        members = {name: value for name, value in arguments.items() if name != "request_key"}
        request = AggregationRequest.model_validate(members, by_name=True)
        run = await self.runs.begin(request, arguments.get("request_key"), detached=detached)
        if detached and isinstance(run, LiveRun) and run.task.done():
            run.task.result()  # raises what went wrong before the run was open
        return run

    async def _run(self, tool: str, arguments: dict[str, Any], session: _Session, tell: Tell) -> Answer:
        run = await self._begin(arguments, detached=tool == START)
        if isinstance(run, StoredRun):
            return self._told_of(run, session) if tool == AGGREGATOR else self._state(run)
        if tool == START:
            return self._state(run)
        tell(f"Run {run.run_id} has started")
        return self._answer(await self.runs.wait(run, tell), session)

    def _look(self, tool: str, run_id: str, session: _Session) -> Answer:
        run = self.runs.find(run_id.strip())
        if run is None:
            raise InvalidInputError(
                "There is no run of this id.",
                reason="request_not_found",
                recovery="Copy the run id that literature_start gave; answers are deleted after some weeks.",
            )
        if tool == STATUS or isinstance(run, LiveRun):
            return self._state(run)
        return self._told_of(run, session)

    def _state(self, run: LiveRun | StoredRun) -> Answer:
        if isinstance(run, LiveRun):
            twin = RunTwin(
                run_id=run.run_id,
                status=RUNNING,
                progress=sentence(run.sentence),
                elapsed_s=round(run.elapsed_s, 1),
                model=None,
            )
            return Answer(
                f"Run {run.run_id} is running since {run.elapsed_s:.0f} s: {sentence(run.sentence)}\n"
                f"Ask {RESULT} for its answer in a while.",
                twin.document(),
            )
        status = self.runs.status_of(run)
        error = None if run.error is None else error_twin(ErrorInfo.model_validate_json(run.error))
        said = {
            RUNNING: "is running in another process of this server",
            INTERRUPTED: "was interrupted and has no answer: start it again",
            "failed": f"failed: {error.message}" if error else "failed",
        }.get(status, f"has ended: {status}. {RESULT} gives its answer")
        return Answer(f"Run {run.run_id} {said}.", RunTwin(run_id=run.run_id, status=status, error=error).document())

    def _told_of(self, run: StoredRun, session: _Session) -> Answer:
        output = output_of(run)
        if output is None:
            return self._state(run)
        answer = self._answer(output, session)
        status = self.runs.status_of(run)
        return Answer(answer.text, {**answer.structured, "status": status}, answer.references)

    def _answer(self, output: LiteratureAggregationOutput, session: _Session) -> Answer:
        text = f"Run {output.run_id}\n{view_output(output)}"
        for reference in mentioned(text):
            self._show(session.ledger, reference)
        references = [artifact.reference for artifact in output.relevant_articles if artifact.reference]
        cited = list(dict.fromkeys([*mentioned(output.summary), *references]))
        return Answer(text, run_twin(output).document(), tuple(cited))

    # Citations

    def _render(self, arguments: Mapping[str, Any]) -> Answer:
        style, prose = str(arguments["style"]).strip().lower(), arguments.get("text") or ""
        form = find_format(style)
        asked = list(dict.fromkeys(arguments.get("references") or ()))
        if not asked and not prose.strip():
            raise InvalidInputError("Nothing to print.", recovery="Give references, or text with references, or both.")
        works: dict[str, CitationArtifact] = {}
        listed: dict[str, CitationArtifact] = {}
        unknown: list[str] = []
        for written in dict.fromkeys([*asked, *(found.raw for found in find_references(prose))]):
            work = self._shown_work(written)
            if work is None or work.reference is None:
                unknown.append(sentence(written)[:_LONGEST_UNKNOWN])
                continue
            works[work.reference] = work
            if written in asked:
                listed[work.reference] = work
        parts: list[str] = []
        if prose.strip():
            foreign = {each.key: UNKNOWN_REFERENCE for each in find_references(prose) if not self._shown_work(each.raw)}
            printed = render_text(replace_references(prose, foreign), self.shelf.registry, bibliography=not asked)
            if size(printed) > LONGEST_RENDERED:
                raise InvalidInputError(
                    f"The text is too long to be printed at once: {size(printed):,} bytes with its bibliography, and "
                    f"at most {LONGEST_RENDERED:,} fit.",
                    recovery="Print it in parts.",
                )
            parts.append(printed.strip())
        kept = _that_fit(list(listed.values()), form, LONGEST_RENDERED - sum(map(size, parts))) if listed else []
        left_out = list(listed)[len(kept) :]
        if left_out and not kept and not parts:
            raise InvalidInputError(
                f"The record of {left_out[0]} alone is too long to be printed as {style}.",
                recovery=f"Print it as text; the whole record is the resource citation://{left_out[0][-11:-1]}.",
            )
        if kept:
            parts.append(form.render(kept).strip())
        printed_works = [reference for reference in works if reference not in left_out]
        twin = CitationsTwin(
            status="empty" if not printed_works else "partial" if unknown or left_out else "ok",
            style=style,
            returned=len(printed_works),
            references=printed_works,
            unknown=unknown,
            left_out=left_out,
        )
        said = f"Printed {counted(len(printed_works), 'work')} as {style} for the person behind this client."
        if unknown:
            said += f" Unknown, never shown to you: {', '.join(unknown[:10])}."
        if left_out:
            said += f"\nLeft out for length, print them in another call: {', '.join(left_out)}"
        return Answer(said, twin.document(), tuple(printed_works), rendered="\n\n".join(parts))

    def _shown_work(self, written: str) -> CitationArtifact | None:
        reference = Reference.parse(written)
        if reference is None or not self.shelf.was_shown(reference):
            return None
        return self.shelf.registry.find(reference)

    # Sessions

    def _session(self, session_id: str) -> _Session:
        now = time.monotonic()
        for known, session in list(self._sessions.items()):
            if now - session.used > _IDLE_S or session.searches >= _MOST_SEARCHES:
                del self._sessions[known]
        if session_id not in self._sessions:
            # What clients call a session is theirs to choose; one that is forgotten is revived from the shelf.
            while len(self._sessions) >= _MOST_SESSIONS:
                del self._sessions[min(self._sessions, key=lambda known: self._sessions[known].used)]
            run_id = f"{self.consumer.name}-{session_id or 'session'}"
            self._sessions[session_id] = _Session(SessionLedger(run_id, self.shelf.registry))
        self._sessions[session_id].used = now
        return self._sessions[session_id]

    def _prune(self) -> None:
        now = time.monotonic()
        if self._pruned is None or now - self._pruned > _PRUNE_EVERY_S:
            self._pruned = now
            self.shelf.prune(self.now())
