"""A document as plain text for a terminal, and as Markdown."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from literature_agent.outputs import LiteratureAggregationOutput
from literature_agent.render._answer import Block, Form, Grid, Item, document
from literature_agent.render._bibliography import bibliography_entry, bibliography_entry_markdown
from literature_agent.render._plain import markdown

DEFAULT_WIDTH = 80

_IN_ONE_PIECE = re.compile(r"\[(?:PREPRINT - Not peer-reviewed|unknown reference|date unknown|No title)\]|PMC?ID: \S+")
# No wrapping happens at a no-break space, and `one_line` leaves none in what comes from outside.
_BOUND = "\N{NO-BREAK SPACE}"


def render_answer_text(output: LiteratureAggregationOutput, *, width: int = DEFAULT_WIDTH) -> str:
    """The answer as plain text, wrapped at `width` columns, without colour; ends in a line break.

    Says how many of the listed papers are synthetic. Identifiers and addresses are never broken across lines.
    """
    page = document(output, Form(escape=str, entry=bibliography_entry))
    title = wrapped(page.title, width)
    lines = [*title, "=" * min(width, max(map(len, title), default=1)), ""]
    for fact in page.head:
        lines += wrapped(fact, width, hanging="  ")
    for section in page.sections:
        lines += ["", section.heading, "-" * len(section.heading), ""]
        for number, block in enumerate(section.blocks):
            if number and not _is_short(block):
                lines.append("")
            lines += _text_block(block, width)
    return "\n".join(lines) + "\n"


def render_answer_markdown(output: LiteratureAggregationOutput) -> str:
    """The answer as Markdown; nothing in a paper or in the model's prose becomes markup. Ends in a line break."""
    page = document(output, Form(escape=markdown, entry=bibliography_entry_markdown))
    parts = [f"# {page.title}", "  \n".join(page.head)]
    for section in page.sections:
        parts.append(f"## {section.heading}")
        together = [_markdown_block(block) for block in section.blocks]
        parts.append(("\n" if all(map(_is_short, section.blocks)) else "\n\n").join(together))
    return "\n\n".join(parts) + "\n"


def _is_short(block: Block) -> bool:
    return isinstance(block, Item) and len(block.lines) == 1


def wrapped(text: str, width: int, *, first: str = "", hanging: str = "") -> list[str]:
    """Lines of at most `width` columns; marks, identifiers and addresses stay in one piece. At least one line."""
    bound = _IN_ONE_PIECE.sub(lambda piece: piece.group().replace(" ", _BOUND), text)
    lines = textwrap.wrap(
        bound,
        width,
        initial_indent=first,
        subsequent_indent=hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(_BOUND, " ") for line in lines] or [first.rstrip()]


def _text_block(block: Block, width: int) -> Iterator[str]:
    if isinstance(block, Grid):
        rows = [block.header, *block.rows]
        widths = [max(len(row[column]) for row in rows) for column in range(len(block.header))]
        for row in rows:
            cells = [
                row[0].ljust(widths[0]),
                *(cell.rjust(size) for cell, size in zip(row[1:], widths[1:], strict=True)),
            ]
            yield "  ".join(cells).rstrip()
    elif isinstance(block, Item):
        label = f"{block.label or '-'} "
        indent = " " * len(label)
        for number, line in enumerate(block.lines):
            yield from wrapped(line, width, first=indent if number else label, hanging=indent)
    else:
        yield from wrapped(block.text, width)


def _markdown_block(block: Block) -> str:
    if isinstance(block, Grid):
        rows = [block.header, ("---", *["---:"] * (len(block.header) - 1)), *block.rows]
        return "\n".join(f"| {' | '.join(row)} |" for row in rows)
    if isinstance(block, Item):
        label = f"**{block.label}** " if block.label else ""
        return f"- {label}" + "  \n  ".join(block.lines)
    return block.text
