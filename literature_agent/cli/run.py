"""`run`: one question, one answer."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from literature_agent.cli.corpus import open_settings
from literature_agent.cli.files import output_file, read_searches
from literature_agent.cli.options import (
    CorpusFolder,
    DateFrom,
    DateTo,
    Json,
    Languages,
    NoColor,
    PublicationTypes,
    Quiet,
    SinceEntryDate,
    UseSandbox,
    Verbose,
    read_list,
    read_types,
)
from literature_agent.cli.screen import Screen, color_wanted, error_document, to_json
from literature_agent.errors import ErrorKind, InvalidInputError, LiteratureError, source_error

if TYPE_CHECKING:
    from pydantic_ai import CancellationToken

    from literature_agent.outputs import LiteratureAggregationOutput

NO_MODEL = (
    "No model is set: `extractive` selects sentences by rule; it is not a language model "
    "(set one with --model or LITERATURE_AGENT_MODEL)."
)
EXIT_CODES = {"complete": 0, "no_evidence": 0, "failed": 1, "partial": 3}


class Format(StrEnum):
    text = "text"
    markdown = "markdown"
    json = "json"
    bibtex = "bibtex"
    ris = "ris"
    csl_json = "csl-json"
    nbib = "nbib"


BIBLIOGRAPHIES = frozenset({Format.bibtex, Format.ris, Format.csl_json, Format.nbib})
"""Of the works that the answer cites; its prose is not in them."""

_SUFFIXES = {
    Format.text: ".txt",
    Format.markdown: ".md",
    Format.bibtex: ".bib",
    Format.ris: ".ris",
    Format.csl_json: ".csl.json",
    Format.nbib: ".nbib",
    Format.json: ".json",
}


def run(
    question: Annotated[str, typer.Argument(help="The question, in words.")],
    model: Annotated[
        str | None,
        typer.Option(help="Model as provider:name, or `extractive` (no language model; the default)."),
    ] = None,
    sources: Annotated[str | None, typer.Option(metavar="A,B", help="Sources to ask (those of the settings).")] = None,
    date_from: DateFrom = None,
    date_to: DateTo = None,
    since_entry_date: SinceEntryDate = None,
    languages: Languages = None,
    publication_types: PublicationTypes = None,
    max_articles: Annotated[int | None, typer.Option(min=1, max=100, help="Most articles in the answer (20).")] = None,
    searches: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Own search lines to run first: JSONL of `source` and `query`."),
    ] = None,
    max_requests: Annotated[int | None, typer.Option(min=1, help="Most requests to the model (30).")] = None,
    max_cost: Annotated[float | None, typer.Option(min=0, metavar="USD", help="Most US dollars to spend.")] = None,
    deadline: Annotated[float | None, typer.Option(metavar="SECONDS", help="Longest time of the run.")] = None,
    format: Annotated[Format | None, typer.Option(help="Form of the answer (text).")] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the answer to this file, or into this folder.")
    ] = None,
    use_sandbox: UseSandbox = False,
    corpus: CorpusFolder = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
    no_color: NoColor = False,
) -> int:
    """Answer a question from the literature.

    Ctrl-C ends the run with what was found so far (exit code 3); a second Ctrl-C stops at once.
    """
    if json and output is None and format not in (None, Format.json):
        raise InvalidInputError(f"--json and --format {format} contradict each other.", recovery="Give one of them.")
    if deadline is not None and not deadline > 0:
        raise InvalidInputError(f"--deadline {deadline} is no time to work in.", recovery="Give seconds above 0.")
    form = format or _format_of(output) or (Format.json if json else Format.text)
    file = None if output is None else output_file(output, question, _SUFFIXES[form])
    given = None if searches is None else read_searches(searches)
    screen = Screen(
        json=json or (form is Format.json and file is None),
        quiet=quiet,
        verbose=verbose,
        color=color_wanted(no_color),
    )
    with screen.logging(), open_settings(sandbox=use_sandbox, folder=corpus) as opened:
        from literature_agent.api import aggregate_sync
        from literature_agent.outputs import Budget

        limits = {"max_requests": max_requests, "max_cost_usd": max_cost, "deadline_s": deadline}
        no_model = model is None and opened.settings.model is None
        notes = (opened.note, NO_MODEL if no_model else "")
        with screen.progress(*notes) as listen, _cancel_on_interrupt(screen) as token:
            answer = aggregate_sync(
                question,
                model=model,
                sources=None if sources is None else read_list(sources) or (),
                date_from=date_from,
                date_to=date_to,
                since_entry_date=since_entry_date,
                languages=read_list(languages),
                publication_types=read_types(publication_types),
                max_articles=max_articles,
                searches=given,
                budget=Budget(**{name: value for name, value in limits.items() if value is not None}),
                settings=opened.settings,
                on_event=listen,
                cancellation_token=token,
            )
    _write(screen, answer, form, file)
    return EXIT_CODES[answer.status]


def _format_of(output: Path | None) -> Format | None:
    if output is None:
        return None
    return next((form for form, suffix in _SUFFIXES.items() if output.name.lower().endswith(suffix)), None)


def _write(screen: Screen, answer: LiteratureAggregationOutput, form: Format, file: Path | None) -> None:
    if file is not None:
        try:
            file.write_text(_rendered(answer, form, 80), encoding="utf-8")
            screen.note(f"Written to {file}.")
        except OSError as refused:
            # The answer is paid for: it goes to stdout rather than nowhere.
            screen.note(f"{str(file)!r} can't be written ({refused.strerror}); the answer follows on stdout.")
            file = None
    if screen.json:
        screen.document(_document(answer))
    elif file is None:
        screen.result(_rendered(answer, form, screen.width))
    if form in BIBLIOGRAPHIES and not screen.json:
        # A bibliography has no place to say how the run ended.
        if answer.status == "failed":
            screen.error(_failure(answer))
        elif answer.status != "complete":
            screen.note(f"The answer's status is {answer.status}.")


def _rendered(answer: LiteratureAggregationOutput, form: Format, width: int) -> str:
    from literature_agent.render import render_answer_markdown, render_answer_text

    if form is Format.json:
        return to_json(_document(answer))
    if form in BIBLIOGRAPHIES:
        from literature_agent.render.formats import numbered_works, render_bibliography

        return render_bibliography(numbered_works(answer), form.value)
    return render_answer_markdown(answer) if form is Format.markdown else render_answer_text(answer, width=width)


def _document(answer: LiteratureAggregationOutput) -> dict[str, Any]:
    """The answer as JSON; one that failed carries `error` too, like every failure in JSON mode."""
    from literature_agent.render import answer_document

    document = answer_document(answer)
    return {**error_document(_failure(answer)), **document} if answer.status == "failed" else document


def _failure(answer: LiteratureAggregationOutput) -> LiteratureError:
    """Why no source answered. The kind is that of the failed searches where it is one and the same."""
    from literature_agent.agents.models import EXTRACTIVE_NOTE

    why = [answer.summary, *(limit for limit in answer.limitations if limit != EXTRACTIVE_NOTE)]
    kinds = {record.reason.removeprefix(f"{record.source}_") for record in answer.search_log if record.reason}
    known: tuple[ErrorKind, ...] = get_args(ErrorKind)
    kind: ErrorKind = next((one for one in known if kinds == {one}), "unreachable")
    return source_error(
        "request",
        kind,
        " ".join(dict.fromkeys(why)),
        recovery="See what answers with `literature-agent doctor`.",
    )


@contextmanager
def _cancel_on_interrupt(screen: Screen) -> Iterator[CancellationToken]:
    """A token that the first Ctrl-C cancels; the second one interrupts as usual."""
    from pydantic_ai import CancellationToken

    token = CancellationToken()
    if threading.current_thread() is not threading.main_thread():
        yield token
        return
    before = signal.getsignal(signal.SIGINT)

    def cancel(*_: object) -> None:
        signal.signal(signal.SIGINT, before)
        screen.note("Stopping; press Ctrl-C again to stop at once.")
        # From another thread the token wakes the event loop; from this one the loop would sleep on.
        threading.Thread(target=token.cancel, daemon=True).start()

    signal.signal(signal.SIGINT, cancel)
    try:
        yield token
    finally:
        signal.signal(signal.SIGINT, before)
