"""Europe PMC's own shape of a record: made from PubMed records, cut to its short form, read for the index."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from literature_agent.sandbox.pubmed_records import Author, Day, Link, Paper
from literature_agent.sandbox.text_index import Entry

Record = dict[str, Any]

_TAG = re.compile(r"</?(?:b|i|u|sup|sub|h4|p|em|strong|italic|bold)\s*/?>", re.IGNORECASE)
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[a-z])(?=and[A-Z])")
_LITE_ONLY = frozenset({"journalTitle", "journalVolume", "issue", "journalIssn", "pubType"})
_LITE_FIRST = ("id", "source", "pmid", "pmcid", "fullTextIdList", "doi", "title", "authorString")
_LITE_LAST = (
    "isOpenAccess",
    "inEPMC",
    "inPMC",
    "hasPDF",
    "hasBook",
    "hasSuppl",
    "citedByCount",
    "hasReferences",
    "hasTextMinedTerms",
    "hasDbCrossReferences",
    "dbCrossReferenceList",
    "hasLabsLinks",
    "versionNumber",
    "hasTMAccessionNumbers",
    "tmAccessionTypeList",
    "firstIndexDate",
    "firstPublicationDate",
)
_SUBSETS = {"IM": "Index Medicus", "AIM": "Abridged Index Medicus", "N": "Nursing"}

COLUMNS = {
    "title": 6.0,
    "abstract": 1.5,
    "keywords": 3.0,
    "mesh": 3.0,
    "substances": 1.0,
    "authors": 1.0,
    "affiliations": 0.1,
    "journal": 0.5,
    "ids": 1.0,
    "body": 0.3,
}


def core_record(paper: Paper, *, pmcid: str, cited_by: int, open_access: bool) -> Record:
    """The `core` record of a PubMed paper (source MED) or, without a PMID, of a PMC article (source PMC)."""
    date = paper.published
    record: Record = {
        "id": paper.pmid or pmcid,
        "source": "MED" if paper.pmid else "PMC",
        "pmid": paper.pmid,
        "pmcid": pmcid,
        "fullTextIdList": {"fullTextId": [pmcid]} if pmcid else None,
        "doi": paper.doi,
        "title": paper.title_markup,
        "authorString": ", ".join(author.short for author in paper.authors) + ("." if paper.authors else ""),
        "authorList": _wrapped("author", (_author(author) for author in paper.authors)),
        "authorIdList": _wrapped(
            "authorId", ({"type": "ORCID", "value": author.orcid} for author in paper.authors if author.orcid)
        ),
        "journalInfo": _journal_info(paper),
        "pubYear": str(date.year) if date else "",
        "pageInfo": paper.pages,
        "abstractText": _abstract(paper),
        "affiliation": next((place for author in paper.authors for place in author.affiliations), ""),
        "publicationStatus": paper.publication_status,
        "language": paper.languages[0] if paper.languages else "",
        "pubModel": paper.pub_model,
        "pubTypeList": _wrapped("pubType", paper.types),
        "meshHeadingList": _wrapped("meshHeading", _headings(paper)),
        "keywordList": _wrapped("keyword", paper.keywords),
        "chemicalList": _wrapped(
            "chemical", ({"name": name, "registryNumber": number} for name, number in paper.chemicals)
        ),
        "subsetList": _wrapped(
            "subset", ({"code": code, "name": _SUBSETS[code]} for code in paper.subsets if code in _SUBSETS)
        ),
        "grantsList": _wrapped("grant", _grants(paper)),
        "commentCorrectionList": _wrapped("commentCorrection", _corrections(paper.links)),
        "fullTextUrlList": _wrapped("fullTextUrl", _addresses(paper, pmcid, open_access)),
        "isOpenAccess": _flag(open_access),
        "inEPMC": _flag(bool(pmcid)),
        "inPMC": _flag(bool(pmcid)),
        "hasPDF": "N",
        "hasBook": "N",
        "hasSuppl": "N",
        "citedByCount": cited_by,
        "hasData": "N",
        "hasReferences": _flag(bool(paper.citations)),
        "hasTextMinedTerms": "N",
        "hasDbCrossReferences": "N",
        "hasLabsLinks": "N",
        "hasEvaluations": "N",
        "authMan": "N",
        "epmcAuthMan": "N",
        "nihAuthMan": "N",
        "hasTMAccessionNumbers": "N",
        "dateOfCompletion": _iso(paper.completed),
        "dateOfCreation": _iso(paper.entered),
        "firstIndexDate": _iso(paper.entered),
        "dateOfRevision": _iso(paper.revised),
        "electronicPublicationDate": _iso(paper.electronic),
        "firstPublicationDate": _iso(paper.first_public),
    }
    return _without_blanks(record)


def merged(derived: Record | None, native: Record) -> Record:
    """A record that came as Europe PMC JSON, in core shape; what it lacks is filled from the PubMed record."""
    record = _as_core(native)
    return record if derived is None else _completed(record, derived)


def lite_record(core: Record) -> Record:
    """The `lite` form: flat, without abstract, authors as one string, publication types as one."""
    info = part(core, "journalInfo")
    journal = part(info, "journal")
    issns = [str(journal[key]).lower() for key in ("issn", "essn") if journal.get(key)]
    types = items(core, "pubTypeList", "pubType")
    flat: Record = {key: core.get(key) for key in _LITE_FIRST}
    flat |= {
        "journalTitle": next(
            (journal[k] for k in ("medlineAbbreviation", "isoabbreviation", "title") if journal.get(k)), ""
        ),
        "issue": info.get("issue"),
        "journalVolume": info.get("volume"),
        "pubYear": core.get("pubYear"),
        "journalIssn": "".join(f"{issn}; " for issn in issns) if len(issns) > 1 else "".join(issns),
        "pageInfo": core.get("pageInfo"),
        "pubType": "; ".join(str(kind).lower() for kind in types),
        "bookOrReportDetails": core.get("bookOrReportDetails"),
    }
    flat |= {key: core.get(key) for key in _LITE_LAST}
    return _without_blanks(flat)


def id_record(core: Record) -> Record:
    return {key: core[key] for key in ("id", "source", "pmid", "pmcid", "fullTextIdList") if key in core}


def index_entry(core: Record, *, body: str, cited: Iterable[str]) -> Entry:
    """What Europe PMC can search in a record; `cited` are the PMIDs of its references."""
    info = part(core, "journalInfo")
    journal = part(info, "journal")
    details = part(core, "bookOrReportDetails")
    authors = [author for author in items(core, "authorList", "author") if isinstance(author, Mapping)]
    names = [str(author.get("fullName") or author.get("collectiveName") or "") for author in authors]
    names = names or str(core.get("authorString") or "").rstrip(".").split(", ")
    full_names = [f"{author.get('firstName', '')} {author.get('lastName', '')}" for author in authors]
    mesh = [heading for heading in items(core, "meshHeadingList", "meshHeading") if isinstance(heading, Mapping)]
    descriptors = [str(heading.get("descriptorName") or "") for heading in mesh]
    ids = [str(core.get(key) or "") for key in ("pmid", "pmcid", "doi")]
    journals = [str(journal.get(key) or "") for key in ("title", "medlineAbbreviation", "isoabbreviation", "nlmid")]
    year = str(core.get("pubYear") or details.get("yearOfPublication") or "")
    grants = [grant for grant in items(core, "grantsList", "grant") if isinstance(grant, Mapping)]
    return Entry(
        texts={
            "title": bare(str(core.get("title") or "")),
            "abstract": bare(str(core.get("abstractText") or "")),
            "keywords": " . ".join(str(word) for word in items(core, "keywordList", "keyword")),
            "mesh": " . ".join(descriptors),
            "substances": " . ".join(
                str(chemical.get("name") or "")
                for chemical in items(core, "chemicalList", "chemical")
                if isinstance(chemical, Mapping)
            ),
            "authors": " . ".join([*names, *full_names]),
            "affiliations": " . ".join(_affiliations(authors)) or str(core.get("affiliation") or ""),
            "journal": " . ".join(journals),
            "ids": " . ".join([str(core.get("id") or ""), *ids]),
            "body": body,
        },
        values={
            "EXT_ID": (str(core.get("id") or ""), str(core.get("pmid") or "")),
            "SRC": (str(core.get("source") or ""),),
            "DOI": (str(core.get("doi") or ""),),
            "PMCID": (str(core.get("pmcid") or ""),),
            "PUB_TYPE": [str(kind) for kind in items(core, "pubTypeList", "pubType")],
            "LANG": (str(core.get("language") or ""),),
            "JOURNAL": journals,
            "ISSN": (str(journal.get("issn") or ""), str(journal.get("essn") or "")),
            "ESSN": (str(journal.get("essn") or ""),),
            "VOLUME": (str(info.get("volume") or ""),),
            "ISSUE": (str(info.get("issue") or ""),),
            "PAGE_INFO": (str(core.get("pageInfo") or ""),),
            "PUBLISHER": (str(details.get("publisher") or ""),),
            "LICENSE": (str(core.get("license") or ""),),
            "AUTH_FIRST": names[:1],
            "AUTH_LAST": names[-1:],
            "AUTHORID": [
                str(item.get("value") or "")
                for item in items(core, "authorIdList", "authorId")
                if isinstance(item, Mapping)
            ],
            "GRANT_ID": [str(grant.get("grantId") or "") for grant in grants],
            "GRANT_AGENCY": [str(grant.get("agency") or "") for grant in grants],
            "CITES": [f"{pmid}_MED" for pmid in cited],
            "OPEN_ACCESS": (str(core.get("isOpenAccess") or "N"),),
            "HAS_FREE_FULLTEXT": (str(core.get("isOpenAccess") or "N"),),
            "HAS_FT": (str(core.get("inEPMC") or "N"),),
            "IN_EPMC": (str(core.get("inEPMC") or "N"),),
            "IN_PMC": (str(core.get("inPMC") or "N"),),
            "HAS_PDF": (str(core.get("hasPDF") or "N"),),
            "HAS_REFLIST": (str(core.get("hasReferences") or "N"),),
            "HAS_ABSTRACT": ("Y" if core.get("abstractText") else "N",),
        },
        days={
            "PUB_YEAR": (int(year),) if year.isascii() and year.isdecimal() else (),
            "CITED": (count,) if isinstance(count := core.get("citedByCount"), int) else (),
            "FIRST_PDATE": _numbered(core.get("firstPublicationDate")),
            "E_PDATE": _numbered(core.get("electronicPublicationDate")),
            "P_PDATE": _numbered(info.get("printPublicationDate")),
            "FIRST_IDATE": _numbered(core.get("firstIndexDate")),
            "CREATION_DATE": _numbered(core.get("dateOfCreation")),
            "UPDATE_DATE": _numbered(core.get("dateOfRevision")),
        },
    )


def part(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A record inside a record; an empty one where it is missing or something else."""
    value = record.get(name)
    return value if isinstance(value, Mapping) else {}


