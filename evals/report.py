"""The record of one run: every case with its scores and reasons, and what the run was made of."""

from __future__ import annotations

import importlib.metadata
import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import Field

from evals.arithmetic import Estimate, by_case, difference, estimate
from evals.cases import Wire
from evals.evaluators.metrics import BY_NAME, Metric, in_order, metric
from literature_agent.errors import InvalidInputError, reason_of

FILE = "report.json"


class CaseResult(Wire):
    """One case of one run."""

    name: str
    case: str
    """The name in the dataset; `name` adds which repeat it is."""
    subject: str = ""
    question: str
    note: str = ""
    expected: str = ""
    status: str = ""
    error: str | None = None
    """Why there is no answer: the exception, or that the time was up."""
    scores: dict[str, float] = Field(default_factory=dict)
    reasons: dict[str, str] = Field(default_factory=dict)
    evaluator_errors: dict[str, str] = Field(default_factory=dict)
    applies: tuple[str, ...] = ()
    """Metrics that the case counts in with the worst value, if it has no answer."""
    transcript: str = ""
    """File of the transcript, relative to the report."""


class Summary(Wire):
    """One metric over the cases."""

    name: str
    mean: float
    low: float
    high: float
    cases: int
    """In the denominator, failed ones among them."""
    failed: int
    """Cases in the denominator that have no answer and count as the worst value."""


class Made(Wire):
    """What a run was made of: with the same, the figures are the same (for a model that is)."""

    dataset: str
    dataset_hash: str
    note: str = ""
    corpus: str
    corpus_hash: str
    model: str
    model_settings: dict[str, str] = Field(default_factory=dict)
    prompt_hashes: tuple[str, ...] = ()
    code_hash: str
    versions: dict[str, str] = Field(default_factory=dict)
    seed: int
    repeat: int
    limit: int | None
    concurrency: int
    upstream: str = "sandbox"


class Report(Wire):
    made: Made
    cases: tuple[CaseResult, ...]
    instructions: str = ""
    started_at: str
    wall_s: float
    peak_memory_mb: float = 0.0
    resumed: int = 0
    """Cases that were there from a run that was stopped."""
    format: Literal[1] = 1

    @property
    def failed(self) -> int:
        """Cases without an answer."""
        return sum(case.error is not None for case in self.cases)

    def values(self, name: str) -> list[tuple[str, float, bool]]:
        """Case, value and whether it failed, of every case in the denominator of a metric."""
        found: list[tuple[str, float, bool]] = []
        for case in self.cases:
            if name in case.scores:
                found.append((case.case, case.scores[name], False))
            elif case.error is not None and name in case.applies and (worst := metric(name).worst) is not None:
                found.append((case.case, worst, True))
        return found

    def metrics(self) -> list[Metric]:
        """The metrics that have a value or should have one."""
        names = dict.fromkeys(name for case in self.cases for name in (*case.scores, *case.applies))
        return [one for one in in_order(list(names)) if self.values(one.name)]

    def summary(self) -> list[Summary]:
        """Mean and interval of every metric. Repeats of a case are one case."""
        return [self.summarise(one.name) for one in self.metrics()]

    def summarise(self, name: str) -> Summary:
        """Mean and interval of one metric.

        Raises:
            InvalidInputError: no case has it.
        """
        values = self.values(name)
        if not values:
            raise InvalidInputError(
                f"No case has the metric {name!r}.",
                recovery=f"Use one of: {', '.join(one.name for one in self.metrics())}.",
            )
        each = by_case([(case, value) for case, value, _ in values])
        found: Estimate = estimate(list(each.values()), seed=self.made.seed)
        return Summary(
            name=name,
            mean=found.mean,
            low=found.low,
            high=found.high,
            cases=found.n,
            failed=len({case for case, _, failed in values if failed}),
        )

    def write(self, folder: Path) -> Path:
        """Keep it as JSON, with its summary for other readers."""
        file = folder / FILE
        whole = self.model_dump(mode="json")
        whole["summary"] = [one.model_dump() for one in self.summary()]
        file.write_text(json.dumps(whole, ensure_ascii=False, indent=1), encoding="utf-8")
        return file


