"""Many calls at once over MCP's HTTP, against the same calls made directly.

    python -m evals.benchmarks.mcp [--calls 200] [--json]

Sandbox and server run as processes of their own, without pace and without stored answers; the client is that of the
official SDK. Exit status 1 if a call fails, if the throughput is below half of the direct one, or if the slowest call
takes three times the median or longer.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from literature_agent.settings import Settings

# Run as a file, its own folder would hide the package `mcp`.
sys.path[:] = [place for place in sys.path if Path(place or ".").resolve() != Path(__file__).resolve().parent]

LEAST_RATIO = 0.5
MOST_OVER_MEDIAN = 3.0
TOKEN = "benchmark-token-0123456789abcdefghij"

_ADDRESS = re.compile(r"http://[^/\s]+")
_WORDS = ("metformin", "cognition", "statin", "vaccine", "aspirin", "trial", "diabetes", "older", "dementia", "review")


@dataclass(frozen=True)
class Measured:
    """One way of making the calls."""

    seconds: float
    calls_per_second: float
    median_s: float
    slowest_s: float
    errors: int


@dataclass(frozen=True)
class Report:
    calls: int
    over_mcp: Measured
    direct: Measured
    bare_tool: Measured
    throughput_ratio: float
    slowest_over_median: float

    @property
    def is_good(self) -> bool:
        return (
            self.over_mcp.errors == 0
            and self.throughput_ratio >= LEAST_RATIO
            and self.slowest_over_median < MOST_OVER_MEDIAN
        )


def queries(count: int) -> list[str]:
    """Distinct queries, so that none is answered for another."""
    pairs = [f"{one} OR {two}" for one in _WORDS for two in _WORDS if one != two]
    return [f"({pairs[number % len(pairs)]}) AND {1900 + number}:2030[dp]" for number in range(count)]


async def measure(asked: list[str], call: Callable[[str], Awaitable[bool]]) -> Measured:
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
    return Measured(seconds, len(asked) / seconds, statistics.median(times), max(times), answered.count(False))


async def over_mcp(url: str, asked: list[str]) -> Measured:
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    async with (
        httpx2.AsyncClient(
            headers={"Authorization": f"Bearer {TOKEN}"},
            timeout=120,
            limits=httpx2.Limits(max_connections=len(asked), max_keepalive_connections=len(asked)),
        ) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        await client.call_tool("search_pubmed", {"query": "warm", "max_results": 1})

        async def call(query: str) -> bool:
            found = await client.call_tool("search_pubmed", {"query": query})
            return not found.is_error

        return await measure(asked, call)


def _settings(places: dict[str, str]) -> Settings:
    from literature_agent.settings import load_settings

    return load_settings(**places, cache="off", rate_limit_store="memory")


async def directly(places: dict[str, str], asked: list[str]) -> Measured:
    """The public function, its hits held in a registry: what a program would call instead."""
    from literature_agent import ArtifactRegistry, search
    from literature_agent.errors import LiteratureError

    settings, registry = _settings(places), ArtifactRegistry()
    await search("pubmed", "warm", settings=settings, registry=registry)

    async def call(query: str) -> bool:
        try:
            await search("pubmed", query, settings=settings, registry=registry)
        except LiteratureError:
            return False
        return True

    return await measure(asked, call)


async def bare_tool(places: dict[str, str], asked: list[str]) -> Measured:
    """The tool alone over one transport: nothing held, nothing shown. A floor, not a comparison."""
    from literature_agent.errors import LiteratureError
    from literature_agent.sources import find_source
    from literature_agent.transport import Transport

    settings = _settings(places)
    async with Transport(settings) as transport:
        tools = find_source("pubmed", settings).build(transport)
        await tools.search("warm")

        async def call(query: str) -> bool:
            try:
                await tools.search(query)
            except LiteratureError:
                return False
            return True

        return await measure(asked, call)


@contextmanager
def _running(arguments: list[str], environment: dict[str, str], stream: str) -> Iterator[str]:
    """The first line that a command of ours writes to `stdout` or `stderr`, while it runs."""
    process = subprocess.Popen(
        [sys.executable, "-m", "literature_agent", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        encoding="utf-8",
        env={**os.environ, **environment},
    )
    try:
        source = process.stdout if stream == "stdout" else process.stderr
        assert source is not None
        yield next(line for line in source if "http" in line)
    finally:
        process.terminate()
        process.communicate()


def run(calls: int) -> Report:
    """Measure both ways, one after the other."""
    asked = queries(calls)
    with tempfile.TemporaryDirectory() as folder, _running(["sandbox"], {}, "stdout") as first:
        at = _ADDRESS.search(first)
        assert at is not None
        with urllib.request.urlopen(f"{at.group()}/_sandbox/", timeout=30) as answer:
            told = json.load(answer)
        places = {name: value for name, value in told.items() if name.endswith("_base_url")}
        environment = {f"LITERATURE_AGENT_{name.upper()}": value for name, value in places.items()} | {
            "LITERATURE_AGENT_CACHE": "off",
            "LITERATURE_AGENT_CACHE_DIR": folder,
            "LITERATURE_AGENT_RATE_LIMIT_STORE": "memory",
            "LITERATURE_AGENT_MCP_TOKEN": TOKEN,
        }
        bare = asyncio.run(bare_tool(places, asked))
        direct = asyncio.run(directly(places, asked))
        with _running(["mcp", "--http", "--port", "0"], environment, "stderr") as line:
            at = _ADDRESS.search(line)
            assert at is not None
            served = asyncio.run(over_mcp(f"{at.group()}/mcp", asked))
    return Report(
        calls,
        served,
        direct,
        bare,
        served.calls_per_second / direct.calls_per_second,
        served.slowest_s / served.median_s,
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Calls at once over MCP against the same calls made directly.")
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    report = run(options.calls)
    if options.json:
        print(json.dumps(asdict(report), indent=2))
    else:
        for name, measured in (
            ("over MCP", report.over_mcp),
            ("direct", report.direct),
            ("bare tool", report.bare_tool),
        ):
            print(
                f"{name:9} {measured.calls_per_second:7.1f} calls/s, median {measured.median_s:.3f} s, "
                f"slowest {measured.slowest_s:.3f} s, {measured.errors} errors"
            )
        print(f"throughput ratio {report.throughput_ratio:.2f} (at least {LEAST_RATIO})")
        print(f"slowest over median {report.slowest_over_median:.2f} (below {MOST_OVER_MEDIAN})")
    return 0 if report.is_good else 1


if __name__ == "__main__":
    sys.exit(main())
