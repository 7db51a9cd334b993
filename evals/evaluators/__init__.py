"""Evaluators of literature answers, for `pydantic_evals` and any other harness.

Each takes an `EvaluatorContext` whose output is an `evals.outcome.Outcome` and whose expected output is an
`evals.cases.Expected`, and gives named values with a reason. Judgement rests on the corpus files and the transcript.
"""

import inspect
from collections.abc import Awaitable, Mapping, Sequence
from functools import partial
from typing import Any

from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext
from pydantic_evals.otel import SpanTreeRecordingError

from evals.cases import About, Ask, Expected
from evals.evaluators.behaviour import RequiredBehaviour
from evals.evaluators.cost import Cost
from evals.evaluators.integrity import (
    INTEGRITY,
    FabricatedReferences,
    GapSupport,
    HonestStatus,
    LeakedIdentifiers,
    QuotePassRate,
    RepairRounds,
    RetractedAsSupport,
    UnsupportedClaims,
    VersionDoubleCount,
)
from evals.evaluators.metrics import METRICS, Metric, metric
from evals.evaluators.retrieval import Retrieval, Searching
from evals.outcome import Outcome
from literature_agent.agents.sync import run_in_own_loop

STANDARD: tuple[type[Evaluator[Ask, Any, About]], ...] = (
    *INTEGRITY,
    Retrieval,
    Searching,
    RequiredBehaviour,
    Cost,
)
"""Every evaluator that needs no judge."""


def standard() -> list[Evaluator[Ask, Any, About]]:
    """One of each."""
    return [evaluator() for evaluator in STANDARD]


async def _awaited(result: Awaitable[Any]) -> Any:
    return await result


def score(
    outcome: Outcome,
    expected: Expected | None = None,
    about: About | None = None,
    evaluators: Sequence[Evaluator[Ask, Any, About]] = (),
) -> dict[str, EvaluationReason]:
    """Value and reason of every evaluator (`STANDARD` if none are given), for any harness; works inside a loop too."""
    context: EvaluatorContext[Ask, Any, About] = EvaluatorContext(
        name=outcome.case,
        inputs=Ask(question=str(outcome.output.get("question") or "")),
        metadata=about,
        expected_output=expected,
        output=outcome,
        duration=outcome.wall_s,
        _span_tree=SpanTreeRecordingError("spans are not recorded here"),
        attributes={},
        metrics={},
    )
    found: dict[str, EvaluationReason] = {}
    for evaluator in evaluators or standard():
        result: Any = evaluator.evaluate(context)
        if inspect.isawaitable(result):
            result = run_in_own_loop(partial(_awaited, result))
        if isinstance(result, Mapping):
            found.update({name: one for name, one in result.items() if isinstance(one, EvaluationReason)})
    return found


__all__ = [
    "INTEGRITY",
    "METRICS",
    "STANDARD",
    "Cost",
    "FabricatedReferences",
    "GapSupport",
    "HonestStatus",
    "LeakedIdentifiers",
    "Metric",
    "QuotePassRate",
    "RepairRounds",
    "RequiredBehaviour",
    "RetractedAsSupport",
    "Retrieval",
    "Searching",
    "UnsupportedClaims",
    "VersionDoubleCount",
    "metric",
    "score",
    "standard",
]
