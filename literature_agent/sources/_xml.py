"""The one door for all XML, and plain walking behind it.

Answers carry a DOCTYPE (every real EFetch answer does), so a DOCTYPE is accepted, but nothing it names is read: no DTD,
no file, no network, and a document that defines entities of its own is refused (K032). The caps of libxml2 on text
size, depth and entity growth stay on (`huge_tree` off); numeric character references are not entities and have no cap
(K033).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from lxml import etree

from literature_agent.errors import source_error
from literature_agent.sources._text import clean_text, one_line, superscript

LARGEST_DOCUMENT = 128 * 1024 * 1024
"""Bytes of one document; the largest article seen in this field has about 40 MB (K044)."""

# What stands on a line of its own in print: its text is parted from what stands before and after it.
_BLOCK_NAMES = """
    AbstractText DispFormula abstract aff attrib back body boxed-text break caption contrib copyright-statement corresp
    def def-item def-list disp-formula disp-formula-group disp-quote fig fn head hr kwd license-p list list-item p
    permissions preformat ref sec speech statement supplementary-material table table-wrap tbody td term tfoot th thead
    title tr verse-group verse-line
"""
# What print parts by a mark: a space is put only where such an element directly follows another (K039).
_FIELD_NAMES = """
    article-title chapter-title collab date-in-citation day edition fpage given-names issue label lpage month name
    prefix publisher-loc publisher-name source string-name subtitle suffix surname trans-title volume year
