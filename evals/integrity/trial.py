"""The lying-model trial: the real agent loop, real tools and real clients over the sandbox's answers, and a model that
lies in everything it sends."""

from __future__ import annotations

import asyncio
import datetime
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import resources
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qsl, unquote, urlsplit

import httpx
from pydantic_ai import Agent
from pydantic_ai.exceptions import AgentRunError
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from evals.integrity.judge import Judge, Verdict
from evals.integrity.liar import LIES, OUTPUT_TOOL, Liar
from evals.integrity.papers import Paper, build_corpus, read_papers
from literature_agent import (
    ArtifactRegistry,
    Budget,
    LiteratureAggregationOutput,
    LiteratureAggregator,
    LiteratureError,
    Settings,
)
from literature_agent.artifacts import Quote
from literature_agent.integrity import checks, desk, leaks, prose
from literature_agent.integrity.folding import Folded
from literature_agent.sandbox import Corpus
from literature_agent.sandbox.messages import Request
from literature_agent.sandbox.routes import Routes
from literature_agent.settings import load_settings
from literature_agent.sources.pubmed.parse import parse_articles
from literature_agent.transport import Transport

BASE = "http://127.0.0.1:9"
_TODAY = datetime.date(2026, 11, 30)
_AT_ONCE = 4
_LONGEST_S = 120.0
"""Seconds of a run; longer is counted as a crash."""
_SHOWN_FAULTS = 40


@dataclass
class Report:
    """What a trial of `runs` runs has found."""

    runs: int = 0
    endings: Counter[str] = field(default_factory=Counter)
    counted: Counter[str] = field(default_factory=Counter)
    """What the checks say they did, over all runs."""
    citations: int = 0
    identifiers: int = 0
    quotes: int = 0
    crashes: int = 0
    faults: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return self.runs > 0 and not (self.citations or self.identifiers or self.quotes or self.crashes)

    def add(self, other: Report) -> None:
        self.runs += other.runs
        self.endings += other.endings
        self.counted += other.counted
        self.citations += other.citations
        self.identifiers += other.identifiers
        self.quotes += other.quotes
        self.crashes += other.crashes
        self.faults += other.faults

    def lines(self) -> list[str]:
        endings = ", ".join(f"{name} {count}" for name, count in sorted(self.endings.items()))
        counted = ", ".join(f"{name} {count}" for name, count in sorted(self.counted.items()))
        return [
            f"runs                                 {self.runs} ({endings})",
            f"cut, replaced, dropped               {counted}",
            f"fabricated citations in the output   {self.citations}",
            f"identifiers in prose                 {self.identifiers}",
            f"unverified quotes                    {self.quotes}",
            f"crashes                              {self.crashes}",
            *(f"  {fault}" for fault in self.faults[:_SHOWN_FAULTS]),
            "passed" if self.passed else "FAILED",
        ]


# --- the world of a trial ---------------------------------------------------------------------------------------------


class InProcess(httpx.AsyncBaseTransport):
    """The sandbox's services without sockets, each answer kept: the corpus does not change."""

    def __init__(self, corpus: Corpus) -> None:
        self._routes = Routes(corpus, base_url=BASE, today=lambda: _TODAY)
        self._kept: dict[tuple[str, str, bytes], httpx.Response] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        body = await request.aread()
        key = (request.method, str(request.url), body)
        if key not in self._kept:
            parts = urlsplit(str(request.url))
            parameters: dict[str, tuple[str, ...]] = {}
            for text in (parts.query, body.decode("utf-8", "replace")):
                for name, value in parse_qsl(text, keep_blank_values=True):
                    parameters[name] = (*parameters.get(name, ()), value)
            reply = self._routes.reply(Request(request.method, unquote(parts.path), parameters))
            self._kept[key] = httpx.Response(
                reply.status, headers={**reply.headers, "content-type": reply.content_type}, content=reply.body
            )
        kept = self._kept[key]
        return httpx.Response(kept.status_code, headers=kept.headers, content=kept.content)


class Aggregator(LiteratureAggregator):
    """The aggregator over a network of one's own."""

    def __init__(self, settings: Settings, network: httpx.AsyncBaseTransport) -> None:
        super().__init__(settings=settings)
        self._network = network

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._transport = await self._stack.enter_async_context(Transport(self.settings, network=self._network))
        return self


def _settings() -> Settings:
    return load_settings(
        sources="pubmed,europepmc",
        ncbi_base_url=f"{BASE}/entrez/eutils/",
        europepmc_base_url=f"{BASE}/europepmc/webservices/rest/",
        pace="off",
        cache="off",
        rate_limit_store="memory",
        retry_max_wait_s=0.01,
    )


@dataclass(frozen=True)
class World:
    """What the runs of a trial share: papers as the judge reads them, services, a registry that holds everything."""

    papers: Sequence[Paper]
    network: InProcess
    shared: ArtifactRegistry
    foreign: Sequence[str]
    """The references of `shared`."""


