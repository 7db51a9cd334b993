"""The forms of an answer: text, Markdown, JSON, the HTML report, bibliographies, the search log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from literature_agent.cli.files import check_name
from literature_agent.cli.screen import error_document, to_json
from literature_agent.errors import ErrorKind, InvalidInputError, LiteratureError, source_error

if TYPE_CHECKING:
    from literature_agent.outputs import LiteratureAggregationOutput


class Format(StrEnum):
    text = "text"
    markdown = "markdown"
    json = "json"
    html = "html"
    bibtex = "bibtex"
    ris = "ris"
    csl_json = "csl-json"
    nbib = "nbib"


BIBLIOGRAPHIES = frozenset({Format.bibtex, Format.ris, Format.csl_json, Format.nbib})
"""Of the works that the answer cites; its prose is not in them."""

SUFFIXES = {
    Format.text: ".txt",
    Format.markdown: ".md",
    Format.html: ".html",
    Format.bibtex: ".bib",
    Format.ris: ".ris",
    Format.csl_json: ".csl.json",
    Format.nbib: ".nbib",
    Format.json: ".json",
}
DOCTOR = "See what answers with `literature-agent doctor`."
LOG_SUFFIXES = (".md", ".csv", ".json", ".svg")


def format_of(output: Path) -> Format | None:
    """The form that a file's name asks for; None where it asks for none."""
    return next((form for form, suffix in SUFFIXES.items() if output.name.lower().endswith(suffix)), None)


def chosen_form(format: Format | None, output: Path | None, *, json: bool) -> Format:
    """The form of the answer that `--format`, `--output` and `--json` ask for together.

    Raises:
        InvalidInputError: they contradict each other, or the ending of the output names no form.
    """
    if json and output is None and format not in (None, Format.json):
        raise InvalidInputError(f"--json and --format {format} contradict each other.", recovery="Give one of them.")
    return format or _form_of_output(output) or (Format.json if json else Format.text)


def _form_of_output(output: Path | None) -> Format | None:
    """The form that `--output` asks for; None where it asks for none: no file, a folder, a name without an ending.

    Raises:
        InvalidInputError: its ending names no form, or the system can't look it up.
    """
    if output is None:
        return None
    check_name(output)
    form = format_of(output)
    if form is not None or not output.suffix or output.is_dir():
        return form
    raise InvalidInputError(
        f"The output file {str(output)[:80]!r} has no ending that says its form.",
        recovery=f"End it in one of {', '.join(SUFFIXES.values())}, or give --format.",
    )


def check_log_files(files: Sequence[Path]) -> None:
    """Refuse, before any work, a file of the search log that could not be written.

    Raises:
        InvalidInputError: it has no known ending, or its folder does not exist.
    """
    for file in files:
        check_name(file)
        if file.suffix.lower() not in LOG_SUFFIXES:
            raise InvalidInputError(
                f"--search-log {str(file)!r} has no ending that says its form.",
                recovery=f"End it in one of {', '.join(LOG_SUFFIXES)} (the flow diagram).",
            )
        if not file.parent.is_dir():
            raise InvalidInputError(
                f"The folder of the search log {str(file)!r} does not exist.", recovery="Make the folder first."
            )


def rendered_log(answer: LiteratureAggregationOutput, file: Path) -> str:
    """The search log in the form that the file's ending says; `.svg` is the flow diagram."""
    from literature_agent.render import flow_svg, search_log_csv, search_log_json, search_log_markdown

    suffix = file.suffix.lower()
    if suffix == ".json":
        return to_json(search_log_json(answer))
    return {".md": search_log_markdown, ".csv": search_log_csv, ".svg": flow_svg}[suffix](answer)


def rendered(answer: LiteratureAggregationOutput, form: Format, width: int) -> str:
    """The answer in a form; `width` is that of plain text."""
    from literature_agent.render import render_answer_html, render_answer_markdown, render_answer_text

    if form is Format.json:
        return to_json(document_of(answer))
    if form in BIBLIOGRAPHIES:
        from literature_agent.render.formats import numbered_works, render_bibliography

        return render_bibliography(numbered_works(answer), form.value)
    if form is Format.html:
        return render_answer_html(answer)
    return render_answer_markdown(answer) if form is Format.markdown else render_answer_text(answer, width=width)


def document_of(answer: LiteratureAggregationOutput) -> dict[str, Any]:
    """The answer as JSON; one that failed carries `error` too, like every failure in JSON mode."""
    from literature_agent.render import answer_document

    document = answer_document(answer)
    return {**error_document(failure_of(answer)), **document} if answer.status == "failed" else document


def failure_of(answer: LiteratureAggregationOutput) -> LiteratureError:
    """Why no source answered."""
    from literature_agent.agents.models import EXTRACTIVE_NOTE

    why = [answer.summary, *(limit for limit in answer.limitations if limit != EXTRACTIVE_NOTE)]
    kind = failed_as((record.source, record.reason) for record in answer.search_log)
    return source_error("request", kind, " ".join(dict.fromkeys(why)), recovery=DOCTOR)


def failed_as(searches: Iterable[tuple[str, str | None]]) -> ErrorKind:
    """The kind of error of all failed searches where it is one and the same, each given as source and reason."""
    kinds = {reason.removeprefix(f"{source}_") for source, reason in searches if reason}
    known: tuple[ErrorKind, ...] = get_args(ErrorKind)
    return next((one for one in known if kinds == {one}), "unreachable")