"""
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_FIELDS = frozenset(_FIELD_NAMES.split())
_TEX_BODY = re.compile(r"\\begin\{document\}(.*?)\\end\{document\}", re.S)
_MATH_BLANK = " \t\r\n"


def parse_xml(body: bytes, source: str) -> etree._Element:
    """Root element of the document in `body`.

    Bytes go in, so the document's own encoding is honoured (K030).

    Raises:
        SourceError: `<source>_invalid_response`: only a prolog, cut off, not XML, with entities of its own, too large.
    """
    if len(body) > LARGEST_DOCUMENT:
        raise source_error(source, "invalid_response", f"The answer is larger than {LARGEST_DOCUMENT >> 20} MB.")
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, dtd_validation=False, huge_tree=False, recover=False
    )
    try:
        root = etree.fromstring(body.lstrip(b" \t\r\n"), parser)
    except etree.XMLSyntaxError as broken:
        # libxml2 quotes only names and numbers of the document here, never its text.
        raise source_error(
            source, "invalid_response", f"The answer is no complete XML document: {one_line(broken.msg, 160)}."
        ) from None
    internal: Any = root.getroottree().docinfo.internalDTD  # the stubs know none of its members
    if internal is not None and list(internal.iterentities()):
        raise source_error(
            source, "invalid_response", "The answer defines entities of its own; such a document is not read."
        )
    return root


def local_name(element: etree._Element) -> str:
    """Tag without its namespace (K035); empty for comments, processing instructions and entity references."""
    tag: object = element.tag
    return tag[tag.rfind("}") + 1 :] if isinstance(tag, str) else ""


def drop_namespaces(root: etree._Element) -> None:
    """Make every tag of the tree its local name, so that plain tag tests meet namespaced documents too (K035)."""
    for element in root.iter():
        if isinstance(element.tag, str) and element.tag[0] == "{":
            element.tag = local_name(element)


def children(element: etree._Element | None, name: str) -> Iterator[etree._Element]:
    """Direct children of that local name."""
    if element is not None:
        for child in element:
            if local_name(child) == name:
                yield child


def child(element: etree._Element | None, *path: str) -> etree._Element | None:
    """First child along a path of local names, or None."""
    for name in path:
        element = next(children(element, name), None)
    return element


def text_of(element: etree._Element | None) -> str:
    """Whole text of `element` in document order, on one line, markup and unseen characters gone; empty for None.

    Raised and lowered digits are kept (`superscript`), formulas come as a line of text, TeX and annotations that repeat
    a formula are left out, blocks are parted by a space.
    """
    if element is None:
        return ""
    if len(element) == 0:
        text = element.text
        # A bare word or number, as most are, has nothing to clean.
        if not text or text.isalnum():
            return text or ""
        # Nor has a line of ASCII; of the controls, XML lets in no others than these. The search for one character is so
        # much faster than `isprintable`, which looks each character up, that six of them pay.
        if (
            text.isascii()
            and "<" not in text
            and "&" not in text
            and "\n" not in text
            and "\t" not in text
            and "\r" not in text
            and "\x7f" not in text
        ):
            return " ".join(text.split()) if "  " in text else text.strip()
        return clean_text(text)
    parts: list[str] = []
    _collect(element, parts)
    return clean_text("".join(parts))


def _collect(element: etree._Element, parts: list[str]) -> None:
    if element.text:
        parts.append(element.text)
    for node in element:
        tag: object = node.tag  # the stubs say str, but comments and entities have a function here
        if not isinstance(tag, str):
            # An entity that the unread DTD may define: `&nbsp;` is decoded by name in the cleaning. Comments and
            # processing instructions have no text of ours, only a tail.
            if tag is etree.Entity and node.text:
                parts.append(node.text)
        elif (name := tag[tag.rfind("}") + 1 :]) in ("sup", "sub"):
            inner: list[str] = []
            _collect(node, inner)
            parts.append(superscript("".join(inner)) if name == "sup" else "".join(inner))
        elif name == "math":
            parts.append(_math(node))
        elif name == "tex-math":
            parts.append(_tex(node))
        elif name in _BLOCKS:
            parts.append(" ")
            _collect(node, parts)
            parts.append(" ")
        elif name not in ("annotation", "annotation-xml"):
            _collect(node, parts)
            if name in _FIELDS and not node.tail:
                parts.append(" ")
        if node.tail:
            parts.append(node.tail)


def formula_text(element: etree._Element) -> str:
    """A `math` or `tex-math` element as a line of text; empty for TeX that repeats a MathML neighbour."""
    return _tex(element) if local_name(element) == "tex-math" else _math(element)


def _tex(element: etree._Element) -> str:
    """TeX of a formula that has no other form; nothing where MathML stands beside it."""
    parent = element.getparent()
    if parent is not None and any(local_name(node) == "math" for node in parent):
        return ""
    source = "".join(str(part) for part in element.itertext())
    body = _TEX_BODY.search(source)
    return (body.group(1) if body else source).strip().strip("$").strip()


def _math(element: etree._Element) -> str:
    """A formula on one line: fractions with `/`, powers raised or after `^`, indices beside their base."""
    name = local_name(element)
    if name in ("annotation", "annotation-xml", ""):
        return ""
    if len(element) == 0:
        text = (element.text or "").strip(_MATH_BLANK)
        return f" {text} " if name == "mo" and text in ("=", "≈", "<", ">", "≤", "≥", "±", "∼", "≠") else text
    parts = [part for node in element if (part := _math(node)) or local_name(node)]
    if name == "mfrac" and len(parts) == 2:
        return f"{_grouped(parts[0])}/{_grouped(parts[1])}"
    if name == "msup" and len(parts) == 2:
        return parts[0] + _power(parts[1])
    if name == "msubsup" and len(parts) == 3:
        return parts[0] + parts[1] + _power(parts[2])
    if name == "munderover" and len(parts) == 3:
        return f"{parts[0]}_{_grouped(parts[1])}{_power(parts[2])} "
    if name == "munder" and len(parts) == 2:
        return f"{parts[0]}_{_grouped(parts[1])} "
    if name == "mfenced":
        between = (element.get("separators", ",") or " ")[0] + " "
        return f"{element.get('open', '(')}{between.join(parts)}{element.get('close', ')')}"
    if name == "mtable":
        return "; ".join(part for part in parts if part)
    if name == "mtr":
        return " ".join(part.strip() for part in parts if part.strip())
    if name == "msqrt":
        return f"√{_grouped(''.join(parts))}"
    if name == "mroot" and len(parts) == 2:
        return f"{_grouped(parts[0])}^(1/{parts[1]})"
    # Text nodes between the parts of a formula are indentation; a stray word in a mixed element is kept.
    strays = [element.text, *(node.tail for node in element)]
    words = [(word or "").strip(_MATH_BLANK) for word in strays]
    if any(words) and len(words) == len(parts) + 1:
        return words[0] + "".join(part + word for part, word in zip(parts, words[1:], strict=True))
    return "".join(parts)


def _grouped(text: str) -> str:
    text = text.strip()
    return text if len(text) <= 1 or text.isalnum() else f"({text})"


def _power(text: str) -> str:
    bare = text.strip()
    raised = superscript(bare)
    if raised != bare or not bare or bare in "*'′+-−†":
        return raised
    return f"^{bare}" if bare.isalnum() else f"^({bare})"
