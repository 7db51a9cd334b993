"""A run, or two runs compared, as one HTML page that holds all it needs and asks nothing of any network."""

from __future__ import annotations

import base64
import gzip
import html
import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from evals.evaluators.metrics import metric
from evals.harness import read_outcome
from evals.pairwise import CRITERIA, HEADER, PairedReport, rows_of, told
from evals.report import CaseResult, Moved, Report, Summary
from evals.terminal import ARROWS, differences, figure

_TEMPLATES = Path(__file__).parent / "templates"
_MANY = 100
_CUT = 2_500
"""Characters of one tool result on the page of a run of more than `_MANY` cases."""


class _Chart(NamedTuple):
    title: str
    svg: str
    note: str = ""


class _TableOf(NamedTuple):
    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    wide: bool = False
    """The last column is a text."""
    words: bool = False
    """All columns are texts."""


def write_page(report: Report, out: Path) -> Path:
    """`report.html` beside the report."""
    file = out / "report.html"
    file.write_text(render_page(report, out), encoding="utf-8")
    return file


def render_page(report: Report, out: Path) -> str:
    """The page of one run: bars with intervals, cost against recall, each case with its scores and transcript."""
    summaries = report.summary()
    quality = [one for one in summaries if metric(one.name).worst is not None]
    charts = [
        _Chart(
            f"{group.capitalize()}",
            _bars([one for one in quality if metric(one.name).group == group]),
            "Mean over cases with 95 % bootstrap interval; ↓ marks what should be 0, ↑ what should be 1.",
        )
        for group in ("integrity", "retrieval", "behaviour", "judge")
        if any(metric(one.name).group == group for one in quality)
    ]
    charts += _scatter(report)
    rows = [
        [
            metric(one.name).told,
            figure(one.mean, metric(one.name)),
            f"{figure(one.low, metric(one.name))} to {figure(one.high, metric(one.name))}",
            str(one.cases),
            str(one.failed),
        ]
        for one in summaries
    ]
    made = report.made.model_dump()
    tables = [
        _TableOf("All figures", ("metric", "mean", "95 % interval", "cases", "failed"), rows),
        _TableOf("What was run", (), [(n, _plain(v)) for n, v in made.items() if _plain(v)], words=True),
    ]
    packed: dict[str, str] = {}
    many = len(report.cases) > _MANY
    for case in report.cases:
        outcome = read_outcome(out, case)
        if outcome is not None:
            steps = [said.model_dump(include={"kind", "tool", "turn", "at_s", "text"}) for said in outcome.transcript]
            for step in steps:
                if many and len(step["text"]) > _CUT:
                    step["text"] = f"{step['text'][:_CUT]} ..."
            written = json.dumps(steps, ensure_ascii=False).encode()
            packed[case.name] = base64.b64encode(gzip.compress(written, 6, mtime=0)).decode()
    made_of = report.made
    return _render(
        title=f"{made_of.dataset} by {made_of.model}",
        told=f"{made_of.note + ', ' if made_of.note else ''}{len(report.cases)} cases, {_failed(report)}, "
        f"{report.wall_s:.0f} s, {_moment(report)}",
        charts=charts,
        tables=tables,
        cases=[_case(case, case.name in packed, many) for case in report.cases],
        instructions=report.instructions,
        packed=packed,
    )


def write_comparison(before: Report, after: Report, moved: Sequence[Moved], judged: PairedReport | None = None) -> str:
    """The page of two runs: differences with intervals, all figures, cases that moved most, what a judge prefers."""
    first, second = f"A: {before.made.model}", f"B: {after.made.model}"
    rows = [
        [
            one.metric.told,
            figure(one.before.mean, one.metric),
            figure(one.after.mean, one.metric),
            *differences(one),
            one.verdict,
        ]
        for one in moved
    ]
    quality = [one for one in moved if one.metric.worst is not None]
    return _render(
        title=f"{after.made.dataset}: {before.made.model} against {after.made.model}",
        told=f"A of {_moment(before)}, {_failed(before)}; B of {_moment(after)}, {_failed(after)}; "
        f"{len({c.case for c in after.cases})} cases",
        charts=[
            _Chart("Difference, B less A", _differences(quality), "Paired by case, 95 % bootstrap interval."),
            *_scatter(before, after),
        ],
        tables=[
            _TableOf("All figures", ("metric", first, second, "difference", "95 % interval", ""), rows),
            _TableOf("Cases that moved most", ("case", "metric", "A", "B"), _most_moved(before, after, quality)),
            *_judged(judged),
            _TableOf("What was run", ("", first, second), _made_rows(before, after), words=True),
        ],
        cases=[],
        instructions="",
        packed={},
    )


def _failed(report: Report) -> str:
    return f"{report.failed} failed, each of which counts as the worst value" if report.failed else "none failed"


