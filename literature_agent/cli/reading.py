"""`read`: the open full text of one article."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from literature_agent.cli import options
from literature_agent.cli.corpus import open_settings
from literature_agent.cli.screen import FAILED, Screen, color_wanted, error_document
from literature_agent.errors import InvalidInputError, LiteratureError

if TYPE_CHECKING:
    from literature_agent.results import FullText


def read(
    id: Annotated[
        str,
        typer.Argument(metavar="ID", help="PMID, PMCID, DOI or preprint id; with --from a reference of the run."),
    ],
    sections: Annotated[
        str, typer.Option("--sections", metavar="A;B", help="Headings wanted, separated by semicolons.")
    ] = "",
    outline: Annotated[bool, typer.Option("--outline", help="Headings with their length instead of the text.")] = False,
    max_characters: Annotated[
        int | None, typer.Option("--max-characters", min=1, help="Most characters of section text.")
    ] = None,
    run_file: options.RunFile = None,
    use_sandbox: options.UseSandbox = False,
    corpus: options.CorpusFolder = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    no_color: options.NoColor = False,
) -> int:
    """Print the open full text of one article.

    Without one it says why, and which routes were tried; exit code 1.
    """
    from literature_agent.api import read_sync
    from literature_agent.cli.cite import read_run
    from literature_agent.render import outline_document, render_full_text

    screen = Screen(json=json, quiet=quiet, verbose=verbose, color=color_wanted(no_color))
    if not id.strip():
        raise InvalidInputError("No article is named.", recovery="Give a PMID, PMCID or DOI.")
    registry = None if run_file is None else read_run(run_file).registry
    wanted = [name.strip() for name in sections.split(";") if name.strip()]
    with screen.logging(), open_settings(sandbox=use_sandbox, folder=corpus) as opened:
        screen.note(opened.note)
        full = read_sync(
            id, sections=wanted or None, max_characters=max_characters, registry=registry, settings=opened.settings
        )
    if json:
        document = outline_document(full) if outline else full.model_dump(mode="json")
        screen.document(document if full.available else {**error_document(_no_text(full)), **document})
    else:
        screen.result(render_full_text(full, outline=outline, width=screen.width))
    return 0 if full.available else FAILED


def _no_text(full: FullText) -> LiteratureError:
    from literature_agent.render import why_no_text

    passing = full.reason == "temporarily_unavailable"
    return LiteratureError(
        why_no_text(full),
        reason=f"pmc_{full.reason}",
        retryable=passing,
        recovery="Try again later." if passing else "Fetch its abstract, or read it at the publisher's.",
    )
