"""The kill trial, small: workers are killed and nothing is lost, swapped, or paid for twice."""

from __future__ import annotations

from evals.durable.kill import Outcome, Plan, compare, kill_trial
from evals.postgres import Postgres


def test_killed_workers_lose_nothing_and_no_recorded_request_is_sent_again(postgres: Postgres) -> None:
    plan = Plan(
        questions=4, parents=1, workers=2, concurrency=2, kill_every_s=0.3, lease_s=2.5, most_kills=3, limit_s=120
    )
    report = kill_trial(plan, "postgresql", context="fork", running=postgres)
    assert report.failures == ()
    assert report.figures["results"] == 4
    assert report.figures["kills"] >= 1


def test_a_trial_in_which_nothing_was_killed_has_tried_nothing() -> None:
    plan = Plan(questions=0, parents=0)
    assert [each for each in compare(plan, Outcome(), Outcome()).failures if "killed" in each] != []
    assert [each for each in compare(plan, Outcome(), Outcome(kills=1)).failures if "killed" in each] == []
