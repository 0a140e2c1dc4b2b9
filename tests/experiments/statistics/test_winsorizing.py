"""Bounds of values beyond the worked example."""

import pytest

from fanion.experiments.statistics.winsorizing import Bounds, Percentiles, bounds_of

VALUES = [0.0, 0, 0, 0, 0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("percentiles", "bounds"),
    [
        (Percentiles(), Bounds(None, None)),
        (Percentiles(upper=1.0), Bounds(None, 5)),
        (Percentiles(lower=0.6, upper=0.8), Bounds(2, 4)),
        (Percentiles(upper=0.5, ignores_zeros=True), Bounds(None, 3)),
        (Percentiles(upper=0.2), Bounds(None, None, cap_is_zero=True)),
    ],
)
def test_bounds_are_elements(percentiles: Percentiles, bounds: Bounds) -> None:
    assert bounds_of(VALUES, percentiles) == bounds


def test_no_values_have_no_bounds() -> None:
    assert bounds_of([], Percentiles(0.1, 0.9)) == Bounds(None, None)
    assert bounds_of([0.0], Percentiles(upper=0.9, ignores_zeros=True)) == Bounds(None, None)


def test_values_are_limited_to_both_sides() -> None:
    assert [Bounds(1, 3).limit(value) for value in (0, 2, 9)] == [1, 2, 3]
