"""Reference lists: each cited work as printed, with the identifiers the document gives it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lxml import etree

from literature_agent.artifacts import CitedWork
from literature_agent.ids import normalise_doi, normalise_pmcid, normalise_pmid
from literature_agent.sources._jats.prose import line_of
from literature_agent.sources._text import clean_text, superscript
from literature_agent.sources._xml import child, children

_CITATIONS = frozenset({"mixed-citation", "element-citation", "citation", "nlm-citation"})
_RESOLVER = re.compile(r"^(?:https?:)?//(?:(?:dx\.)?doi\.org/10\.|(?:www\.)?(?:pubmed\.)?ncbi\.nlm\.nih\.gov/)", re.I)
# What is left of an identifier that stands in a field of its own: "doi:", "PMID:".
_LABEL_OF_ID = re.compile(r"[\s;,]*\b(?:doi|pmid|pmcid)\s*[:.]?\s*(?=$|(?:doi|pmid|pmcid)\b)", re.I)
_BEFORE_MARK = re.compile(r"\s+([,.;:)\]])")


def cited_works_of(scopes: Iterable[etree._Element]) -> tuple[CitedWork, ...]:
    """Every entry of every reference list inside the elements, also of lists deep in the body."""
    return tuple(work for scope in scopes for ref in scope.iter("ref") for work in _works(ref))


def _works(ref: etree._Element) -> Iterator[CitedWork]:
    for part in ref:
        if part.tag in _CITATIONS:
            forms = [part]
        elif part.tag == "citation-alternatives":
            forms = [form for form in part if form.tag in _CITATIONS]
        elif part.tag == "note":
            forms = [part]
        else:
            continue
        # Of several renderings of one citation the one with its punctuation is the printed one.
        printed = next((form for form in forms if form.tag == "mixed-citation"), forms[0] if forms else None)
        ids: dict[str, str] = {}
        for form in forms:
            _take_ids(form, ids)
        citation = "" if printed is None else _citation(printed)
        if citation or ids:
            yield CitedWork(citation=citation, **ids)


def _take_ids(form: etree._Element, ids: dict[str, str]) -> None:
    """The first valid identifier of each kind; identifiers of cited works are best effort and dirty."""
    for node in form.iter("pub-id"):
        kind, text = node.get("pub-id-type", ""), clean_text(node.text or "")
        if kind == "doi" and (doi := normalise_doi(text)):
            ids.setdefault("doi", doi)
        elif kind in ("pmid", "pubmed") and (pmid := normalise_pmid(text)):
            ids.setdefault("pmid", pmid)
        # The kind is stated, so that bare digits are no guess (K021).
        elif kind in ("pmcid", "pmc") and (pmcid := normalise_pmcid(text) or normalise_pmcid(f"PMC{text}")):
            ids.setdefault("pmcid", pmcid)
    for node in form.iter("ext-link", "uri"):
        address = next((value for name, value in node.attrib.items() if str(name).endswith("href")), "")
        if node.get("ext-link-type") == "doi" or _RESOLVER.match(str(address)):
            if doi := normalise_doi(str(address)):
                ids.setdefault("doi", doi)
            elif pmid := normalise_pmid(str(address)):
                ids.setdefault("pmid", pmid)
            elif pmcid := normalise_pmcid(str(address)):
                ids.setdefault("pmcid", pmcid)


def _citation(form: etree._Element) -> str:
    if form.tag in ("mixed-citation", "note") or (form.text and form.text.strip()):
        return _as_printed(form)
    return _assembled(form) or _as_printed(form)


# --- with its own punctuation -----------------------------------------------------------------------------------------


def _as_printed(form: etree._Element) -> str:
    parts: list[str] = []
    _collect(form, parts)
    text = clean_text("".join(parts))
    text = _LABEL_OF_ID.sub("", text)
    return _BEFORE_MARK.sub(r"\1", text).strip(" ,:;")


def _collect(node: etree._Element, parts: list[str]) -> None:
    if node.text:
        parts.append(node.text)
    for part in node:
        tag: object = part.tag
        if not isinstance(tag, str):
            pass
        elif tag == "pub-id":
            parts.append(" ")
        elif tag == "etal":
            parts.append(line_of(part) or "et al.")
        elif tag == "sup":
            parts.append(superscript(line_of(part)))
        else:
            _collect(part, parts)
        if part.tail and part.tail.strip():
            parts.append(part.tail)
        elif isinstance(tag, str) and part.getnext() is not None and tag not in ("sup", "sub"):
            # Fields that print parts by a mark stand side by side: names by a comma, others by a space (K039).
            parts.append(", " if tag in ("name", "string-name", "collab") else " ")
        elif part.tail:
            parts.append(part.tail)


# --- fields only ------------------------------------------------------------------------------------------------------


def _assembled(form: etree._Element) -> str:
    """`Smith J, Lee K. Title. Journal. 2012;12(3):1-5.` from an `element-citation`, which has no punctuation."""

    def first(*names: str) -> str:
        return next((text for name in names if (text := line_of(child(form, name)))), "")

    volume, issue = first("volume"), first("issue")
    pages = "-".join(filter(None, (first("fpage"), first("lpage")))) or first("page-range", "elocation-id")
    place = volume + (f"({issue})" if issue else "") + (f":{pages}" if pages else "")
    publisher = ": ".join(filter(None, (first("publisher-loc"), first("publisher-name"))))
    sentences = [
        _names(form),
        first("article-title", "chapter-title", "part-title", "data-title"),
        first("source"),
        publisher,
        ";".join(filter(None, (first("year", "string-date"), place))),
        _LABEL_OF_ID.sub("", first("comment")).strip(),
    ]
    return " ".join(text if text.endswith((".", "?", "!")) else f"{text}." for text in sentences if text)


def _names(form: etree._Element) -> str:
    groups = list(children(form, "person-group"))
    authors = [group for group in groups if group.get("person-group-type", "author") in ("author", "allauthors")]
    names: list[str] = []
    for group in (authors or groups)[:1] or [form]:
        for part in group:
            if part.tag in ("name", "string-name"):
                kept = (line_of(child(part, tag)) for tag in ("surname", "given-names", "suffix"))
                names.append(" ".join(filter(None, kept)) or line_of(part))
            elif part.tag == "collab":
                names.append(line_of(part))
            elif part.tag == "etal":
                names.append("et al")
    return ", ".join(name for name in names if name)
