"""Every tool with 50 inputs that its schema allows and 50 that break it; 2,000 of each are `python -m evals.mcp`."""

from __future__ import annotations

import pytest
from jsonschema import Draft202012Validator

from evals.mcp.fuzz import fuzz, inputs
from literature_agent.mcp_server.offers import build_offers
from literature_agent.mcp_server.policy import EXPOSABLE
from literature_agent.settings import Settings
from literature_agent.sources import SOURCES


@pytest.mark.parametrize("tool", EXPOSABLE)
async def test_only_results_and_typed_errors_come_back(settings: Settings, tool: str) -> None:
    (outcome,) = await fuzz(settings, 50, tools=[tool])
    assert outcome.faults == []
    assert outcome.inputs == {"allowed": 50, "broken": 50}
    assert outcome.answered.total() + outcome.errors.total() == 100
    assert outcome.answered.total() >= 4  # every tool was really carried out
    assert outcome.errors.total() >= 25


def test_inputs_keep_the_schema_and_break_it_as_they_say() -> None:
    for name, offer in build_offers(SOURCES).items():
        keeps = Draft202012Validator(offer.tool.input_schema)
        for kind, arguments in inputs(offer.tool.input_schema, 40, name):
            assert keeps.is_valid(arguments) is (kind == "allowed"), arguments
