"""Two answers to one question, held against each other by a model: each pair in both orders, repeated.

A judge that prefers what stands first contradicts itself when the places change; how often it does is part of the
result.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args

from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.exceptions import AgentRunError, UserError
from pydantic_ai.models import Model

from evals.arithmetic import Estimate, by_case, estimate
from evals.cases import Wire
from evals.evaluators.judge import shown_answer
from evals.harness import read_outcome
from evals.models import model_of
from evals.outcome import Outcome
from evals.report import CaseResult, Report, comparable
from literature_agent.agents.ending import why_no_answer
from literature_agent.agents.models import model_name, provided
from literature_agent.settings import load_settings

RUBRIC = Path(__file__).parent / "evaluators" / "rubric_pair.md"

Criterion = Literal["faithful", "themes", "gaps", "overall"]
CRITERIA: tuple[Criterion, ...] = get_args(Criterion)
Better = Literal["first", "second", "equal"]


class Verdict(BaseModel):
    """What a judge hands in on one pair."""

    faithful: Better
    themes: Better
    gaps: Better
    overall: Better
    reason: str = ""


class Preference(Wire):
    """One judgement of one pair: 1 for the answer of the second run, -1 for that of the first, 0 for neither."""

    faithful: int
    themes: int
    gaps: int
    overall: int
    swapped: bool
    """The answer of the second run stood first."""
    reason: str = ""

    @classmethod
    def of(cls, verdict: Verdict, *, swapped: bool) -> Preference:
        worth = {"equal": 0, "second": -1 if swapped else 1, "first": 1 if swapped else -1}
        marks = {name: worth[getattr(verdict, name)] for name in CRITERIA}
        return cls(**marks, swapped=swapped, reason=verdict.reason)


class Pair(Wire):
    """One case of both runs."""

    name: str
    case: str
    question: str
    preferences: tuple[Preference, ...] = ()
    unanswered: Literal["", "first", "second", "both"] = ""
    """Whose answer is missing: it loses, and the judge is not asked."""
    error: str = ""
    """Why the judge gave no judgement."""

    def value(self, criterion: Criterion) -> float | None:
        """The mean preference, -1 to 1; None where the judge failed."""
        if self.error:
            return None
        if self.unanswered:
            return {"first": 1.0, "second": -1.0}.get(self.unanswered, 0.0)
        marks: list[int] = [getattr(one, criterion) for one in self.preferences]
        return sum(marks) / len(marks)

    def agreements(self, criterion: Criterion) -> list[bool]:
        """Of each repeat whether both orders gave the same."""
        orders = [[one for one in self.preferences if one.swapped is swapped] for swapped in (False, True)]
        return [getattr(a, criterion) == getattr(b, criterion) for a, b in zip(*orders, strict=True)]


class Preferred(Wire):
    """One criterion over all pairs."""

    criterion: Criterion
    mean: float
    """Preference for the second run, -1 to 1, with its 95 % bootstrap interval over cases."""
    low: float
    high: float
    first: int
    """Cases that the first run wins."""
    equal: int
    second: int
    agreement: float | None
    """Share of repeats in which the judge said the same in both orders."""

    @property
    def verdict(self) -> Literal["first", "second", "equal"]:
        """Which run is preferred, where the interval leaves out zero."""
        return "equal" if self.low <= 0 <= self.high else "second" if self.mean > 0 else "first"


class PairedReport(Wire):
    """What a judge says of two runs."""

    judge: str
    repeats: int
    seed: int
    pairs: tuple[Pair, ...]

    @property
    def failed(self) -> int:
        """Pairs that the judge failed to judge; they are in no figure."""
        return sum(bool(pair.error) for pair in self.pairs)

    @property
    def stood_first(self) -> float | None:
        """Share of the decided judgements for the answer that stood first: 0.5 where the place does not matter."""
        decided = [one for pair in self.pairs for one in pair.preferences if one.overall]
        return sum((one.overall > 0) is one.swapped for one in decided) / len(decided) if decided else None

    def preferred(self) -> list[Preferred]:
        """Every criterion; empty where no pair was judged."""
        found = []
        for criterion in CRITERIA:
            values = [(pair.case, value) for pair in self.pairs if (value := pair.value(criterion)) is not None]
            if not values:
                continue
            each = by_case(values)
            mean: Estimate = estimate(list(each.values()), seed=self.seed)
            agreed = [one for pair in self.pairs for one in pair.agreements(criterion)]
            found.append(
                Preferred(
                    criterion=criterion,
                    mean=mean.mean,
                    low=mean.low,
                    high=mean.high,
                    first=sum(value < 0 for value in each.values()),
                    equal=sum(value == 0 for value in each.values()),
                    second=sum(value > 0 for value in each.values()),
                    agreement=sum(agreed) / len(agreed) if agreed else None,
                )
            )
        return found


@dataclass
class PairJudge:
    """Asks a model which of two answers is better, `repeats` times in each order."""

    model: str | Model
    repeats: int = 1
    rubric: str = ""

    @cached_property
    def _model(self) -> Model:
        return model_of(self.model) if isinstance(self.model, str) else self.model

    @property
    def name(self) -> str:
        """The name of the model."""
        return model_name(self._model)

    @cached_property
    def _agent(self) -> Agent[None, Verdict]:
        instructions = self.rubric or RUBRIC.read_text(encoding="utf-8")
        return Agent(provided(self._model), output_type=Verdict, instructions=instructions, retries=2)

    async def judge(self, before: Outcome, after: Outcome) -> tuple[Preference, ...]:
        """All judgements of one pair."""
        found = []
        for _ in range(self.repeats):
            for swapped in (False, True):
                shown = shown_pair(after, before) if swapped else shown_pair(before, after)
                found.append(Preference.of((await self._agent.run(shown)).output, swapped=swapped))
        return tuple(found)


def shown_pair(first: Outcome, second: Outcome) -> str:
    """The message of a judge: the question and both answers, each with its abstracts; names of models do not stand
    there."""
    question = f"<question>\n{first.output.get('question')}\n</question>"
    parts = [question]
    for place, outcome in (("first", first), ("second", second)):
        answer, abstracts = shown_answer(outcome)
        parts.append(f"<{place}>\n{answer}\n\n{abstracts}\n</{place}>")
    return "\n\n".join(parts)


async def compare_pairwise(
    judge: PairJudge, before: tuple[Path, Report], after: tuple[Path, Report], *, concurrency: int = 4
) -> PairedReport:
    """Every case of two runs, each given as its folder and report.

    Raises:
        InvalidInputError: the runs are not of the same cases.
    """
    comparable(before[1], after[1])
    gate, settings = asyncio.Semaphore(concurrency), load_settings()

    async def one(first: CaseResult, second: CaseResult) -> Pair:
        pair = Pair(name=first.name, case=first.case, question=first.question)
        answers = [_answer(before[0], first), _answer(after[0], second)]
        if answers[0] is None or answers[1] is None:
            missing = "both" if answers[0] is answers[1] else "first" if answers[0] is None else "second"
            return pair.model_copy(update={"unanswered": missing})
        async with gate:
            try:
                return pair.model_copy(update={"preferences": await judge.judge(answers[0], answers[1])})
            except (AgentRunError, UserError) as failed:
                return pair.model_copy(update={"error": why_no_answer(failed, settings)})

    pairs = await asyncio.gather(*(one(*both) for both in _paired(before[1], after[1])))
    return PairedReport(judge=judge.name, repeats=judge.repeats, seed=after[1].made.seed, pairs=tuple(pairs))


def _paired(before: Report, after: Report) -> Iterator[tuple[CaseResult, CaseResult]]:
    """Each case of both; the n-th repeat with the n-th."""
    later: dict[str, list[CaseResult]] = {}
    for case in after.cases:
        later.setdefault(case.case, []).append(case)
    for case in before.cases:
        if others := later.get(case.case):
            yield case, others.pop(0)


def _answer(folder: Path, case: CaseResult) -> Outcome | None:
    return None if case.error is not None else read_outcome(folder, case)


def rows_of(report: PairedReport) -> list[list[str]]:
    """The table of all criteria, as text."""
    return [
        [
            one.criterion,
            str(one.first),
            str(one.equal),
            str(one.second),
            f"{one.mean:+.3f}",
            f"{one.low:+.3f} to {one.high:+.3f}",
            "" if one.agreement is None else f"{one.agreement:.2f}",
            {"first": "A", "second": "B", "equal": ""}[one.verdict],
        ]
        for one in report.preferred()
    ]


HEADER: Sequence[str] = (
    "criterion", "A better", "equal", "B better", "preference for B", "95 % interval", "orders agree", "",
)  # fmt: skip


def told(report: PairedReport) -> str:
    """Who judged, how often, and how much the place of an answer mattered."""
    asked = sum(len(pair.preferences) for pair in report.pairs)
    parts = [f"Judge {report.judge}: {asked} judgements of {len(report.pairs)} pairs, each in both orders."]
    if report.stood_first is not None:
        parts.append(f"Of the decided ones {report.stood_first:.0%} were for the answer that stood first.")
    unanswered = sum(bool(pair.unanswered) for pair in report.pairs)
    if unanswered:
        parts.append(f"{unanswered} pairs lack an answer: the missing one loses.")
    if report.failed:
        parts.append(f"{report.failed} pairs were not judged and are in no figure, since the judge failed.")
    return " ".join(parts)
