"""What a client is shown of a tool, and what comes back from a call."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError

from literature_agent.ids import find_identifiers
from literature_agent.mcp_server import LiteratureServer
from literature_agent.mcp_server.policy import DEFAULT_TOOLS, EXPOSABLE, RAW_TOOLS, STDIO, Consumer, Policy
from literature_agent.mcp_server.replies import MOST_BYTES, fit_view, weight_of
from literature_agent.mcp_server.twins import LONGEST_SENTENCE, sentence
from literature_agent.sandbox import Corpus, SandboxServer
from literature_agent.settings import Settings
from literature_agent.views import FENCE_CLOSE, FENCE_OPEN
from tests.mcp_server.conftest import MODEL_TOOLS, Connect, all_tools, for_the_person, page_of, text_of

REFERENCE = re.compile(r"«artifact:link:cite~[0-9A-Z]{10}»")


async def search(client: Client, query: str = "metformin cognition", **arguments: Any) -> Any:
    return await client.call_tool("search_pubmed", {"query": query, **arguments})


# --- listing


async def test_a_tool_that_the_policy_does_not_name_is_not_there(connect: Connect) -> None:
    async with connect(Consumer(name=STDIO, tools=("search_pubmed",))) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["search_pubmed"]
        for name in ("fetch_pubmed", "nosuch", "current_time", "literature_start"):
            with pytest.raises(MCPError) as refused:
                await client.call_tool(name, {})
            assert refused.value.message == f"Unknown tool: {name!r}"


async def test_a_damaged_file_of_a_consumer_is_a_typed_error(connect: Connect, tmp_path: Path) -> None:
    (tmp_path / "mcp").mkdir()
    name = hashlib.sha256(STDIO.encode()).hexdigest()[:24]
    (tmp_path / "mcp" / f"{name}.sqlite").write_bytes(b"no database" * 200)
    async with connect() as client:
        result = await search(client)
        assert result.is_error
        assert "can't be used: file is not a database." in text_of(result)
        assert result.structured_content["error"]["reason"] == "request_configuration"


async def test_every_tool_says_what_it_does_its_limits_and_when_not_to_use_it(connect: Connect) -> None:
    async with connect(all_tools(identifiers="raw")) as client:
        tools = (await client.list_tools()).tools
        assert {tool.name for tool in tools} >= {*DEFAULT_TOOLS, *RAW_TOOLS, "fetch_pubmed", "literature_start"}
        names = "|".join(EXPOSABLE)
        for tool in tools:
            assert tool.title
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint is True
            assert tool.annotations.idempotent_hint is (tool.name != "literature_start")
            local = ("render_citations", "literature_status", "literature_result")
            assert tool.annotations.open_world_hint is (tool.name not in local)
            description = tool.description or ""
            assert re.search(r"\bNot (for|where|a search)|Starts nothing", description), tool.name
            assert re.search(rf"\b({names})\b", description.replace(tool.name, "")), f"{tool.name} names no sibling"


async def test_input_schemas_are_flat_closed_and_without_what_only_the_host_may_set(connect: Connect) -> None:
    """K099, K100; no model, address, path or settings comes from a caller."""
    async with connect(all_tools(identifiers="raw")) as client:
        for tool in (await client.list_tools()).tools:
            written = json.dumps(tool.input_schema)
            assert "$ref" not in written
            assert "$defs" not in written
            assert tool.input_schema["additionalProperties"] is False
            assert '"additionalProperties": true' not in written
            names = set(tool.input_schema["properties"])
            assert not names & {"model", "settings", "base_url", "url", "path", "budget", "api_key", "filters"}
            if tool.name not in RAW_TOOLS:
                assert all(name == name.lower() for name in names)


# --- replies


async def test_the_model_gets_what_the_agent_would_see_and_the_twin_says_the_rest(connect: Connect) -> None:
    async with connect() as client:
        found = await search(client, max_results=3)
    text = text_of(found)
    assert text.startswith("Search s1 | pubmed | ok | shown 3 of ")
    assert FENCE_OPEN in text
    twin = found.structured_content
    assert twin["status"] == "ok"
    assert twin["returned"] == 3 < twin["total"]
    assert twin["next_page"] == "3"
    assert twin["references"] == REFERENCE.findall(text)
    assert "error" not in twin
    assert "Abstract" not in json.dumps(twin)
    assert len(json.dumps(twin)) < 500


async def test_identifiers_reach_the_person_and_not_the_model(connect: Connect) -> None:
    async with connect() as client:
        found = await search(client)
        read = await client.call_tool("fetch_pubmed", {"references": found.structured_content["references"][:2]})
        answer = await client.call_tool("literature_aggregator", {"question": "Does metformin slow cognitive decline?"})
    for result in (found, read, answer):
        seen = text_of(result) + json.dumps(result.structured_content)
        assert [each for each in find_identifiers(seen) if each.kind != "pmid"] == []
        assert "Lindqvist" not in seen
        assert "Synthetic Journal" not in seen
        assert "doi:10.5555/" in for_the_person(result)


async def test_the_bibliography_can_be_a_link_for_clients_that_show_the_model_every_text(connect: Connect) -> None:
    async with connect(all_tools(bibliography="link")) as client:
        found = await search(client, max_results=2)
        assert [part.type for part in found.content] == ["text", "resource_link"]
        assert "10.5555" not in found.model_dump_json()
        read = await client.read_resource(found.content[1].uri)
        assert page_of(read).startswith("[1] ")
        assert "10.5555/" in page_of(read)


async def test_records_are_read_by_reference_only(connect: Connect) -> None:
    async with connect() as client:
        (reference, *_) = (await search(client)).structured_content["references"]
        read = await client.call_tool("fetch_pubmed", {"references": [reference]})
        assert read.structured_content == {
            "status": "ok",
            "returned": 1,
            "references": [reference],
            "not_found": [],
            "failed": [],
            "left_out": [],
            "warnings": [],
        }
        assert "Abstract (whole): " in text_of(read)
        refused = await client.call_tool("fetch_pubmed", {"references": ["90000101"]})
        assert refused.is_error
        assert "takes references only" in text_of(refused)
        assert refused.structured_content["error"]["reason"] == "request_invalid_input"


async def test_a_full_text_is_outlined_and_then_read_by_section(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("literature_agent.views.records.SHORT_FULL_TEXT", 500)
    async with connect() as client:
        found = await client.call_tool("search_europepmc", {"query": "metformin OPEN_ACCESS:y", "max_results": 5})
        for reference in found.structured_content["references"]:
            outline = await client.call_tool("read_pmc_full_text", {"reference": reference, "sections": []})
            if outline.structured_content["available"]:
                break
        assert "outline" in text_of(outline)
        heading = re.search(r"^(.+) \([\d,]+ characters\)$", text_of(outline), re.M)
        assert heading is not None
        part = await client.call_tool("read_pmc_full_text", {"reference": reference, "sections": heading.group(1)})
        assert f"## {heading.group(1)}" in text_of(part)


async def test_the_same_call_again_is_answered_again(connect: Connect) -> None:
    async with connect() as client:
        first, again = await search(client), await search(client)
    assert again.structured_content["references"] == first.structured_content["references"]


async def test_a_later_session_of_the_same_consumer_may_use_an_earlier_reference(connect: Connect) -> None:
    async with connect() as client:
        (reference, *_) = (await search(client)).structured_content["references"]
    async with connect() as client:
        assert not (await client.call_tool("fetch_pubmed", {"references": [reference]})).is_error


# --- citations, identifiers, headings


async def test_pasted_citations_are_checked_and_a_real_one_gets_a_reference_that_can_be_read(connect: Connect) -> None:
    """K080, K081: the twin says which fields are wrong, and nobody hands the model an identifier."""
    title = "Metformin to slow cognitive decline in older adults with type 2 diabetes"
    pasted = [
        f"Lindqvist ÅM. {title}. Nature. 2021;48(3):201-12. doi:10.5555/synthetic.90000101",
        "Author 2021 time travel psychology",
    ]
    async with connect() as client:
        # As a list, as JSON in a text, and as lines: citations are full of commas (K102).
        for given in (pasted, json.dumps(pasted), "\n".join(pasted)):
            checked = await client.call_tool("match_citations", {"citations": given})
            wrong, unknown = checked.structured_content["citations"]
            assert wrong == {"status": "miscited", "reference": wrong["reference"], "wrong": ["journal"]}
            assert unknown == {"status": "unknown", "wrong": []}
            assert checked.structured_content["references"] == [wrong["reference"]]
            assert "10.5555" not in text_of(checked) + json.dumps(checked.structured_content)
            assert "10.5555" in for_the_person(checked)
        read = await client.call_tool("fetch_pubmed", {"references": [wrong["reference"]]})
        assert read.structured_content["status"] == "ok"


async def test_citations_that_no_source_could_judge_are_a_failure(connect: Connect, sandbox: SandboxServer) -> None:
    sandbox.faults.set("all", "server_error")
    async with connect() as client:
        failed = await client.call_tool("match_citations", {"citations": ["PMID: 90000101"]})
    sandbox.faults.clear()
    assert failed.is_error
    assert failed.structured_content["error"]["reason"] == "pubmed_unreachable"
    assert "This says nothing about the citation." in text_of(failed)


@pytest.mark.parametrize("identifiers", ["references", "raw"])
async def test_conversion_says_which_identifiers_there_are_and_raw_gives_them(
    connect: Connect, identifiers: str
) -> None:
    async with connect(all_tools(identifiers=identifiers)) as client:
        (reference, *_) = (await search(client, "90000101[pmid]")).structured_content["references"]
        converted = await client.call_tool("convert_ids", {"references": reference})
        refused = await client.call_tool("convert_ids", {"references": ["PMC90000101"]})
        several = (await search(client, max_results=3)).structured_content["references"]
        each = await client.call_tool("convert_ids", {"references": several})
    assert [work["reference"] for work in each.structured_content["works"]] == several
    assert len(several) == 3
    assert converted.structured_content["works"] == [
        {"reference": reference, "status": "found", "has": ["pmid", "pmcid", "doi"]}
    ]
    assert ("PMC90000101" in json.dumps(converted.structured_content)) is (identifiers == "raw")
    assert refused.structured_content["error"]["reason"] == "request_invalid_input"


async def test_a_heading_is_looked_up_and_a_failure_is_no_missing_heading(
    connect: Connect, sandbox: SandboxServer
) -> None:
    async with connect() as client:
        found = await client.call_tool("lookup_mesh", {"term": "metformin"})
        empty = await client.call_tool("lookup_mesh", {"term": "blorptine"})
        sandbox.faults.set("eutils", "html")
        failed = await client.call_tool("lookup_mesh", {"term": "metformin failing"})
        sandbox.faults.clear()
    assert found.structured_content == {"status": "ok", "total": 1, "headings": ["Metformin"], "warnings": []}
    assert (empty.is_error, empty.structured_content["status"]) == (False, "empty")
    assert failed.is_error
    assert failed.structured_content["error"]["reason"].startswith("pubmed_")


# --- failures


async def test_a_source_that_fails_is_told_from_one_that_finds_nothing(
    connect: Connect, sandbox: SandboxServer
) -> None:
    """K095: the error branch is typed."""
    async with connect() as client:
        empty = await search(client, "zzznothing")
        sandbox.faults.set("eutils", "server_error")
        try:
            failed = await search(client, "metformin AND failing")
        finally:
            sandbox.faults.clear()
    assert (empty.is_error, empty.structured_content["status"]) == (False, "empty")
    assert failed.is_error
    assert "says nothing about the literature" in text_of(failed)
    error = failed.structured_content["error"]
    assert failed.structured_content["status"] == "failed"
    assert (error["reason"], error["retryable"]) == ("pubmed_unreachable", True)
    assert error["recovery"]


async def test_a_bug_of_ours_is_a_typed_error_without_a_trace(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from literature_agent.mcp_server.desk import Desk

    async def broken(*_: object) -> None:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr(Desk, "carry_out", broken)
    async with connect() as client:
        failed = await search(client)
    assert failed.structured_content["error"]["reason"] == "internal_error"
    assert "secret detail" not in failed.model_dump_json()
    assert "ZeroDivisionError" in caplog.text


# --- arguments


async def test_lists_numbers_and_nulls_sent_as_text_are_understood(connect: Connect) -> None:
    """K102."""
    async with connect() as client:
        plain = await search(client, max_results=2, publication_types=["Review", "Meta-Analysis"])
        for types in ('["Review", "Meta-Analysis"]', "Review, Meta-Analysis"):
            written = await search(
                client, max_results="2", publication_types=types, date_from="null", date_to="", page=None, sort="None"
            )
            assert written.structured_content["references"] == plain.structured_content["references"]
        references = plain.structured_content["references"]
        assert len(references) == 2
        for asked in (references, json.dumps(references), ",".join(references)):
            read = await client.call_tool("fetch_pubmed", {"references": asked})
            assert read.structured_content["references"] == references
        # A comma may be part of a name.
        phases = await search(client, publication_types="Review, Clinical Trial, Phase III")
        assert '("Review"[pt] OR "Clinical Trial, Phase III"[pt])' in text_of(phases)
        year = await search(client, date_from=2021)
        assert not year.is_error


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({}, "query"),
        ({"query": "null-free", "max_results": "many"}, "max_results"),
        ({"query": "x", "max_results": 0}, "max_results"),
        ({"query": "x", "max_results": True}, "max_results"),
        ({"query": ["x", "y"]}, "query"),
        ({"query": "x", "model": "openai:x"}, "model"),
        ({"query": "x", "languages": {"a": 1}}, "languages"),
        ({"query": "x", "date_from": "yesterday"}, "date_from"),
        ({"query": "lone \ud800"}, "query"),
        ({"query": "   "}, "query"),
    ],
)
async def test_an_argument_that_is_refused_is_named(connect: Connect, arguments: dict[str, Any], named: str) -> None:
    async with connect() as client:
        refused = await client.call_tool("search_pubmed", arguments)
    assert refused.is_error
    assert named in text_of(refused)
    assert refused.structured_content["error"]["reason"].endswith("_invalid_input")
    assert "Traceback" not in refused.model_dump_json()


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("search_pubmed", {"query": ""}, "query='': it is empty."),
        ("search_pubmed", {"query": "x", "max_results": 0}, "max_results=0: write 1 or more."),
        ("fetch_pubmed", {"references": ["x"] * 26}, "…: give at most 25."),
        ("literature_start", {"question": "x", "searches": "y"}, "searches.0='y': write an object with named members."),
        ("literature_start", {"question": "x", "searches": [{"query": "y"}]}, "searches.0.source is missing."),
        ("literature_status", {"run_id": "x" * 65}, "…: write at most 64 characters."),
    ],
)
async def test_what_is_wrong_with_an_argument_is_said_in_words_for_people(
    connect: Connect, tool: str, arguments: dict[str, Any], said: str
) -> None:
    async with connect() as client:
        refused = await client.call_tool(tool, arguments)
    assert text_of(refused).endswith(said)


@pytest.mark.parametrize(
    ("tool", "name"),
    [("search_pubmed", "publication_types"), ("search_europepmc", "sources"), ("fetch_pubmed", "references")],
)
@pytest.mark.parametrize("empty", [[], "[]", " , "])
async def test_an_empty_list_never_means_everything(connect: Connect, tool: str, name: str, empty: object) -> None:
    """K103: refused, and the schema says so; empty `sections` are the outline, as their description says."""
    async with connect() as client:
        refused = await client.call_tool(tool, {"query": "x", name: empty} if "search" in tool else {name: empty})
        assert f"{name} is an empty list" in text_of(refused)
        schemas = {each.name: each.input_schema["properties"] for each in (await client.list_tools()).tools}
        assert '"minItems": 1' in json.dumps(schemas[tool][name])
        assert "minItems" not in schemas["read_pmc_full_text"]["sections"]


# --- size


async def test_a_reply_stays_below_the_limit_and_says_how_to_get_the_rest(connect: Connect) -> None:
    """K104: 25,000 tokens are refused by clients; here at most 48,000 bytes, two to a token."""
    async with connect() as client:
        found = await search(client, "metformin OR study OR patients OR trial", max_results=200)
        twin = found.structured_content
        assert twin["returned"] == 40
        assert f'page="{twin["next_page"]}"' in text_of(found)
        following = await search(client, "metformin OR study OR patients OR trial", page=twin["next_page"])
        assert not set(following.structured_content["references"]) & set(twin["references"])
        read = await client.call_tool("fetch_pubmed", {"references": twin["references"][:25]})
    for result in (found, read):
        assert len(result.model_dump_json(exclude_none=True).encode()) < MOST_BYTES + 2_000
    left_out = read.structured_content["left_out"]
    assert len(left_out) + read.structured_content["returned"] == 25
    assert all(reference in text_of(read) for reference in left_out)


async def test_long_records_come_in_several_replies(connect: Connect, settings: Settings, tmp_path: Path) -> None:
    """K104: what is left out is named, and comes when it is asked for."""
    rows = [{"_id": str(90000001 + n), "title": f"Trial {n}", "text": "Metformin was given. " * 300} for n in range(12)]
    (tmp_path / "long").mkdir()
    (tmp_path / "long" / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    with closing(Corpus.from_folder(tmp_path / "long")) as corpus, SandboxServer(corpus) as long:
        there = settings.model_copy(update=long.settings_overrides())
        server = LiteratureServer(there, Policy(consumer=(all_tools(),)), tmp_path / "mcp")
        async with connect(server=server) as client:
            left = (await search(client, "metformin", max_results=12)).structured_content["references"]
            came: list[str] = []
            while left:
                read = await client.call_tool("fetch_pubmed", {"references": left})
                assert weight_of(read) <= MOST_BYTES
                came += read.structured_content["references"]
                assert left == [*read.structured_content["references"], *read.structured_content["left_out"]]
                left = read.structured_content["left_out"]
    assert len(set(came)) == len(came) == 12


def test_a_view_is_cut_between_records() -> None:
    """K104."""
    keys = [f"«artifact:link:cite~{letter * 10}»" for letter in "ABCDE"]
    records = [f"{key} | 2020 | Article\nTitle: t\nAbstract (whole): {'words ' * 300}\n" for key in keys]
    view = f"Fetched 5 of 5\n{FENCE_OPEN}\n{''.join(records)}{FENCE_CLOSE}"
    fitted = fit_view(view, 4_500)
    assert len(fitted.text.encode()) <= 4_500
    assert fitted.left_out == tuple(keys[2:])
    assert fitted.text.count(FENCE_CLOSE) == 1
    assert f"Left out for length, ask for them in another call: {', '.join(keys[2:])}" in fitted.text
    # Beside the text stand its typed twin and the bibliography.
    assert len(fit_view(view.replace("words ", "words " * 20)).text.encode()) <= MOST_BYTES * 2 // 3
    huge = fit_view(view.replace("words ", "wordswords" * 10), 4_500)
    assert len(huge.text.encode()) <= 4_500
    assert huge.text.count(keys[0]) == 1
    assert huge.left_out == tuple(keys[1:])


# --- citations


async def test_citations_are_printed_for_the_person(connect: Connect) -> None:
    async with connect() as client:
        first, second, *_ = (await search(client)).structured_content["references"]
        unseen = "«artifact:link:cite~0000000000»"
        printed = await client.call_tool("render_citations", {"references": [first, second], "style": "bibtex"})
        prose = await client.call_tool(
            "render_citations", {"text": f"It helps {first}, or not {second} {unseen}.", "style": "vancouver"}
        )
        wrong = await client.call_tool("render_citations", {"references": [first], "style": "no-such-style"})
        nothing = await client.call_tool("render_citations", {})
    assert for_the_person(printed).count("@article") == 2
    assert "10.5555" not in text_of(printed)
    assert printed.structured_content["references"] == [first, second]
    assert for_the_person(prose).startswith("It helps [1], or not [2] [unknown reference].")
    assert prose.structured_content["unknown"] == [unseen]
    assert wrong.structured_content["error"]["reason"] == "request_invalid_input"
    assert nothing.is_error


async def test_a_bibliography_without_a_named_style_needs_no_extra(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`pip install 'literature-agent[mcp]'` brings no CSL styles."""
    monkeypatch.setitem(sys.modules, "citeproc", None)
    async with connect() as client:
        first, *_ = (await search(client)).structured_content["references"]
        printed = await client.call_tool("render_citations", {"references": [first]})
    assert for_the_person(printed).startswith("[1] ")