def read_report(path: Path) -> Report:
    """The report in a folder or file.

    Raises:
        InvalidInputError: there is none, or it is of another form.
    """
    file = path / FILE if path.is_dir() else path
    if not file.is_file():
        raise InvalidInputError(f"{str(path)!r} holds no {FILE}.", recovery="Give the folder of a finished run.")
    try:
        whole = json.loads(file.read_text(encoding="utf-8"))
        whole.pop("summary", None)
        return Report.model_validate(whole)
    except (ValueError, TypeError, AttributeError, RecursionError) as broken:
        raise InvalidInputError(f"{str(file)!r} is no report of this harness: {reason_of(broken)}") from None


def versions(names: Iterable[str] = ("pydantic-ai-slim", "pydantic-evals", "pydantic", "httpx")) -> dict[str, str]:
    """Versions of what moves a score."""
    found = {"python": platform.python_version()}
    for name in ("literature-agent", *names):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


class Moved(NamedTuple):
    """One metric in two runs; `difference` is the second less the first, paired by case."""

    metric: Metric
    before: Summary
    after: Summary
    difference: Estimate

    @property
    def verdict(self) -> Literal["better", "worse", "same", "moved"]:
        """Whether the interval of the difference leaves out zero, and on which side."""
        if self.difference.low <= 0 <= self.difference.high:
            return "same"
        if not self.metric.better:
            return "moved"
        return "better" if (self.difference.mean > 0) == (self.metric.better == "high") else "worse"


def obstacles(before: Report, after: Report) -> list[str]:
    """Why the two runs can't be compared; empty where they can."""
    found: list[str] = []
    first, second = ({case.case for case in report.cases} for report in (before, after))
    if first != second:
        only = [sorted(first - second), sorted(second - first)]
        told = [
            f"{len(names)} only in the {place} ({', '.join(names[:3])}{' ...' if len(names) > 3 else ''})"
            for names, place in zip(only, ("first", "second"), strict=True)
            if names
        ]
        found.append(f"not the same cases: {'; '.join(told)}")
    elif before.made.dataset_hash != after.made.dataset_hash:
        found.append("the cases have the same names, but not the same questions or judgements")
    if before.made.corpus_hash != after.made.corpus_hash:
        found.append("not the same corpus")
    return found


def comparable(before: Report, after: Report) -> None:
    """Refuse two runs that can't be compared.

    Raises:
        InvalidInputError: the message says why.
    """
    if reasons := obstacles(before, after):
        raise InvalidInputError(f"Not comparable: {'; '.join(reasons)}.", recovery="Run both on the same cases.")


def compare(before: Report, after: Report) -> list[Moved]:
    """Every metric that both runs have.

    Raises:
        InvalidInputError: the runs can't be compared; the message says why.
    """
    comparable(before, after)
    moved: list[Moved] = []
    both = {one.name for one in before.metrics()} & {one.name for one in after.metrics()}
    for one in in_order([name for name in (m.name for m in after.metrics()) if name in both]):
        first, second = (by_case([(case, value) for case, value, _ in r.values(one.name)]) for r in (before, after))
        shared = first.keys() & second.keys()
        if not shared:
            continue
        found = difference(
            {case: first[case] for case in sorted(shared)},
            {case: second[case] for case in sorted(shared)},
            seed=after.made.seed,
        )
        moved.append(Moved(one, before.summarise(one.name), after.summarise(one.name), found))
    return moved


def missed(report: Report, thresholds: Mapping[str, float]) -> list[str]:
    """A sentence for each threshold that the run does not reach; where low is good, the threshold is a ceiling.

    Raises:
        InvalidInputError: no case has the metric.
    """
    found: list[str] = []
    for name, threshold in thresholds.items():
        summary = report.summarise(name)
        low_is_good = metric(name).better == "low"
        if (summary.mean > threshold) if low_is_good else (summary.mean < threshold):
            found.append(f"{name} is {summary.mean:.3f}, {'above' if low_is_good else 'under'} {threshold:g}")
    return found


def read_thresholds(given: Sequence[str]) -> dict[str, float]:
    """`recall=0.6` as a mapping.

    Raises:
        InvalidInputError: one is not of that form, or of no known metric.
    """
    found: dict[str, float] = {}
    for text in given:
        name, equals, value = text.partition("=")
        try:
            found[name.strip()] = float(value)
        except ValueError:
            equals = ""
        if not equals or not name.strip():
            raise InvalidInputError(f"{text!r} is no threshold.", recovery="Write it as metric=number: recall=0.6.")
        if name.strip() not in BY_NAME:
            raise InvalidInputError(f"There is no metric {name.strip()!r}.", recovery="See `python -m evals list`.")
    return found
