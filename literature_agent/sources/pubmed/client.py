"""Asks PubMed through the E-utilities: ESearch for identifiers, EFetch for records, ESpell for a better spelling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from literature_agent.artifacts import DetailedArticle, Provenance
from literature_agent.errors import SourceError
from literature_agent.sources._eutils import eutils_request, is_empty_id_list, read_json, read_xml
from literature_agent.sources.pubmed.hits import Hits, hits_of, spelling_of
from literature_agent.sources.pubmed.parse import articles_of
from literature_agent.sources.pubmed.query import NAME, SORTS, Asked, Search
from literature_agent.transport import A_DAY, Answer, Request, TransientAnswer, Transport, describe

BATCH = 200
"""Records of one EFetch."""
SMALLEST_HALVED = 20
"""A failing batch of at most so many records is given up as a whole."""
_LOOK_UPS = 40
"""DOIs and PMCIDs asked for in one ESearch."""
_CANDIDATES = 5
"""Hits looked at for each of them: a notice may share the DOI of its paper."""
_PATIENCE_WITH_ESPELL_S = 5.0
"""A suggestion is worth no more; retries would otherwise hold up an answer that is complete."""

# Faults that may lie in what was asked for; a refusal of the client or its key does not go away in smaller pieces.
_WORTH_HALVING = frozenset(f"{NAME}_{kind}" for kind in ("unreachable", "timeout", "invalid_response"))


@dataclass(frozen=True)
class Records:
    """Records by PMID, and why others could not be read. A PMID in neither has no record."""

    read: Mapping[str, DetailedArticle] = field(default_factory=dict)
    failed: Mapping[str, SourceError] = field(default_factory=dict)

    def __or__(self, other: Records) -> Records:
        return Records({**self.read, **other.read}, {**self.failed, **other.failed})


@dataclass(frozen=True)
class LookUp:
    """PMIDs that PubMed's search offers for DOIs and PMCIDs: candidates, to be compared with the records themselves."""

    candidates: tuple[str, ...] = ()
    failed: Mapping[Asked, SourceError] = field(default_factory=dict)


def search_request(search: Search, *, offset: int, limit: int) -> Request:
    """ESearch for one page of identifiers. The first record has offset 0 (K012)."""
    params = [
        ("db", "pubmed"),
        ("term", search.term),
        ("retmode", "json"),
        ("retstart", str(offset)),
        ("retmax", str(limit)),
        ("sort", SORTS[search.sort]),
    ]
    if search.start and search.end:
        params += [("datetype", "pdat"), ("mindate", search.start), ("maxdate", search.end)]
    return eutils_request(NAME, "esearch.fcgi", params, max_age_s=A_DAY)


def records_request(pmids: Sequence[str]) -> Request:
    """EFetch for whole records; PubMed has no JSON of them."""
    params = [("db", "pubmed"), ("id", ",".join(pmids)), ("retmode", "xml")]
    return eutils_request(NAME, "efetch.fcgi", params, ids=len(pmids), max_age_s=A_DAY)


def look_up_request(asked: Sequence[Asked]) -> Request:
    """ESearch for the records that have any of these DOIs or PMCIDs."""
    terms = [f'"{one.value}"[aid]' if one.kind == "doi" else f"{one.value}[pmc]" for one in asked]
    params = [
        ("db", "pubmed"),
        ("term", " OR ".join(terms)),
        ("retmode", "json"),
        ("retmax", str(_CANDIDATES * len(asked))),
    ]
    return eutils_request(NAME, "esearch.fcgi", params, max_age_s=A_DAY)


def spelling_request(query: str) -> Request:
    """ESpell for the query."""
    return eutils_request(NAME, "espell.fcgi", [("db", "pubmed"), ("term", query)])


def read_records(answer: Answer) -> list[DetailedArticle]:
    """The records of an EFetch answer; none where EFetch knows none of the identifiers (K013).

    Raises:
        TransientAnswer: a passing fault, also an answer that is cut off or of another shape (K015, K017).
        SourceError: PubMed refused the request.
    """
    if is_empty_id_list(answer):
        return []
    root = read_xml(answer, NAME, "PubmedArticleSet", "PubmedArticle", "PubmedBookArticle")
    try:
        return articles_of(root)
    except SourceError as broken:
        raise TransientAnswer(broken.message, kind="invalid_response") from None