def _moment(report: Report) -> str:
    return report.started_at[:16].replace("T", " ") + " UTC"


def _judged(report: PairedReport | None) -> list[_TableOf]:
    if report is None:
        return []
    names = {"first": "A", "second": "B", "both": "A and B"}
    rows = []
    for pair in report.pairs:
        values = [pair.value(criterion) for criterion in CRITERIA]
        why = pair.error or (f"no answer of {names[pair.unanswered]}" if pair.unanswered else "")
        reasons = why or " / ".join(one.reason for one in pair.preferences if one.reason)
        rows.append([pair.name, *("" if value is None else f"{value:+.2f}" for value in values), reasons[:600]])
    return [
        _TableOf("What the judge prefers", HEADER, rows_of(report), note=told(report)),
        _TableOf("Judged pairs, preference for B", ("case", *CRITERIA, "why"), rows, wide=True),
    ]


def _made_rows(before: Report, after: Report) -> list[list[str]]:
    a, b = before.made.model_dump(), after.made.model_dump()
    return [[name, _plain(a[name]), _plain(b[name])] for name in a if _plain(a[name]) or _plain(b[name])]


def _most_moved(before: Report, after: Report, moved: Sequence[Moved]) -> list[list[str]]:
    rows: list[tuple[float, list[str]]] = []
    for one in moved:
        a, b = ({case: value for case, value, _ in r.values(one.metric.name)} for r in (before, after))
        for case in a.keys() & b.keys():
            if a[case] != b[case]:
                told = [case, one.metric.name, figure(a[case], one.metric), figure(b[case], one.metric)]
                rows.append((abs(a[case] - b[case]), told))
    return [row for _, row in sorted(rows, key=lambda row: (-row[0], row[1]))[:25]]


def _case(case: CaseResult, has_transcript: bool, cut: bool) -> dict[str, Any]:
    def shown(name: str) -> str:
        return figure(case.scores[name], metric(name)) if name in case.scores else ""

    quality = [(metric(name), value) for name, value in case.scores.items() if metric(name).worst is not None]
    return {
        "name": case.name,
        "question": case.question[:300],
        "status": "no answer" if case.error is not None else case.status,
        "failed": case.error is not None,
        "missed": case.error is not None or any(v != (1.0 if m.better == "high" else 0.0) for m, v in quality),
        "first": f"recall {shown('recall@10')}" if "recall@10" in case.scores else "",
        "second": f"nDCG {shown('ndcg@10')}" if "ndcg@10" in case.scores else "",
        "error": case.error,
        "expected": case.expected,
        "note": case.note,
        "scores": [
            (name, figure(value, metric(name)), case.reasons.get(name, "")) for name, value in case.scores.items()
        ],
        "has_transcript": has_transcript,
        "cut": cut and has_transcript,
        "file": case.transcript,
    }


