"""Options that several commands share."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Annotated

import typer

from literature_agent.cli.forms import Format
from literature_agent.errors import InvalidInputError


def source_names(incomplete: str) -> list[str]:
    """Names of sources that a shell completes, also the last of `pubmed,eu`."""
    from literature_agent.sources import SOURCES

    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{source.name}" for source in SOURCES if source.name.startswith(last)]


Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout; errors too.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no notes on stderr.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="The log of this program on stderr.")]
NoColor = Annotated[bool, typer.Option("--no-color", help="No colour on the terminal.")]

ModelName = Annotated[
    str | None, typer.Option(help="Model as provider:name, or `extractive` (no language model; the default).")
]
SourceList = Annotated[
    str | None,
    typer.Option(metavar="A,B", help="Sources to ask (those of the settings).", autocompletion=source_names),
]
MaxRequests = Annotated[int | None, typer.Option(min=1, help="Most requests to the model for one answer (30).")]
MaxCost = Annotated[float | None, typer.Option(min=0, metavar="USD", help="Most US dollars to spend on one answer.")]
Deadline = Annotated[float | None, typer.Option(metavar="SECONDS", help="Longest time of one answer.")]
AnswerForm = Annotated[Format | None, typer.Option(help="Form of the answer (text).")]
OutputFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the answer to this file, or into this folder.")
]
RunFile = Annotated[Path | None, typer.Option("--from", metavar="RUN.json", help="A run saved with `run --json`.")]

UseSandbox = Annotated[
    bool,
    typer.Option("--sandbox", help="Ask a local server with invented papers instead of the real services."),
]
CorpusFolder = Annotated[
    Path | None,
    typer.Option("--corpus", metavar="DIR", help="Serve the records of this folder in the sandbox."),
]

DateFrom = Annotated[
    str | None,
    typer.Option("--date-from", "--since", metavar="DATE", help="First publication date, YYYY[-MM[-DD]]."),
]
DateTo = Annotated[
    str | None,
    typer.Option("--date-to", "--until", metavar="DATE", help="Last publication date, YYYY[-MM[-DD]]."),
]
SinceEntryDate = Annotated[
    str | None,
    typer.Option("--since-entry-date", metavar="DATE", help="Only records entered in the database since then."),
]
Languages = Annotated[
    str | None, typer.Option("--languages", metavar="A,B", help="Languages as the source writes them (eng,ger).")
]
PublicationTypes = Annotated[
    list[str] | None,
    typer.Option("--publication-types", metavar="TYPE", help="Publication types; may be given again."),
]

# PubMed has publication types with a comma in their name: `Clinical Trial, Phase III`.
_BETWEEN_TYPES = re.compile(r",(?!\s*(?:Phase|Veterinary|N\.I\.H\.|(?:Non-)?U\.S\.|Extramural|Intramural)\b)", re.I)


def read_list(text: str | None) -> tuple[str, ...] | None:
    """The names in `a,b`; None where the option is not given or holds no name."""
    names = tuple(part.strip() for part in (text or "").split(",") if part.strip())
    return names or None


def read_types(given: list[str] | None) -> tuple[str, ...] | None:
    """Publication types of an option that may be given again and may hold several, parted by commas."""
    types = tuple(part.strip() for text in given or () for part in _BETWEEN_TYPES.split(text) if part.strip())
    return types or None


def check_limits(deadline: float | None, max_cost: float | None) -> None:
    """Refuse a time or a sum that ends no run.

    Raises:
        InvalidInputError: it is zero (the time), infinite, no number, or longer than a year.
    """
    if deadline is not None:
        from literature_agent.outputs import LONGEST_RUN_S

        if not 0 < deadline <= LONGEST_RUN_S:
            raise InvalidInputError(
                f"--deadline {deadline} is no time to work in.",
                recovery=f"Give seconds above 0, at most {LONGEST_RUN_S:,} (a year).",
            )
    if max_cost is not None and not math.isfinite(max_cost):
        raise InvalidInputError(f"--max-cost {max_cost} is no sum.", recovery="Give US dollars.")
