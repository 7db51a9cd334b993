"""A full text as plain text: outline or sections, tables with aligned columns, and why there is none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from literature_agent.artifacts import Table, TextSection
from literature_agent.registry import mask_references
from literature_agent.render._bibliography import bibliography_entry
from literature_agent.render._layout import DEFAULT_WIDTH, wrapped
from literature_agent.render._plain import paper_line, paragraphs
from literature_agent.results import FullText

_REASONS = {
    "not_open_access": "it is not open access",
    "not_in_pmc": "it is not in PMC",
    "publisher_restricted": "the publisher does not allow it to be read by programs",
    "embargoed": "it is under embargo",
    "no_body": "the record has no text, only its citation",
    "unknown_id": "the identifier is unknown",
    "temporarily_unavailable": "a route failed and the others had nothing; try again later",
}


def render_full_text(full: FullText, *, outline: bool = False, width: int = DEFAULT_WIDTH) -> str:
    """The article's entry, then its sections in document order, tables and figure captions; `outline`: headings only.

    Where there is no text: the reason, and the routes that were tried.
    """
    lines: list[str] = []
    if full.artifact is not None:
        lines += [*wrapped(bibliography_entry(full.artifact), width, hanging="    "), ""]
    if not full.available:
        lines += wrapped(why_no_text(full), width)
        for step in full.trail:
            why = f" ({paper_line(step.reason)})" if step.reason else ""
            lines += wrapped(f"- {step.route}: {step.result.replace('_', ' ')}{why}", width, hanging="  ")
        return "\n".join(lines) + "\n"
    for section in (*full.sections, *full.back_sections):
        lines += _outline(section) if outline else _section(section, width)
    if outline:
        lines += [f"{paper_line(table.label or 'Table')}: {paper_line(table.caption or '')}" for table in full.tables]
    else:
        for table in full.tables:
            lines += ["", *_table(table, width)]
        for figure in full.figures:
            lines += [
                "",
                *wrapped(f"{paper_line(figure.label or 'Figure')}: {paper_line(figure.caption or '')}", width),
            ]
    lines += ["", *(line for warning in full.warnings for line in wrapped(f"Note: {paper_line(warning)}", width))]
    return "\n".join(lines).rstrip("\n") + "\n"


def outline_document(full: FullText) -> dict[str, Any]:
    """The outline as JSON: as the full text, but sections have `characters` for their own `text`, tables no cells."""
    cells = {"__all__": {"header", "rows", "footnotes"}}
    document = full.model_dump(mode="json", exclude={"cited_works": True, "tables": cells})
    return document | {name: [_heading(each) for each in getattr(full, name)] for name in ("sections", "back_sections")}


def _heading(section: TextSection) -> dict[str, Any]:
    return {
        "heading": section.heading,
        "level": section.level,
        "characters": len(section.text),
        "sections": [_heading(inner) for inner in section.sections],
    }


def why_no_text(full: FullText) -> str:
    """The reason why there is no full text, as a sentence."""
    return f"No full text: {_REASONS.get(full.reason or '', full.reason or 'unknown reason')}."


def _outline(section: TextSection) -> Iterator[str]:
    indent = "  " * (section.level - 1)
    yield f"{indent}{paper_line(section.heading) or '(no heading)'} ({len(section.text):,} characters)"
    for inner in section.sections:
        yield from _outline(inner)


def _section(section: TextSection, width: int) -> Iterator[str]:
    if section.heading:
        yield from ("", f"{'#' * min(section.level + 1, 6)} {paper_line(section.heading)}")
    for part in map(mask_references, paragraphs(section.text)):
        yield ""
        yield from wrapped(part, width)
    for inner in section.sections:
        yield from _section(inner, width)


def _table(table: Table, width: int) -> Iterator[str]:
    yield from wrapped(f"{paper_line(table.label or 'Table')}: {paper_line(table.caption or '')}", width)
    rows = [row for row in (table.header, *table.rows) if row]
    if rows:
        yield from _aligned([[paper_line(cell) for cell in row] for row in rows], width, bool(table.header))
    for note in table.footnotes:
        yield from wrapped(paper_line(note), width)


def _aligned(rows: Sequence[Sequence[str]], width: int, headed: bool) -> Iterator[str]:
    """Columns side by side where they fit, else one cell a line."""
    columns = max(len(row) for row in rows)
    widths = [max((len(row[n]) for row in rows if n < len(row)), default=0) for n in range(columns)]
    if sum(widths) + 2 * (columns - 1) <= width:
        for number, row in enumerate(rows):
            yield "  ".join(cell.ljust(widths[n]) for n, cell in enumerate(row)).rstrip()
            if headed and number == 0:
                yield "  ".join("-" * each for each in widths)
        return
    for row in rows:
        yield from wrapped(" | ".join(row), width, hanging="  ")
