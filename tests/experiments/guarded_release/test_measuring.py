"""Comparison of people inside and outside of a guarded release, and what follows from it.

Source: experiments.md sections 3 (examples 12 and 17), 5c and 5d.
"""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from fanion.experiments.guarded_release.measuring import CONTROL, TREATED, Arms, measure
from fanion.experiments.guarded_release.model import (
    Decision,
    Measured,
    MetricHarm,
    Release,
    Step,
    decide,
)
from fanion.experiments.metrics.reading import read_metrics
from tests.support.management import NOW

ERRORS: dict[str, Any] = {
    "kind": "ExperimentMetric",
    "metric_type": "funnel",
    "goal": "decrease",
    "series": [{"kind": "EventsNode", "event": "error"}],
}
RELEASE = Release(
    id=1,
    project_id=1,
    flag_id=1,
    condition_index=0,
    steps=[
        Step(rollout_percentage=10, hold_minutes=60),
        Step(rollout_percentage=50, hold_minutes=60),
        Step(rollout_percentage=100),
    ],
    metrics=[ERRORS],
    alpha=0.05,
    minimum_exposures=100,
    on_regression="rollback",
    on_too_few="hold",
    state="running",
    reason=None,
    step=1,
    former_percentage=0,
    started_at=NOW,
    step_started_at=NOW,
    held_since=None,
    checked_at=None,
    harms=[],
    sums=[],
    history=[],
    due_at=NOW,
    created_by=None,
    created_at=NOW,
    updated_at=NOW,
)


def arms(control: tuple[int, int], treated: tuple[int, int]) -> Arms:
    """Return the sums of successes and people outside and inside of the rollout."""
    return {
        name: {"number": number, "sum": successes, "sum_squares": successes}
        for name, (successes, number) in ((CONTROL, control), (TREATED, treated))
    }


def harm_of(release: Release, *current: Arms, **fields: Any) -> MetricHarm:
    metrics = read_metrics([{**ERRORS, **fields}], "metrics", are_guardrails=True)
    [harm] = measure(release, metrics, current).harms
    return harm


def test_steps_are_compared_by_themselves_and_not_pooled() -> None:
    """Example 17: pooled, the same numbers give z 4.60."""
    first, second = arms((90, 9000), (12, 1000)), arms((100, 5000), (130, 5000))

    harm = harm_of(structs.replace(RELEASE, sums=[[dict(first)]]), second)

    assert harm.harm == pytest.approx(0.004)
    assert harm.p_value == pytest.approx(0.836142, abs=1e-5)
    assert harm.outcome == "not_harmed_so_far"


@pytest.mark.parametrize(
    ("control", "treated", "p_value", "lower", "outcome"),
    [
        ((50, 5000), (80, 5000), 0.074335, -0.000344, "not_harmed_so_far"),
        ((50, 5000), (100, 5000), 0.000718, 0.003196, "harmed"),
        ((5, 500), (20, 500), 0.060229, None, "not_harmed_so_far"),
    ],
)
def test_one_step_is_tested_as_a_guardrail(
    control: tuple[int, int],
    treated: tuple[int, int],
    p_value: float,
    lower: float | None,
    outcome: str,
) -> None:
    """Example 12."""
    harm = harm_of(RELEASE, arms(control, treated))

    assert harm.p_value == pytest.approx(p_value, abs=1e-5)
    assert lower is None or harm.lower == pytest.approx(lower, abs=1e-5)
    assert harm.outcome == outcome


def test_a_goal_to_increase_is_harmed_by_less() -> None:
    assert harm_of(RELEASE, arms((100, 5000), (50, 5000)), goal="increase").outcome == "harmed"
    assert harm_of(RELEASE, arms((50, 5000), (100, 5000)), goal="increase").outcome != "harmed"


def test_what_is_tolerated_is_no_harm() -> None:
    less = harm_of(RELEASE, arms((50, 5000), (100, 5000)), tolerance=1)

    assert (less.harm, less.outcome) == (0, "not_harmed_so_far")