@pytest.mark.parametrize("identifiers", ["references", "raw"])
async def test_what_is_printed_is_whole_and_the_rest_is_named(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, identifiers: str
) -> None:
    """K104: a file that is cut somewhere is no file."""
    monkeypatch.setattr("literature_agent.mcp_server.desk.LONGEST_RENDERED", 6_000)
    async with connect(all_tools(identifiers=identifiers)) as client:
        found = await search(client, "metformin OR study OR patients OR trial", max_results=20)
        references = found.structured_content["references"]
        left, printed = references, []
        for _ in range(len(references)):
            part = await client.call_tool("render_citations", {"references": left, "style": "csl-json"})
            items = json.loads(for_the_person(part))
            twin = part.structured_content
            assert (twin["status"], twin["returned"]) == ("partial" if twin["left_out"] else "ok", len(items))
            assert left == [*twin["references"], *twin["left_out"]]
            assert all(reference in text_of(part) for reference in twin["left_out"])
            printed += [item["DOI"] for item in items]
            left = twin["left_out"]
            if not left:
                break
        assert len(set(printed)) == len(references) > 10
        prose = await client.call_tool("render_citations", {"text": "word " * 1_500})
        assert "Print it in parts." in text_of(prose)
        assert prose.structured_content["error"]["reason"] == "request_invalid_input"
        monkeypatch.setattr("literature_agent.mcp_server.desk.LONGEST_RENDERED", 50)
        alone = await client.call_tool("render_citations", {"references": references, "style": "csl-json"})
        assert f"citation://{references[0][-11:-1]}" in text_of(alone)


