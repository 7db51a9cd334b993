"""Europe PMC as tools: search and fetch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import BeforeValidator, Field

from literature_agent.artifacts import EuropePMCArticle
from literature_agent.errors import source_error
from literature_agent.results import ErrorInfo, FetchResult, SearchResult
from literature_agent.sources._text import as_list, date_bounds, first_day, require_number
from literature_agent.sources.europepmc.client import EuropePMCClient, SearchPlan
from literature_agent.sources.europepmc.parse import NAME
from literature_agent.sources.europepmc.query import (
    DEFAULT_SOURCES,
    LARGEST_PAGE,
    MOST_RESULTS,
    EuropePMCSource,
    ResultType,
    effective_query,
    known_sources,
    listed,
    result_type_sent,
    search_page_url,
    sort_sent,
    start_cursor,
    warnings_about,
)

REVIEWED, UNREVIEWED = 0.9, 0.75
"""Prior of a record: peer reviewed, or a preprint."""


@dataclass(frozen=True)
class EuropePMCTools:
    """The tools of Europe PMC over one client."""

    client: EuropePMCClient

    async def search_europepmc(
        self,
        query: Annotated[str, Field(description="Query in Europe PMC's grammar", min_length=1)],
        *,
        max_results: Annotated[int, Field(description="Records wanted", ge=1, le=200)] = 10,
        page: Annotated[str | None, Field(description="`next_page` of the answer before, unchanged")] = None,
        sources: Annotated[
            Sequence[EuropePMCSource],
            BeforeValidator(as_list),
            Field(description="MED PubMed, PMC papers only in PMC, PPR preprints, PAT patents, AGR Agricola"),
        ] = DEFAULT_SOURCES,
        date_from: Annotated[str | None, Field(description="First publication date, YYYY[-MM[-DD]]")] = None,
        date_to: Annotated[str | None, Field(description="Last publication date, YYYY[-MM[-DD]]")] = None,
        publication_types: Annotated[
            Sequence[str] | None,
            BeforeValidator(as_list),
            Field(description="Any of these types, such as review or randomized controlled trial"),
        ] = None,
        sort: Annotated[
            str | None,
            Field(description="Relevance if absent, else FIELD asc|desc; P_PDATE_D CITED AUTH_FIRST PUB_YEAR"),
        ] = None,
        cursor_mark: Annotated[str | None, Field(description="Another name of page; give one of them")] = "*",
        page_size: Annotated[int | None, Field(description="Records per request", ge=1, le=100)] = None,
        result_type: Annotated[ResultType, Field(description="core has abstracts, lite has none")] = "core",
    ) -> SearchResult:
        """Search Europe PMC: PubMed, papers found only in PMC, and preprints in one index, full texts included; patents
        and Agricola on request. Europe PMC's grammar: AND OR NOT, "phrases", FIELD:term such as TITLE_ABS: or
        PUB_YEAR:[2020 TO 2026]. Hits come in the server's order, with abstracts; `next_page` continues the list."""
        async with self.client.transport.job("europepmc"):
            self._require_enabled()
            named = known_sources(sources or DEFAULT_SOURCES)
            start, end = date_bounds(_text(date_from), _text(date_to), source=NAME)
            effective = effective_query(
                query,
                sources=named,
                date_from=start,
                date_to=end,
                publication_types=publication_types or (),
            )
            limit = require_number(max_results, "max_results", MOST_RESULTS, NAME)
            size = require_number(
                min(limit, LARGEST_PAGE) if page_size is None else page_size, "page_size", LARGEST_PAGE, NAME
            )
            cursor, order, rows = start_cursor(page, cursor_mark), sort_sent(sort), result_type_sent(result_type)
            found = await self.client.search(SearchPlan(effective, limit, size, cursor, rows, order))
            scored = tuple(
                article.model_copy(update={"relevance_score": UNREVIEWED if article.is_preprint else REVIEWED})
                for article in found.articles
            )
            notices: list[str] = []
            if found.total == 0:
                notices.append(f"Europe PMC has no record for this query in {', '.join(named)}.")
            elif not scored and found.error is None:
                notices.append("The list ends here: there are no further records.")
            if order.startswith("P_PDATE_D ") and named == ("PPR",):
                scored = _by_date(scored, newest_first=order.split(",")[0].endswith(" desc"))
                notices.append(
                    "Europe PMC does not sort preprints by P_PDATE_D: these records are sorted here by the date they "
                    "were first published, within this page of results only. PUB_YEAR sorts the whole list."
                )
            elif order.startswith("P_PDATE_D ") and "PPR" in named:
                notices.append("P_PDATE_D does not sort preprints; search them apart, or sort by PUB_YEAR.")
            warnings = [*warnings_about(query), *found.warnings]
            if start and first_day(start) > self.client.transport.now().date().isoformat():
                warnings.append(f"date_from={start!r} lies in the future: only cover dates set ahead can match.")
            filters = {
                "sources": ", ".join(named),
                "date_from": start,
                "date_to": end,
                "publication_types": ", ".join(listed(publication_types or (), "publication_types")),
                "sort": order,
            }
            return SearchResult(
                status="partial" if found.error else "ok" if found.total or scored else "empty",
                query_sent=effective,
                query_interpreted=found.query_echo if found.query_echo != effective else None,
                search_url=search_page_url(effective),
                applied_filters={name: value for name, value in filters.items() if value},
                warnings=tuple(warnings),
                notice=" ".join(notices) or None,
                total=found.total,
                returned=len(scored),
                page=None if cursor == "*" else cursor,
                next_page=found.next_cursor,
                artifacts=scored,
                error=ErrorInfo.of(found.error) if found.error else None,
            )

    async def fetch_europepmc(
        self,
        ids: Annotated[
            Sequence[str], Field(description="PMID, PMCID, DOI, preprint id (PPR...) or SRC:id such as AGR:IND123")
        ],
    ) -> FetchResult:
        """Fetch whole Europe PMC records: abstract in sections, MeSH, chemicals, grants, corrections, and the journal
        version of a preprint. Says which identifiers are unknown and which could not be read."""
        async with self.client.transport.job("europepmc"):
            self._require_enabled()
            return await self.client.fetch((ids,) if isinstance(ids, str) else tuple(str(one) for one in ids))

    search = search_europepmc
    fetch = fetch_europepmc

    def _require_enabled(self) -> None:
        if not self.client.transport.settings.europepmc_enabled:
            raise source_error(NAME, "disabled", "Europe PMC is switched off (setting EUROPEPMC_ENABLED).")


def _text(value: object) -> str | None:
    """A year given as a number, or a date of Python's, as it is written."""
    return None if value is None else str(value)


def _by_date(articles: tuple[EuropePMCArticle, ...], *, newest_first: bool) -> tuple[EuropePMCArticle, ...]:
    """Sorted by date; records without one come last either way."""
    dated = sorted((a for a in articles if a.published), key=lambda a: a.published or "", reverse=newest_first)
    return (*dated, *(a for a in articles if not a.published))
