"""Distributions against values of tables, and against laws that hold everywhere."""

from math import atan, erf, exp, inf, pi, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanion.experiments.statistics.distributions import (
    chi_squared_above,
    normal_quantile,
    regularized_beta,
    regularized_upper_gamma,
    student_t_quantile,
    student_t_two_sided,
)

DEGREES = st.floats(1, 1e7)


# From tables.
@pytest.mark.parametrize(
    ("t", "degrees", "p"),
    [
        (12.706204736432095, 1, 0.05),
        (2.2281388519649385, 10, 0.05),
        (2.0, 60, 0.05003304),
        (0.0, 5, 1.0),
    ],
)
def test_students_t(t: float, degrees: float, p: float) -> None:
    assert student_t_two_sided(t, degrees) == pytest.approx(p, rel=1e-6)


@given(st.floats(1e-6, 1e6))
def test_students_t_of_one_and_two_degrees(t: float) -> None:
    assert student_t_two_sided(t, 1) == pytest.approx(atan(1 / t) * 2 / pi, rel=1e-9)
    assert student_t_two_sided(t, 2) == pytest.approx(
        2 / (2 + t * t + t * sqrt(2 + t * t)), rel=1e-9
    )


@pytest.mark.parametrize(
    ("statistic", "degrees", "p"),
    [(3.841458820694124, 1, 0.05), (5.991464547107979, 2, 0.05), (30.143527205646155, 19, 0.05)],
)
def test_chi_squared(statistic: float, degrees: int, p: float) -> None:
    assert chi_squared_above(statistic, degrees) == pytest.approx(p, rel=1e-9)


@given(st.floats(0, 1000))
def test_chi_squared_of_two_degrees_is_exponential(statistic: float) -> None:
    assert chi_squared_above(statistic, 2) == pytest.approx(
        exp(-statistic / 2), rel=1e-9, abs=1e-300
    )


@given(st.floats(0, 8))
def test_chi_squared_of_one_degree_is_a_normal_number_squared(z: float) -> None:
    assert chi_squared_above(z * z, 1) == pytest.approx(1 - erf(z / sqrt(2)), rel=1e-6, abs=1e-14)


@given(st.floats(0.5001, 0.9999), DEGREES)
def test_a_quantile_is_where_the_probability_is(probability: float, degrees: float) -> None:
    quantile = student_t_quantile(probability, degrees)

    assert student_t_two_sided(quantile, degrees) == pytest.approx(2 * (1 - probability), rel=1e-6)


def test_students_t_becomes_normal() -> None:
    z = normal_quantile(0.975)

    assert student_t_quantile(0.975, 1e7) == pytest.approx(z + (z**3 + z) / 4e7, rel=1e-9)
    assert student_t_quantile(0.975, 1e12) == pytest.approx(z, rel=1e-9)


@given(st.floats(0, 1), st.floats(0.1, 1e4), st.floats(0.1, 1e4))
def test_the_beta_function_is_symmetric(x: float, a: float, b: float) -> None:
    y = 1 - x

    assert regularized_beta(1 - y, a, b) + regularized_beta(y, b, a) == pytest.approx(1, abs=1e-7)


@given(st.floats(0.1, 1e4), st.floats(0, 1e4), st.floats(0, 1e3))
def test_the_upper_gamma_function_falls(a: float, x: float, further: float) -> None:
    first, second = regularized_upper_gamma(a, x), regularized_upper_gamma(a, x + further)

    assert -1e-9 <= second <= first + 1e-9 <= 1 + 2e-9


@pytest.mark.parametrize(("x", "expected"), [(-inf, 0.0), (0.0, 0.0), (1.0, 1.0), (2.0, 1.0)])
def test_the_beta_function_beyond_its_range(x: float, expected: float) -> None:
    assert regularized_beta(x, 2, 3) == expected
