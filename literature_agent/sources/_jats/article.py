"""Documents that hold JATS, and one article of them as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from lxml import etree

from literature_agent.artifacts import CitedWork, Figure, PMCArticle, Provenance, Table, TextSection, article_url
from literature_agent.errors import source_error
from literature_agent.ids import normalise_pmcid
from literature_agent.sources._jats.floats import figures_of, tables_of
from literature_agent.sources._jats.front import front_fields, ids_of
from literature_agent.sources._jats.prose import heading_of, line_of, section_of, sections_of, walk
from literature_agent.sources._jats.references import cited_works_of
from literature_agent.sources._text import one_line
from literature_agent.sources._xml import child, children, drop_namespaces, local_name, parse_xml

_ROOTS = frozenset(
    {"pmc-articleset", "article", "OAI-PMH", "articles", "GetRecord", "ListRecords", "record", "metadata"}
)
_WITHIN = frozenset({"sub-article", "response"})
_RESTRICTED = "does not allow downloading of the full text"

_HEADINGS = {
    "ack": "Acknowledgements",
    "app": "Appendix",
    "bio": "Biography",
    "fn-group": "Footnotes",
    "glossary": "Glossary",
    "notes": "Notes",
}
_HEADINGS_BY_TYPE = {
    "author-contribution": "Author contributions",
    "coi-statement": "Competing interests",
    "conflict": "Competing interests",
    "con": "Author contributions",
    "data-availability": "Data availability",
    "ethics-statement": "Ethics statement",
    "financial-disclosure": "Funding",
    "funding-information": "Funding",
    "supplementary-material": "Supplementary material",
}


@dataclass(frozen=True)
class JatsSet:
    """What a document holds: articles, and identifiers that the server says it does not give."""

    articles: tuple[JatsArticle, ...] = ()
    unavailable: dict[str, str] = field(default_factory=dict)
    """PMCID to the server's words."""


@dataclass(frozen=True, eq=False)
class JatsArticle:
    """One article. Its parts are read when they are asked for."""

    element: etree._Element

    @cached_property
    def ids(self) -> dict[str, str]:
        """`pmcid`, `pmid`, `doi`, as far as the article states them."""
        meta = child(self.element, "front", "article-meta")
        return ids_of(meta if meta is not None else self.element)

    @cached_property
    def front(self) -> dict[str, Any]:
        return front_fields(self.element)

    @property
    def is_restricted(self) -> bool:
        """Whether the publisher keeps the text from being downloaded: a comment says so."""
        comments = self.element.iter(etree.Comment)
        return any(_RESTRICTED in str(comment.text) for comment in comments)

    @property
    def is_embargoed(self) -> bool:
        return bool(self.front.get("is_embargoed"))

    @property
    def released(self) -> str | None:
        """Date of release in PMC, `YYYY[-MM[-DD]]`."""
        released: str | None = self.front.get("released")
        return released

    @cached_property
    def sections(self) -> tuple[TextSection, ...]:
        """The article's own body; reviews and answers printed with it have bodies that are not its."""
        return sections_of(child(self.element, "body"))

    @cached_property
    def back_sections(self) -> tuple[TextSection, ...]:
        return tuple(_back(self.element))

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        return tables_of(self._floating_scopes)

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        return figures_of(self._floating_scopes)

    @cached_property
    def cited_works(self) -> tuple[CitedWork, ...]:
        return cited_works_of(children_of(self.element, "body", "back"))

    @property
    def _floating_scopes(self) -> tuple[etree._Element, ...]:
        return tuple(children_of(self.element, "body", "floats-group", "floats-wrap", "back"))

    @cached_property
    def has_body(self) -> bool:
        """Whether there is anything to read: words in the body, or a table with cells."""
        if child(self.element, "body") is None:
            return False
        return any(section.text for _, section in walk(self.sections)) or any(table.rows for table in self.tables)

    def record(
        self,
        provenance: Iterable[Provenance] = (),
        *,
        pmcid: str | None = None,
        pmid: str | None = None,
        doi: str | None = None,
        with_text: bool = False,
    ) -> PMCArticle:
        """The citation, with sections, tables and figures if asked; ids given complete those the article states.

        Raises:
            ValueError: there is no PMCID, neither stated nor given.
        """
        fields = {name: value for name, value in self.front.items() if name not in ("released", "is_embargoed")}
        for name, value in (("pmcid", pmcid), ("pmid", pmid), ("doi", doi)):
            if value and not fields.get(name):
                fields[name] = value
        if not fields.get("pmcid"):
            raise ValueError("an article without PMCID is no PMC article")
        if with_text:
            fields |= {"sections": self.sections, "tables": self.tables, "figures": self.figures}
        origin = tuple(provenance)
        checked = fields.get("correction_status", "unknown") != "unknown" and origin
        return PMCArticle(
            **fields,
            url=article_url(doi=fields.get("doi"), pmid=fields.get("pmid"), pmcid=fields["pmcid"]),
            provenance=origin,
            correction_checked_at=origin[0].retrieved_at if checked else None,
        )


