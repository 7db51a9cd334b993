"""The bioRxiv and medRxiv API over a corpus: windows of dates in pages, and all versions of one DOI."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence
from typing import Any

from literature_agent.sandbox.corpus_index import Corpus
from literature_agent.sandbox.messages import Reply, Request, json_reply, text_reply

_PAGE = 30
_DATE = re.compile(r"^\d{4}-\d{2}-\d{2}$")
_RECENT_DAYS = re.compile(r"^(\d{1,4})d$")
_SERVERS = {"biorxiv", "medrxiv"}
# The API ignores these although its servers have them.
_IGNORED_CATEGORIES = {
    "biorxiv": {"epidemiology", "clinical trials"},
    "medrxiv": {"vascular medicine"},
}

Preprint = dict[str, Any]


class BiorxivAnswers:
    def __init__(self, corpus: Corpus, *, today: Callable[[], datetime.date]) -> None:
        self._today = today
        self._posts: dict[str, list[Preprint]] = {name: [] for name in _SERVERS}
        for post in corpus.preprints.values():
            self._posts.get(str(post["server"]).lower(), []).append(post)
        for posts in self._posts.values():
            posts.sort(key=lambda post: (str(post.get("date")), str(post["doi"]), int(post["version"])))

    def details(self, request: Request, path: str) -> Reply:
        """`/details/{server}/...`: `2026-08-01/2026-08-02/0`, `7d/0`, `50/0`, or a DOI with `na`."""
        server, _, rest = path.strip("/").partition("/")
        posts = self._posts.get(server.lower())
        if posts is None or not rest:
            return text_reply("Error : invalid request\n")
        parts = [part for part in rest.split("/") if part]
        if parts and parts[-1].lower() == "json":
            parts.pop()
        if parts and parts[0].startswith("10."):
            return self._versions(posts, parts)
        if len(parts) >= 2 and _DATE.match(parts[0]) and _DATE.match(parts[1]):
            chosen = [post for post in posts if parts[0] <= str(post.get("date")) <= parts[1]]
            return self._page(request, server.lower(), chosen, f"{parts[0]}:{parts[1]}", parts[2:])
        if parts and (recent := _RECENT_DAYS.match(parts[0])):
            first = (self._today() - datetime.timedelta(days=int(recent[1]))).isoformat()
            chosen = [post for post in posts if str(post.get("date")) >= first]
            return self._page(request, server.lower(), chosen, parts[0], parts[1:])
        if parts and parts[0].isascii() and parts[0].isdecimal() and len(parts[0]) < 6:
            chosen = posts[-int(parts[0]) :] if int(parts[0]) else []
            return self._page(request, server.lower(), chosen, parts[0], parts[1:])
        return text_reply("Error : invalid request\n")

    def _versions(self, posts: Sequence[Preprint], parts: Sequence[str]) -> Reply:
        doi = "/".join(part for part in parts if part.lower() not in {"na", "0"}).lower()
        found = [post for post in posts if str(post["doi"]).lower() == doi]
        return (
            json_reply({"messages": [{"status": "ok", "category": "all"}], "collection": found}) if found else _none()
        )

    def _page(
        self, request: Request, server: str, posts: Sequence[Preprint], interval: str, rest: Sequence[str]
    ) -> Reply:
        cursor = int(rest[0]) if rest and rest[0].isascii() and rest[0].isdecimal() and len(rest[0]) < 10 else 0
        category = " ".join(request.get("category").lower().replace("_", " ").split())
        known = {str(post.get("category", "")).lower() for post in self._posts[server]} - _IGNORED_CATEGORIES[server]
        # An unknown category is not refused: the answer is unfiltered and says `all`.
        applied = category if category in known else "all"
        if applied != "all":
            posts = [post for post in posts if str(post.get("category", "")).lower() == applied]
        page = list(posts[cursor : cursor + _PAGE])
        if not page:
            return _none()
        message = {
            "status": "ok",
            "category": applied,
            "interval": interval,
            "funder": "all",
            "cursor": cursor,
            "count": len(page),
            "count_new_papers": str(sum(str(post["version"]) == "1" for post in posts)),
            "total": str(len(posts)),
        }
        return json_reply({"messages": [message], "collection": page})


def _none() -> Reply:
    return json_reply({"messages": [{"status": "no posts found"}], "collection": []})
