"""`pubmed_europepmc_search` and `pubmed_europepmc_fetch`: a contract that other clients already use.

Members are camelCase and carry identifiers, so both exist in the identifiers mode `raw` only. Hits come in the
server's order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar
from urllib.parse import quote

from literature_agent.artifacts import EuropePMCArticle
from literature_agent.errors import LiteratureError, refused, source_error
from literature_agent.mcp_server.raw_schemas import SNIPPET, SOURCES
from literature_agent.mcp_server.replies import MOST_BYTES, Answer, compact, cut, size
from literature_agent.sources._text import one_line, require_number
from literature_agent.sources.europepmc.client import EuropePMCClient, SearchPlan
from literature_agent.sources.europepmc.parse import NAME, read_envelope
from literature_agent.sources.europepmc.query import (
    DEFAULT_SOURCES,
    effective_query,
    known_sources,
    search_page_url,
    sort_sent,
)
from literature_agent.sources.europepmc.upstream import inside
from literature_agent.transport import Answer as HttpAnswer
from literature_agent.transport import Request, TransientAnswer, Transport
from literature_agent.transport.messages import Received

T = TypeVar("T")

_MOST_AUTHORS = 10
"""Names that stay of each record where a reply is too long."""
_SHORT_TITLE = 80
_LONGEST_MEMBER = 300
_FIRST_OF_A_LIST = 20
_NEVER_CUT = frozenset({"source", "epmcId", "pmid", "pmcId", "doi", "epmcUrl", "abstractSnippet"})

# JSON-RPC codes of the contract, by the kind of the error.
_CODES = {
    "unreachable": -32000,
    "not_found": -32001,
    "rate_limited": -32003,
    "timeout": -32004,
    "blocked": -32005,
    "invalid_input": -32007,
    "disabled": -32008,
    "configuration": -32008,
    "invalid_response": -32070,
}
_OTHER_CODE = -32000

_EPMC_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass
class _Listening:
    """A transport that remembers the bodies of the answers that passed, for the spelling of DOIs in them. An answer of
    nothing at all counts as the service not being there, as the contract has it."""

    transport: Transport
    bodies: list[bytes] = field(default_factory=list)

    async def receive(self, request: Request, read: Callable[[HttpAnswer], T], **options: Any) -> Received[T]:
        def remember(answer: HttpAnswer) -> T:
            if answer.status in (200, 204) and not answer.body.strip():
                raise TransientAnswer("an empty answer came")
            found = read(answer)
            self.bodies.append(answer.body)
            return found

        return await self.transport.receive(request, remember, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.transport, name)


async def search(transport: Transport, arguments: Mapping[str, Any]) -> Answer:
    """One page of hits.

    Raises:
        LiteratureError: as the contract names them.
    """
    _require_enabled(transport)
    sources = known_sources(_texts(arguments.get("sources", DEFAULT_SOURCES), "sources"))
    effective = effective_query(_text(arguments, "query"), sources=sources)
    page_size = require_number(_whole(arguments.get("pageSize", 25), "pageSize"), "pageSize", 100, NAME)
    cursor = _text(arguments, "cursorMark", "*").strip() or "*"
    if len(cursor) > 2000 or not cursor.isascii() or not cursor.isprintable() or " " in cursor:
        raise refused(NAME, f"cursorMark={one_line(cursor, 40)!r} is no cursor: give back nextCursorMark, or `*`.")
    rows = _text(arguments, "resultType", "core").strip().lower()
    if rows not in ("core", "lite"):
        raise refused(NAME, f"resultType={one_line(rows, 40)!r} is unknown: choose core or lite.")
    sort = sort_sent(_text(arguments, "sort", ""))
    listening = _Listening(transport)
    client = EuropePMCClient(listening)  # type: ignore[arg-type]  # it takes whatever sends as a transport does
    async with transport.job("europepmc", NAME):
        found = await client.search(
            SearchPlan(
                effective,
                page_size,
                page_size,
                cursor,
                rows,
                sort,
                several_sorts_fail=False,
                cursor_name="cursorMark",
            )
        )
    spelled = _dois(listening.bodies)
    hits = [_hit(article, spelled, abstracts=rows == "core") for article in found.articles]
    document: dict[str, Any] = {
        "hits": hits,
        "query": effective,
        "searchUrl": search_page_url(effective) or "https://europepmc.org/",
        "cursorMark": cursor,
        "totalCount": found.total,
        "appliedSources": list(sources),
    }
    if found.next_cursor is not None:
        document["nextCursorMark"] = found.next_cursor
    notices = list(found.warnings)
    if found.total == 0:
        notices.insert(0, f"Europe PMC has no record for this query in {', '.join(sources)}.")
    elif not hits:
        notices.insert(0, "The list ends here: there are no further records.")
    if sort.startswith("P_PDATE_D") and "PPR" in sources:
        notices.append("Europe PMC does not sort preprints by P_PDATE_D; PUB_YEAR sorts them.")
    _fit_search(document, notices)
    return Answer(_search_text(document), document)


async def fetch(transport: Transport, arguments: Mapping[str, Any]) -> Answer:
    """The complete record.

    Raises:
        LiteratureError: `europepmc_not_found` where there is none, else as the contract names them.
    """
    _require_enabled(transport)
    source, epmc_id = _text(arguments, "source").strip().upper(), _text(arguments, "epmcId").strip()
    if source not in SOURCES:
        raise refused(NAME, f"source={one_line(source, 40)!r} is unknown: choose from {', '.join(SOURCES)}.")
    if not _EPMC_ID.fullmatch(epmc_id):
        raise refused(NAME, f"epmcId={one_line(epmc_id, 60)!r} is no id of a record: copy it from a hit.")
    asked = {"MED": epmc_id, "PMC": epmc_id}.get(source, f"{source}:{epmc_id}")
    listening = _Listening(transport)
    client = EuropePMCClient(listening)  # type: ignore[arg-type]  # it takes whatever sends as a transport does
    async with transport.job("europepmc", NAME):
        result = await client.fetch([asked])
    if not result.artifacts:
        error = next(iter(result.failed.values()), None)
        if error is not None:
            raise error.as_error()
        raise source_error(
            NAME,
            "not_found",
            f"Europe PMC has no record {source}/{epmc_id}.",
            recovery="Copy `source` and `epmcId` from the same hit of pubmed_europepmc_search.",
        )
    article = result.artifacts[0]
    assert isinstance(article, EuropePMCArticle)
    spelled = _dois(listening.bodies)
    record = {
        **_members(article, spelled),
        "abstract": article.abstract_text,
        "published": article.published,
        "publicationTypes": list(article.publication_types),
        "keywords": list(article.keywords),
        "meshHeadings": [heading.descriptor for heading in getattr(article, "mesh_headings", ())],
        "language": article.language,
        "isOpenAccess": article.is_open_access,
        "citedByCount": article.citation_count,
        "correctionStatus": article.correction_status,
        "epmcUrl": f"https://europepmc.org/article/{quote(article.epmc_source)}/{quote(article.epmc_id)}",
    }
    document: dict[str, Any] = {
        "record": {name: value for name, value in record.items() if value not in (None, "", [])}
    }
    _fit_record(document)
    return Answer(_record_text(document), document)


def error_document(error: LiteratureError) -> dict[str, Any]:
    """The error branch of the contract."""
    kind = error.reason.partition("_")[2]
    reason = error.reason if error.reason.startswith(f"{NAME}_") else f"{NAME}_{kind}"
    return {
        "error": {
            "code": _CODES.get(kind, _OTHER_CODE),
            "message": error.message,
            "data": {"reason": reason, "retryable": error.retryable, "recovery": {"hint": error.recovery}},
        }
    }


def _hit(article: EuropePMCArticle, spelled: Mapping[tuple[str, str], str], *, abstracts: bool) -> dict[str, Any]:
    hit = _members(article, spelled)
    if abstracts and article.abstract_text:
        truncated = len(article.abstract_text) > SNIPPET
        hit["abstractSnippet"] = article.abstract_text[:SNIPPET] + "…" if truncated else article.abstract_text
        hit["abstractTruncated"] = truncated
    return hit


def _members(article: EuropePMCArticle, spelled: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    names = ", ".join(author.display for author in article.authors if author.display)
    members = {
        "title": article.title,
        "journal": article.journal or article.journal_abbreviation,
        "authors": names or article.first_author,
        "year": article.year,
        "doi": _as_received(article.doi, spelled.get((article.epmc_source, article.epmc_id), "")),
        "pmid": article.pmid,
        "pmcId": article.pmcid,
        "source": article.epmc_source,
        "epmcId": article.epmc_id,
    }
    return {name: value for name, value in members.items() if value not in (None, "")}


def _as_received(doi: str | None, written: str) -> str | None:
    """A DOI in the case in which it came, bare; None if what came is none."""
    at = -1 if doi is None else written.lower().find(doi)
    return doi if doi is None or at < 0 else written[at : at + len(doi)]


def _dois(bodies: list[bytes]) -> dict[tuple[str, str], str]:
    """DOIs as the server wrote them, by source and id of the record."""
    found: dict[tuple[str, str], str] = {}
    for body in bodies:
        envelope = read_envelope(body)
        rows = [*inside("result")(envelope.get("resultList")), envelope.get("result")]
        for row in rows:
            if isinstance(row, dict) and isinstance(row.get("doi"), str) and row["doi"].strip():
                found[str(row.get("source")), str(row.get("id"))] = row["doi"].strip()
    return found


def _search_text(document: Mapping[str, Any]) -> str:
    lines = [
        f"Europe PMC: {len(document['hits'])} of {document['totalCount']} hits",
        f"Query: {cut(document['query'], 4_000)}",
        f"Cursor: {document['cursorMark']}",
    ]
    if "nextCursorMark" in document:
        lines.append(f'Next page: cursorMark="{document["nextCursorMark"]}"')
    if "notice" in document:
        lines.append(f"Notice: {document['notice']}")
    # The hits stand in the structured content once, and are not repeated here.
    lines += [f"{hit['source']}/{hit['epmcId']}: {hit.get('title', '[No title]')}" for hit in document["hits"]]
    return "\n".join(lines)


def _record_text(document: Mapping[str, Any]) -> str:
    lines = [f"{name}: {_line(value)}" for name, value in document["record"].items()]
    if "notice" in document:
        lines.append(f"Notice: {document['notice']}")
    return "\n".join(lines)


# --- size: a reply stays below the limit of clients; what identifies a record always stays


def _fit_search(document: dict[str, Any], notices: list[str]) -> None:
    """Make the page fit, as gently as can be: shorter lists of authors, then no abstracts from the end on, then short
    titles. All hits stay, for the next cursor continues behind them. Writes the notice."""
    hits: list[dict[str, Any]] = document["hits"]

    def excess(*more: str) -> int:
        said = [*notices, *more]
        if said:
            document["notice"] = " ".join(said)
        return size(_search_text(document)) + size(compact(document)) - MOST_BYTES

    if excess() <= 0:
        return
    for hit in hits:
        _shorten_authors(hit)
        _shorten_texts(hit, _LONGEST_MEMBER)
    note = f"Only the first {_MOST_AUTHORS} authors of each record are named, for length."
    if excess(note) <= 0:
        return
    left_out = (
        f"For length only the first {_MOST_AUTHORS} authors of each record are named, and abstracts are left out from "
        "hit {} on: ask with a smaller pageSize, or fetch."
    )
    over = excess(left_out)
    for number, hit in reversed(list(enumerate(hits, 1))):
        if "abstractSnippet" in hit:
            over -= size(compact({name: hit.pop(name) for name in ("abstractSnippet", "abstractTruncated")}))
            note = left_out.format(number)
            if over <= 0 and excess(note) <= 0:
                return
    for hit in hits:
        _shorten_texts(hit, _SHORT_TITLE)
    excess(note)


def _fit_record(document: dict[str, Any]) -> None:
    """Make a whole record fit: long lists first, the abstract last, and said so."""
    record: dict[str, Any] = document["record"]

    def fits() -> bool:
        return size(_record_text(document)) + size(compact(document)) <= MOST_BYTES

    if fits():
        return
    document["notice"] = f"Shortened for length; the whole record is at {record['epmcUrl']}."
    steps: list[Callable[[dict[str, Any]], None]] = [_shorten_authors, _shorten_lists]
    steps += [partial(_shorten_texts, longest=longest) for longest in (MOST_BYTES // 6, 2_000, _LONGEST_MEMBER)]
    for shorten in steps:
        shorten(record)
        if fits():
            return


def _shorten_authors(members: dict[str, Any]) -> None:
    names = members.get("authors", "").split(", ")
    if len(names) > _MOST_AUTHORS:
        members["authors"] = f"{', '.join(names[:_MOST_AUTHORS])}, and {len(names) - _MOST_AUTHORS:,} more"


def _shorten_lists(members: dict[str, Any]) -> None:
    for name, value in members.items():
        if isinstance(value, list):
            members[name] = value[:_FIRST_OF_A_LIST]


def _shorten_texts(members: dict[str, Any], longest: int) -> None:
    if len(members.get("doi", "")) > _LONGEST_MEMBER:
        del members["doi"]  # a part of it would be another one
    for name, value in members.items():
        if isinstance(value, list):
            members[name] = [item[:longest] for item in value]
        elif isinstance(value, str) and len(value) > longest and name not in _NEVER_CUT:
            members[name] = value[:longest] + "…"


def _line(value: Any) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)


def _require_enabled(transport: Transport) -> None:
    if not transport.settings.europepmc_enabled:
        raise source_error(NAME, "disabled", "Europe PMC is switched off (setting EUROPEPMC_ENABLED).")


def _text(arguments: Mapping[str, Any], name: str, default: str | None = None) -> str:
    value = arguments.get(name, default)
    if not isinstance(value, str):
        raise refused(NAME, f"{name}={one_line(str(value), 40)!r} is no text.")
    return value


def _texts(value: Any, name: str) -> list[str]:
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise refused(NAME, f"{name}={one_line(str(value), 40)!r} is no list of texts.")
    return list(value)


def _whole(value: Any, name: str) -> int:
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdecimal() and len(value) < 10:
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise refused(NAME, f"{name}={one_line(str(value), 40)!r} is no whole number.")
    return value
