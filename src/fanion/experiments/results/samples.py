"""The samples of the variants of one metric, from the sums that the event store answers.

Source: experiments.md, sections 3 and 4c.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fanion.experiments.metrics.model import Metric, RatioMetric
from fanion.experiments.statistics.samples import (
    BeforeAndAfter,
    BinarySample,
    MeanSample,
    RatioSample,
    Sample,
    adjusted,
)

Sums = Mapping[str, Any]
_BEFORE: Final = "before_sum"


@dataclass(frozen=True, slots=True)
class Arm:
    """One variant with its sums.

    Attributes:
        raw: The sample as measured.
        tested: The sample that is compared: adjusted by what was before, or the raw one.
    """

    key: str
    sums: Sums
    raw: Sample
    tested: Sample

    @property
    def is_adjusted(self) -> bool:
        return self.tested is not self.raw


def arms_of(metric: Metric, keys: Sequence[str], sums: Mapping[str, Sums]) -> list[Arm]:
    """Return the variants in the order of their keys; those without units are empty.

    Raises:
        OverflowError: A sum is too large to be a number.
    """
    own = [sums.get(key, {}) for key in keys]
    raw = [_raw(metric, each) for each in own]
    tested: Sequence[Sample] = raw
    if any(_BEFORE in each for each in own):
        pairs = [_pair(each) for each in own]
        tested = adjusted(pairs, are_binary=metric.is_binary)
    return [Arm(*parts) for parts in zip(keys, own, raw, tested, strict=True)]


def _number(sums: Sums, name: str) -> float:
    value = sums.get(name, 0)
    if value is None:
        raise OverflowError(name)
    return float(value)


def _raw(metric: Metric, sums: Sums) -> Sample:
    number, total = int(sums.get("number", 0)), _number(sums, "sum")
    if metric.is_binary:
        return BinarySample(number, total)
    squares = _number(sums, "sum_squares")
    if not isinstance(metric, RatioMetric):
        return MeanSample(number, total, squares)
    return RatioSample(
        number,
        total,
        squares,
        _number(sums, "denominator_sum"),
        _number(sums, "denominator_sum_squares"),
        _number(sums, "product_sum"),
    )


def _pair(sums: Sums) -> BeforeAndAfter:
    return BeforeAndAfter(
        int(sums.get("number", 0)),
        _number(sums, "sum"),
        _number(sums, "sum_squares"),
        _number(sums, _BEFORE),
        _number(sums, "before_sum_squares"),
        _number(sums, "product_sum"),
    )
