"""`search` and `fetch`: one source, asked directly, without any model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from literature_agent.cli import options
from literature_agent.cli.corpus import open_settings
from literature_agent.cli.screen import FAILED, PARTIAL, Screen, color_wanted
from literature_agent.errors import InvalidInputError, SourceError, source_error

if TYPE_CHECKING:
    from literature_agent.results import FetchResult, SearchResult
    from literature_agent.sources import Source

SourceName = Annotated[
    str,
    typer.Argument(help="Name of the source: pubmed, europepmc ...", autocompletion=options.source_names),
]
SearchedSource = Annotated[
    str,
    typer.Argument(help="Name of the source: pubmed, europepmc ..., or `all`.", autocompletion=options.source_names),
]

_SEARCH_CODES = {"ok": 0, "empty": 0, "failed": FAILED, "partial": PARTIAL}


def search(
    source: SearchedSource,
    query: Annotated[str, typer.Argument(help="The query in the source's own language.")],
    max_results: Annotated[int, typer.Option(min=1, help="Most hits to show.")] = 10,
    page: Annotated[str | None, typer.Option(help="Where to go on: `next_page` of the search before.")] = None,
    date_from: options.DateFrom = None,
    date_to: options.DateTo = None,
    since_entry_date: options.SinceEntryDate = None,
    languages: options.Languages = None,
    publication_types: options.PublicationTypes = None,
    sort: Annotated[str | None, typer.Option(help="Order of the hits, as the source names it.")] = None,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="One artifact a line, as JSON; all else on stderr.")] = False,
    use_sandbox: options.UseSandbox = False,
    corpus: options.CorpusFolder = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    no_color: options.NoColor = False,
) -> int:
    """Search one source."""
    if json and jsonl:
        raise InvalidInputError("--json and --jsonl contradict each other.", recovery="Give one of them.")
    screen = Screen(json=json or jsonl, lines=jsonl, quiet=quiet, verbose=verbose, color=color_wanted(no_color))
    with screen.logging(), open_settings(sandbox=use_sandbox, folder=corpus) as opened:
        from literature_agent.api import search_sync

        result = search_sync(
            source,
            query,
            max_results=max_results,
            page=page,
            date_from=date_from,
            date_to=date_to,
            publication_types=options.read_types(publication_types),
            sort=sort,
            settings=opened.settings,
            since_entry_date=since_entry_date,
            languages=options.read_list(languages),
        )
        screen.note(opened.note)
        if jsonl:
            for artifact in result.artifacts:
                screen.document(artifact.model_dump(mode="json"))
            _say_beside(screen, result)
        elif json:
            screen.document(result.model_dump(mode="json"))
        else:
            from literature_agent.render import render_search_text
            from literature_agent.sources import ALL, find_source

            is_all = source.strip().lower() == ALL
            label = "All sources" if is_all else find_source(source, opened.settings).label
            screen.result(render_search_text(label, result, width=screen.width))
    return _SEARCH_CODES[result.status]


def _say_beside(screen: Screen, result: SearchResult) -> None:
    """On stderr, what the lines of artifacts have no place for."""
    from literature_agent.render import shown_of

    screen.note(f"{result.status}, {shown_of(result)}.")
    for sentence in (*result.warnings, result.notice, result.error and result.error.message):
        screen.note(sentence or "")
    if result.next_page is not None:
        screen.note(f"Next page: --page {result.next_page}")


def fetch(
    source: SourceName,
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Identifiers: PMID, PMCID, DOI, SRC:id.")],
    use_sandbox: options.UseSandbox = False,
    corpus: options.CorpusFolder = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    no_color: options.NoColor = False,
) -> int:
    """Fetch whole records of one source by identifier.

    What can't be had is named, with exit code 3 where the rest could, and 1 where nothing could.
    """
    screen = Screen(json=json, quiet=quiet, verbose=verbose, color=color_wanted(no_color))
    with screen.logging(), open_settings(sandbox=use_sandbox, folder=corpus) as opened:
        from literature_agent.api import fetch_sync
        from literature_agent.sources import find_source

        result = fetch_sync(source, ids, settings=opened.settings)
        screen.note(opened.note)
        if not result.artifacts:
            raise _nothing(find_source(source, opened.settings), result)
    if json:
        screen.document(result.model_dump(mode="json"))
    else:
        from literature_agent.render import render_fetch_text

        screen.result(render_fetch_text(result, width=screen.width))
    return PARTIAL if result.failed or result.not_found else 0


def _nothing(source: Source, result: FetchResult) -> SourceError:
    """Why no record could be fetched: what failed comes before what is not there."""
    missing = f"{source.label} has no record of {', '.join(result.not_found)}." if result.not_found else ""
    for why in result.failed.values():
        return why.model_copy(update={"message": f"{why.message} {missing}".rstrip()}).as_error()
    return source_error(source.name, "not_found", missing)
