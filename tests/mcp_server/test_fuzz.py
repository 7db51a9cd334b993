"""Every tool with 50 inputs that its schema allows and 50 that break it; 2,000 of each are `python -m evals.mcp`."""

from __future__ import annotations

import pytest

from evals.mcp.fuzz import fuzz
from literature_agent.mcp_server.policy import EXPOSABLE
from literature_agent.settings import Settings


@pytest.mark.parametrize("tool", EXPOSABLE)
async def test_only_results_and_typed_errors_come_back(settings: Settings, tool: str) -> None:
    (outcome,) = await fuzz(settings, 50, tools=[tool])
    assert outcome.faults == []
    assert outcome.calls.total() == 100
    assert set(outcome.calls) - {"ok"}  # some were refused
