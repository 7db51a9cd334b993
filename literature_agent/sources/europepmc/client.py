"""Asks Europe PMC's RESTful web service: requests as values, pages walked by cursor, identifiers joined to records."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple, TypeVar
from urllib.parse import quote

from literature_agent.artifacts import DetailedEuropePMCArticle, EuropePMCArticle, Provenance
from literature_agent.errors import InvalidInputError, SourceError, counted, refused, source_error
from literature_agent.ids import identify, normalise_pmcid, strip_doi_version
from literature_agent.results import ErrorInfo, FetchResult, FullTextReason
from literature_agent.sources._singly import ask_singly
from literature_agent.sources._text import one_line, quoted
from literature_agent.sources._xml import parse_xml
from literature_agent.sources.europepmc.parse import NAME, BareEnvelope, SearchPage, parse_article, parse_search
from literature_agent.sources.europepmc.query import CONTROL, phrase, sort_complaint
from literature_agent.transport import A_DAY, Transport, describe
from literature_agent.transport.messages import Answer, Received, Request, TransientAnswer

ArticleT = TypeVar("ArticleT", bound=EuropePMCArticle)

LONGEST_GET = 1500
"""Characters of a query sent in the address; longer ones go as a form (a very long address is answered 414)."""
BATCH = 25
"""Identifiers asked in one query; more have been answered 504."""
SINGLY = 3
"""So many identifiers, or fewer, are asked one by one from the start."""
MOST_IDS = 1000


# --- requests ---------------------------------------------------------------------------------------------------------


def search_request(
    query: str, *, cursor: str = "*", page_size: int = 25, result_type: str = "core", sort: str = ""
) -> Request:
    """`GET /search`, or `POST /searchPOST` for a long query."""
    params = [
        ("query", query),
        ("format", "json"),
        ("resultType", result_type),
        ("pageSize", str(page_size)),
        ("cursorMark", cursor),
    ]
    if sort:
        params.append(("sort", sort))
    if len(query) > LONGEST_GET:
        return Request(NAME, "europepmc", "searchPOST", form=tuple(params), accept="application/json", max_age_s=A_DAY)
    return Request(NAME, "europepmc", "search", params=tuple(params), accept="application/json", max_age_s=A_DAY)


def article_request(source: str, epmc_id: str) -> Request:
    """`GET /article/{source}/{id}`, the whole record."""
    path = f"article/{quote(source, safe='')}/{quote(epmc_id, safe='')}"
    return Request(
        NAME,
        "europepmc",
        path,
        params=(("resultType", "core"), ("format", "json")),
        accept="application/json",
        max_age_s=A_DAY,
    )


def full_text_request(full_text_id: str) -> Request:
    """`GET /{id}/fullTextXML`; the id alone, without its source."""
    path = f"{quote(full_text_id, safe='')}/fullTextXML"
    return Request(NAME, "europepmc", path, accept="application/xml", max_age_s=A_DAY)


# --- what an identifier asks for --------------------------------------------------------------------------------------

_SOURCES = frozenset({"MED", "PMC", "PPR", "PAT", "AGR", "CBA", "CTX", "ETH", "HIR", "CIT", "NBK"})
_OWN_ID = re.compile(r"([A-Za-z]{3}):\s?([A-Za-z0-9][A-Za-z0-9._-]{0,63})")


class Target(NamedTuple):
    """One identifier asked for, in its written form: `source` is Europe PMC's, or `DOI` or `PMCID`."""

    asked: str
    source: str
    value: str

    @property
    def clause(self) -> str:
        """The form of query that finds it: ids unquoted, and a PMCID without `SRC:PMC`, for the record of an indexed
        article is MED (K051)."""
        if self.source == "DOI":
            return f"DOI:{phrase(self.value)}"
        if self.source == "PMCID":
            return f"PMCID:{self.value}"
        return f"(EXT_ID:{self.value} AND SRC:{self.source})"

    @property
    def request(self) -> Request:
        if self.source in ("DOI", "PMCID"):
            return search_request(self.clause)
        return article_request(self.source, self.value)

    def names(self, article: EuropePMCArticle) -> bool:
        """Whether the record is the one asked for; neighbours have been answered."""
        if self.source == "DOI":
            return article.doi is not None and strip_doi_version(article.doi) == self.value
        if self.source == "PMCID":
            return article.pmcid == self.value
        return article.epmc_source == self.source and article.epmc_id.upper() == self.value.upper()


