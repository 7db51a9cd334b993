"""`python -m evals durable kill|memory|overhead [options]`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from evals.durable.kill import Plan, kill_trial
from evals.durable.measure import memory, overhead
from evals.numbers import positive


def main(arguments: list[str]) -> int:
    """Run the named trial and print its figures; 1 if it does not hold."""
    parser = argparse.ArgumentParser(prog="python -m evals durable", description=__doc__)
    trials = parser.add_subparsers(dest="trial", required=True)
    kill = trials.add_parser("kill", help="workers are killed every few seconds")
    kill.add_argument("--database", choices=("postgresql", "sqlite"), default="postgresql")
    for name in ("questions", "parents", "workers", "concurrency", "seed"):
        kill.add_argument(f"--{name}", type=int, default=getattr(Plan, name))
    kill.add_argument("--every", type=float, default=Plan.kill_every_s, metavar="SECONDS")
    kill.add_argument("--limit", type=float, default=Plan.limit_s, metavar="SECONDS", help="longest time of one pass")
    kept = trials.add_parser("memory", help="resident memory of one worker over many questions")
    kept.add_argument("--questions", type=positive, default=2000)
    kept.add_argument("--first", type=positive, default=200)
    cost = trials.add_parser("overhead", help="time of a question, plain and durable, with a model that takes 50 ms")
    cost.add_argument("--questions", type=positive, default=30)
    given = parser.parse_args(arguments)
    if given.trial == "memory":
        figures = memory(given.questions, given.first)
        return _print(figures, [] if figures["times as much"] <= 1.1 else ["memory grew by more than 10 %"])
    if given.trial == "overhead":
        return _print(overhead(given.questions), [])
    plan = Plan(
        questions=given.questions,
        parents=given.parents,
        workers=given.workers,
        concurrency=given.concurrency,
        kill_every_s=given.every,
        limit_s=given.limit,
        seed=given.seed,
    )
    if given.database == "sqlite":
        plan = replace(plan, workers=1)
    report = kill_trial(plan, given.database)
    return _print(report.figures, report.failures)


def _print(figures: Mapping[str, Any], failures: Sequence[str]) -> int:
    for name, figure in figures.items():
        print(f"{name:48} {figure}")
    for failure in failures:
        print(f"FAILED: {failure}")
    return 1 if failures else 0
