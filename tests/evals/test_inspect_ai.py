"""The adapter for `inspect_ai`, where the extra `inspect` is installed."""

from __future__ import annotations

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
