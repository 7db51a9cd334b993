"""The kill trial: workers are killed again and again, and nothing is lost, swapped or paid for twice."""

from __future__ import annotations

import json
import multiprocessing
import random
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from evals.durable.crew import MODEL, PARENT_WORKFLOW, QUEUE, serve
from evals.durable.model_server import MARK, ModelServer, Served, model_server
from evals.postgres import Postgres, running_postgres
from literature_agent.durable.batch import Batch, BatchLimits, Progress
from literature_agent.durable.book import RunBook, open_book
from literature_agent.durable.engine import APP, VERSION, database_address, engine_of
from literature_agent.durable.tables import BatchQuestion, Results
from literature_agent.outputs import AggregationRequest, Budget
from literature_agent.sandbox import Corpus, SandboxServer
from literature_agent.settings import Settings, load_settings

BEAT_S = 0.5
_TELL_S = 15.0


@dataclass(frozen=True)
class Plan:
    """The size of a trial."""

    questions: int = 300
    parents: int = 30
    workers: int = 3
    concurrency: int = 4
    kill_every_s: float = 4.0
    lease_s: float = 5.0
    """Silence after which a worker is taken for dead."""
    most_kills: int = 1_000_000
    limit_s: float = 3600.0
    seed: int = 1


@dataclass
class Outcome:
    """What one pass left behind."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    parents: dict[str, dict[str, Any]] = field(default_factory=dict)
    children: dict[str, list[str]] = field(default_factory=dict)
    """Mark of a child's question -> references of its answer."""
    served: list[Served] = field(default_factory=list)
    committed: dict[tuple[str, int], float] = field(default_factory=dict)
    """(mark, turn) -> when the model's answer was recorded, seconds."""
    upstream: Counter[str] = field(default_factory=Counter)
    kills: int = 0
    seconds: float = 0.0
    unfinished: int = 0

    def references(self) -> dict[str, list[str]]:
        """Mark of every question -> references of its answer."""
        own = {(MARK.findall(row["question"]) or ["?"])[0]: list(row["articles"]) for row in self.rows}
        return own | self.children


def marks(plan: Plan) -> tuple[list[str], list[str]]:
    """The marks of the single questions and of the parents; a parent's children have the numbers after its own."""
    singles = [f"probe{10 * number}" for number in range(1, plan.questions - plan.parents + 1)]
    return singles, [f"probe{100_000 + 10 * number}" for number in range(1, plan.parents + 1)]


