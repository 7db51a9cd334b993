"""`pubmed_europepmc_search` and `pubmed_europepmc_fetch`, as other clients use them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator

from literature_agent.errors import LiteratureError
from literature_agent.mcp_server import LiteratureServer, Policy, raw
from literature_agent.mcp_server.offers import build_offers
from literature_agent.mcp_server.raw_schemas import FETCH_OUTPUT, SEARCH_OUTPUT
from literature_agent.mcp_server.replies import MOST_BYTES, to_result, weight_of
from literature_agent.registry import ArtifactRegistry
from literature_agent.sandbox import SandboxServer
from literature_agent.settings import Settings, load_settings
from literature_agent.sources import SOURCES
from literature_agent.transport import Transport
from tests.mcp_server.conftest import Connect, all_tools, text_of

LONG = "word " * 200


def row(number: int, **members: Any) -> dict[str, Any]:
    return {
        "id": f"9000000{number}",
        "source": "MED",
        "pmid": f"9000000{number}",
        "doi": f"10.5555/CaSe.{number}",
        "title": f"Synthetic <i>paper</i> {number} &amp; more.",
        "authorString": "Invented A, Made B.",
        "journalInfo": {"journal": {"title": "Synthetic Journal"}, "yearOfPublication": 2021},
        "pubYear": "2021",
        "pubTypeList": {"pubType": ["Journal Article"]},
        **members,
    }


def page(*rows: dict[str, Any], total: int | None = None, **members: Any) -> httpx.Response:
    envelope = {"hitCount": len(rows) if total is None else total, "resultList": {"result": list(rows)}, **members}
    return httpx.Response(200, json=envelope)


Answering = Callable[[httpx.Request], httpx.Response]


async def answered(
    settings: Settings, answer: Answering, arguments: dict[str, Any], *, tool: str = "search"
) -> dict[str, Any]:
    """The structured content, or the error branch, of a call against a server that answers so."""
    async with Transport(settings, network=httpx.MockTransport(answer)) as transport:
        try:
            found = await (raw.search if tool == "search" else raw.fetch)(transport, arguments)
            return found.structured
        except LiteratureError as error:
            return raw.error_document(error)


@pytest.fixture
def europepmc(tmp_path: Path) -> Settings:
    return load_settings(cache_dir=tmp_path, cache="off", pace="off", rate_limit_store="memory", retry_max_wait_s=0.001)


async def test_hits_come_in_the_server_s_order_ready_to_show(europepmc: Settings) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return page(row(2, abstractText=LONG), row(1, abstractText="Short."), row(3), total=9, nextCursorMark="AoJ")

    found = await answered(europepmc, answer, {"query": "metformin", "pageSize": 3})
    first, second, third = found["hits"]
    assert [hit["epmcId"] for hit in found["hits"]] == ["90000002", "90000001", "90000003"]
    assert first == {
        "title": "Synthetic paper 2 & more.",
        "journal": "Synthetic Journal",
        "authors": first["authors"],
        "year": 2021,
        "doi": "10.5555/CaSe.2",
        "pmid": "90000002",
        "source": "MED",
        "epmcId": "90000002",
        "abstractSnippet": LONG[:400] + "…",
        "abstractTruncated": True,
    }
    assert "Invented A" in first["authors"]
    assert (second["abstractSnippet"], second["abstractTruncated"]) == ("Short.", False)
    assert "abstractSnippet" not in third
    assert "abstractTruncated" not in third
    assert found["query"] == "(metformin) AND (SRC:MED OR SRC:PMC OR SRC:PPR)"
    assert found["searchUrl"].startswith("https://europepmc.org/search?query=%28metformin%29")
    assert (found["cursorMark"], found["nextCursorMark"], found["totalCount"]) == ("*", "AoJ", 9)
    assert found["appliedSources"] == ["MED", "PMC", "PPR"]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("10.5555/CaSe", "10.5555/CaSe"),
        ("https://doi.org/10.5555/CaSe", "10.5555/CaSe"),
        ("doi:10.5555/CaSe.", "10.5555/CaSe"),
        (" 10.5555/İ ", "10.5555/İ"),
        ("no doi", None),
        ("", None),
    ],
)
async def test_a_doi_is_bare_and_cased_as_received(europepmc: Settings, written: str, shown: str | None) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        found = row(1, doi=written)
        if "/article/" in request.url.path:
            return httpx.Response(200, json={"hitCount": 1, "result": found})
        return page(found)

    found = await answered(europepmc, answer, {"query": "x"})
    assert found["hits"][0].get("doi") == shown
    fetched = await answered(europepmc, answer, {"source": "MED", "epmcId": "90000001"}, tool="fetch")
    assert fetched["record"].get("doi") == shown


async def test_what_is_asked_is_sent_as_asked(europepmc: Settings) -> None:
    asked: list[httpx.QueryParams] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.params)
        return page()

    found = await answered(
        europepmc,
        answer,
        {
            "query": "x",
            "sources": ["PAT", "AGR"],
            "sort": "cited DESC, pub_year asc",
            "pageSize": 7,
            "cursorMark": "AoI",
            "resultType": "lite",
        },
    )
    (sent,) = asked
    assert (sent["sort"], sent["pageSize"], sent["cursorMark"], sent["resultType"]) == (
        "CITED desc,PUB_YEAR asc",
        "7",
        "AoI",
        "lite",
    )
    assert sent["query"] == "(x) AND (SRC:PAT OR SRC:AGR)"
    assert found["hits"] == []
    assert "nextCursorMark" not in found
    assert found["notice"]


EMPTY = httpx.Response(200, json={"version": "6.9"})


@pytest.mark.parametrize(
    ("answer", "arguments", "reason", "code", "retryable"),
    [
        (httpx.Response(404), {}, "europepmc_unreachable", -32000, True),
        (httpx.Response(503), {}, "europepmc_unreachable", -32000, True),
        (httpx.Response(504), {}, "europepmc_timeout", -32004, True),
        (EMPTY, {}, "europepmc_unreachable", -32000, True),
        (httpx.Response(200, text="<html>"), {}, "europepmc_unreachable", -32000, True),
        (httpx.Response(200, text='{"hitCount": 3, "resu'), {}, "europepmc_invalid_response", -32070, True),
        (httpx.Response(400), {}, "europepmc_invalid_input", -32007, False),
        (EMPTY, {"sort": "NOSUCH desc"}, "europepmc_invalid_input", -32007, False),
        (EMPTY, {"sort": "CITED"}, "europepmc_invalid_input", -32007, False),
        (EMPTY, {"sort": "P_PDATE_D desc"}, "europepmc_unreachable", -32000, True),
        (EMPTY, {"sort": "p_pdate_d DESC, Cited asc"}, "europepmc_unreachable", -32000, True),
        (EMPTY, {"sort": "P_PDATE_D desc, NOSUCH desc"}, "europepmc_invalid_input", -32007, False),
        (EMPTY, {"sort": "P_PDATE_D desc, CITED"}, "europepmc_invalid_input", -32007, False),
        (EMPTY, {"cursorMark": "broken"}, "europepmc_invalid_input", -32007, False),
        (httpx.Response(200), {}, "europepmc_unreachable", -32000, True),
        (httpx.Response(200, text=" \n"), {}, "europepmc_unreachable", -32000, True),
        (httpx.Response(501), {}, "europepmc_unreachable", -32000, False),
        (page(), {"query": "(open"}, "europepmc_invalid_input", -32007, False),
    ],
)
async def test_errors_carry_code_reason_and_hint(
    europepmc: Settings, answer: httpx.Response, arguments: dict[str, Any], reason: str, code: int, retryable: bool
) -> None:
    found = await answered(europepmc, lambda _: answer, {"query": "x", **arguments})
    error = found["error"]
    assert (error["data"]["reason"], error["code"], error["data"]["retryable"]) == (reason, code, retryable)
    assert error["message"]
    assert error["data"]["recovery"]["hint"]


@pytest.mark.parametrize("others", [[503, 200], [200, 503]])
async def test_a_cursor_is_blamed_only_when_every_attempt_came_to_nothing(
    europepmc: Settings, others: list[int]
) -> None:
    """Now and then an empty envelope comes for nothing."""
    left = [200, *others]

    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(503) if left.pop() == 503 else EMPTY

    found = await answered(europepmc, answer, {"query": "x", "cursorMark": "AoJgood"})
    assert found["error"]["data"]["reason"] == "europepmc_unreachable"
    assert left == []


async def test_the_hint_of_a_broken_cursor_names_the_argument_of_the_contract(europepmc: Settings) -> None:
    for status in (200, 503):

        def answer(_: httpx.Request, status: int = status) -> httpx.Response:
            return EMPTY if status == 200 else httpx.Response(status)

        found = await answered(europepmc, answer, {"query": "x", "cursorMark": "AoJ"})
        said = found["error"]["message"] + found["error"]["data"]["recovery"]["hint"]
        assert "without `cursorMark`" in said


async def test_a_source_that_is_switched_off_says_so(connect: Connect, settings: Settings, tmp_path: Path) -> None:
    """The tools of the contract are there, and only they."""
    off = settings.model_copy(update={"europepmc_enabled": False})
    server = LiteratureServer(off, Policy(consumer=(all_tools(identifiers="raw"),)), tmp_path / "mcp")
    async with connect(server=server) as client:
        assert "search_europepmc" not in {tool.name for tool in (await client.list_tools()).tools}
        for tool, arguments in (
            ("pubmed_europepmc_search", {"query": "x"}),
            ("pubmed_europepmc_fetch", {"source": "MED", "epmcId": "90000001"}),
        ):
            told = await client.call_tool(tool, arguments)
            assert told.is_error
            error = told.structured_content["error"]
            assert (error["data"]["reason"], error["code"]) == ("europepmc_disabled", -32008)
            assert error["data"]["retryable"] is False


AUTHORS = ", ".join(f"Invented{number} A" for number in range(3000))


@pytest.mark.parametrize(
    "members",
    [
        {"abstractText": LONG},
        {"abstractText": LONG, "authorString": AUTHORS[:6000]},
        {"abstractText": LONG * 2, "authorString": AUTHORS[:9000], "title": LONG * 8},
    ],
    ids=["abstracts", "authors", "everything"],
)
async def test_a_page_of_a_hundred_hits_fits_into_a_reply(europepmc: Settings, members: dict[str, str]) -> None:
    """K104: every hit stays, for the next cursor continues behind the last one; what goes is said."""

    def answer(request: httpx.Request) -> httpx.Response:
        rows = [row(n, **{"id": str(90000100 + n), "title": LONG[:200], **members}) for n in range(100)]
        return page(*rows, total=500, nextCursorMark="AoJ")

    async with Transport(europepmc, network=httpx.MockTransport(answer)) as transport:
        found = await raw.search(transport, {"query": "x", "pageSize": 100})
    assert weight_of(to_result(found, ArtifactRegistry(), raw=False, link=False)) <= MOST_BYTES
    hits = found.structured["hits"]
    assert [hit["epmcId"] for hit in hits] == [str(90000100 + n) for n in range(100)]
    assert all(hit["doi"] and hit["source"] for hit in hits)
    assert all(("abstractSnippet" in hit) == ("abstractTruncated" in hit) for hit in hits)
    assert found.structured["nextCursorMark"] == "AoJ"
    assert "smaller pageSize" in found.structured["notice"]
    Draft202012Validator(SEARCH_OUTPUT).validate(found.structured)


@pytest.mark.parametrize("abstract", [LONG, LONG * 100], ids=["short", "long"])
async def test_a_record_of_three_thousand_authors_fits_into_a_reply(europepmc: Settings, abstract: str) -> None:
    document = {"hitCount": 1, "result": row(1, abstractText=abstract, authorString=AUTHORS)}

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=document)

    async with Transport(europepmc, network=httpx.MockTransport(answer)) as transport:
        found = await raw.fetch(transport, {"source": "MED", "epmcId": "90000001"})
    assert weight_of(to_result(found, ArtifactRegistry(), raw=False, link=False)) <= MOST_BYTES
    record = found.structured["record"]
    assert record["authors"].endswith("and 2,990 more")
    assert "https://europepmc.org/article/MED/90000001" in found.structured["notice"]
    assert (record["abstract"] == abstract.strip()) is (abstract == LONG)
    Draft202012Validator(FETCH_OUTPUT).validate(found.structured)


async def test_a_whole_number_may_be_written_as_json_allows(europepmc: Settings) -> None:
    """25.0 is an integer by JSON Schema."""
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.params["pageSize"])
        return page()

    for size in (7, 7.0, "7"):
        assert "error" not in await answered(europepmc, answer, {"query": "x", "pageSize": size})
    assert asked == ["7", "7", "7"]
    for size in (7.5, True, 0, 101, "x"):
        refused = await answered(europepmc, answer, {"query": "x", "pageSize": size})
        assert refused["error"]["data"]["reason"] == "europepmc_invalid_input"


async def test_a_record_is_fetched_whole(europepmc: Settings) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        assert request.url.path.endswith("/article/MED/90000001")
        return httpx.Response(200, json={"hitCount": 1, "result": row(1, abstractText=LONG)})

    found = await answered(europepmc, answer, {"source": "MED", "epmcId": "90000001"}, tool="fetch")
    assert found["record"]["abstract"] == LONG.strip()
    assert found["record"]["doi"] == "10.5555/CaSe.1"
    missing = await answered(
        europepmc,
        lambda _: httpx.Response(200, json={"hitCount": 0}),
        {"source": "PPR", "epmcId": "PPR1"},
        tool="fetch",
    )
    assert missing["error"]["data"]["reason"] == "europepmc_not_found"
    wrong = await answered(europepmc, lambda _: EMPTY, {"source": "MED", "epmcId": "a b"}, tool="fetch")
    assert wrong["error"]["data"]["reason"] == "europepmc_invalid_input"


def test_the_schema_is_of_2020_12_and_closed() -> None:
    offers = build_offers(SOURCES)
    schema = offers["pubmed_europepmc_search"].tool.input_schema
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["additionalProperties"] is False
    assert list(schema["properties"]) == ["query", "sources", "sort", "pageSize", "cursorMark", "resultType"]
    assert schema["properties"]["sources"]["default"] == ["MED", "PMC", "PPR"]
    assert (schema["properties"]["pageSize"]["minimum"], schema["properties"]["pageSize"]["maximum"]) == (1, 100)
    output = offers["pubmed_europepmc_search"].tool.output_schema
    assert output is not None
    assert [option["required"][0] for option in output["anyOf"]] == ["hits", "error"]


async def test_a_client_pages_through_and_fetches(connect: Connect, sandbox: SandboxServer) -> None:
    """Through the official client, which checks the output against its schema."""
    async with connect(all_tools(identifiers="raw")) as client:
        seen: list[str] = []
        cursor = "*"
        while cursor:
            found = await client.call_tool(
                "pubmed_europepmc_search", {"query": "metformin", "pageSize": 4, "cursorMark": cursor}
            )
            assert not found.is_error
            seen += [hit["epmcId"] for hit in found.structured_content["hits"]]
            cursor = found.structured_content.get("nextCursorMark", "")
        assert len(seen) == len(set(seen)) == found.structured_content["totalCount"]
        hits = (await client.call_tool("pubmed_europepmc_search", {"query": "metformin"})).structured_content["hits"]
        hit = next(hit for hit in hits if hit.get("abstractTruncated"))
        read = await client.call_tool("pubmed_europepmc_fetch", {"source": hit["source"], "epmcId": hit["epmcId"]})
        assert read.structured_content["record"]["abstract"].startswith(hit["abstractSnippet"][:-1])
        sandbox.faults.set("europepmc", "server_error")
        try:
            failed = await client.call_tool("pubmed_europepmc_search", {"query": "metformin"})
        finally:
            sandbox.faults.clear()
        assert failed.is_error
        assert failed.structured_content["error"]["data"]["reason"] == "europepmc_unreachable"
        refused = await client.call_tool("pubmed_europepmc_search", {"query": "x", "pageSize": 500})
        assert refused.structured_content["error"]["data"]["reason"] == "europepmc_invalid_input"
        unknown = await client.call_tool("pubmed_europepmc_search", {"query": "x", "page_size": 5})
        assert unknown.is_error
        assert "page_size" in text_of(unknown)
        assert json.dumps(unknown.structured_content).count("europepmc_invalid_input") == 1
