"""The numbers that evaluators give: what each is called, which way is better, what a failed case counts as."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

Group = Literal["integrity", "retrieval", "behaviour", "judge", "cost"]


class Metric(NamedTuple):
    """`worst` is what a failed or timed-out case counts as; None: it has no value there (cost)."""

    name: str
    label: str
    group: Group
    better: Literal["high", "low", ""]
    worst: float | None
    unit: str = ""
    evaluator: str = ""
    """Which one gives it, where a failed case counts."""

    @property
    def told(self) -> str:
        """Its name, and what it is where the name alone does not say so."""
        return self.name if self.name.replace("_", " ") == self.label else f"{self.name}: {self.label}"


METRICS: tuple[Metric, ...] = (
    Metric(
        "fabricated_reference_rate", "fabricated references", "integrity", "low", 1.0, evaluator="FabricatedReferences"
    ),
    Metric("leaked_identifier_rate", "identifiers in prose", "integrity", "low", 1.0, evaluator="LeakedIdentifiers"),
    Metric("quote_pass_rate", "quotes that stand", "integrity", "high", 0.0, "", "QuotePassRate"),
    Metric(
        "unsupported_claim_rate", "claims without reference", "integrity", "low", 1.0, evaluator="UnsupportedClaims"
    ),
    Metric(
        "retracted_as_support_rate",
        "support by retracted papers",
        "integrity",
        "low",
        1.0,
        evaluator="RetractedAsSupport",
    ),
    Metric(
        "version_double_count_rate", "studies counted twice", "integrity", "low", 1.0, evaluator="VersionDoubleCount"
    ),
    Metric("gap_support_rate", "gaps with what they rest on", "integrity", "high", 0.0, "", "GapSupport"),
    Metric("honest_status_rate", "status says what happened", "integrity", "high", 0.0, "", "HonestStatus"),
    Metric("repair_rounds", "repair rounds", "integrity", "low", None),
    Metric("recall@10", "recall of the first 10", "retrieval", "high", 0.0, "", "Retrieval"),
    Metric("recall", "recall of the whole list", "retrieval", "high", 0.0, "", "Retrieval"),
    Metric("precision", "precision", "retrieval", "high", 0.0, "", "Retrieval"),
    Metric("ndcg@10", "nDCG of the first 10", "retrieval", "high", 0.0, "", "Retrieval"),
    Metric("seen", "relevant shown to the model", "retrieval", "high", 0.0, "", "Retrieval"),
    Metric("first_query_empty", "first query without a hit", "retrieval", "low", None),
    Metric("searches", "searches", "retrieval", "", None),
    Metric("reads", "records and texts read", "retrieval", "", None),
    Metric("turns_to_first_relevant", "turns to the first relevant", "retrieval", "low", None),
    Metric("seconds_to_first_relevant", "seconds to the first relevant", "retrieval", "low", None, "s"),
    Metric("behaviour", "required behaviour", "behaviour", "high", 0.0, "", "RequiredBehaviour"),
    Metric("judge_faithful", "faithful to the abstracts cited", "judge", "high", 0.0, "", "Judge"),
    Metric("judge_themes", "themes cover the articles", "judge", "high", 0.0, "", "Judge"),
    Metric("judge_gaps", "gaps are of use", "judge", "high", 0.0, "", "Judge"),
    Metric("judge_answer", "answer as the experts'", "judge", "high", 0.0, "", "Judge"),
    Metric("judge_agreement", "the judge agrees with itself", "judge", "high", None),
    Metric("requests", "requests to the model", "cost", "low", None),
    Metric("tool_calls", "tool calls", "cost", "low", None),
    Metric("input_tokens", "tokens in", "cost", "low", None),
    Metric("output_tokens", "tokens out", "cost", "low", None),
    Metric("cost_usd", "money", "cost", "low", None, "USD"),
    Metric("wall_s", "wall time", "cost", "low", None, "s"),
    Metric("characters_per_result", "characters per tool result", "cost", "low", None),
    Metric("characters_in", "characters of tool results", "cost", "low", None),
)

BY_NAME = {metric.name: metric for metric in METRICS}


def metric(name: str) -> Metric:
    """The metric of that name; an unknown name (an evaluator of one's own) is one where high is good."""
    return BY_NAME.get(name) or Metric(name, name, "behaviour", "high", 0.0)


def in_order(names: Sequence[str]) -> list[Metric]:
    """Metrics of these names, in the order of the table."""
    known = [one for one in METRICS if one.name in names]
    return [*known, *(metric(name) for name in names if name not in BY_NAME)]