@dataclass(frozen=True)
class PubMedClient:
    """PubMed over one transport."""

    transport: Transport

    async def search(self, search: Search, *, offset: int, limit: int) -> Hits:
        """One page of identifiers.

        Raises:
            SourceError: PubMed gave no usable answer; InvalidInputError where it refused the query.
        """
        request = search_request(search, offset=offset, limit=limit)
        return await self.transport.send(
            request,
            lambda answer: hits_of(
                read_json(answer, NAME, "esearchresult"), query=search.query, offset=offset, limit=limit
            ),
        )

    async def records(self, pmids: Sequence[str]) -> Records:
        """Whole records in batches; a batch that fails is tried again in halves and costs no other (K017).

        A refusal, or two batches running of which nothing could be read, ends it: what is left is failed too.
        """
        found = Records()
        misses = 0
        for start in range(0, len(pmids), BATCH):
            batch = pmids[start : start + BATCH]
            got = await self._batch(batch)
            found |= got
            misses = misses + 1 if len(got.failed) == len(batch) else 0
            last = list(got.failed.values())[-1] if got.failed else None
            if last is not None and (misses == 2 or last.reason not in _WORTH_HALVING):
                return found | Records(failed=dict.fromkeys(pmids[start + BATCH :], last))
        return found

    async def look_up(self, asked: Sequence[Asked]) -> LookUp:
        """Candidates for DOIs and PMCIDs; a part that fails costs no other."""
        candidates: list[str] = []
        failed: dict[Asked, SourceError] = {}
        for start in range(0, len(asked), _LOOK_UPS):
            part = asked[start : start + _LOOK_UPS]
            try:
                candidates += await self._candidates(part)
            except SourceError as error:
                failed.update(dict.fromkeys(part, error))
        return LookUp(tuple(dict.fromkeys(candidates)), failed)

    async def spelling(self, query: str) -> str | None:
        """A better spelling of the query, if ESpell soon has one; its failure is no failure of the search."""
        with self.transport.deadline(_PATIENCE_WITH_ESPELL_S):
            try:
                return await self.transport.send(
                    spelling_request(query), lambda answer: spelling_of(read_xml(answer, NAME, "eSpellResult"))
                )
            except SourceError:
                return None

    async def _candidates(self, asked: Sequence[Asked]) -> tuple[str, ...]:
        limit = _CANDIDATES * len(asked)
        hits = await self.transport.send(
            look_up_request(asked),
            lambda answer: hits_of(read_json(answer, NAME, "esearchresult"), query="", limit=limit),
        )
        return hits.pmids

    async def _batch(self, pmids: Sequence[str]) -> Records:
        try:
            return await self._ask(pmids)
        except SourceError as error:
            return await self._halved(pmids, error)

    async def _halved(self, pmids: Sequence[str], error: SourceError) -> Records:
        """What the halves of a failed batch bring. While one half of two is well the other is halved again."""
        if len(pmids) <= SMALLEST_HALVED or error.reason not in _WORTH_HALVING:
            return Records(failed=dict.fromkeys(pmids, error))
        middle = len(pmids) // 2
        read = Records()
        broken: list[tuple[Sequence[str], SourceError]] = []
        for half in (pmids[:middle], pmids[middle:]):
            try:
                read |= await self._ask(half)
            except SourceError as again:
                broken.append((half, again))
        for half, fault in broken:
            read |= await self._halved(half, fault) if len(broken) == 1 else Records(failed=dict.fromkeys(half, fault))
        return read

    async def _ask(self, pmids: Sequence[str]) -> Records:
        request = records_request(pmids)
        asked = set(pmids)
        received = await self.transport.receive(
            request, read_records, keep=lambda articles: asked <= {article.pmid for article in articles}
        )
        stamp = {
            "provenance": (Provenance(source=NAME, request=describe(request), retrieved_at=received.at),),
            "correction_checked_at": received.at,
        }
        read = {a.pmid: a.model_copy(update=stamp) for a in received.value if a.pmid in asked}
        self.transport.came(read.values())
        return Records(read)
