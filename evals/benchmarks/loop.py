"""What the house costs: a run against pydantic-ai's bare loop with the same requests; imports in fresh processes."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from itertools import product
from tempfile import TemporaryDirectory

import httpx
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic_ai import Agent
from pydantic_ai.usage import RequestUsage

from evals.benchmarks.measure import Figure, best_of_processes, show
from evals.benchmarks.served import sandbox_process
from literature_agent import ArtifactRegistry, CitationArtifact, LiteratureAggregator, Settings, search
from literature_agent.artifacts import study_type
from literature_agent.custody import Event
from literature_agent.sandbox import Asked
from literature_agent.settings import load_settings
from literature_agent.testing import Calls, Seen, scripted_model, submit
from literature_agent.views import full_text_open, snippet_end, view_search

# Told by the model itself: estimated, they would cost time that grows with the texts, and no real model does that here.
TOKENS = RequestUsage(input_tokens=1000, output_tokens=100)
QUERIES = ("long covid fatigue", "metformin cognition", "prehabilitation colorectal", "gut parkinson")
IMPORTS = {
    "bare": ("-c", "pass"),
    "import pydantic_ai": ("-c", "import pydantic_ai"),
    "three names": ("-c", "from literature_agent import Settings, ArtifactRegistry, search"),
    "--help": ("-m", "literature_agent", "--help"),
}


def run(*, small: bool = False) -> list[Figure]:
    return show("loop", [*asyncio.run(_loop(rounds=2 if small else 15)), *_imports(1 if small else 7)])


def _imports(rounds: int) -> list[Figure]:
    took = best_of_processes(IMPORTS, rounds)
    base = took["import pydantic_ai"]
    return [
        Figure("import pydantic_ai, CPU", base * 1000, "ms"),
        Figure("from literature_agent import Settings, ArtifactRegistry, search", took["three names"] / base, "x", 0.7),
        Figure("literature-agent --help", took["--help"] / base, "x", 0.5),
        Figure("an empty Python, of that", took["bare"] / base, "x"),
    ]


async def _loop(rounds: int) -> list[Figure]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    with sandbox_process() as (overrides, asked), TemporaryDirectory() as folder:
        settings = load_settings(**overrides, cache_dir=folder, cache="off", rate_limit_store="memory")
        turns: list[list[Asked]] = []

        def more(seen: Seen) -> Calls:
            note()
            return [("search_europepmc", {"query": query}) for query in QUERIES]

        def fetches(seen: Seen) -> Calls:
            note()
            return [("fetch_pubmed", {"references": seen.references[at : at + 2]}) for at in range(0, 8, 2)]

        def answer(seen: Seen) -> Calls:
            note()
            return submit(f"It helps {seen.references[0]}.", seen.references[:1])

        def note() -> None:
            if len(turns) < 3:
                turns.append(asked())

        searches: Calls = [("search_pubmed", {"query": query}) for query in QUERIES]
        model = scripted_model(searches, more, fetches, answer, usage=TOKENS)
        events: list[Event] = []
        usage: list[tuple[int, int]] = []
        base_url = overrides["biorxiv_base_url"].removesuffix("/biorxiv/")

        async with LiteratureAggregator(model, settings=settings) as aggregator, _client() as client:

            async def ours() -> None:
                output = await aggregator.run(
                    "Does exercise help?", registry=ArtifactRegistry(), on_event=events.append
                )
                usage.append((output.usage.requests, output.usage.tool_calls))

            bare_agent = _bare_agent()

            async def bare() -> None:
                await bare_agent.run("Does exercise help?")

            async def raw() -> None:
                for turn in turns:
                    await asyncio.gather(*(_send(client, base_url, chain) for chain in _chains(turn)))

            await ours()
            took, busy = await _least({"ours": ours, "bare": bare, "raw": raw}, rounds)
            characters = await _characters(settings)
    assert usage[0] == (4, 12), usage[0]
    return [
        Figure("requests on the wire of a run", sum(map(len, turns))),
        Figure("events of a run", len(events) / len(usage)),
        Figure("spans of a run", len(exporter.get_finished_spans()) / len(usage)),
        Figure("bare loop with no-op tools", took["bare"] * 1000, "ms"),
        Figure("the same requests raw", took["raw"] * 1000, "ms"),
        Figure("run of 12 tool calls in 4 turns", took["ours"] * 1000, "ms"),
        Figure("run against bare loop and raw requests", took["ours"] / (took["bare"] + took["raw"]), "x", 1.5),
        Figure("the same in CPU time of this process", busy["ours"] / (busy["bare"] + busy["raw"]), "x"),
        *characters,
    ]


async def _characters(settings: Settings) -> list[Figure]:
    """What a hit costs in a tool result, with the header of its search, against JSON of the same hits."""
    hits = shown = whole = same = 0
    for source, query in product(("pubmed", "europepmc"), QUERIES):
        registry = ArtifactRegistry()
        result = await search(source, query, settings=settings)
        references = [str(reference) for reference in registry.hold_all(result.artifacts)]
        hits += len(references)
        shown += len(view_search("s1", source, result, references, marked=registry.find).text)
        whole += len(result.model_dump_json(exclude_defaults=True))
        same += sum(len(_as_json(hit, name)) for hit, name in zip(result.artifacts, references, strict=True))
    return [
        Figure("characters of a hit as the model sees it", shown / hits, "", 650),
        Figure("against JSON of the same hits", 100 * shown / whole, "%", 45),
        Figure("against JSON of the same facts, abstracts cut alike", 100 * shown / same, "%"),
    ]


def _as_json(hit: CitationArtifact, reference: str) -> str:
    text = hit.abstract_text or ""
    facts = {
        "reference": reference,
        "year": hit.year,
        "study_type": study_type(hit),
        "is_preprint": hit.is_preprint,
        "correction_status": hit.correction_status,
        "full_text_open": full_text_open(hit),
        "title": hit.title,
        "abstract": text[: snippet_end(text)],
    }
    return json.dumps(facts, ensure_ascii=False)


def _bare_agent() -> Agent[None, str]:
    """The same turns with tools that do nothing."""
    calls: Calls = [("no_op", {"query": query}) for query in QUERIES]
    agent = Agent(scripted_model(calls, calls, calls, "It helps.", usage=TOKENS))

    @agent.tool_plain
    async def no_op(query: str) -> str:
        return "ok"

    return agent


def _client() -> httpx.AsyncClient:
    """As many connections at once as the package keeps to a host."""
    return httpx.AsyncClient(limits=httpx.Limits(max_connections=20, max_keepalive_connections=10))


def _chains(turn: list[Asked]) -> list[list[Asked]]:
    """The requests of a turn as calls make them: a search's records can't be asked for before its ids have come."""
    found = [one for one in turn if one.path.endswith("esearch.fcgi")]
    if not found:
        return [[one] for one in turn]
    records = [one for one in turn if one.path.endswith("efetch.fcgi")]
    assert len(found) + len(records) == len(turn), "a turn of searches makes no other requests"
    return [[*pair] for pair in zip(found, records, strict=True)]


async def _send(client: httpx.AsyncClient, base_url: str, chain: list[Asked]) -> None:
    """The requests of one call, one after the other."""
    for asked in chain:
        if asked.method == "POST":
            form = {"content-type": "application/x-www-form-urlencoded"}
            answer = await client.post(f"{base_url}{asked.path}", content=asked.query, headers=form)
        else:
            answer = await client.get(f"{base_url}{asked.path}?{asked.query}")
        assert answer.status_code == 200, f"{asked.path} answered {answer.status_code}"


async def _least(
    rivals: dict[str, Callable[[], Awaitable[None]]], rounds: int
) -> tuple[dict[str, float], dict[str, float]]:
    """Least wall seconds and least CPU seconds of each, in turns."""
    wall, busy = dict.fromkeys(rivals, float("inf")), dict.fromkeys(rivals, float("inf"))
    for _ in range(rounds):
        for name, work in rivals.items():
            began, began_busy = time.perf_counter(), time.process_time()
            await work()
            wall[name] = min(wall[name], time.perf_counter() - began)
            busy[name] = min(busy[name], time.process_time() - began_busy)
    return wall, busy
