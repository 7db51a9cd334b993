"""Tables as cells and figures as captions, from XHTML and CALS table models.

Written rules: spans are repeated in every cell they cover; header rows are joined by ` / `, a text that only continues
through a span stands once; a table without header rows has no header; a row that is empty throughout is left out; a
table that exists as an image only has a caption and no rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from lxml import etree

from literature_agent.artifacts import Figure, Table
from literature_agent.sources._jats.prose import line_of
from literature_agent.sources._xml import child, children

MOST_COLUMNS = 200
"""Widest span that is believed; a colspan of a million is a slip or an attack."""
MOST_CELLS = 200_000
"""Cells of one table after its spans are repeated."""


def tables_of(scopes: Iterable[etree._Element]) -> tuple[Table, ...]:
    """Every table inside the elements, in document order."""
    return tuple(table for scope in scopes for table in _tables(scope))


def figures_of(scopes: Iterable[etree._Element]) -> tuple[Figure, ...]:
    """Every figure inside the elements that has a label or a caption, in document order."""
    found = []
    for scope in scopes:
        for node in scope.iter("fig", "fig-group"):
            label, caption = line_of(child(node, "label")) or None, line_of(child(node, "caption")) or None
            if label or caption:
                found.append(Figure(label=label, caption=caption))
    return tuple(found)


def _tables(scope: etree._Element) -> Iterator[Table]:
    for node in scope.iter("table-wrap", "table", "array"):
        if node.tag == "table-wrap":
            yield from _wrapped(node)
        elif (outer := next(node.iterancestors("table-wrap", "table", "array", *_CELLS), None)) is None or (
            outer.tag in _CELLS
        ):
            grid = _grid(node)
            yield Table(header=grid.header, rows=grid.rows, footnotes=_footnotes(node))


def _wrapped(wrap: etree._Element) -> Iterator[Table]:
    group = wrap.getparent()
    outer = group if group is not None and group.tag == "table-wrap-group" else None
    label = line_of(child(wrap, "label")) or line_of(child(outer, "label")) or None
    caption = line_of(child(wrap, "caption")) or line_of(child(outer, "caption")) or None
    footnotes = _footnotes(wrap)
    grids: list[_Grid] = []
    for node in _outermost(wrap):
        grid = _grid(node)
        if grids and (not grid.header or grid.header == grids[-1].header) and grid.width == grids[-1].width:
            grids[-1] = _Grid(grids[-1].header, grids[-1].rows + grid.rows, grid.width)
        elif grid.header or grid.rows:
            grids.append(grid)
    for grid in grids or [_Grid((), (), 0)]:
        yield Table(label=label, caption=caption, header=grid.header, rows=grid.rows, footnotes=footnotes)


def _outermost(wrap: etree._Element) -> Iterator[etree._Element]:
    """The tables of a wrap, not those inside their cells; of alternatives the first that is a table."""
    for node in wrap:
        if node.tag in ("table", "tgroup", "array"):
            yield node
        elif node.tag == "alternatives":
            yield from list(_outermost(node))[:1]
        elif node.tag in ("oasis-table", "p", "disp-quote"):
            yield from _outermost(node)


_CELLS = ("td", "th", "entry")
_NOTES = frozenset({"fn"})


def _footnotes(wrap: etree._Element) -> tuple[str, ...]:
    """Notes in the cells, then those below the table."""
    found = [line_of(note) for note in wrap.iter("fn") if next(note.iterancestors(*_CELLS), None) is not None]
    for foot in children(wrap, "table-wrap-foot"):
        for node in foot:
            if node.tag == "fn-group":
                found += [line_of(note) for note in children(node, "fn")]
            elif isinstance(node.tag, str):
                found.append(line_of(node))
    return tuple(text for text in found if text)


# --- grids ------------------------------------------------------------------------------------------------------------


class _Grid(NamedTuple):
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    width: int


class _Cell(NamedTuple):
    text: str
    column: int | None
    """Where CALS says it stands; None: the next free place."""
    across: int
    down: int
    is_heading: bool


Row = Sequence[_Cell]


def _grid(node: etree._Element) -> _Grid:
    """The cells of a `table`, `array` or `tgroup`."""
    groups = [node] if node.tag == "tgroup" else list(children(node, "tgroup"))
    head: list[Row] = []
    bodies: list[list[Row]] = []
    if groups:
        for group in groups:
            columns = _Columns(group)
            head += [row for part in children(group, "thead") for row in columns.rows(part)]
            bodies += [columns.rows(part) for name in ("tbody", "tfoot") for part in children(group, name)]
    else:
        head = [row for part in children(node, "thead") for row in _rows(part)]
        loose = _rows(node)
        bodies = [loose] if loose else []
        bodies += [_rows(part) for name in ("tbody", "tfoot") for part in children(node, name)]
    layouts = [_laid_out(head), *(_laid_out(body) for body in bodies)]
    width = max(layout.width for layout in layouts)
    if width == 1:
        width = max(layout.widest_span for layout in layouts)
    lines = [[tuple(row.get(at, "") for at in range(width)) for row in layout.rows] for layout in layouts]
    header, rows = lines[0], lines[1:]
    if not head and bodies:
        # Without a thead the leading rows of nothing but heading cells are the header.
        first = bodies[0]
        count = next((at for at, row in enumerate(first) if not all(cell.is_heading for cell in row)), 0)
        header, rows[0] = rows[0][:count], rows[0][count:]
    return _Grid(_joined(header, width), tuple(row for body in rows for row in body if any(row)), width)


def _rows(part: etree._Element) -> list[Row]:
    return [
        [
            _Cell(line_of(cell, skip=_NOTES), None, _span(cell, "colspan"), _span(cell, "rowspan"), cell.tag == "th")
            for cell in row
            if cell.tag in ("td", "th")
        ]
        for row in children(part, "tr")
    ]


def _span(cell: etree._Element, name: str) -> int:
    text = (cell.get(name) or "1").strip()
    span = int(text) if text.isascii() and text.isdigit() and len(text) < 7 else 1
    # HTML: rowspan 0 reaches to the end of the group, colspan 0 is a slip.
    return span or (MOST_CELLS if name == "rowspan" else 1)


@dataclass
class _Layout:
    """Rows of one group with every span repeated, and how wide they are."""

    rows: list[dict[int, str]] = field(default_factory=list)
    """Column to text."""
    width: int = 0
    widest_span: int = 0
    """Of rows of a single cell: a line across the table does not make it wider."""


def _laid_out(rows: Sequence[Row]) -> _Layout:
    layout = _Layout()
    hanging: dict[int, tuple[str, int]] = {}
    """Column to the text of a cell from above and how many rows it still covers."""
    left = MOST_CELLS
    for row in rows:
        line: dict[int, str] = {}
        for column, (text, more) in list(hanging.items()):
            line[column] = text
            if more > 1:
                hanging[column] = (text, more - 1)
            else:
                del hanging[column]
        is_alone = len(row) == 1 and not line
        at = 0
        for cell in row:
            at = at if cell.column is None else max(at, cell.column)
            while at in line:
                at += 1
            across = cell.across if cell.across <= MOST_COLUMNS else MOST_COLUMNS if is_alone else 1
            for column in range(at, at + across):
                if column in line:
                    break
                line[column] = cell.text
                if cell.down > 1:
                    hanging[column] = (cell.text, cell.down - 1)
            layout.width = max(layout.width, at + 1 if is_alone else max(line) + 1)
            at += across
        if line:
            layout.widest_span = max(layout.widest_span, max(line) + 1)
        if (left := left - len(line)) < 0:
            break
        layout.rows.append(line)
    return layout


def _joined(header: Sequence[Sequence[str]], width: int) -> tuple[str, ...]:
    """A text per column; what a span repeats stands once."""
    columns = []
    for column in range(width if header else 0):
        texts: list[str] = []
        for row in header:
            if row[column] and (not texts or texts[-1] != row[column]):
                texts.append(row[column])
        columns.append(" / ".join(texts))
    return tuple(columns) if any(columns) else ()


class _Columns:
    """Names of columns and spans of a CALS table."""

    def __init__(self, group: etree._Element) -> None:
        self._number: dict[str, int] = {}
        self._named_span: dict[str, tuple[int, int]] = {}
        for part in group:
            if part.tag == "colspec":
                stated = part.get("colnum", "")
                number = int(stated) - 1 if stated.isascii() and stated.isdigit() and stated != "0" else None
                self._number[part.get("colname", "")] = len(self._number) if number is None else number
            elif part.tag == "spanspec":
                first = self._number.get(part.get("namest", ""))
                last = self._number.get(part.get("nameend", ""))
                if first is not None and last is not None and last >= first:
                    self._named_span[part.get("spanname", "")] = (first, last)

    def rows(self, part: etree._Element) -> list[Row]:
        is_head = part.tag == "thead"
        return [[self._cell(entry, is_head) for entry in children(row, "entry")] for row in children(part, "row")]

    def _cell(self, entry: etree._Element, is_heading: bool) -> _Cell:
        first = self._number.get(entry.get("namest", entry.get("colname", "")))
        last = self._number.get(entry.get("nameend", ""))
        if (named := self._named_span.get(entry.get("spanname", ""))) is not None:
            first, last = named
        across = last - first + 1 if first is not None and last is not None and last >= first else 1
        more = entry.get("morerows", "0")
        down = int(more) + 1 if more.isascii() and more.isdigit() and len(more) < 7 else 1
        return _Cell(line_of(entry, skip=_NOTES), first, across, down, is_heading)
