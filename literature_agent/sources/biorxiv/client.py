"""Asks the bioRxiv API: windows of days read page by page, preprints by DOI at both servers."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import NamedTuple, TypeVar
from urllib.parse import quote

from literature_agent.artifacts import BioRxivPreprint, DetailedPreprint, Provenance
from literature_agent.errors import InvalidInputError, SourceError, counted, refused, source_error
from literature_agent.ids import identify, strip_doi_version
from literature_agent.results import ErrorInfo, FetchResult
from literature_agent.sources._singly import ask_singly
from literature_agent.sources._text import quoted
from literature_agent.sources.biorxiv.categories import LABELS, Server
from literature_agent.sources.biorxiv.pages import KeptPage, KeptPages, Place
from literature_agent.sources.biorxiv.parse import Page, parse_details, whole_preprint_of
from literature_agent.transport import A_DAY, Progress, Transport, describe
from literature_agent.transport.messages import Answer, Request, TransientAnswer

PreprintT = TypeVar("PreprintT", bound=BioRxivPreprint)

MOST_IDS = 200

PREFIXES = ("10.1101", "10.64898", "10.5555")
"""Registrants of preprint DOIs: both servers use the first two (K059); the third is for invented records."""

_DAY_HAS_ENDED = timedelta(hours=12)
"""West of everything, a day of the calendar ends so long after it ended in UTC."""


# --- requests ---------------------------------------------------------------------------------------------------------


def window_request(place: Place, source: Server, *, ended: bool) -> Request:
    """`GET /details/{server}/{from}/{to}/{cursor}/json`; the cursor counts rows and is written out (K057).

    `ended`: all its days are past, so an answer that was stored will do; the others may still grow.
    """
    params = (("category", place.category),) if place.category else ()
    path = f"details/{place.server}/{place.first}/{place.last}/{place.cursor:d}/json"
    return Request(source, "biorxiv", path, params=params, accept="application/json", max_age_s=None if ended else 0)


def versions_request(server: Server, doi: str, source: Server) -> Request:
    """`GET /details/{server}/{doi}/na/json`: all versions of one preprint."""
    path = f"details/{server}/{quote(doi, safe='/().:;-_')}/na/json"
    return Request(source, "biorxiv", path, accept="application/json", max_age_s=A_DAY)


# --- a window ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Window:
    """Posts of one server from `first` to `last`, both included, days of the calendar."""

    server: Server
    first: date
    last: date
    category: str | None = None

    @property
    def label(self) -> str:
        return f"{LABELS[self.server]} from {self.first} to {self.last}" + (
            f", category {self.category!r}" if self.category else ""
        )


@dataclass
class Reading:
    """What came of reading a window."""

    pages: list[KeptPage] = field(default_factory=list)
    came: list[KeptPage] = field(default_factory=list)
    """All that is there of the window, also where its reading is cut."""
    expected_pages: int = 0
    """As the server's totals have it."""
    expected_rows: int | None = 0
    rows: int = 0
    asked: int = 0
    """Requests made; the other pages were kept from an earlier search."""
    seconds: float = 0.0
    """What the window takes at the pace, told before it was read."""
    warnings: list[str] = field(default_factory=list)
    error: SourceError | None = None
    """Why something of the window is missing."""


class _Part(NamedTuple):
    """A run of days with its first page; days that have ended are kept, the others are asked anew each time."""

    place: Place
    ended: bool
    first: KeptPage

    @property
    def pages(self) -> int:
        size, total = self.first.rows, self.first.total
        return 0 if not size else 1 if total is None else max(1, math.ceil(total / size))


