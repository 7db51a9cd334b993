"""Asks Europe PMC which records cite one (`/citations`) and which it cites (`/references`).

Both are lists of short records without abstracts, in pages by number. Works that Europe PMC could not match to a record
have no identifier: they are counted, not listed.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Literal
from urllib.parse import quote

from literature_agent.sources._text import clean_text, year_of
from literature_agent.sources.europepmc.client import require_data
from literature_agent.sources.europepmc.parse import NAME, read_envelope, read_hit_count
from literature_agent.sources.europepmc.upstream import inside
from literature_agent.transport import A_DAY, Answer, Request, TransientAnswer, Transport

CitationKind = Literal["citations", "references"]
PAGE = 1000
"""Records of one page, the most there may be."""

_MEMBERS: dict[CitationKind, tuple[str, str]] = {
    "citations": ("citationList", "citation"),
    "references": ("referenceList", "reference"),
}


@dataclass(frozen=True)
class Listed:
    """One record of a list; `id_text` is what `fetch` takes."""

    id_text: str
    year: int | None = None


@dataclass(frozen=True)
class Listing:
    """One or two pages of a list, in Europe PMC's order."""

    total: int
    records: tuple[Listed, ...]
    unmatched: int = 0
    """Works of these pages that have no record."""


def listing_request(kind: CitationKind, source: str, epmc_id: str, page: int = 1) -> Request:
    """`GET /{source}/{id}/citations` or `/references`, one page."""
    path = f"{quote(source, safe='')}/{quote(epmc_id, safe='')}/{kind}"
    params = (("page", str(page)), ("pageSize", str(PAGE)), ("format", "json"))
    # `/references` has been in maintenance by itself.
    return Request(NAME, "europepmc", path, params=params, accept="application/json", max_age_s=A_DAY, part=kind)


def parse_listing(body: bytes, kind: CitationKind) -> Listing:
    """The list in an answer.

    Raises:
        TransientAnswer: a broken answer, or a count without its records.
        InvalidInputError: the server refused the request.
    """
    envelope = read_envelope(body)
    total = read_hit_count(envelope)
    outer, inner = _MEMBERS[kind]
    rows = inside(inner)(envelope.get(outer))
    if total and not rows:
        raise TransientAnswer("records are counted, but none is listed", kind="invalid_response")
    found: dict[str, Listed] = {}
    unmatched = 0
    for row in rows:
        name = _id_text(row)
        if name is None:
            unmatched += 1
        else:
            found.setdefault(name, Listed(name, year_of(str(row.get("pubYear") or ""))))
    return Listing(total, tuple(found.values()), unmatched)


async def listed(transport: Transport, kind: CitationKind, source: str, epmc_id: str) -> Listing:
    """The records that cite, or are cited by, the record `source`/`epmc_id`.

    A list of those that cite it begins with the oldest: of a long one the last two pages are read.

    Raises:
        SourceError: Europe PMC gave no usable answer.
    """

    def read(answer: Answer) -> Listing:
        return parse_listing(require_data(answer), kind)

    async def ask(page: int) -> Listing:
        return await transport.send(listing_request(kind, source, epmc_id, page), read)

    first = await ask(1)
    last = ceil(first.total / PAGE)
    if kind == "references" or last <= 1:
        return first
    earlier, newest = first if last == 2 else await ask(last - 1), await ask(last)
    records = tuple(dict.fromkeys((*earlier.records, *newest.records)))
    return Listing(newest.total, records, earlier.unmatched + newest.unmatched)


def _id_text(row: object) -> str | None:
    if not isinstance(row, dict) or not row.get("id") or not row.get("source"):
        return None
    source, number = clean_text(str(row["source"])).upper(), clean_text(str(row["id"]))
    return number if source in ("MED", "PMC", "PPR") else f"{source}:{number}"
