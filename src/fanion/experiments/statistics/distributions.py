"""Distributions that tests need: the normal, Student's t and chi-squared.

The incomplete beta and gamma functions are evaluated by continued fractions with Lentz's method.

Source: NIST Digital Library of Mathematical Functions, 8.9.2, 8.11.4 and 8.17.22; experiments.md,
section 4i.
"""

from collections.abc import Iterator
from math import exp, lgamma, log, log1p, pi
from statistics import NormalDist
from typing import Final

_NORMAL: Final = NormalDist()
_TERMS_MAX: Final = 10_000
_CLOSE: Final = 1e-15
# Stands for a zero in a denominator of Lentz's method.
_TINY: Final = 1e-300
# From here Stirling's series is exact with two terms.
_LARGE: Final = 1000.0
# From here Student's t is the normal distribution to eight digits.
_NEARLY_NORMAL: Final = 1e8
# With one degree of freedom each step at most doubles t.
_STEPS_MAX: Final = 100
_CLOSE_STEP: Final = 1e-12


def normal_cdf(z: float) -> float:
    """Return the probability that a standard normal number is at most `z`."""
    return _NORMAL.cdf(z)


def normal_quantile(probability: float) -> float:
    """Return the number that a standard normal one exceeds with 1 - `probability`."""
    return _NORMAL.inv_cdf(probability)


def student_t_two_sided(t: float, degrees: float) -> float:
    """Return the probability that Student's t is as far from 0 as `t`, on either side."""
    if degrees > _NEARLY_NORMAL:
        return 2 * normal_cdf(-abs(t))
    squared = t * t
    near, far = degrees / (degrees + squared), squared / (degrees + squared)
    return _beta(near, far, degrees / 2, 0.5)


def student_t_quantile(probability: float, degrees: float) -> float:
    """Return the number that Student's t exceeds with 1 - `probability`, which is at least a half.

    Newton's method begins at the normal quantile, which is less, and stays below: the probability
    above is convex.
    """
    tail = 2 * (1 - probability)
    t = normal_quantile(probability)
    for _ in range(_STEPS_MAX):
        step = (student_t_two_sided(t, degrees) - tail) / (2 * _student_t_density(t, degrees))
        t += step
        if abs(step) <= t * _CLOSE_STEP:
            break
    return t


def _student_t_density(t: float, degrees: float) -> float:
    scale = _log_gamma_growth(degrees / 2, 0.5) - 0.5 * log(degrees * pi)
    return exp(scale - (degrees + 1) / 2 * log1p(t * t / degrees))


def chi_squared_above(statistic: float, degrees: int) -> float:
    """Return the probability that a chi-squared number exceeds `statistic`."""
    return regularized_upper_gamma(degrees / 2, statistic / 2)


def regularized_beta(x: float, a: float, b: float) -> float:
    """Return the regularized incomplete beta function of x, which is between 0 and 1."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    return _beta(x, 1 - x, a, b)


def _beta(x: float, y: float, a: float, b: float) -> float:
    """Return the function of x, with y = 1 - x, which is exact where x is nearly 1."""
    if x == 0 or y == 0:
        return 0.0 if x == 0 else 1.0
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast only below
        return 1 - _beta(y, x, b, a)
    scale = a * _log(x, y) + b * _log(y, x) + _log_gamma_growth(a, b) - lgamma(b)
    return exp(scale) / a / _fraction(1.0, _beta_terms(x, a, b))


def _log(x: float, y: float) -> float:
    return log(x) if x < y else log1p(-y)


def _log_gamma_growth(a: float, b: float) -> float:
    """Return log Γ(a + b) - log Γ(a), by Stirling's series where both are large and near."""
    if a < _LARGE:
        return lgamma(a + b) - lgamma(a)
    series = (1 / (a + b) - 1 / a) / 12 - ((a + b) ** -3 - a**-3) / 360
    return (a - 0.5) * log1p(b / a) + b * log(a + b) - b + series


def regularized_upper_gamma(a: float, x: float) -> float:
    """Return the share of the gamma function of `a` that lies above x."""
    if x <= 0:
        return 1.0
    scale = exp(a * log(x) - x - lgamma(a))
    if x < a + 1:
        return 1 - scale * _lower_series(a, x)
    return scale / _fraction(x + 1 - a, _gamma_terms(a, x))


def _lower_series(a: float, x: float) -> float:
    term = total = 1 / a
    for step in range(1, _TERMS_MAX):
        term *= x / (a + step)
        total += term
        if term < total * _CLOSE:
            break
    return total


def _beta_terms(x: float, a: float, b: float) -> Iterator[tuple[float, float]]:
    """Yield numerators and denominators of the continued fraction."""
    for m in range(_TERMS_MAX):
        yield -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)), 1.0
        n = m + 1
        yield n * (b - n) * x / ((a + 2 * n - 1) * (a + 2 * n)), 1.0


def _gamma_terms(a: float, x: float) -> Iterator[tuple[float, float]]:
    for m in range(1, _TERMS_MAX):
        yield -m * (m - a), x + 2 * m + 1 - a


def _fraction(first: float, terms: Iterator[tuple[float, float]]) -> float:
    """Return first + n1 / (d1 + n2 / (d2 + …)) for the terms (n, d)."""
    value = c = first or _TINY
    d = 0.0
    for numerator, denominator in terms:
        d = 1 / (denominator + numerator * d or _TINY)
        c = denominator + numerator / c or _TINY
        value *= c * d
        if abs(c * d - 1) < _CLOSE:
            break
    return value
