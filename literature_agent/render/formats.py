"""Every form in which a bibliography is written, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from literature_agent.artifacts import CitationArtifact
from literature_agent.errors import ConfigurationError, InvalidInputError, meant
from literature_agent.outputs import LiteratureAggregationOutput
from literature_agent.render._answer import Form, document, is_synthetic
from literature_agent.render._bibliography import bibliography_entry, bibliography_entry_markdown
from literature_agent.render._citation import SYNTHETIC_MARK
from literature_agent.render._plain import markdown, one_line
from literature_agent.render.bibtex import render_bibtex
from literature_agent.render.csl import STYLES, render_csl_json, render_styled, require_style
from literature_agent.render.nbib import render_nbib
from literature_agent.render.ris import render_ris
from literature_agent.render.table import render_csv

Renderer: TypeAlias = Callable[[Sequence[CitationArtifact]], str]


@dataclass(frozen=True)
class BibliographyFormat:
    """A form of bibliography: `render` writes records in their order, numbered from 1 where the form has numbers."""

    render: Renderer
    suffix: str
    """Of files in this form."""


def _text(artifacts: Sequence[CitationArtifact]) -> str:
    entries = (bibliography_entry(artifact) + _synthetic(artifact) for artifact in artifacts)
    return "".join(f"[{number}] {entry}\n" for number, entry in enumerate(entries, start=1))


def _markdown(artifacts: Sequence[CitationArtifact]) -> str:
    entries = (bibliography_entry_markdown(artifact) + markdown(_synthetic(artifact)) for artifact in artifacts)
    return "".join(f"- **[{number}]** {entry}\n" for number, entry in enumerate(entries, start=1))


def _synthetic(artifact: CitationArtifact) -> str:
    return f" {SYNTHETIC_MARK}" if is_synthetic(artifact) else ""


FORMATS: dict[str, BibliographyFormat] = {
    "text": BibliographyFormat(_text, ".txt"),
    "markdown": BibliographyFormat(_markdown, ".md"),
    "bibtex": BibliographyFormat(render_bibtex, ".bib"),
    "ris": BibliographyFormat(render_ris, ".ris"),
    "csl-json": BibliographyFormat(render_csl_json, ".csl.json"),
    "nbib": BibliographyFormat(render_nbib, ".nbib"),
    "csv": BibliographyFormat(render_csv, ".csv"),
    **{style: BibliographyFormat(partial(render_styled, style=style), ".txt") for style in STYLES},
}
"""The formats that have a name here; every CSL style is one too, by its own name."""


def find_format(name: str) -> BibliographyFormat:
    """The format of that name: one of `FORMATS`, else a CSL style.

    Raises:
        InvalidInputError: there is none; the next step lists the names.
        ConfigurationError: it needs the extra `citations`, which is not installed.
    """
    if name in STYLES:
        require_style(name)
    elif name not in FORMATS:
        try:
            require_style(name)
        except (InvalidInputError, ConfigurationError):
            raise InvalidInputError(
                f"There is no citation format {one_line(name)[:60]!r}.{meant(name, FORMATS)}",
                recovery=f"Use one of {', '.join(FORMATS)}; with the extra `citations` also a CSL style: the-lancet.",
            ) from None
        return BibliographyFormat(partial(render_styled, style=name), ".txt")
    return FORMATS[name]


def render_bibliography(artifacts: Sequence[CitationArtifact], format: str) -> str:
    """The records in a citation format, in their order.

    Raises:
        InvalidInputError, ConfigurationError: as `find_format`.
    """
    return find_format(format).render(artifacts)


def numbered_works(output: LiteratureAggregationOutput) -> tuple[CitationArtifact, ...]:
    """The works of an answer in the order of their numbers in its renderings: number 1 first, each once."""
    works: list[CitationArtifact] = []

    def entry(work: CitationArtifact) -> str:
        works.append(work)
        return ""

    # A rendering writes one entry for each number.
    document(output, Form(escape=str, entry=entry))
    return tuple(works)
