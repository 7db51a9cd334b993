"""Running text of JATS: blocks in document order, sections with their levels.

Written rules where the document leaves a choice:

- A block (paragraph, list item, term with its definition, line of a preformatted text) is one line; blocks are parted
  by a line break. A list item keeps its label, else gets `-` or its number.
- What floats (tables, figures, images) is lifted out: the sentence around it is whole, nothing of it is in the text.
  Boxed text, quotations and supplementary files stay where they stand. A footnote follows the block it hangs on.
- Raised and lowered digits are kept. Adjacent citations are parted by a comma: `¹,²`, never `12`.
- A formula comes once: of alternatives exactly one is taken, MathML before TeX before what else has text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml import etree

from literature_agent.artifacts import TextSection
from literature_agent.sources._text import clean_text, superscript
from literature_agent.sources._xml import child, children, formula_text, local_name

FLOATS = frozenset({"table-wrap", "table-wrap-group", "fig", "fig-group", "table", "array"})
_SILENT_NAMES = """
    alt-text chem-struct-wrap glyph-data graphic index-term inline-graphic inline-media long-desc media milestone-end
    milestone-start object-id permissions private-char processing-meta ref-list related-article sec-meta tbody tfoot
    tgroup thead
"""
_CONTAINER_NAMES = """
    ack app attrib bio boxed-text caption def disp-quote list-item notes p sec speaker speech statement subtitle term
    title verse-group verse-line
"""
# What print parts by a mark: without a space it would be glued together (K039).
_PART_NAMES = """
    addr-line city collab country given-names institution label name postal-code prefix state string-name suffix surname
    td th