def items(record: Mapping[str, Any], outer: str, inner: str) -> list[Any]:
    """The list inside one of Europe PMC's wrappers, also where it holds a single thing or is missing."""
    wrapper = record.get(outer)
    value = wrapper.get(inner) if isinstance(wrapper, Mapping) else None
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def bare(text: str) -> str:
    """The text without its inline tags; `P<0.001` is no tag."""
    return _TAG.sub(" ", text)


def _affiliations(authors: Iterable[Mapping[str, Any]]) -> list[str]:
    return [
        str(place.get("affiliation") or "")
        for author in authors
        for place in items(author, "authorAffiliationDetailsList", "authorAffiliation")
        if isinstance(place, Mapping)
    ]


def _as_core(native: Record) -> Record:
    if not _LITE_ONLY & native.keys():
        return dict(native)
    record = {key: value for key, value in native.items() if key not in _LITE_ONLY}
    issns = [issn.strip().upper() for issn in str(native.get("journalIssn") or "").split(";") if issn.strip()]
    journal = {
        "title": native.get("journalTitle"),
        "medlineAbbreviation": native.get("journalTitle"),
        "issn": issns[0] if issns else None,
        "essn": issns[1] if len(issns) > 1 else None,
    }
    info = {"issue": native.get("issue"), "volume": native.get("journalVolume"), "journal": _without_blanks(journal)}
    if native.get("journalTitle") and "journalInfo" not in native:
        record["journalInfo"] = _without_blanks(info)
    if native.get("pubType") and "pubTypeList" not in native:
        record["pubTypeList"] = {"pubType": str(native["pubType"]).split("; ")}
    return record


