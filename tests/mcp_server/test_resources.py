"""Resources and prompts."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError

from literature_agent.artifacts import Author, CitedWork, DetailedArticle, Grant, PubMedArticle
from literature_agent.mcp_server.policy import STDIO, Consumer
from literature_agent.mcp_server.replies import MOST_BYTES
from literature_agent.mcp_server.shelf import Shelf
from literature_agent.registry import Reference
from tests.mcp_server.conftest import Connect, page_of, text_of


async def shown(client: Client) -> str:
    """The key of a work that was shown."""
    found = await client.call_tool("search_pubmed", {"query": "metformin cognition", "max_results": 1})
    (reference,) = found.structured_content["references"]
    return str(reference[-11:-1])


async def test_the_whole_record_of_a_reference_is_a_resource(connect: Connect) -> None:
    async with connect() as client:
        key = await shown(client)
        for uri in (f"citation://{key}", f"citation://{key.lower()}", f"citation://{key}/"):
            record = json.loads(page_of(await client.read_resource(uri)))
            assert record["reference"] == f"«artifact:link:cite~{key}»"
            assert record["doi"].startswith("10.5555/")
            assert record["abstract_text"]
            assert record["authors"]
        listed = {resource.uri for resource in (await client.list_resources()).resources}
        assert f"citation://{key}" in listed
        templates = {each.uri_template for each in (await client.list_resource_templates()).resource_templates}
        assert templates == {"citation://{key}", "run://{run_id}", "guide://{source}", "bibliography://{keys}"}


async def test_a_work_that_was_evicted_says_so(connect: Connect, tmp_path: Path) -> None:
    """And one that never was here does not."""
    async with connect() as client:
        key = await shown(client)
    shelf = Shelf(tmp_path / "mcp", STDIO, retention_days=30)
    assert shelf.prune(datetime.now(UTC) + timedelta(days=31)) == 1
    shelf.close()
    async with connect() as client:
        with pytest.raises(MCPError, match=r"was here and is evicted: it was not shown for 30 days\. Search"):
            await client.read_resource(f"citation://{key}")
        with pytest.raises(MCPError, match="Unknown resource"):
            await client.read_resource("citation://0000000000")
        gone = await client.call_tool("fetch_pubmed", {"references": [f"«artifact:link:cite~{key}»"]})
        assert "is unknown" in text_of(gone)
        assert await shown(client) == key
        assert json.loads(page_of(await client.read_resource(f"citation://{key}")))["pmid"]


async def test_the_server_tells_its_sources_and_limits(connect: Connect) -> None:
    async with connect(Consumer(name=STDIO, tools=("search_pubmed",), calls_per_day=7)) as client:
        about = json.loads(page_of(await client.read_resource("literature://server")))
        assert about["tools"] == ["search_pubmed"]
        assert {source["name"] for source in about["sources"]} >= {"pubmed", "europepmc"}
        assert about["limits"]["calls_per_day"] == 7
        for resource in (await client.list_resources()).resources:
            if resource.uri.startswith("guide://"):
                assert page_of(await client.read_resource(resource.uri)).startswith("## ")
        assert client.instructions is not None
        assert "Copy references exactly" in client.instructions


@pytest.mark.parametrize(
    "uri",
    [
        "nosuch://x",
        "citation://",
        "citation://../x",
        "guide://nosuch",
        "run://nosuch",
        "bibliography://ABC",
        "x" * 5000,
    ],
)
async def test_a_resource_that_is_not_there_is_a_short_typed_error(connect: Connect, uri: str) -> None:
    async with connect() as client:
        with pytest.raises(MCPError) as refused:
            await client.read_resource(uri)
    assert refused.value.code == -32602
    assert len(refused.value.message) < 150


# --- prompts


async def test_prompts_take_text_and_only_the_subject_is_required(connect: Connect) -> None:
    """K106: lists are text parted by commas, and what has a default is marked optional."""
    async with connect() as client:
        for prompt in (await client.list_prompts()).prompts:
            assert prompt.arguments is not None
            subject, *others = prompt.arguments
            assert subject.required is True
            assert [argument.required for argument in others] == [False, False]
            assert "parted by commas" in (others[0].description or "")
            got = await client.get_prompt(
                prompt.name, {subject.name: "Metformin & $cognition", "focus_areas": "dose, safety ,", "since": "null"}
            )
            (message,) = got.messages
            assert message.content.type == "text"
            assert "Metformin & $cognition" in message.content.text
            assert "dose; safety" in message.content.text
            assert "Published since: no limit" in message.content.text


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("nosuch", {}, "Unknown prompt"),
        ("research_plan", {}, "question"),
        ("research_plan", {"question": "x", "model": "y"}, "model"),
        ("gap_analysis", {"topic": "x" * 5_000}, "topic"),
    ],
)
async def test_a_prompt_that_can_t_be_filled_is_a_typed_error(
    connect: Connect, name: str, arguments: dict[str, str], said: str
) -> None:
    async with connect() as client:
        with pytest.raises(MCPError, match=said):
            await client.get_prompt(name, arguments)


# --- what is kept


def article(number: int) -> PubMedArticle:
    return PubMedArticle(pmid=f"9000{number:04}", title=f"Invented paper {number}", doi=f"10.5555/kept.{number}")


@pytest.mark.parametrize(
    "members",
    [
        {"cited_works": [CitedWork(citation=f"Invented reference {number}") for number in range(2_000)]},
        {"abstract_text": "словo " * 10_000},
        {"authors": [Author(family=f"Invented{number}", given="日本" * 10) for number in range(1_500)]},
        {"abstract_text": "x" * 60_000, "title": "y" * 60_000, "grants": [Grant(grant_id="1", agency="z" * 60_000)]},
    ],
    ids=["references", "abstract", "authors", "everything"],
)
async def test_a_record_too_long_for_a_reply_is_shortened_and_stays_json(
    connect: Connect, tmp_path: Path, members: dict[str, Any]
) -> None:
    shelf = Shelf(tmp_path / "mcp", STDIO, retention_days=30)
    record = DetailedArticle(**{"pmid": "90000001", "doi": "10.5555/long", "title": "Invented", **members})
    reference = str(shelf.registry.hold(record))
    shelf.note_shown([reference], datetime.now(UTC))
    shelf.close()
    async with connect() as client:
        page = page_of(await client.read_resource(f"citation://{reference[-11:-1]}"))
    assert len(page.encode()) <= MOST_BYTES
    shown = json.loads(page)
    assert (shown["pmid"], shown["doi"], shown["reference"]) == ("90000001", "10.5555/long", reference)
    assert "left out for length" in page


async def test_an_answer_too_long_for_a_reply_says_where_the_rest_is(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with connect() as client:
        answer = await client.call_tool("literature_aggregator", {"question": "Does metformin slow cognitive decline?"})
        uri = f"run://{answer.structured_content['run_id']}"
        whole = page_of(await client.read_resource(uri))
        monkeypatch.setattr("literature_agent.mcp_server.resources.MOST_BYTES", 1_000)
        short = page_of(await client.read_resource(uri))
    assert len(short.encode()) <= 1_000 < len(whole)
    kept, _, said = short.partition("\n\n(Cut for length.")
    assert whole.startswith(kept)
    assert "citation://KEY" in said


def test_what_is_shown_again_is_kept_and_what_is_not_goes(tmp_path: Path) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    shelf = Shelf(tmp_path, "c", retention_days=10)
    old, again, never = [str(reference) for reference in shelf.registry.hold_all([article(1), article(2), article(3)])]
    shelf.note_shown([old, again], start)
    assert shelf.prune(start + timedelta(days=9)) == 0
    shelf.note_shown([again], start + timedelta(days=9))
    assert shelf.prune(start + timedelta(days=12)) == 1
    assert [each for each in (old, again, never) if each in shelf.registry] == [again, never]
    # Held and never shown: its time began with the first look.
    assert shelf.prune(start + timedelta(days=20)) == 2
    assert len(shelf.registry) == 0
    reference = Reference.parse(old)
    assert reference is not None
    assert shelf.was_evicted(reference)
    assert not shelf.was_shown(reference)
    # What was evicted can be found again under its old key.
    assert str(shelf.registry.hold(article(1))) == old
    shelf.prune(start + timedelta(days=1000))
    assert not shelf.was_evicted(reference)
    shelf.close()


def test_a_shelf_lies_in_its_folder_whatever_the_consumer_is_called(tmp_path: Path) -> None:
    folder = tmp_path / "mcp"
    for name in ("../../etc/x", "a/b", "ü", "a" * 100):
        Shelf(folder, name, retention_days=1).close()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.parent for path in files} == {folder}
    assert all(path.stat().st_mode & 0o077 == 0 for path in files if path.suffix == ".sqlite")


def test_the_use_of_a_day_is_counted_once_for_all_processes(tmp_path: Path) -> None:
    one, two = (Shelf(tmp_path, "c", retention_days=1) for _ in range(2))
    assert [shelf.take("calls", "2026-01-01", 3) for shelf in (one, two, one, two)] == [True, True, True, False]
    assert one.take("calls", "2026-01-02", 3)
    one.close()
    two.close()
