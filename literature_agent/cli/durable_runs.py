"""`resume` and `runs`, and what `run --durable` does: runs that are kept in a database and survive a crash."""

from __future__ import annotations

import signal
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from literature_agent.cli import options
from literature_agent.cli.corpus import open_settings
from literature_agent.cli.files import output_file
from literature_agent.cli.forms import SUFFIXES, Format, chosen_form
from literature_agent.cli.screen import FAILED, Screen, color_wanted
from literature_agent.errors import ConfigurationError, InvalidInputError, LiteratureError, counted

if TYPE_CHECKING:
    from literature_agent.custody import Observer
    from literature_agent.durable.book import RunLine
    from literature_agent.outputs import Budget, LiteratureAggregationOutput
    from literature_agent.settings import Settings


def require_durable() -> None:
    """Refuse in words where the extra is missing.

    Raises:
        ConfigurationError: DBOS is not installed.
    """
    try:
        import dbos  # noqa: F401  # only whether it is there
    except ImportError:
        raise ConfigurationError(
            "Durable runs need DBOS, which is not installed.",
            recovery="Install the extra: pip install 'literature-agent[durable]'.",
        ) from None


def run_durably(
    screen: Screen,
    question: str,
    *,
    settings: Settings,
    papers: str,
    model: str | None,
    budget: Budget,
    listen: Observer,
    limits: dict[str, Any],
) -> LiteratureAggregationOutput:
    """What `run --durable` does: say the run's id, and carry it out so that `resume` can go on with it."""
    require_durable()
    from literature_agent.agents.request import read_request
    from literature_agent.durable.engine import version_for
    from literature_agent.durable.single import answer_durably

    request = read_request(question, limits)
    run_id = uuid.uuid4().hex[:12]
    screen.note(f"Durable run {run_id}.")
    with _resumable(run_id):
        return answer_durably(
            request,
            run_id=run_id,
            settings=settings,
            model=model,
            budget=budget,
            on_event=listen,
            version=version_for(papers),
        )


def resume(
    run_id: Annotated[str, typer.Argument(help="Id of a durable run, as `runs` lists it.")],
    format: options.AnswerForm = None,
    output: options.OutputFile = None,
    use_sandbox: options.UseSandbox = False,
    corpus: options.CorpusFolder = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    no_color: options.NoColor = False,
) -> int:
    """Go on with a durable run, or show its answer again.

    It goes on where it was. No model request is paid for twice whose answer was recorded.
    """
    require_durable()
    from literature_agent.cli.run import EXIT_CODES, write_answer
    from literature_agent.durable.engine import version_for
    from literature_agent.durable.single import resume as resume_run

    form = chosen_form(format, output, json=json)
    file = None if output is None else output_file(output, run_id, SUFFIXES[form])
    screen = Screen(
        json=json or (form is Format.json and file is None), quiet=quiet, verbose=verbose, color=color_wanted(no_color)
    )
    with (
        screen.logging(),
        open_settings(sandbox=use_sandbox, folder=corpus) as opened,
        screen.progress(opened.note) as listen,
        _resumable(run_id),
    ):
        answer = resume_run(
            run_id,
            settings=opened.settings,
            on_event=listen,
            say=screen.note,
            version=version_for(opened.papers),
        )
    return EXIT_CODES[answer.status] if write_answer(screen, answer, form, file) else FAILED


def runs(
    action: Annotated[str, typer.Argument(help="list, cancel RUN_ID, health, or prune.")] = "list",
    run_id: Annotated[str | None, typer.Argument(help="Run to cancel.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Most runs to list.")] = 20,
    older_than: Annotated[
        float, typer.Option(min=0, max=36_500, metavar="DAYS", help="prune: remove ended runs older than this.")
    ] = 30.0,
    json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    no_color: options.NoColor = False,
) -> int:
    """List durable runs, cancel one, or remove old ones.

    Shows their state and cost, and with `health` who is at work; that ends with exit code 1 where questions wait that
    no living worker can take.
    """
    require_durable()
    from literature_agent.durable.book import as_document, open_book
    from literature_agent.settings import load_settings

    screen = Screen(json=json, quiet=quiet, verbose=verbose, color=color_wanted(no_color))
    if action not in ("list", "cancel", "health", "prune"):
        raise InvalidInputError(f"`runs {action}` is no action.", recovery="Use list, cancel RUN_ID, health or prune.")
    if (action == "cancel") != (run_id is not None):
        raise InvalidInputError(
            "`runs cancel` takes the id of one run, the others take none.", recovery="See `literature-agent runs`."
        )
    with screen.logging(), open_book(load_settings()) as book:
        if run_id is not None:
            line = book.cancel(run_id)
            _show(screen, {"run": as_document(line)}, f"Cancelled {run_id}; `resume {run_id}` would go on with it.")
        elif action == "health":
            health = book.health()
            _show(screen, {**health.__dict__, "stranded": health.stranded}, "\n".join(health.sentences()))
            return FAILED if health.stranded else 0
        elif action == "prune":
            removed = book.prune(timedelta(days=older_than))
            _show(
                screen, {"removed": removed}, f"Removed {counted(removed, 'ended run')} older than {older_than:g} days."
            )
        else:
            lines = book.lines(limit=limit)
            text = "\n".join(_row(line) for line in lines) or "No durable runs."
            _show(screen, {"runs": [as_document(line) for line in lines]}, text)
    return 0


def _show(screen: Screen, document: dict[str, Any], text: str) -> None:
    if screen.json:
        screen.document(document)
    else:
        screen.result(text)


def _row(line: RunLine) -> str:
    from literature_agent.render import one_line

    cost = "-" if line.cost_usd is None else f"${line.cost_usd:.2f}"
    said = line.status or line.why or ""
    parts = [line.run_id, line.state, said, cost, f"{line.started_at:%Y-%m-%d %H:%M}", line.model, line.question[:80]]
    return one_line("  ".join(part for part in parts if part))


@contextmanager
def _resumable(run_id: str) -> Iterator[None]:
    """Ctrl-C and SIGTERM end the process with the run kept, and say how to go on."""
    with _term_as_interrupt():
        try:
            yield
        except KeyboardInterrupt:
            raise LiteratureError(
                f"Stopped before the end; what run {run_id} has recorded is kept.",
                reason="request_interrupted",
                retryable=True,
                recovery=f"Go on with it: literature-agent resume {run_id}",
            ) from None


@contextmanager
def _term_as_interrupt() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: Callable[..., Any] | int | None = signal.getsignal(signal.SIGTERM)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
