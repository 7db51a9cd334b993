"""What an answer cost: requests, tokens, money, time, and how much a model had to read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic_evals.evaluators import EvaluationReason, Evaluator

from evals.cases import About, Ask
from evals.evaluators.integrity import Context, Results, outcome_and_library


@dataclass
class Cost(Evaluator[Ask, Any, About]):
    """Requests and tool calls as the transcript shows them; tokens and money as the provider counted them."""

    def evaluate(self, ctx: Context) -> Results:
        outcome, _ = outcome_and_library(ctx)
        usage = outcome.output.get("usage") or {}
        results = [said for said in outcome.transcript if said.kind in ("result", "failure")]
        characters = sum(len(said.text) for said in results)
        replies = [said.turn for said in outcome.transcript if said.kind in ("call", "text", "thinking")]
        found = {
            "requests": EvaluationReason(max(replies, default=0)),
            "tool_calls": EvaluationReason(sum(said.kind == "call" for said in outcome.transcript)),
            "input_tokens": EvaluationReason(int(usage.get("input_tokens") or 0)),
            "output_tokens": EvaluationReason(int(usage.get("output_tokens") or 0)),
            "wall_s": EvaluationReason(outcome.wall_s),
            "characters_in": EvaluationReason(characters),
        }
        if usage.get("cost_usd") is not None:
            found["cost_usd"] = EvaluationReason(float(usage["cost_usd"]))
        if results:
            longest = max(len(said.text) for said in results)
            found["characters_per_result"] = EvaluationReason(
                round(characters / len(results), 1), f"{len(results)} results, the longest {longest:,}"
            )
        return found


COST: tuple[type[Evaluator[Ask, Any, About]], ...] = (Cost,)
