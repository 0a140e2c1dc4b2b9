"""Tests of harm: direction, tolerance, and what is surely safe."""

import pytest

from fanion.experiments.statistics.guardrails import Goal, check_harm, harm_of, in_strata
from fanion.experiments.statistics.samples import BinarySample, MeanSample

LOW, HIGH = BinarySample(10_000, 1000), BinarySample(10_000, 1500)


@pytest.mark.parametrize(
    ("control", "test", "goal", "outcome"),
    [
        (LOW, HIGH, "decrease", "harmed"),
        (LOW, HIGH, "increase", "not_harmed_so_far"),
        (HIGH, LOW, "increase", "harmed"),
        (HIGH, LOW, "decrease", "not_harmed_so_far"),
    ],
)
def test_harm_is_the_other_way_than_the_goal(
    control: BinarySample, test: BinarySample, goal: Goal, outcome: str
) -> None:
    assert check_harm(harm_of(control, test, goal)).outcome == outcome


@pytest.mark.parametrize(
    ("control", "test", "goal"),
    [
        (MeanSample(100, 1000, 20_000), MeanSample(100, 1200, 20_000), "decrease"),
        (MeanSample(100, 1000, 20_000), MeanSample(100, 800, 20_000), "increase"),
        (MeanSample(100, -1000, 20_000), MeanSample(100, -800, 20_000), "decrease"),
        (MeanSample(100, -1000, 20_000), MeanSample(100, -1200, 20_000), "increase"),
    ],
)
def test_a_tolerance_is_a_share_of_controls_size(
    control: MeanSample, test: MeanSample, goal: Goal
) -> None:
    strict, tolerant = (harm_of(control, test, goal, tolerance) for tolerance in (0.0, 0.1))

    assert strict.harm == pytest.approx(2)
    assert tolerant.harm == pytest.approx(1)
    assert tolerant.squared_error != strict.squared_error


def test_a_variant_within_its_tolerance_is_safe() -> None:
    control, test = BinarySample(100_000, 10_000), BinarySample(100_000, 10_050)

    effect = harm_of(control, test, "decrease", tolerance=0.2)

    assert check_harm(effect, may_be_safe=True).outcome == "safe"
    assert check_harm(effect).outcome == "not_harmed_so_far"


def test_nothing_is_said_without_variance() -> None:
    result = check_harm(harm_of(BinarySample(100, 0), BinarySample(100, 0), "decrease"))

    assert (result.outcome, result.p_value, result.lower) == (None, None, None)


def test_one_stratum_is_the_plain_test() -> None:
    effect = harm_of(LOW, HIGH, "decrease")

    assert in_strata([effect]) == effect


def test_an_enormous_harm_has_a_p_value() -> None:
    control, test = BinarySample(10**9, 10), BinarySample(10**9, 9 * 10**8)

    assert check_harm(harm_of(control, test, "decrease")).p_value == 0
