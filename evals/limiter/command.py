"""`python -m evals limiter`."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from evals.limiter.trial import LEAST_USED, MOST_APART, Plan, run_trial
from evals.numbers import positive
from evals.postgres import running_postgres

STORES = ("sqlite", "postgres")


def main(arguments: Sequence[str]) -> int:
    """Print how the limit was kept and used; 0 if as it should be."""
    parser = argparse.ArgumentParser(prog="python -m evals limiter", description="The limit trial.")
    parser.add_argument("--store", choices=STORES, action="append", help="where the pace is kept (both)")
    parser.add_argument("--processes", type=positive, default=4)
    parser.add_argument("--runs", type=positive, default=40, help="runs of all processes together (40)")
    parser.add_argument("--only", choices=("keyed", "unkeyed", "rest"), action="append", help="parts (all)")
    chosen = parser.parse_args(arguments)
    print(f"goals: 0 violations, at least {LEAST_USED} of the allowed rate, shares within {MOST_APART:.0%}")
    passed = True
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for store in chosen.store or STORES:
            if store == "postgres":
                address = stack.enter_context(running_postgres()).database()
            else:
                address = f"sqlite:///{folder / 'pace.sqlite3'}"
            for title, plan in _plans(address, chosen.processes, chosen.runs):
                if chosen.only and title not in chosen.only:
                    continue
                print(
                    f"{store}, {title}: {plan.processes} processes, {plan.runs} runs, about {plan.seconds:.0f} s",
                    flush=True,
                )
                outcome = run_trial(plan)
                print("\n".join(outcome.lines()), "" if outcome.passed else "  FAILED", sep="\n", flush=True)
                passed &= outcome.passed
    return 0 if passed else 1


def _plans(store: str, processes: int, runs: int) -> Iterator[tuple[str, Plan]]:
    yield "keyed", Plan(store, keyed=True, processes=processes, runs=runs)
    yield "unkeyed", Plan(store, keyed=False, processes=processes, runs=runs)
    yield "rest", Plan(store, keyed=True, processes=processes, runs=2 * processes, rest=True)
