"""PubMed XML (DTD pubmed_250101) to records; pure, no network and no clock.

Written rules where the record leaves a choice:

- `published` is the issue date as printed (`PubDate`), `published_online` the electronic `ArticleDate`; `year` is that
  of the first of the two that is there. Dates of indexing and revision are never used, but a book chapter, which has no
  issue, is dated by its revision, else its contribution, else its book.
- DOI: the article's own id list, then a valid `ELocationID`; a second, differing one goes into `alternate_dois`.
- `abstract_sections` is filled where the abstract has labels or several parts; `abstract_text` is all of it, one part a
  line, `Label: text`. Translations, plain-language summaries and copyright lines are no part of it.
- Correction status, notices and related records: `links.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from lxml import etree

from literature_agent.artifacts import (
    AbstractSection,
    Author,
    Chemical,
    CitedWork,
    DetailedArticle,
    Grant,
    MeshHeading,
    Notice,
    Record,
    RelatedRecord,
    article_url,
    display_name,
)
from literature_agent.errors import SourceError, source_error
from literature_agent.ids import normalise_doi, normalise_pmcid, normalise_pmid
from literature_agent.sources._text import clean_text, date_of_parts, one_line, printed_date
from literature_agent.sources._xml import drop_namespaces, local_name, parse_xml, text_of
from literature_agent.sources.pubmed.links import Fields, link_record

_RECORDS = frozenset({"PubmedArticle", "PubmedBookArticle"})

_ORCID = re.compile(r"([0-9]{4})-?([0-9]{4})-?([0-9]{4})-?([0-9]{3}[0-9Xx])(?![0-9])")
_NO_TITLE = re.compile(r"\[?not available\]?\.?", re.I)


def parse_articles(body: bytes) -> list[DetailedArticle]:
    """Every record of an EFetch answer or of a PubMed XML file, in its order.

    Raises:
        SourceError: `pubmed_invalid_response`: no complete XML, no set of PubMed records, a record without PMID.
    """
    return articles_of(parse_xml(body, "pubmed"))


def articles_of(root: etree._Element) -> list[DetailedArticle]:
    """The records under `root`; an empty set gives none, a document of something else is an error (K035)."""
    if root.tag not in _RECORDS and root.tag != "PubmedArticleSet":
        drop_namespaces(root)
    if root.tag in _RECORDS:
        return [_record(root)]
    if root.tag != "PubmedArticleSet":
        raise _invalid(f"the root element is {one_line(local_name(root), 60)!r}, not PubmedArticleSet")
    found = [_record(node) for node in root if node.tag in _RECORDS]
    if not found and any(local_name(node) not in ("", "DeleteCitation") for node in root):
        raise _invalid("the set holds elements, but no PubMed record")
    return found


def _invalid(what: str) -> SourceError:
    return source_error("pubmed", "invalid_response", f"PubMed's answer cannot be used: {what}.")


def _record(node: etree._Element) -> DetailedArticle:
    fields = _book(node) if node.tag == "PubmedBookArticle" else _article(node)
    if not fields.get("pmid"):
        raise _invalid(f"a {node.tag} has no PMID (after {fields.get('title') or 'no title'!r})")
    doi, pmcid, pmid = fields.get("doi"), fields.get("pmcid"), fields["pmid"]
    fields["url"] = article_url(doi=doi, pmid=pmid)
    fields["language"] = next(iter(fields.get("languages", ())), None)
    named = next((a for a in fields.get("authors", ()) if "family" in a or "collective" in a), None)
    fields["first_author"] = display_name(**{part: named.get(part) for part in _NAME_PARTS}) if named else None
    if pmcid:
        fields.setdefault("related", []).append({"relation": "pmc_copy", "pmcid": pmcid})
    article = DetailedArticle.model_validate(fields, by_alias=False, by_name=True)
    for name, given in _GIVEN.items():
        for part in getattr(article, name):
            object.__setattr__(part, "__pydantic_fields_set__", given)
    return article


# Pydantic notes for each record which fields it was given. One such set serves all of a class: every field here is what
# the source says, and some fifty sets an article would be half of what the garbage collector has to walk.
_PARTS: dict[str, type[Record]] = {
    "abstract_sections": AbstractSection,
    "authors": Author,
    "chemicals": Chemical,
    "cited_works": CitedWork,
    "grants": Grant,
    "mesh_headings": MeshHeading,
    "notices": Notice,
    "related": RelatedRecord,
}
_GIVEN = {name: set(kind.model_fields) for name, kind in _PARTS.items()}


# --- journal articles -------------------------------------------------------------------------------------------------


def _article(node: etree._Element) -> Fields:
    fields: Fields = {"title": "", "correction_status": "none"}
    links: list[etree._Element] = []
    for part in node:
        if part.tag == "MedlineCitation":
            _citation(part, fields, links)
        elif part.tag == "PubmedData":
            _pubmed_data(part, fields)
    _settle_dois(fields)
    link_record(fields, links)
    return fields


def _citation(citation: etree._Element, fields: Fields, links: list[etree._Element]) -> None:
    keywords: list[str] = []
    for part in citation:
        tag = part.tag
        if tag == "PMID":
            fields["pmid"] = _pmid(part.text or "")
        elif tag == "Article":
            _article_part(part, fields)
        elif tag == "MeshHeadingList":
            fields["mesh_headings"] = _mesh(part)
        elif tag == "ChemicalList":
            fields["chemicals"] = _chemicals(part)
        elif tag == "CommentsCorrectionsList":
            links.extend(part.iterchildren("CommentsCorrections"))
        elif tag == "KeywordList":
            keywords += _lines(part.iterchildren("Keyword"))
        elif tag == "CoiStatement":
            fields["conflict_of_interest"] = text_of(part) or None
        elif tag == "MedlineJournalInfo" and not fields.get("journal_abbreviation"):
            fields["journal_abbreviation"] = _line_at(part, "MedlineTA")
    if keywords:
        fields["keywords"] = list(dict.fromkeys(keywords))


def _article_part(article: etree._Element, fields: Fields) -> None:
    vernacular = None
    located: list[str] = []
    languages: list[str] = []
    for part in article:
        tag = part.tag
        if tag == "Journal":
            _journal(part, fields)
        elif tag == "ArticleTitle":
            fields["title"] = text_of(part)
        elif tag == "VernacularTitle":
            vernacular = text_of(part)
        elif tag == "Pagination":
            fields["pages"] = _pages(part)
        elif tag == "ELocationID":
            if part.get("EIdType") == "doi" and part.get("ValidYN", "Y") == "Y":
                located.append(part.text or "")
        elif tag == "Abstract":
            _abstract(part, fields)
        elif tag == "AuthorList":
            fields["authors"] = _authors(part)
        elif tag == "Language":
            languages += _lines((part,))
        elif tag == "DataBankList":
            numbers = _lines(part.iter("AccessionNumber"))
            fields["accession_numbers"] = list(dict.fromkeys(numbers))
        elif tag == "GrantList":
            fields["grants"] = _grants(part)
        elif tag == "PublicationTypeList":
            fields["publication_types"] = _lines(part.iterchildren("PublicationType"))
        elif tag == "ArticleDate" and not fields.get("published_online"):
            fields["published_online"] = _date(part)
    if vernacular and (not fields["title"] or _NO_TITLE.fullmatch(fields["title"])):
        fields["title"] = vernacular
    if languages:
        fields["languages"] = languages
    fields["dois"] = located
    dated = fields.get("published") or fields.get("published_online")
    fields["year"] = int(dated[:4]) if dated else None


def _journal(journal: etree._Element, fields: Fields) -> None:
    for part in journal:
        tag = part.tag
        if tag == "Title":
            fields["journal"] = text_of(part) or None
        elif tag == "ISOAbbreviation":
            fields["journal_abbreviation"] = text_of(part) or None
        elif tag == "ISSN":
            fields["issn"] = text_of(part) or None
        elif tag == "JournalIssue":
            for piece in part:
                if piece.tag == "Volume":
                    fields["volume"] = text_of(piece) or None
                elif piece.tag == "Issue":
                    fields["issue"] = text_of(piece) or None
                elif piece.tag == "PubDate":
                    fields["published"] = _date(piece)


def _date(element: etree._Element) -> str | None:
    """Date of `Year`, `Month`, `Day` as printed, or the first date named in a `MedlineDate` (K010, K027)."""
    parts: dict[str, str] = {str(part.tag): part.text for part in element if part.text}
    stated = date_of_parts(parts.get("Year"), parts.get("Month"), parts.get("Day"))
    return stated or printed_date(parts.get("MedlineDate"))


def _pages(pagination: etree._Element) -> str | None:
    """Pages with the last one written out (`244-255`); a free-text entry as it is (`1563-5; author reply 1565-6`)."""
    parts = {str(part.tag): text_of(part) for part in pagination}
    printed, first, last = parts.get("MedlinePgn"), parts.get("StartPage"), parts.get("EndPage")
    if first and last and (not printed or printed.startswith(f"{first}-")) and not re.search("[;,]", printed or ""):
        return f"{first}-{last}"
    return printed or first or None


def _abstract(abstract: etree._Element, fields: Fields) -> None:
    sections: list[dict[str, str | None]] = []
    for part in abstract.iterchildren("AbstractText"):
        text = text_of(part)
        if not text:
            continue
        label = clean_text(part.get("Label") or "")
        # NLM's own stand-in for "no label" is no label of the paper.
        section = {"text": text, "label": None if label.upper() == "UNLABELLED" else label or None}
        section["category"] = clean_text(part.get("NlmCategory") or "") or None
        sections.append(section)
    if not sections:
        return
    if len(sections) > 1 or sections[0]["label"] or sections[0]["category"]:
        fields["abstract_sections"] = sections
    fields["abstract_text"] = "\n".join(
        f"{s['label']}: {s['text']}" if s["label"] else f"{s['text']}" for s in sections
    )


# The long lists are read with one flat `iter` each: nested loops over lxml elements cost four times as much.


def _authors(author_list: etree._Element) -> list[Fields]:
    authors: list[Fields] = []
    fields: Fields = {}
    for part in author_list.iter(*_AUTHOR_TAGS):
        tag = part.tag
        if name := _AUTHOR_PARTS.get(tag):
            if text := text_of(part):
                fields[name] = text
        elif tag == "Author":
            fields = {}
            # `N` marks an old spelling, kept by NLM beside the corrected one.
            if part.get("ValidYN", "Y") == "Y":
                authors.append(fields)
        elif not (text := text_of(part)):
            continue
        elif tag == "Affiliation":
            if "affiliations" in fields:
                fields["affiliations"].append(text)
            else:
                fields["affiliations"] = [text]
        elif part.get("Source") == "ORCID" and (orcid := _ORCID.search(text)):
            fields.setdefault("orcid", "-".join(orcid.groups()).upper())
    return [fields for fields in authors if fields]


_AUTHOR_PARTS: dict[str, str] = {
    "LastName": "family",
    "ForeName": "given",
    "Initials": "initials",
    "Suffix": "suffix",
    "CollectiveName": "collective",
}
_NAME_PARTS = tuple(_AUTHOR_PARTS.values())
_AUTHOR_TAGS = ("Author", "Identifier", "Affiliation", *_AUTHOR_PARTS)


def _mesh(heading_list: etree._Element) -> list[Fields]:
    headings: list[Fields] = []
    fields: Fields = {}
    for part in heading_list.iter("DescriptorName", "QualifierName"):
        if part.tag == "DescriptorName":
            fields = {"descriptor": text_of(part), "ui": part.get("UI"), "major": False}
            headings.append(fields)
        else:
            fields.setdefault("qualifiers", []).append(text_of(part))
        # Before about 2010 the flag stands mostly on a qualifier.
        if part.get("MajorTopicYN") == "Y":
            fields["major"] = True
    return headings


def _chemicals(chemical_list: etree._Element) -> list[Fields]:
    chemicals: list[Fields] = []
    number = None
    for part in chemical_list.iter("RegistryNumber", "NameOfSubstance"):
        text = text_of(part)
        if part.tag == "RegistryNumber":
            number = None if text in ("0", "") else text
        else:
            chemicals.append({"name": text, "registry_number": number})
            number = None
    return chemicals


def _grants(grant_list: etree._Element) -> list[Fields]:
    grants: list[Fields] = []
    fields: Fields = {}
    for part in grant_list.iter("Grant", *_GRANT_PARTS):
        if part.tag == "Grant":
            fields = {}
            grants.append(fields)
        elif text := text_of(part):
            fields[_GRANT_PARTS[part.tag]] = text
    return grants


_GRANT_PARTS = {"GrantID": "grant_id", "Agency": "agency", "Country": "country"}


# --- what PubMed adds -------------------------------------------------------------------------------------------------


def _pubmed_data(data: etree._Element, fields: Fields) -> None:
    cited: list[Fields] = []
    for part in data:
        if part.tag == "ArticleIdList":
            _own_ids(part, fields)
        elif part.tag == "ReferenceList":
            cited += _cited(part)
    if cited:
        fields["cited_works"] = cited


def _own_ids(id_list: etree._Element, fields: Fields) -> None:
    listed: list[str] = []
    for article_id in id_list.iterchildren("ArticleId"):
        kind, text = article_id.get("IdType"), article_id.text or ""
        if kind == "doi":
            listed.append(text)
        elif kind in ("pmc", "pmcid") and not fields.get("pmcid"):
            found = re.search(r"PMC[0-9]+", text, re.I)
            fields["pmcid"] = normalise_pmcid(found.group()) if found else None
        elif kind == "pubmed" and not fields.get("pmid"):
            fields["pmid"] = normalise_pmid(text)
    fields["dois"] = listed + fields.get("dois", [])


def _settle_dois(fields: Fields) -> None:
    known = [doi for text in fields.pop("dois", ()) if (doi := normalise_doi(clean_text(text)))]
    distinct = list(dict.fromkeys(known))
    if distinct:
        fields["doi"] = distinct[0]
        if distinct[1:]:
            fields["alternate_dois"] = distinct[1:]


def _cited(reference_list: etree._Element) -> list[Fields]:
    """Works of a list and of the lists within it."""
    works: list[Fields] = []
    work: Fields = {}
    for part in reference_list.iter("Reference", "Citation", "ArticleId"):
        tag = part.tag
        if tag == "ArticleId":
            if text := part.text:
                _cited_id(part.get("IdType"), text, work)
        elif tag == "Reference":
            work = {}
            works.append(work)
        elif text := text_of(part):
            work["citation"] = text
    return [work for work in works if work]


def _cited_id(kind: str | None, text: str, work: Fields) -> None:
    """Identifiers of cited works are best effort and dirty: `NOT_FOUND;INVALID_JOURNAL` or a PMCID under `pubmed`."""
    if kind == "pubmed" and (pmid := _pmid(text)):
        work["pmid"] = pmid
    elif kind == "doi":
        if doi := normalise_doi(text):
            work["doi"] = doi
    elif kind in ("pmc", "pmcid", "pubmed") and (pmcid := _pmcid(text)):
        work["pmcid"] = pmcid


# --- books ------------------------------------------------------------------------------------------------------------


def _book(node: etree._Element) -> Fields:
    """A chapter, or a whole book, of NCBI Bookshelf: no citation, no journal, own dates."""
    fields: Fields = {"title": "", "correction_status": "none", "publication_types": [], "languages": []}
    keywords: list[str] = []
    book_title = None
    dates: dict[str, str | None] = {}
    for document in node.iterchildren("BookDocument"):
        for part in document:
            tag = part.tag
            if tag == "PMID":
                fields["pmid"] = _pmid(part.text or "")
            elif tag == "ArticleIdList":
                _own_ids(part, fields)
            elif tag == "Book":
                book_title = _book_part(part, fields, dates)
            elif tag == "ArticleTitle":
                fields["title"] = text_of(part)
            elif tag == "Pagination":
                fields["pages"] = _pages(part)
            elif tag == "Language":
                fields["languages"] += _lines((part,))
            elif tag == "AuthorList":
                if part.get("Type", "authors") == "authors":
                    fields["authors"] = _authors(part)
            elif tag == "PublicationType":
                fields["publication_types"] += _lines((part,))
            elif tag == "Abstract":
                _abstract(part, fields)
            elif tag == "KeywordList":
                keywords += _lines(part.iterchildren("Keyword"))
            elif tag in ("ContributionDate", "DateRevised"):
                dates[str(tag)] = _date(part)
            elif tag == "GrantList":
                fields["grants"] = _grants(part)
            elif tag == "ReferenceList":
                fields["cited_works"] = _cited(part)
    book_authors = fields.pop("book_authors", None)
    if not fields["title"]:
        fields["title"] = book_title or ""
        fields.setdefault("authors", book_authors or [])
    else:
        fields["journal"] = book_title
    for data in node.iterchildren("PubmedBookData"):
        _pubmed_data(data, fields)
    fields["published"] = dates.get("DateRevised") or dates.get("ContributionDate") or dates.get("PubDate")
    fields["year"] = int(fields["published"][:4]) if fields["published"] else None
    fields["keywords"] = list(dict.fromkeys(keywords))
    _settle_dois(fields)
    return fields


def _book_part(book: etree._Element, fields: Fields, dates: dict[str, str | None]) -> str | None:
    title = None
    for part in book:
        tag = part.tag
        if tag == "BookTitle":
            title = text_of(part) or None
        elif tag == "PubDate":
            dates["PubDate"] = _date(part)
        elif tag == "AuthorList" and part.get("Type", "authors") == "authors":
            fields["book_authors"] = _authors(part)
        elif tag == "Volume":
            fields["volume"] = text_of(part) or None
        elif tag == "ELocationID" and part.get("EIdType") == "doi" and part.get("ValidYN", "Y") == "Y":
            fields.setdefault("dois", []).append(part.text or "")
    return title


# --- small readers ----------------------------------------------------------------------------------------------------


def _lines(elements: Iterable[etree._Element]) -> list[str]:
    """Texts of the elements that have one."""
    return [text for element in elements if (text := text_of(element))]


def _line_at(parent: etree._Element, tag: str) -> str | None:
    """Text of the first child of that tag; None where it is missing or empty."""
    return next((text_of(element) for element in parent.iterchildren(tag)), "") or None


def _pmid(text: str) -> str | None:
    """As `normalise_pmid`; plain digits, which nearly all are, take the short way."""
    if 0 < len(text) <= 8 and text.isascii() and text.isdigit() and text[0] != "0":
        return text
    return normalise_pmid(text)


def _pmcid(text: str) -> str | None:
    """As `normalise_pmcid`, with the same short way."""
    if text.startswith("PMC") and text.isascii() and text[3:].isdigit() and text[3] != "0" and len(text) <= 13:
        return text
    return normalise_pmcid(text)
