"""Runs a dataset and writes its report: cases at once, each kept when it is done, so that a stopped run goes on."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import hashlib
import json
import os
import re
import resource
import shutil
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic_ai.models import Model
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import Evaluator, EvaluatorContext
from pydantic_evals.lifecycle import CaseLifecycle
from pydantic_evals.reporting import ReportCase, ReportCaseFailure
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from evals.cases import About, Ask, Expected
from evals.crew import CaseFailed, Crew, told
from evals.datasets import CHECKOUT, Loaded
from evals.evaluators import METRICS, standard
from evals.evaluators.metrics import metric
from evals.models import RECORDED, model_of
from evals.outcome import Outcome
from evals.report import FILE, CaseResult, Made, Report, versions
from evals.task import answer
from evals.upstream import RECORDING, Recordings, corpus_hash, slug, upstream_of
from literature_agent import Budget
from literature_agent.agents.models import model_name
from literature_agent.errors import InvalidInputError, LiteratureError, reason_of

Task = Callable[[Ask, str], Awaitable[Outcome]]
"""Answers a question; the text is the name of the case."""

_CASE: ContextVar[str] = ContextVar("case")
_STATE = "run.json"
_KEPT = "cases"


@dataclass(frozen=True)
class Plan:
    """One run to make.

    Args:
        loaded: cases and corpus.
        model: a name, or a model object (then everything runs in this process).
        out: folder that receives report and transcripts.
        timeout_s: when a case that has no answer counts as failed, seconds.
        evaluators: those to apply; `STANDARD` if empty.
        record: a new folder that receives a recording of each case.
        replay: a folder of recordings that stands in for the sandbox.
        show: print the live progress bar to stderr.
        asked: the options that the run was asked for with, see `check_folder`.
    """

    loaded: Loaded
    out: Path
    model: Model | str = "extractive"
    repeat: int = 1
    limit: int | None = None
    concurrency: int = 4
    seed: int = 0
    budget: Budget = field(default_factory=Budget)
    timeout_s: float = 600.0
    evaluators: Sequence[Evaluator[Ask, Any, About]] = ()
    record: Path | None = None
    replay: Path | None = None
    show: bool = False
    asked: Mapping[str, str] = field(default_factory=dict)


async def run(plan: Plan, task: Task | None = None) -> Report:
    """Run every case, score it, write `report.json` and a transcript for each case.

    A case that raises or takes too long is recorded as failed, and the others go on. A run that was stopped goes on
    where the same command, code and data are run again.

    Args:
        plan: what is run.
        task: answers in place of the agent (another agent, a recording).

    Raises:
        LiteratureError: the model or corpus can't be used at all.
    """
    began, started = time.perf_counter(), datetime.datetime.now(datetime.UTC)
    if plan.loaded.corpus == RECORDING:
        if plan.replay is None:
            raise InvalidInputError("The cases are asked of recorded services.", recovery="Give --replay DIR.")
        plan = replace(plan, loaded=plan.loaded._replace(corpus=f"{RECORDING}:{plan.replay.resolve()}"))
    cases = _expanded(plan)
    made = _made(plan)
    shelf = _Shelf(plan.out, made, _dataset_hash(plan.loaded, None), plan.asked)
    goes_on = shelf.open()
    if plan.record is not None:
        _open_for_recording(plan.record, goes_on=goes_on)
    resumed = sum(shelf.has(str(case.name)) for case in cases)
    results: dict[str, CaseResult] = {}
    kept: list[Outcome] = []

    with _progress(len(cases), plan.show) as tick:
        async with _task(plan, task) as ask_agent:

            class Watched(CaseLifecycle[Ask, Any, About]):
                """Names the case to the task, and takes its result."""

                async def setup(self) -> None:
                    _CASE.set(str(self.case.name))

                async def prepare_context(
                    self, ctx: EvaluatorContext[Ask, Any, About]
                ) -> EvaluatorContext[Ask, Any, About]:
                    kept.append(ctx.output.model_copy(update={"transcript": (), "works": (), "output": {}}))
                    return ctx

                async def teardown(self, result: Any) -> None:
                    if result is not None:
                        found = _result(self.case, result, shelf)
                        results[found.name] = found
                        tick(found)

            whole: Dataset[Ask, Any, About] = Dataset[Ask, Any, About](name=plan.loaded.cases.name, cases=cases)
            whole.evaluators = list(plan.evaluators) or standard()
            await whole.evaluate(
                _once(ask_agent, shelf, plan.timeout_s),
                max_concurrency=plan.concurrency,
                progress=False,
                lifecycle=Watched,
            )

    model = next((one.model for one in kept), made.model)
    report = Report(
        made=made.model_copy(
            update={"prompt_hashes": tuple(sorted({one.prompt_hash for one in kept} - {""})), "model": model}
        ),
        cases=tuple(results[str(case.name)] for case in cases),
        instructions=next((one.instructions for one in kept if one.instructions), ""),
        started_at=started.isoformat(timespec="seconds"),
        wall_s=round(time.perf_counter() - began, 2),
        peak_memory_mb=_peak_memory_mb(),
        resumed=resumed,
    )
    report.write(plan.out)
    shelf.finish()
    return report


def _open_for_recording(folder: Path, *, goes_on: bool) -> None:
    """Make the folder; only of a run that goes on it may hold something.

    Raises:
        InvalidInputError: it can't be made, or holds something.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as refused:
        raise InvalidInputError(
            f"Nothing can be recorded in {str(folder)!r}: {reason_of(refused)}.", recovery="Name another."
        ) from None
    if not goes_on and any(folder.iterdir()):
        raise InvalidInputError(f"The folder {str(folder)!r} is not empty.", recovery="Record into a new folder.")