def target_of(asked: str) -> Target:
    """What `asked` names: PMID, PMCID, DOI, preprint id (`PPR...`) or `SRC:id`.

    Raises:
        InvalidInputError: it names nothing here; the message says what is taken.
    """
    text = asked.strip()
    known = None if CONTROL.search(text) or len(text) > 300 else identify(text)
    if known is not None and known.kind in _FROM_KIND:
        value = strip_doi_version(known.value) if known.kind == "doi" else known.value
        return Target(asked, _FROM_KIND[known.kind], value)
    if (own := _OWN_ID.fullmatch(text)) and (source := own[1].upper()) in _SOURCES - {"MED", "PMC"}:
        return Target(asked, source, own[2])
    if known is not None and known.kind == "nct":
        raise refused(NAME, f"{known.value} is a trial: fetch it from clinicaltrials.")
    raise refused(
        NAME,
        f"{quoted(asked)} is no identifier of Europe PMC: give a PMID, a PMCID (PMC...), a DOI, "
        "a preprint id (PPR...) or SRC:id such as AGR:IND123.",
    )


_FROM_KIND = {"doi": "DOI", "pmcid": "PMCID", "pmid": "MED", "ppr": "PPR", "nbk": "NBK"}


# --- answers ----------------------------------------------------------------------------------------------------------


def require_data(answer: Answer) -> bytes:
    """The body, if the answer is one.

    Raises:
        TransientAnswer: an empty body, or 404, which `/search` and `/article` give in outages only.
        InvalidInputError: the server refused the request (400, 414, 422).
        SourceError: a status that says nothing better.
    """
    if answer.status == 404:
        raise TransientAnswer("the service answered 404, as it does in outages")
    if answer.status in (400, 414, 422):
        said = "" if answer.looks_like_html() else one_line(answer.body[:2000].decode("utf-8", "replace"))
        raise refused(NAME, f"Europe PMC refused the request (status {answer.status}){': ' + said if said else '.'}")
    if answer.status not in (200, 204):
        raise source_error(NAME, "invalid_response", f"Europe PMC answered with status {answer.status}.")
    if not answer.body.strip():
        raise TransientAnswer("an empty answer came", kind="invalid_response")
    return answer.body


@dataclass(frozen=True)
class SearchPlan:
    """One search, checked and complete."""

    query: str
    limit: int
    page_size: int
    cursor: str = "*"
    result_type: str = "core"
    sort: str = ""
    several_sorts_fail: bool = True
    """Whether an empty envelope for several known sort fields is put down to their being several."""
    cursor_name: str = "page"
    """What the caller knows the cursor as."""

    def request(self, cursor: str, page_size: int) -> Request:
        return search_request(
            self.query, cursor=cursor, page_size=page_size, result_type=self.result_type, sort=self.sort
        )


@dataclass(frozen=True)
class Found:
    """What the walk over the pages brought."""

    total: int
    articles: tuple[EuropePMCArticle, ...]
    next_cursor: str | None
    """Continues right after the last article; None at the end of the list."""
    warnings: tuple[str, ...] = ()
    error: SourceError | None = None
    """Why something asked for is missing."""
    query_echo: str | None = None


@dataclass(frozen=True)
class FullTextXML:
    """A full text as JATS, or why there is none."""

    xml: bytes | None
    reason: FullTextReason | None = None


