"""Europe PMC answers (JSON, `lite` and `core`) to artifacts: bytes in, records out.

Facts about fields come from the RESTful web service's answers; the service publishes no schema.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from pydantic import ValidationError

from literature_agent.artifacts import (
    AbstractSection,
    Author,
    Chemical,
    CorrectionStatus,
    DetailedEuropePMCArticle,
    EuropePMCArticle,
    Grant,
    MeshHeading,
    Notice,
    NoticeKind,
    RelatedRecord,
    Relation,
    article_url,
    first_author_of,
)
from literature_agent.errors import source_error
from literature_agent.ids import find_identifiers, normalise_doi, normalise_pmcid, normalise_pmid
from literature_agent.sources._text import clean_text, one_line, printed_date, year_of
from literature_agent.sources.europepmc.upstream import (
    Row,
    WireAuthor,
    WireComment,
    WireJournal,
    WireJournalInfo,
    inside,
)
from literature_agent.transport.messages import TransientAnswer

NAME = "europepmc"


class BareEnvelope(TransientAnswer):
    """No `hitCount`: passing noise, or the server's only sign that it refuses `sort` or the cursor (K050)."""


@dataclass(frozen=True)
class SearchPage:
    """One page of hits in the server's order."""

    total: int
    """All hits the server states (`hitCount`)."""
    rows: int
    """Rows of this page, readable or not."""
    articles: tuple[EuropePMCArticle, ...]
    unreadable: tuple[str, ...] = ()
    """What was wrong with each row that could not be read."""
    next_cursor: str | None = None
    query_echo: str | None = None
    """The query as the server says it read it."""


def parse_search(body: bytes, *, detailed: bool = False) -> SearchPage:
    """The page in an answer of `/search`; with `detailed` its records are whole.

    Raises:
        TransientAnswer: broken or empty answer, or `BareEnvelope`.
        InvalidInputError: the server refused the request (`errCode`).
        SourceError: `europepmc_invalid_response`: none of the rows could be read.
    """
    envelope = read_envelope(body)
    rows = inside("result")(envelope.get("resultList"))
    articles: list[EuropePMCArticle] = []
    unreadable: list[str] = []
    for position, row in enumerate(rows, start=1):
        try:
            articles.append(_article(row, detailed=detailed))
        except ValidationError as bad:
            unreadable.append(_complaint(row, position, bad))
    if rows and not articles:
        raise source_error(NAME, "invalid_response", f"No record of the answer can be read; {unreadable[0]}.")
    cursor = envelope.get("nextCursorMark")
    request = envelope.get("request")
    echo = request.get("internalQuery") or request.get("queryString") if isinstance(request, dict) else None
    return SearchPage(
        total=read_hit_count(envelope),
        rows=len(rows),
        articles=tuple(articles),
        unreadable=tuple(unreadable),
        next_cursor=cursor if isinstance(cursor, str) and re.fullmatch(r"[!-~]{1,2000}", cursor) else None,
        query_echo=clean_text(echo) if isinstance(echo, str) and echo.strip() else None,
    )


def parse_article(body: bytes) -> DetailedEuropePMCArticle | None:
    """The record in an answer of `/article/{source}/{id}`, or None: an unknown id is answered without `result`.

    Raises:
        TransientAnswer, InvalidInputError: as `parse_search`.
        SourceError: `europepmc_invalid_response`: the record cannot be read.
    """
    envelope = read_envelope(body)
    read_hit_count(envelope)
    row = envelope.get("result")
    if not row:
        return None
    try:
        article = _article(row, detailed=True)
    except ValidationError as bad:
        raise source_error(NAME, "invalid_response", f"The answer cannot be read; {_complaint(row, 1, bad)}.") from None
    assert isinstance(article, DetailedEuropePMCArticle)
    return article


def read_envelope(body: bytes) -> dict[str, Any]:
    try:
        envelope = json.loads(body)
    except (ValueError, RecursionError):
        raise TransientAnswer("no complete JSON document came", kind="invalid_response") from None
    if not isinstance(envelope, dict):
        raise TransientAnswer("JSON of another shape came", kind="invalid_response")
    if "errCode" in envelope:
        said = one_line(str(envelope.get("errMsg") or "no reason given"))
        if str(envelope["errCode"]).startswith("5"):
            raise TransientAnswer(f"the service reports a fault of its own: {said}")
        raise source_error(NAME, "invalid_input", f"Europe PMC refused the request: {said}")
    if "hitCount" not in envelope:
        raise BareEnvelope("the answer held no count of hits and no records")
    return envelope