def carry_out(
    plan: Plan,
    settings: Settings,
    sandbox: SandboxServer,
    model: ModelServer,
    folder: Path,
    context: str,
    *,
    kill: bool,
) -> Outcome:
    """One pass over all questions, with or without kills."""
    outcome = Outcome()
    model.served.clear()
    sandbox.requests.clear()
    singles, parents = marks(plan)
    questions = [
        BatchQuestion(
            key=mark,
            request=AggregationRequest(
                question=f"Does {mark} help in metformin use?", sources=("pubmed", "europepmc"), max_articles=5
            ),
            budget=Budget(),
        )
        for mark in singles
    ]
    began = time.monotonic()
    stop = threading.Event()
    with (
        open_book(settings) as book,
        crew(plan, settings, model.address, context, outcome, stop, kill=kill) as crowd,
    ):
        for mark in parents:
            book.client.enqueue(
                {
                    "workflow_name": PARENT_WORKFLOW,
                    "queue_name": QUEUE,
                    "workflow_id": f"parent/{mark}",
                    "app_version": VERSION,
                    "application_name": APP,
                    "priority": 1,
                },
                f"Ask about {mark}.",
            )
        results = Results(folder / "results.jsonl")
        batch = Batch(book.client, "single", QUEUE, questions, results, MODEL, BatchLimits(retries=0))
        batch.run(stop, every_s=0.3, watch=crowd.watch, tell=_teller(outcome))
        while not stop.is_set() and _waiting(book):
            crowd.watch()
            stop.wait(0.3)
        outcome.unfinished = batch.progress.left + batch.progress.failed + _waiting(book)
        _gather(book, parents, outcome)
    outcome.seconds = time.monotonic() - began
    lines = (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()
    outcome.rows = [json.loads(line) for line in lines]
    outcome.served = list(model.served)
    outcome.committed = _committed(settings)
    outcome.upstream = Counter(f"{asked.method} {asked.path}?{asked.query}" for asked in sandbox.requests)
    return outcome


def _teller(outcome: Outcome) -> Callable[[Progress], None]:
    """Says on stderr how far a pass is, each quarter of a minute: the full trial takes a while."""
    said = [time.monotonic()]

    def tell(progress: Progress) -> None:
        if time.monotonic() - said[0] >= _TELL_S:
            said[0] = time.monotonic()
            print(f"{progress.sentence()}; {outcome.kills} kills", file=sys.stderr, flush=True)

    return tell


class Crowd:
    """The workers of a pass; `watch` kills one every few seconds and starts another, where that is asked for."""

    def __init__(self, plan: Plan, settings: Settings, address: str, context: str, outcome: Outcome) -> None:
        self._processes = multiprocessing.get_context(context)
        if context == "forkserver":
            self._processes.set_forkserver_preload(["evals.durable.crew"])
        self._plan, self._outcome = plan, outcome
        self._arguments = (_kept(settings), address, plan.concurrency, BEAT_S, plan.lease_s)
        self._chance = random.Random(plan.seed)
        self._last = time.monotonic()
        self._ready_at: dict[int, float] = {}
        """Process id -> when it was first seen at work."""
        self.workers = [self._start() for _ in range(plan.workers)]
        """Process, and the event that says it is ready."""

    def _start(self) -> tuple[Any, Any]:
        ready = self._processes.Event()
        with warnings.catch_warnings():
            # Where a process is forked, Python warns of its threads; the worker uses none of them.
            warnings.simplefilter("ignore", DeprecationWarning)
            return self._started(ready), ready

    def _started(self, ready: Any) -> Any:
        process = self._processes.Process(target=serve, args=(*self._arguments, ready), daemon=True)  # type: ignore[attr-defined]  # every context has it
        process.start()
        return process

    def kill_one(self) -> None:
        """Kill a worker, if it is time: one that had a moment to work, else a slow machine would only start them."""
        now = time.monotonic()
        for process, ready in self.workers:
            if ready.is_set():
                self._ready_at.setdefault(process.pid, now)
        up = [
            place
            for place, (process, _) in enumerate(self.workers)
            if now - self._ready_at.get(process.pid, now) >= self._plan.kill_every_s / 2
        ]
        if not up or now - self._last < self._plan.kill_every_s:
            return
        if self._outcome.kills >= self._plan.most_kills:
            return
        place = self._chance.choice(up)
        process, _ = self.workers[place]
        process.kill()
        process.join(10)
        self.workers[place] = self._start()
        self._outcome.kills += 1
        self._last = now

    def end(self) -> None:
        """Stop all workers."""
        for process, _ in self.workers:
            process.terminate()
        for process, _ in self.workers:
            process.join(30)
            if process.is_alive():
                process.kill()


@dataclass(frozen=True)
class Watched:
    """A crowd with what is to be done at each look."""

    workers: list[tuple[Any, Any]]
    watch: Callable[[], None]


@contextmanager
def crew(
    plan: Plan, settings: Settings, address: str, context: str, outcome: Outcome, stop: threading.Event, *, kill: bool
) -> Iterator[Watched]:
    """The workers of a pass while it lasts; `stop` is set when its time is up."""
    crowd = Crowd(plan, settings, address, context, outcome)
    began = time.monotonic()

    def watch() -> None:
        if time.monotonic() - began > plan.limit_s:
            stop.set()
        if kill:
            crowd.kill_one()

    try:
        yield Watched(crowd.workers, watch)
    finally:
        crowd.end()


def _kept(settings: Settings) -> dict[str, Any]:
    """The settings as values that another process can be given."""
    kept = {name: value for name, value in settings if value is not None}
    if settings.database_url is not None:
        kept["database_url"] = settings.database_url.get_secret_value()
    return kept


def _waiting(book: RunBook) -> int:
    found = book.client.list_workflows(
        name=PARENT_WORKFLOW, status=["ENQUEUED", "PENDING"], load_input=False, load_output=False
    )
    return len(found)


def _gather(book: RunBook, parents: Sequence[str], outcome: Outcome) -> None:
    for mark in parents:
        for status in book.client.list_workflows(workflow_ids=[f"parent/{mark}"], load_input=False):
            if isinstance(status.output, dict):
                outcome.parents[mark] = json.loads(status.output["said"])
        for child in book.client.list_workflows(parent_workflow_id=f"parent/{mark}"):
            answer = child.output["answer"] if isinstance(child.output, dict) else None
            if answer is not None:
                own = (MARK.findall(answer["question"]) or ["?"])[0]
                outcome.children[own] = [article["reference"] for article in answer["relevant_articles"]]


def _committed(settings: Settings) -> dict[tuple[str, int], float]:
    """When the answer to each model request was recorded."""
    engine = engine_of(database_address(settings))
    schema = "" if engine.dialect.name == "sqlite" else "literature_agent."
    try:
        with engine.connect() as connection:
            rows = connection.execute(sa.text(f"SELECT workflow_uuid, inputs FROM {schema}workflow_status")).all()
            inputs = {row[0]: str(row[1]) for row in rows}
            steps = connection.execute(
                sa.text(
                    f"SELECT workflow_uuid, completed_at_epoch_ms FROM {schema}operation_outputs "
                    "WHERE function_name LIKE '%model.request%' ORDER BY workflow_uuid, function_id"
                )
            ).all()
    finally:
        engine.dispose()
    committed: dict[tuple[str, int], float] = {}
    turns: Counter[str] = Counter()
    for run_id, completed in steps:
        mark = (MARK.findall(inputs[run_id]) or ["?"])[0]
        committed[mark, turns[run_id]] = completed / 1000
        turns[run_id] += 1
    return committed


@dataclass(frozen=True)
class Report:
    """What the two passes show; `failures` is empty when all holds."""

    figures: Mapping[str, Any]
    failures: tuple[str, ...]


def compare(plan: Plan, calm: Outcome, disturbed: Outcome) -> Report:
    """Hold the disturbed pass against the undisturbed one."""
    keys = Counter(row["id"] for row in disturbed.rows)
    singles, parents = marks(plan)
    requests = Counter((served.mark, served.turn) for served in disturbed.served)
    repeats = sum(times - 1 for times in requests.values())
    paid_twice = sum(
        served.came > disturbed.committed.get((served.mark, served.turn), float("inf")) for served in disturbed.served
    )
    swapped = [mark for mark, said in disturbed.parents.items() if not _own_children(mark, said)]
    again = sum(times - 1 for times in disturbed.upstream.values())
    differ = sum(disturbed.references().get(mark) != cited for mark, cited in calm.references().items())
    figures = {
        "questions": plan.questions,
        "of them agents with four children": plan.parents,
        "workers": plan.workers,
        "kills": disturbed.kills,
        "seconds, undisturbed": round(calm.seconds, 1),
        "seconds, with kills": round(disturbed.seconds, 1),
        "results": len(disturbed.rows) + len(disturbed.parents),
        "results given twice": sum(times - 1 for times in keys.values()),
        "unfinished": disturbed.unfinished,
        "answers about another question": len(swapped),
        "answers with other references than undisturbed": differ,
        "model requests, undisturbed": len(calm.served),
        "model requests, with kills": len(disturbed.served),
        "model requests repeated (running when killed)": repeats,
        "repeated though the answer was recorded": paid_twice,
        "upstream requests, undisturbed": sum(calm.upstream.values()),
        "upstream requests, with kills": sum(disturbed.upstream.values()),
        "upstream requests sent again": again - sum(times - 1 for times in calm.upstream.values()),
    }
    running = plan.concurrency * 5
    failures = [
        sentence
        for holds, sentence in (
            (disturbed.kills > 0, "no worker was killed, so nothing was tried: kill sooner, or ask more questions"),
            (len(keys) == len(singles) and max(keys.values(), default=0) == 1, "not every question has one result"),
            (len(disturbed.parents) == len(parents), "not every agent has its answer"),
            (not swapped, f"answers of children were swapped: {swapped[:3]}"),
            (differ == 0, f"{differ} answers have other references than undisturbed"),
            (paid_twice == 0, f"{paid_twice} model requests were repeated though their answer was recorded"),
            (repeats <= disturbed.kills * running, f"{repeats} requests repeated in {disturbed.kills} kills"),
            (again <= disturbed.kills * running * 2, f"{again} upstream requests were sent again"),
            (disturbed.unfinished == 0, f"{disturbed.unfinished} questions did not end"),
        )
        if not holds
    ]
    return Report(figures, tuple(failures))


def _own_children(mark: str, said: Mapping[str, Any]) -> bool:
    number = int(mark.removeprefix("probe"))
    wanted = {f"call-{mark}-0-{place}": f"probe{number + place + 1}" for place in range(4)}
    return bool(said["mark"] == mark and said["children"] == wanted)


def kill_trial(plan: Plan, database: str, *, context: str = "forkserver", running: Postgres | None = None) -> Report:
    """Both passes, each over a database and a cache of its own.

    Args:
        plan: how large.
        database: `postgresql` (started here) or `sqlite`.
        context: how worker processes are made.
        running: a PostgreSQL to use; None: one of its own.
    """
    with (
        tempfile.TemporaryDirectory(prefix="literature-agent-") as folder,
        SandboxServer(Corpus.packaged()) as sandbox,
        model_server() as model,
        running_postgres() if database == "postgresql" and running is None else nullcontext(running) as postgres,
    ):
        passes = []
        for name, kill in (("calm", False), ("disturbed", True)):
            here = Path(folder) / name
            here.mkdir()
            address = f"sqlite:///{here / 'runs.sqlite'}" if postgres is None else postgres.database()
            settings = load_settings(
                **sandbox.settings_overrides(), cache_dir=here / "cache", database_url=address, pace="off"
            )
            passes.append(carry_out(plan, settings, sandbox, model, here, context, kill=kill))
    return compare(plan, *passes)
