"""`batch`: a file of questions, a file of answers."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from literature_agent.cli import options
from literature_agent.cli.corpus import open_settings
from literature_agent.cli.durable_runs import require_durable
from literature_agent.cli.screen import FAILED, PARTIAL, Screen, color_wanted, error_document
from literature_agent.errors import InvalidInputError, LiteratureError

if TYPE_CHECKING:
    from literature_agent.durable.batch import Batch, Progress
    from literature_agent.durable.book import RunBook
    from literature_agent.settings import Settings

_TELL_S = 30.0
_TELL_TERMINAL_S = 2.0
_LOOK_S = 15.0
"""So long nobody may be there to work before it is said: workers take a moment to start."""


def batch(
    questions: Annotated[
        Path | None,
        typer.Argument(help="Questions: .jsonl, .csv or .parquet with `question`; none: only work on the queue."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Answers: .jsonl, .csv or .parquet, one row a question.")
    ] = None,
    workers: Annotated[int, typer.Option(min=0, max=64, help="Processes that work; 0: others do.")] = 1,
    concurrency: Annotated[int, typer.Option(min=1, max=256, help="Questions at a time in one process.")] = 4,
    queue: Annotated[str, typer.Option(help="Queue that the workers share.")] = "literature",
    model: options.ModelName = None,
    max_requests: options.MaxRequests = None,
    max_cost: options.MaxCost = None,
    deadline: options.Deadline = None,
    batch_cost: Annotated[float | None, typer.Option(min=0, metavar="USD", help="Most to spend on all.")] = None,
    retries: Annotated[int, typer.Option(min=0, max=10, help="Further attempts at what failed in passing.")] = 2,
    use_sandbox: options.UseSandbox = False,
    corpus: options.CorpusFolder = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    no_color: options.NoColor = False,
) -> int:
    """Answer the questions of a file, and survive a crash.

    The same command goes on where it was. Every answer has one row in --out. What got none is listed, with its reason,
    in a file beside it that can be given as questions again; the same command asks only those again. Exit code 3 if
    some got no answer or one only in part (their `status` is `partial`), 1 if none got one.
    """
    require_durable()
    from literature_agent.durable.batch import letters_file, write_letters
    from literature_agent.durable.engine import version_for
    from literature_agent.durable.tables import check_kind

    screen = Screen(json=json, quiet=quiet, verbose=verbose, color=color_wanted(no_color))
    if (questions is None) != (out is None):
        raise InvalidInputError(
            "A batch needs a file of questions and --out.", recovery="Give both, or neither to work on the queue."
        )
    if out is not None:
        check_kind(out, "The file of results")
    options.check_limits(deadline, max_cost)
    stop = threading.Event()
    with (
        screen.logging(),
        open_settings(sandbox=use_sandbox, folder=corpus) as opened,
        _stopping(stop, screen),
    ):
        settings, version = opened.settings, version_for(opened.papers)
        if questions is None or out is None:
            return _work(settings, queue, os.environ.get(_ATTACHED) or version, concurrency, stop, screen)
        screen.note(opened.note)
        budget = {"max_requests": max_requests, "max_cost_usd": max_cost, "deadline_s": deadline}
        with (
            _opened(settings, questions, out, queue, version, model, budget, batch_cost, retries) as (book, batch),
            _workers(settings, queue, version, concurrency, workers, screen) as watch,
        ):
            # With its one worker in this process, the engine says that the database is away.
            say = (lambda sentence: None) if workers == 1 else screen.note
            batch.run(stop, tell=_teller(screen, book, starting=workers > 1), watch=watch, say=say)
        write_letters(letters_file(out), list(batch.dead.values()))
    done = batch.progress
    screen.note(f"{done.sentence()}. Answers: {out}.")
    if batch.dead:
        screen.note(f"Without an answer, with the reason: {letters_file(out)}.")
    if stop.is_set() and done.left:
        screen.note(f"Stopped with {done.left} left; the same command goes on with them.")
    is_whole = not (done.left or batch.dead or done.partial)
    code = (0 if is_whole else PARTIAL) if done.done else FAILED
    if screen.json:
        summary = _summary(batch, out)
        screen.document({**error_document(_first_error(batch)), **summary} if code == FAILED else summary)
    return code


@contextmanager
def _opened(
    settings: Settings,
    questions: Path,
    out: Path,
    queue: str,
    version: str,
    model: str | None,
    budget: dict[str, Any],
    batch_cost: float | None,
    retries: int,
) -> Iterator[tuple[RunBook, Batch]]:
    from literature_agent.agents.models import EXTRACTIVE, resolve_model
    from literature_agent.durable.batch import Batch, BatchLimits, batch_id
    from literature_agent.durable.book import open_book
    from literature_agent.durable.tables import Results, read_questions
    from literature_agent.outputs import Budget

    named = model or settings.model or EXTRACTIVE
    resolve_model(named)
    results = Results(out)
    read = read_questions(questions, Budget(**{name: value for name, value in budget.items() if value is not None}))
    with open_book(settings) as book:
        yield (
            book,
            Batch(
                client=book.client,
                name=batch_id(out, version),
                queue=queue,
                version=version,
                questions=read,
                results=results,
                model=named,
                limits=BatchLimits(max_cost_usd=batch_cost, retries=retries),
            ),
        )


def _work(settings: Settings, queue: str, version: str, concurrency: int, stop: threading.Event, screen: Screen) -> int:
    """Be a worker until told to stop."""
    from literature_agent.durable.book import open_book
    from literature_agent.durable.worker import until_input_ends, working

    if not sys.stdin.isatty() and os.environ.get(_ATTACHED):
        until_input_ends(stop)
    with working(settings, queue, concurrency=concurrency, version=version) as runs:
        with open_book(settings) as book:
            for sentence in book.health().sentences()[1:]:
                screen.note(sentence)
        screen.note(f"Working on queue {queue!r}; Ctrl-C or SIGTERM ends it after the steps on their way.")
        while not stop.wait(1.0):
            runs.raise_trouble()
    # Runs are left where they wait; Python would call that a mistake on the way out.
    warnings.filterwarnings("ignore", message="coroutine .* was never awaited", category=RuntimeWarning)
    return 0


_ATTACHED = "LITERATURE_AGENT_ATTACHED"
"""Version of the process that started this worker, and with which it ends."""


@contextmanager
def _workers(
    settings: Settings, queue: str, version: str, concurrency: int, number: int, screen: Screen
) -> Iterator[Callable[[], None]]:
    """The processes that work; gives what looks after them."""
    from literature_agent.durable.worker import Crew, working

    if number <= 1:
        with working(settings, queue, concurrency=concurrency, version=version) if number else nullcontext() as runs:
            yield (lambda: None) if runs is None else runs.raise_trouble
        return
    command = [sys.executable, "-m", "literature_agent", "batch", "--queue", queue]
    command += ["--concurrency", str(concurrency), "--quiet"]
    crew = Crew(command, _environment(settings, version), number, screen.note)
    try:
        yield crew.watch
    finally:
        crew.stop()


def _environment(settings: Settings, version: str) -> dict[str, str]:
    """What a worker needs so that its settings are these."""
    from pydantic import SecretStr

    environment = {**os.environ, _ATTACHED: version}
    for name, value in settings:
        if value is None or name == "sources":
            continue
        text = value.get_secret_value() if isinstance(value, SecretStr) else str(value)
        environment[f"LITERATURE_AGENT_{name.upper()}"] = text
    environment["LITERATURE_AGENT_SOURCES"] = ",".join(settings.sources)
    return environment


def _teller(screen: Screen, book: RunBook, *, starting: bool) -> Callable[[Progress], None]:
    """Says how far the batch is, now and then, and what waits for a worker that is not there.

    `starting`: workers of this command are on their way, so that it is no news that none is at work yet.
    """
    every = _TELL_TERMINAL_S if sys.stderr.isatty() else _TELL_S
    said = looked = time.monotonic()
    stranded: list[str] = []

    def tell(progress: Progress) -> None:
        nonlocal said, looked, stranded
        now = time.monotonic()
        if now - said >= every:
            said = now
            screen.note(progress.sentence())
        if now - looked >= _LOOK_S:
            looked = now
            health = book.health()
            before, stranded = stranded, health.sentences()[1:] if health.workers or not starting else []
            for sentence in stranded if stranded != before else ():
                screen.note(sentence)

    return tell


@contextmanager
def _stopping(stop: threading.Event, screen: Screen) -> Iterator[None]:
    """Ctrl-C and SIGTERM set `stop`; a second Ctrl-C interrupts as usual."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def handle(*_: object) -> None:
        for number, handler in before.items():
            signal.signal(number, handler)
        screen.note("Stopping after the steps on their way.")
        stop.set()

    for number in before:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _first_error(batch: Batch) -> LiteratureError:
    """Why there is no answer: in JSON mode every failure carries an error."""
    stopped = LiteratureError("Stopped before the first answer.", reason="request_interrupted", retryable=True)
    return next((letter.error for letter in batch.dead.values()), stopped)


def _summary(batch: Batch, out: Path) -> dict[str, Any]:
    from literature_agent.durable.batch import letters_file

    done = batch.progress
    return {
        "batch": batch.name,
        "answered": done.done,
        "partial": done.partial,
        "failed": done.failed,
        "left": done.left,
        "cost_usd": round(done.cost_usd, 6),
        "results": str(out),
        "dead_letters": str(letters_file(out)) if batch.dead else None,
    }