def _plain(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {one}" for name, one in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(str(one) for one in value)
    return "" if value is None else str(value)


# --- drawings ---------------------------------------------------------------------------------------------------------

_WIDTH, _ROW = 480, 40
"""In units that are about a pixel on a telephone: the name of a metric stands over its bar."""


def _bars(summaries: Sequence[Summary]) -> str:
    """A bar from 0 to 1 for each metric, with its interval."""
    height = _ROW * len(summaries) + 26
    parts = [_svg_open(_WIDTH, height, "Means with intervals")]
    span = _WIDTH - 12
    for tick in (0, 0.25, 0.5, 0.75, 1):
        parts += _tick(6 + span * tick, height, f"{tick:g}", tick)
    for row, one in enumerate(summaries):
        y = row * _ROW + 22
        arrow = ARROWS[metric(one.name).better]
        low, high = 6 + span * one.low, 6 + span * one.high
        failed = f" ({one.failed} failed)" if one.failed else ""
        parts += [
            f'<text x="6" y="{y - 6}">{html.escape(one.name)} {arrow}</text>',
            f'<text class="value" x="{_WIDTH - 6}" y="{y - 6}" text-anchor="end">{one.mean:.3f}{failed}</text>',
            f'<rect class="bar" x="6" y="{y}" width="{max(1.0, span * one.mean):.1f}" height="12" rx="2">'
            f"<title>{html.escape(one.name)} {one.mean:.4f} ({one.low:.4f} to {one.high:.4f}), "
            f"{one.cases} cases, {one.failed} failed</title></rect>",
            f'<path class="interval" d="M{low:.1f} {y + 6}H{high:.1f}M{low:.1f} {y + 2}v8M{high:.1f} {y + 2}v8"/>',
        ]
    return "".join([*parts, "</svg>"])


def _differences(moved: Sequence[Moved]) -> str:
    """The difference of each metric around zero."""
    height = _ROW * max(1, len(moved)) + 26
    widest = max([0.05, *(abs(v) for one in moved for v in (one.difference.low, one.difference.high))])
    span = (_WIDTH - 16) / 2
    middle = _WIDTH / 2
    parts = [_svg_open(_WIDTH, height, "Differences with intervals")]
    for tick in (-widest, 0.0, widest):
        parts += _tick(middle + span * tick / widest, height, f"{tick:+.2f}" if tick else "0", (tick / widest + 1) / 2)
    for row, one in enumerate(moved):
        y = row * _ROW + 28
        x, low, high = (middle + span * v / widest for v in one.difference[:3])
        parts += [
            f'<text x="6" y="{y - 12}">{html.escape(one.metric.name)}</text>',
            f'<text class="value" x="{_WIDTH - 6}" y="{y - 12}" text-anchor="end">{one.difference.mean:+.3f}</text>',
            f'<path class="interval" d="M{low:.1f} {y}H{high:.1f}M{low:.1f} {y - 4}v8M{high:.1f} {y - 4}v8"/>',
            f'<circle class="dot {one.verdict}" cx="{x:.1f}" cy="{y}" r="5"/>',
        ]
    return "".join([*parts, "</svg>"])


def _tick(x: float, height: float, label: str, place: float) -> Iterator[str]:
    """A line across the drawing with its number below; the outermost numbers stay inside."""
    anchor = "start" if place == 0 else "end" if place == 1 else "middle"
    yield f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{height - 20}"/>'
    yield f'<text class="faint" x="{x:.1f}" y="{height - 5}" text-anchor="{anchor}">{label}</text>'


def _scatter(*reports: Report) -> list[_Chart]:
    """Cost of each case against its recall: money where there is any, else tokens in."""
    priced = any(case.scores.get("cost_usd") for report in reports for case in report.cases)
    name, label = ("cost_usd", "US dollars") if priced else ("input_tokens", "tokens in")
    dots = [
        (place, case, case.scores.get(name, 0.0), case.scores.get("recall@10", 0.0))
        for place, report in enumerate(reports)
        for case in report.cases
        if "recall@10" in case.scores or (case.error is not None and "recall@10" in case.applies)
    ]
    if not dots:
        return []
    most = max([1e-9, *(cost for _, _, cost, _ in dots)])
    left, top, width, height = 34, 12, _WIDTH - 44, 240
    parts = [_svg_open(_WIDTH, height + 60, "Cost against recall")]
    for tick in (0, 0.5, 1):
        y = top + height * (1 - tick)
        parts.append(f'<line class="axis" x1="{left}" x2="{left + width}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="faint" x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
        x = left + width * tick
        told = f"{most * tick:,.3f}" if priced else f"{most * tick:,.0f}"
        anchor = "end" if tick == 1 else "middle"
        parts.append(f'<text class="faint" x="{x:.1f}" y="{top + height + 22}" text-anchor="{anchor}">{told}</text>')
    parts.append(f'<text x="{left + width / 2:.1f}" y="{top + height + 42}" text-anchor="middle">{label}</text>')
    for place, case, cost, recall in dots:
        kind = "dot failed" if case.error is not None else "dot other" if place else "dot"
        x, y = left + width * cost / most, top + height * (1 - recall)
        told = f"{case.name}: recall {recall:.2f}, {cost:,.4g} {label}"
        # On the page of one run a dot leads to its case.
        link = f' tabindex="0" role="button" data-go="{html.escape(case.name)}"' if len(reports) == 1 else ""
        told = html.escape(told)
        parts.append(
            f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="5"{link} aria-label="{told}"><title>{told}</title>'
            "</circle>"
        )
    note = "A dot for each case; failed ones at zero."
    if len(reports) > 1:
        note = f"Blue: {reports[0].made.model} (A). Orange: {reports[1].made.model} (B). Failed ones red, at zero."
    return [_Chart("Cost against recall", "".join([*parts, "</svg>"]), note)]


def _svg_open(width: float, height: float, label: str) -> str:
    return f'<svg viewBox="0 0 {width:g} {height:g}" role="group" aria-label="{label}">'


# --- the document -----------------------------------------------------------------------------------------------------


@cache
def _environment() -> Environment:
    return Environment(loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined)


def _render(*, packed: dict[str, str], **parts: Any) -> str:
    style, script = ((_TEMPLATES / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    return (
        _environment()
        .get_template("page.html")
        .render(
            **parts,
            style=style,
            script=script,
            policy=f"default-src 'none'; style-src {_hashes([style])}; script-src {_hashes([script])}; img-src data:; "
            "base-uri 'none'; form-action 'none'",
            # Inside a script element only its own end tag could end it.
            data=json.dumps(packed).replace("<", "\\u003c"),
        )
    )


def _hashes(contents: Iterable[str]) -> str:
    return " ".join(f"'sha256-{base64.b64encode(sha256(one.encode()).digest()).decode()}'" for one in contents)
