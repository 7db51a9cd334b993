"""`python -m evals integrity`."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from pathlib import Path

from evals.integrity.labelled import read_real, score_claims, score_leaks
from evals.integrity.trial import PARTS, build_world, lies_for, run_in, run_trial
from evals.numbers import positive

LEAST_OF_LEAKS = 0.99
MOST_FALSE_ALARMS = 1 / 1000
"""Of all sentences of real abstracts."""
REAL = Path(__file__).resolve().parents[3] / "shared" / "corpora" / "pubmedqa-dev" / "corpus.jsonl"
"""Real abstracts in the optional folder beside the checkout."""
_WEAKENED_RUNS = 40


def main(arguments: Sequence[str]) -> int:
    """Print how the checks fare; 0 if they hold."""
    parser = argparse.ArgumentParser(prog="python -m evals integrity", description="Trials of citation integrity.")
    parser.add_argument("--adversarial", type=positive, default=300, metavar="N", help="runs of the lying model (300)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first run (0)")
    parser.add_argument("--jobs", type=positive, default=min(2, os.cpu_count() or 1), help="processes (2)")
    parser.add_argument(
        "--without",
        nargs="+",
        choices=("all", *PARTS),
        metavar="PART",
        help="instead, switch each of these parts of the checks off in turn: every trial must fail "
        f"({', '.join(PARTS)}; all)",
    )
    chosen = parser.parse_args(arguments)
    if chosen.without:
        return _weakened(PARTS if "all" in chosen.without else chosen.without)
    held = _sentences()
    started = time.perf_counter()
    report = run_trial(chosen.adversarial, seed=chosen.seed, jobs=chosen.jobs)
    print("lying model:")
    print("\n".join(report.lines()))
    print(f"{time.perf_counter() - started:.0f} s")
    return 0 if report.passed and held else 1


def _sentences() -> bool:
    """Print how sentences are judged; whether the figures hold."""
    leaks, claims = score_leaks(), score_claims()
    for score, name in ((leaks, "leak guard"), (claims, "claims")):
        print(score.line(name))
        for kind, sentences in (("false alarm", score.false_alarms), ("missed", score.missed)):
            for sentence in sentences:
                print(f"  {kind}: [{sentence.label}] {sentence.text}")
    held = min(leaks.precision, leaks.recall) >= LEAST_OF_LEAKS
    if not REAL.is_file():
        print(f"real abstracts: not here ({REAL.name} of pubmedqa-dev in the folder shared beside the checkout)")
        return held
    number, alarms = read_real(REAL)
    false = sum(alarm.verdict == "false alarm" for alarm in alarms)
    print(f"real abstracts: {number} sentences, {len(alarms)} alarms, {false} of them false")
    for alarm in alarms:
        print(f"  {alarm.verdict}: [{alarm.kind}] {alarm.text!r} in {alarm.pmid}")
    return held and false < number * MOST_FALSE_ALARMS


def _weakened(parts: Sequence[str]) -> int:
    """Print what gets out without each part; 0 if something does without each."""
    failed = 0
    with build_world() as world:
        for part in parts:
            report = run_in(world, range(_WEAKENED_RUNS), without=part, only=lies_for(part), until_fault=True)
            failed += not report.passed
            what = " ".join(report.faults[0].split())[:150] if report.faults else "nothing gets out"
            print(f"without {part:<18} {'passed' if report.passed else 'FAILED'} after {report.runs:>2} runs: {what}")
    print(f"{failed} of {len(parts)} weakened trials failed, as all must")
    return 0 if failed == len(parts) else 1
