"""A batch: many questions on one queue, worked on by one or many processes, until each has its row or its reason.

The one who runs the batch asks and collects; it holds no state that is not in the database or in the file of results,
so the same command goes on where it was.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from dbos import DBOSClient
from pydantic import ValidationError

from literature_agent.durable.book import job_of
from literature_agent.durable.engine import APP, VERSION, away, is_away
from literature_agent.durable.records import RecordRefused, check_schema, not_recorded
from literature_agent.durable.runs import RUN_WORKFLOW, Job
from literature_agent.durable.tables import BatchQuestion, Results
from literature_agent.errors import ConfigurationError, InvalidInputError, LiteratureError, reason_of
from literature_agent.render import spreadsheet_cell
from literature_agent.telemetry import BatchMeter

_ASKED_AT_ONCE = 100
_CHUNK = 20
"""Answers read at once: each can be large."""
_CLOCKS_DIFFER_S = 120.0
_AWAY_S = 1.0
"""Between two looks at a database that is away."""
_NOT_BEGUN = ("ENQUEUED", "DELAYED")
_ENDED = ("SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED")


@dataclass(frozen=True)
class BatchLimits:
    """What a whole batch may do."""

    max_cost_usd: float | None = None
    """Nothing more is asked once this is spent and promised to questions on their way."""
    retries: int = 2
    """Further attempts at a question that failed for a reason that may pass."""
    retry_delay_s: float = 10.0
    """Before the first further attempt; doubled for each more."""


@dataclass
class Progress:
    """How far a batch is."""

    total: int
    done: int = 0
    before: int = 0
    """Of these, answered by an earlier call."""
    partial: int = 0
    """Of these, answered only in part: cut short, or a source failed."""
    failed: int = 0
    waiting: int = 0
    cost_usd: float = 0.0
    began: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> int:
        return self.total - self.done - self.failed

    @property
    def seconds_left(self) -> float | None:
        """At the pace so far; None before anything has ended."""
        ended = self.done - self.before + self.failed
        return None if ended <= 0 else (time.monotonic() - self.began) / ended * self.left

    def sentence(self) -> str:
        """The state in one line."""
        parts = [f"{self.done} of {self.total} answered{f' ({self.partial} only in part)' if self.partial else ''}"]
        if self.failed:
            parts.append(f"{self.failed} failed")
        if self.cost_usd:
            parts.append(f"${self.cost_usd:.2f}")
        left = self.seconds_left
        if left is not None and self.left:
            parts.append(f"about {_duration(left)} left")
        return ", ".join(parts)


@dataclass(frozen=True)
class DeadLetter:
    """A question that got no answer, and why."""

    question: BatchQuestion
    error: LiteratureError
    attempts: int
    run_id: str | None = None

    def row(self) -> dict[str, Any]:
        """As a row of a file of questions, so that it can be asked again as it is."""
        return {
            "id": self.question.key,
            "question": self.question.request.question,
            **json.loads(self.question.request.model_dump_json(exclude={"question"}, exclude_defaults=True)),
            **json.loads(self.question.budget.model_dump_json(exclude_defaults=True)),
            "attempts": self.attempts,
            "run_id": self.run_id,
            "error": {"reason": self.error.reason, "message": self.error.message, "recovery": self.error.recovery},
        }


def batch_id(results: Path, version: str = VERSION) -> str:
    """Names the batch by its file of results, and by the papers it is about (see `version_for`): the same command goes
    on with the same batch."""
    papers = version.partition(" ")[2]
    named = "".join(f"-{_short_hash(text)}" for text in (papers, str(results.absolute())) if text)
    return f"batch{named}"


def _short_hash(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=5).hexdigest()


def _papers_of(run_id: str) -> str:
    """Equal for runs of batches over the same papers."""
    return run_id.partition("/")[0].rpartition("-")[0]


@dataclass
class Batch:
    """Asks the questions that have no row yet, and writes a row for each answer.

    Args:
        client: of the database.
        name: of the batch, see `batch_id`.
        queue: that workers listen to.
        questions: all of them.
        results: the file they end in.
        model: name of the model.
        limits: of the whole batch.
    """

    client: DBOSClient
    name: str
    queue: str
    questions: Sequence[BatchQuestion]
    results: Results
    model: str
    limits: BatchLimits = BatchLimits()
    version: str = VERSION
    progress: Progress = field(init=False)
    meter: BatchMeter = field(init=False)
    dead: dict[str, DeadLetter] = field(default_factory=dict, init=False)
    _attempts: dict[str, int] = field(default_factory=dict, init=False)
    _todo: deque[tuple[BatchQuestion, float]] = field(default_factory=deque, init=False)
    """What is still to be asked, and how long the queue is to keep it back, seconds."""
    _asked: dict[str, BatchQuestion] = field(default_factory=dict, init=False)
    """Run id -> question, of those on their way."""
    _since: str | None = field(default=None, init=False)
    _before: dict[str, int] = field(default_factory=dict, init=False)
    """Attempts made by earlier calls, which do not count against the retries of this one."""
    _priced: int = field(default=0, init=False)
    """Answers whose cost is known."""
    _unpriced: bool = field(default=False, init=False)
    """Whether a model was paid whose price is not known."""

    def __post_init__(self) -> None:
        for question in self.questions:
            row = self.results.rows.get(question.key)
            if row is not None and spreadsheet_cell(row.question) != spreadsheet_cell(question.request.question):
                raise InvalidInputError(
                    f"The results hold an answer to another question with the id {question.key!r}:"
                    f" {row.question[:80]!r}.",
                    recovery="Give the question another id, or the batch another --out.",
                )
        if any(_papers_of(row.run_id) != _papers_of(self.name) for row in self.results.rows.values()):
            raise InvalidInputError(
                "The results hold answers from other papers: --sandbox or --corpus was given for them, or another one.",
                recovery="Give the batch another --out.",
            )
        self.progress = Progress(len(self.questions))
        self.meter = BatchMeter(self.queue)

    def run(
        self,
        stop: threading.Event,
        *,
        every_s: float = 0.5,
        tell: Callable[[Progress], None] = lambda progress: None,
        watch: Callable[[], None] = lambda: None,
        say: Callable[[str], None] = lambda sentence: None,
    ) -> None:
        """Ask and collect until every question has its row or its reason, or `stop` is set.

        A database that is away is waited for.

        Args:
            stop: ends the call; what is on its way stays on the queue.
            every_s: between two looks at the database.
            tell: called after each look.
            watch: called at each look; what it raises ends the call.
            say: told when the database is away, and when it is back.

        Raises:
            LiteratureError: what `watch` raised, or the file of results or the database can't be written.
        """
        try:
            self._go_on(stop, every_s, tell, watch, say)
        finally:
            self._write([])

    def _go_on(
        self,
        stop: threading.Event,
        every_s: float,
        tell: Callable[[Progress], None],
        watch: Callable[[], None],
        say: Callable[[str], None],
    ) -> None:
        opened = was_away = False
        while not stop.is_set():
            watch()
            try:
                if not opened:
                    self._open()
                    opened = True
                self._ask()
                self._collect()
                self.progress.waiting = len(self._asked)
                self.meter.depth(len(self._asked))
                tell(self.progress)
            except sa.exc.DBAPIError as refused:
                if not is_away(refused):
                    raise not_recorded(refused) from None
                if not was_away:
                    say(away(str(refused.orig)))
                was_away = True
                stop.wait(max(every_s, _AWAY_S))
                continue
            if was_away:
                say("The database of durable runs answers again.")
                was_away = False
            if not self._todo and not self._asked:
                return
            stop.wait(every_s)

    # --- asking ---

    def _open(self) -> None:
        """Find out what is still to be asked; runs that are on their way from an earlier call are joined."""
        answered = self.results.rows
        rows = [answered[question.key] for question in self.questions if question.key in answered]
        self.progress.done = self.progress.before = len(rows)
        self.progress.partial = sum(row.status == "partial" for row in rows)
        spent = [row.cost_usd for row in rows if row.cost_usd is not None]
        # The budget is that of the batch, however many calls it takes.
        self.progress.cost_usd, self._priced = sum(spent), len(spent)
        found = self.client.list_workflows(workflow_id_prefix=f"{self.name}/", load_input=False, load_output=False)
        newest: dict[str, Any] = {}
        for status in found:
            key, attempt = _parts(status.workflow_id)
            if attempt >= self._attempts.get(key, 0):
                self._attempts[key], newest[key] = attempt, status
        self._before = dict(self._attempts)
        self._todo.clear()
        for question in sorted(self.questions, key=lambda question: question.priority):
            if question.key in answered:
                continue
            last = newest.get(question.key)
            if last is not None and last.status in _NOT_BEGUN and last.app_version != self.version:
                # Nobody has begun it, and there may be no worker of the version that asked.
                self.client.cancel_workflows([last.workflow_id])
                last = None
            if last is not None and (last.status == "SUCCESS" or last.status not in _ENDED):
                self._asked[last.workflow_id] = question
            else:
                self._todo.append((question, 0.0))
        self._leave_others()

    def _leave_others(self) -> None:
        """Ask anew where the run under the id of a question was asked something else, or of another model."""
        joined = list(self._asked)
        for start in range(0, len(joined), _ASKED_AT_ONCE):
            some = joined[start : start + _ASKED_AT_ONCE]
            for status in self.client.list_workflows(workflow_ids=some, load_output=False):
                question = self._asked[status.workflow_id]
                try:
                    job = Job.model_validate(job_of(status.input))
                except ValidationError:
                    continue  # of another version: what reads its record says so
                if (job.request.model_dump(), job.model) == (question.request.model_dump(), self.model):
                    continue
                if status.status not in _ENDED:
                    self.client.cancel_workflows([status.workflow_id])
                del self._asked[status.workflow_id]
                self._todo.append((question, 0.0))

    def _ask(self) -> None:
        """Put on the queue what the budget allows; part of a night at a time, so that answers are collected too."""
        limit = self.limits.max_cost_usd
        for _ in range(min(len(self._todo), _ASKED_AT_ONCE)):
            question, delay_s = self._todo[0]
            if limit is not None and (self._unpriced or not self._affordable(question, limit)):
                if not self._asked:
                    for left, _ in self._todo:
                        self._bury(left, _no_price() if self._unpriced else _no_money(limit))
                    self._todo.clear()
                return
            self._enqueue(question, delay_s)
            self._todo.popleft()

    def _enqueue(self, question: BatchQuestion, delay_s: float) -> None:
        # Counted when it is on the queue: where that is not known because the database went away, the same run is
        # asked for again, and is one.
        attempt = self._attempts.get(question.key, 0) + 1
        run_id = f"{self.name}/{question.key}/{attempt}"
        job = Job(request=question.request, model=self.model, budget=question.budget)
        options: dict[str, Any] = {
            "workflow_name": RUN_WORKFLOW,
            "queue_name": self.queue,
            "workflow_id": run_id,
            "app_version": self.version,
            "priority": question.priority,
            "application_name": APP,
        }
        if delay_s > 0:
            options["delay_seconds"] = delay_s
        self.client.enqueue(options, job.model_dump(mode="json"))  # type: ignore[arg-type]  # built by parts
        self._attempts[question.key] = attempt
        self._asked[run_id] = question

    def _affordable(self, question: BatchQuestion, limit: float) -> bool:
        if question.budget.max_cost_usd is None and self._asked and not self._priced:
            # Before the first price is known, questions without a limit of their own go one by one.
            return False
        # What is on its way may cost its own limit, or what a question has cost so far.
        mean = self.progress.cost_usd / max(1, self._priced)
        promised = sum(one.budget.max_cost_usd or mean for one in (*self._asked.values(), question))
        return self.progress.cost_usd + promised <= limit

    # --- collecting ---

    def _collect(self) -> None:
        ended = self.client.list_workflows(
            workflow_id_prefix=f"{self.name}/",
            status=list(_ENDED),
            completed_after=self._since,
            load_input=False,
            load_output=False,
        )
        newest = max((status.completed_at or 0 for status in ended), default=0)
        if newest:
            # Not all ended runs at each look, but some again: the clocks of machines differ.
            self._since = datetime.fromtimestamp(newest / 1000 - _CLOCKS_DIFFER_S, UTC).isoformat()
        mine = [status.workflow_id for status in ended if status.workflow_id in self._asked]
        for start in range(0, len(mine), _CHUNK):
            rows = []
            for status in self.client.list_workflows(workflow_ids=mine[start : start + _CHUNK], load_input=False):
                question = self._asked[status.workflow_id]
                answer, error = _outcome(status)
                cost = self._spent(answer)
                self.meter.ended("error" if answer is None else answer["status"], _waited(status), cost)
                if answer is not None and error is None:
                    rows.append(_row(question.key, answer))
                    self.progress.done += 1
                    self.progress.partial += answer["status"] == "partial"
                    del self._asked[status.workflow_id]
                else:
                    assert error is not None  # an outcome is an answer or an error
                    del self._asked[status.workflow_id]
                    self._failed(question, error, status.workflow_id)
            if rows:
                self._write(rows)

    def _write(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add the rows to the results; none: write what is kept back."""
        try:
            if rows:
                self.results.add(rows)
            else:
                self.results.flush()
        except OSError as refused:
            raise _not_written("The results", refused) from None

    def _spent(self, answer: Mapping[str, Any] | None) -> float:
        """What an answer cost, taken into account."""
        usage = (answer or {}).get("usage") or {}
        cost = usage.get("cost_usd")
        if cost is None:
            self._unpriced |= bool(usage.get("requests"))
            return 0.0
        self._priced += 1
        self.progress.cost_usd += float(cost)
        return float(cost)

    def _failed(self, question: BatchQuestion, error: LiteratureError, run_id: str) -> None:
        attempts = max(1, self._attempts[question.key] - self._before.get(question.key, 0))
        if error.retryable and attempts <= self.limits.retries:
            self._todo.append((question, self.limits.retry_delay_s * 2 ** (attempts - 1)))
        else:
            self._bury(question, error, run_id)

    def _bury(self, question: BatchQuestion, error: LiteratureError, run_id: str | None = None) -> None:
        self.dead[question.key] = DeadLetter(question, error, self._attempts.get(question.key, 0), run_id)
        self.progress.failed += 1


