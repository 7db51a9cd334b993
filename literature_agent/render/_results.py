"""Results of single searches and fetches, as plain text."""

from __future__ import annotations

from literature_agent.artifacts import CitationArtifact, study_type
from literature_agent.errors import counted
from literature_agent.registry import mask_references
from literature_agent.render._bibliography import bibliography_entry
from literature_agent.render._layout import DEFAULT_WIDTH, wrapped
from literature_agent.render._plain import paper_line, paragraphs
from literature_agent.results import FetchResult, SearchResult, SourceOutcome


def render_search_text(label: str, result: SearchResult, *, width: int = DEFAULT_WIDTH) -> str:
    """One page of hits of the source `label` (`PubMed`): what was asked and understood, then an entry for each hit."""
    lines = [f"{label}: {result.status}, {shown_of(result)}"]
    facts = [
        ("Query", result.query_sent),
        ("Interpreted as", result.query_interpreted),
        ("Filters", "; ".join(f"{name}={value}" for name, value in result.applied_filters.items())),
        *((outcome.source, _outcome(outcome)) for outcome in result.outcomes),
        *(("Warning", warning) for warning in result.warnings),
        ("Notice", result.notice),
        ("Not read in full", result.error.message if result.error is not None else None),
        ("Next page", f"--page {result.next_page}" if result.next_page is not None else None),
        ("In a browser", result.search_url),
    ]
    for name, fact in facts:
        if fact:
            lines += wrapped(f"{name}: {paper_line(fact)}", width, hanging="  ")
    for number, artifact in enumerate(result.artifacts, start=1):
        lines += ["", *_record(f"{number}. ", artifact, width)]
    return "\n".join(lines) + "\n"


def shown_of(result: SearchResult) -> str:
    """`10 of 214 shown`. Of several sources the works are counted, and the records that they were merged from."""
    if result.outcomes:
        records = sum(outcome.returned for outcome in result.outcomes)
        return f"{counted(result.returned, 'work')} shown, from {counted(records, 'record')} got"
    return f"{result.returned} of {'an unknown number' if result.total is None else result.total} shown"


def render_fetch_text(result: FetchResult, *, width: int = DEFAULT_WIDTH) -> str:
    """Whole records with their abstracts, then what was not found or could not be got."""
    parts = []
    for number, artifact in enumerate(result.artifacts, start=1):
        lines = _record(f"{number}. ", artifact, width)
        for section in artifact.abstract_sections:
            label = f"{paper_line(section.label)}: " if section.label else ""
            lines += ["", *wrapped(label + paper_line(section.text), width)]
        if not artifact.abstract_sections:
            for part in map(mask_references, paragraphs(artifact.abstract_text or "No abstract.")):
                lines += ["", *wrapped(part, width)]
        parts.append("\n".join(lines))
    lines = [f"Not found: {paper_line(identifier)}" for identifier in result.not_found]
    lines += [f"Failed: {paper_line(identifier)}: {paper_line(e.message)}" for identifier, e in result.failed.items()]
    lines += [f"Warning: {paper_line(warning)}" for warning in result.warnings]
    if lines:
        parts.append("\n".join(line for text in lines for line in wrapped(text, width, hanging="  ")))
    return "\n\n".join(parts) + "\n"


def _outcome(outcome: SourceOutcome) -> str:
    """What one source of a federated search answered."""
    if outcome.status in ("failed", "not_asked"):
        return f"{outcome.status.replace('_', ' ')}{': ' + outcome.error.message if outcome.error is not None else ''}"
    total = "an unknown number" if outcome.total is None else str(outcome.total)
    return f"{outcome.status}, {outcome.returned} of {total} got"


def _record(label: str, artifact: CitationArtifact, width: int) -> list[str]:
    indent = " " * len(label)
    lines = wrapped(bibliography_entry(artifact), width, first=label, hanging=indent)
    lines.append(f"{indent}{study_type(artifact)}")
    return [*lines, *wrapped(artifact.relevance, width, first=indent, hanging=indent)] if artifact.relevance else lines
