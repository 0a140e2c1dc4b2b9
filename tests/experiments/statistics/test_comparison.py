"""Gates, edges and laws of comparisons."""

from dataclasses import replace
from typing import Literal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fanion.experiments.statistics.comparison import Method, compare, failures_of
from fanion.experiments.statistics.intervals import Interval
from fanion.experiments.statistics.samples import (
    BeforeAndAfter,
    BinarySample,
    MeanSample,
    RatioSample,
    Sample,
    adjusted,
)

METHODS = [Method(), Method("fixed"), Method("bayesian")]
MANY = BinarySample(1000, 100)


def binary_samples() -> st.SearchStrategy[BinarySample]:
    numbers = st.integers(50, 10**7)
    return numbers.flatmap(
        lambda number: st.integers(5, number).map(lambda sum_: BinarySample(number, sum_))
    )


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
@pytest.mark.parametrize(
    ("control", "test"),
    [
        (MANY, BinarySample(49, 20)),
        (BinarySample(49, 20), MANY),
        (MANY, BinarySample(1000, 4)),
        (BinarySample(1000, 4), MANY),
        (MeanSample(49, 10, 20), MeanSample(1000, 10, 20)),
    ],
)
def test_too_little_gives_estimates_without_bounds(
    control: Sample, test: Sample, method: Method
) -> None:
    result = compare(control, test, method)

    assert result.difference == Interval(test.mean - control.mean)
    assert result.lift == Interval((test.mean - control.mean) / control.mean)
    assert (result.z, result.p_value, result.chance_to_win) == (None, None, None)
    assert not result.is_significant


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_a_control_of_nothing_leaves_the_difference(method: Method) -> None:
    control, test = MeanSample(1000, 0, 0), MeanSample(1000, 500, 900)

    result = compare(control, test, method)

    assert failures_of(control, is_baseline=True) == ["baseline-mean-is-zero"]
    assert result.lift == Interval(None)
    assert result.difference.low is not None and result.difference.low > 0
    assert result.is_significant


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_a_control_below_0_leaves_the_difference(method: Method) -> None:
    result = compare(MeanSample(1000, -500, 900), MeanSample(1000, 500, 900), method)

    assert result.lift == Interval(None)
    assert result.difference.estimate == 1
    assert result.is_significant


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
@pytest.mark.parametrize(
    ("control", "test"),
    [
        (MeanSample(100, 0, 0), MeanSample(100, 0, 0)),
        (MeanSample(100, 300, 900), MeanSample(100, 300, 900)),
        (BinarySample(100, 100), BinarySample(100, 100)),
        (RatioSample(100, 0, 0, 0, 0, 0), RatioSample(100, 0, 0, 0, 0, 0)),
    ],
)
def test_no_variance_is_said(control: Sample, test: Sample, method: Method) -> None:
    result = compare(control, test, method)

    assert result.has_no_variance
    assert (result.p_value, result.difference.low) == (None, None)


def test_no_units_give_nothing() -> None:
    result = compare(BinarySample(0, 0), BinarySample(0, 0), Method())

    assert (result.difference, result.lift) == (Interval(None), Interval(None))


def test_rounding_never_makes_a_variance_negative() -> None:
    assert MeanSample(3, 0.3, 0.03 - 1e-18).variance >= 0
    assert MeanSample(10, 10.0, 9.999999999).variance == 0
    assert RatioSample(10, 10, 9.9, 10, 9.9, 10.1).variance >= 0


@given(binary_samples(), binary_samples())
def test_fiellers_interval_excludes_0_exactly_when_the_difference_does(
    control: BinarySample, test: BinarySample
) -> None:
    result = compare(control, test, Method())
    assume(result.lift.low is not None and result.difference.low is not None)
    low, high = result.difference.low, result.difference.high
    assert low is not None and high is not None
    assert result.lift.low is not None and result.lift.high is not None
    assume(min(abs(low), abs(high)) > 1e-9)

    assert (low > 0) == (result.lift.low > 0)
    assert (high < 0) == (result.lift.high < 0)
    assert result.is_significant == (low > 0 or high < 0)


@given(binary_samples(), binary_samples())
def test_the_p_value_agrees_with_the_interval(control: BinarySample, test: BinarySample) -> None:
    result = compare(control, test, Method())
    assume(result.p_value is not None and abs(result.p_value - 0.05) > 1e-9)

    assert result.p_value is not None
    assert result.is_significant == (result.p_value < 0.05)


@pytest.mark.parametrize("name", ["sequential", "fixed"])
@given(control=binary_samples(), test=binary_samples(), k=st.integers(2, 50))
def test_more_comparisons_never_make_an_interval_narrower(
    name: Literal["sequential", "fixed"], control: BinarySample, test: BinarySample, k: int
) -> None:
    one, several = (
        compare(control, test, method) for method in (Method(name), Method(name).shared_by(k))
    )
    assume(one.difference.low is not None and several.difference.low is not None)

    assert one.difference.low is not None and several.difference.low is not None
    assert several.difference.low <= one.difference.low
    assert one.is_significant or not several.is_significant


@given(binary_samples(), binary_samples())
def test_arms_can_be_swapped(control: BinarySample, test: BinarySample) -> None:
    there, back = compare(control, test, Method()), compare(test, control, Method())
    assume(there.z is not None and back.z is not None)

    assert there.z is not None and back.z is not None
    assert there.z == pytest.approx(-back.z)
    assert there.p_value == pytest.approx(back.p_value)


def test_a_before_that_explains_nothing_changes_nothing() -> None:
    arms = [
        BeforeAndAfter(100, 50, 90, 0, 0, 0),
        BeforeAndAfter(100, 60, 95, 0, 0, 0),
    ]

    control, test = adjusted(arms)

    assert (control.mean, test.mean) == (0.5, 0.6)
    assert control.variance == MeanSample(100, 50, 90).variance


def test_adjusted_conversions_keep_their_gate() -> None:
    arm = BeforeAndAfter(100, 4, 4, 10, 10, 3)

    assert failures_of(adjusted([arm, arm], are_binary=True)[0]) == ["not-enough-metric-data"]
    assert failures_of(adjusted([arm, arm])[0]) == []


def test_the_fixed_method_may_test_the_difference() -> None:
    control, test = BinarySample(1529, 87), BinarySample(1471, 62)

    relative = compare(control, test, Method("fixed"))
    absolute = compare(control, test, replace(Method("fixed"), is_relative=False))

    assert relative.difference == absolute.difference
    assert relative.lift == absolute.lift
    assert relative.p_value != absolute.p_value
