"""Means with intervals, and differences of runs. A failed case is in every denominator."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import NamedTuple

RESAMPLES = 2000
_LOW, _HIGH = 0.025, 0.975


class Estimate(NamedTuple):
    """A mean over cases with its 95 % bootstrap interval."""

    mean: float
    low: float
    high: float
    n: int


def by_case(values: Sequence[tuple[str, float]]) -> dict[str, float]:
    """The mean of each case over its repeats, so that repeats do not pass for more cases."""
    groups: dict[str, list[float]] = {}
    for name, value in values:
        groups.setdefault(name, []).append(value)
    return {name: sum(group) / len(group) for name, group in groups.items()}


def estimate(values: Sequence[float], *, seed: int = 0, resamples: int = RESAMPLES) -> Estimate:
    """The mean; the interval from resampled cases. Values that are all the same give an interval of no width.

    Raises:
        ValueError: there is no value.
    """
    if not values:
        raise ValueError("a mean needs at least one value")
    n = len(values)
    mean = sum(values) / n
    if min(values) == max(values):
        return Estimate(mean, mean, mean, n)
    dice = random.Random(seed)
    means = sorted(sum(dice.choices(values, k=n)) / n for _ in range(resamples))
    return Estimate(mean, _at(means, _LOW), _at(means, _HIGH), n)


def difference(
    before: Mapping[str, float], after: Mapping[str, float], *, seed: int = 0, resamples: int = RESAMPLES
) -> Estimate:
    """`after` less `before`, paired by case.

    Raises:
        ValueError: the cases are not the same.
    """
    if before.keys() != after.keys():
        raise ValueError("the runs do not have the same cases")
    return estimate([after[name] - before[name] for name in before], seed=seed, resamples=resamples)


def _at(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
