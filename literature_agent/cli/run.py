"""`run`: one question, one answer."""

from __future__ import annotations

import sys
import tempfile
import webbrowser
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from literature_agent.cli import options
from literature_agent.cli.corpus import open_settings
from literature_agent.cli.durable_runs import run_durably
from literature_agent.cli.files import in_utf8, name_for, output_file, read_searches
from literature_agent.cli.forms import (
    BIBLIOGRAPHIES,
    SUFFIXES,
    Format,
    check_log_files,
    chosen_form,
    document_of,
    failure_of,
    rendered,
    rendered_log,
)
from literature_agent.cli.interrupt import cancel_on_interrupt
from literature_agent.cli.recording import (
    OFFLINE,
    drift_text,
    nothing_known,
    open_recording,
    recorded_note,
    recorded_question,
)
from literature_agent.cli.screen import FAILED, PARTIAL, Screen, color_wanted, error_document
from literature_agent.errors import InvalidInputError, reason_of

if TYPE_CHECKING:
    from pydantic_ai import CancellationToken

    from literature_agent.custody import Observer
    from literature_agent.outputs import LiteratureAggregationOutput
    from literature_agent.settings import Settings

NO_MODEL = (
    "No model is set: `extractive` selects sentences by rule; it is not a language model "
    "(set one with --model or LITERATURE_AGENT_MODEL)."
)
EXIT_CODES = {"complete": 0, "no_evidence": 0, "failed": FAILED, "partial": PARTIAL}
_OF_THE_ASKING = (
    "--model", "--sources", "--date-from", "--date-to", "--since-entry-date", "--languages", "--publication-types",
    "--max-articles", "--searches", "--max-requests", "--max-cost", "--deadline",
)  # fmt: skip
"""Options that say what is asked, which a recording brings."""


def run(
    question: Annotated[
        str | None,
        typer.Argument(
            show_default=False,
            help="The question, in words; `-` reads it from standard input. A recording brings its own.",
        ),
    ] = None,
    model: options.ModelName = None,
    sources: options.SourceList = None,
    date_from: options.DateFrom = None,
    date_to: options.DateTo = None,
    since_entry_date: options.SinceEntryDate = None,
    languages: options.Languages = None,
    publication_types: options.PublicationTypes = None,
    max_articles: Annotated[int | None, typer.Option(min=1, max=100, help="Most articles in the answer (20).")] = None,
    searches: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Own search lines to run first: JSONL of `source` and `query`."),
    ] = None,
    max_requests: options.MaxRequests = None,
    max_cost: options.MaxCost = None,
    deadline: options.Deadline = None,
    format: options.AnswerForm = None,
    output: options.OutputFile = None,
    open_report: Annotated[bool, typer.Option("--open", help="Show the HTML report in a browser.")] = False,
    search_log: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Also write the search log: .md, .csv, .json, or the flow diagram: .svg."),
    ] = None,
    record: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep every answer of services and model in this new folder.")
    ] = None,
    replay: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Give the run recorded there again, without a network.")
    ] = None,
    drift: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Make the searches recorded there again: what has changed?")
    ] = None,
    durable: Annotated[
        bool, typer.Option("--durable", help="Keep the run in a database; `resume` goes on with it after a crash.")
    ] = False,
    use_sandbox: options.UseSandbox = False,
    corpus: options.CorpusFolder = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    no_color: options.NoColor = False,
) -> int:
    """Answer a question from the literature.

    Ctrl-C ends the run with what was found so far (exit code 3); a second Ctrl-C stops at once.
    """
    if open_report and format not in (None, Format.html):
        raise InvalidInputError(
            f"--open shows the HTML report, and --format {format} is another form.",
            recovery="Leave --format out, or give --format html.",
        )
    form = Format.html if open_report else chosen_form(format, output, json=json)
    options.check_limits(deadline, max_cost)
    limits = {"max_requests": max_requests, "max_cost_usd": max_cost, "deadline_s": deadline}
    beside = {
        "--output": output is not None,
        "--open": open_report,
        "--search-log": bool(search_log),
        f"--format {format}": format not in (None, Format.json, Format.text),
    }
    asked = (model, sources, date_from, date_to, since_entry_date, languages, publication_types, max_articles, searches)
    beside |= {name: value is not None for name, value in zip(_OF_THE_ASKING, (*asked, *limits.values()), strict=True)}
    if durable and not (record is replay is drift is None):
        raise InvalidInputError(
            "--durable and a recording contradict each other.", recovery="Keep the run in a database or in a folder."
        )
    recording = open_recording(question, record, replay, drift, beside)
    question = recorded_question(recording) if question is None else _read_question(question)
    if drift is not None and question != recorded_question(recording):
        raise InvalidInputError(
            f"The recording is of the question {recorded_question(recording)!r}.", recovery="Leave the question out."
        )
    file = None if output is None else output_file(output, question, SUFFIXES[form])
    check_log_files(search_log or ())
    given = None if searches is None else read_searches(searches)
    screen = Screen(
        json=json or (form is Format.json and file is None),
        quiet=quiet,
        verbose=verbose,
        color=color_wanted(no_color),
    )
    if replay is not None:
        use_sandbox, corpus = False, None  # a replay asks nobody
    with screen.logging(), open_settings(sandbox=use_sandbox, folder=corpus) as opened:
        import pydantic_ai

        from literature_agent.api import aggregate_sync
        from literature_agent.outputs import Budget

        # Its banner for developers has no place among the lines of this program.
        pydantic_ai.BANNER_ENABLED = False
        if drift is not None:
            with screen.progress(opened.note) as listen, cancel_on_interrupt(screen) as token:
                return _print_drift(screen, drift, opened.settings, listen, token)
        no_model = model is None and opened.settings.model is None and replay is None
        notes = (opened.note, NO_MODEL if no_model else "", f"Replay of {replay}: {OFFLINE}" if replay else "")
        budget = Budget(**{name: value for name, value in limits.items() if value is not None})
        asked_for: dict[str, Any] = {
            "sources": None if sources is None else options.read_list(sources) or (),
            "date_from": date_from,
            "date_to": date_to,
            "since_entry_date": since_entry_date,
            "languages": options.read_list(languages),
            "publication_types": options.read_types(publication_types),
            "max_articles": max_articles,
            "searches": given,
        }
        interrupts = nullcontext() if durable else cancel_on_interrupt(screen)
        with screen.progress(*notes) as listen, interrupts as token:
            if durable:
                answer = run_durably(
                    screen,
                    question,
                    settings=opened.settings,
                    papers=opened.papers,
                    model=model,
                    budget=budget,
                    listen=listen,
                    limits=asked_for,
                )
            else:
                answer = aggregate_sync(
                    question,
                    model=model,
                    budget=budget,
                    settings=opened.settings,
                    on_event=listen,
                    cancellation_token=token,
                    recording=recording,
                    **asked_for,
                )
    if record is not None:
        screen.note(recorded_note(recording))
    if open_report and file is None:
        file = _report_file(question)
    saved = [write_answer(screen, answer, form, file)]
    if saved[0] and open_report and file is not None:
        _show(screen, file)
    saved += [_saved(screen, log, rendered_log(answer, log)) for log in search_log or ()]
    return EXIT_CODES[answer.status] if all(saved) else FAILED


