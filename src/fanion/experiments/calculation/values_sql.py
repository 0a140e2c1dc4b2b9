"""The value of each unit for each kind of metric, and the events that it needs.

Source: experiments.md, section 3.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo

from fanion.events.storage.filters_sql import group_key
from fanion.experiments.calculation.question import CUT_UNITS, MetricQuestion
from fanion.experiments.calculation.units_sql import Collected, UnitsSql
from fanion.experiments.metrics.model import (
    FunnelMetric,
    MeanMetric,
    RatioMetric,
    RetentionMetric,
)
from fanion.experiments.metrics.nodes import Node
from fanion.insights.dates.intervals import DateRange, Interval, cut_into_intervals
from fanion.insights.funnels.steps import (
    Cluster,
    Nest,
    are_disjoint,
    group_steps,
)
from fanion.insights.sessions.sql import SESSION_ID
from fanion.properties.bindings import micros

MICROS: Final = 1_000_000
# Later than any time.
_NEVER: Final = "9223372036854775807"


@dataclass(frozen=True, slots=True)
class Between:
    """The first and the last instant at which events of a unit count, as SQL."""

    first: str
    last: str

    def holds(self, time: str) -> str:
        return f"{time} >= {self.first} AND {time} <= {self.last}"


class ValuesSql:
    """The values of the units of one metric.

    Attributes:
        zone: The project's time zone, in which days of retention begin.
    """

    def __init__(self, sql: UnitsSql, question: MetricQuestion, zone: ZoneInfo) -> None:
        self.sql = sql
        self.question = question
        self.metric = question.metric
        self.zone = zone

    def collected(self) -> Sequence[Collected]:
        """Return the events that the metric needs of each unit."""
        metric = self.metric
        if isinstance(metric, MeanMetric):
            return [self._counted(metric.source)]
        if isinstance(metric, RatioMetric):
            return [self._counted(metric.numerator), self._counted(metric.denominator)]
        if isinstance(metric, RetentionMetric):
            return [self._placed(metric.start), self._placed(metric.completion)]
        assert isinstance(metric, FunnelMetric)
        if metric.is_ordered or are_disjoint(self.question.measured):
            return [Collected(self._is(node), "toUInt8(0)") for node in metric.series]
        return [self._masked(metric)]

    def _is(self, node: Node) -> str:
        return self.sql.compiler.entity(node.entity)

    def _counted(self, node: Node) -> Collected:
        compiler, condition = self.sql.compiler, self._is(node)
        if node.math in ("unique_session", "unique_group"):
            text = (
                SESSION_ID
                if node.math == "unique_session"
                else group_key(node.group_type_index or 0)
            )
            return Collected(f"({condition} AND {text} != '')", f"sipHash64({text})")
        if node.math_property is None:
            return Collected(condition, "toUInt8(1)")
        number = compiler.number(node.math_property)
        is_number = condition if node.math == "sum" else f"({condition} AND isNotNull({number}))"
        return Collected(is_number, f"ifNull({number}, 0)")

    def _placed(self, node: Node) -> Collected:
        """Return events with the place of their day or hour among those of the project's zone."""
        metric = self.metric
        assert isinstance(metric, RetentionMetric)
        place = self._place("at") if metric.unit in CUT_UNITS else "toUInt32(0)"
        return Collected(self._is(node), place, needs_id=True)

    def _place(self, time: str) -> str:
        bind, starts = self.sql.compiler.bindings, self._unit_starts()
        bound = bind.add([micros(start) for start in starts], "Array(Int64)")
        places = bind.add(list(range(len(starts))), "Array(UInt32)")
        start = f"roundDown({time} + {self.sql.origin}, {bound})"
        return f"transform({start}, {bound}, {places}, toUInt32(0))"

    def _unit_starts(self) -> Sequence[datetime]:
        assert isinstance(self.metric, RetentionMetric)
        unit: Interval = "day" if self.metric.unit == "day" else "hour"
        reach = self.sql.reach
        span = DateRange(reach.start, max(reach.end, self.sql.now.astimezone(UTC)))
        return cut_into_intervals(span, unit, self.zone).starts

    def _masked(self, metric: FunnelMetric) -> Collected:
        parts = [
            f"if({self._is(node)}, {1 << number}, 0)" for number, node in enumerate(metric.series)
        ]
        any_of = " OR ".join(self._is(node) for node in metric.series)
        return Collected(f"({any_of})", f"toUInt32({' + '.join(parts)})")

    @property
    def after(self) -> Between:
        """Return when events after the exposure count."""
        return Between("first_at", self._limit())

    @property
    def before(self) -> Between:
        """Return when events before the exposure count, for CUPED."""
        days = self.question.lookback_days or 0
        return Between(f"(first_at - {days * 86_400 * MICROS})", "(first_at - 1)")

    def _limit(self) -> str:
        seconds = self.metric.window_s
        return self.sql.until if seconds is None else f"(first_at + {seconds * MICROS})"

    def is_matured(self) -> str:
        """Return the condition that the window of a unit has passed."""
        seconds = self.metric.window_s
        if not self.question.only_matured or seconds is None:
            return "1"
        return f"first_at + {seconds * MICROS} <= {self.sql.at(self.sql.now)}"

    # Means and ratios

    def number(self, node: Node, done: str, between: Between) -> str:
        """Return the number of a unit's events, as the math says."""
        own = f"arrayFilter(one -> {between.holds('one.1')}, {done})"
        if node.math == "total":
            return f"toFloat64(length({own}))"
        if node.math == "dau":
            return f"toFloat64(notEmpty({own}))"
        if node.math in ("unique_session", "unique_group"):
            return f"toFloat64(length(arrayDistinct(arrayMap(one -> one.2, {own}))))"
        numbers = f"arrayMap(one -> one.2, {own})"
        if node.math == "sum":
            return f"toFloat64(arraySum({numbers}))"
        function = {"avg": "arrayAvg", "min": "arrayMin", "max": "arrayMax"}[node.math]
        return f"if(empty({numbers}), 0., toFloat64({function}({numbers})))"

    def mean(self, metric: MeanMetric, between: Between) -> str:
        value = self.number(metric.source, "done_0", between)
        if metric.threshold is None:
            return value
        bound = self.sql.compiler.bindings.add(metric.threshold, "Float64")
        return f"toFloat64({value} >= {bound})"

    # Funnels

    def reached(self, metric: FunnelMetric, between: Between) -> Sequence[str]:
        """Return for each step the condition that a unit reached it."""
        size = len(metric.series)
        if metric.is_ordered:
            times = self._chain(size, between)
            return [f"({time} <= {between.last})" for time in times]
        done = self._done(metric, between)
        return [f"({done} >= {number})" for number in range(1, size + 1)]

    def _chain(self, size: int, between: Between) -> Sequence[str]:
        """Return when each step is done: at its first event after the step before.

        A step may follow at the same instant where no event matches two steps.
        """
        operator = ">=" if are_disjoint(self.question.measured) else ">"
        times, earliest = [], f"one.1 >= {between.first}"
        for number in range(size):
            own = f"arrayMap(one -> one.1, arrayFilter(one -> {earliest}, done_{number}))"
            times.append(f"arrayMin(arrayPushBack({own}, {_NEVER}))")
            earliest = f"one.1 {operator} {times[-1]}"
        return times

    def _done(self, metric: FunnelMetric, between: Between) -> str:
        """Return how many steps of an unordered funnel a unit did, each with its own event."""
        if are_disjoint(self.question.measured):
            parts = [
                f"arrayExists(one -> {between.holds('one.1')}, done_{number})"
                for number in range(len(metric.series))
            ]
            return f"({' + '.join(parts)})"
        events = f"arrayFilter(one -> {between.holds('one.1')}, done_0)"
        groups = group_steps(self.question.measured)
        return f"({' + '.join(_matched(group, events) for group in groups)})"

    # Retention

    def start(self, metric: RetentionMetric) -> str:
        """Return the event with which a unit starts, the default tuple for none."""
        starts = f"arraySort(arrayFilter(one -> {self.after.holds('one.1')}, done_0))"
        return f"{starts}[{-1 if metric.is_of_last_start else 1}]"

    def came_back(self, metric: RetentionMetric) -> str:
        """Return the condition that a unit came back, where `start` is how it started."""
        first, last = metric.retention_s
        if metric.unit in CUT_UNITS:
            low, high = metric.retention_start, metric.retention_end
            lies_in = f"one.2 >= start.2 + {low} AND one.2 <= start.2 + {high}"
        else:
            lies_in = f"one.1 >= start.1 + {first * MICROS} AND one.1 <= start.1 + {last * MICROS}"
        is_another = "one.3 != start.3 AND one.1 >= start.1"
        return f"arrayExists(one -> {is_another} AND {lies_in}, done_1)"

    def has_matured(self, metric: RetentionMetric) -> str:
        """Return the condition that the time to come back has passed, where `start` is known."""
        if not self.question.only_matured:
            return "1"
        now = self.sql.at(self.sql.now)
        if metric.unit in CUT_UNITS:
            return f"{self._place(now)} > start.2 + {metric.retention_end}"
        return f"start.1 + {metric.retention_s[1] * MICROS} <= {now}"


def _matched(group: Nest | Cluster, events: str) -> str:
    """Return how many steps of a group can have an event of their own, by Hall's theorem."""
    if isinstance(group, Cluster):
        size = len(group.steps)
        needed = [f"{size - len(some)} + {_matching(some, events)}" for some in group.unions]
        return f"arrayMin([{', '.join([str(size), *needed])}])"
    inner = " + ".join([str(len(group.equal)), *(_matched(part, events) for part in group.inner)])
    return f"least({_matching(group.steps, events)}, {inner})"


def _matching(steps: Sequence[int], events: str) -> str:
    mask = sum(1 << step for step in set(steps))
    return f"arrayCount(one -> bitAnd(one.2, {mask}) != 0, {events})"