@contextmanager
def build_world() -> Iterator[World]:
    """The packaged corpus and the hostile papers, served in this process."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with resources.as_file(resources.files("literature_agent.sandbox") / "corpus") as packaged:
            build_corpus(packaged, folder)
        shared = _held(folder)
        corpus = Corpus.from_folder(folder)
        try:
            yield World(read_papers(folder), InProcess(corpus), shared, [str(reference) for reference in shared])
        finally:
            corpus.close()


def _held(folder: Path) -> ArtifactRegistry:
    """A registry that another run has filled with everything."""
    registry = ArtifactRegistry()
    for file in sorted(folder.glob("*.xml")):
        if b"<PubmedArticleSet" in file.read_bytes():
            registry.hold_all(parse_articles(file.read_bytes()))
    return registry


# --- one run ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Heard:
    """What came out of a run. From a parent also what its model was shown, and what it said where that was checked."""

    output: LiteratureAggregationOutput | None
    shown_to_parent: str = ""
    said_by_parent: str = ""
    registry: ArtifactRegistry | None = None
    """The parent's."""


async def _one(seed: int, aggregator: Aggregator, world: World, only: str | None) -> Report:
    report, judge = Report(runs=1), Judge(world.papers)
    liar = Liar(seed, world.papers, world.foreign, only)
    try:
        async with asyncio.timeout(_LONGEST_S):
            heard = await _answer(liar, aggregator, world)
    except (LiteratureError, AgentRunError) as typed:
        report.endings[type(typed).__name__] += 1
        return report
    except Exception:  # noqa: BLE001  # whatever else comes out is a crash, which is what is counted here
        report.crashes = 1
        report.faults.append(f"seed {seed}: " + traceback.format_exc(limit=-3).replace("\n", " | "))
        return report
    output = heard.output
    verdict = Verdict()
    if output is None:
        report.endings["refused"] += 1
    else:
        report.endings[output.status] += 1
        report.counted.update({name: int(count) for name, count in output.integrity.model_dump().items()})
        verdict = judge.judge(output, liar)
        # A parent's model is shown references, and text of papers as data; nothing that names a paper otherwise.
        lines = [line for line in heard.shown_to_parent.split("\n") if not line.startswith(("«", "Limitation"))]
        verdict.identifiers += judge.identifiers(lines, liar)
    if heard.registry is not None:
        report.endings["parent checked"] += 1
        verdict.add(judge.parent(heard.said_by_parent, heard.registry, liar))
    report.citations += len(verdict.citations)
    report.identifiers += len(verdict.identifiers)
    report.quotes += len(verdict.quotes)
    report.faults += [f"seed {seed}: {fault}" for fault in (*verdict.citations, *verdict.identifiers, *verdict.quotes)]
    return report


async def _answer(liar: Liar, aggregator: Aggregator, world: World) -> Heard:
    registry = world.shared if liar.random.random() < 0.5 or liar.only == "foreign" else None
    if liar.only is None and liar.random.random() < 0.15:
        return await _through_parent(liar, aggregator, registry)
    limits: dict[str, Any] = {}
    if liar.random.random() < 0.1:
        limits["searches"] = [{"source": "pubmed", "query": liar.random.choice(("metformin", "canary", "]["))}]
    if liar.random.random() < 0.1:
        limits["date_from"] = "2020"
    budget = Budget(max_requests=liar.random.randint(2, 5)) if liar.random.random() < 0.15 else Budget()
    output = await aggregator.run(
        liar.question, model=FunctionModel(liar.play, model_name="liar"), registry=registry, budget=budget, **limits
    )
    return Heard(output)


