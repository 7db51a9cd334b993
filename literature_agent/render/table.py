"""A bibliography as a table: CSV (RFC 4180), UTF-8, one row for each record."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from literature_agent.artifacts import CitationArtifact
from literature_agent.render._citation import Citation, citation_of
from literature_agent.render._plain import spreadsheet_cell

COLUMNS = (
    *("number", "reference", "type", "authors", "title", "container", "date", "year", "volume", "issue", "pages"),
    *("doi", "pmid", "pmcid", "nct_id", "issn", "url", "language", "publication_types", "keywords", "note", "abstract"),
)


def render_csv(artifacts: Sequence[CitationArtifact]) -> str:
    """A header and one row for each record, in their order; lines end in CR LF.

    A cell that a spreadsheet would run as a formula begins with an apostrophe.
    """
    page = io.StringIO()
    writer = csv.writer(page)
    writer.writerow(COLUMNS)
    for number, artifact in enumerate(artifacts, start=1):
        cells = (str(number), artifact.reference or "", *_cells(citation_of(artifact)))
        writer.writerow(map(spreadsheet_cell, cells))
    return page.getvalue()


def _cells(citation: Citation) -> tuple[str, ...]:
    authors = (
        name.group or " ".join(part for part in (name.family, name.initials, name.suffix) if part)
        for name in citation.names
    )
    return (
        citation.kind,
        "; ".join(authors),
        citation.title,
        citation.container,
        "-".join(f"{part:02d}" for part in citation.issued),
        str(citation.issued[0]) if citation.issued else "",
        citation.volume,
        citation.issue,
        citation.pages.joined(),
        citation.doi,
        citation.pmid,
        citation.pmcid,
        citation.nct_id,
        citation.issn,
        citation.url,
        citation.language,
        "; ".join(citation.types),
        "; ".join(citation.subjects),
        citation.note,
        citation.abstract,
    )
