"""A model as judge, for what can't be counted: optional, repeated, with evidence and answer in both orders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field
from pydantic_ai import Agent
from pydantic_ai.exceptions import AgentRunError, UserError
from pydantic_ai.models import Model
from pydantic_evals.evaluators import EvaluationReason, Evaluator

from evals.cases import About, Ask, Expected
from evals.evaluators.integrity import Context, Results, outcome_and_library
from evals.models import model_of
from evals.outcome import REFERENCE, Outcome
from literature_agent.agents.ending import why_no_answer
from literature_agent.agents.models import provided
from literature_agent.settings import load_settings

RUBRIC = Path(__file__).parent / "rubric.md"
_BEST = 4
_MOST_ABSTRACTS = 20

Mark = Annotated[int, Field(ge=0, le=_BEST)]


class Judgement(BaseModel):
    """What a judge hands in."""

    faithful: Mark
    themes: Mark
    gaps: Mark
    answer: Literal["yes", "no", "maybe", "none"]
    reason: str = ""


@dataclass
class Judge(Evaluator[Ask, Any, About]):
    """Marks from 0 to 1 by the rubric: the mean over `repeats` judgements.

    Every second judgement has the abstracts before the answer instead of after it. `judge_agreement` is the share of
    pairs of judgements that differ by at most one step in every mark and give the same answer.
    """

    model: str | Model
    repeats: int = 2
    rubric: str = ""

    @cached_property
    def _agent(self) -> Agent[None, Judgement]:
        chosen = model_of(self.model) if isinstance(self.model, str) else self.model
        return Agent(
            provided(chosen),
            output_type=Judgement,
            instructions=self.rubric or RUBRIC.read_text(encoding="utf-8"),
            retries=2,
        )

    async def evaluate(self, ctx: Context) -> Results:
        outcome, _ = outcome_and_library(ctx)
        given = [
            await self._judged(shown_to_judge(outcome, evidence_first=turn % 2 == 1)) for turn in range(self.repeats)
        ]
        told = "; ".join(one.reason for one in given if one.reason)[:600]
        found = {
            f"judge_{name}": EvaluationReason(
                sum(getattr(one, name) for one in given) / (_BEST * len(given)),
                f"{[getattr(one, name) for one in given]} of {_BEST}. {told}",
            )
            for name in ("faithful", "themes", "gaps")
        }
        if isinstance(ctx.expected_output, Expected) and ctx.expected_output.answer is not None:
            right = [one.answer == ctx.expected_output.answer for one in given]
            found["judge_answer"] = EvaluationReason(
                sum(right) / len(right), f"{[one.answer for one in given]}, experts: {ctx.expected_output.answer}"
            )
        if len(given) > 1:
            pairs = list(combinations(given, 2))
            agreeing = sum(_agree(first, second) for first, second in pairs)
            found["judge_agreement"] = EvaluationReason(agreeing / len(pairs), f"{agreeing} of {len(pairs)} pairs")
        return found

    async def _judged(self, shown: str) -> Judgement:
        try:
            return (await self._agent.run(shown)).output
        except (AgentRunError, UserError) as failed:
            # What is said of it is kept in the report; a provider's own words may repeat the key.
            said = why_no_answer(failed, load_settings())
        raise RuntimeError(f"The judge gave no answer: {said}")


def _agree(first: Judgement, second: Judgement) -> bool:
    marks = ("faithful", "themes", "gaps")
    near = all(abs(getattr(first, name) - getattr(second, name)) <= 1 for name in marks)
    return near and first.answer == second.answer


def shown_to_judge(outcome: Outcome, *, evidence_first: bool) -> str:
    """The message of a judge: question, answer, and the abstracts cited, by number instead of reference."""
    answer, evidence = shown_answer(outcome)
    question = f"<question>\n{outcome.output.get('question')}\n</question>"
    return "\n\n".join([question, evidence, answer] if evidence_first else [question, answer, evidence])


def shown_answer(outcome: Outcome) -> tuple[str, str]:
    """The answer, and the abstracts that it cites, by number instead of reference."""
    numbers: dict[str, str] = {}

    def numbered(text: str) -> str:
        return REFERENCE.sub(lambda found: f"[{numbers.setdefault(found[1], str(len(numbers) + 1))}]", text)

    answer = "\n".join(["<answer>", numbered(_answer(outcome)), "</answer>"])
    abstracts: list[str] = []
    for article in outcome.articles[:_MOST_ABSTRACTS]:
        name = numbered(str(article.get("reference") or "?"))
        mark = " [RETRACTED]" if article.get("correction_status") == "retracted" else ""
        title = article.get("title") or ""
        abstracts.append(f"{name}{mark} {title}\n{article.get('abstract_text') or 'No abstract.'}")
    return answer, "\n\n".join(["<abstracts>", *abstracts, "</abstracts>"])


def _answer(outcome: Outcome) -> str:
    output = outcome.output
    lines: list[str] = [str(output.get("summary") or ""), "", "Themes:"]
    lines += [f"- {theme['name']}: {theme['description']} {_list(theme)}" for theme in output.get("key_themes") or ()]
    lines += ["", "Gaps:"]
    lines += [f"- ({gap['basis']}) {gap['description']} {_list(gap)}" for gap in output.get("research_gaps") or ()]
    return "\n".join(lines)


def _list(part: dict[str, Any]) -> str:
    references: Sequence[str] = part.get("references") or ()
    return " ".join(references)
