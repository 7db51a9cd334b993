"""Charts as SVG by code: elements whose values are escaped, and text that fits a width."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from html import escape

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

# Ink, lines and areas where no style sheet speaks (an SVG file of its own); a page's style sheet outranks attributes.
INK = "#1b2430"
FAINT = "#5a6675"
LINE = "#8b97a6"
PAPER = "#ffffff"
TINT = "#eef3f8"


def element(tag: str, *children: str, **attributes: str | float | None) -> str:
    """An element: attribute values are escaped, `children` are markup, `None` leaves an attribute out.

    `class_` is `class`, `text_anchor` is `text-anchor`.
    """
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(_number(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{tag}{written}>{''.join(children)}</{tag}>" if children else f"<{tag}{written}/>"


def text(content: str, x: float, y: float, **attributes: str | float | None) -> str:
    """One line of text; its content is escaped."""
    return element("text", escape(content), x=x, y=y, **{"fill": INK, **attributes})


def drawing(width: float, height: float, title: str, description: str, children: Iterable[str]) -> str:
    """A whole SVG document with a title and a description for those who can't see it."""
    return element(
        "svg",
        element("title", escape(title)),
        element("desc", escape(description)),
        *children,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_number(width)} {_number(height)}",
        width=width,
        height=height,
        role="img",
        font_family=FONT,
        font_size=13,
    )


def fitted(content: str, width: float, *, size: float = 13, lines: int | None = None) -> list[str]:
    """`content` on lines of about `width` at that font size; with `lines`, cut to so many and marked with `…`."""
    # Half the size and a bit is what a sans-serif letter takes on average; wide scripts take all of it.
    wide = sum(ord(c) > 0x2E7F for c in content) > len(content) / 4
    columns = max(4, int(width / (size * (1.0 if wide else 0.54))))
    wrapped = textwrap.wrap(content, columns) or [""]
    if lines is None or len(wrapped) <= lines:
        return wrapped
    kept = wrapped[:lines]
    kept[-1] = kept[-1][: columns - 1].rstrip() + "…"
    return kept


def _number(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:g}"