def read_hit_count(envelope: dict[str, Any]) -> int:
    count = envelope["hitCount"]
    if isinstance(count, str) and count.isascii() and count.isdigit() and len(count) < 16:
        count = int(count)
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        raise TransientAnswer(f"the count of hits is {one_line(str(count), 40)!r}", kind="invalid_response")
    return count


def _complaint(row: object, position: int, bad: ValidationError) -> str:
    first = bad.errors(include_input=False, include_url=False)[0]
    where = ".".join(str(step) for step in first["loc"]) or "record"
    name = one_line(str(row.get("id")), 40) if isinstance(row, dict) and row.get("id") else "no id"
    return f"record {position} ({name}) at {where}: {first['msg'].lower()}"


# --- one record -------------------------------------------------------------------------------------------------------


def _article(value: object, *, detailed: bool) -> EuropePMCArticle:
    row = Row.model_validate(value)
    info = row.journalInfo or WireJournalInfo()
    types = _publication_types(row)
    lowered = {name.lower() for name in types}
    epmc_id, epmc_source = clean_text(row.id), clean_text(row.source).upper()
    is_preprint = epmc_source == "PPR" or "preprint" in lowered
    doi = normalise_doi(row.doi or "")
    pmid = normalise_pmid(row.pmid or (epmc_id if epmc_source == "MED" else ""))
    authors = _authors(row)
    text, sections = _abstract(row.abstractText)
    notices, related, is_notice = _links(row)
    pmcid = normalise_pmcid(row.pmcid or (epmc_id if epmc_source == "PMC" else ""))
    if pmcid and epmc_source != "PMC":
        related = (*related, RelatedRecord(relation="pmc_copy", pmcid=pmcid))
    journal, abbreviation = _journal(row, is_preprint=is_preprint)
    language = _shown(row.language)
    fields: dict[str, Any] = {
        "epmc_id": epmc_id,
        "epmc_source": epmc_source,
        "pmid": pmid,
        "pmcid": pmcid,
        "doi": doi,
        "url": article_url(doi=doi, pmid=pmid, epmc=(quote(epmc_source, safe=""), quote(epmc_id, safe=""))),
        "title": clean_text(row.title or ""),
        "authors": authors,
        "first_author": first_author_of(authors),
        "journal": journal,
        "journal_abbreviation": abbreviation,
        "year": year_of(row.pubYear) or year_of(info.yearOfPublication) or year_of(row.firstPublicationDate),
        "published": _published(row, is_preprint=is_preprint),
        "published_online": printed_date(row.electronicPublicationDate),
        "abstract_text": text,
        "abstract_sections": sections,
        "source": "preprint" if is_preprint else "europepmc",
        "publication_types": types,
        "keywords": _each_shown(row.keywordList),
        "language": language,
        "languages": (language,) if language else (),
        "is_preprint": is_preprint,
        "is_notice": is_notice or bool(lowered & _NOTICE_TYPES and "retracted publication" not in lowered),
        "correction_status": _correction_status(row, lowered, notices, is_preprint=is_preprint),
        "notices": notices,
        "related": related,
        "citation_count": row.citedByCount,
        "is_open_access": {"Y": True, "N": False}.get((row.isOpenAccess or "").strip().upper()),
    }
    if not detailed:
        return EuropePMCArticle(**fields)
    return DetailedEuropePMCArticle(
        **fields,
        volume=_shown(info.volume or row.journalVolume),
        issue=_shown(info.issue or row.issue),
        pages=_shown(row.pageInfo),
        issn=_issn(row, info),
        mesh_headings=tuple(
            MeshHeading(
                descriptor=name,
                major="Y" in {heading.majorTopic_YN, *(part.majorTopic_YN for part in heading.meshQualifierList)},
                qualifiers=_each_shown(tuple(part.qualifierName for part in heading.meshQualifierList)),
            )
            for heading in row.meshHeadingList
            if (name := _shown(heading.descriptorName))
        ),
        chemicals=tuple(
            Chemical(name=name, registry_number=_shown(chemical.registryNumber))
            for chemical in row.chemicalList
            if (name := _shown(chemical.name))
        ),
        grants=tuple(
            Grant(grant_id=_shown(grant.grantId), agency=_shown(grant.agency))
            for grant in row.grantsList
            if grant.grantId or grant.agency
        ),
        license=_shown(row.license),
    )


def _shown(text: str | None) -> str | None:
    return clean_text(text or "") or None


def _each_shown(texts: tuple[str | None, ...]) -> tuple[str, ...]:
    return tuple(shown for text in texts if (shown := _shown(text)))


def _publication_types(row: Row) -> tuple[str, ...]:
    """Types as written, each once: MEDLINE's and JATS's words are mixed, in any case; `lite` joins them with `; `."""
    once: dict[str, str] = {}
    for name in _each_shown(row.pubTypeList or tuple((row.pubType or "").split(";"))):
        once.setdefault(name.lower(), name)
    return tuple(once.values())


