"""The check that arms have as many units as their percentages promise.

Source: experiments.md, section 4f; Fabijan et al., 2019.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from fanion.experiments.statistics.distributions import chi_squared_above

EXPOSURES_MIN: Final = 100
MISMATCH_BELOW: Final = 0.001
# A mismatch that moves no arm's share by this much is harmless. Millions of units show such ones.
SMALL_SHARE: Final = 0.005


@dataclass(frozen=True, slots=True)
class SplitCheck:
    """The outcome of the check.

    Attributes:
        statistic: χ², None if there is no unit, or fewer than two arms.
        p_value: None below EXPOSURES_MIN units.
        expected: How many units each arm should have.
        is_small: Whether no arm's share is SMALL_SHARE off.
    """

    statistic: float | None
    p_value: float | None
    expected: Mapping[str, float]
    is_small: bool

    @property
    def is_mismatch(self) -> bool:
        return self.p_value is not None and self.p_value < MISMATCH_BELOW


def check_split(counts: Mapping[str, int], percentages: Mapping[str, float]) -> SplitCheck:
    """Compare the units of each arm with the share that its percentage promises.

    Args:
        counts: Units by arm; those of arms without a percentage are left out.
        percentages: The percentage of each arm, with any sum; arms with 0 are left out.
    """
    shares = {key: percentage for key, percentage in percentages.items() if percentage > 0}
    whole, total = sum(shares.values()), sum(counts.get(key, 0) for key in shares)
    if not total or len(shares) < 2:
        return SplitCheck(None, None, dict.fromkeys(shares, float(total)), True)
    expected = {key: total * share / whole for key, share in shares.items()}
    off = {key: counts.get(key, 0) - number for key, number in expected.items()}
    statistic = sum(off[key] ** 2 / number for key, number in expected.items())
    p_value = chi_squared_above(statistic, len(shares) - 1)
    is_small = all(abs(number) / total < SMALL_SHARE for number in off.values())
    return SplitCheck(statistic, p_value if total >= EXPOSURES_MIN else None, expected, is_small)