@pytest.mark.parametrize(
    ("current", "is_enough"),
    [
        (arms((50, 5000), (100, 5000)), True),
        (arms((50, 5000), (50, 99)), False),
        (arms((3, 5000), (6, 5000)), False),
        ({}, False),
    ],
)
def test_few_people_or_successes_are_not_acted_on(current: Arms, is_enough: bool) -> None:
    metrics = read_metrics([ERRORS], "metrics")

    assert measure(RELEASE, metrics, [current]).is_enough == [is_enough]


def test_nobody_is_measured_as_nothing() -> None:
    assert harm_of(RELEASE, {}) == MetricHarm()


def test_everyone_inside_and_nobody_outside_is_harm() -> None:
    assert harm_of(RELEASE, arms((0, 500), (500, 500))).outcome == "harmed"


def test_arms_that_do_not_follow_the_percentage_are_a_mismatch() -> None:
    metrics = read_metrics([ERRORS], "metrics")

    def is_mismatch(outside: int, inside: int) -> bool:
        return measure(RELEASE, metrics, [arms((0, outside), (0, inside))]).is_mismatch

    assert is_mismatch(9463, 7681)
    assert not is_mismatch(5000, 5200)


QUIET = Measured(
    control=500,
    treated=500,
    sums=[{}],
    harms=[MetricHarm(outcome="not_harmed_so_far")],
    is_enough=[True],
    is_mismatch=False,
)
HARMED = replace(QUIET, harms=[MetricHarm(outcome="harmed")])
HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("release", "measured", "after", "decision"),
    [
        ({}, QUIET, HOUR / 2, Decision("stay")),
        ({}, QUIET, HOUR, Decision("next")),
        ({}, HARMED, HOUR / 2, Decision("roll_back", "harmed")),
        ({"on_regression": "pause"}, HARMED, HOUR / 2, Decision("pause", "harmed")),
        ({"on_regression": "notify"}, HARMED, HOUR / 2, Decision("stay", "harmed")),
        ({"on_regression": "notify"}, HARMED, HOUR, Decision("next", "harmed")),
        ({}, replace(HARMED, is_enough=[False]), HOUR / 2, Decision("stay")),
        ({}, replace(QUIET, is_mismatch=True), HOUR, Decision("hold", "split_mismatch")),
        ({}, replace(HARMED, is_mismatch=True), HOUR, Decision("roll_back", "harmed")),
        ({}, replace(QUIET, treated=99), HOUR, Decision("hold", "too_few")),
        ({"on_too_few": "continue"}, replace(QUIET, treated=9), HOUR, Decision("next")),
        (
            {"state": "holding", "held_since": NOW},
            replace(QUIET, control=9),
            timedelta(days=7),
            Decision("pause", "too_few"),
        ),
        ({"step": 2}, QUIET, HOUR, Decision("stay")),
    ],
)
def test_what_follows_from_a_check(
    release: dict[str, Any], measured: Measured, after: timedelta, decision: Decision
) -> None:
    assert decide(structs.replace(RELEASE, **release), measured, NOW + after) == decision


# It takes seconds: 200 weeks of looks.
def test_looking_every_hour_for_a_week_rarely_finds_harm_that_is_not_there() -> None:
    """A one-sided test of 1.645 at each look errs in 20 to 33 %.

    The bound has four standard errors of 200 runs above the level of the test.
    """
    random, runs, hours, per_hour, base = np.random.default_rng(17), 200, 168, 100, 0.02
    metrics, alarms = read_metrics([ERRORS], "metrics", are_guardrails=True), 0
    for _ in range(runs):
        counts = random.binomial(per_hour, base, (2, hours)).cumsum(axis=1).tolist()
        looks = (
            arms((counts[0][hour], per_hour * (hour + 1)), (counts[1][hour], per_hour * (hour + 1)))
            for hour in range(4, hours, 8)
        )
        alarms += any(
            measure(RELEASE, metrics, [look]).harms[0].outcome == "harmed" for look in looks
        )

    assert 0 < alarms / runs < 0.05 + 4 * (0.05 * 0.95 / runs) ** 0.5
