"""The preprints of a window that satisfy a query: versions folded, the newest ones first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from literature_agent.artifacts import BioRxivPreprint
from literature_agent.sources.biorxiv.categories import folded_category
from literature_agent.sources.biorxiv.client import Window
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
        versions = _versions(self.pages, self.window, set(wanted).__contains__)
        return tuple(preprint_of(versions[doi], self.window.server) for doi in wanted)


def find_hits(pages: Sequence[KeptPage], window: Window, wanted: Filter) -> Hits:
    """What of the pages satisfies the query.

    Pages are unpacked one at a time, and only numbers and dates of what matches are held, so that a long window needs
    hardly more memory than a short one.
    """
    looked_at, candidates = 0, set()
    for post in _posts(pages, window):
        looked_at += 1
        if _accepts(wanted, post):
            candidates.add(post.doi)
    newest: dict[str, tuple[tuple[int, str], bool]] = {}
    for post in _posts(pages, window) if candidates else ():
        if post.doi in candidates and (post.doi not in newest or newest[post.doi][0] < post.age):
            newest[post.doi] = post.age, _accepts(wanted, post)
    # What only an older version says, the preprint no longer says.
    dates = {doi: date for doi, ((_, date), accepted) in newest.items() if accepted}
    order = sorted(sorted(dates), key=lambda doi: dates[doi], reverse=True)
    return Hits(window, pages, tuple(order), looked_at)


def _accepts(wanted: Filter, post: Post) -> bool:
    return wanted.accepts(post.title, abstract_text(post.abstract) or "")


def _versions(pages: Iterable[KeptPage], window: Window, is_wanted: Callable[[str], bool]) -> dict[str, list[Post]]:
    found: dict[str, list[Post]] = {}
    for post in _posts(pages, window):
        if is_wanted(post.doi):
            found.setdefault(post.doi, []).append(post)
    return found


def _posts(pages: Iterable[KeptPage], window: Window) -> Iterator[Post]:
    """The posts in the window's days and category: the server ignores some categories that it has itself."""
    first, last = window.first.isoformat(), window.last.isoformat()
    for page in pages:
        for post in page.posts():
            in_days = not post.date or first <= post.date <= last
            if in_days and (window.category is None or folded_category(post.category) == window.category):
                yield post