def _print_drift(screen: Screen, folder: Path, settings: Settings, listen: Observer, token: CancellationToken) -> int:
    """What has changed since the recording; exit code 3 where not all could be asked, 1 where nothing is known."""
    from literature_agent.agents.drift import find_drift
    from literature_agent.agents.sync import run_in_own_loop

    found = run_in_own_loop(lambda: find_drift(folder, settings=settings, on_event=listen, cancellation_token=token))
    error = None if found.works_now is not None or found.has_changes else nothing_known(found)
    if screen.json:
        document = found.model_dump(mode="json")
        screen.document(document if error is None else {**error_document(error), **document})
    else:
        screen.result(drift_text(found, screen.width))
        if error is not None:
            screen.error(error)
    return FAILED if error is not None else 0 if found.is_complete else PARTIAL


def _read_question(given: str) -> str:
    """The question itself; `-` reads it from standard input.

    Raises:
        InvalidInputError: it is not UTF-8 text.
    """
    if given != "-":
        return in_utf8(given)
    from literature_agent.outputs import MAX_QUESTION_CHARACTERS

    # A character of UTF-8 has at most four bytes: more than this is too long in any case, and may have no end.
    return in_utf8(sys.stdin.buffer.read(4 * MAX_QUESTION_CHARACTERS + 4)).strip()


def _report_file(question: str) -> Path:
    """A file for a report that is only to be looked at, in a folder of its own that only this user can enter."""
    return Path(tempfile.mkdtemp(prefix="literature-agent-")) / name_for(question, ".html")


def write_answer(screen: Screen, answer: LiteratureAggregationOutput, form: Format, file: Path | None) -> bool:
    """Write the answer where it is wanted. False if that is `file` and it can't be written: then it is on stdout."""
    written = file is not None and _saved(screen, file, rendered(answer, form, 80))
    if screen.json:
        screen.document(document_of(answer))
    elif not written:
        # The answer is paid for: where it can't be saved it goes to stdout rather than nowhere.
        screen.result(rendered(answer, form, screen.width))
    if form in BIBLIOGRAPHIES and not screen.json:
        # A bibliography has no place to say how the run ended.
        if answer.status == "failed":
            screen.error(failure_of(answer))
        elif answer.status != "complete":
            screen.note(f"The answer's status is {answer.status}.")
    return written or file is None


def _saved(screen: Screen, file: Path, text: str) -> bool:
    try:
        file.write_text(text, encoding="utf-8", newline="")
    except OSError as refused:
        screen.trouble(f"{str(file)!r} can't be written: {reason_of(refused)}.")
        return False
    screen.note(f"Written to {file}.")
    return True


def _show(screen: Screen, file: Path) -> None:
    if not webbrowser.open(file.absolute().as_uri()):
        screen.note(f"No browser could be started; open {file} yourself.")
