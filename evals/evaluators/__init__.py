"""Evaluators of literature answers, for `pydantic_evals` and any other harness.

Each takes an `EvaluatorContext` whose output is an `evals.outcome.Outcome` and whose expected output is an
`evals.cases.Expected`, and gives named values with a reason. Judgement rests on the corpus files and the transcript.
"""

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

STANDARD = (*INTEGRITY, Retrieval, Searching, RequiredBehaviour, Cost)
"""Every evaluator that needs no judge."""

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
]
