"""Reports as tables in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from evals.evaluators.metrics import Group, Metric, metric
from evals.pairwise import HEADER, PairedReport, rows_of, told
from evals.report import Moved, Report

_GROUPS: tuple[tuple[Group, str], ...] = (
    ("integrity", "Integrity"),
    ("retrieval", "Retrieval"),
    ("behaviour", "Behaviour"),
    ("judge", "Judge"),
    ("cost", "Cost"),
)
_SHOWN_FAILURES = 5
ARROWS = {"high": "↑", "low": "↓", "": ""}
"""Which way is better."""


def figure(value: float, one: Metric) -> str:
    """A value of a metric, with as many digits as mean something."""
    if one.worst is not None or one.name == "first_query_empty":
        return f"{value:.3f}"
    if one.name == "cost_usd":
        return f"{value:.4f}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}"


def differences(one: Moved) -> tuple[str, str]:
    """The difference and its interval, with as many digits as the metric itself."""
    mean, low, high = (f"{'-' if value < 0 else '+'}{figure(abs(value), one.metric)}" for value in one.difference[:3])
    return mean, f"{low} to {high}"


def print_report(report: Report, console: Console) -> None:
    """What was run, the table, and what failed."""
    made = report.made
    title = f"{made.dataset}{f' ({made.note})' if made.note else ''} | {made.model}"
    console.print(f"[bold]{escape(title)}[/bold]")
    table = Table(box=None, pad_edge=False)
    table.add_column("metric", no_wrap=True)
    for name in ("mean", "95 % interval", "cases", "failed"):
        table.add_column(name, justify="right", no_wrap=True)
    summaries = report.summary()
    for group, label in _GROUPS:
        inside = [summary for summary in summaries if metric(summary.name).group == group]
        if inside:
            table.add_section()
            table.add_row(f"[bold]{label}[/bold]")
        for summary in inside:
            one = metric(summary.name)
            table.add_row(
                f"  {summary.name} {ARROWS[one.better]}",
                figure(summary.mean, one),
                f"{figure(summary.low, one)} to {figure(summary.high, one)}",
                str(summary.cases),
                str(summary.failed or ""),
            )
    console.print(table)
    said = f"{len(report.cases)} cases, {report.failed} failed, {report.wall_s:.1f} s at {made.concurrency} at once"
    said += f", {report.peak_memory_mb:.0f} MB" if report.peak_memory_mb else ""
    console.print(said + (f"; {report.resumed} were there from a run that was stopped" if report.resumed else ""))
    if report.failed:
        console.print("A failed case counts as the worst value and stays in the denominator.")
    for case in [case for case in report.cases if case.error is not None][:_SHOWN_FAILURES]:
        console.print(f"  {escape(case.name)}: {escape((case.error or '').splitlines()[0])}", highlight=False)
    for case in [case for case in report.cases if case.evaluator_errors][:_SHOWN_FAILURES]:
        console.print(f"  {escape(case.name)}: evaluator {escape(str(case.evaluator_errors))}", highlight=False)
    console.print(
        f"corpus {made.corpus_hash}, cases {made.dataset_hash}, prompt {'+'.join(made.prompt_hashes) or 'unknown'}, "
        f"code {made.code_hash}, seed {made.seed}, " + ", ".join(f"{k} {v}" for k, v in made.versions.items()),
        style="dim",
        highlight=False,
        soft_wrap=True,
    )


def print_comparison(before: Report, after: Report, moved: Sequence[Moved], console: Console) -> None:
    """Both means and the paired difference of every metric."""
    console.print(f"[bold]{escape(before.made.model)}[/bold] against [bold]{escape(after.made.model)}[/bold]")
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for name in ("metric", "before", "after", "difference", "95 % interval", ""):
        table.add_column(name, justify="left" if name in ("metric", "") else "right", no_wrap=True)
    for one in moved:
        table.add_row(
            one.metric.name,
            figure(one.before.mean, one.metric),
            figure(one.after.mean, one.metric),
            *differences(one),
            {"better": "[green]better[/green]", "worse": "[red]worse[/red]", "same": "", "moved": "moved"}[one.verdict],
        )
    console.print(table)
    console.print(f"{len({case.case for case in after.cases})} cases; differences paired by case.")
    for report, place in ((before, "first"), (after, "second")):
        if report.failed:
            console.print(f"{report.failed} failed in the {place}: they count as the worst value.")


def print_preferences(report: PairedReport, console: Console) -> None:
    """What a judge prefers, for each criterion."""
    table = Table(box=None, pad_edge=False)
    for name in HEADER:
        table.add_column(name, justify="left" if name in ("criterion", "") else "right")
    for row in rows_of(report):
        table.add_row(*row)
    console.print(table)
    console.print(told(report), highlight=False)