# --- raw


async def test_raw_identifiers_come_only_where_the_policy_says_so(connect: Connect) -> None:
    async with connect(all_tools(identifiers="raw")) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        assert set(tools) >= RAW_TOOLS
        found = await search(client, max_results=2)
    (record, _) = found.structured_content["records"]
    assert record["doi"].startswith("10.5555/")
    assert record["pmid"] in text_of(found)
    assert record["authors"]
    assert record["journal"]
    assert len(found.model_dump_json(exclude_none=True).encode()) < MOST_BYTES
    async with connect(all_tools()) as client:
        assert not RAW_TOOLS & {tool.name for tool in (await client.list_tools()).tools}
        for name in RAW_TOOLS:
            with pytest.raises(MCPError, match="Unknown tool"):
                await client.call_tool(name, {"query": "x"})
    assert set(MODEL_TOOLS) == set(EXPOSABLE) - RAW_TOOLS


def test_a_sentence_that_is_cut_has_no_part_of_a_reference() -> None:
    reference = "«artifact:link:cite~K7QX2MDA4T»"
    for before in range(LONGEST_SENTENCE - len(reference) - 5, LONGEST_SENTENCE + 5):
        cut = sentence(f"{'x' * before}{reference} and more of it, which is too much")
        assert len(cut) <= LONGEST_SENTENCE
        assert "«" not in REFERENCE.sub("", cut)
        assert cut.endswith("…")
