"""The always-valid test: an asymptotic confidence sequence, which is valid however often one looks.

Source: Waudby-Smith et al., arXiv 2103.06476; experiments.md, sections 4a and 4c.
"""

from dataclasses import dataclass
from math import exp, expm1, inf, log, sqrt
from typing import Final

TUNING_DEFAULT: Final = 5000
# exp() of more than this is more than a float holds; the p-value is 0 long before.
_EXPONENT_MAX: Final = 700.0


@dataclass(frozen=True, slots=True)
class SequentialTest:
    """A two-sided confidence sequence.

    Attributes:
        alpha: The chance that it is ever wrong.
        tuning: The number of units, of both arms, at which the interval is made narrowest.
    """

    alpha: float = 0.05
    tuning: int = TUNING_DEFAULT

    def mixing(self, number: int) -> float:
        """Return r, the weight of the mixture after this number of units."""
        return _mixing(self.alpha, self.tuning, number)

    def multiplier(self, number: int) -> float:
        """Return how many standard errors the interval reaches to each side."""
        r = self.mixing(number)
        return sqrt((r + 1) / r * 2 * log(sqrt(r + 1) / self.alpha))

    def p_value(self, z: float, number: int) -> float:
        r = self.mixing(number)
        return min(1.0, sqrt(r + 1) * exp(-z * z * r / (2 * (r + 1))))


@dataclass(frozen=True, slots=True)
class OneSidedTest:
    """A one-sided confidence sequence, for harm that is greater than 0."""

    alpha: float = 0.05
    tuning: int = TUNING_DEFAULT

    def mixing(self, number: int) -> float:
        return _mixing(2 * self.alpha, self.tuning, number)

    def multiplier(self, number: int) -> float:
        """Return how many standard errors the lower bound is below the estimate."""
        r = self.mixing(number)
        return sqrt((r + 1) / r * 2 * log(1 + sqrt(r + 1) / (2 * self.alpha)))

    def p_value(self, z: float, number: int) -> float:
        if z <= 0:
            return 1.0
        r = self.mixing(number)
        exponent = z * z * r / (2 * (r + 1))
        grown = inf if exponent > _EXPONENT_MAX else expm1(exponent)
        return min(1.0, sqrt(r + 1) / (2 * grown)) if grown else 1.0


def _mixing(alpha: float, tuning: int, number: int) -> float:
    """Return N·ρ², with ρ made for this alpha and the number of units `tuning`."""
    return number * (-2 * log(alpha) + log(1 - 2 * log(alpha))) / tuning