def _journal(row: Row, *, is_preprint: bool) -> tuple[str | None, str | None]:
    """Title and abbreviation; a preprint's is its server. `lite` knows one form and does not say which."""
    journal = (row.journalInfo and row.journalInfo.journal) or WireJournal()
    title = _shown(journal.title or row.journalTitle)
    if title is None and is_preprint and row.bookOrReportDetails:
        title = _shown(row.bookOrReportDetails.publisher)
    return title, _shown(journal.isoabbreviation or journal.medlineAbbreviation or row.journalTitle)


def _issn(row: Row, info: WireJournalInfo) -> str | None:
    journal = info.journal or WireJournal()
    match = re.search(r"\d{4}-\d{3}[\dXx]", journal.issn or journal.essn or row.journalIssn or "")
    return match.group().upper() if match else None


def _published(row: Row, *, is_preprint: bool) -> str | None:
    """Issue date as printed. `firstPublicationDate` is the earliest of all dates: only a preprint's posting date is
    its date of issue, and a record without a year has no other."""
    first = printed_date(row.firstPublicationDate)
    if is_preprint and first:
        return first
    info = row.journalInfo or WireJournalInfo()
    printed = printed_date(info.dateOfPublication)
    year = year_of(info.yearOfPublication)
    if printed is None and year and re.fullmatch(r"[1-9]|1[0-2]", info.monthOfPublication or ""):
        printed = f"{year}-{int(info.monthOfPublication or 0):02d}"
    year = year or year_of(row.pubYear)
    return printed or (str(year) if year else first)


# --- authors ----------------------------------------------------------------------------------------------------------

_GROUP_WORDS = re.compile(
    r"\b(group|consorti(?:um|a)|collaborat\w+|investigators|committee|network|team|study|society|association|"
    r"initiative|project|foundation|institute|university|department|registry|trialists|task force|alliance|"
    r"program(?:me)?)\b",
    re.I,
)
# `de Medeiros EV`, `O'Neill AF`, `Smith J Jr`: all before the initials is the family name, particles included.
_NAME = re.compile(r"(?P<family>.*\S)\s+(?P<initials>[^\W\d_]{1,6}(?:-[^\W\d_]{1,3})?)")
_SUFFIXED = re.compile(r"(?P<name>.*\S\s+\S+)\s+(?P<suffix>Jr|Sr|2nd|3rd|II|III|IV)")


def _authors(row: Row) -> tuple[Author, ...]:
    listed = [author for entry in row.authorList if (author := _listed_author(entry)) is not None]
    if listed:
        return tuple(listed)
    printed = clean_text(row.authorString or "").removesuffix(".")
    return tuple(_author_in_text(name) for part in printed.split(", ") if (name := part.strip(" ,")))


def _listed_author(entry: WireAuthor) -> Author | None:
    family, collective = _shown(entry.lastName), _shown(entry.collectiveName)
    orcid = re.search(r"\d{4}-\d{4}-\d{4}-\d{3}[\dX]", (entry.authorId and entry.authorId.value) or "")
    more: dict[str, Any] = {
        "orcid": orcid.group() if orcid else None,
        "affiliations": tuple(
            # Preprints' affiliations come with empty parts: ", , Norwich Research Park , ,".
            shown
            for place in entry.authorAffiliationDetailsList
            if (shown := clean_text(place.affiliation or "").strip(" ,"))
        ),
    }
    if collective and not family:
        return Author(collective=collective, **more)
    if family:
        return Author(family=family, given=_shown(entry.firstName), initials=_shown(entry.initials), **more)
    full_name = _shown(entry.fullName)
    return _author_in_text(full_name).model_copy(update=more) if full_name else None


def _author_in_text(name: str) -> Author:
    """One name of `authorString`. A name of one word stays a family name; words without initials name a group."""
    if _GROUP_WORDS.search(name):
        return Author(collective=name)
    suffixed = _SUFFIXED.fullmatch(name)
    match = _NAME.fullmatch(suffixed["name"] if suffixed else name)
    if match and match["initials"].isupper():
        suffix = suffixed["suffix"] if suffixed else None
        return Author(family=match["family"], initials=match["initials"], suffix=suffix)
    return Author(collective=name) if " " in name else Author(family=name)


# --- abstract ---------------------------------------------------------------------------------------------------------

_HEADING = re.compile(r"(?:<|&lt;)h4(?:>|&gt;)(.{0,300}?)(?:<|&lt;)/h4(?:>|&gt;)", re.I | re.S)