def _waited(status: Any) -> float | None:
    """Seconds from asked to begun."""
    if status.dequeued_at is None or status.created_at is None:
        return None
    return float(status.dequeued_at - status.created_at) / 1000


def _parts(run_id: str) -> tuple[str, int]:
    rest, _, attempt = run_id.rpartition("/")
    return rest.partition("/")[2], int(attempt)


def _outcome(status: Any) -> tuple[Mapping[str, Any] | None, LiteratureError | None]:
    """The answer of an ended run, and why it is none worth a row."""
    if status.status == "SUCCESS":
        try:
            if not isinstance(status.output, dict):
                raise RecordRefused("Its record can't be read by this version.", recovery="Ask again.")
            check_schema(status.output.get("schema"))
        except RecordRefused as refused:
            return None, refused
        answer: Mapping[str, Any] = status.output["answer"]
        if answer["status"] != "failed":
            return answer, None
        why = " ".join([answer["summary"], *answer["limitations"]])[:500]
        return answer, LiteratureError(why, reason="request_unreachable", retryable=True, recovery="Ask again later.")
    if status.status == "CANCELLED":
        return None, LiteratureError("It was cancelled.", reason="request_cancelled", recovery="Ask again.")
    if status.status == "MAX_RECOVERY_ATTEMPTS_EXCEEDED":
        return None, LiteratureError(
            "The process that worked on it died every time.", reason="durable_set_aside", recovery="See what kills it."
        )
    error = status.error
    if isinstance(error, LiteratureError):
        passing = error.retryable and not isinstance(error, InvalidInputError | ConfigurationError)
        return None, LiteratureError(error.message, reason=error.reason, retryable=passing, recovery=error.recovery)
    return None, LiteratureError(
        " ".join(str(error).split())[:500] or "It ended in an error without words.",
        reason="internal_error",
        retryable=True,
        recovery="Ask again; if it stays, report it.",
    )