def _completed(record: Record, other: Record) -> Record:
    """The record with what only the other one says, also inside `journalInfo` and the like."""
    both = {
        key: _completed(value, other[key])
        for key, value in record.items()
        if isinstance(value, dict) and isinstance(other.get(key), dict)
    }
    return other | record | both


def _author(author: Author) -> Record:
    if author.collective:
        return {"collectiveName": author.collective}
    return _without_blanks(
        {
            "fullName": author.short,
            "firstName": author.fore,
            "lastName": author.last,
            "initials": author.initials,
            "authorId": {"type": "ORCID", "value": author.orcid} if author.orcid else None,
            "authorAffiliationDetailsList": _wrapped(
                "authorAffiliation", ({"affiliation": place} for place in author.affiliations)
            ),
        }
    )


def _journal_info(paper: Paper) -> Record | None:
    if not (paper.journal or paper.journal_medline):
        return None
    journal = {
        "title": paper.journal,
        "medlineAbbreviation": paper.journal_medline,
        "isoabbreviation": paper.journal_iso,
        "nlmid": paper.nlm_id,
        "issn": paper.issn_print,
        "essn": paper.issn_electronic,
    }
    return _without_blanks(
        {
            "issue": paper.issue,
            "volume": paper.volume,
            "dateOfPublication": paper.pub_date_text,
            "monthOfPublication": paper.published.month if paper.published else None,
            "yearOfPublication": paper.published.year if paper.published else None,
            "printPublicationDate": _iso(paper.published),
            "journal": _without_blanks(journal),
        }
    )


