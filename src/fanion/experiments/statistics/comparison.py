"""The comparison of a test variant with the baseline, by the method that the experiment chose.

Source: experiments.md, sections 4c and 4e.
"""

from dataclasses import dataclass, replace
from math import sqrt
from typing import Final, Literal

from fanion.experiments.statistics.distributions import (
    normal_cdf,
    normal_quantile,
    student_t_quantile,
    student_t_two_sided,
)
from fanion.experiments.statistics.fixed import lift_error, welch_degrees
from fanion.experiments.statistics.intervals import (
    Interval,
    around,
    fieller_lift,
    lift_estimate,
)
from fanion.experiments.statistics.samples import Sample, squared_error
from fanion.experiments.statistics.sequential import TUNING_DEFAULT, SequentialTest

# Below these an arm is not compared.
EXPOSURES_MIN: Final = 50
SUCCESSES_MIN: Final = 5
Failure = Literal["not-enough-exposures", "not-enough-metric-data", "baseline-mean-is-zero"]


@dataclass(frozen=True, slots=True)
class Method:
    """How variants are compared with the baseline.

    Attributes:
        name: `sequential` is valid however often one looks, the others for one look.
        alpha: The chance of a wrong `significant`, for one comparison.
        level: The chance of winning from which `bayesian` calls a variant significant.
        is_relative: Whether the fixed methods test the lift instead of the difference.
    """

    name: Literal["sequential", "fixed", "bayesian"] = "sequential"
    alpha: float = 0.05
    tuning: int = TUNING_DEFAULT
    level: float = 0.95
    is_relative: bool = True

    @property
    def is_protected(self) -> bool:
        """Return whether answers hold however often one looks at them."""
        return self.name == "sequential"

    def shared_by(self, comparisons: int) -> "Method":
        """Return the method for each of several comparisons (Bonferroni)."""
        return replace(self, alpha=self.alpha / max(comparisons, 1))


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result for a test variant, with None for values that cannot be computed.

    Attributes:
        has_no_variance: Whether all units of both arms have one value each.
    """

    difference: Interval
    lift: Interval
    z: float | None = None
    p_value: float | None = None
    chance_to_win: float | None = None
    is_significant: bool = False
    has_no_variance: bool = False


def failures_of(sample: Sample, *, is_baseline: bool = False) -> list[Failure]:
    """Return why an arm cannot be compared; with a mean of 0 only the lift cannot be."""
    failures: list[Failure] = []
    if sample.number < EXPOSURES_MIN:
        failures.append("not-enough-exposures")
    if sample.successes is not None and sample.successes < SUCCESSES_MIN:
        failures.append("not-enough-metric-data")
    if is_baseline and sample.number and sample.mean == 0:
        failures.append("baseline-mean-is-zero")
    return failures


def is_comparable(control: Sample, test: Sample) -> bool:
    """Return whether both arms have passed the gates of section 4e."""
    gates = {"not-enough-exposures", "not-enough-metric-data"}
    return gates.isdisjoint([*failures_of(control), *failures_of(test)])


def compare(control: Sample, test: Sample, method: Method) -> Comparison:
    """Return how the test variant differs from the baseline, without bounds below the gates."""
    if control.number == 0 or test.number == 0:
        return Comparison(Interval(None), Interval(None))
    estimates = Comparison(
        Interval(test.mean - control.mean), Interval(lift_estimate(control, test))
    )
    if not is_comparable(control, test):
        return estimates
    return compare_formulas(control, test, method)


def compare_formulas(control: Sample, test: Sample, method: Method) -> Comparison:
    """Return the comparison by the formulas, whatever the number of units."""
    difference = test.mean - control.mean
    error = sqrt(squared_error(control) + squared_error(test))
    if error == 0:
        lift = Interval(lift_estimate(control, test))
        return Comparison(Interval(difference), lift, has_no_variance=True)
    if method.name == "sequential":
        return _sequential(control, test, method, error)
    if method.name == "fixed":
        return _fixed(control, test, method, error)
    return _bayesian(control, test, method, error)


def _sequential(control: Sample, test: Sample, method: Method, error: float) -> Comparison:
    sequence = SequentialTest(method.alpha, method.tuning)
    number = control.number + test.number
    multiplier = sequence.multiplier(number)
    z = (test.mean - control.mean) / error
    return Comparison(
        around(test.mean - control.mean, multiplier * error),
        fieller_lift(control, test, multiplier),
        z,
        sequence.p_value(z, number),
        is_significant=abs(z) > multiplier,
    )


def _fixed(control: Sample, test: Sample, method: Method, error: float) -> Comparison:
    degrees = welch_degrees(control, test)
    reach = student_t_quantile(1 - method.alpha / 2, degrees)
    tested = _tested(control, test, method, error)
    p_value = student_t_two_sided(tested, degrees)
    return Comparison(
        around(test.mean - control.mean, reach * error),
        _lift(control, test, reach),
        tested,
        p_value,
        is_significant=p_value < method.alpha,
    )


def _bayesian(control: Sample, test: Sample, method: Method, error: float) -> Comparison:
    reach = normal_quantile((1 + method.level) / 2)
    tested = _tested(control, test, method, error)
    # The probability that the test's mean is greater, with a flat prior.
    chance = normal_cdf(tested)
    return Comparison(
        around(test.mean - control.mean, reach * error),
        _lift(control, test, reach),
        tested,
        chance_to_win=chance,
        is_significant=chance > method.level or chance < 1 - method.level,
    )


def _tested(control: Sample, test: Sample, method: Method, error: float) -> float:
    """Return the lift in standard errors, or the difference where the lift is not tested."""
    lift = lift_estimate(control, test) if method.is_relative else None
    own_error = 0.0 if lift is None else lift_error(control, test)
    if lift is None or own_error == 0:
        return (test.mean - control.mean) / error
    return lift / own_error


def _lift(control: Sample, test: Sample, reach: float) -> Interval:
    """Return the lift with an interval that reaches that many standard errors to each side."""
    lift = lift_estimate(control, test)
    own_error = 0.0 if lift is None else lift_error(control, test)
    return Interval(lift) if lift is None or own_error == 0 else around(lift, reach * own_error)
