"""Clients that nobody here wrote: pydantic-ai's toolset inside an agent, and the Inspector's command line."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from mcp import StdioServerParameters
from pydantic_ai import Agent

from literature_agent.testing import Calls, Seen, scripted_model
from tests.mcp_server.conftest import TOKENS, HttpServer

Command = Callable[..., StdioServerParameters]


# --- pydantic-ai


def reads_what_it_found(seen: Seen) -> Calls:
    return [("fetch_pubmed", {"references": seen.references[:2]})]


async def test_an_agent_of_pydantic_ai_searches_reads_and_cites(stdio: Command) -> None:
    """With `--bibliography link` its model sees what our own agent's would, and nothing of the person's."""
    from fastmcp.client.transports import StdioTransport
    from pydantic_ai.mcp import MCPToolset

    command = stdio("--tools", "search_pubmed,fetch_pubmed,literature_aggregator", "--bibliography", "link")
    toolset: MCPToolset[None] = MCPToolset(
        StdioTransport(command.command, command.args, env={**os.environ, **(command.env or {})}), init_timeout=60
    )
    sights: list[Seen] = []

    def answers(seen: Seen) -> Calls:
        sights.append(seen)
        return f"It helps {seen.references[0]}."

    model = scripted_model([("search_pubmed", {"query": "metformin cognition"})], reads_what_it_found, answers)
    agent = Agent(model, toolsets=[toolset])
    async with agent:
        result = await agent.run("Does metformin help cognition?")
    (sight,) = sights
    searched, read = sight.texts[1:3]
    assert "Search s1 | pubmed | ok | shown " in searched
    assert "Abstract (whole): " in read
    assert "10.5555" not in "".join(sight.texts)
    assert re.fullmatch(r"It helps «artifact:link:cite~[0-9A-Z]{10}»\.", result.output)


async def test_by_default_an_agent_of_pydantic_ai_gets_the_typed_twin(http_server: HttpServer) -> None:
    """Over HTTP. It prefers structured content: references, no identifiers."""
    from fastmcp.client.transports import StreamableHttpTransport
    from pydantic_ai.mcp import MCPToolset

    transport = StreamableHttpTransport(http_server.url, headers={"Authorization": f"Bearer {TOKENS['two']}"})
    sights: list[Seen] = []

    def answers(seen: Seen) -> Calls:
        sights.append(seen)
        return "done"

    model = scripted_model([("search_pubmed", {"query": "metformin"})], reads_what_it_found, answers)
    agent = Agent(model, toolsets=[MCPToolset(transport, init_timeout=60)])
    async with agent:
        await agent.run("Metformin?")
    (sight,) = sights
    assert json.loads(sight.texts[2])["returned"] == 2
    assert "10.5555" not in "".join(sight.texts)


# --- MCP Inspector


class Inspected(NamedTuple):
    code: int
    document: Any


Inspect = Callable[..., Inspected]


@pytest.fixture(scope="module")
def inspect() -> Inspect:
    """Runs the Inspector's command line; `MCP_INSPECTOR` names it, else it is looked for on the path."""
    inspector = os.environ.get("MCP_INSPECTOR") or shutil.which("mcp-inspector")
    if inspector is None:
        pytest.skip("the MCP Inspector is not installed (npm install @modelcontextprotocol/inspector)")

    def run(*arguments: str) -> Inspected:
        done = subprocess.run(
            [*shlex.split(inspector), "--cli", *arguments],
            check=False,
            capture_output=True,
            encoding="utf-8",
            timeout=120,
        )
        text = done.stdout.strip() or done.stderr.strip()
        return Inspected(done.returncode, json.loads(text[text.index("{") :]))

    return run


def test_the_inspector_lists_calls_reads_and_gets_over_http(inspect: Inspect, http_server: HttpServer) -> None:
    def ask(*arguments: str) -> Inspected:
        header = f"Authorization: Bearer {TOKENS['two']}"
        return inspect(http_server.url, "--transport", "http", "--header", header, *arguments)

    call = ("--method", "tools/call", "--tool-name", "search_pubmed", "--tool-arg")
    found = ask(*call, "query=metformin cognition").document
    assert found["content"][0]["text"].startswith("Search s")
    key = found["structuredContent"]["references"][0][-11:-1]
    record = ask("--method", "resources/read", "--uri", f"citation://{key}").document
    assert json.loads(record["contents"][0]["text"])["doi"].startswith("10.5555/")
    wrong = ask(*call, "query=x", "max_results=0")
    assert wrong.document["isError"] is True
    plan = ask("--method", "prompts/get", "--prompt-name", "research_plan", "--prompt-args", "question=Metformin?")
    assert "Metformin?" in plan.document["messages"][0]["content"]["text"]


def test_the_inspector_lists_the_tools_of_a_process(inspect: Inspect, stdio: Command) -> None:
    command = stdio()
    environment = [part for name, value in (command.env or {}).items() for part in ("-e", f"{name}={value}")]
    patient = ("--connect-timeout", "90000")
    listed = inspect(*patient, *environment, command.command, *command.args, "--method", "tools/list")
    assert listed.code == 0, listed.document
    tools = listed.document["tools"]
    assert [tool["name"] for tool in tools] == ["literature_aggregator", "search_pubmed", "read_pmc_full_text"]