def _abstract(paper: Paper) -> str:
    return "".join(
        f"<h4>{section.label.capitalize()}</h4>{section.markup}" if section.label else section.markup
        for section in paper.abstract
    )


def _headings(paper: Paper) -> Iterable[Record]:
    for heading in paper.headings:
        qualifiers = [
            {"qualifierName": name, "majorTopic_YN": _flag(major)} for name, major in heading.qualifiers if name
        ]
        descriptor_major = heading.major and not any(major for _, major in heading.qualifiers)
        record: Record = {"majorTopic_YN": _flag(descriptor_major), "descriptorName": heading.descriptor}
        if qualifiers:
            record["meshQualifierList"] = {"meshQualifier": qualifiers}
        yield record


def _grants(paper: Paper) -> Iterable[Record]:
    for grant in paper.grants:
        yield _without_blanks(
            {"grantId": grant.grant_id, "agency": grant.agency, "acronym": grant.acronym, "orderIn": 0}
        )


def _corrections(links: Iterable[Link]) -> Iterable[Record]:
    wanted = (link for link in links if link.kind != "Cites")
    for order, link in enumerate(wanted, start=1):
        yield _without_blanks(
            {
                "id": link.pmid,
                "source": "MED" if link.pmid else None,
                "reference": link.source,
                "note": link.note,
                "type": _CAPITAL.sub(" ", link.kind).capitalize(),
                "orderIn": order,
            }
        )


def _addresses(paper: Paper, pmcid: str, open_access: bool) -> Iterable[Record]:
    if open_access and pmcid:
        yield {
            "availability": "Open access",
            "availabilityCode": "OA",
            "documentStyle": "html",
            "site": "Europe_PMC",
            "url": f"https://europepmc.org/articles/{pmcid}",
        }
    if paper.doi:
        yield {
            "availability": "Subscription required",
            "availabilityCode": "S",
            "documentStyle": "doi",
            "site": "DOI",
            "url": f"https://doi.org/{paper.doi}",
        }


def _wrapped(name: str, values: Iterable[Any]) -> Record | None:
    found = list(values)
    return {name: found} if found else None


def _without_blanks(record: Record) -> Record:
    """Europe PMC leaves out what it has not, and sends no empty lists; zeros stay."""
    return {key: value for key, value in record.items() if value not in (None, "", [], {})}


def _flag(value: bool) -> str:
    return "Y" if value else "N"


def _iso(day: Day | None) -> str:
    return day.iso if day else ""


def _numbered(text: object) -> tuple[int, ...]:
    digits = str(text or "")[:10].replace("-", "")
    return (int(digits),) if digits.isascii() and digits.isdecimal() and len(digits) == 8 else ()
