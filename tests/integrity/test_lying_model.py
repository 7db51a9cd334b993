"""The lying-model trial in short; `python -m evals integrity --adversarial 10000` is the long one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from evals.integrity.trial import World, build_world, lies_for, run_in


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with build_world() as built:
        yield built


def test_nothing_false_leaves_through_three_hundred_lying_runs(world: World) -> None:
    report = run_in(world, range(300))
    assert report.passed, "\n".join(report.lines())
    assert report.runs == 300
    # The trial reaches the checks: all kinds of lies were told.
    assert min(report.counted[name] for name in report.counted) > 0
    assert {"complete", "partial", "no_evidence", "parent checked"} <= set(report.endings)


@pytest.mark.parametrize("part", ["doi", "pmid", "author-year", "journal-year", "marker", "folding", "shown", "quotes"])
def test_without_one_part_of_the_checks_the_trial_fails(part: str, world: World) -> None:
    assert not run_in(world, range(40), without=part, only=lies_for(part), until_fault=True).passed
