"""The book of durable runs: what stands in the database, read without running anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import sqlalchemy as sa
from dbos import DBOSClient

from literature_agent.durable.engine import (
    APP,
    SCHEMA_NAME,
    VERSION,
    create_tables_of_engine,
    database_address,
    engine_of,
    probe,
    quiet,
)
from literature_agent.durable.records import RecordRefused, RecordSerializer, no_pickles
from literature_agent.durable.runs import RUN_WORKFLOW
from literature_agent.durable.workers import is_alive, living
from literature_agent.errors import InvalidInputError, counted
from literature_agent.settings import Settings

RunState = Literal["waiting", "running", "interrupted", "done", "failed", "cancelled", "set_aside"]

_STATES: dict[str, RunState] = {
    "ENQUEUED": "waiting",
    "DELAYED": "waiting",
    "PENDING": "running",
    "SUCCESS": "done",
    "ERROR": "failed",
    "CANCELLED": "cancelled",
    "MAX_RECOVERY_ATTEMPTS_EXCEEDED": "set_aside",
}
FINISHED = ("SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED")


@dataclass(frozen=True)
class RunLine:
    """One run as a list shows it."""

    run_id: str
    state: RunState
    question: str
    model: str
    started_at: datetime
    updated_at: datetime
    status: str | None = None
    """Of the answer."""
    requests: int | None = None
    cost_usd: float | None = None
    why: str | None = None
    """Why it failed."""
    queue: str | None = None


@dataclass(frozen=True)
class Health:
    """The state of the queues of a database."""

    workers: Mapping[str, int]
    """Version of the code -> workers that live."""
    waiting: Mapping[str, int]
    """Version of the code -> questions that wait for a worker of it."""
    left: Mapping[str, int]
    """Version of the code -> questions whose worker is gone, and that another worker of it takes up."""
    running: int
    interrupted: int
    """Runs whose process is gone: workers take them up, `resume` does for a single run."""

    @property
    def stranded(self) -> dict[str, int]:
        """Questions that no living worker can take, by version."""
        all_of_them = Counter(self.waiting) + Counter(self.left)
        return {version: number for version, number in all_of_them.items() if not self.workers.get(version)}

    def sentences(self) -> list[str]:
        """The state in words."""
        said = [
            f"{counted(sum(self.workers.values()), 'worker')}, {counted(self.running, 'run')} on their way, "
            f"{sum(self.waiting.values())} waiting, {self.interrupted} interrupted."
        ]
        for version, number in self.stranded.items():
            others = ", ".join(sorted(self.workers)) or "none"
            said.append(
                f"{counted(number, 'question waits', 'questions wait')} for a worker of version {version}; "
                f"those at work: {others}. Start a worker of that version, or give their batch again, once "
                "`runs cancel` has ended those begun."
            )
        return said


class RunBook:
    """Lists, cancels and removes runs."""

    def __init__(self, client: DBOSClient, engine: sa.Engine) -> None:
        self.client = client
        self._engine = engine

    def lines(self, *, limit: int = 50, run_ids: Sequence[str] | None = None) -> list[RunLine]:
        """The newest runs first; children of durable agents are left out unless asked for by id."""
        found = self.client.list_workflows(
            name=RUN_WORKFLOW,
            workflow_ids=None if run_ids is None else list(run_ids),
            has_parent=None if run_ids is not None else False,
            limit=limit,
            sort_desc=True,
        )
        return [self._line(status) for status in found]

    def line(self, run_id: str) -> RunLine:
        """One run.

        Raises:
            InvalidInputError: there is no run of that id.
        """
        lines = self.lines(run_ids=[run_id])
        if not lines:
            raise InvalidInputError(
                f"No run has the id {run_id[:80]!r}.", recovery="List them with `literature-agent runs`."
            )
        return lines[0]

    def cancel(self, run_id: str) -> RunLine:
        """Stop a run at its next step, with its children; what is recorded stays, so it can be resumed.

        Raises:
            InvalidInputError: there is no run of that id, or it has ended.
        """
        line = self.line(run_id)
        if line.state in ("done", "failed"):
            raise InvalidInputError(f"The run {run_id!r} has ended: there is nothing to cancel.", recovery="")
        self.client.cancel_workflows([run_id], cancel_children=True)
        return self.line(run_id)

    def prune(self, older_than: timedelta) -> int:
        """Remove ended runs, with their children, whose last change is older than that; the number of runs."""
        before = (datetime.now(UTC) - older_than).isoformat()
        removed = 0
        while True:
            old = self.client.list_workflows(
                status=list(FINISHED),
                completed_before=before,
                has_parent=False,
                limit=200,
                load_input=False,
                load_output=False,
            )
            if not old:
                return removed
            self.client.delete_workflows([status.workflow_id for status in old], delete_children=True)
            removed += len(old)

    def health(self) -> Health:
        """Who is at work, and what waits."""
        waiting: Counter[str] = Counter(
            status.app_version or VERSION
            for status in self.client.list_workflows(
                status=["ENQUEUED", "DELAYED"], load_input=False, load_output=False
            )
        )
        pending = self.client.list_workflows(status="PENDING", load_input=False, load_output=False)
        alive = {executor: is_alive(self._engine, executor) for executor in {one.executor_id for one in pending}}
        left = Counter(
            one.app_version or VERSION for one in pending if one.queue_name is not None and not alive[one.executor_id]
        )
        return Health(
            workers=living(self._engine),
            waiting=dict(waiting),
            left=dict(left),
            running=sum(alive[one.executor_id] for one in pending),
            interrupted=sum(not alive[one.executor_id] for one in pending),
        )

    def _line(self, status: Any) -> RunLine:
        state = _STATES[status.status]
        if state == "running" and not is_alive(self._engine, status.executor_id):
            state = "interrupted"
        job = job_of(status.input)
        answer = status.output.get("answer") if isinstance(status.output, dict) else None
        usage = (answer or {}).get("usage") or {}
        return RunLine(
            run_id=status.workflow_id,
            state=state,
            question=str((job.get("request") or {}).get("question", "")),
            model=str(job.get("model", "")),
            started_at=_time(status.created_at),
            updated_at=_time(status.updated_at),
            status=None if answer is None else answer.get("status"),
            requests=usage.get("requests"),
            cost_usd=usage.get("cost_usd"),
            why=None if status.error is None else _why(status.error),
            queue=status.queue_name,
        )


@contextmanager
def open_book(settings: Settings) -> Iterator[RunBook]:
    """The book of the database that the settings name.

    Raises:
        ConfigurationError, DatabaseError: as `open_engine`.
    """
    address = database_address(settings)
    probe(address)
    engine = engine_of(address)
    with no_pickles(), quiet():
        create_tables_of_engine(address)
        client = DBOSClient(
            system_database_engine=engine,
            dbos_system_schema=SCHEMA_NAME,
            serializer=RecordSerializer(),
            application_name=APP,
            retry_connection_errors=False,
        )
        try:
            yield RunBook(client, engine)
        finally:
            client.destroy()
            engine.dispose()


def job_of(given: Any) -> dict[str, Any]:
    """The job in the input of a run, as it was written; empty where there is none."""
    arguments = given.get("args") if isinstance(given, dict) else None
    job = arguments[0] if arguments else None
    return job if isinstance(job, dict) else {}


def _time(milliseconds: int | None) -> datetime:
    return datetime.fromtimestamp((milliseconds or 0) / 1000, UTC)


def _why(error: BaseException | str) -> str:
    if isinstance(error, str):
        # The engine gives the text of what it could not read.
        return "its record can't be read by this version"
    return error.message if isinstance(error, RecordRefused) else " ".join(str(error).split())[:300]


def as_document(line: RunLine) -> dict[str, Any]:
    """The line as JSON values."""
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in line.__dict__.items()}
