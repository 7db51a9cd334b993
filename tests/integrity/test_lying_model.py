"""The lying-model trial in short; `python -m evals integrity --adversarial 10000` is the long one."""

from __future__ import annotations

import pytest

from evals.integrity.trial import run_trial


def test_nothing_false_leaves_through_three_hundred_lying_runs() -> None:
    report = run_trial(300)
    assert report.passed, "\n".join(report.lines())
    assert report.runs == 300
    # The trial reaches the checks: all kinds of lies were told.
    assert min(report.counted[name] for name in report.counted) > 0
    assert {"complete", "partial", "no_evidence"} <= set(report.endings)


@pytest.mark.parametrize("part", ["doi", "pmid", "author-year", "journal-year", "marker", "folding", "shown", "quotes"])
def test_without_one_part_of_the_checks_the_trial_fails(part: str) -> None:
    assert not run_trial(40, without=part).passed
