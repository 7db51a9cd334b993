"""The view of a whole answer, for the model of a parent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from literature_agent.errors import counted
from literature_agent.outputs import LiteratureAggregationOutput
from literature_agent.views.masks import masked
from literature_agent.views.page import FENCE_CLOSE, FENCE_OPEN, heading

SMALLEST_OUTPUT = 500
"""Characters of an answer below which a parent's model would see nothing of use."""
_SHORTEST_LINE = 120


def view_output(output: LiteratureAggregationOutput, max_characters: int = 6000) -> str:
    """A finished answer as a parent's model sees it, at most `max_characters` long (`SMALLEST_OUTPUT` at least).

    Summary, themes, gaps, status and limitations, and one line per article (reference, year, study type, marks, title,
    reason), inside the fence; never an identifier, author or journal. Where not all fits, the longest lines are
    cut, then the last are left out and counted; limitations come before all else, since without them an answer says
    more than it knows.
    """
    articles = [
        f"{heading(artifact, artifact.reference or '')} | {masked(artifact.title)} | {artifact.relevance or ''}"
        for artifact in output.relevant_articles
    ]
    rest = [f"Theme: {theme.name}: {_with(theme.references, theme.description)}" for theme in output.key_themes]
    rest += [f"Gap ({gap.basis}): {_with(gap.references, gap.description)}" for gap in output.research_gaps]
    said = [f"Limitation: {sentence}" for sentence in output.limitations]
    head = [f"Status: {output.status}", FENCE_OPEN]
    room = max(max_characters, SMALLEST_OUTPUT) - len("\n".join([*head, FENCE_CLOSE, _left_out(999)])) - 1
    limitations = _fitting(said, room // 2)
    room -= _length(limitations)
    summary = f"Summary: {output.summary}"
    if len(summary) + 1 > room:
        summary = _cut(summary, room - 1)
    room -= len(summary) + 1
    # However many articles there are, themes and gaps keep a quarter; what they leave of it is the articles'.
    listed = _fitting(articles, room - _length(_fitting(rest, room // 4)))
    lines = [*listed, *_fitting(rest, room - _length(listed)), *limitations]
    left_out = len(articles) + len(rest) + len(said) - len(lines)
    closing = [_left_out(left_out)] if left_out else []
    return "\n".join([*head, summary, *lines, *closing, FENCE_CLOSE])


def _with(references: Sequence[str], text: str) -> str:
    """The text, and behind it those of its references that it does not name itself."""
    return " ".join([text, *(reference for reference in references if reference not in text)])


def _shortened(lines: Sequence[str], room: int) -> list[str]:
    """The lines, the longest of them cut as far as needed for all to fit, but none to less than `_SHORTEST_LINE`."""
    most = max(map(len, lines), default=0)
    while most > _SHORTEST_LINE and _length(line[:most] for line in lines) > room:
        most -= 1
    return [line if len(line) <= most else _cut(line, most) for line in lines]


def _length(lines: Iterable[str]) -> int:
    return sum(len(line) + 1 for line in lines)


def _cut(text: str, most: int) -> str:
    """At most that many characters, and never half a reference: no reference holds a space."""
    return text[: most - 1].rsplit(" ", 1)[0] + "…"


def _left_out(number: int) -> str:
    return f"({counted(number, 'more line')} did not fit; the whole answer is kept by the caller.)"


def _fitting(lines: Sequence[str], room: int) -> list[str]:
    """The lines in order, the longest cut as far as needed; left out is what would be less than `_SHORTEST_LINE`."""
    kept = []
    for line in _shortened(lines, room):
        if len(line) + 1 <= room:
            kept.append(line)
            room -= len(line) + 1
    return kept