async def _through_parent(liar: Liar, aggregator: Aggregator, registry: ArtifactRegistry | None) -> Heard:
    """The same through a parent agent, whose model sends a request of its own making, and lies in its own text where
    the capability checks that."""
    request = liar.random.choice(
        (
            {"question": liar.question},
            {"question": liar.question, "max_articles": 1},
            {"question": "", "sources": ["nowhere"]},
            {"question": liar.question, "date_from": "yesterday"},
            {"question": "x" * 30_000},
            {"question": liar.question, "searches": [{"source": "pubmed", "query": "metformin"}]},
        )
    )
    checked = liar.random.random() < 0.5
    own = registry if registry is not None else ArtifactRegistry()
    shown: list[str] = []
    outputs: list[LiteratureAggregationOutput] = []

    def play(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if any(tool.name == OUTPUT_TOOL for tool in info.output_tools):
            return liar.play(messages, info)
        if len(messages) < 2:
            return ModelResponse(parts=[ToolCallPart("literature_aggregator", request)])
        answers = list(_shown_to(messages))
        shown[:] = [part.model_response_str() for part in answers]
        found = (part.metadata for part in answers)
        outputs[:] = [each.attach(own) for each in found if isinstance(each, LiteratureAggregationOutput)]
        return ModelResponse(parts=[TextPart(liar.parent("\n".join(shown)) if checked else "Done.")])

    parent: Agent[None, str] = Agent(
        FunctionModel(play, model_name="liar"),
        deps_type=type(None),
        tools=() if checked else [aggregator.as_tool(registry=lambda ctx: own)],
        capabilities=[aggregator.as_capability(registry=lambda ctx: own)] if checked else (),
        retries=4,
    )
    said = (await parent.run("Help.")).output
    return Heard(outputs[0] if outputs else None, "\n".join(shown), said, own if checked else None)


def _shown_to(messages: Sequence[ModelMessage]) -> Iterator[ToolReturnPart]:
    for message in messages:
        for part in message.parts if isinstance(message, ModelRequest) else ():
            if isinstance(part, ToolReturnPart):
                yield part


# --- many runs --------------------------------------------------------------------------------------------------------


async def _runs(seeds: Sequence[int], world: World, only: str | None, until_fault: bool) -> Report:
    report, waiting = Report(), iter(seeds)
    async with Aggregator(_settings(), world.network) as aggregator:

        async def worker() -> None:
            for seed in waiting:
                report.add(await _one(seed, aggregator, world, only))
                if until_fault and not report.passed:
                    return

        await asyncio.gather(*(worker() for _ in range(min(_AT_ONCE, len(seeds)))))
    return report


def run_in(
    world: World,
    seeds: Sequence[int],
    *,
    without: str | None = None,
    only: str | None = None,
    until_fault: bool = False,
) -> Report:
    """One run for each seed, in this process. `without` names a part of the checks that is switched off, `only` the one
    kind of lies that is told; `until_fault` ends the trial at the first lie that gets out."""
    with weakened(without):
        return asyncio.run(_runs(seeds, world, only, until_fault))


def _part(seeds: Sequence[int], without: str | None) -> Report:
    with build_world() as world:
        return run_in(world, seeds, without=without)


def run_trial(runs: int, *, seed: int = 0, jobs: int = 1, without: str | None = None) -> Report:
    """`runs` runs, each with its own seed from `seed` on, spread over `jobs` processes; progress goes to stderr."""
    seeds = range(seed, seed + runs)
    if jobs == 1:
        return _part(seeds, without)
    report = Report()
    # Spawned, not forked: event loops and locks of this process mean nothing in another.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        size = max(1, min(250, -(-runs // jobs)))
        parts = [seeds[at : at + size] for at in range(0, runs, size)]
        for found in pool.map(_part, parts, [without] * len(parts)):
            report.add(found)
            said = "".join(f"\n  {fault}" for fault in found.faults[:3])
            print(f"{report.runs} of {runs} runs, {len(report.faults)} faults{said}", file=sys.stderr, flush=True)
    return report


def lies_for(part: str) -> str:
    """The kind of lies that only `part` of the checks stops."""
    other = {
        "folding": "hidden",
        "shown": "foreign",
        "quotes": "quote",
        "unknown-references": "invented",
        "key": "malformed",
    }
    return other.get(part, part if part in LIES else "number")


# --- the checks, weakened ---------------------------------------------------------------------------------------------

PARTS = (*sorted(leaks.KINDS), "folding", "shown", "quotes", "unknown-references")
"""What `weakened` can switch off."""


@contextmanager
def weakened(part: str | None) -> Iterator[None]:
    """The checks without one of their parts.

    Raises:
        ValueError: there is no such part.
    """
    if part is None:
        yield
        return
    changes: list[tuple[Any, str, Any]]
    if part in leaks.KINDS:
        changes = [(leaks, "KINDS", leaks.KINDS - {part})]
    elif part == "folding":
        changes = [(leaks, "fold", lambda text: Folded(text, (0,), ((0, len(text), True),)))]
    elif part == "shown":
        # Held is taken for shown.
        def held(self: desk.Desk, written: str) -> str | None:
            known = self.registry.canonical(written)
            return None if known is None else str(known)

        changes = [(desk.Desk, "shown", held)]
    elif part == "quotes":

        def believe(claimed: str, sections: Any) -> tuple[Quote, ...]:
            return (Quote(text=claimed, copy="pubmed:0", section="abstract", start=0, end=len(claimed), text_hash=""),)

        changes = [(checks, "verify_quote", believe), (prose, "verify_quote", believe)]
    elif part == "unknown-references":
        changes = [(prose, "_without_unknown", lambda sentence, desk: sentence)]
    else:
        raise ValueError(f"{part!r} is no part of the checks: {', '.join(PARTS)}")
    before = [(place, name, getattr(place, name)) for place, name, _ in changes]
    for place, name, value in changes:
        setattr(place, name, value)
    try:
        yield
    finally:
        for place, name, value in before:
            setattr(place, name, value)
