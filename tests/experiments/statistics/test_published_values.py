"""Values that GrowthBook publishes in its own tests.

Source: GrowthBook, packages/stats/tests/frequentist/test_tests.py, commit 8f1db44.
"""

import pytest

from fanion.experiments.statistics.comparison import Method, compare, compare_formulas
from fanion.experiments.statistics.guardrails import check_harm, harm_of
from fanion.experiments.statistics.samples import BinarySample, MeanSample
from fanion.experiments.statistics.sequential import SequentialTest

FIXED = MeanSample(3407, 1396.87, 52377.9767), MeanSample(3461, 2422.7, 134698.29)
ONE_SIDED = MeanSample(3000, 1396.87, 52377.9767), MeanSample(3461, 2422.7, 134698.29)


def five_digits(*values: float) -> object:
    return pytest.approx(values, abs=6e-6)


def test_the_fixed_test_of_the_lift() -> None:
    result = compare(*FIXED, Method("fixed"))

    assert (result.lift.estimate, result.p_value) == five_digits(0.70732, 0.06191)
    assert (result.lift.low, result.lift.high) == five_digits(-0.03526, 1.44989)


def test_the_fixed_test_of_the_difference() -> None:
    result = compare(*FIXED, Method("fixed", is_relative=False))

    assert (result.difference.estimate, result.p_value) == five_digits(0.29, 0.02016)
    assert (result.difference.low, result.difference.high) == five_digits(0.04538, 0.53462)


def test_the_fixed_test_of_conversions() -> None:
    result = compare_formulas(BinarySample(28, 14), BinarySample(30, 16), Method("fixed"))

    assert (result.lift.low, result.lift.high) == five_digits(-0.47767, 0.61101)
    assert result.p_value == pytest.approx(0.80707, abs=6e-6)


@pytest.mark.parametrize(
    ("tuning", "low", "high", "error"),
    [(1000, -0.55844, 1.56516, 0.33341), (5000, -0.50969, 1.51646, 0.33341)],
)
def test_the_multiplier_of_the_sequence(tuning: int, low: float, high: float, error: float) -> None:
    assert SequentialTest(tuning=tuning).multiplier(6461) == pytest.approx(
        (high - low) / 2 / error, abs=1e-4
    )


def test_the_one_sided_sequence() -> None:
    result = check_harm(harm_of(*ONE_SIDED, "decrease"))

    assert (result.harm, result.standard_error) == pytest.approx(
        (0.23437666666666668, 0.12983081254184736)
    )
    assert result.lower == pytest.approx(-0.12656844172804982, abs=1e-6)
    assert result.p_value == pytest.approx(0.46316491943359384, abs=2e-4)  # by bisection there


def test_the_one_sided_sequence_to_the_other_side() -> None:
    result = check_harm(harm_of(*ONE_SIDED, "increase"))

    assert result.lower == pytest.approx(-0.5953217750613832, abs=1e-6)
    assert result.outcome == "not_harmed_so_far"
