"""bioRxiv and medRxiv as tools: a window of days searched by words, and preprints by DOI."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Annotated

from pydantic import BeforeValidator, Field

from literature_agent.errors import refused
from literature_agent.results import ErrorInfo, FetchResult, SearchResult
from literature_agent.sources._text import date_bounds, first_day, last_day, quoted, require_number
from literature_agent.sources.biorxiv.categories import LABELS, Server, known_category
from literature_agent.sources.biorxiv.client import BioRxivClient, Reading, Window
from literature_agent.sources.biorxiv.hits import Hits, find_hits
from literature_agent.sources.biorxiv.query import read_query

MOST_RESULTS = 10_000


def _lower(value: object) -> object:
    return value.strip().lower() if isinstance(value, str) else value


@dataclass(frozen=True)
class BioRxivTools:
    """The tools of one server over one client; both servers have tools of the same names."""

    client: BioRxivClient

    async def search_biorxiv(
        self,
        query: Annotated[
            str, Field(description="Words to find in title or abstract; immun* for endings", min_length=1)
        ],
        *,
        date_from: Annotated[str, Field(description="First day of the window, YYYY-MM-DD")],
        date_to: Annotated[str, Field(description="Last day of the window, YYYY-MM-DD")],
        server: Annotated[
            Server | None, BeforeValidator(_lower), Field(description="biorxiv (biology) or medrxiv (health)")
        ] = None,
        category: Annotated[
            str | None, Field(description="Subject category of the server, such as neuroscience")
        ] = None,
        max_results: Annotated[int, Field(description="Records wanted", ge=1, le=200)] = 10,
        page: Annotated[str | None, Field(description="`next_page` of the answer before, unchanged")] = None,
    ) -> SearchResult:
        """Search the preprints that bioRxiv or medRxiv posted in a window of days. The servers have no keyword search: every page of the window is read at about one page of 30 a second and filtered by title and abstract, so keep the window to days or a few weeks, or name a category. Words match whole; AND OR NOT in capitals, "phrases", parentheses, beginnings with *. Hits come newest first, one for each preprint."""  # noqa: E501
        return await self.search(
            query,
            max_results=max_results,
            page=page,
            date_from=date_from,
            date_to=date_to,
            category=category,
            server=server,
        )

    async def search(
        self,
        query: str,
        *,
        max_results: int = 10,
        page: str | None = None,
        date_from: str | None = None,
        date_to: str | None = None,
        category: str | None = None,
        server: Server | None = None,
    ) -> SearchResult:
        """`search_biorxiv`, which refuses a missing window in words.

        Raises:
            InvalidInputError: no window, or one of too many pages; a malformed query; an unknown category.
            SourceError: no page of the window could be read.
        """
        name = self.client.name
        if server is not None and server != name:
            raise refused(
                name,
                f"server={quoted(server, 40)} is not searched here: this run may ask {LABELS[name]} only.",
                f"Leave `server` out, or write {name!r}.",
            )
        wanted = read_query(query, name)
        window = self._window(date_from, date_to, known_category(category, name))
        offset, limit = self._offset(page), require_number(max_results, "max_results", MOST_RESULTS, name)
        reading = Reading()
        try:
            async with self.client.transport.job("biorxiv", name):
                await self.client.read(window, reading)
            # A long window takes seconds to filter, in which the event loop must not stand still.
            hits = await asyncio.to_thread(find_hits, reading.pages, window, wanted)
        except asyncio.CancelledError:
            self.client.transport.came(find_hits(reading.came, window, wanted).preprints(offset, offset + limit))
            raise
        preprints = hits.preprints(offset, offset + limit)
        total, after = len(hits.order), offset + len(preprints)
        filters = {
            "server": LABELS[name],
            "date_from": window.first.isoformat(),
            "date_to": window.last.isoformat(),
            "category": window.category,
        }
        return SearchResult(
            status="partial" if reading.error else "ok" if total else "empty",
            query_sent=query,
            query_interpreted=wanted.written,
            applied_filters={key: value for key, value in filters.items() if value},
            warnings=(*wanted.warnings, *self._warnings(window, reading), *reading.warnings),
            notice=_notice(window, reading, hits, is_past_the_end=bool(total) and not preprints),
            total=total,
            returned=len(preprints),
            page=str(offset) if offset else None,
            next_page=str(after) if preprints and after < total else None,
            artifacts=preprints,
            error=ErrorInfo.of(reading.error) if reading.error else None,
        )

    async def fetch_biorxiv(
        self,
        ids: Annotated[Sequence[str], Field(description="DOIs of preprints, 10.1101/... or 10.64898/...")],
    ) -> FetchResult:
        """Fetch whole preprint records from bioRxiv or medRxiv: newest abstract, all versions, funders, and the DOI of the journal version. Asks the other server before it says that a DOI is unknown."""  # noqa: E501
        async with self.client.transport.job("biorxiv", self.client.name):
            return await self.client.fetch((ids,) if isinstance(ids, str) else tuple(str(one) for one in ids))

    fetch = fetch_biorxiv

    def _window(self, date_from: str | None, date_to: str | None, category: str | None) -> Window:
        name = self.client.name
        start, end = date_bounds(
            None if date_from is None else str(date_from), None if date_to is None else str(date_to), source=name
        )
        if start is None or end is None:
            lacking = [f"`{key}`" for key, value in (("date_from", start), ("date_to", end)) if value is None]
            missing = f"{' and '.join(lacking)} {'is' if len(lacking) == 1 else 'are'}"
            raise refused(
                name,
                f"{LABELS[name]} has no keyword search: its posts are read for a window of days and filtered, and "
                f"{missing} missing.",
                "Give date_from and date_to, at most a few weeks apart, or search europepmc with SRC:PPR in the query.",
            )
        return Window(name, date.fromisoformat(first_day(start)), date.fromisoformat(last_day(end)), category)

    def _offset(self, page: str | None) -> int:
        text = (page or "").strip()
        if not text:
            return 0
        if not re.fullmatch(r"[0-9]{1,9}", text):
            raise refused(
                self.client.name, f"page={quoted(text, 40)} is no `next_page` of an answer: give it back unchanged."
            )
        return int(text)

    def _warnings(self, window: Window, reading: Reading) -> list[str]:
        found = []
        if window.category and any(page.category not in (window.category, None) for page in reading.pages):
            found.append(
                f"{LABELS[window.server]} ignores the category {window.category!r}: the whole window was read and "
                "filtered here."
            )
        if window.first > self.client.transport.now().date():
            found.append(f"date_from={window.first} lies in the future: nothing can have been posted yet.")
        return found


def _notice(window: Window, reading: Reading, hits: Hits, *, is_past_the_end: bool) -> str:
    """What was read for this answer, and what its absence of hits means."""
    read, kept = len(reading.pages), len(reading.pages) - reading.asked
    said = [f"{window.label}: {read:,} of {max(read, reading.expected_pages):,} pages read, {reading.rows:,} versions"]
    if kept > 0:
        said.append(f"{kept:,} pages kept from an earlier search")
    if reading.seconds >= 1:
        said.append(f"estimated at {reading.seconds:.0f} s by the pace before reading")
    sentences = [", ".join(said) + "."]
    if is_past_the_end:
        sentences.append("The list of hits ends before this page.")
    elif not hits.order and reading.error is None:
        sentences.append(
            f"None of the {hits.looked_at:,} versions has the query in title or abstract; words match whole, "
            "write immun* for endings."
            if hits.looked_at
            else "Nothing was posted in this window."
        )
    return " ".join(sentences)