@dataclass(frozen=True)
class EuropePMCClient:
    """Europe PMC over one transport."""

    transport: Transport

    # --- search

    async def search(self, plan: SearchPlan) -> Found:
        """Records of a search, page after page until `limit`, the end of the list, or a page that fails.

        The list ends with an empty page, a page without a cursor or with a cursor seen before (K047, K048), or when the
        stated total has come; cursors are compared as they were sent and came, never with the echo (K049).

        Raises:
            SourceError: the first page failed; `InvalidInputError` if the server refused the query, sort or cursor.
        """
        found: dict[tuple[str, str], EuropePMCArticle] = {}
        unreadable: list[str] = []
        warnings: list[str] = []
        seen: set[str] = set()
        cursor: str | None = plan.cursor
        first: SearchPage | None = None
        failure: SourceError | None = None
        while cursor is not None and len(found) < plan.limit:
            seen.add(cursor)
            request = plan.request(cursor, min(plan.page_size, plan.limit - len(found)))
            try:
                page = await self._search_page(plan, request, is_first=first is None)
            except SourceError as failed:
                if first is None:
                    raise
                failure = failed
                break
            first = first or page
            unreadable += page.unreadable
            before = len(found)
            for article in page.articles:
                found.setdefault((article.epmc_source, article.epmc_id), article)
            # A record that has moved to a later page while the list was read counts once.
            came = len(found) + len(unreadable)
            ended = page.next_cursor in seen or (plan.cursor == "*" and came >= page.total)
            # A page of nothing but known records would go on for ever on a server that invents cursors.
            cursor = None if ended or len(found) == before else page.next_cursor
        assert first is not None
        if surplus := max(0, len(found) - plan.limit):
            warnings.append(f"Europe PMC sent {counted(surplus, 'record')} more than asked, left out here.")
        if cursor is None and plan.cursor == "*" and len(found) + len(unreadable) < first.total:
            warnings.append(
                f"Europe PMC states {counted(first.total, 'hit')}, but its list ended after "
                f"{counted(len(found), 'record')}."
            )
        if unreadable:
            warnings.append(f"{counted(len(unreadable), 'record')} could not be read: {'; '.join(unreadable[:3])}.")
            failure = failure or source_error(NAME, "invalid_response", warnings[-1])
        return Found(
            total=first.total,
            articles=tuple(found.values())[: plan.limit],
            next_cursor=cursor,
            warnings=tuple(warnings),
            error=failure,
            query_echo=first.query_echo,
        )

    async def _search_page(self, plan: SearchPlan, request: Request, *, is_first: bool) -> SearchPage:
        faults: list[TransientAnswer] = []

        def read(answer: Answer) -> SearchPage:
            page = parse_search(require_data(answer))
            if plan.cursor == "*" and is_first and page.total and not page.rows:
                raise TransientAnswer("hits are stated, but the first page is empty", kind="invalid_response")
            return page

        try:
            received = await self.transport.receive(
                request, read, keep=lambda page: not page.unreadable, heard=faults.append
            )
        except SourceError as failed:
            if not is_first or failed.reason != f"{NAME}_unreachable":
                raise
            raise _blamed(failed, plan, [isinstance(fault, BareEnvelope) for fault in faults]) from failed
        articles = _stamped(received.value.articles, request, received.at)
        self.transport.came(articles)
        return replace(received.value, articles=articles)

    # --- fetch

    async def fetch(self, ids: Sequence[str]) -> FetchResult:
        """Whole records, in the order asked, each joined to its identifier; one that two identifiers name comes once.

        Several identifiers are asked in one query; what that does not bring is asked singly (K052).

        Raises:
            InvalidInputError: too many identifiers, or none of them names a record of Europe PMC.
            SourceError: none could be answered because the service failed.
        """
        asked = tuple(dict.fromkeys(ids))
        if len(asked) > MOST_IDS:
            raise refused(
                NAME,
                f"{len(asked):,} identifiers were given, at most {MOST_IDS:,} are fetched in one call: split them.",
            )
        # Zeros are the form of a PMID that no record has: unknown, without asking (K013).
        missing = [text for text in asked if text.strip() and not text.strip().strip("0")]
        targets, wrong = _targets([text for text in asked if text not in missing])
        got: dict[str, DetailedEuropePMCArticle] = {}
        if len(targets) > SINGLY:
            # A query that fails costs no record: each is then asked for by itself.
            batches = await ask_singly(
                range(0, len(targets), BATCH), lambda start: self._fetch_together(targets[start : start + BATCH])
            )
            for part in batches.found.values():
                got |= part
        left = {target.asked: target for target in targets if target.asked not in got}
        singly = await ask_singly(left, lambda text: self._fetch_one(left[text]))
        got |= singly.found
        errors: dict[str, SourceError] = {**singly.failed, **wrong}
        missing += [text for text in left if text not in got and text not in errors]
        if errors and len(errors) == len(asked):
            raise next(iter(errors.values()))
        records = {
            (article.epmc_source, article.epmc_id): article for text in asked if (article := got.get(text)) is not None
        }
        return FetchResult(
            artifacts=tuple(records.values()),
            not_found=tuple(text for text in asked if text in missing),
            failed={text: ErrorInfo.of(errors[text]) for text in asked if text in errors},
        )

    async def _fetch_together(self, targets: Sequence[Target]) -> dict[str, DetailedEuropePMCArticle]:
        """What one query for all brings."""
        request = search_request(" OR ".join(target.clause for target in targets), page_size=4 * len(targets))
        received = await self.transport.receive(
            request,
            lambda answer: parse_search(require_data(answer), detailed=True),
            keep=lambda page: not page.unreadable,
        )
        articles = _stamped(received.value.articles, request, received.at)
        found = {target.asked: best for target in targets if (best := _best(target, articles)) is not None}
        self.transport.came(found.values())
        return found

    async def _fetch_one(self, target: Target) -> DetailedEuropePMCArticle | None:
        request = target.request

        def read(answer: Answer) -> tuple[EuropePMCArticle, ...]:
            body = require_data(answer)
            if request.path.startswith("article/"):
                article = parse_article(body)
                return (article,) if article is not None else ()
            return parse_search(body, detailed=True).articles

        received = await self.transport.receive(request, read, keep=bool)
        best = _best(target, _stamped(received.value, request, received.at))
        self.transport.came([] if best is None else [best])
        return best

    # --- full text

    async def full_text_xml(self, full_text_id: str) -> Received[FullTextXML]:
        """The JATS of an open access article (`PMC...`) or preprint (`PPR...`).

        404, 204 and an empty body mean that there is none: unknown here, or not open access; the service does not say
        which (K055).

        Raises:
            InvalidInputError: neither PMCID nor preprint id.
            SourceError: the service failed, which says nothing about the text (K045).
        """
        wanted = normalise_pmcid(full_text_id) or (full_text_id.strip().upper())
        if not re.fullmatch(r"(?:PMC|PPR)\d{1,12}", wanted):
            raise refused(NAME, f"{quoted(full_text_id)} has no full text here: give a PMCID (PMC...) or PPR id.")

        def read(answer: Answer) -> FullTextXML:
            if answer.status in (204, 404) or (answer.status == 200 and not answer.body.strip()):
                return FullTextXML(None, "not_open_access")
            body = require_data(answer)
            if b"<errorBean" in body[:1000]:
                return FullTextXML(None, "not_open_access")
            try:
                parse_xml(body, NAME)
            except SourceError as cut:
                raise TransientAnswer(cut.message, kind="invalid_response") from None
            return FullTextXML(body)

        return await self.transport.receive(full_text_request(wanted), read, keep=lambda text: text.xml is not None)


