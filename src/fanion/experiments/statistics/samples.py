"""The sums of the units of one arm, from which its mean and variance follow.

Source: experiments.md, sections 3 and 4c.
"""

from dataclasses import dataclass, replace
from typing import Protocol


class Sample(Protocol):
    """The units of one arm.

    Attributes:
        number: How many units there are.
    """

    @property
    def number(self) -> int: ...

    @property
    def mean(self) -> float: ...

    @property
    def variance(self) -> float:
        """Return the variance of one unit's value."""
        ...

    @property
    def successes(self) -> float | None:
        """Return how many units succeeded, None if values are not binary."""
        ...


def squared_error(sample: Sample) -> float:
    """Return the variance of a sample's mean."""
    return sample.variance / sample.number


@dataclass(frozen=True, slots=True)
class MeanSample:
    """Units with a number each."""

    number: int
    sum: float
    sum_squares: float

    @property
    def mean(self) -> float:
        return self.sum / self.number

    @property
    def variance(self) -> float:
        return _variance(self.number, self.sum, self.sum_squares)

    @property
    def successes(self) -> None:
        return None


@dataclass(frozen=True, slots=True)
class BinarySample:
    """Units that succeeded or not."""

    number: int
    sum: float

    @property
    def mean(self) -> float:
        return self.sum / self.number

    @property
    def variance(self) -> float:
        return self.mean * (1 - self.mean)

    @property
    def successes(self) -> float:
        return self.sum

    @property
    def sum_squares(self) -> float:
        return self.sum


@dataclass(frozen=True, slots=True)
class RatioSample:
    """Units with a numerator and a denominator each; the mean is the ratio of their sums."""

    number: int
    sum: float
    sum_squares: float
    denominator_sum: float
    denominator_sum_squares: float
    product_sum: float

    @property
    def mean(self) -> float:
        return self.sum / self.denominator_sum if self.denominator_sum else 0.0

    @property
    def variance(self) -> float:
        """Return the variance by the delta method; 0 without denominators."""
        n, denominator = self.number, self.denominator_sum / self.number
        if denominator == 0:
            return 0.0
        mean = self.sum / n
        of_numerator = _variance(n, self.sum, self.sum_squares)
        of_denominator = _variance(n, self.denominator_sum, self.denominator_sum_squares)
        together = _covariance(n, self.sum, self.denominator_sum, self.product_sum)
        parts = (
            of_numerator / denominator**2,
            mean**2 * of_denominator / denominator**4,
            -2 * mean * together / denominator**3,
        )
        return max(sum(parts), 0.0)

    @property
    def successes(self) -> None:
        return None


@dataclass(frozen=True, slots=True)
class BeforeAndAfter:
    """Units with the same value before (x) and after (y) their exposure."""

    number: int
    sum: float
    sum_squares: float
    before_sum: float
    before_sum_squares: float
    product_sum: float

    def __add__(self, other: "BeforeAndAfter") -> "BeforeAndAfter":
        return BeforeAndAfter(
            self.number + other.number,
            self.sum + other.sum,
            self.sum_squares + other.sum_squares,
            self.before_sum + other.before_sum,
            self.before_sum_squares + other.before_sum_squares,
            self.product_sum + other.product_sum,
        )

    @property
    def before_variance(self) -> float:
        return _variance(self.number, self.before_sum, self.before_sum_squares)

    @property
    def covariance(self) -> float:
        return _covariance(self.number, self.sum, self.before_sum, self.product_sum)


@dataclass(frozen=True, slots=True)
class AdjustedSample:
    """Units whose values are adjusted by their values before the exposure (CUPED).

    Attributes:
        theta: The weight of a value before the exposure.
        before_mean: The mean of the values before, of all arms together.
        successes: How many units succeeded, None if values are not binary.
    """

    units: BeforeAndAfter
    theta: float
    before_mean: float
    successes: float | None = None

    @property
    def number(self) -> int:
        return self.units.number

    @property
    def mean(self) -> float:
        units = self.units
        moved = self.theta * (units.before_sum / units.number - self.before_mean)
        return units.sum / units.number - moved

    @property
    def variance(self) -> float:
        units = self.units
        own = _variance(units.number, units.sum, units.sum_squares)
        explained = self.theta**2 * units.before_variance - 2 * self.theta * units.covariance
        return max(own + explained, 0.0)


def adjusted(arms: list[BeforeAndAfter], *, are_binary: bool = False) -> list[AdjustedSample]:
    """Return the arms, adjusted by one θ and one mean of all arms together.

    Source: experiments.md, section 3, "CUPED".
    """
    pooled = arms[0]
    for arm in arms[1:]:
        pooled += arm
    spread = pooled.before_variance
    theta = pooled.covariance / spread if spread else 0.0
    mean = pooled.before_sum / pooled.number if pooled.number else 0.0
    samples = [AdjustedSample(arm, theta, mean) for arm in arms]
    if not are_binary:
        return samples
    return [replace(sample, successes=sample.units.sum) for sample in samples]


def _variance(number: int, total: float, squares: float) -> float:
    """Return the sample variance; 0 where rounding would make it negative, or of one unit."""
    if number < 2:
        return 0.0
    return max((squares - total * total / number) / (number - 1), 0.0)


def _covariance(number: int, first: float, second: float, products: float) -> float:
    return (products - first * second / number) / (number - 1) if number > 1 else 0.0
