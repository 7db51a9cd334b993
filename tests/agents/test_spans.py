"""The span tree of a run: what happened, sizes and statuses, and nothing that is private."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic import SecretStr

from literature_agent import LiteratureAggregator, Settings
from literature_agent.testing import Calls, Seen, scripted_model, submit

QUESTION = "Does metformin slow cognitive decline in older adults with diabetes?"


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    yield exporter
    provider.shutdown()


def cite(seen: Seen) -> Calls:
    return submit(f"Shown {seen.references[0]}.", seen.references[:1])


async def test_run_turn_tool_and_attempt_are_nested_and_say_what_came_of_them(
    settings: Settings, spans: InMemorySpanExporter
) -> None:
    secret = settings.model_copy(update={"ncbi_api_key": SecretStr("sesame-key"), "email": SecretStr("me@example.org")})
    model = scripted_model([("search_pubmed", {"query": "metformin AND dementia"})], cite)
    output = await LiteratureAggregator(model, settings=secret).run(QUESTION)
    finished = spans.get_finished_spans()
    by_id = {span.context.span_id: span for span in finished if span.context is not None}

    def above(span: ReadableSpan) -> list[str]:
        names = []
        while span.parent is not None and span.parent.span_id in by_id:
            span = by_id[span.parent.span_id]
            names.append(span.name)
        return names

    names = [span.name for span in finished]
    assert names.count("literature run") == 1
    assert names.count("model turn") == 2
    assert names.count("tool search_pubmed") == 1
    attempts = [span for span in finished if "http" in span.name]
    assert attempts
    assert all("tool search_pubmed" in above(span) for span in attempts)
    run = next(span for span in finished if span.name == "literature run")
    assert dict(run.attributes or {})["status"] == output.status
    tool = next(span for span in finished if span.name == "tool search_pubmed")
    assert dict(tool.attributes or {})["search_id"] == "s1"

    everything = "\n".join(span.to_json() for span in finished)
    title = output.relevant_articles[0].title
    for private in ("sesame-key", "me@example.org", QUESTION, "metformin", title, "«artifact"):
        assert private not in everything
