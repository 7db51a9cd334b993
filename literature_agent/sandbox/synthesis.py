"""PubMed records written for papers that come without one: BEIR lines and JATS articles."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from lxml import etree

from literature_agent.sandbox.pubmed_records import Author, Day, Heading, Paper, Section

# Where a corpus names its documents otherwise, they get numbers in the range kept for invented records.
_FIRST_INVENTED_PMID = 95_000_000

# Characters that XML 1.0 cannot hold.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_CATEGORIES = {
    "OBJECTIVE": ("objective", "aim", "purpose", "goal", "question", "hypothes"),
    "BACKGROUND": ("background", "introduction", "context", "rationale"),
    "METHODS": ("method", "design", "setting", "subject", "patient", "participant", "material", "intervention"),
    "RESULTS": ("result", "finding", "outcome", "measure"),
    "CONCLUSIONS": ("conclusion", "interpretation", "discussion", "implication", "significance"),
}


@dataclass(frozen=True, slots=True)
class Draft:
    """What is known of a paper that has no PubMed record."""

    pmid: str
    title: str
    sections: tuple[tuple[str, str], ...] = ()
    authors: tuple[tuple[str, str], ...] = ()
    journal: str = ""
    year: str = ""
    headings: tuple[str, ...] = ()
    types: tuple[str, ...] = ("Journal Article",)
    doi: str = ""
    pmcid: str = ""
    document_id: str = ""


def draft_from_beir(line: Mapping[str, Any], number: int) -> Draft:
    """The draft of one line of a BEIR `corpus.jsonl`; `number` is its place, for documents without a PMID."""
    metadata = line.get("metadata")
    details: Mapping[str, Any] = metadata if isinstance(metadata, Mapping) else {}
    document_id = str(line["_id"])
    named = (str(details.get(key) or "") for key in ("pmid", "pubmed_id"))
    pmid = next((value for value in (*named, document_id) if value.isdecimal() and value.isascii()), "")
    sections = tuple(
        (str(section.get("label") or ""), str(section.get("text") or ""))
        for section in _items(details.get("sections"))
        if isinstance(section, Mapping) and section.get("text")
    )
    text = str(line.get("text") or "")
    year = str(details.get("year") or details.get("publish_time") or "")[:4]
    authors = (str(name).split() for name in _items(details.get("authors")))
    return Draft(
        pmid=str(int(pmid)) if pmid and len(pmid) <= 8 else str(_FIRST_INVENTED_PMID + number),
        title=str(line.get("title") or ""),
        sections=sections or ((("", text),) if text else ()),
        authors=tuple((name[-1], " ".join(name[:-1])) for name in authors if name),
        journal=str(details.get("journal") or ""),
        year=year if year.isdecimal() else "",
        headings=tuple(str(heading) for heading in _items(details.get("mesh"))),
        doi=str(details.get("doi") or ""),
        document_id=document_id,
    )


def paper_from_draft(draft: Draft) -> Paper:
    """The record of a drafted paper; its XML is written when it is asked for."""
    sections = tuple(Section(label, text, text) for label, text in draft.sections)
    year = Day(int(draft.year)) if draft.year else None
    return Paper(
        pmid=draft.pmid,
        xml=partial(pubmed_xml, draft),
        title=draft.title,
        title_markup=draft.title,
        abstract=sections,
        authors=tuple(Author(last=last, fore=fore, initials=_initials(fore)) for last, fore in draft.authors),
        journal=draft.journal,
        journal_medline=draft.journal,
        pub_model="Print",
        pub_date_text=draft.year,
        published=year,
        types=draft.types,
        languages=("eng",),
        headings=tuple(Heading(descriptor, "", False) for descriptor in draft.headings),
        doi=draft.doi.lower(),
        pmcid=draft.pmcid,
        pii="" if draft.document_id == draft.pmid else draft.document_id,
        status="MEDLINE" if draft.headings else "PubMed-not-MEDLINE",
        publication_status="ppublish",
    )


def pubmed_xml(draft: Draft) -> str:
    """A complete `PubmedArticle` that says no more than the draft does."""
    root = etree.Element("PubmedArticle")
    citation = etree.SubElement(root, "MedlineCitation", Status="MEDLINE" if draft.headings else "PubMed-not-MEDLINE")
    citation.set("Owner", "NLM")
    _add(citation, "PMID", draft.pmid, Version="1")
    article = etree.SubElement(citation, "Article", PubModel="Print")
    journal = etree.SubElement(article, "Journal")
    issue = etree.SubElement(journal, "JournalIssue", CitedMedium="Internet")
    pub_date = etree.SubElement(issue, "PubDate")
    if draft.year:
        _add(pub_date, "Year", draft.year)
    if draft.journal:
        _add(journal, "Title", draft.journal)
    _add(article, "ArticleTitle", draft.title)
    if draft.doi:
        _add(article, "ELocationID", draft.doi, EIdType="doi", ValidYN="Y")
    if draft.sections:
        abstract = etree.SubElement(article, "Abstract")
        for label, text in draft.sections:
            section = _add(abstract, "AbstractText", text)
            if label:
                section.set("Label", label)
                section.set("NlmCategory", _category(label))
    if draft.authors:
        author_list = etree.SubElement(article, "AuthorList", CompleteYN="Y")
        for last, fore in draft.authors:
            author = etree.SubElement(author_list, "Author", ValidYN="Y")
            _add(author, "LastName", last)
            if fore:
                _add(author, "ForeName", fore)
                _add(author, "Initials", _initials(fore))
    _add(article, "Language", "eng")
    types = etree.SubElement(article, "PublicationTypeList")
    for kind in draft.types:
        _add(types, "PublicationType", kind)
    _add(etree.SubElement(citation, "MedlineJournalInfo"), "MedlineTA", draft.journal)
    if draft.headings:
        headings = etree.SubElement(citation, "MeshHeadingList")
        for heading in draft.headings:
            _add(etree.SubElement(headings, "MeshHeading"), "DescriptorName", heading, MajorTopicYN="N")
    data = etree.SubElement(root, "PubmedData")
    _add(data, "PublicationStatus", "ppublish")
    ids = etree.SubElement(data, "ArticleIdList")
    for kind, value in (("pubmed", draft.pmid), ("doi", draft.doi), ("pmc", draft.pmcid), ("pii", draft.document_id)):
        if value and not (kind == "pii" and value == draft.pmid):
            _add(ids, "ArticleId", value, IdType=kind)
    return etree.tostring(root, encoding="unicode")


def _initials(fore: str) -> str:
    return "".join(part[0] for part in fore.replace("-", " ").split()).upper()


def _items(value: object) -> Iterable[Any]:
    return value if isinstance(value, list) else ()


def _add(parent: etree._Element, tag: str, text: str, **attributes: str) -> etree._Element:
    node = etree.SubElement(parent, tag, attrib=attributes)
    node.text = xml_text(text)
    return node


def xml_text(text: str) -> str:
    """The text with what XML cannot hold turned into spaces."""
    return _NOT_XML.sub(" ", text)


def _category(label: str) -> str:
    name = label.lower()
    return next((kind for kind, words in _CATEGORIES.items() if any(word in name for word in words)), "UNASSIGNED")
