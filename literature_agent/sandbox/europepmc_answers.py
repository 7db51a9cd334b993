"""The Europe PMC web service over a corpus, with the real one's envelopes, cursors and ways to fail."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from lxml import etree

from literature_agent.sandbox.corpus_index import Corpus
from literature_agent.sandbox.europepmc_query import parse_europepmc
from literature_agent.sandbox.europepmc_records import Record, id_record, lite_record, part
from literature_agent.sandbox.europepmc_search import Found, search_europepmc_index
from literature_agent.sandbox.jats_records import serialised
from literature_agent.sandbox.messages import Reply, Request, json_reply, xml_reply
from literature_agent.sandbox.synthesis import xml_text

VERSION = "6.9"
_LARGEST_PAGE = 1000
_DEFAULT_PAGE = 25
_SHAPES = frozenset({"idlist", "lite", "core"})
_CURSOR_MARK = b"sandbox:"
_YES = frozenset({"true", "y", "yes"})
_NO_QUERY = (
    "No search criteria provided. Please provide a valid query or check the Europe PMC web service documentation."
)
_BAD_PAGE_SIZE = "Invalid page size provided. Valid size is between 1 and 1000"


class EuropePmcAnswers:
    """`search`, `article`, `citations`, `references` and `fullTextXML`."""

    def __init__(self, corpus: Corpus, *, address: str) -> None:
        self._corpus = corpus
        self._address = address

    def search(self, request: Request) -> Reply:
        """`GET search` and `POST searchPOST`."""
        query = request.get("query")
        if not query:
            return self._reply(request, {"errCode": 404, "errMsg": _NO_QUERY})
        size = request.number("pageSize", _DEFAULT_PAGE if not request.get("pageSize") else 0)
        if not 1 <= size <= _LARGEST_PAGE:
            return self._reply(request, {"errCode": 404, "errMsg": _BAD_PAGE_SIZE})
        cursor = request.get("cursorMark", "*")
        offset = _offset(cursor)
        parsed = parse_europepmc(query)
        order = _sort_order(request.get("sort") or parsed.sort)
        if offset is None or order is None:
            return self._reply(request, {"version": VERSION})
        if "cursorMark" not in request.parameters and request.number("page", 1) > 1:
            offset = (request.number("page", 1) - 1) * size
        synonyms = request.get("synonym").lower() in _YES
        found = Found(set())
        if parsed.tree is not None:
            found = search_europepmc_index(self._corpus.europepmc.index, parsed.tree, synonyms=synonyms)
        records = self._ordered(found, *order)
        page = records[offset : offset + size]
        shape = self._shape(request)
        envelope: dict[str, Any] = {"version": VERSION, "hitCount": len(records)}
        # Everything on the first page: no cursor. Otherwise even the last page has one, leading to an empty page.
        if len(records) > size:
            following = _cursor(offset + len(page)) if page else cursor
            envelope["nextCursorMark"] = following
            if request.method == "GET":
                envelope["nextPageUrl"] = (
                    f"{self._address}search?query={query}&cursorMark={following}&resultType={shape}&pageSize={size}"
                    f"&format={request.get('format', 'xml')}"
                )
        envelope["request"] = {
            "queryString": query,
            "resultType": shape,
            "cursorMark": "%2A" if cursor == "*" and request.method == "GET" else cursor,
            "pageSize": size,
            "sort": request.get("sort"),
            "synonym": synonyms,
        }
        envelope["resultList"] = {"result": [_shaped(record, shape) for record in page]}
        return self._reply(request, envelope)

    def article(self, request: Request, source: str, number: str) -> Reply:
        """`article/{source}/{id}`: one record, or `hitCount` 0 without any."""
        record = self._corpus.europepmc.by_id.get((source.upper(), number.upper()))
        shape = self._shape(request)
        envelope: dict[str, Any] = {
            "version": VERSION,
            "hitCount": 1 if record else 0,
            "request": {"id": number, "source": source, "resultType": shape},
        }
        if record:
            envelope["result"] = _shaped(record, shape)
        return self._reply(request, envelope)

    def citations(self, request: Request, source: str, number: str) -> Reply:
        """`{source}/{id}/citations`: the papers of the corpus that cite this one."""
        citing = self._corpus.citing.get(number, ()) if source.upper() == "MED" else ()
        known = (self._corpus.europepmc.by_id.get(("MED", pmid)) for pmid in citing)
        entries = [_short(record) for record in known if record]
        return self._listed(request, source, number, "citationList", "citation", entries)

    def references(self, request: Request, source: str, number: str) -> Reply:
        """`{source}/{id}/references`: the reference list of the record; unmatched ones carry only their text."""
        paper = self._corpus.by_pmid.get(number) if source.upper() == "MED" else None
        entries: list[Record] = []
        for order, citation in enumerate(paper.citations if paper else (), start=1):
            known = self._corpus.europepmc.by_id.get(("MED", citation.pmid))
            entry: Record = _short(known) if known else {"title": citation.text}
            if citation.pmid and not known:
                entry |= {"id": citation.pmid, "source": "MED"}
            if citation.doi:
                entry["doi"] = citation.doi.lower()
            entries.append(entry | {"citedOrder": order, "match": "Y" if citation.pmid else "N"})
        return self._listed(request, source, number, "referenceList", "reference", entries)

    def full_text(self, number: str) -> Reply:
        """`{id}/fullTextXML`: the JATS article; 404 with an empty body for an unknown or not open one."""
        article = self._corpus.open_article(number)
        if article is None:
            return Reply(404, "application/xml", b"")
        return Reply(200, "application/xml;charset=UTF-8", serialised(article))

    def _shape(self, request: Request) -> str:
        shape = request.get("resultType", "lite").lower()
        return shape if shape in _SHAPES else "lite"

    def _ordered(self, found: Found, field: str, descending: bool) -> list[Record]:
        scores = self._corpus.europepmc.index.scores(found.ranking)
        records = self._corpus.europepmc.records
        entries = sorted(found.entries, key=lambda entry: _newest_first(records[entry]))
        entries.sort(key=lambda entry: -scores.get(entry, 0.0))
        if field:
            # Preprints have no date of this kind, so sorting by it leaves them in their order, at the end.
            dated = [entry for entry in entries if _sort_key(records[entry], field) not in (None, "")]
            dated.sort(key=lambda entry: _sort_key(records[entry], field), reverse=descending)
            placed = set(dated)
            entries = [*dated, *(entry for entry in entries if entry not in placed)]
        return [records[entry] for entry in entries]

    def _listed(
        self, request: Request, source: str, number: str, outer: str, inner: str, entries: list[Record]
    ) -> Reply:
        size = min(request.number("pageSize", _DEFAULT_PAGE) or _DEFAULT_PAGE, _LARGEST_PAGE)
        page = max(request.number("page", 1), 1)
        envelope = {
            "version": VERSION,
            "hitCount": len(entries),
            "request": {"id": number, "source": source, "offSet": (page - 1) * size, "pageSize": size},
            outer: {inner: entries[(page - 1) * size : page * size]},
        }
        return self._reply(request, envelope)

    def _reply(self, request: Request, envelope: dict[str, Any]) -> Reply:
        """JSON where it was asked for; XML is the default of this service."""
        if request.get("format").lower() == "json":
            return json_reply(envelope)
        root = etree.Element("errorBean" if "errCode" in envelope else "responseWrapper")
        _fill(root, envelope)
        return xml_reply(root)


def _shaped(record: Record, shape: str) -> Record:
    if shape == "core":
        return record
    return id_record(record) if shape == "idlist" else lite_record(record)


def _short(record: Record) -> Record:
    """A record as the lists of citations and references have it: `pubYear` is a number here."""
    lite = lite_record(record)
    year = str(lite.get("pubYear") or "")
    short = {
        "id": lite["id"],
        "source": lite["source"],
        "citationType": lite.get("pubType"),
        "title": lite.get("title"),
        "authorString": lite.get("authorString"),
        "journalAbbreviation": lite.get("journalTitle"),
        "pubYear": int(year) if year.isdecimal() else None,
        "volume": lite.get("journalVolume"),
        "issue": lite.get("issue"),
        "pageInfo": lite.get("pageInfo"),
        "citedByCount": lite.get("citedByCount", 0),
    }
    return {key: value for key, value in short.items() if value is not None}


_SORT_FIELDS = frozenset({"AUTH_FIRST", "CITED", "FIRST_IDATE_D", "PUB_YEAR", "P_PDATE_D"})


def _sort_order(text: str) -> tuple[str, bool] | None:
    """Field and direction; `("", False)` for relevance; None for what the service does not know."""
    words = text.replace("+", " ").split()
    if not words:
        return "", False
    direction = words[1].lower() if len(words) > 1 else "desc"
    if words[0].upper() not in _SORT_FIELDS or direction not in {"asc", "desc"} or len(words) > 2:
        return None
    return words[0].upper(), direction == "desc"


def _sort_key(record: Record, field: str) -> Any:
    if field == "CITED":
        count = record.get("citedByCount")
        return count if isinstance(count, int) else 0
    if field == "PUB_YEAR":
        return str(record.get("pubYear") or "")
    if field == "AUTH_FIRST":
        return str(record.get("authorString") or "").lower()
    if field == "FIRST_IDATE_D":
        return str(record.get("firstIndexDate") or "")
    return str(part(record, "journalInfo").get("printPublicationDate") or "")


def _newest_first(record: Record) -> tuple[int, str]:
    digits = str(record.get("firstPublicationDate") or "").replace("-", "")
    return (-int(digits) if digits.isascii() and digits.isdecimal() else 0), str(record.get("id"))


def _cursor(offset: int) -> str:
    return base64.b64encode(_CURSOR_MARK + str(offset).encode("ascii")).decode("ascii")


def _offset(cursor: str) -> int | None:
    if cursor in {"", "*"}:
        return 0
    try:
        mark, _, number = base64.b64decode(cursor, validate=True).partition(_CURSOR_MARK)
    except (binascii.Error, ValueError):
        return None
    return int(number) if not mark and number.isdigit() and len(number) < 10 else None


def _fill(parent: etree._Element, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        for item in value if isinstance(value, list) else [value]:
            node = etree.SubElement(parent, name)
            if isinstance(item, Mapping):
                _fill(node, item)
            elif isinstance(item, bool):
                node.text = "true" if item else "false"
            else:
                node.text = xml_text(str(item))
