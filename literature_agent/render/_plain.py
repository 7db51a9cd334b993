"""Text of papers and of models made fit to show: it cannot move a cursor, colour a terminal or become markup."""

from __future__ import annotations

import re
import unicodedata

from literature_agent.registry import mask_references

# Joiners without a width: Persian, Hindi and others are misspelt without them.
_KEPT_FORMATS = frozenset("\u200c\u200d")
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})

# What a spreadsheet takes for the beginning of a formula, in both widths.
_FORMULA = tuple("=+-@＝＋－＠")

# What opens a construct of CommonMark or of GitHub's dialect inside a line, and what does so where a line begins.
_INSIDE = re.compile(r"[\\`*_\[\]<>|~&$]")
# A line may begin behind a marker `[1]`, which `(` would make a link and `:` a definition.
_AT_START = re.compile(r"^(?:[#+=(:-]|\d{1,9}(?=[.)](?:\s|$)))")


def printable(text: str) -> str:
    """`text` without control, bidirectional and other unseen characters; line breaks stay, other space is a blank."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c == "\n" else " " if c.isspace() else c for c in text if c.isspace() or _is_seen(c))


def one_line(text: str) -> str:
    """`text` on one line, printable, white space folded."""
    return " ".join(printable(text).split())


def paper_line(text: str) -> str:
    """Text of a record on one line, as `one_line` gives it, with `[token]` where it spells a reference.

    All that comes from papers and services is printed by it: a reference in a title would become a citation as soon as
    what was printed is rendered again.
    """
    return mask_references(one_line(text))


def paragraphs(text: str) -> list[str]:
    """The paragraphs of `text` (parted by empty lines), each as `one_line` gives it; empty ones left out."""
    return [part for part in map(one_line, re.split(r"\n[^\S\n]*\n", text.replace("\r\n", "\n"))) if part]


def markdown(text: str) -> str:
    """One line of text with the characters escaped that Markdown and HTML would read as markup."""
    escaped = _INSIDE.sub(r"\\\g<0>", text)
    if start := _AT_START.match(escaped):
        # A number that would open a list is told apart by its point, a sign by itself.
        at = start.end() if start.group()[0].isdigit() else 0
        escaped = f"{escaped[:at]}\\{escaped[at:]}"
    return escaped


def spreadsheet_cell(text: str) -> str:
    """`text` on one line that no spreadsheet runs as a formula: one that would begin so begins with an apostrophe."""
    line = one_line(text)
    return f"'{line}" if line.startswith(_FORMULA) else line


def full_stop(text: str) -> str:
    """`text` closed as a sentence: no second full stop, none after `?`, `!`, `…` or a closing `."`."""
    return text if not text or re.search(r"[.?!…][\"'”’»)\]]*$", text) else text + "."


def _is_seen(character: str) -> bool:
    return unicodedata.category(character) not in _UNSEEN or character in _KEPT_FORMATS
