"""The number of units that an experiment needs, and the effects that it can find.

Source: experiments.md, section 4h.
"""

from collections.abc import Sequence
from math import ceil, sqrt
from typing import Final

from fanion.experiments.statistics.distributions import normal_quantile
from fanion.experiments.statistics.sequential import SequentialTest

DAYS_MIN: Final = 7


def detection_multiplier(alpha: float, power: float) -> float:
    """Return the size, in standard errors, of an effect that is found with this power.

    Args:
        alpha: For one comparison.
    """
    # The planned number of units is the tuning, so both are 1 here.
    return SequentialTest(alpha, 1).multiplier(1) + normal_quantile(power)


def units_together(
    mean: float, variance: float, effect: float, multiplier: float, shares: Sequence[float]
) -> int:
    """Return the units that all arms need together.

    Args:
        effect: The least relative change of the mean to find, such as 0.1.
        multiplier: The result of `detection_multiplier`.
        shares: The share of control, then those of the test variants; the smallest decides.
    """
    return ceil(multiplier**2 * variance * _arms_factor(shares) / (effect * mean) ** 2)


def detectable_effect(
    mean: float, variance: float, multiplier: float, units: float, shares: Sequence[float]
) -> float:
    """Return the least relative change that this number of units, of all arms, can find."""
    return multiplier * sqrt(variance * _arms_factor(shares) / units) / abs(mean)


def _arms_factor(shares: Sequence[float]) -> float:
    """Return the factor by which a split increases the variance of a difference."""
    return 1 / shares[0] + 1 / min(shares[1:])


def days_needed(units: int, daily: float) -> int:
    """Return the days until this number of units is exposed, with `daily` units each day."""
    return max(ceil(units / daily), DAYS_MIN)
