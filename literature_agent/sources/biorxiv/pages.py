"""Pages of a window, kept small: what a search needs of each post, compressed."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from literature_agent.sources.biorxiv.categories import Server
from literature_agent.sources.biorxiv.highwire import Part
from literature_agent.sources.biorxiv.parse import Page, Post

MOST_KEPT_BYTES = 32 * 2**20
"""Compressed pages kept of one server; about 35,000 preprints."""


class Place(NamedTuple):
    """Names one page: the dates are days, `YYYY-MM-DD`."""

    server: Server
    first: str
    last: str
    category: str | None
    cursor: int


@dataclass(frozen=True, slots=True)
class KeptPage:
    """One page of a window; the posts of 20,000 preprints take about as many kilobytes."""

    place: Place
    received_at: datetime
    packed: bytes
    rows: int
    total: int | None
    category: str | None
    unreadable: tuple[str, ...]

    @classmethod
    def of(cls, page: Page, place: Place, received_at: datetime) -> KeptPage:
        plain = json.dumps(page.posts, ensure_ascii=False, separators=(",", ":")).encode()
        return cls(place, received_at, zlib.compress(plain, 9), page.rows, page.total, page.category, page.unreadable)

    def posts(self) -> Iterator[Post]:
        for doi, version, date, title, abstract, *rest in json.loads(zlib.decompress(self.packed)):
            yield Post(doi, version, date, title, tuple(Part(label, text) for label, text in abstract), *rest)


class KeptPages:
    """Pages of one server, of days that have ended: they do not change, so they are asked once as long as the transport
    is open.

    The pages longest unused go first when there is too much.
    """

    def __init__(self, most_bytes: int = MOST_KEPT_BYTES) -> None:
        self.reading = asyncio.Lock()
        """Held by the search that reads a window: searches of one turn for the same window ask for it once."""
        self._pages: OrderedDict[Place, KeptPage] = OrderedDict()
        self._most, self._bytes = most_bytes, 0

    def __len__(self) -> int:
        return len(self._pages)

    def __contains__(self, place: Place) -> bool:
        return place in self._pages

    def get(self, place: Place) -> KeptPage | None:
        page = self._pages.get(place)
        if page is not None:
            self._pages.move_to_end(place)
        return page

    def put(self, page: KeptPage) -> None:
        known = self._pages.pop(page.place, None)
        self._bytes += len(page.packed) - (len(known.packed) if known else 0)
        self._pages[page.place] = page
        while self._bytes > self._most and len(self._pages) > 1:
            _, oldest = self._pages.popitem(last=False)
            self._bytes -= len(oldest.packed)
