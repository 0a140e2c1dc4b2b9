"""The metrics of an experiment, each measured for every unit after its first exposure.

Source: experiments.md, sections 1c and 3.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from fanion.experiments.metrics.nodes import Node
from fanion.experiments.statistics.guardrails import Goal
from fanion.insights.entities import Entity

MetricType = Literal["mean", "funnel", "ratio", "retention"]
WindowUnit = Literal["second", "minute", "hour", "day", "week", "month"]
# A month is 30 days.
UNIT_SECONDS: Final[dict[WindowUnit, int]] = {
    "second": 1,
    "minute": 60,
    "hour": 3_600,
    "day": 86_400,
    "week": 7 * 86_400,
    "month": 30 * 86_400,
}


@dataclass(frozen=True, slots=True)
class Percentiles:
    """The shares of the sorted values of all units at which bounds of values lie (winsorizing).

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


UNCAPPED: Final = Percentiles()


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric(ABC):
    """The fields that every metric has.

    Attributes:
        window_s: The seconds after the first exposure in which events count; None to the end of
            the experiment.
        tolerance: The share of control's mean that may be lost, for a guardrail.
    """

    metric_type: ClassVar[MetricType]
    uuid: str | None = None
    name: str | None = None
    goal: Goal = "increase"
    window_s: int | None = None
    tolerance: float = 0.0

    @property
    @abstractmethod
    def nodes(self) -> Sequence[Node]:
        """Return the events, which for a funnel are its steps."""

    @property
    def entities(self) -> Sequence[Entity]:
        return tuple(node.entity for node in self.nodes)

    @property
    @abstractmethod
    def is_binary(self) -> bool:
        """Return whether the value of a unit is success or failure, not a number."""

    @property
    def label(self) -> str:
        return self.name or " → ".join(node.label for node in self.nodes)

    @property
    def can_be_adjusted(self) -> bool:
        """Return whether CUPED applies to this kind of metric."""
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanMetric(Metric):
    """The mean of a number that each unit has.

    Attributes:
        threshold: The number from which a unit succeeds, if only successes are counted.
    """

    metric_type: ClassVar[MetricType] = "mean"
    source: Node
    percentiles: Percentiles = UNCAPPED
    threshold: float | None = None

    @property
    def nodes(self) -> Sequence[Node]:
        return (self.source,)

    @property
    def is_binary(self) -> bool:
        return self.source.math == "dau" or self.threshold is not None

    @property
    def can_be_adjusted(self) -> bool:
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class FunnelMetric(Metric):
    """The units that did every step after their exposure, which is not listed."""

    metric_type: ClassVar[MetricType] = "funnel"
    series: tuple[Node, ...]
    is_ordered: bool = True

    @property
    def nodes(self) -> Sequence[Node]:
        return self.series

    @property
    def is_binary(self) -> bool:
        return True

    @property
    def can_be_adjusted(self) -> bool:
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioMetric(Metric):
    """The sum of one number over the sum of another, of the same units."""

    metric_type: ClassVar[MetricType] = "ratio"
    numerator: Node
    denominator: Node
    numerator_percentiles: Percentiles = UNCAPPED
    denominator_percentiles: Percentiles = UNCAPPED

    @property
    def nodes(self) -> Sequence[Node]:
        return (self.numerator, self.denominator)

    @property
    def is_binary(self) -> bool:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionMetric(Metric):
    """The units that started and came back.

    Attributes:
        retention_start: The first time after the start at which coming back counts, in `unit`.
        retention_end: The last time at which it counts, included.
        is_of_last_start: Whether the last start counts instead of the first.
    """

    metric_type: ClassVar[MetricType] = "retention"
    start: Node
    completion: Node
    retention_start: int
    retention_end: int
    unit: WindowUnit = "day"
    is_of_last_start: bool = False

    @property
    def nodes(self) -> Sequence[Node]:
        return (self.start, self.completion)

    @property
    def is_binary(self) -> bool:
        return True

    @property
    def retention_s(self) -> tuple[int, int]:
        """Return both bounds in seconds."""
        seconds = UNIT_SECONDS[self.unit]
        return self.retention_start * seconds, self.retention_end * seconds
