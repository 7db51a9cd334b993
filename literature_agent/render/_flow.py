"""The flow diagram of PRISMA 2020, drawn from counted numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from literature_agent.ledger import Exclusion, Flow
from literature_agent.render._plain import one_line
from literature_agent.render._svg import LINE, PAPER, TINT, drawing, element, fitted, text

_LEFT, _RIGHT, _BOX, _BAND = 44, 396, 320, 26
_WIDTH = _RIGHT + _BOX + 4
_LINE_HEIGHT, _PAD, _GAP = 18, 10, 28


@dataclass(frozen=True)
class _Box:
    """A box of the diagram: a heading and lines below it."""

    heading: str
    lines: tuple[str, ...] = ()

    @property
    def rows(self) -> list[tuple[str, bool]]:
        """Its lines as drawn, and whether each is the heading."""
        heading = [(line, True) for line in fitted(self.heading, _BOX - 2 * _PAD, size=14)]
        return heading + [(part, False) for line in self.lines for part in fitted(line, _BOX - 2 * _PAD - 8)]

    @property
    def height(self) -> int:
        return 2 * _PAD + _LINE_HEIGHT * len(self.rows) - 2


def draw_flow(flow: Flow, by_source: Mapping[str, int], failed: Mapping[str, int]) -> str:
    """The diagram as an SVG document: works that went on at the left, what was left out at the right.

    `by_source` are the records that searches got; `failed` says how many searches of a source were not answered.
    """
    stages = _stages(flow, by_source, failed)
    # The number of stages of each band, and the height that its name needs.
    bands = (("Identification", 1, 112), ("Screening", len(stages) - 2, 0), ("Included", 1, 76))
    least = [height for _, stages_of_band, height in bands for _ in range(stages_of_band)]
    parts: list[str] = []
    y = 8.0
    tops: list[tuple[float, float]] = []
    for number, (kept, left_out) in enumerate(stages):
        height = max(least[number], kept.height, left_out.height if left_out else 0)
        middle = y + height / 2
        right: list[str] = []
        if left_out is not None:
            parts += _arrow(_LEFT + _BOX, middle, _RIGHT, middle)
            right = _drawn(left_out, _RIGHT, middle - left_out.height / 2, PAPER)
        parts += [*_drawn(kept, _LEFT, y, TINT, height), *right]
        tops.append((y, y + height))
        if number + 1 < len(stages):
            parts += _arrow(_LEFT + _BOX / 2, y + height, _LEFT + _BOX / 2, y + height + _GAP)
        y += height + _GAP
    at = 0
    for name, count, _ in bands:
        top, bottom = tops[at][0], tops[at + count - 1][1]
        parts += _band(name, top, bottom)
        at += count
    described = "; ".join(box.heading for stage in stages for box in stage if box is not None)
    return drawing(_WIDTH, y - _GAP + 8, "PRISMA 2020 flow diagram", described, parts)


def _stages(flow: Flow, by_source: Mapping[str, int], failed: Mapping[str, int]) -> Sequence[tuple[_Box, _Box | None]]:
    sources = [f"{source}: {records}{_not_answered(failed.get(source, 0))}" for source, records in by_source.items()]
    if flow.otherwise:
        sources.append(f"by identifier or link: {_n(flow.otherwise, 'work')}")
    removed = [f"duplicate records: {flow.duplicates}"]
    if flow.not_screened:
        removed.append(f"works not looked at: {flow.not_screened}")
    included = [f"of {_n(flow.studies, 'study', 'studies')}"] if flow.studies != flow.included else []
    if flow.included_unread:
        included.append(f"by title and snippet alone: {flow.included_unread}")
    stages: list[tuple[_Box, _Box | None]] = [
        (
            _Box(f"Records identified by searching ({_is(flow.identified)})", tuple(map(one_line, sources))),
            _Box("Removed before screening", tuple(removed)),
        ),
        (_Box(f"Works screened by title and snippet ({_is(flow.screened)})"), _left_out(flow.excluded, "screening")),
    ]
    if flow.analysed is not None:
        read = (f"full text read: {flow.read}",) if flow.read else ()
        analysed = _Box(f"Works analysed: whole abstract or full text ({_is(flow.analysed)})", read)
        stages.append((analysed, _left_out(flow.excluded, "reading")))
    stages.append((_Box(f"Works included in the answer ({_is(flow.included)})", tuple(included)), None))
    return stages


def _left_out(excluded: Sequence[Exclusion], stage: str) -> _Box | None:
    here = [exclusion for exclusion in excluded if exclusion.stage == stage]
    if not here:
        return None
    lines = tuple(f"{one_line(exclusion.reason)}:\N{NO-BREAK SPACE}{exclusion.works}" for exclusion in here)
    return _Box(f"Works excluded ({_is(sum(exclusion.works for exclusion in here))})", lines)


def _not_answered(searches: int) -> str:
    return f" ({_n(searches, 'search', 'searches')} failed)" if searches else ""


def _n(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def _is(number: int) -> str:
    return f"n = {number}".replace(" ", "\N{NO-BREAK SPACE}")


def _drawn(box: _Box, x: float, y: float, fill: str, height: float | None = None) -> list[str]:
    height = height or box.height
    kind = "box kept" if fill == TINT else "box"
    frame = element("rect", x=x, y=y, width=_BOX, height=height, rx=6, fill=fill, stroke=LINE, class_=kind)
    first = y + (height - box.height) / 2 + _PAD + 13
    rows = [
        text(
            line,
            x + _PAD + (0 if heading else 8),
            first + number * _LINE_HEIGHT,
            class_="ink",
            font_weight=600 if heading else None,
        )
        for number, (line, heading) in enumerate(box.rows)
    ]
    return [frame, *rows]


def _arrow(x1: float, y1: float, x2: float, y2: float) -> list[str]:
    head = (
        f"{x2},{y2} {x2 - 4.5},{y2 - 8} {x2 + 4.5},{y2 - 8}"
        if x1 == x2
        else f"{x2},{y2} {x2 - 8},{y2 - 4.5} {x2 - 8},{y2 + 4.5}"
    )
    return [
        element("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=LINE, class_="line"),
        element("polygon", points=head, fill=LINE, class_="head"),
    ]


def _band(name: str, top: float, bottom: float) -> list[str]:
    x, middle = 4 + _BAND / 2, (top + bottom) / 2
    label = text(
        name,
        x,
        middle,
        transform=f"rotate(-90 {x:g} {middle:g})",
        text_anchor="middle",
        dominant_baseline="central",
        font_weight=600,
        fill=PAPER,
        class_="band-label",
    )
    return [element("rect", x=4, y=top, width=_BAND, height=bottom - top, rx=6, fill="#33577f", class_="band"), label]
