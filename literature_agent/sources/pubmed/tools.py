"""PubMed as tools: search and fetch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import BeforeValidator, Field

from literature_agent.artifacts import DetailedArticle
from literature_agent.errors import SourceError, source_error, told
from literature_agent.ids import strip_doi_version
from literature_agent.results import ErrorInfo, FetchResult, SearchResult
from literature_agent.sources._text import as_list
from literature_agent.sources.pubmed.client import LookUp, PubMedClient, Records
from literature_agent.sources.pubmed.hits import Hits
from literature_agent.sources.pubmed.query import NAME, REACH, Asked, limit_of, offset_of, plan_search, read_ids


@dataclass(frozen=True)
class PubMedTools:
    """The tools of PubMed over one client."""

    client: PubMedClient

    async def search_pubmed(
        self,
        query: Annotated[str, Field(description="Query in PubMed's grammar, sent unchanged", min_length=1)],
        *,
        max_results: Annotated[int, Field(description="Records wanted", ge=1, le=200)] = 10,
        page: Annotated[str | None, Field(description="`next_page` of the answer before, unchanged")] = None,
        date_from: Annotated[str | None, Field(description="First publication date, YYYY[-MM[-DD]]")] = None,
        date_to: Annotated[str | None, Field(description="Last publication date, YYYY[-MM[-DD]]")] = None,
        publication_types: Annotated[
            Sequence[str] | None,
            BeforeValidator(as_list),
            Field(description="Any of these types, such as Review or Randomized Controlled Trial"),
        ] = None,
        languages: Annotated[
            Sequence[str] | None, BeforeValidator(as_list), Field(description="Any of these languages, such as eng")
        ] = None,
        since_entry_date: Annotated[
            str | None, Field(description="Only records that entered PubMed on or after this date, YYYY[-MM[-DD]]")
        ] = None,
        sort: Annotated[str | None, Field(description="relevance (default), pub_date, author or journal")] = None,
    ) -> SearchResult:
        """Search PubMed, the index of peer-reviewed biomedicine. PubMed's grammar: AND OR NOT in capitals, "phrases", truncation*, field tags such as [ti], [tiab], [mesh], [au]. Hits come with the beginning of their abstracts, ranked by relevance; the answer says how PubMed read the query and what it left out; `next_page` continues the list."""  # noqa: E501
        async with self.client.transport.job("eutils", NAME):
            search = plan_search(
                query,
                date_from=date_from,
                date_to=date_to,
                publication_types=publication_types,
                languages=languages,
                since_entry_date=since_entry_date,
                sort=sort,
            )
            offset, limit = offset_of(page), limit_of(max_results)
            hits = await self.client.search(search, offset=offset, limit=min(limit, REACH - offset))
            records = await self.client.records(hits.pmids)
            # A misspelt word is left out, and the rest may well have hits.
            suggestion = await self.client.spelling(query) if hits.unknown or not hits.total else None
            shown = [records.read[pmid] for pmid in dict.fromkeys(hits.pmids) if pmid in records.read]
            after = offset + len(hits.pmids)
            more = bool(hits.pmids) and after < min(hits.total, REACH)
            error, unread = _unread(hits, records, offset=offset, limit=limit)
            if (search.start or "") > self.client.transport.now().strftime("%Y/%m/%d"):
                unread.append(f"date_from={date_from!r} lies in the future: only cover dates set ahead can match.")
            return SearchResult(
                status="empty" if not hits.total else "partial" if error else "ok",
                query_sent=search.term,
                query_interpreted=hits.translation,
                search_url=search.url,
                applied_filters=search.applied,
                warnings=(*search.warnings, *hits.warnings, *unread),
                notice=_notice(hits, suggestion),
                total=hits.total,
                returned=len(shown),
                page=str(offset) if offset else None,
                next_page=str(after) if more else None,
                artifacts=tuple(shown),
                error=ErrorInfo.of(error) if error else None,
            )

    async def fetch_pubmed(
        self,
        ids: Annotated[Sequence[str], Field(description="PMIDs, PMCIDs or DOIs, one an entry", max_length=2_000)],
    ) -> FetchResult:
        """Fetch whole PubMed records: abstract in sections, MeSH headings, chemicals, grants, cited works, and what PubMed says about corrections and retractions. Says which identifiers are unknown and which could not be read."""  # noqa: E501
        async with self.client.transport.job("eutils", NAME):
            asked, wrong = read_ids(ids)
            found = await self.client.look_up([one for one in asked if one.kind in ("doi", "pmcid")])
            wanted = dict.fromkeys([*(one.value for one in asked if one.kind == "pmid"), *found.candidates])
            return _joined(asked, wrong, found, await self.client.records(list(wanted)))

    search = search_pubmed
    fetch = fetch_pubmed