def _once(ask_agent: Task, shelf: _Shelf, timeout_s: float) -> Callable[[Ask], Awaitable[Outcome]]:
    """Answers a case in time, and only if the shelf has no answer of it."""

    async def answered(ask: Ask) -> Outcome:
        name = _CASE.get()
        if (known := shelf.read(name)) is not None:
            if isinstance(known, str):
                raise CaseFailed(known)
            return known
        try:
            outcome = await asyncio.wait_for(ask_agent(ask, name), timeout_s)
        except TimeoutError:
            late = f"TimeoutError: no answer within {timeout_s:g} s"
            shelf.write_failure(name, late)
            raise CaseFailed(late) from None
        except CaseFailed as failed:
            shelf.write_failure(name, str(failed))
            raise
        except Exception as error:  # one case that raises is recorded, and the others go on (K127)
            shelf.write_failure(name, told(error))
            raise CaseFailed(told(error)) from error
        shelf.write(name, outcome)
        return outcome

    return answered


def _expanded(plan: Plan) -> list[Case[Ask, Any, About]]:
    """The cases to run, each repeat by its own name."""
    chosen = plan.loaded.cases.cases[: plan.limit]
    return [
        Case(
            name=case_name if plan.repeat == 1 else f"{case_name} [{turn}/{plan.repeat}]",
            inputs=case.inputs,
            expected_output=case.expected_output,
            metadata=case.metadata,
            evaluators=case.evaluators,
        )
        for number, case in enumerate(chosen, 1)
        for case_name in [case.name or f"case-{number}"]
        for turn in range(1, plan.repeat + 1)
    ]


def base_name(name: str) -> str:
    """The name in the dataset of a case or one of its repeats."""
    return re.sub(r" \[\d+/\d+\]$", "", name)


@asynccontextmanager
async def _task(plan: Plan, task: Task | None) -> AsyncIterator[Task]:
    if task is not None:
        yield task
        return
    if isinstance(plan.model, str):
        if plan.replay is None or plan.model != RECORDED:
            model_of(plan.model)  # a model that can't be used ends the run before its first case
        size = min(plan.concurrency, os.cpu_count() or 1, len(plan.loaded.cases.cases[: plan.limit]) * plan.repeat)
        if size > 1:
            async with Crew(
                size,
                corpus=plan.loaded.corpus,
                model=plan.model,
                budget=plan.budget,
                record=plan.record,
                replay=plan.replay,
            ) as crew:
                yield crew.answer
            return
    with upstream_of(plan.loaded.corpus, plan.record, plan.replay) as upstream:

        async def here(ask: Ask, case: str) -> Outcome:
            return await answer(ask, upstream, case=case, model=plan.model, budget=plan.budget)

        yield here


