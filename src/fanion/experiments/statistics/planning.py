"""How many units an experiment needs, and what it can find.

Source: experiments.md, section 4h.
"""

from collections.abc import Sequence
from math import ceil, sqrt
from typing import Final

from fanion.experiments.statistics.distributions import normal_quantile
from fanion.experiments.statistics.sequential import SequentialTest

POWER_DEFAULT: Final = 0.8
DAYS_MIN: Final = 7


def detection_multiplier(alpha: float, power: float, *, looks_once: bool = False) -> float:
    """Return how many standard errors large an effect must be to be found with this power.

    Args:
        alpha: For one comparison.
        looks_once: Whether a fixed test is used, at the end only.
    """
    # The planned number of units is the tuning, so both are 1 here.
    always = SequentialTest(alpha, 1).multiplier(1)
    reach = normal_quantile(1 - alpha / 2) if looks_once else always
    return reach + normal_quantile(power)


def units_per_variant(mean: float, variance: float, effect: float, multiplier: float) -> int:
    """Return the units that each of two equal arms needs.

    Args:
        effect: The least relative change of the mean to find, such as 0.1.
        multiplier: Of `detection_multiplier`.
    """
    return ceil(multiplier**2 * 2 * variance / (effect * mean) ** 2)


def units_together(
    mean: float, variance: float, effect: float, multiplier: float, shares: Sequence[float]
) -> int:
    """Return the units that all arms of an uneven split need together.

    Args:
        shares: The share of control, then those of the test variants; the smallest decides.
    """
    smallest = min(shares[1:])
    of_arms = 1 / shares[0] + 1 / smallest
    return ceil(multiplier**2 * variance * of_arms / (effect * mean) ** 2)


def detectable_effect(
    mean: float, variance: float, multiplier: float, units: float, shares: Sequence[float]
) -> float:
    """Return the least relative change that so many units find, of all arms together."""
    of_arms = 1 / shares[0] + 1 / min(shares[1:])
    return multiplier * sqrt(variance * of_arms / units) / abs(mean)


def days_needed(units: int, daily: float) -> int:
    """Return the days until so many units were exposed, of which `daily` are each day."""
    return max(ceil(units / daily), DAYS_MIN)
