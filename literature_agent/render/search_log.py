"""The search log as PRISMA-S asks for it (doi:10.1186/s13643-020-01542-z): Markdown, CSV, JSON, and the flow diagram of
PRISMA 2020 (doi:10.1136/bmj.n71) as SVG.

All numbers are those of the answer, which has them from the ledger of its run.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from literature_agent.ledger import Exclusion, Flow, SearchRecord
from literature_agent.outputs import LiteratureAggregationOutput
from literature_agent.render._flow import draw_flow
from literature_agent.render._plain import markdown, one_line, spreadsheet_cell
from literature_agent.sources import SOURCES

COLUMNS = (
    *("search", "source", "interface", "query", "understood_as", "filters", "started", "status", "reason"),
    *("total", "retrieved", "new", "duplicates", "origin"),
)
_HEADINGS = {
    "understood_as": "understood as",
    "started": "date and time (UTC)",
    "total": "hits",
}
_QUERIES = frozenset({"query", "understood_as"})
_NUMBERS = frozenset({"total", "retrieved", "new", "duplicates"})


def search_log_markdown(output: LiteratureAggregationOutput) -> str:
    """One table with a line for each search, and one with the works that passed each stage. Ends in a line break."""
    headings = [_HEADINGS.get(name, name) for name in COLUMNS]
    rule = ["---:" if name in _NUMBERS else "---" for name in COLUMNS]
    rows = [
        [_verbatim(cell) if name in _QUERIES else markdown(cell) for name, cell in zip(COLUMNS, row, strict=True)]
        for row in map(search_cells, output.search_log)
    ]
    stages = [[markdown(stage), number] for stage, number in flow_table(flow_of(output))]
    parts = (
        f"# Search log: {markdown(one_line(output.question))}",
        f"Run {markdown(one_line(output.run_id))}, {_time(output.started_at)} UTC.",
        _table([headings, rule, *rows]) if rows else "No search was made.",
        "## Flow of works",
        _table([["stage", "n"], ["---", "---:"], *stages]),
    )
    return "\n\n".join(parts) + "\n"


def search_log_csv(output: LiteratureAggregationOutput) -> str:
    """A header and one row for each search; lines end in CR LF (RFC 4180), no cell is run as a formula."""
    page = io.StringIO()
    writer = csv.writer(page)
    writer.writerow(COLUMNS)
    for record in output.search_log:
        writer.writerow(map(spreadsheet_cell, search_cells(record)))
    return page.getvalue()


def search_log_json(output: LiteratureAggregationOutput) -> dict[str, Any]:
    """The searches, the coverage of each source and the flow, with their own names, for `json.dumps`."""
    return {
        "run_id": output.run_id,
        "question": output.question,
        "started_at": output.started_at.isoformat(),
        "searches": [record.model_dump(mode="json") for record in output.search_log],
        "coverage": [source.model_dump(mode="json") for source in output.coverage],
        "flow": flow_of(output).model_dump(mode="json"),
    }


def flow_svg(output: LiteratureAggregationOutput) -> str:
    """The flow diagram of PRISMA 2020, an SVG document."""
    got, failed = records_by_source(output), failed_searches(output)
    return draw_flow(
        flow_of(output),
        {source_label(source): records for source, records in got.items()},
        {source_label(source): searches for source, searches in failed.items()},
    )


def flow_of(output: LiteratureAggregationOutput) -> Flow:
    """The flow that the run counted; without one, what search log, articles and left out works say."""
    if output.flow is not None:
        return output.flow
    log, listed = output.search_log, len(output.relevant_articles)
    new = sum(record.new for record in log)
    screened = listed + len(output.excluded)
    unique = max(new, screened)
    reasons = Counter(work.reason for work in output.excluded)
    return Flow(
        identified=sum(record.retrieved for record in log),
        duplicates=sum(record.retrieved - record.new for record in log),
        otherwise=unique - new,
        unique=unique,
        not_screened=unique - screened,
        screened=screened,
        analysed=None,
        read=None,
        included=listed,
        studies=listed,
        excluded=tuple(Exclusion(stage="screening", reason=reason, works=n) for reason, n in reasons.items()),
    )


def flow_table(flow: Flow) -> list[tuple[str, str]]:
    """The stages of a flow with their numbers, as sentences for a table; what is not known is left out."""
    return [(stage, str(number)) for stage, number in _stages(flow) if number is not None]


def _stages(flow: Flow) -> Iterator[tuple[str, int | None]]:
    yield "records identified by searching", flow.identified
    yield "duplicate records removed", flow.duplicates
    if flow.otherwise:
        yield "works that came by identifier or link", flow.otherwise
    yield "unique works", flow.unique
    yield "works not looked at", flow.not_screened
    yield "works screened by title and snippet", flow.screened
    yield from (_excluded(exclusion) for exclusion in flow.excluded if exclusion.stage == "screening")
    yield "works analysed (whole abstract or full text)", flow.analysed
    yield "works read in full", flow.read
    yield from (_excluded(exclusion) for exclusion in flow.excluded if exclusion.stage == "reading")
    yield "works included", flow.included
    if flow.included_unread:
        yield "works included by title and snippet alone", flow.included_unread
    yield "studies included (works of one study counted once)", flow.studies


def _excluded(exclusion: Exclusion) -> tuple[str, int]:
    when = {"screening": "excluded at screening", "reading": "excluded after reading"}[exclusion.stage]
    return f"{when}: {one_line(exclusion.reason)}", exclusion.works


def records_by_source(output: LiteratureAggregationOutput) -> dict[str, int]:
    """Records that the searches of each source got, in order of asking; their sum is what was identified."""
    got: Counter[str] = Counter()
    for record in output.search_log:
        got[record.source] += record.retrieved
    return dict(got)


def failed_searches(output: LiteratureAggregationOutput) -> dict[str, int]:
    """Searches of each source that were not answered."""
    return dict(Counter(record.source for record in output.search_log if record.status == "failed"))


def source_label(source: str) -> str:
    """The name of a source as a person reads it: `PubMed`."""
    labels = {registered.name: registered.label for registered in SOURCES}
    return labels.get(source) or {"pmc": "PubMed Central", "preprint": "Europe PMC"}.get(source) or one_line(source)


def search_cells(record: SearchRecord) -> tuple[str, ...]:
    """One search as texts on one line each, in the order of `COLUMNS`."""
    cells = (
        record.search_id,
        record.source,
        record.interface,
        record.query,
        record.query_interpreted or "",
        "; ".join(f"{name}={value}" for name, value in record.filters.items()),
        _time(record.started_at),
        record.status,
        record.reason or "",
        "" if record.total is None else str(record.total),
        *(str(number) for number in (record.retrieved, record.new, record.duplicates)),
        record.origin,
    )
    return tuple(map(one_line, cells))


def _time(at: datetime) -> str:
    return (at.astimezone(UTC) if at.tzinfo else at).strftime("%Y-%m-%d %H:%M:%S")


def _verbatim(line: str) -> str:
    """A query as code, so that it can be copied from the file as it was sent; escaped where a table allows no code."""
    return markdown(line) if not line or set(line) & set("`|\\") else f"`{line}`"


def _table(rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
