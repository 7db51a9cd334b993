"""The view of a whole answer, for the model of a parent."""

from __future__ import annotations

from collections.abc import Iterable

from literature_agent.errors import counted
from literature_agent.outputs import LiteratureAggregationOutput
from literature_agent.views.masks import masked
from literature_agent.views.page import FENCE_CLOSE, FENCE_OPEN, heading

SMALLEST_OUTPUT = 500
"""Characters of an answer below which a parent's model would see nothing of use."""


def view_output(output: LiteratureAggregationOutput, max_characters: int = 6000) -> str:
    """A finished answer as a parent's model sees it, at most `max_characters` long (`SMALLEST_OUTPUT` at least).

    Summary, themes, gaps, status and limitations, and one line per article (reference, year, study type, marks, title,
    reason), inside the fence; never an identifier, author or journal. What does not fit is counted; limitations come
    before all else, since without them an answer says more than it knows.
    """
    articles = [
        f"{heading(artifact, artifact.reference or '')} | {masked(artifact.title)} | {artifact.relevance or ''}"
        for artifact in output.relevant_articles
    ]
    rest = [f"Theme: {theme.name}: {theme.description}" for theme in output.key_themes]
    rest += [f"Gap ({gap.basis}): {gap.description}" for gap in output.research_gaps]
    said = [f"Limitation: {sentence}" for sentence in output.limitations]
    head = [f"Status: {output.status}", FENCE_OPEN]
    room = max(max_characters, SMALLEST_OUTPUT) - len("\n".join([*head, FENCE_CLOSE, _left_out(999)])) - 1
    limitations = _fitting(said, room // 2)
    room -= sum(len(line) + 1 for line in limitations)
    summary = f"Summary: {output.summary}"
    if len(summary) + 1 > room:
        summary = summary[: room - 2].rsplit(" ", 1)[0] + "…"
    lines = _fitting([*articles, *rest], room - len(summary) - 1)
    left_out = len(articles) + len(rest) + len(said) - len(lines) - len(limitations)
    closing = [_left_out(left_out)] if left_out else []
    return "\n".join([*head, summary, *lines, *limitations, *closing, FENCE_CLOSE])


def _left_out(number: int) -> str:
    return f"({counted(number, 'more line')} did not fit; the whole answer is kept by the caller.)"


def _fitting(lines: Iterable[str], room: int) -> list[str]:
    """Those of the lines that fit, in order."""
    kept = []
    for line in lines:
        if len(line) + 1 <= room:
            kept.append(line)
            room -= len(line) + 1
    return kept
