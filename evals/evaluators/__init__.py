"""Evaluators of literature answers, for `pydantic_evals` and any other harness.

Each takes an `EvaluatorContext` whose output is an `evals.outcome.Outcome` and whose expected output is an
`evals.cases.Expected`, and gives named values with a reason. Judgement rests on the corpus files and the transcript.
"""

from typing import Any

from pydantic_evals.evaluators import Evaluator

from evals.cases import About, Ask
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
    "standard",
]
