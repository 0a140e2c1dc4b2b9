"""Formulas of the tests that hold for one look only, with the numbers that PostHog answers.

Source: experiments.md, section 4c, rows "ph"; PostHog's tests.
"""

from math import sqrt

from fanion.experiments.statistics.samples import Sample, squared_error


def lift_error(control: Sample, test: Sample) -> float:
    """Return the standard error of the lift by the delta method."""
    c, t = control.mean, test.mean
    return sqrt(squared_error(test) / c**2 + t**2 * squared_error(control) / c**4)


def welch_degrees(control: Sample, test: Sample) -> float:
    """Return the degrees of freedom of Welch's t test, of samples that are not both constant."""
    of_control, of_test = squared_error(control), squared_error(test)
    parts = of_control**2 / (control.number - 1) + of_test**2 / (test.number - 1)
    return (of_control + of_test) ** 2 / parts