def _unread(hits: Hits, records: Records, *, offset: int, limit: int) -> tuple[SourceError | None, list[str]]:
    """What of the answer could not be read, as an error and in words."""
    error: SourceError | None = None
    words: list[str] = []
    if offset + limit > REACH and hits.total > REACH:
        error = source_error(
            NAME,
            "invalid_input",
            f"PubMed gives only the first {REACH:,} of these {hits.total:,} records.",
            recovery="Split the search by date (date_from, date_to), or narrow it.",
        )
        words.append(told(error))
    if missing := [pmid for pmid in hits.pmids if pmid not in records.read and pmid not in records.failed]:
        error = source_error(NAME, "not_found", f"{len(missing)} of the {len(hits.pmids)} records found are not there.")
        words.append(f"PubMed found but did not hand out: PMID {_some(missing)}.")
    if records.failed:
        error = next(iter(records.failed.values()))
        words.append(
            f"{len(records.failed)} of {len(hits.pmids)} records could not be read: PMID {_some(records.failed)}."
        )
    return error, words


def _some(pmids: Iterable[str]) -> str:
    listed = list(pmids)
    return ", ".join(listed[:10]) + (f" and {len(listed) - 10:,} more" if len(listed) > 10 else "")


def _notice(hits: Hits, suggestion: str | None) -> str | None:
    if suggestion:
        what = "left out words that it does not know" if hits.total else "found nothing"
        return f"PubMed {what}. Its spelling aid suggests: {suggestion}"
    if hits.total and not hits.pmids:
        return "The list ends before this page: there are no further records."
    return None if hits.total else "PubMed found nothing."


def _joined(asked: Sequence[Asked], wrong: dict[str, SourceError], found: LookUp, records: Records) -> FetchResult:
    """Records joined to the identifiers asked by those in them, not by position (K020); `wrong` are no identifiers."""
    by_value: dict[str, DetailedArticle] = {}
    # A notice may be filed under the DOI of the paper it is about; the paper is what was asked for.
    for article in sorted(records.read.values(), key=lambda article: article.is_notice):
        names = [article.pmid, article.pmcid, article.doi, *article.alternate_dois]
        for name in names:
            if name:
                by_value.setdefault(strip_doi_version(name), article)
    artifacts: dict[str, DetailedArticle] = {}
    not_found: list[str] = []
    failed: dict[str, SourceError] = {}
    unread = next((error for pmid, error in records.failed.items() if pmid in found.candidates), None)
    for one in asked:
        match = by_value.get(strip_doi_version(one.value)) if one.kind else None
        # Where a candidate could not be read, nobody knows whether it was the one.
        error = records.failed.get(one.value) if one.kind == "pmid" else found.failed.get(one) or unread
        if match is not None:
            artifacts.setdefault(match.pmid, match)
        elif error is not None and one.kind is not None:
            failed[one.text] = error
        else:
            not_found.append(one.text)
    if failed and not artifacts and not not_found:
        raise next(iter(failed.values()))
    return FetchResult(
        artifacts=tuple(artifacts.values()),
        not_found=tuple(not_found),
        failed={text: ErrorInfo.of(error) for text, error in (wrong | failed).items()},
    )
