"""Clients that nobody here wrote: pydantic-ai's toolset inside an agent, and the Inspector's command line."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from mcp import Client, StdioServerParameters
from pydantic_ai import Agent

from literature_agent.mcp_server.policy import read_policy
from literature_agent.testing import Calls, Seen, scripted_model
from tests.mcp_server.conftest import TOKENS, HttpServer

Command = Callable[..., StdioServerParameters]

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


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
    agent = Agent(model, toolsets=[MCPToolset(transport)])
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


# --- the README


def _blocks(language: str) -> list[str]:
    section = README.split("## MCP server")[1].split("\n## ")[0]
    return re.findall(rf"^```{language}\n(.*?)^```$", section, re.M | re.S)


def _commands() -> dict[str, tuple[str, list[str], dict[str, str]]]:
    """Command, arguments and environment of each configuration block, by where it stands."""
    found: dict[str, tuple[str, list[str], dict[str, str]]] = {}
    documents = [json.loads(block) for block in _blocks("json")]
    documents += [tomllib.loads(block) for block in _blocks("toml")]
    for document in documents:
        for place in ("mcpServers", "servers", "context_servers", "mcp_servers"):
            for entry in document.get(place, {}).values():
                found[place] = (entry["command"], entry["args"], entry.get("env", {}))
    for line in _blocks("console"):
        command, *arguments = shlex.split(line.split(" -- ")[1])
        found["console"] = (command, arguments, {})
    return found


def test_every_configuration_block_of_the_readme_is_tried() -> None:
    assert set(_commands()) == {"mcpServers", "servers", "context_servers", "mcp_servers", "console"}
    started = sum(len(_blocks(language)) for language in ("json", "toml", "console"))
    assert started == len(_commands()) + 1  # the policy


@pytest.mark.parametrize("place", ["mcpServers", "servers", "context_servers", "mcp_servers"])
async def test_a_configuration_block_of_the_readme_starts_a_server(place: str, stdio: Command) -> None:
    """Exactly its command; the one for Claude Code is that of `mcpServers`."""
    command, arguments, environment = _commands()[place]
    assert _commands()["console"][:2] == _commands()["mcpServers"][:2]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    started = StdioServerParameters(
        command=command, args=arguments, env={**(stdio().env or {}), "PATH": path, **environment}
    )
    async with Client(started) as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        assert "search_pubmed" in tools
        assert ("pubmed_europepmc_search" in tools) is (place == "servers")
        assert ("render_citations" in tools) is (place == "context_servers")


def test_the_policy_of_the_readme_is_one(tmp_path: Path) -> None:
    (policy,) = [block for block in _blocks("toml") if "[[consumer]]" in block]
    (tmp_path / "policy.toml").write_text(policy, encoding="utf-8")
    read = read_policy(tmp_path / "policy.toml")
    assert read.named("team-a") is not None
