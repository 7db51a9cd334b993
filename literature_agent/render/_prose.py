"""Prose with references made readable: numbers in the text and a bibliography below it."""

from __future__ import annotations

from typing import Self

from literature_agent.outputs import LiteratureAggregationOutput
from literature_agent.registry import ArtifactRegistry
from literature_agent.render._bibliography import bibliography_entry
from literature_agent.render._numbering import Numbering, finder
from literature_agent.render._plain import printable


class RenderedText(str):
    """Prose with numbers and its bibliography, as one string that also says what stands in it."""

    references: tuple[str, ...]
    """References of the numbered works, number 1 first."""
    unknown: tuple[str, ...]
    """Tokens that name no work, as spelled in the prose; each is printed as `[unknown reference]`."""

    def __new__(cls, text: str, *, references: tuple[str, ...] = (), unknown: tuple[str, ...] = ()) -> Self:
        self = super().__new__(cls, text)
        self.references, self.unknown = references, unknown
        return self


def render_text(
    text: str, records: ArtifactRegistry | LiteratureAggregationOutput, *, bibliography: bool = True
) -> RenderedText:
    """`text` with references as numbers `[1]` in order of first use, and an entry for each number below it.

    `records` is the registry that holds the works, or an answer. A reference that names no work there is printed as
    `[unknown reference]` and reported in the result's `unknown`. `bibliography=False` leaves the entries out. Control
    characters are removed; everything else in `text` stays as it is.
    """
    numbering = Numbering(finder(records))
    body = numbering.prose(printable(text))
    if bibliography and numbering.works:
        entries = [f"[{number}] {bibliography_entry(work)}" for number, work in enumerate(numbering.works, start=1)]
        body = "\n".join([body.rstrip(), "", "References", "", *entries])
    return RenderedText(
        body,
        references=tuple(work.reference for work in numbering.works if work.reference),
        unknown=tuple(numbering.unknown),
    )
