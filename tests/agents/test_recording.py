"""Runs recorded and replayed: the same bytes, without a network, a key or the model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import CancellationToken
from pydantic_ai.exceptions import ModelHTTPError

from evals.replay import network_refused, parts
from literature_agent import (
    Budget,
    InvalidInputError,
    LiteratureAggregationOutput,
    LiteratureAggregator,
    SourceError,
)
from literature_agent.agents import aggregator as aggregators
from literature_agent.sandbox import SandboxServer
from literature_agent.settings import load_settings
from literature_agent.testing import Calls, Seen, Turn, scripted_model, submit
from literature_agent.transport import Player, Recorder

QUESTION = "Does metformin slow cognitive decline? Write to me@example.org."
SEARCHES: Calls = [
    ("search_pubmed", {"query": "metformin AND cognitive decline", "max_results": 5}),
    ("search_europepmc", {"query": "metformin"}),
    ("current_time", {}),
]


def _read_two(seen: Seen) -> Calls:
    return [("fetch_pubmed", {"references": seen.references[:2]})]


def _cite(seen: Seen) -> Calls:
    quote = "Two years of metformin modestly slowed cognitive decline in this population."
    # The last reference before the sentence is that of its record.
    cited = Seen((seen.last[: seen.last.index(quote)],), (), "", 0).references[-1]
    article = {"reference": cited, "reason": "A trial.", "quotes": [quote]}
    return [("submit_answer", {"summary": f"It slowed decline {cited}.", "relevant_articles": [article]})]


@pytest.fixture(scope="module")
def aggregator(sandbox: SandboxServer) -> LiteratureAggregator:
    """One for all, since it holds no run."""
    settings = load_settings(
        **sandbox.settings_overrides(), cache="off", breaker="off", pace="off", rate_limit_store="memory"
    )
    return LiteratureAggregator(settings=settings, sources=["pubmed", "europepmc"])


@pytest.fixture
def record(aggregator: LiteratureAggregator, tmp_path: Path) -> Callable[..., Any]:
    """Record a run of a scripted model in `tmp_path / "r"`."""

    async def run(*turns: Turn, **options: Any) -> LiteratureAggregationOutput:
        recorder = Recorder(tmp_path / "r")
        return await aggregator.run(QUESTION, model=scripted_model(*turns), recording=recorder, **options)

    return run


@pytest.fixture
def replay(aggregator: LiteratureAggregator, tmp_path: Path) -> Callable[..., Any]:
    """Replay it with the network refused."""

    async def run(question: str = QUESTION, **options: Any) -> LiteratureAggregationOutput:
        with network_refused() as tried:
            try:
                return await aggregator.run(question, recording=Player(tmp_path / "r"), **options)
            finally:
                assert tried == []

    return run


async def test_a_replay_is_the_same_to_the_byte_without_network_key_or_model(
    record: Callable[..., Any], replay: Callable[..., Any], tmp_path: Path
) -> None:
    """With a deadline too: how much time was left is told to the model and comes from the record."""
    then = await record(SEARCHES, _read_two, _cite, budget=Budget(deadline_s=90))
    now = await replay()
    assert (then.status, then.model, len(then.relevant_articles[0].quotes)) == ("complete", "function:scripted", 1)
    assert parts(now) == parts(then)
    assert now.model_dump_json() == then.model_dump_json()
    assert now.registry is not None
    assert then.registry is not None
    assert now.registry.to_json() == then.registry.to_json()
    # The address that the question names went nowhere.
    assert "me@example.org" not in now.question + "".join(
        path.read_text(encoding="utf-8") for path in (tmp_path / "r").iterdir()
    )

    # What a recording lacks is no fault of a source: it ends the replay.
    for change in ("upstream", "model"):
        path = next((tmp_path / "r").glob(f"{change}-*"))
        path.rename(tmp_path / "away")
        with pytest.raises(SourceError, match="has no answer to a request") as missing:
            await replay()
        assert missing.value.reason == "recording_not_found"
        (tmp_path / "away").rename(path)

    # Nor does it go on with other limits or another model than were recorded.
    for option, said in (
        ({"max_articles": 3}, "max_articles='20'"),
        ({"budget": Budget(max_requests=3)}, "max_requests='30'"),
        ({"model": "openai:gpt-5"}, "model='function:scripted'"),
        ({"question": "Another one?"}, "question="),
        ({"sources": ["pubmed"]}, "sources='pubmed, europepmc'"),
    ):
        with pytest.raises(InvalidInputError, match=said):
            await replay(**option)
    # The same sources, though now they are those of the question.
    assert parts(await replay(sources=["pubmed", "europepmc"])) == parts(then)

    # Untrusted: an answer of the model that is none, and a run that is none.
    path = next((tmp_path / "r").glob("model-*"))
    path.write_text(path.read_text(encoding="utf-8").replace('"kind": "response"', '"kind": "request"'), "utf-8")
    with pytest.raises(InvalidInputError, match="holds no answer of a model"):
        await replay()
    manifest = json.loads((tmp_path / "r" / "run.json").read_text(encoding="utf-8"))
    (tmp_path / "r" / "run.json").write_text(json.dumps({**manifest, "about": {"request": 1}}), encoding="utf-8")
    with pytest.raises(InvalidInputError, match="what it says of its run"):
        await replay()


async def test_another_prompt_is_another_request(
    record: Callable[..., Any], replay: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    await record(submit("Nothing."))
    monkeypatch.setattr(aggregators, "brief", lambda *_, **__: "Answer as you like.")
    with pytest.raises(SourceError, match="turn 1 of the model"):
        await replay()


async def test_a_model_that_fails_fails_again_and_its_key_is_not_kept(
    record: Callable[..., Any], replay: Callable[..., Any], tmp_path: Path
) -> None:
    def fail(seen: Seen) -> Calls:
        raise ModelHTTPError(401, "some-model", {"message": "Incorrect API key provided: sk-proj-0123456789abcdef."})

    then, now = await record(SEARCHES, fail), await replay()
    assert (then.status, now.status) == ("partial", "partial")
    assert parts(now)["search log"] == parts(then)["search log"]
    kept = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "r").glob("model-*"))
    assert "Incorrect API key provided: [hidden]" in kept
    assert "sk-proj" not in kept


async def test_a_cancelled_run_is_cancelled_at_the_same_place(
    record: Callable[..., Any], replay: Callable[..., Any]
) -> None:
    token = CancellationToken()

    def stop(seen: Seen) -> Calls:
        token.cancel()
        return _read_two(seen)

    then = await record(SEARCHES, stop, cancellation_token=token)
    assert "cancelled" in then.limitations[0]
    async with asyncio.timeout(20):
        now = await replay()
    assert now.model_dump_json() == then.model_dump_json()
