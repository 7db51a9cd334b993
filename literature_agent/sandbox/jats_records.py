"""What the sandbox reads from a JATS article: the facts of its front matter and its words."""

from __future__ import annotations

from collections.abc import Iterator

from lxml import etree

from literature_agent.sandbox.synthesis import Draft

_JATS_TYPES = {
    "case-report": "Case Reports",
    "correction": "Published Erratum",
    "editorial": "Editorial",
    "letter": "Letter",
    "preprint": "Preprint",
    "research-article": "Journal Article",
    "retraction": "Retraction of Publication",
    "review-article": "Review",
    "systematic-review": "Systematic Review",
}


def article_ids(article: etree._Element) -> dict[str, str]:
    """The identifiers in one spelling: `pmcid` with its prefix, `pmid`, `doi` in lower case."""
    found: dict[str, str] = {}
    for node in article.iterfind("{*}front/{*}article-meta/{*}article-id"):
        kind, value = node.get("pub-id-type", ""), _text(node)
        if kind in {"pmc", "pmcid"}:
            found.setdefault("pmcid", "PMC" + value.upper().removeprefix("PMC").partition(".")[0])
        elif kind == "pmid" and value.isascii() and value.isdecimal():
            found.setdefault("pmid", str(int(value)))
        elif kind == "doi":
            found.setdefault("doi", value.lower())
    return found


def has_body(article: etree._Element) -> bool:
    return article.find("{*}body") is not None


def body_words(article: etree._Element) -> str:
    """The words of the article's own body, without those of attached reviews or replies."""
    return _text(article.find("{*}body"))


def draft_from_jats(article: etree._Element, *, pmcid: str) -> Draft:
    """The facts a PubMed record would hold; `pmid` is empty where the article names none."""
    ids = article_ids(article)
    meta = article.find("{*}front/{*}article-meta")
    abstract = None
    if meta is not None:
        abstract = next((node for node in meta.iterfind("{*}abstract") if node.get("abstract-type") is None), None)
    journal = article.find("{*}front/{*}journal-meta//{*}journal-title")
    return Draft(
        pmid=ids.get("pmid", ""),
        title=_text(article.find("{*}front/{*}article-meta/{*}title-group/{*}article-title")),
        sections=tuple(_sections(abstract)) if abstract is not None else (),
        authors=tuple(_authors(article)),
        journal=_text(journal),
        year=_year(article),
        types=(_JATS_TYPES.get(article.get("article-type", ""), "Journal Article"),),
        doi=ids.get("doi", ""),
        pmcid=pmcid,
    )


def serialised(article: etree._Element) -> bytes:
    """The article as a document of its own."""
    return etree.tostring(article, encoding="UTF-8", xml_declaration=True, with_tail=False)


def _sections(abstract: etree._Element) -> Iterator[tuple[str, str]]:
    sections = abstract.findall("{*}sec")
    if not sections:
        yield "", _text(abstract)
    for section in sections:
        title = section.find("{*}title")
        yield _text(title), " ".join(_text(node) for node in section if node is not title)


def _authors(article: etree._Element) -> Iterator[tuple[str, str]]:
    for contributor in article.iterfind("{*}front/{*}article-meta/{*}contrib-group/{*}contrib"):
        last = _text(contributor.find("{*}name/{*}surname"))
        if last and contributor.get("contrib-type", "author") == "author":
            yield last, _text(contributor.find("{*}name/{*}given-names"))


def _year(article: etree._Element) -> str:
    years = (_text(node) for node in article.iterfind("{*}front/{*}article-meta/{*}pub-date/{*}year"))
    return min((year for year in years if year.isascii() and year.isdecimal()), default="")


def _text(node: etree._Element | None) -> str:
    """All text, with a space between elements: neighbouring cells and names must not fuse."""
    return "" if node is None else " ".join(" ".join(map(str, node.itertext())).split())
