"""Charts of a report: each a drawing, and the same numbers as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from literature_agent.ledger import FoundBy
from literature_agent.render._plain import paper_line
from literature_agent.render._svg import FAINT, INK, LINE, drawing, element, fitted, text

# Series stay apart for colour-blind eyes. A page's style sheet has its own for light and dark; these stand alone.
SERIES = ("#2f6db3", "#d97f2e", "#2f8f6b", "#a34e9c", "#b59a1f", "#59a9c9", "#8a93a0")
MAX_YEARS = 40


@dataclass(frozen=True)
class Chart:
    """A drawing and its numbers; every row has as many cells as the header."""

    title: str
    svg: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


# --- publications by year and study type ------------------------------------------------------------------------------


def chart_of_years(works: Sequence[tuple[int | None, str]]) -> Chart | None:
    """Works (year, study type) by year, each bar parted by type; None where no year is known."""
    known = [(year, kind) for year, kind in works if year is not None]
    if not known:
        return None
    common = [kind for kind, _ in Counter(kind for _, kind in known).most_common()]
    kinds = common if len(common) <= len(SERIES) else [*common[: len(SERIES) - 1], "Other types"]
    counts: dict[int, Counter[str]] = {}
    for year, kind in known:
        counts.setdefault(year, Counter())[kind if kind in kinds else "Other types"] += 1
    rows = [(str(y), *(str(counts[y][kind]) for kind in kinds), str(counts[y].total())) for y in sorted(counts)]
    unknown = len(works) - len(known)
    if unknown:
        rows.append(("unknown", *("" for _ in kinds), str(unknown)))
    title = "Publications by year and study type"
    years = list(range(min(counts), max(counts) + 1))
    if len(years) > MAX_YEARS:
        # A single old paper must not squeeze all the others.
        years = sorted(counts)
    return Chart(title, _bars(title, years, kinds, counts), ("year", *kinds, "all"), tuple(rows))


def _bars(title: str, years: Sequence[int], kinds: Sequence[str], counts: Mapping[int, Counter[str]]) -> str:
    left, top, plot, bar = 36, 14, 150, 26
    pitch = 46 if len(years) <= 12 else 38
    width = max(left + pitch * len(years) + 10, 300)
    most = max(count.total() for count in counts.values())
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100, most) if most <= 5 * step)
    highest = -(-most // step) * step
    base = top + plot
    parts = []
    for value in range(0, highest + 1, step):
        y = base - plot * value / highest
        parts.append(_rule(left, y, width - 6))
        parts.append(_faint(str(value), left - 8, y))
    for place, year in enumerate(years):
        x, y = left + pitch * place + (pitch - bar) / 2, float(base)
        for series, kind in enumerate(kinds):
            if count := counts.get(year, Counter())[kind]:
                height = plot * count / highest
                y -= height
                hint = element("title", escape(f"{year}: {count} {kind}"))
                parts.append(_swatch(series, x, y, bar, height, hint))
        parts.append(text(str(year), x + bar / 2, base + 18, text_anchor="middle", font_size=12, class_="ink"))
    legend, height = _legend(kinds, left, base + 44, width - 10)
    described = "; ".join(
        f"{year}: " + ", ".join(f"{count} {kind}" for kind, count in counts[year].items()) for year in sorted(counts)
    )
    return drawing(width, height, title, described, [*parts, *legend])


def _legend(kinds: Sequence[str], left: float, top: float, right: float) -> tuple[list[str], float]:
    """The names of the series with their colours, in rows that end before `right`; and where the last row ends."""
    x, y, parts = left, top, []
    for series, kind in enumerate(kinds):
        wide = 18 + 6.8 * len(kind) + 18
        if x > left and x + wide > right:
            x, y = left, y + 20
        parts += [_swatch(series, x, y - 6, 12, 12), text(kind, x + 18, y, font_size=12, **_CENTRED)]
        x += wide
    return parts, y + 14


# --- which sources have which works -----------------------------------------------------------------------------------


def chart_of_overlap(found: Sequence[FoundBy], label: Callable[[str], str]) -> Chart | None:
    """Works by the very sources that have them, most first; None where there is none. `label` names a source."""
    groups = sorted((group for group in found if group.works), key=lambda group: (-group.works, group.sources))
    if not groups:
        return None
    sources = sorted({source for group in groups for source in group.sources})
    names = [label(source) for source in sources]
    title = "Which sources have the works found"
    rows = tuple(
        (" and ".join(label(source) for source in group.sources) + _only(group), str(group.works)) for group in groups
    )
    left, column, row = 14, 34, 30
    head = 14 + max(7 * len(name) for name in names) * 0.72
    bars = left + column * len(sources) + 8
    full, most = 210, groups[0].works
    parts = []
    for place, name in enumerate(names):
        x = left + column * (place + 0.5)
        turned = f"rotate(-45 {x - 4:g} {head - 8:g})"
        parts.append(text(name, x - 4, head - 8, transform=turned, font_size=12, class_="ink"))
    for number, group in enumerate(groups):
        y = head + row * (number + 0.5)
        at = [left + column * (sources.index(source) + 0.5) for source in group.sources]
        if len(at) > 1:
            parts.append(element("line", x1=min(at), x2=max(at), y1=y, y2=y, stroke=INK, stroke_width=2, class_="link"))
        for place in range(len(sources)):
            x = left + column * (place + 0.5)
            has = x in at
            kind, fill = ("dot", INK) if has else ("dot none", LINE)
            parts.append(element("circle", cx=x, cy=y, r=6, fill=fill, fill_opacity=None if has else 0.3, class_=kind))
        length = full * group.works / most
        parts.append(_swatch(0, bars, y - 9, length, 18, element("title", escape(f"{rows[number][0]}: {group.works}"))))
        parts.append(text(str(group.works), bars + length + 8, y, **_CENTRED))
    described = "; ".join(f"{name}: {works}" for name, works in rows)
    # The last name leans out to the right.
    width = max(bars + full + 44, left + column * len(sources) + head)
    return Chart(
        title, drawing(width, head + row * len(groups) + 8, title, described, parts), ("found in", "works"), rows
    )


def _only(group: FoundBy) -> str:
    return " only" if len(group.sources) == 1 else ""


# --- themes and articles ----------------------------------------------------------------------------------------------


def chart_of_themes(themes: Sequence[tuple[str, Sequence[int]]]) -> Chart | None:
    """Themes (name, numbers of its articles) by article; None where no theme names one."""
    numbers = sorted({number for _, numbers in themes for number in numbers})
    if not numbers:
        return None
    title = "Themes and their articles"
    label, column, size = 220, 28, 12
    names = [fitted(paper_line(name), label - 16, size=size, lines=2) for name, _ in themes]
    heights = [24 + 16 * (len(name) - 1) for name in names]
    width, y, parts = label + column * len(numbers) + 8, 26.0, []
    for place, number in enumerate(numbers):
        x = label + column * (place + 0.5)
        parts.append(text(str(number), x, 16, text_anchor="middle", font_size=size, class_="ink"))
    for (_, mine), name, height in zip(themes, names, heights, strict=True):
        middle = y + height / 2
        parts.append(_rule(0, y, width))
        for line, words in enumerate(name):
            parts.append(text(words, 0, middle + 16 * (line - (len(name) - 1) / 2), font_size=size, **_CENTRED))
        for place, number in enumerate(numbers):
            if number in mine:
                hint = element("title", escape(f"{' '.join(name)}: article {number}"))
                parts.append(
                    element(
                        "circle", hint, cx=label + column * (place + 0.5), cy=middle, r=7, fill=SERIES[0], class_="s0"
                    )
                )
        y += height
    parts.append(_rule(0, y, width))
    rows = tuple((paper_line(name), ", ".join(map(str, sorted(mine)))) for name, mine in themes)
    described = "; ".join(f"{name}: articles {mine or 'none'}" for name, mine in rows)
    return Chart(title, drawing(width, y + 4, title, described, parts), ("theme", "articles"), rows)


# --- parts ------------------------------------------------------------------------------------------------------------

_CENTRED = {"dominant_baseline": "central", "class_": "ink"}


def _swatch(series: int, x: float, y: float, width: float, height: float, *children: str) -> str:
    return element("rect", *children, x=x, y=y, width=width, height=height, fill=SERIES[series], class_=f"s{series}")


def _rule(x1: float, y: float, x2: float) -> str:
    return element("line", x1=x1, x2=x2, y1=y, y2=y, stroke=LINE, stroke_opacity=0.4, class_="grid")


def _faint(words: str, x: float, y: float) -> str:
    return text(words, x, y, text_anchor="end", dominant_baseline="central", fill=FAINT, font_size=12, class_="faint")
