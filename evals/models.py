"""Models that exist for measuring: floors beside which a model's figures mean something."""

from __future__ import annotations

import re

from pydantic_ai.models import Model

from literature_agent.agents.models import resolve_model
from literature_agent.errors import InvalidInputError
from literature_agent.testing import Calls, Seen, scripted_model, submit

PASTED = "pasted"
RECORDED = "recorded"
"""In a replay: whatever answered when it was recorded."""
_QUESTION = re.compile(r"<question>\n(.*?)\n</question>", re.S)
_LISTED = 10


def pasted_model() -> Model:
    """The floor of floors: the whole question is the query, and its first hits are the answer."""

    def search(seen: Seen) -> Calls:
        asked = _QUESTION.search(seen.texts[0])
        question = " ".join((asked[1] if asked else seen.texts[0]).split())
        tool = next(tool for tool in seen.tools if tool.startswith("search_"))
        return [(tool, {"query": question.rstrip("?"), "max_results": _LISTED})]

    def hand_in(seen: Seen) -> Calls:
        hits = seen.references[:_LISTED]
        if not hits:
            return submit("No evidence was found by the one search that was made.")
        return submit(f"The first hits for the question as it stands {' '.join(hits)}.", hits)

    return scripted_model(search, hand_in, name=PASTED)


def model_of(name: str) -> Model:
    """The model of that name: `pasted`, or whatever the package knows.

    Raises:
        InvalidInputError: no provider knows the name, or it is that of a replay.
        ConfigurationError: the provider's key or package is missing.
    """
    if name == RECORDED:
        raise InvalidInputError("The model 'recorded' answers in a replay alone.", recovery="Give --replay DIR.")
    return pasted_model() if name == PASTED else resolve_model(name)
