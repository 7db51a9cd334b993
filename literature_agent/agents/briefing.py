"""The first message of a run: the question and its limits, in a form that people and code read alike."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from literature_agent.outputs import AggregationRequest


def brief(
    request: AggregationRequest,
    sources: Sequence[str],
    given: Sequence[str] = (),
    *,
    question: str | None = None,
    today: date | None = None,
) -> str:
    """Question (with references for identifiers), sources, limits, and what code has found (`given`)."""
    lines = ["<question>", (question or request.question).strip(), "</question>", f"Sources: {', '.join(sources)}"]
    if today is not None:
        lines.append(f"Today: {today.isoformat()}")
    lines.append(f"Articles: at most {request.max_articles}")
    if request.date_from or request.date_to:
        lines.append(f"Published: {request.date_from or 'any time'} to {request.date_to or 'today'} (applied by code)")
    if request.languages:
        lines.append(f"Languages: {', '.join(request.languages)} (applied by code)")
    if request.publication_types:
        lines.append(f"Publication types: {', '.join(request.publication_types)} (applied by code)")
    if given:
        lines += ["", "Already done for you:", *given]
    return "\n".join(lines)
