"""Exposures and values of units in plain Python, written only from the reference.

Source: experiments.md, sections 2 and 3.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import permutations
from math import floor
from typing import Any
from zoneinfo import ZoneInfo

from fanion.experiments.calculation.question import MetricQuestion, Window
from fanion.experiments.metrics.model import (
    FunnelMetric,
    MeanMetric,
    Percentiles,
    RatioMetric,
    RetentionMetric,
)
from fanion.experiments.metrics.nodes import Node
from tests.support.histories import History, HistoryEvent

Unit = Any
SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}


@dataclass(frozen=True)
class Exposed:
    """A unit in an arm."""

    arm: str
    first: datetime


class Oracle:
    """The units of one history.

    Args:
        is_test_account: Whether an event is of a test account, as the project's filters say.
    """

    def __init__(
        self,
        history: History,
        window: Window,
        now: datetime,
        is_test_account: Callable[[HistoryEvent], bool],
    ) -> None:
        self.history = history
        self.window = window
        self.now = now
        self.until = now if window.ended_at is None else min(now, window.ended_at)
        self.is_test_account = is_test_account
        self.calls = [event for event in history.once if self._is_call(event)]

    def unit(self, event: HistoryEvent) -> Unit:
        if self.window.group_type_index is None:
            return self.history.actor(event)
        key = event.properties.get(f"$group_{self.window.group_type_index}")
        return key or None

    def _is_call(self, event: HistoryEvent) -> bool:
        criteria = self.window.criteria
        if criteria.entity is None:
            named = event.event in ("$feature_flag_called", "$experiment_exposure")
            named = named and event.properties.get("$feature_flag") == self.window.flag_key
        else:
            named = event.event == criteria.event
        in_time = self.window.started_at <= event.at <= self.until
        return named and in_time and not self.is_test_account(event)

    def value(self, event: HistoryEvent) -> Any:
        if self.window.criteria.entity is None:
            return event.properties.get("$feature_flag_response")
        return event.properties.get(f"$feature/{self.window.flag_key}")

    def _by_unit(self) -> Mapping[Unit, Sequence[HistoryEvent]]:
        units: dict[Unit, list[HistoryEvent]] = {}
        for event in self.calls:
            if self.unit(event) is not None:
                units.setdefault(self.unit(event), []).append(event)
        return units

    def _arms_of(self, events: Sequence[HistoryEvent]) -> list[HistoryEvent]:
        return [event for event in events if self.value(event) in self.window.variants]

    def exposures(self) -> dict[str, Any]:
        """Return how many units are in each arm and in none."""
        counts = dict.fromkeys(self.window.variants, 0)
        others = {"multiple": 0, "holdout": 0, "earlier": 0}
        firsts = []
        for events in self._by_unit().values():
            arms = self._arms_of(events)
            exposed = self.exposed(arms)
            if any(event.at < self.window.phase_at for event in arms):
                others["earlier"] += 1
            elif exposed is not None:
                counts[exposed.arm] += 1
                firsts.append(exposed.first)
            elif arms:
                others["multiple"] += 1
            elif any(str(self.value(event)).startswith("holdout-") for event in events):
                others["holdout"] += 1
        calls = [
            event
            for event in self.calls
            if self.unit(event) is not None
            and self.value(event) not in self.window.variants
            and not str(self.value(event)).startswith("holdout-")
        ]
        times = {"first_at": min(firsts, default=None), "last_at": max(firsts, default=None)}
        return {"units": counts, **others, **times, "without_variant": len(calls)}

    def exposed(self, arms: Sequence[HistoryEvent]) -> Exposed | None:
        if not arms or any(event.at < self.window.phase_at for event in arms):
            return None
        first = min(arms, key=lambda event: (event.at, event.uuid.int))
        several = len({self.value(event) for event in arms}) > 1
        if several and self.window.criteria.multiple_variants == "exclude":
            return None
        return Exposed(self.value(first), first.at)

    def units(self) -> Mapping[Unit, Exposed]:
        exposed = {
            unit: self.exposed(self._arms_of(events)) for unit, events in self._by_unit().items()
        }
        return {unit: one for unit, one in exposed.items() if one is not None}

    def events_of(self, unit: Unit) -> list[HistoryEvent]:
        return [
            event
            for event in self.history.once
            if self.unit(event) == unit and event.at <= self.now
        ]


class Values:
    """The sums of one metric."""

    def __init__(self, oracle: Oracle, question: MetricQuestion) -> None:
        self.oracle = oracle
        self.question = question
        self.zone = ZoneInfo(oracle.history.zone)
        self.units = oracle.units()

    def limit(self, first: datetime) -> datetime:
        seconds = self.question.metric.window_s
        return self.oracle.until if seconds is None else first + timedelta(seconds=seconds)

    def after(self, unit: Unit) -> list[HistoryEvent]:
        first = self.units[unit].first
        return [
            event for event in self.oracle.events_of(unit) if first <= event.at <= self.limit(first)
        ]

    def before(self, unit: Unit) -> list[HistoryEvent]:
        first = self.units[unit].first
        start = first - timedelta(days=self.question.lookback_days or 0)
        return [event for event in self.oracle.events_of(unit) if start <= event.at < first]

    def is_counted(self, unit: Unit) -> bool:
        seconds = self.question.metric.window_s
        if not self.question.only_matured or seconds is None:
            return True
        return self.units[unit].first + timedelta(seconds=seconds) <= self.oracle.now

    def sums(self) -> dict[str, dict[str, Any]]:
        metric = self.question.metric
        if isinstance(metric, RetentionMetric):
            return self._retention(metric)
        if isinstance(metric, RatioMetric):
            return self._ratio(metric)
        counted = [unit for unit in self.units if self.is_counted(unit)]
        y = {unit: self._value(self.after(unit)) for unit in counted}
        x = {unit: self._value(self.before(unit)) for unit in counted}
        if isinstance(metric, MeanMetric):
            bounds = _bounds(list(y.values()), metric.percentiles)
            y = {unit: _limited(value, bounds) for unit, value in y.items()}
            x = {unit: _limited(value, bounds) for unit, value in x.items()}
        result = {}
        for arm, units in self._by_arm(counted):
            result[arm] = _sums([y[unit] for unit in units])
            if self.question.is_adjusted:
                result[arm] |= _sums_before([(x[unit], y[unit]) for unit in units])
            if isinstance(metric, FunnelMetric):
                for step in range(len(metric.series)):
                    reached = [self._reached(metric, self.after(unit)) > step for unit in units]
                    result[arm][f"step_{step}"] = sum(reached)
        return result

    def _by_arm(self, units: Sequence[Unit]) -> Iterator[tuple[str, list[Unit]]]:
        for arm in self.oracle.window.variants:
            own = [unit for unit in units if self.units[unit].arm == arm]
            if own:
                yield arm, own

    def _value(self, events: Sequence[HistoryEvent]) -> float:
        metric = self.question.metric
        if isinstance(metric, FunnelMetric):
            return float(self._reached(metric, events) == len(metric.series))
        assert isinstance(metric, MeanMetric)
        value = number(metric.source, events)
        return value if metric.threshold is None else float(value >= metric.threshold)

    def _reached(self, metric: FunnelMetric, events: Sequence[HistoryEvent]) -> int:
        if not metric.is_ordered:
            return most_matched(metric.series, events)
        best, names = 0, [step.entity.event for step in metric.series]
        may_coincide = len(set(names)) == len(names) and None not in names
        last: datetime | None = None
        for step in metric.series:
            times = [
                event.at
                for event in events
                if is_of(step, event)
                and (last is None or event.at > last or (may_coincide and event.at == last))
            ]
            if not times:
                return best
            best, last = best + 1, min(times)
        return best

    def _ratio(self, metric: RatioMetric) -> dict[str, dict[str, Any]]:
        counted = [unit for unit in self.units if self.is_counted(unit)]
        y = {unit: number(metric.numerator, self.after(unit)) for unit in counted}
        d = {unit: number(metric.denominator, self.after(unit)) for unit in counted}
        of_y = _bounds(list(y.values()), metric.numerator_percentiles)
        of_d = _bounds(list(d.values()), metric.denominator_percentiles)
        result = {}
        for arm, units in self._by_arm(counted):
            pairs = [(_limited(y[unit], of_y), _limited(d[unit], of_d)) for unit in units]
            result[arm] = _sums([one for one, _ in pairs]) | {
                "denominator_sum": sum(other for _, other in pairs),
                "denominator_sum_squares": sum(other**2 for _, other in pairs),
                "product_sum": sum(one * other for one, other in pairs),
            }
        return result

    def _retention(self, metric: RetentionMetric) -> dict[str, dict[str, Any]]:
        result = {}
        for arm, units in self._by_arm(list(self.units)):
            starters, exposed = [], 0
            for unit in units:
                start = self._start(metric, unit)
                if start is None:
                    exposed += 1
                elif self._has_matured(metric, start):
                    exposed += 1
                    starters.append(self._came_back(metric, start, unit))
            if exposed:
                result[arm] = _sums([float(one) for one in starters]) | {"exposed": exposed}
        return result

    def _start(self, metric: RetentionMetric, unit: Unit) -> HistoryEvent | None:
        starts = sorted(
            (event for event in self.after(unit) if is_of(metric.start, event)),
            key=lambda event: (event.at, event.uuid.int),
        )
        return starts[-1 if metric.is_of_last_start else 0] if starts else None

    def _place(self, metric: RetentionMetric, moment: datetime) -> float:
        """Return the number of a day or hour of the zone, or the instant in units."""
        local = moment.astimezone(self.zone)
        if metric.unit == "day":
            return local.date().toordinal()
        if metric.unit == "hour":
            start = moment - timedelta(
                minutes=local.minute, seconds=local.second, microseconds=local.microsecond
            )
            return start.timestamp() / 3600
        return moment.timestamp() / SECONDS[metric.unit]

    def _came_back(self, metric: RetentionMetric, start: HistoryEvent, unit: Unit) -> bool:
        began = self._place(metric, start.at)
        return any(
            event.uuid != start.uuid
            and event.at >= start.at
            and metric.retention_start <= self._place(metric, event.at) - began + 1e-12
            and self._place(metric, event.at) - began - 1e-12 <= metric.retention_end
            for event in self.oracle.events_of(unit)
            if is_of(metric.completion, event)
        )

    def _has_matured(self, metric: RetentionMetric, start: HistoryEvent) -> bool:
        if not self.question.only_matured:
            return True
        passed = self._place(metric, self.oracle.now) - self._place(metric, start.at)
        if metric.unit in ("day", "hour"):
            return passed > metric.retention_end
        return passed + 1e-12 >= metric.retention_end


def is_of(node: Node, event: HistoryEvent) -> bool:
    return node.entity.event in (None, event.event)


def number(node: Node, events: Sequence[HistoryEvent]) -> float:
    """Return what a unit's events count, as the math of a node says."""
    own = [event.properties for event in events if is_of(node, event)]
    if node.math == "total":
        return len(own)
    if node.math == "dau":
        return float(bool(own))
    if node.math in ("unique_session", "unique_group"):
        name = "$session_id" if node.math == "unique_session" else f"$group_{node.group_type_index}"
        return len({properties.get(name) for properties in own} - {None, ""})
    numbers = [_number(properties.get(node.math_property or "")) for properties in own]
    known = [one for one in numbers if one is not None]
    if not known:
        return 0
    if node.math == "avg":
        return sum(known) / len(known)
    if node.math == "sum":
        return sum(known)
    return min(known) if node.math == "min" else max(known)