def _row(key: str, answer: Mapping[str, Any]) -> dict[str, Any]:
    usage = answer.get("usage") or {}
    return {
        "id": key,
        "run_id": answer["run_id"],
        "status": answer["status"],
        "question": answer["question"],
        "summary": answer["summary"],
        "articles": [article["reference"] for article in answer["relevant_articles"]],
        "cost_usd": usage.get("cost_usd"),
        "requests": usage.get("requests"),
        "answer": {name: value for name, value in answer.items() if name != "registry"},
    }


def _no_money(limit: float) -> LiteratureError:
    return LiteratureError(
        f"Not asked: the batch's budget of {limit:g} US dollars was used up.",
        reason="durable_budget",
        recovery="Give the same command with a larger --batch-cost.",
    )


def _no_price() -> LiteratureError:
    return LiteratureError(
        "Not asked: the price of the model is not known, so the batch's budget can't be kept.",
        reason="durable_budget",
        recovery="Give the same command with --max-requests in place of --batch-cost.",
    )


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def letters_file(results: Path) -> Path:
    """Where the questions without an answer are listed."""
    return results.with_name(f"{results.stem}.failed.jsonl")


def write_letters(path: Path, letters: Iterator[DeadLetter] | Sequence[DeadLetter]) -> None:
    """Write the dead letters, or take the file away where there are none.

    Raises:
        LiteratureError: the file can't be written.
    """
    rows = [json.dumps(letter.row(), ensure_ascii=False) + "\n" for letter in letters]
    try:
        if rows:
            path.write_text("".join(rows), encoding="utf-8")
        else:
            path.unlink(missing_ok=True)
    except OSError as refused:
        raise _not_written(f"The list {str(path)!r} of questions without an answer", refused) from None


def _not_written(what: str, refused: OSError) -> LiteratureError:
    return LiteratureError(
        f"{what} can't be written: {reason_of(refused)}.",
        reason="durable_results",
        retryable=True,
        recovery="Make room and give the same command again: every answer is kept in the database.",
    )
