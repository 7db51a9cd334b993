"""The bioRxiv and medRxiv API over corpora of posts, asked over HTTP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from literature_agent.sandbox import Corpus, SandboxServer


def details(client: httpx.Client, path: str, **parameters: str) -> dict[str, Any]:
    reply = client.get(f"/biorxiv/details/{path}", params=parameters)
    assert reply.status_code == 200
    answer: dict[str, Any] = reply.json()
    return answer


def test_a_window_lists_every_version_posted_in_it(client: httpx.Client) -> None:
    answer = details(client, "biorxiv/2024-01-01/2024-12-31/0/json")
    assert answer["messages"] == [
        {
            "status": "ok",
            "category": "all",
            "interval": "2024-01-01:2024-12-31",
            "funder": "all",
            "cursor": 0,
            "count": 2,
            "count_new_papers": "1",
            "total": "2",
        }
    ]
    assert [post["version"] for post in answer["collection"]] == ["1", "2"]


@pytest.mark.parametrize(
    "path",
    [
        "biorxiv/2023-01-01/2023-12-31/0/json",
        "biorxiv/2024-01-01/2024-12-31/30",
        "biorxiv/10.5555/2024.01.01.000000/na/json",
        "medrxiv/10.5555/2024.01.10.574001/na/json",
    ],
)
def test_nothing_there_is_said_with_200(client: httpx.Client, path: str) -> None:
    """K056 (cursor past the end) and K062 (the wrong server)."""
    assert details(client, path) == {"messages": [{"status": "no posts found"}], "collection": []}


@pytest.mark.parametrize("ending", ["na/json", "0/json", "na", ""])
def test_a_doi_gives_all_versions(client: httpx.Client, ending: str) -> None:
    answer = details(client, f"biorxiv/10.5555/2024.01.10.574001/{ending}")
    assert [post["version"] for post in answer["collection"]] == ["1", "2"]
    assert "cursor" not in answer["messages"][0]


def test_a_known_category_filters_and_an_unknown_one_is_ignored(client: httpx.Client) -> None:
    """K058: only the echo tells."""
    window = "biorxiv/2024-01-01/2024-12-31/0"
    known = details(client, window, category="Neuroscience")
    unknown = details(client, window, category="genomix")
    assert (known["messages"][0]["category"], known["messages"][0]["count"]) == ("neuroscience", 2)
    assert (unknown["messages"][0]["category"], unknown["messages"][0]["count"]) == ("all", 2)


def test_recent_posts_by_number_and_days(client: httpx.Client) -> None:
    assert [post["version"] for post in details(client, "biorxiv/1")["collection"]] == ["2"]
    assert len(details(client, "biorxiv/3000d")["collection"]) == 2
    assert details(client, "biorxiv/5d")["collection"] == []


def test_an_invalid_address_is_plain_text(client: httpx.Client) -> None:
    for path in ("arxiv/2024-01-01/2024-12-31/0", "biorxiv/yesterday", "biorxiv/"):
        assert client.get(f"/biorxiv/details/{path}").text.startswith("Error")


def test_pages_hold_thirty(tmp_path: Path) -> None:
    """K057: the step is what was received."""
    posts = [
        {
            "doi": f"10.5555/{n}",
            "version": "1",
            "server": "medRxiv",
            "date": f"2024-01-{n % 28 + 1:02d}",
            "title": str(n),
        }
        for n in range(70)
    ]
    (tmp_path / "posts.json").write_text(json.dumps({"collection": posts}), encoding="utf-8")
    corpus = Corpus.from_folder(tmp_path)
    with SandboxServer(corpus) as server, httpx.Client(base_url=server.base_url, timeout=60) as client:
        seen: list[str] = []
        for cursor, count in ((0, 30), (30, 30), (60, 10)):
            answer = details(client, f"medrxiv/2024-01-01/2024-01-31/{cursor}/json")
            assert (answer["messages"][0]["count"], answer["messages"][0]["total"]) == (count, "70")
            seen += [post["doi"] for post in answer["collection"]]
    assert len(set(seen)) == 70
    corpus.close()