"""
_SILENT = frozenset(_SILENT_NAMES.split())
_CONTAINERS = frozenset(_CONTAINER_NAMES.split())
_PARTS = frozenset(_PART_NAMES.split())
# Stands where something was lifted out; no XML document can hold it.
_LIFTED = "\x00"
_HOLE = re.compile(r"[\s\x00]*\x00\s*(?=[.,;:)\]])")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Writer:
    """Collects the blocks of one stretch of a document.

    `skip` names elements left out, beside those that never have running text.
    """

    __slots__ = ("_footnotes", "_parts", "_skip", "blocks")

    def __init__(self, skip: frozenset[str] = frozenset()) -> None:
        self.blocks: list[str] = []
        self._parts: list[str] = []
        self._footnotes: list[str] = []
        self._skip = skip

    def take(self) -> str:
        """The blocks collected so far, one a line; the writer is empty again."""
        self.flush()
        text = "\n".join(self.blocks)
        self.blocks.clear()
        return text

    def line(self) -> str:
        """The blocks collected so far on one line; the writer is empty again."""
        self.flush()
        text = " ".join(self.blocks)
        self.blocks.clear()
        return text

    def say(self, text: str | None) -> None:
        """Add words to the current block."""
        if text:
            self._parts.append(text)

    def flush(self) -> None:
        """End the current block."""
        if self._parts:
            text = "".join(self._parts)
            if _LIFTED in text:
                text = _HOLE.sub("", text).replace(_LIFTED, " ")
            if text := clean_text(text):
                self.blocks.append(text)
            self._parts.clear()
        if self._footnotes:
            self.blocks += self._footnotes
            self._footnotes.clear()

    def inside(self, element: etree._Element, *, raised: bool = False) -> None:
        """Text and children of `element`."""
        if element.text:
            self._parts.append(element.text)
        for node in element:
            self.node(node, raised=raised)
            if node.tag in ("xref", "sup") and _next_is_citation_too(node):
                self._parts.append(", " if any(c.isalpha() for c in _text(node)) else ",")
            elif node.tail:
                self._parts.append(node.tail)

    def node(self, node: etree._Element, *, raised: bool = False) -> None:
        """`node` without its tail."""
        tag: object = node.tag  # the stubs say str, but comments and entities have a function here
        if not isinstance(tag, str):
            if tag is etree.Entity and node.text:
                self._parts.append(node.text)
        elif tag in _SILENT or tag in self._skip:
            pass
        elif tag in FLOATS:
            self._parts.append(_LIFTED)
        elif tag in _CONTAINERS:
            self._container(node, tag)
        elif tag == "xref":
            self._cross_reference(node, raised=raised)
        elif tag == "sup":
            self._parts.append(superscript(self._inner(node)))
        elif tag in ("math", "tex-math"):
            self._parts.append(formula_text(node))
        elif tag == "alternatives":
            if (chosen := _alternative(node)) is not None:
                self.node(chosen, raised=raised)
        elif tag in ("disp-formula", "disp-formula-group", "break", "hr"):
            self._parts.append(" ")
            self.inside(node)
            self._parts.append(" ")
        elif tag == "list":
            self._list(node)
        elif tag == "def-list":
            self._definitions(node)
        elif tag == "preformat":
            self._lines(node)
        elif tag == "fn":
            self._footnotes.append(line_of(node, skip=self._skip))
        elif tag == "supplementary-material":
            self._supplement(node)
        else:
            self.inside(node, raised=raised)
            if tag in _PARTS and not node.tail:
                self._parts.append(" ")

    # --- elements of their own shape

    def _inner(self, node: etree._Element) -> str:
        writer = Writer(self._skip)
        writer.inside(node, raised=True)
        return "".join(writer._parts) if not writer.blocks else writer.line()

    def _cross_reference(self, node: etree._Element, *, raised: bool) -> None:
        if raised and node.get("ref-type") == "bibr":
            self._parts.append(superscript(self._inner(node)))
        else:
            self.inside(node, raised=raised)

    def _container(self, node: etree._Element, tag: str) -> None:
        self.flush()
        if tag == "boxed-text":
            # Its title belongs to its first words: "Box 1 Summary." (K039).
            head = " ".join(line_of(child(node, name), skip=self._skip) for name in ("label", "caption")).strip()
            if head:
                self.blocks.append(head)
            for part in node:
                if part.tag not in ("label", "caption"):
                    self.node(part)
        elif tag == "sec":
            if head := heading_of(node):
                self.blocks.append(head)
            for part in node:
                if part.tag not in ("label", "title"):
                    self.node(part)
        else:
            self.inside(node)
        self.flush()

    def _list(self, node: etree._Element) -> None:
        self.flush()
        kind, number = node.get("list-type", ""), 0
        for part in node:
            if part.tag != "list-item":
                self.node(part)
                self.flush()
                continue
            number += 1
            label = line_of(child(part, "label"))
            item = Writer(self._skip)
            item.say(part.text)
            for inner in part:
                if inner.tag != "label":
                    item.node(inner)
                item.say(inner.tail)
            item.flush()
            mark = label or _mark(kind, number)
            for place, block in enumerate(item.blocks):
                self.blocks.append(f"{mark} {block}" if mark and place == 0 else block)

    def _definitions(self, node: etree._Element) -> None:
        self.flush()
        for part in node:
            if part.tag == "def-item":
                pair = [" ".join(line_of(one) for one in children(part, name)) for name in ("term", "def")]
                self.blocks.append(": ".join(text for text in pair if text))
            else:
                self.node(part)
                self.flush()

    def _lines(self, node: etree._Element) -> None:
        self.flush()
        writer = Writer(self._skip)
        writer.inside(node)
        self.blocks += [text for line in "".join(writer._parts).split("\n") if (text := clean_text(line))]

    def _supplement(self, node: etree._Element) -> None:
        """Label, caption and remarks of a supplementary file; a file may hold the caption in its `media`."""
        self.flush()
        names = ("label", "caption", "p")
        within = [part for part in node if part.tag in names]
        within += [part for media in children(node, "media") for part in media if part.tag in names]
        if text := " ".join(filter(None, (line_of(part) for part in within))):
            self.blocks.append(text)


def line_of(element: etree._Element | None, skip: frozenset[str] = frozenset()) -> str:
    """Text of `element` on one line, floats left out; empty for None."""
    if element is None:
        return ""
    if len(element) == 0:
        return clean_text(element.text) if element.text else ""
    writer = Writer(skip)
    writer.inside(element)
    return writer.line()


def heading_of(element: etree._Element) -> str:
    """Heading as printed, number included: `2.1 Participants`."""
    parts = (line_of(child(element, name), skip=_NO_NOTES) for name in ("label", "title"))
    return " ".join(part for part in parts if part)


_NO_NOTES = frozenset({"fn"})


# --- sections ---------------------------------------------------------------------------------------------------------


def sections_of(element: etree._Element | None) -> tuple[TextSection, ...]:
    """The sections of a body in document order, level 1 at the top.

    Text directly in the body is a section without heading, wherever it stands (K038).
    """
    if element is None:
        return ()
    own, sections = _divided(element, 1, ())
    return (TextSection(text=own), *sections) if own else sections


def section_of(element: etree._Element, heading: str | None = None, level: int = 1) -> TextSection | None:
    """One section; None if it has no heading, no text and no sections."""
    head = heading_of(element) or heading or ""
    text, sections = _divided(element, level + 1, ("label", "title"))
    if not (head or text or sections):
        return None
    return TextSection(heading=head, level=level, text=text, sections=sections)


def _divided(element: etree._Element, level: int, aside: tuple[str, ...]) -> tuple[str, tuple[TextSection, ...]]:
    """Text before the first section inside, and the sections; text between or after them is a section of its own."""
    sections: list[TextSection] = []
    writer, own = Writer(), ""
    for part in element:
        if part.tag == "sec":
            if text := writer.take():
                if sections:
                    sections.append(TextSection(level=level, text=text))
                else:
                    own = text
            if (section := section_of(part, level=level)) is not None:
                sections.append(section)
        elif part.tag not in aside:
            writer.node(part)
            writer.say(part.tail)
    if text := writer.take():
        if sections:
            sections.append(TextSection(level=level, text=text))
        else:
            own = text
    return own, tuple(sections)


def walk(sections: tuple[TextSection, ...], above: str = "") -> Iterator[tuple[str, TextSection]]:
    """Every section with the path of its headings (`Methods/Statistics`), in document order."""
    for number, section in enumerate(sections, 1):
        path = above + (section.heading or f"section {number}")
        yield path, section
        yield from walk(section.sections, path + "/")


# --- small readers ----------------------------------------------------------------------------------------------------


def _text(node: etree._Element) -> str:
    return "".join(str(part) for part in node.itertext("*")).strip()


def _is_citation(node: etree._Element) -> bool:
    if node.tag == "xref":
        return node.get("ref-type") == "bibr" and bool(_text(node))
    if node.tag != "sup":
        return False
    text = _text(node)
    return bool(text) and all(c.isdigit() or c in ",-–− " for c in text)


def _next_is_citation_too(node: etree._Element) -> bool:
    if (node.tail and node.tail.strip()) or not _is_citation(node):
        return False
    for following in node.itersiblings():
        if local_name(following):
            return _is_citation(following)
        if following.tail and following.tail.strip():
            return False
    return False


def _alternative(node: etree._Element) -> etree._Element | None:
    for name in ("math", "tex-math", "table"):
        if (found := child(node, name)) is not None:
            return found
    return next((part for part in node if isinstance(part.tag, str) and _text(part)), None)


def _mark(kind: str, number: int) -> str:
    if kind in ("simple", "none"):
        return ""
    if kind in ("order", "ordered", "number", "arabic"):
        return f"{number}."
    if kind.startswith("alpha") and number <= len(_LETTERS):
        letter = _LETTERS[number - 1]
        return f"{letter.upper() if kind.endswith('upper') else letter}."
    if kind.startswith("roman"):
        numeral = _roman(number)
        return f"{numeral if kind.endswith('upper') else numeral.lower()}."
    return "-"


def _roman(number: int) -> str:
    parts = ((50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"))
    written = ""
    for value, letters in parts:
        written += letters * (number // value)
        number %= value
    return written