def _number(value: Any) -> float | None:
    try:
        return None if value is None or isinstance(value, bool) else float(value)
    except ValueError:
        return None


def most_matched(steps: Sequence[Node], events: Sequence[HistoryEvent]) -> int:
    """Return how many steps can have an event of their own, by trying all orders."""
    best = 0
    for order in permutations(steps):
        used: set[Any] = set()
        for step in order:
            own = [event for event in events if is_of(step, event) and event.uuid not in used]
            if own:
                used.add(own[0].uuid)
        best = max(best, len(used))
    return best


Bounds = tuple[float | None, float | None]


def _bounds(values: list[float], percentiles: Percentiles) -> Bounds:
    ordered = sorted(values)
    nonzero = [value for value in ordered if value] if percentiles.ignores_zeros else ordered
    return _element(ordered, percentiles.lower), _element(nonzero, percentiles.upper)


def _element(ordered: list[float], share: float | None) -> float | None:
    if share is None or not ordered:
        return None
    return ordered[min(floor(share * len(ordered)), len(ordered) - 1)]


def _limited(value: float, bounds: Bounds) -> float:
    low, high = bounds
    raised = value if low is None else max(value, low)
    return raised if not high else min(raised, high)


def _sums(values: list[float]) -> dict[str, Any]:
    return {
        "number": len(values),
        "sum": sum(values),
        "sum_squares": sum(value**2 for value in values),
    }


def _sums_before(pairs: list[tuple[float, float]]) -> dict[str, Any]:
    return {
        "before_sum": sum(x for x, _ in pairs),
        "before_sum_squares": sum(x * x for x, _ in pairs),
        "product_sum": sum(x * y for x, y in pairs),
    }


def moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text).astimezone(UTC)