def _stamped(articles: Iterable[ArticleT], request: Request, at: datetime) -> tuple[ArticleT, ...]:
    """The records of one answer with where and when they were got, and when their corrections were looked up."""
    origin = Provenance(source=NAME, request=describe(request), retrieved_at=at)
    return tuple(
        article.model_copy(
            update={
                "provenance": (origin,),
                "correction_checked_at": None if article.correction_status == "unknown" else at,
            }
        )
        for article in articles
    )


def _blamed(failed: SourceError, plan: SearchPlan, bare: Sequence[bool]) -> SourceError:
    """The same failure with its likely cause: the server names no reason for a bad sort or cursor (K050).

    `bare` says of each attempt whether an empty envelope came. Now and then one comes for nothing, so that only a sort
    that is wrong by itself is blamed for a single one.
    """
    complaint = sort_complaint(plan.sort) if plan.sort else None
    if any(bare) and complaint:
        return refused(NAME, f"Europe PMC gave no answer with this sort: {complaint}.")
    always_bare = bool(bare) and all(bare)
    if always_bare and "," in plan.sort and plan.several_sorts_fail:
        return refused(
            NAME,
            f"Europe PMC gave no answer with the sort {quoted(plan.sort, 80)}: each of its fields is known, but "
            "together they are not taken. Sort by one field.",
        )
    if always_bare and plan.cursor != "*":
        return refused(
            NAME,
            f"Europe PMC gave no answer from the cursor {quoted(plan.cursor, 40)}: it is malformed or has expired. "
            f"Start again without `{plan.cursor_name}`.",
        )
    if plan.cursor != "*":
        return source_error(
            NAME,
            "unreachable",
            failed.message,
            recovery=f"Start again without `{plan.cursor_name}`; if that works, the cursor is malformed or has "
            "expired.",
        )
    return failed


def _targets(asked: Sequence[str]) -> tuple[tuple[Target, ...], dict[str, SourceError]]:
    targets: list[Target] = []
    wrong: dict[str, SourceError] = {}
    for text in asked:
        try:
            targets.append(target_of(text))
        except InvalidInputError as refusal:
            wrong[text] = refusal
    return tuple(targets), wrong


_RANK = {"MED": 0, "PMC": 1, "PPR": 2}


def _best(target: Target, articles: Iterable[EuropePMCArticle]) -> DetailedEuropePMCArticle | None:
    """The record asked for; where several sources hold it, the one Europe PMC curates most."""
    named = [article for article in articles if isinstance(article, DetailedEuropePMCArticle) and target.names(article)]
    return min(named, key=lambda article: _RANK.get(article.epmc_source, 9), default=None)
