"""Many calls at once over MCP's HTTP, against the same calls made directly.

The sandbox and the server are processes of their own, with the same settings as the direct calls: no stored answers,
pace as the host asks for. The client is that of the official SDK. The three ways of calling take turns, so that a busy
minute strikes all of them.
"""

from __future__ import annotations

import asyncio
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from evals.benchmarks.measure import Figure, show
from evals.benchmarks.served import sandbox_process
from literature_agent import ArtifactRegistry, search
from literature_agent.errors import LiteratureError
from literature_agent.mcp_server.policy import hash_token
from literature_agent.settings import Settings, load_settings
from literature_agent.sources import find_source
from literature_agent.transport import Transport

_TOKEN = "benchmark-token-0123456789abcdefghij"
_TOOL = "search_pubmed"
_POLICY = f"""
[[consumer]]
name = "benchmark"
tools = ["{_TOOL}"]
token_sha256 = ["{hash_token(_TOKEN)}"]
requests_per_minute = 100000
"""
_ADDRESS = re.compile(r"http://\S+")
_WORDS = ("metformin", "cognition", "statin", "vaccine", "aspirin", "trial", "diabetes", "older", "dementia", "review")


@dataclass(frozen=True)
class Measured:
    """One way of making the calls, all of them at once."""

    calls_per_second: float
    median_s: float
    slowest_s: float
    errors: int


def run(*, small: bool = False) -> list[Figure]:
    asked = queries(10 if small else 200)
    rounds: dict[str, list[Measured]] = {"MCP": [], "search()": [], "tool": []}
    with sandbox_process() as (places, _), TemporaryDirectory() as folder:
        options = {**places, "cache": "off", "rate_limit_store": "memory", "cache_dir": folder}
        settings = load_settings(**options)
        with _server(options) as url:
            for _ in range(1 if small else 5):
                rounds["MCP"].append(asyncio.run(over_mcp(url, asked)))
                rounds["search()"].append(asyncio.run(directly(settings, asked)))
                rounds["tool"].append(asyncio.run(bare_tool(settings, asked)))
    # All calls of one way over all the time that they took.
    rates = {name: statistics.harmonic_mean(each.calls_per_second for each in way) for name, way in rounds.items()}
    spread = max(each.slowest_s / each.median_s for each in rounds["MCP"])
    return show(
        f"mcp: {len(asked)} calls of {_TOOL} at once over HTTP",
        [
            Figure("errors", sum(each.errors for measured in rounds.values() for each in measured), goal=0),
            Figure("over MCP", rates["MCP"], "calls/s"),
            Figure("the same through search()", rates["search()"], "calls/s"),
            Figure("the tool alone over one transport, nothing held or shown", rates["tool"], "calls/s"),
            Figure("over MCP / through search()", rates["MCP"] / rates["search()"], goal=0.5, direction="at least"),
            Figure("slowest call / median, worst round", spread, goal=3.0),
        ],
    )


def queries(count: int) -> list[str]:
    """Distinct queries, so that none is answered for another."""
    pairs = [f"{one} OR {two}" for one in _WORDS for two in _WORDS if one != two]
    return [f"({pairs[number % len(pairs)]}) AND {1900 + number}:2030[dp]" for number in range(count)]


async def measure(asked: Sequence[str], call: Callable[[str], Awaitable[bool]]) -> Measured:
    """Time of all calls made at once; `call` says whether it was answered."""
    times: list[float] = []

    async def timed(query: str) -> bool:
        began = time.perf_counter()
        is_answered = await call(query)
        times.append(time.perf_counter() - began)
        return is_answered

    began = time.perf_counter()
    answered = await asyncio.gather(*(timed(query) for query in asked))
    seconds = time.perf_counter() - began
    return Measured(len(asked) / seconds, statistics.median(times), max(times), answered.count(False))


async def over_mcp(url: str, asked: Sequence[str]) -> Measured:
    async with (
        httpx2.AsyncClient(
            headers={"Authorization": f"Bearer {_TOKEN}"},
            timeout=120,
            # Each call has a connection of its own; keeping them is of no use, and looking through them takes time.
            limits=httpx2.Limits(max_connections=len(asked), max_keepalive_connections=10),
        ) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        await client.call_tool(_TOOL, {"query": "warm", "max_results": 1})

        async def call(query: str) -> bool:
            return not (await client.call_tool(_TOOL, {"query": query})).is_error

        return await measure(asked, call)


async def directly(settings: Settings, asked: Sequence[str]) -> Measured:
    """The public function, its hits held in a registry: what a program would call instead."""
    registry = ArtifactRegistry()
    await search("pubmed", "warm", settings=settings, registry=registry)
    return await measure(
        asked, lambda query: _is_answered(search("pubmed", query, settings=settings, registry=registry))
    )


async def bare_tool(settings: Settings, asked: Sequence[str]) -> Measured:
    """The tool alone. A floor, not a comparison."""
    async with Transport(settings) as transport:
        tools = find_source("pubmed", settings).build(transport)
        await tools.search("warm")
        return await measure(asked, lambda query: _is_answered(tools.search(query)))


async def _is_answered(call: Awaitable[object]) -> bool:
    try:
        await call
    except LiteratureError:
        return False
    return True


@contextmanager
def _server(options: dict[str, str]) -> Iterator[str]:
    """The address of the server with these settings, while it runs."""
    policy = Path(options["cache_dir"]) / "policy.toml"
    policy.write_text(_POLICY, encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LITERATURE_AGENT_")}
    environment |= {f"LITERATURE_AGENT_{name.upper()}": value for name, value in options.items()}
    process = subprocess.Popen(
        [sys.executable, "-m", "literature_agent", "mcp", "--http", "--port", "0", "--policy", str(policy)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env=environment,
    )
    assert process.stderr is not None
    try:
        found = next((match for line in process.stderr if (match := _ADDRESS.search(line))), None)
        if found is None:
            raise RuntimeError("the MCP server did not start")
        yield found.group()
    finally:
        process.terminate()
        process.communicate()
