"""Plans: uneven splits, what a number of units finds, and days."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanion.experiments.statistics.planning import (
    days_needed,
    detectable_effect,
    detection_multiplier,
    units_together,
)

ALWAYS = detection_multiplier(0.05, 0.8)


def test_the_multiplier_is_that_of_the_planned_end() -> None:
    assert pytest.approx(3.0352 + 0.8416, abs=1e-4) == ALWAYS
    assert detection_multiplier(0.025, 0.8) > ALWAYS


def test_a_small_arm_costs_more_and_the_smallest_decides() -> None:
    even, uneven, three = (
        units_together(0.05, 0.0475, 0.1, ALWAYS, shares)
        for shares in ([0.5, 0.5], [0.9, 0.1], [0.4, 0.5, 0.1])
    )

    assert even < uneven < three


@given(st.floats(0.01, 0.9), st.floats(0.001, 1), st.floats(0.05, 0.5))
def test_the_planned_units_find_the_planned_effect(
    mean: float, effect: float, share: float
) -> None:
    variance, shares = mean * (1 - mean), [1 - share, share]

    units = units_together(mean, variance, effect, ALWAYS, shares)

    assert detectable_effect(mean, variance, ALWAYS, units, shares) <= effect * (1 + 1e-9)


def test_a_plan_takes_a_week_at_least() -> None:
    assert days_needed(1000, 1000) == 7
    assert days_needed(114_228, 10_000) == 12
