"""Asks PMC: articles from EFetch, identifiers from the ID converter, links from ELink."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from literature_agent.artifacts import PMCArticle, Provenance
from literature_agent.errors import SourceError, source_error
from literature_agent.results import ErrorInfo, FetchResult, FullTextReason
from literature_agent.sources._eutils import eutils_request
from literature_agent.sources._jats import JatsArticle, choose
from literature_agent.sources._text import first_day
from literature_agent.sources.pmc.parse import (
    NAME,
    BatchRefused,
    Conversion,
    IdType,
    read_articles,
    read_conversions,
    read_links,
)
from literature_agent.transport import A_DAY, Transport, describe
from literature_agent.transport.messages import Answer, Request

ID_BATCH = 200
"""Most identifiers of one call of the ID converter."""


# --- requests ---------------------------------------------------------------------------------------------------------


def articles_request(pmcids: Sequence[str]) -> Request:
    """EFetch of whole articles."""
    digits = ",".join(pmcid.removeprefix("PMC") for pmcid in pmcids)
    params = [("db", "pmc"), ("id", digits), ("retmode", "xml")]
    return eutils_request(NAME, "efetch.fcgi", params, ids=len(pmcids), max_age_s=A_DAY)


def conversion_request(id_type: IdType, ids: Sequence[str]) -> Request:
    """`GET` of the ID converter. The type is always sent: without it a DOI is read as a PMID."""
    return Request(
        NAME,
        "pmc",
        "tools/idconv/api/v1/articles/",
        params=(("ids", ",".join(ids)), ("idtype", id_type), ("format", "json"), ("versions", "no")),
        accept="application/json",
        max_age_s=A_DAY,
    )


def links_request(pmid: str) -> Request:
    """ELink from a PubMed record to its own full text."""
    params = [("dbfrom", "pubmed"), ("db", "pmc"), ("linkname", "pubmed_pmc"), ("cmd", "neighbor"), ("id", pmid)]
    return eutils_request(NAME, "elink.fcgi", [*params, ("retmode", "json")], max_age_s=A_DAY)


# --- what comes back --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fetched:
    """What EFetch gave for one PMCID: an article, or none, and why there is nothing to read."""

    provenance: Provenance
    article: JatsArticle | None = None
    reason: FullTextReason | None = None
    """None: the article has its text."""


@dataclass(frozen=True)
class Conversions:
    """Answers of the ID converter by identifier; each one asked is in exactly one of the three."""

    found: dict[str, Conversion] = field(default_factory=dict)
    not_in_pmc: tuple[str, ...] = ()
    failed: dict[str, SourceError] = field(default_factory=dict)


@dataclass(frozen=True)
class PMCClient:
    """PMC over one transport."""

    transport: Transport

    async def article(self, pmcid: str) -> Fetched:
        """The article of that PMCID, chosen by its id, and why it has no text if so.

        Raises:
            SourceError: PMC gave no usable answer, which says nothing about the text (K045).
        """
        request = articles_request([pmcid])
        found, at, _ = await self.transport.receive(
            request, read_articles, keep=lambda found: choose(found.articles, pmcid) is not None
        )
        origin = Provenance(source=NAME, request=describe(request), retrieved_at=at)
        article = choose(found.articles, pmcid)
        if article is None:
            if found.articles and pmcid not in found.unavailable:
                raise source_error(NAME, "invalid_response", f"PMC answered with another article than {pmcid}.")
            return Fetched(origin, reason="not_in_pmc")
        return Fetched(origin, article, why_without_text(article, at.date().isoformat()))

    async def fetch(self, pmcids: Mapping[str, str]) -> FetchResult:
        """Whole articles, in the order asked; `pmcids` gives the written form of each identifier as asked.

        An article whose text PMC does not give comes as a citation without sections.

        Raises:
            SourceError: none could be answered because PMC failed.
        """
        articles: dict[str, PMCArticle] = {}
        missing: list[str] = []
        failed: dict[str, SourceError] = {}
        for text, pmcid in pmcids.items():
            if pmcid in articles:
                continue
            try:
                fetched = await self.article(pmcid)
            except SourceError as error:
                failed[text] = error
                continue
            if fetched.article is None:
                missing.append(text)
            else:
                articles[pmcid] = fetched.article.record([fetched.provenance], pmcid=pmcid, with_text=True)
        if failed and not articles and not missing:
            raise next(iter(failed.values()))
        return FetchResult(
            artifacts=tuple(articles.values()),
            not_found=tuple(missing),
            failed={text: ErrorInfo.of(error) for text, error in failed.items()},
        )

    async def convert(self, id_type: IdType, ids: Iterable[str]) -> Conversions:
        """What the ID converter knows of identifiers of one kind, in their written form (`PMC123`: K019).

        A batch that is refused for one identifier is asked again in halves; one that is refused alone is not in PMC.
        """
        asked = list(dict.fromkeys(ids))
        found: dict[str, Conversion] = {}
        absent: list[str] = []
        failed: dict[str, SourceError] = {}
        waiting = [asked[start : start + ID_BATCH] for start in range(0, len(asked), ID_BATCH)]
        while waiting:
            batch = waiting.pop(0)
            try:
                answered = await self._converted(id_type, batch)
            except SourceError as error:
                failed |= dict.fromkeys(batch, error)
                continue
            except BatchRefused:
                if len(batch) == 1:
                    absent += batch
                else:
                    middle = len(batch) // 2
                    waiting[:0] = [batch[:middle], batch[middle:]]
                continue
            for name in batch:
                conversion = answered.get(name)
                if conversion is not None and conversion.pmcid is not None:
                    found[name] = conversion
                else:
                    absent.append(name)
        return Conversions(found, tuple(absent), failed)

    async def linked_pmcid(self, pmid: str) -> str | None:
        """PMCID of the full text of a PubMed record, by ELink; a fallback for the ID converter, which is more reliable.

        Raises:
            SourceError: ELink gave no usable answer.
        """
        # Under load ELink leaves links out: that there is none is not stored.
        links = (await self.transport.receive(links_request(pmid), read_links, keep=bool)).value
        return links[0] if links else None

    async def _converted(self, id_type: IdType, batch: Sequence[str]) -> dict[str, Conversion]:
        def read(answer: Answer) -> dict[str, Conversion]:
            return read_conversions(answer, id_type, batch)

        return await self.transport.send(conversion_request(id_type, batch), read)


def why_without_text(article: JatsArticle, today: str) -> FullTextReason | None:
    """Why an article has no text; None if it has one. `today` is `YYYY-MM-DD`."""
    if article.has_body:
        return None
    if article.is_embargoed or (article.released is not None and first_day(article.released) > today):
        return "embargoed"
    return "publisher_restricted" if article.is_restricted else "no_body"
