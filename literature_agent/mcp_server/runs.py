"""Runs of the aggregator on behalf of one consumer: started, watched, joined, cancelled, kept.

A run lives in a task of its own, so that it outlives the call that started it: when that call is cancelled and nobody
else waits, the run is cancelled too, and what it had found is kept under its run id.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime

from pydantic_ai import CancellationToken

from literature_agent.agents.aggregator import LiteratureAggregator
from literature_agent.agents.request import read_request
from literature_agent.custody import Event
from literature_agent.errors import ConfigurationError, InvalidInputError, LiteratureError, SourceError, reason_of
from literature_agent.mcp_server.policy import Consumer
from literature_agent.mcp_server.shelf import LEASE, Shelf, StoredRun
from literature_agent.outputs import AggregationRequest, LiteratureAggregationOutput
from literature_agent.results import ErrorInfo

logger = logging.getLogger("literature_agent.mcp_server")

RUNNING = "running"
INTERRUPTED = "interrupted"
_WINDING_DOWN_S = 10.0
_RENEW_S = LEASE.total_seconds() / 5
_LOOK_S = 0.2


@dataclass
class LiveRun:
    """One run on its way."""

    request: AggregationRequest
    request_key: str | None
    token: CancellationToken = field(default_factory=CancellationToken)
    run_id: str = ""
    sentence: str = "Starting"
    began: float = field(default_factory=time.monotonic)
    waiters: int = 0
    detached: bool = False
    """Started to be asked for later: nobody has to wait for it."""
    listeners: list[Callable[[str], None]] = field(default_factory=list)
    claims: list[str] = field(default_factory=list)
    """What other processes leave alone as long as it is under way: its key, its run id."""
    unkept: bool = False
    """Whether it was said that the file of the runs can't be written."""
    opened: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[LiteratureAggregationOutput] = field(init=False)

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self.began