def parse_jats(body: bytes, source: str) -> JatsSet:
    """The articles of an EFetch set, an OAI answer, or a document that is an article, in any namespace (K035).

    Raises:
        SourceError: `<source>_invalid_response`: no whole XML, or nothing in it that is known here.
    """
    root = parse_xml(body, source)
    drop_namespaces(root)
    articles = [node for node in root.iter("article") if not _is_within(node)]
    unavailable = {} if root.tag == "article" else dict(_unavailable(root))
    if not articles and not unavailable and local_name(root) not in _ROOTS:
        raise source_error(
            source, "invalid_response", f"The answer is no article: its root is {one_line(str(root.tag), 60)!r}."
        )
    return JatsSet(tuple(JatsArticle(node) for node in articles), unavailable)


def choose(articles: Sequence[JatsArticle], pmcid: str) -> JatsArticle | None:
    """The article of that PMCID, by the one it states, never by its place; None if it is not there.

    A sole article that states none is taken: its address was that of the one asked.
    """
    if len(articles) == 1 and "pmcid" not in articles[0].ids:
        return articles[0]
    return next((article for article in articles if article.ids.get("pmcid") == pmcid), None)


def children_of(element: etree._Element, *names: str) -> Iterator[etree._Element]:
    """Direct children of those names, in the order of the names."""
    for name in names:
        yield from children(element, name)


def _is_within(node: etree._Element) -> bool:
    return any(above.tag in _WITHIN or above.tag == "article" for above in node.iterancestors())


def _unavailable(root: etree._Element) -> Iterator[tuple[str, str]]:
    """`<error id="99">`, the older `<Reply Id="99" error="..">`, and an OAI error."""
    for node in root.iter("error", "Reply"):
        if any(above.tag == "article" for above in node.iterancestors()):
            continue
        said = node.get("error") or line_of(node)
        name = node.get("id") or node.get("Id") or ""
        yield normalise_pmcid(name) or normalise_pmcid(f"PMC{name}") or "", one_line(said or node.get("code"), 200)


# --- back matter ------------------------------------------------------------------------------------------------------


def _back(article: etree._Element) -> Iterator[TextSection]:
    """Acknowledgements, statements, notes, appendices in document order, then what of the kind the front matter has."""
    for back in children(article, "back"):
        for node in back:
            if node.tag == "app-group":
                for app in children(node, "app"):
                    yield from _back_section(app)
            elif node.tag in _HEADINGS or node.tag == "sec":
                yield from _back_section(node)
    meta = child(article, "front", "article-meta")
    yield from _plain_section("Funding", children(child(meta, "funding-group"), "funding-statement"))
    for node in children(child(meta, "custom-meta-group"), "custom-meta"):
        if line_of(child(node, "meta-name")).lower() == "data availability":
            yield from _plain_section("Data availability", children(node, "meta-value"))
    yield from _plain_section("Author notes", children(child(meta, "author-notes"), "fn"))
    for node in children(child(article, "front"), "notes"):
        yield from _back_section(node)


def _back_section(node: etree._Element) -> Iterator[TextSection]:
    kind = (node.get("sec-type") or node.get("notes-type") or "").lower()
    heading = heading_of(node) or _HEADINGS_BY_TYPE.get(kind) or _HEADINGS.get(str(node.tag), "")
    section = section_of(node, heading)
    if section is not None and any(part.text for _, part in walk((section,))):
        yield section


def _plain_section(heading: str, nodes: Iterable[etree._Element]) -> Iterator[TextSection]:
    if text := "\n".join(filter(None, (line_of(node) for node in nodes))):
        yield TextSection(heading=heading, text=text)
