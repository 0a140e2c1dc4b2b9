"""Bounds to which the values of units are limited, from all arms together.

Source: experiments.md, section 3, "Winsorising".
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import floor


@dataclass(frozen=True, slots=True)
class Percentiles:
    """The shares of the sorted values at which bounds lie.

    Attributes:
        lower: None for no bound, as `upper`.
        ignores_zeros: Whether the upper bound is that of the values other than 0.
    """

    lower: float | None = None
    upper: float | None = None
    ignores_zeros: bool = False

    @property
    def are_given(self) -> bool:
        return self.lower is not None or self.upper is not None


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds themselves, None without one.

    Attributes:
        cap_is_zero: Whether the upper bound was 0, which would leave nothing and so caps nothing.
    """

    low: float | None
    high: float | None
    cap_is_zero: bool = False

    def limit(self, value: float) -> float:
        raised = value if self.low is None else max(value, self.low)
        return raised if self.high is None else min(raised, self.high)


def bounds_of(values: Iterable[float], percentiles: Percentiles) -> Bounds:
    """Return the bounds of the values of all arms, those of units without events included."""
    ordered = sorted(values)
    low = _element(ordered, percentiles.lower)
    of_upper = [value for value in ordered if value] if percentiles.ignores_zeros else ordered
    high = _element(of_upper, percentiles.upper)
    if high == 0:
        return Bounds(low, None, cap_is_zero=True)
    return Bounds(low, high)


def _element(ordered: Sequence[float], share: float | None) -> float | None:
    """Return the element at place ⌊share·n⌋, the last one at most."""
    if share is None or not ordered:
        return None
    return ordered[min(floor(share * len(ordered)), len(ordered) - 1)]
