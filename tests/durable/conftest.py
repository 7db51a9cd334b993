"""Durable runs in this process: models that count and stop, engines that are left in the middle."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import metrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, NumberDataPoint
from pydantic import SecretStr
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.function import AgentInfo
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from literature_agent.settings import Settings

QUESTION = "Does metformin slow cognitive decline?"


class Counting(WrapperModel):
    """Counts the requests it gets; request number `stops_at` is never answered."""

    def __init__(self, wrapped: Model, stops_at: int | None = None) -> None:
        super().__init__(wrapped)
        self.requests = 0
        self.stops_at = stops_at
        self.stopped = asyncio.Event()

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        self.requests += 1
        if self.requests == self.stops_at:
            self.stopped.set()
            await asyncio.Event().wait()
        return await super().request(messages, model_settings, model_request_parameters)


@pytest.fixture
def at(settings: Settings, tmp_path: Path) -> Callable[[str | None], Settings]:
    """The settings with runs kept at an address; None: in a file of this test."""

    def place(address: str | None) -> Settings:
        kept = address or f"sqlite:///{tmp_path / 'runs.sqlite'}"
        return settings.model_copy(update={"database_url": SecretStr(kept)})

    return place


@dataclass(frozen=True)
class Measured:
    """The metrics that were written."""

    reader: InMemoryMetricReader

    def points(self, name: str) -> dict[tuple[Any, ...], Any]:
        """Values of the attributes, in order of their names -> value of the point; the sum where it is a histogram."""
        data = self.reader.get_metrics_data()
        assert data is not None
        found: dict[tuple[Any, ...], Any] = {}
        for metric in (m for r in data.resource_metrics for s in r.scope_metrics for m in s.metrics if m.name == name):
            for point in metric.data.data_points:
                marks: Mapping[str, Any] = point.attributes or {}
                value = point.value if isinstance(point, NumberDataPoint) else point.sum
                found[tuple(marks[mark] for mark in sorted(marks))] = value
        return found


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Iterator[Measured]:
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader], shutdown_on_exit=False)
    monkeypatch.setattr(metrics, "get_meter", lambda name, *_, **__: provider.get_meter(name))
    yield Measured(reader)
    provider.shutdown()


def short_reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Searches PubMed once, cites what was shown, and ends: the shortest run that finds something."""
    shown = re.findall("«artifact:link:cite~[0-9A-Z]{10}»", str(messages[-1]))
    if len(messages) == 1:
        return ModelResponse(parts=[ToolCallPart("search_pubmed", {"query": "metformin", "max_results": 2}, "c1")])
    first = shown[0]
    draft = {
        "summary": f"Metformin was studied {first}.",
        "relevant_articles": [{"reference": first, "reason": "It was found."}],
    }
    return ModelResponse(parts=[ToolCallPart("submit_answer", draft, f"c{len(messages)}")])