def _abstract(raw: str | None) -> tuple[str | None, tuple[AbstractSection, ...]]:
    """Text on display, and its labelled sections where the abstract has `<h4>` headings."""
    if not raw:
        return None, ()
    lead, *rest = _HEADING.split(raw)
    if not rest:
        return _shown(raw), ()
    parts = [(None, lead), *zip(rest[::2], rest[1::2], strict=True)]
    sections = tuple(
        AbstractSection(label=(_shown(label) or "").rstrip(" :.") or None, text=text)
        for label, body in parts
        if (text := _shown(body))
    )
    lines = (f"{section.label}: {section.text}" if section.label else section.text for section in sections)
    return "\n".join(lines) or None, sections


# --- corrections and relations ----------------------------------------------------------------------------------------

# `in` speaks about this paper; `of` and `for` make this record the notice. Phrases of Europe PMC, lower case.
_ABOUT_THIS: dict[str, NoticeKind] = {
    "retraction in": "retracted_by",
    "retracted and republished in": "retracted_by",
    "expression of concern in": "concern_by",
    "erratum in": "corrected_by",
    "correction in": "corrected_by",
    "corrected and republished in": "corrected_by",
}
_THIS_IS_NOTICE: dict[str, NoticeKind] = {
    "retraction of": "retraction_of",
    "expression of concern for": "concern_about",
    "expression of concern of": "concern_about",
    "erratum for": "correction_of",
    "correction for": "correction_of",
    "correction of": "correction_of",
}
_RELATIONS: dict[str, Relation] = {
    "preprint of": "published_as",
    "preprint in": "preprint",
    "update in": "updated_by",
    "update of": "update_of",
}
_NOTICE_TYPES = frozenset(
    {
        "published erratum",
        "erratum",
        "correction",
        "corrigendum",
        "retraction",
        "retraction notice",
        "retraction of publication",
        "partial-retraction",
        "expression of concern",
        "expression-of-concern",
    }
)
_LINKED = frozenset({"MED", "PMC", "PPR"})
_INFERRED = re.compile(r"\bmatch|\bbased on\b|\binferred\b", re.I)
_WITHDRAWN = re.compile(r"\W*(?:withdrawn|retracted)\W*[:\]]", re.I)


def _links(row: Row) -> tuple[tuple[Notice, ...], tuple[RelatedRecord, ...], bool]:
    """Notices, related records, and whether a phrase makes this record a notice itself."""
    notices: list[Notice] = []
    related: list[RelatedRecord] = []
    is_notice = False
    for comment in row.commentCorrectionList:
        phrase = clean_text(comment.type or "").lower()
        pmid, pmcid, doi = _other_record(comment)
        kind = _ABOUT_THIS.get(phrase) or _THIS_IS_NOTICE.get(phrase)
        if kind is not None:
            is_notice = is_notice or phrase in _THIS_IS_NOTICE
            notices.append(
                Notice(
                    kind=kind,
                    reference_id=pmid or doi,
                    date=printed_date((comment.reference or "").partition(";")[0]),
                    text=one_line(comment.reference) or None,
                )
            )
        elif relation := _RELATIONS.get(phrase):
            certainty = "inferred" if _INFERRED.search(comment.note or "") else "stated"
            related.append(RelatedRecord(relation=relation, pmid=pmid, pmcid=pmcid, doi=doi, certainty=certainty))
    return tuple(notices), tuple(related), is_notice


def _other_record(comment: WireComment) -> tuple[str | None, str | None, str | None]:
    """PMID, PMCID and DOI of the record a comment points to; the DOI stands only in the printed reference."""
    source, number = (comment.source or "").strip().upper(), (comment.id or "").strip()
    printed = next((found.value for found in find_identifiers(comment.reference or "") if found.kind == "doi"), None)
    return (
        normalise_pmid(number) if source == "MED" else None,
        normalise_pmcid(number) if source == "PMC" else None,
        printed,
    )


def _correction_status(
    row: Row, types: set[str], notices: tuple[Notice, ...], *, is_preprint: bool
) -> CorrectionStatus:
    kinds = {notice.kind for notice in notices}
    # Preprint servers withdraw by a new title. Elsewhere "Retracted:" also heads notices: types and links decide.
    withdrawn = is_preprint and _WITHDRAWN.match(clean_text(row.title or "")) is not None
    if "retracted publication" in types or "retracted_by" in kinds or withdrawn:
        return "retracted"
    if "concern_by" in kinds:
        return "concern"
    if "corrected_by" in kinds:
        return "corrected"
    # Corrections are linked among papers and preprints; of a patent or a record of Agricola nobody tells.
    return "none" if row.is_core and row.source.strip().upper() in _LINKED else "unknown"
