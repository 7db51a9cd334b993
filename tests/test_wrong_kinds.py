"""Arguments of the wrong kind are refused with one sentence that names them, before anything is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError
from pydantic_ai import Agent

from literature_agent import (
    ArtifactRegistry,
    Budget,
    InvalidInputError,
    LiteratureAggregator,
    aggregate,
    fetch,
    read,
    search,
)
from literature_agent.settings import Settings
from literature_agent.sources import select_sources

CASES: list[tuple[str, Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = [
    ("source", search, (None, "x"), {}),
    ("query", search, ("pubmed", None), {}),
    ("query", search, ("all", 5), {}),
    ("max_results", search, ("pubmed", "x"), {"max_results": "x"}),
    ("max_results", search, ("pubmed", "x"), {"max_results": True}),
    ("page", search, ("pubmed", "x"), {"page": 2}),
    ("date_from", search, ("pubmed", "x"), {"date_from": 2020}),
    ("sort", search, ("pubmed", "x"), {"sort": 1}),
    ("publication_types", search, ("pubmed", "x"), {"publication_types": 5}),
    ("registry", search, ("pubmed", "x"), {"registry": {}}),
    ("settings", search, ("pubmed", "x"), {"settings": {}}),
    ("source", fetch, (5, "1"), {}),
    ("ids", fetch, ("pubmed", None), {}),
    ("ids", fetch, ("pubmed", 90000101), {}),
    ("ids", fetch, ("pubmed", [90000101]), {}),
    ("ids", fetch, ("pubmed", b"1"), {}),
    ("registry", fetch, ("pubmed", "1"), {"registry": []}),
    ("settings", fetch, ("pubmed", "1"), {"settings": 1}),
    ("id_or_reference", read, (None,), {}),
    ("sections", read, ("PMC1",), {"sections": 5}),
    ("sections", read, ("PMC1",), {"sections": [5]}),
    ("max_characters", read, ("PMC1",), {"max_characters": "x"}),
    ("registry", read, ("PMC1",), {"registry": "x"}),
    ("settings", read, ("PMC1",), {"settings": "x"}),
    ("question", aggregate, (5,), {}),
    ("model", aggregate, ("Does it work?",), {"model": 5}),
    ("sources", aggregate, ("Does it work?",), {"sources": 5}),
    ("sources", aggregate, ("Does it work?",), {"sources": [5]}),
    ("budget", aggregate, ("Does it work?",), {"budget": 5}),
    ("registry", aggregate, ("Does it work?",), {"registry": 5}),
    ("settings", aggregate, ("Does it work?",), {"settings": 5}),
    ("on_event", aggregate, ("Does it work?",), {"on_event": 5}),
    ("cancellation_token", aggregate, ("Does it work?",), {"cancellation_token": 5}),
    ("recording", aggregate, ("Does it work?",), {"recording": "folder"}),
    ("max_articles", aggregate, ("Does it work?",), {"max_articles": "x"}),
    ("languages", aggregate, ("Does it work?",), {"languages": 5}),
    ("searches", aggregate, ("Does it work?",), {"searches": 5}),
    ("searches.0.query", aggregate, ("Does it work?",), {"searches": [{"source": "pubmed", "query": " "}]}),
]


@pytest.mark.parametrize(("name", "function", "given", "options"), CASES)
def test_a_wrong_kind_is_refused_by_name(
    name: str, function: Callable[..., Any], given: tuple[Any, ...], options: dict[str, Any]
) -> None:
    if function is aggregate:
        options = {"model": "extractive", **options}
    with pytest.raises(InvalidInputError, match=rf"^{name}="):
        asyncio.run(function(*given, **options))


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("registry", {"registry": {}}),
        ("registry", {"registry": ArtifactRegistry}),
        ("budget", {"budget": {}}),
        ("max_characters", {"max_characters": "x"}),
        ("on_output", {"on_output": "x"}),
    ],
)
def test_a_wrong_part_of_a_tool_is_refused_when_it_is_built(name: str, given: dict[str, Any]) -> None:
    aggregator = LiteratureAggregator("extractive")
    doors: list[Callable[..., Any]] = [aggregator.as_tool, aggregator.as_toolset]
    if name != "on_output":
        doors.append(aggregator.as_capability)
    for door in doors:
        with pytest.raises(InvalidInputError, match=rf"^{name}="):
            door(**given)


def test_a_registry_that_the_context_does_not_hold_is_refused_by_name(settings: Settings) -> None:
    tool = LiteratureAggregator("extractive", settings=settings).as_tool(registry=lambda ctx: ctx.deps)
    with pytest.raises(InvalidInputError, match=r"^registry=<dict> is no ArtifactRegistry\."):
        asyncio.run(Agent("test", tools=[tool], deps_type=dict).run("Does it work?", deps={}))


@pytest.mark.parametrize("seconds", [float("inf"), 1e308, float("nan"), -1.0, 0.0])
def test_a_deadline_is_a_time_that_can_end(seconds: float) -> None:
    with pytest.raises(ValidationError, match="deadline_s"):
        Budget(deadline_s=seconds)


@pytest.mark.parametrize("dollars", [float("inf"), float("nan"), -1.0])
def test_a_cost_is_a_sum(dollars: float) -> None:
    with pytest.raises(ValidationError, match="max_cost_usd"):
        Budget(max_cost_usd=dollars)


def test_sources_may_be_one_text() -> None:
    chosen = select_sources("pubmed, europepmc", Settings())
    assert [source.name for source in chosen] == ["pubmed", "europepmc"]
    assert [source.name for source in select_sources("pubmed", Settings())] == ["pubmed"]