class Runs:
    """The runs of one consumer."""

    def __init__(
        self,
        consumer: Consumer,
        shelf: Shelf,
        aggregator: Callable[[], Awaitable[LiteratureAggregator]],
        now: Callable[[], datetime],
        *,
        renew_s: float = _RENEW_S,
    ) -> None:
        self._consumer = consumer
        self._shelf = shelf
        self._aggregator = aggregator
        self._now = now
        self._renew_s = renew_s
        self._live: list[LiveRun] = []
        self._owner = uuid.uuid4().hex
        """Of claims, among all processes that serve this consumer."""

    @property
    def live(self) -> int:
        return len(self._live)

    async def begin(
        self, request: AggregationRequest, request_key: str | None, *, detached: bool
    ) -> LiveRun | StoredRun:
        """Start a run, join the one that is under way for the same key, or give the one that is finished.

        A run that was cancelled, interrupted or failed is not finished: asked again, it starts anew. One that another
        process is at work on is waited for, unless it is `detached`.

        Raises:
            InvalidInputError: the request is refused, or the key was used for another one.
            SourceError: the budget of the day is used up, or too many runs are under way.
        """
        request = read_request(request, {})
        known = None if request_key is None else await self._known(request, request_key, detached=detached)
        if known is not None:
            return known
        run = LiveRun(request, request_key, detached=detached)
        if request_key is not None:
            run.claims.append(_of_key(request_key))
        try:
            self._require_room()
            self._take_run_of_the_day()
        except SourceError:
            self._release(run)
            raise
        self._live.append(run)
        run.task = asyncio.create_task(self._carry_out(run), name="literature-run")
        opened = asyncio.create_task(run.opened.wait())
        try:
            await asyncio.wait({opened, run.task}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            if not (run.waiters or run.detached):
                run.token.cancel()
            raise
        finally:
            opened.cancel()
        return run

    async def _known(
        self, request: AggregationRequest, request_key: str, *, detached: bool
    ) -> LiveRun | StoredRun | None:
        """The run of this key that is under way or finished; None: there is none, and the key is claimed."""
        while True:
            for run in self._live:
                if run.request_key == request_key:
                    self._require_same(run.request.model_dump_json(), request)
                    run.detached = run.detached or detached
                    return run
            stored = self._shelf.run_of_key(request_key)
            status = None if stored is None else self.status_of(stored)
            if stored is not None and status in ("complete", "no_evidence", "partial", RUNNING):
                self._require_same(stored.request, request)
                if detached or status != RUNNING:
                    return stored
            elif self._shelf.claim(_of_key(request_key), self._owner, self._now()):
                return None
            await asyncio.sleep(_LOOK_S)

    def _require_room(self) -> None:
        if len(self._live) >= self._consumer.runs_at_once:
            raise SourceError(
                f"{len(self._live)} runs are under way, and no more are allowed at once.",
                reason="request_rate_limited",
                recovery="Wait until one has finished.",
            )

    async def _renew_claims(self, run: LiveRun) -> None:
        while True:
            await asyncio.sleep(self._renew_s)
            with _keeping(run):
                for what in run.claims:
                    self._shelf.claim(what, self._owner, self._now())

    def _release(self, run: LiveRun) -> None:
        with _keeping(run):
            for what in run.claims:
                self._shelf.release(what, self._owner)

    async def wait(self, run: LiveRun, listener: Callable[[str], None]) -> LiteratureAggregationOutput:
        """The answer of a run. If this wait is cancelled and nobody else waits, so is the run."""
        run.waiters += 1
        run.listeners.append(listener)
        try:
            return await asyncio.shield(run.task)
        except asyncio.CancelledError:
            if run.waiters == 1 and not run.detached:
                run.token.cancel()
            raise
        finally:
            run.waiters -= 1
            run.listeners.remove(listener)

    def find(self, run_id: str) -> LiveRun | StoredRun | None:
        """The run of that id, if it is one of this consumer."""
        live = next((run for run in self._live if run.run_id == run_id), None)
        return live or self._shelf.run(run_id)

    def status_of(self, stored: StoredRun) -> str:
        """`running` in the file may be a process that was killed: then it is `interrupted`."""
        if stored.status != RUNNING or self._shelf.is_claimed(_of_run(stored.run_id), self._now()):
            return stored.status
        return INTERRUPTED

    async def close(self) -> None:
        """Cancel what is under way and wait until it is kept."""
        live = list(self._live)
        for run in live:
            run.token.cancel()
        tasks = [run.task for run in live]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=_WINDING_DOWN_S)
            for task in late:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _carry_out(self, run: LiveRun) -> LiteratureAggregationOutput:
        def listen(event: Event) -> None:
            if not run.run_id and event.run_id:
                run.run_id = event.run_id
                run.claims.append(_of_run(run.run_id))
                with _keeping(run):
                    self._shelf.claim(run.claims[-1], self._owner, self._now())
                    self._shelf.open_run(run.run_id, run.request.model_dump_json(), self._now(), run.request_key)
                run.opened.set()
            run.sentence = event.text
            for listener in run.listeners:
                listener(event.text)

        renewing = asyncio.create_task(self._renew_claims(run))
        try:
            aggregator = await self._aggregator()
            output = await aggregator.run(
                run.request,
                registry=self._shelf.registry,
                budget=self._consumer.budget,
                on_event=listen,
                cancellation_token=run.token,
            )
            status = "cancelled" if run.token.cancelled else output.status
            with _keeping(run):
                self._shelf.close_run(run.run_id, status, self._now(), output=output.model_dump_json())
            return output
        except LiteratureError as error:
            self._note_failure(run, ErrorInfo.of(error))
            raise
        except BaseException:
            self._note_failure(run, ErrorInfo(reason="internal_error", message="The run ended with an error of ours."))
            raise
        finally:
            renewing.cancel()
            self._release(run)
            self._live.remove(run)
            # A run that nobody waits for any more must not warn of an exception that nobody took.
            run.task.add_done_callback(_take_exception)

    def _note_failure(self, run: LiveRun, error: ErrorInfo) -> None:
        if run.run_id:
            with _keeping(run):
                self._shelf.close_run(run.run_id, "failed", self._now(), error=error.model_dump_json())

    def _require_same(self, earlier: str, request: AggregationRequest) -> None:
        if json.loads(earlier) != json.loads(request.model_dump_json()):
            raise InvalidInputError(
                "This request_key was used for another request.", recovery="Use a new key for a new request."
            )

    def _take_run_of_the_day(self) -> None:
        day = self._now().date().isoformat()
        if not self._shelf.take("runs", day, self._consumer.runs_per_day):
            raise SourceError(
                f"The {self._consumer.runs_per_day} runs of this day are used up.",
                reason="request_rate_limited",
                recovery="The count starts anew at 00:00 UTC; single searches may still be allowed.",
            )


@contextmanager
def _keeping(run: LiveRun) -> Iterator[None]:
    """Writes to the file of the runs, which may fail without costing the run its answer; that is logged once a run."""
    try:
        yield
    except (sqlite3.Error, ConfigurationError) as refused:
        if not run.unkept:
            logger.warning(
                "Run %s goes on but can't be kept, and another process may start it too: %s.",
                run.run_id,
                reason_of(refused),
            )
        run.unkept = True


def _of_key(request_key: str) -> str:
    return f"key {request_key}"


def _of_run(run_id: str) -> str:
    return f"run {run_id}"


def output_of(stored: StoredRun) -> LiteratureAggregationOutput | None:
    """The answer that was kept, if there is one."""
    return None if stored.output is None else LiteratureAggregationOutput.model_validate_json(stored.output)


def _take_exception(task: asyncio.Task[LiteratureAggregationOutput]) -> None:
    with suppress(asyncio.CancelledError):
        task.exception()
