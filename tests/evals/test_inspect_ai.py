"""The adapter for `inspect_ai`, where the extra `inspect` is installed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

inspect_ai = pytest.importorskip("inspect_ai", reason="the extra `inspect` is not installed")


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_inspect_ai_runs_our_cases_with_our_agent_and_evaluators(tmp_path: Path) -> None:
    from evals.inspect_ai import literature_task

    task = literature_task("topics", agent_model="pasted", limit=1)
    [log] = inspect_ai.eval(task, model="mockllm/model", log_dir=str(tmp_path), display="none")
    assert log.status == "success", log.error
    [sample] = log.samples
    value: dict[str, Any] = sample.scores["integrity_and_retrieval"].value
    assert value["fabricated_reference_rate"] == 0
    assert value["honest_status_rate"] == 1
    assert 0 <= value["recall"] <= 1


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_samples_differ_in_what_they_have_values_of_and_one_that_raises_counts_as_the_worst(tmp_path: Path) -> None:
    from evals.inspect_ai import literature_task

    file = tmp_path / "three.yaml"
    cases = [
        {"name": "found", "inputs": {"question": "metformin cognitive decline trial", "sources": ["pubmed"]}},
        {"name": "nothing", "inputs": {"question": "penguins sunburn", "sources": ["pubmed"]}},
        {"name": "refused", "inputs": {"question": " ", "sources": ["pubmed"]}},
    ]
    for case in cases:
        case["expected_output"] = {"relevant": ["90000101"]}
    cases[1]["expected_output"] = {"status": "no_evidence"}
    file.write_text(json.dumps({"name": "three", "cases": cases}), encoding="utf-8")
    task = literature_task(str(file), agent_model="pasted")
    [log] = inspect_ai.eval(task, model="mockllm/model", log_dir=str(tmp_path / "log"), display="none")
    assert log.status == "success", log.error
    found = {one.name: one for one in log.results.scores}
    recall, honest = found["recall"], found["honest_status_rate"]
    assert (recall.scored_samples, recall.metrics["mean"].value) == (2, 0.5)
    assert (honest.scored_samples, round(honest.metrics["mean"].value, 3)) == (3, 0.667)
    assert found["behaviour"].scored_samples == 1
    assert "The question is empty" in log.samples[2].scores["integrity_and_retrieval"].explanation