def _result(
    case: Case[Ask, Any, About],
    result: ReportCase[Ask, Any, About] | ReportCaseFailure[Ask, Any, About],
    shelf: _Shelf,
) -> CaseResult:
    expected = case.expected_output if isinstance(case.expected_output, Expected) else Expected()
    about = case.metadata or About()
    name = str(case.name)
    scores: dict[str, float] = {}
    reasons: dict[str, str] = {}
    broken: dict[str, str] = {}
    status, error = "", None
    if isinstance(result, ReportCase):
        for one in (*result.scores.values(), *result.assertions.values()):
            scores[one.name] = float(one.value)
            if one.reason:
                reasons[one.name] = one.reason
        broken = {failure.name: failure.error_message for failure in result.evaluator_failures}
        status = str(result.output.output.get("status") or "")
        for given in METRICS:
            if given.evaluator in broken and given.worst is not None and given.name not in scores:
                scores[given.name], reasons[given.name] = (
                    given.worst,
                    f"the evaluator raised: {broken[given.evaluator]}",
                )
    else:
        error = result.error_message.removeprefix("CaseFailed: ")
    return CaseResult(
        name=name,
        case=base_name(name),
        subject=about.subject,
        question=case.inputs.question,
        note=about.note,
        expected=_told_expected(expected, about),
        status=status,
        error=error,
        scores=scores,
        reasons=reasons,
        evaluator_errors=broken,
        applies=counting(expected, about),
        transcript=f"{_KEPT}/{shelf.file_name(name)}",
    )


def counting(expected: Expected, about: About) -> tuple[str, ...]:
    """Metrics that a case counts in even without an answer, by what is known of it."""
    judged = any(grade > 0 for grade in expected.relevant.values())
    required = bool(about.required) or expected.status is not None
    wanted = {"integrity": True, "retrieval": judged, "behaviour": required, "judge": False, "cost": False}
    return tuple(one.name for one in METRICS if one.worst is not None and wanted[one.group])


def _told_expected(expected: Expected, about: About) -> str:
    parts = [", ".join(f"{name} ({grade})" for name, grade in expected.relevant.items())]
    parts += [
        f"status {expected.status}" if expected.status else "",
        f"answer {expected.answer}" if expected.answer else "",
    ]
    parts += [", ".join(about.required)]
    return "; ".join(part for part in parts if part)


# --- what a run is made of --------------------------------------------------------------------------------------------


def _made(plan: Plan) -> Made:
    budget = {name: str(value) for name, value in plan.budget.model_dump().items() if value is not None}
    name = plan.model if isinstance(plan.model, str) else model_name(plan.model)
    return Made(
        dataset=plan.loaded.cases.name,
        dataset_hash=_dataset_hash(plan.loaded, plan.limit),
        note=plan.loaded.note,
        corpus=plan.loaded.corpus,
        corpus_hash=corpus_hash(plan.loaded.corpus),
        model=name,
        model_settings={**_model_settings(plan.model), **budget, "timeout_s": f"{plan.timeout_s:g}"},
        code_hash=code_hash(),
        versions=versions(),
        seed=plan.seed,
        repeat=plan.repeat,
        limit=plan.limit,
        concurrency=plan.concurrency,
        upstream="sandbox" if plan.replay is None else f"recording {Recordings(plan.replay).hash()}",
    )


def _dataset_hash(loaded: Loaded, limit: int | None) -> str:
    """One hash over questions and judgements."""
    content = [
        [case.name, case.inputs.model_dump(), case.expected_output.model_dump() if case.expected_output else None]
        for case in loaded.cases.cases[:limit]
    ]
    return _hash(json.dumps(content, sort_keys=True, default=str))


def _model_settings(model: Model | str) -> dict[str, str]:
    try:
        settings = (model_of(model) if isinstance(model, str) else model).settings
    except LiteratureError:
        return {}
    return {name: str(value) for name, value in (settings or {}).items()} if isinstance(settings, dict) else {}


def code_hash() -> str:
    """One hash over the package's code and prompts."""
    whole = hashlib.sha256()
    for folder, pattern in (("literature_agent", "*.py"), ("prompts", "*.md")):
        for file in sorted((CHECKOUT / folder).rglob(pattern)):
            whole.update(file.relative_to(CHECKOUT).as_posix().encode() + b"\0" + file.read_bytes())
    return whole.hexdigest()[:16]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _peak_memory_mb() -> float:
    """The largest resident size of this process and of the largest of its workers, together."""
    own, workers = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return round((own + workers) / (1024 * 1024 if sys.platform == "darwin" else 1024), 1)


# --- what is kept -----------------------------------------------------------------------------------------------------


