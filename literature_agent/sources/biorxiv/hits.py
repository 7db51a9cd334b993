"""The preprints of a window that satisfy a query: versions folded, the newest ones first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from literature_agent.artifacts import BioRxivPreprint
from literature_agent.sources.biorxiv.categories import folded_category
from literature_agent.sources.biorxiv.client import Window, stamped, window_request
from literature_agent.sources.biorxiv.highwire import abstract_text
from literature_agent.sources.biorxiv.pages import KeptPage
from literature_agent.sources.biorxiv.parse import Post, preprint_of
from literature_agent.sources.biorxiv.query import Filter


@dataclass(frozen=True)
class Hits:
    """Preprints whose newest version in the window satisfies the query."""

    window: Window
    pages: Sequence[KeptPage]
    order: tuple[str, ...]
    """Their DOIs, newest first."""
    looked_at: int
    """Versions in the window and category."""

    def preprints(self, start: int, end: int) -> tuple[BioRxivPreprint, ...]:
        """Records of `order[start:end]`, one for each preprint (K061)."""
        wanted = self.order[start:end]
        found: dict[str, list[tuple[Post, KeptPage]]] = {doi: [] for doi in wanted}
        for page in self.pages if wanted else ():
            for post in _posts(page, self.window):
                if post.doi in found:
                    found[post.doi].append((post, page))
        return tuple(self._preprint(found[doi]) for doi in wanted)

    def _preprint(self, versions: Sequence[tuple[Post, KeptPage]]) -> BioRxivPreprint:
        _, page = max(versions, key=lambda version: version[0].age)
        return stamped(
            preprint_of([post for post, _ in versions], self.window.server),
            window_request(page.place, self.window.server, ended=True),
            self.window.server,
            page.received_at,
        )


def find_hits(pages: Sequence[KeptPage], window: Window, wanted: Filter) -> Hits:
    """What of the pages satisfies the query.

    Pages are unpacked one at a time, and only numbers and dates of what matches are held, so that a long window needs
    hardly more memory than a short one.
    """
    looked_at, candidates = 0, set()
    for page in pages:
        for post in _posts(page, window):
            looked_at += 1
            if _accepts(wanted, post):
                candidates.add(post.doi)
    newest: dict[str, tuple[tuple[int, str], bool]] = {}
    for page in pages if candidates else ():
        for post in _posts(page, window):
            if post.doi in candidates and (post.doi not in newest or newest[post.doi][0] < post.age):
                newest[post.doi] = post.age, _accepts(wanted, post)
    # What only an older version says, the preprint no longer says.
    dates = {doi: date for doi, ((_, date), accepted) in newest.items() if accepted}
    order = sorted(sorted(dates), key=lambda doi: dates[doi], reverse=True)
    return Hits(window, pages, tuple(order), looked_at)


def _accepts(wanted: Filter, post: Post) -> bool:
    return wanted.accepts(post.title, abstract_text(post.abstract) or "")


def _posts(page: KeptPage, window: Window) -> Iterator[Post]:
    """The posts in the window's days and category: the server ignores some categories that it has itself."""
    first, last = window.first.isoformat(), window.last.isoformat()
    for post in page.posts():
        in_days = not post.date or first <= post.date <= last
        if in_days and (window.category is None or folded_category(post.category) == window.category):
            yield post
