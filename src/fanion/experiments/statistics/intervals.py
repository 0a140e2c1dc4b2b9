"""Estimates with their intervals, and Fieller's interval of a lift.

Source: experiments.md, section 4c.
"""

from dataclasses import dataclass
from math import sqrt

from fanion.experiments.statistics.samples import Sample, squared_error


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with the bounds between which the true value is.

    Attributes:
        estimate: None where it cannot be computed, as the bounds.
    """

    estimate: float | None
    low: float | None = None
    high: float | None = None


def around(estimate: float, reach: float) -> Interval:
    """Return the interval that reaches as far to both sides of its estimate."""
    return Interval(estimate, estimate - reach, estimate + reach)


def lift_estimate(control: Sample, test: Sample) -> float | None:
    """Return the relative change of the mean, None where control's is not above 0."""
    return (test.mean - control.mean) / control.mean if control.mean > 0 else None


def fieller_lift(control: Sample, test: Sample, multiplier: float) -> Interval:
    """Return the lift with Fieller's interval, which excludes 0 exactly when the difference's does.

    The bounds are the roots of (c² - q²Vc)ρ² - 2ctρ + (t² - q²Vt) = 0, less 1. There are none when
    control's mean cannot be told from 0.
    """
    estimate = lift_estimate(control, test)
    if estimate is None:
        return Interval(None)
    c, t, squared = control.mean, test.mean, multiplier**2
    leading = c * c - squared * squared_error(control)
    if leading <= 0:
        return Interval(estimate)
    last = t * t - squared * squared_error(test)
    root = sqrt(max((c * t) ** 2 - leading * last, 0.0))
    return Interval(estimate, (c * t - root) / leading - 1, (c * t + root) / leading - 1)
