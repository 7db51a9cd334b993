"""The harness inside `inspect_ai`: a task with our cases, a solver that is the agent, a scorer that is our evaluators.

    from evals.inspect_ai import literature_task
    inspect_ai.eval(literature_task("topics"), model="none")

The agent brings its own model (`agent_model`); the model of `inspect_ai` is not asked. Needs the extra `inspect`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver

from evals.cases import About, Ask, Expected
from evals.crew import told
from evals.datasets import Loaded, load
from evals.evaluators import METRICS, metric, score
from evals.harness import counting
from evals.outcome import Outcome
from evals.task import answer
from evals.upstream import Sandbox

_PARTS = ("ask", "expected", "about")


def literature_task(
    dataset: str = "topics", agent_model: str = "extractive", limit: int | None = None, hide_titles: bool = False
) -> Task:
    """The cases of a dataset as a task of `inspect_ai`."""
    workspace = Path(tempfile.mkdtemp(prefix="literature-evals-"))
    loaded = load(dataset, workspace, hide_titles=hide_titles)
    return Task(
        dataset=MemoryDataset(samples(loaded, limit), name=loaded.cases.name),
        solver=literature_solver(loaded.corpus, agent_model),
        scorer=integrity_and_retrieval(),
    )


def samples(loaded: Loaded, limit: int | None = None) -> list[Sample]:
    """Each case as a sample; what is judged travels in its metadata."""
    return [
        Sample(
            id=case.name,
            input=case.inputs.question,
            target=[*(case.expected_output.relevant if case.expected_output else ())] or "",
            metadata={
                "ask": case.inputs.model_dump(mode="json"),
                "expected": (case.expected_output or Expected()).model_dump(mode="json"),
                "about": (case.metadata or About()).model_dump(mode="json"),
            },
        )
        for case in loaded.cases.cases[:limit]
    ]


@solver
def literature_solver(corpus: str = "packaged", agent_model: str = "extractive") -> Solver:
    """Answers a sample with the agent over the sandbox; completion is the summary, the rest goes into the store.

    A sample that raises has no answer and does not end the others.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        ask = Ask.model_validate(state.metadata.get("ask") or {"question": state.input_text})
        try:
            with Sandbox(corpus) as upstream:
                outcome = await answer(ask, upstream, case=str(state.sample_id), model=agent_model)
        except Exception as error:  # noqa: BLE001  # one case that raises is counted, and the others go on (K127)
            state.store.set("failed", told(error))
        else:
            state.store.set("outcome", outcome.model_dump(mode="json"))
            state.output.completion = str(outcome.output.get("summary") or "")
        state.completed = True
        return state

    return solve


@scorer(metrics={"*": [mean(), stderr()]})
def integrity_and_retrieval() -> Scorer:
    """Every evaluator that needs no judge, one value each; a sample without answer has the worst value of what it
    counts in. What a sample has no value of is not a number, which `inspect_ai` leaves out of the mean."""

    async def judge(state: TaskState, target: Target) -> Score:
        expected = Expected.model_validate(state.metadata["expected"])
        about = About.model_validate(state.metadata["about"])
        # The first sample decides for all which values there are.
        values = {one.name: float("nan") for one in METRICS if one.group != "judge"}
        if failed := state.store.get("failed"):
            worst = {name: metric(name).worst for name in counting(expected, about)}
            values |= {name: value for name, value in worst.items() if value is not None}
            return Score(value=dict(values), explanation=str(failed))
        found = score(Outcome.model_validate(state.store.get("outcome")), expected, about)
        values |= {name: float(one.value) for name, one in found.items() if not isinstance(one.value, str)}
        return Score(
            value=dict(values),
            explanation="\n".join(f"{name}: {one.reason}" for name, one in found.items() if one.reason),
        )

    return judge