def check_folder(out: Path, asked: Mapping[str, str]) -> None:
    """Refuse a folder that holds what the run would overwrite: another run, or what is no run.

    Args:
        out: where the run is to be kept.
        asked: option -> value of what makes the report another one; that without a name comes first.

    Raises:
        InvalidInputError: it is no folder, or holds something else than a run that was asked for in the same way.
    """
    if out.exists() and not out.is_dir():
        raise InvalidInputError(f"{str(out)!r} is no folder.", recovery="Give another --out.")
    if not (out / _STATE).is_file():
        if (out / _KEPT).exists() or (out / FILE).exists():
            raise InvalidInputError(
                f"What the folder {str(out)!r} holds is of no run of this harness.", recovery="Give another --out."
            )
        return
    try:
        state = json.loads((out / _STATE).read_text(encoding="utf-8"))
        known, finished = dict(state["asked"]), state["finished"]
    except (ValueError, KeyError, TypeError):
        return  # cut off while it was written, or of an earlier version
    # How many cases are asked for changes none of them: a stopped run goes on with more.
    free = set() if finished else {"limit"}
    if any(known.get(name) != asked.get(name) for name in {*known, *asked} - free):
        told_ = " ".join(f"--{name} {value}".strip() if name else value for name, value in known.items())
        raise InvalidInputError(
            f"The folder {str(out)!r} holds another run: `{told_}`.",
            recovery="Give another --out, or remove the folder.",
        )


class _Shelf:
    """A file for each finished case. What an unfinished run of the same making left is used again."""

    def __init__(self, out: Path, made: Made, whole_dataset: str, asked: Mapping[str, str]) -> None:
        self._out = out
        self._asked = dict(asked)
        self._folder = out / _KEPT
        # Neither how many cases are asked for nor how many at once changes what one of them is.
        made_of = made.model_dump_json(exclude={"concurrency", "limit", "dataset_hash"})
        self._making = _hash(made_of + whole_dataset)

    def open(self) -> bool:
        """Make ready: what another making left is cleared away. Whether an unfinished run goes on."""
        state = self._out / _STATE
        usable = False
        if state.is_file():
            try:
                known = json.loads(state.read_text(encoding="utf-8"))
                usable = (known["making"], known["finished"]) == (self._making, False)
            except (ValueError, KeyError, TypeError):
                usable = False
        if not usable and self._folder.is_dir():
            shutil.rmtree(self._folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        self._note(finished=False)
        return usable

    def has(self, case: str) -> bool:
        """Whether the case is there already."""
        return (self._folder / self.file_name(case)).is_file()

    def finish(self) -> None:
        self._note(finished=True)

    def _note(self, *, finished: bool) -> None:
        text = json.dumps({"making": self._making, "asked": self._asked, "finished": finished})
        (self._out / _STATE).write_text(text, encoding="utf-8")

    def file_name(self, case: str) -> str:
        return f"{slug(case)}.json"

    def read(self, case: str) -> Outcome | str | None:
        """The outcome of a finished case, or why it failed; None where it has not been run."""
        file = self._folder / self.file_name(case)
        if not file.is_file():
            return None
        try:
            kept = json.loads(file.read_text(encoding="utf-8"))
            return str(kept["failed"]) if "failed" in kept else Outcome.model_validate(kept["outcome"])
        except (ValueError, KeyError):
            return None  # cut off while it was written: the case is run again

    def write(self, case: str, outcome: Outcome) -> None:
        self._put(case, f'{{"outcome": {outcome.model_dump_json(exclude={"instructions"})}}}')

    def write_failure(self, case: str, why: str) -> None:
        self._put(case, json.dumps({"failed": why}, ensure_ascii=False))

    def _put(self, case: str, text: str) -> None:
        file = self._folder / self.file_name(case)
        part = file.with_suffix(".part")
        part.write_text(text, encoding="utf-8")
        part.replace(file)


def read_outcome(out: Path, case: CaseResult) -> Outcome | None:
    """The transcript that a run kept of a case; None where it failed."""
    file = out / case.transcript
    if not case.transcript or not file.is_file():
        return None
    kept = json.loads(file.read_text(encoding="utf-8"))
    return Outcome.model_validate(kept["outcome"]) if "outcome" in kept else None


@contextlib.contextmanager
def _progress(total: int, show: bool) -> Iterator[Callable[[CaseResult], None]]:
    """A bar on stderr with the running figures."""
    seen: list[CaseResult] = []
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[told]}"),
        console=Console(stderr=True),
        disable=not show,
    )
    with bar:
        line = bar.add_task("cases", total=total, told="")

        def tick(result: CaseResult) -> None:
            seen.append(result)
            recalls = [
                one.scores.get("recall@10", metric("recall@10").worst or 0.0)
                for one in seen
                if "recall@10" in one.applies
            ]
            failed = sum(one.error is not None for one in seen)
            told_ = f"recall@10 {sum(recalls) / len(recalls):.3f}" if recalls else ""
            bar.update(line, advance=1, told=f"{told_}{f'  {failed} failed' if failed else ''}")

        yield tick
