"""An answer that is right in every respect, given by a scripted model through the real loop over the sandbox."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable
from typing import Any

import pytest

from evals.cases import Ask
from evals.outcome import Outcome, Said
from evals.task import answer
from evals.upstream import Sandbox, Upstream
from literature_agent.testing import Calls, Seen, scripted_model, submit

QUESTION = "Does metformin slow cognitive decline?"
TRIAL, RETRACTED, PREPRINT, PAPER = "90000101", "90000701", "90000707", "90000708"

Change = Callable[[dict[str, Any]], None]


@pytest.fixture(scope="session")
def upstream() -> Any:
    with Sandbox() as frozen:
        yield frozen


def searches(seen: Seen) -> Calls:
    return [
        ("search_pubmed", {"query": query, "max_results": 5})
        for query in (f"{TRIAL}[uid]", f"{RETRACTED}[uid]", f"{PREPRINT}[uid] OR {PAPER}[uid]", "semaglutide parkinson")
    ]


def reads(seen: Seen) -> Calls:
    return [("fetch_pubmed", {"references": seen.references})]


def hands_in(seen: Seen) -> Calls:
    trial = seen.references[0]
    return submit(
        f"Two years of metformin modestly slowed cognitive decline in one trial {trial}.",
        [],
        relevant_articles=[{"reference": trial, "reason": "A trial of the very question.", "quotes": [QUOTE]}],
        key_themes=[
            {"name": "Small effects", "description": f"The effect was modest {trial}.", "references": [trial]},
        ],
        research_gaps=[
            {
                "description": "Semaglutide in Parkinson disease: none.",
                "basis": "null_search",
                "searches": ["s4"],
            },
        ],
    )


QUOTE = "Two years of metformin modestly slowed cognitive decline in this population."


@pytest.fixture(scope="session")
def good(upstream: Upstream) -> Outcome:
    model = scripted_model(searches, reads, hands_in)
    return asyncio.run(answer(Ask(question=QUESTION, sources=("pubmed",)), upstream, case="good", model=model))


def changed(outcome: Outcome, change: Change) -> Outcome:
    """The outcome with its output changed."""
    output = copy.deepcopy(outcome.output)
    change(output)
    return Outcome.model_validate({**outcome.model_dump(), "output": output})


def retold(outcome: Outcome, *said: Said) -> Outcome:
    """The outcome with another transcript."""
    return Outcome.model_validate({**outcome.model_dump(), "transcript": said})


def reference_of(outcome: Outcome, identifier: str) -> str:
    """The reference under which a work was shown."""
    shown = [work for work in outcome.works if identifier in work.identifiers]
    texts = "\n".join(said.text for said in outcome.transcript)
    return next(written for work in shown for key in work.keys if (written := f"«artifact:link:cite~{key}»") in texts)
