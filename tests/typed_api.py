"""What type checkers see of the public functions. Read by the type checker, never run: a misuse that it no longer finds
is an unused `type: ignore`, which is an error.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, assert_type

from pydantic_ai import Agent, FunctionToolset, Tool

from literature_agent import (
    ArtifactRegistry,
    Event,
    FetchResult,
    FullText,
    LiteratureAggregationOutput,
    LiteratureAggregator,
    SearchResult,
    Settings,
    aggregate,
    aggregate_sync,
    fetch_sync,
    read_sync,
    search_sync,
)
from literature_agent.sandbox import SandboxServer


@dataclass
class Desk:
    registry: ArtifactRegistry


async def functions(server: SandboxServer) -> None:
    settings = Settings(**server.settings_overrides())
    assert_type(await aggregate("?", settings=settings), LiteratureAggregationOutput)
    assert_type(aggregate_sync("?", max_articles=5), LiteratureAggregationOutput)
    assert_type(search_sync("pubmed", "x", max_results=3, languages=["eng"]), SearchResult)
    assert_type(fetch_sync("pubmed", ["1"]), FetchResult)
    assert_type(read_sync("1", sections="Methods"), FullText)
    aggregate_sync("?", max_article=5)  # type: ignore[call-arg]
    search_sync("pubmed", "x", max_results="3")  # type: ignore[arg-type]
    fetch_sync("pubmed", ["1"], registry={})  # type: ignore[arg-type]
    read_sync("1", section="Methods")  # type: ignore[call-arg]


async def methods(literature: LiteratureAggregator) -> None:
    assert_type(await literature.run("?", sources=["pubmed"], date_from="2015"), LiteratureAggregationOutput)
    assert_type(literature.run_sync("?", max_articles=5), LiteratureAggregationOutput)
    assert_type(literature.stream("?", max_articles=5), AsyncIterator[Event | LiteratureAggregationOutput])
    await literature.run("?", max_article=5)  # type: ignore[call-arg]
    literature.run_sync("?", max_article=5)  # type: ignore[call-arg]
    literature.stream("?", max_article=5)  # type: ignore[call-arg]


def doors(literature: LiteratureAggregator) -> None:
    assert_type(literature.as_tool(), Tool[Any])
    assert_type(literature.as_toolset(registry=lambda ctx: ctx.deps.registry), FunctionToolset[Any])
    literature.as_toolset(registy=ArtifactRegistry())  # type: ignore[call-arg]
    Agent("test", deps_type=Desk, tools=[literature.as_tool(registry=lambda ctx: ctx.deps.registry)])
    Agent("test", deps_type=Desk, toolsets=[literature.as_toolset(registry=lambda ctx: ctx.deps.registry)])
    Agent("test", deps_type=Desk, capabilities=[literature.as_capability(registry=lambda ctx: ctx.deps.registry)])
