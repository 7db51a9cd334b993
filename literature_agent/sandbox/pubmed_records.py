"""PubMed records as the sandbox needs them: read from PubMed XML for indexing, and written for papers that have none.

The XML itself is served unchanged; what is read here only feeds the index and the answers of other services.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from lxml import etree

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_SEASONS = {"winter": 1, "spring": 4, "summer": 7, "autumn": 10, "fall": 10}
_YEAR = re.compile(r"\b(1[89]|20)\d{2}\b")
_MONTH_NAME = re.compile(r"\b(" + "|".join(_MONTHS) + r")", re.IGNORECASE)
_INLINE = {"b", "i", "sup", "sub", "u"}


class Day(NamedTuple):
    """A date as exact as the record gives it; month and day 0 where it does not say."""

    year: int
    month: int = 0
    day: int = 0

    @property
    def number(self) -> int:
        """`YYYYMMDD`, the first day of what is known: for ranges and sorting."""
        return self.year * 10000 + (self.month or 1) * 100 + (self.day or 1)

    @property
    def iso(self) -> str:
        return f"{self.year:04d}-{self.month or 1:02d}-{self.day or 1:02d}"


class Author(NamedTuple):
    last: str = ""
    fore: str = ""
    initials: str = ""
    suffix: str = ""
    collective: str = ""
    orcid: str = ""
    affiliations: tuple[str, ...] = ()

    @property
    def short(self) -> str:
        """`Doe JA`, or the name of the group."""
        return self.collective or " ".join(part for part in (self.last, self.initials, self.suffix) if part)


class Heading(NamedTuple):
    descriptor: str
    ui: str
    major: bool
    qualifiers: tuple[tuple[str, bool], ...] = ()


class Section(NamedTuple):
    label: str
    text: str
    markup: str


class Link(NamedTuple):
    """One `CommentsCorrections` entry."""

    kind: str
    source: str
    pmid: str
    note: str


class Grant(NamedTuple):
    grant_id: str
    acronym: str
    agency: str


class Citation(NamedTuple):
    text: str
    pmid: str
    doi: str


@dataclass(slots=True)
class Paper:
    """One PubMed record; `xml()` gives its element as EFetch serves it."""

    pmid: str
    xml: Callable[[], str]
    title: str = ""
    title_markup: str = ""
    vernacular_title: str = ""
    abstract: tuple[Section, ...] = ()
    other_abstracts: str = ""
    authors: tuple[Author, ...] = ()
    journal: str = ""
    journal_iso: str = ""
    journal_medline: str = ""
    nlm_id: str = ""
    issn_print: str = ""
    issn_electronic: str = ""
    issn_linking: str = ""
    country: str = ""
    volume: str = ""
    issue: str = ""
    pages: str = ""
    pub_model: str = ""
    pub_date_text: str = ""
    published: Day | None = None
    electronic: Day | None = None
    types: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    headings: tuple[Heading, ...] = ()
    keywords: tuple[str, ...] = ()
    chemicals: tuple[tuple[str, str], ...] = ()
    grants: tuple[Grant, ...] = ()
    databanks: tuple[tuple[str, str], ...] = ()
    links: tuple[Link, ...] = ()
    citations: tuple[Citation, ...] = ()
    subsets: tuple[str, ...] = ()
    doi: str = ""
    pmcid: str = ""
    pii: str = ""
    book_accession: str = ""
    status: str = ""
    publication_status: str = ""
    history: dict[str, Day] = field(default_factory=dict)
    revised: Day | None = None
    completed: Day | None = None

    @property
    def abstract_text(self) -> str:
        return " ".join(section.text for section in self.abstract)

    @property
    def first_public(self) -> Day | None:
        return self.electronic or self.published

    @property
    def entered(self) -> Day | None:
        return self.history.get("entrez") or self.history.get("pubmed") or self.first_public


def read_papers(root: etree._Element) -> Iterator[Paper]:
    """The papers of a `PubmedArticleSet` (or of one bare article element); a `DeleteCitation` list is no paper."""
    for element in root.iter("PubmedArticle", "PubmedBookArticle"):
        paper = _article(element) if element.tag == "PubmedArticle" else _book(element)
        if paper is not None:
            yield paper


def _article(element: etree._Element) -> Paper | None:
    citation, article = element.find("MedlineCitation"), element.find("MedlineCitation/Article")
    pmid = _text(element.find("MedlineCitation/PMID"))
    if citation is None or article is None or not pmid.isdecimal():
        return None
    ids = {node.get("IdType", ""): _text(node) for node in element.iterfind("PubmedData/ArticleIdList/ArticleId")}
    locations = {
        node.get("EIdType", ""): _text(node)
        for node in article.iterfind("ELocationID")
        if node.get("ValidYN", "Y") == "Y"
    }
    issns = {node.get("IssnType", ""): _text(node) for node in article.iterfind("Journal/ISSN")}
    pub_date = article.find("Journal/JournalIssue/PubDate")
    title = article.find("ArticleTitle")
    return Paper(
        pmid=str(int(pmid)),
        xml=partial(_serialised, element),
        title=_text(title),
        title_markup=_markup(title),
        vernacular_title=_text(article.find("VernacularTitle")),
        abstract=_sections(article.find("Abstract")),
        other_abstracts=" ".join(_text(node) for node in citation.iterfind("OtherAbstract")),
        authors=_authors(article.iterfind("AuthorList/Author")),
        journal=_text(article.find("Journal/Title")),
        journal_iso=_text(article.find("Journal/ISOAbbreviation")),
        journal_medline=_text(citation.find("MedlineJournalInfo/MedlineTA")),
        nlm_id=_text(citation.find("MedlineJournalInfo/NlmUniqueID")),
        issn_print=issns.get("Print", ""),
        issn_electronic=issns.get("Electronic", ""),
        issn_linking=_text(citation.find("MedlineJournalInfo/ISSNLinking")),
        country=_text(citation.find("MedlineJournalInfo/Country")),
        volume=_text(article.find("Journal/JournalIssue/Volume")),
        issue=_text(article.find("Journal/JournalIssue/Issue")),
        pages=_pages(article),
        pub_model=article.get("PubModel", ""),
        pub_date_text=" ".join(_text(part) for part in pub_date) if pub_date is not None else "",
        published=_day(pub_date),
        electronic=_day(article.find("ArticleDate")),
        types=tuple(_text(node) for node in article.iterfind("PublicationTypeList/PublicationType")),
        languages=tuple(_text(node) for node in article.iterfind("Language")),
        headings=_headings(citation),
        keywords=tuple(_text(node) for node in citation.iterfind("KeywordList/Keyword")),
        chemicals=tuple(
            (_text(node.find("NameOfSubstance")), _text(node.find("RegistryNumber")))
            for node in citation.iterfind("ChemicalList/Chemical")
        ),
        grants=tuple(
            Grant(_text(node.find("GrantID")), _text(node.find("Acronym")), _text(node.find("Agency")))
            for node in article.iterfind("GrantList/Grant")
        ),
        databanks=tuple(
            (_text(bank.find("DataBankName")), _text(number))
            for bank in article.iterfind("DataBankList/DataBank")
            for number in bank.iterfind("AccessionNumberList/AccessionNumber")
        ),
        links=tuple(
            Link(
                node.get("RefType", ""),
                _text(node.find("RefSource")),
                _text(node.find("PMID")),
                _text(node.find("Note")),
            )
            for node in citation.iterfind("CommentsCorrectionsList/CommentsCorrections")
        ),
        citations=_citations(element),
        subsets=tuple(_text(node) for node in citation.iterfind("CitationSubset")),
        doi=(ids.get("doi") or locations.get("doi") or "").lower(),
        pmcid=_pmcid(ids.get("pmc", "")),
        pii=ids.get("pii") or locations.get("pii") or "",
        status=citation.get("Status", ""),
        publication_status=_text(element.find("PubmedData/PublicationStatus")),
        history=_history(element.find("PubmedData/History")),
        revised=_day(citation.find("DateRevised")),
        completed=_day(citation.find("DateCompleted")),
    )


def _book(element: etree._Element) -> Paper | None:
    document = element.find("BookDocument")
    if document is None or not _text(document.find("PMID")).isdecimal():
        return None
    ids = {node.get("IdType", ""): _text(node) for node in document.iterfind("ArticleIdList/ArticleId")}
    title = document.find("ArticleTitle")
    if title is None:
        title = document.find("Book/BookTitle")
    return Paper(
        pmid=str(int(_text(document.find("PMID")))),
        xml=partial(_serialised, element),
        title=_text(title),
        title_markup=_markup(title),
        abstract=_sections(document.find("Abstract")),
        authors=_authors(document.iterfind("AuthorList[@Type='authors']/Author")),
        journal=_text(document.find("Book/BookTitle")),
        pub_date_text=_text(document.find("Book/PubDate/Year")),
        published=_day(document.find("ContributionDate")) or _day(document.find("Book/PubDate")),
        types=tuple(_text(node) for node in document.iterfind("PublicationType")),
        languages=tuple(_text(node) for node in document.iterfind("Language")),
        keywords=tuple(_text(node) for node in document.iterfind("KeywordList/Keyword")),
        doi=ids.get("doi", "").lower(),
        book_accession=ids.get("bookaccession", ""),
        history=_history(element.find("PubmedBookData/History")),
        revised=_day(document.find("DateRevised")),
    )


def _serialised(element: etree._Element) -> str:
    return etree.tostring(element, encoding="unicode", with_tail=False)


def _text(node: etree._Element | None) -> str:
    if node is None:
        return ""
    if not len(node):
        return " ".join((node.text or "").split())
    return " ".join(etree.tostring(node, method="text", encoding="unicode", with_tail=False).split())


def _markup(node: etree._Element | None) -> str:
    """The text with its inline tags, as Europe PMC prints titles and abstracts; `&` and `<` of the text stay bare."""
    if node is None:
        return ""
    parts = [node.text or ""]
    for child in node:
        if isinstance(child.tag, str):
            inner = _markup(child)
            parts.append(f"<{child.tag}>{inner}</{child.tag}>" if child.tag in _INLINE else inner)
        parts.append(child.tail or "")
    return " ".join("".join(parts).split())


def _sections(abstract: etree._Element | None) -> tuple[Section, ...]:
    if abstract is None:
        return ()
    nodes = abstract.iterfind("AbstractText")
    return tuple(Section(node.get("Label", ""), _text(node), _markup(node)) for node in nodes)


def _authors(nodes: Iterable[etree._Element]) -> tuple[Author, ...]:
    found = []
    for node in nodes:
        if node.get("ValidYN", "Y") == "N":
            continue
        parts: dict[object, str] = {}
        places: list[str] = []
        for child in node:
            if child.tag == "AffiliationInfo":
                places.extend(_text(place) for place in child.iterfind("Affiliation"))
            elif child.tag != "Identifier" or child.get("Source") == "ORCID":
                parts.setdefault(child.tag, _text(child))
        author = Author(
            last=parts.get("LastName", ""),
            fore=parts.get("ForeName", ""),
            initials=parts.get("Initials", ""),
            suffix=parts.get("Suffix", ""),
            collective=parts.get("CollectiveName", ""),
            orcid=parts.get("Identifier", "").rstrip("/").rpartition("/")[2],
            affiliations=tuple(places),
        )
        if author.last or author.collective:
            found.append(author)
    return tuple(found)


def _headings(citation: etree._Element) -> tuple[Heading, ...]:
    found = []
    for node in citation.iterfind("MeshHeadingList/MeshHeading"):
        descriptor = node.find("DescriptorName")
        if descriptor is None:
            continue
        qualifiers = tuple(
            (_text(name), name.get("MajorTopicYN") == "Y") for name in node.iterfind("QualifierName") if _text(name)
        )
        major = descriptor.get("MajorTopicYN") == "Y" or any(flag for _, flag in qualifiers)
        found.append(Heading(_text(descriptor), descriptor.get("UI", ""), major, qualifiers))
    return tuple(found)


def _pages(article: etree._Element) -> str:
    start, end = _text(article.find("Pagination/StartPage")), _text(article.find("Pagination/EndPage"))
    if start:
        return f"{start}-{end}" if end and end != start else start
    return _text(article.find("Pagination/MedlinePgn"))


def _citations(element: etree._Element) -> tuple[Citation, ...]:
    found = []
    for node in element.iterfind("PubmedData/ReferenceList//Reference"):
        ids = {item.get("IdType", ""): _text(item) for item in node.iterfind("ArticleIdList/ArticleId")}
        pmid = ids.get("pubmed", "")
        found.append(Citation(_text(node.find("Citation")), pmid if pmid.isdecimal() else "", ids.get("doi", "")))
    return tuple(found)


def _history(node: etree._Element | None) -> dict[str, Day]:
    if node is None:
        return {}
    days = ((entry.get("PubStatus", ""), _day(entry)) for entry in node.iterfind("PubMedPubDate"))
    return {status: day for status, day in days if day is not None}


def _pmcid(text: str) -> str:
    digits = re.search(r"\d+", text)
    return f"PMC{digits[0]}" if digits else ""


def _day(node: etree._Element | None) -> Day | None:
    if node is None:
        return None
    parts = {child.tag: _text(child) for child in node}
    free = parts.get("MedlineDate", "")
    year = _YEAR.search(parts.get("Year") or free or _text(node))
    if year is None:
        return None
    month = _month(parts.get("Month") or parts.get("Season") or free)
    day = parts.get("Day", "")
    return Day(int(year[0]), month, int(day) if month and day.isdecimal() and 1 <= int(day) <= 31 else 0)


def _month(text: str) -> int:
    if text.isdecimal() and 1 <= int(text) <= 12:
        return int(text)
    if name := _MONTH_NAME.search(text):
        return _MONTHS.index(name[1].lower()) + 1
    return next((month for season, month in _SEASONS.items() if season in text.lower()), 0)