@dataclass(frozen=True)
class BioRxivClient:
    """Both servers over one transport. `name` is the source asked for, whose name errors carry."""

    transport: Transport
    name: Server = "biorxiv"

    async def read(self, window: Window, reading: Reading) -> None:
        """Every page of the window, kept small; pages read before and of days that have ended are not asked again.

        Whoever cuts this has in `reading` what came until then.

        Raises:
            SourceError: the first page failed.
            InvalidInputError: the window has more pages than the setting `biorxiv_max_pages` allows.
        """
        kept = self.transport.kept(window.server, KeptPages)
        try:
            async with asyncio.timeout(self.transport.time_left()):
                await kept.reading.acquire()
        except TimeoutError:
            raise source_error(
                self.name, "timeout", "The window was still being read for another search when the deadline came."
            ) from None
        try:
            await self._read(window, kept, reading)
        finally:
            kept.reading.release()

    async def _read(self, window: Window, kept: KeptPages, reading: Reading) -> None:
        parts: list[_Part] = []
        for place, ended in self._runs(window):
            try:
                parts.append(_Part(place, ended, await self._page(place, kept if ended else None, reading)))
            except SourceError as failed:
                if not parts:
                    raise
                reading.error = _about(failed, f"The days from {place.first} on could not be read.")
        reading.expected_pages = sum(part.pages for part in parts)
        totals = [part.first.total if part.first.rows else 0 for part in parts]
        reading.expected_rows = None if None in totals else sum(total or 0 for total in totals)
        await self._require_readable(window, parts, kept, reading)
        unread = sum(_unread(part, kept) for part in parts)
        reading.seconds = unread * self.transport.pace_interval("biorxiv")
        self._tell(
            window, reading, f"{LABELS[window.server]}: {counted(reading.expected_pages, 'page')} in the window", unread
        )
        for part in parts:
            await self._read_part(window, part, kept, reading)
        if reading.error is None and reading.expected_rows is not None and reading.rows < reading.expected_rows:
            reading.warnings.append(
                f"{LABELS[window.server]} states {reading.expected_rows:,} versions in this window, but its list ended "
                f"after {reading.rows:,}: there are no more."
            )
        if unreadable := [what for page in reading.pages for what in page.unreadable]:
            reading.warnings.append(
                f"{counted(len(unreadable), 'row')} could not be read: {'; '.join(unreadable[:3])}."
            )
            reading.error = reading.error or source_error(self.name, "invalid_response", reading.warnings[-1])

    def _runs(self, window: Window) -> list[tuple[Place, bool]]:
        """The window as places to ask: the days that have ended everywhere, and those that may still grow."""
        ended = (self.transport.now() - _DAY_HAS_ENDED).date() - timedelta(days=1)

        def place(first: date, last: date) -> Place:
            return Place(window.server, first.isoformat(), last.isoformat(), window.category, 0)

        if not window.first <= ended < window.last:
            return [(place(window.first, window.last), window.last <= ended)]
        return [(place(window.first, ended), True), (place(ended + timedelta(days=1), window.last), False)]

    async def _require_readable(
        self, window: Window, parts: Sequence[_Part], kept: KeptPages, reading: Reading
    ) -> None:
        """Refuses a window of too many pages. A total that is larger than what exists does not count (K056)."""
        limit = self.transport.settings.biorxiv_max_pages
        if reading.expected_pages <= limit:
            return
        longest = max(parts, key=lambda part: part.pages)
        beyond = longest.place._replace(cursor=longest.first.rows * limit)
        if not (await self._page(beyond, kept if longest.ended else None, reading)).rows:
            reading.expected_pages = limit
            return
        days = (window.last - window.first).days + 1
        fitting = days * limit // reading.expected_pages
        ways = [f"narrow it to about {counted(fitting, 'day')}"] if fitting else []
        ways += ["name a category"] if window.category is None else []
        advice = ", ".join([*ways, f"{'or ' if ways else ''}search europepmc with SRC:PPR in the query."])
        interval = self.transport.pace_interval("biorxiv")
        raise refused(
            self.name,
            f"The window {window.label} has {reading.expected_pages:,} pages"
            + (f" (about {_duration(reading.expected_pages * interval)})" if interval else "")
            + f", at most {limit:,} are read.",
            advice[0].upper() + advice[1:],
        )

    async def _read_part(self, window: Window, part: _Part, kept: KeptPages, reading: Reading) -> None:
        """The pages of one run of days, to the end of its list or the first page that fails."""
        page, cursor, received, total = part.first, 0, 0, part.first.total
        limit = self.transport.settings.biorxiv_max_pages
        while page.rows:
            reading.pages.append(page)
            received += page.rows
            reading.rows += page.rows
            done, of = len(reading.pages), max(reading.expected_pages, len(reading.pages))
            self._tell(window, reading, f"{LABELS[window.server]}: page {done:,} of {of:,} read", of - done)
            cursor += page.rows
            if total is not None:
                # What is posted meanwhile makes the list longer.
                total = max(total, page.total or 0)
            if received >= total if total is not None else page.rows < part.first.rows:
                return
            if len(reading.pages) >= limit + (total is not None):
                reading.error = source_error(
                    self.name,
                    "invalid_response",
                    f"The list of {LABELS[window.server]} goes on after {done:,} pages, the most that are read.",
                    recovery="Narrow the window.",
                )
                return
            try:
                page = await self._page(part.place._replace(cursor=cursor), kept if part.ended else None, reading)
            except SourceError as failed:
                reading.error = reading.error or _about(failed, f"{done:,} of {of:,} pages of the window were read.")
                return

    async def _page(self, place: Place, kept: KeptPages | None, reading: Reading) -> KeptPage:
        if kept is not None and (known := kept.get(place)) is not None:
            reading.came.append(known)
            return known
        request = window_request(place, self.name, ended=kept is not None)

        def read(answer: Answer) -> Page:
            page = self._read_answer(answer)
            if page.total and not page.rows and not place.cursor:
                raise TransientAnswer(f"{page.total:,} versions are stated and none listed", kind="invalid_response")
            return page

        # A list that ends before its stated total may have been cut short by a fault: its end is not stored.
        received = await self.transport.receive(
            request, read, keep=lambda page: not page.unreadable and bool(page.rows or not place.cursor)
        )
        reading.asked += not received.was_stored
        page = KeptPage.of(received.value, place, received.at)
        reading.came.append(page)
        if kept is not None and not page.unreadable:
            kept.put(page)
        return page

    def _read_answer(self, answer: Answer) -> Page:
        """The answer, read.

        Raises:
            TransientAnswer: a line of text or nothing came where data was asked for.
            SourceError: a status that is no answer; what is not there is answered with 200 and an empty list.
        """
        if answer.status not in (200, 204):
            raise source_error(self.name, "invalid_response", f"The bioRxiv API answered with status {answer.status}.")
        return parse_details(answer.body)

    def _tell(self, window: Window, reading: Reading, text: str, left: int) -> None:
        seconds = left * self.transport.pace_interval("biorxiv")
        text += f", about {_duration(seconds)} to go" if seconds >= 1 else ""
        self.transport.report(Progress(window.server, len(reading.pages), reading.expected_pages, text + "."))

    # --- fetch

    async def fetch(self, ids: Sequence[str]) -> FetchResult:
        """Preprints by DOI with all versions, in the order asked; what one server lacks is asked of the other (K062).

        Raises:
            InvalidInputError: too many identifiers, or none of them is a preprint DOI.
            SourceError: none could be answered because the service failed.
        """
        asked = tuple(dict.fromkeys(ids))
        if len(asked) > MOST_IDS:
            raise refused(
                self.name, f"{len(asked):,} DOIs were given, at most {MOST_IDS} are fetched in one call: split them."
            )
        dois: dict[str, str] = {}
        errors: dict[str, SourceError] = {}
        for text in asked:
            try:
                dois[text] = self._doi(text)
            except InvalidInputError as refusal:
                errors[text] = refusal
        singly = await ask_singly(dict.fromkeys(dois.values()), self._fetch_one)
        errors |= {text: singly.failed[doi] for text, doi in dois.items() if doi in singly.failed}
        if errors and len(errors) == len(asked):
            raise errors[asked[0]]
        return FetchResult(
            artifacts=tuple(singly.found.values()),
            not_found=tuple(text for text in asked if text not in errors and dois[text] not in singly.found),
            failed={text: ErrorInfo.of(errors[text]) for text in asked if text in errors},
        )

    def _doi(self, text: str) -> str:
        known = identify(text) if len(text) <= 300 and not re.search(r"[\x00-\x1f\x7f]", text.strip()) else None
        if known is None or known.kind != "doi":
            raise refused(
                self.name,
                f"{quoted(text)} is no DOI of a preprint: give one such as 10.1101/2024.01.02.24300691.",
            )
        doi = strip_doi_version(known.value)
        if doi.partition("/")[0] not in PREFIXES:
            raise refused(
                self.name,
                f"{quoted(doi, 80)} is not of bioRxiv or medRxiv, whose DOIs begin with 10.1101 or 10.64898: "
                "fetch it from pubmed or europepmc.",
            )
        return doi

    async def _fetch_one(self, doi: str) -> DetailedPreprint | None:
        """From the server of this source, else from the other; None if both answered that they have no such DOI."""
        failed: SourceError | None = None
        for server in sorted(LABELS, key=lambda server: server != self.name):
            request = versions_request(server, doi, self.name)
            try:
                page, received_at, _ = await self.transport.receive(
                    request, self._read_answer, keep=lambda page: bool(page.posts)
                )
            except SourceError as failure:
                failed = failed or failure
                continue
            own = [at for at, post in enumerate(page.posts) if post.doi == doi]
            if own:
                versions = Page(tuple(page.posts[at] for at in own), tuple(page.contacts[at] for at in own))
                preprint = stamped(whole_preprint_of(versions, server), request, server, received_at)
                self.transport.came([preprint])
                return preprint
        if failed is not None:
            raise failed
        return None


def stamped(preprint: PreprintT, request: Request, server: Server, received_at: datetime) -> PreprintT:
    """The record with where and when it was got, and when a withdrawal was seen."""
    origin = Provenance(source=server, request=describe(request), retrieved_at=received_at)
    checked = None if preprint.correction_status == "unknown" else received_at
    return preprint.model_copy(update={"provenance": (origin,), "correction_checked_at": checked})


def _about(failed: SourceError, what: str) -> SourceError:
    """The same failure, with what it cost."""
    return SourceError(
        f"{what} {failed.message}", reason=failed.reason, retryable=failed.retryable, recovery=failed.recovery
    )


def _unread(part: _Part, kept: KeptPages) -> int:
    """Pages still to be asked for, the first one not counted."""
    cursors = [number * part.first.rows for number in range(1, part.pages)]
    return len(cursors) - sum(part.ended and part.place._replace(cursor=cursor) in kept for cursor in cursors)


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} minutes"
