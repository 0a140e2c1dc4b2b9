"""Trends in plain Python, event by event, as the reference describes them.

Source: insights.md, sections 2 to 4.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import accumulate
from math import ceil, floor
from typing import Any
from zoneinfo import ZoneInfo

from tests.support.histories import NOW, History, HistoryEvent

NONE = "$$_posthog_breakdown_null_$$"
OTHER = "$$_posthog_breakdown_other_$$"
_SHARES = {"median": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99}
_WINDOWS = {"weekly_active": 7, "monthly_active": 30}
_ONCE = ("dau", "unique_session", "unique_group")
_DAY = timedelta(days=1)

Value = str | list[str]


@dataclass(frozen=True)
class Point:
    """An interval, or the whole range.

    Attributes:
        start: A local time.
        end: A local time.
        last_day: The last day in it, up to today.
    """

    start: datetime
    end: datetime
    last_day: date


class Trend:
    """One question about one history.

    Args:
        days: The length of the range, whose last day is today.
    """

    def __init__(self, history: History, days: int = 8, **asked: Any) -> None:
        self.history, self.asked = history, asked
        self.zone = ZoneInfo(history.zone)
        self.today = NOW.astimezone(self.zone).date()
        self.first = self.today - timedelta(days=days - 1)
        self.interval = asked.get("interval", "day")
        self.display = asked.get("display", "ActionsLineGraph")
        self.is_total = self.display in ("BoldNumber", "ActionsTable")
        self.points = self._points()

    def answer(self) -> list[dict[str, Any]]:
        """Return the numbers of each value, for each series or for the formula."""
        found = [self._series(series) for series in self.asked["events"]]
        if self.asked.get("formula"):
            return [self._formula(found)]
        return found

    # ---- time

    def local(self, one: HistoryEvent) -> datetime:
        return one.at.astimezone(self.zone).replace(tzinfo=None)

    def _points(self) -> list[Point]:
        if self.is_total:
            whole = datetime.combine(self.first, time())
            return [Point(whole, datetime.combine(self.today + _DAY, time()), self.today)]
        if self.interval == "hour":
            return self._hours()
        starts = [self.first_of(self.first)]
        while (after := self._next(starts[-1])) <= self.today:
            starts.append(after)
        ends = [*starts[1:], self._next(starts[-1])]
        return [
            Point(midnight(a), midnight(b), min(b - _DAY, self.today))
            for a, b in zip(starts, ends, strict=True)
        ]

    def _hours(self) -> list[Point]:
        end = NOW.astimezone(self.zone).replace(tzinfo=None, minute=0) + timedelta(hours=1)
        at = datetime.combine(self.first, time()).replace(tzinfo=self.zone).astimezone(UTC)
        found = []
        while (start := at.astimezone(self.zone).replace(tzinfo=None)) < end.replace(second=0):
            found.append(Point(start, start + timedelta(hours=1), start.date()))
            at += timedelta(hours=1)
        return found

    def first_of(self, day: date) -> date:
        if self.interval == "week":
            return day - timedelta(days=(day.weekday() + 1) % 7)
        return day.replace(day=1) if self.interval == "month" else day

    def _next(self, day: date) -> date:
        if self.interval == "month":
            return (day.replace(day=28) + 4 * _DAY).replace(day=1)
        return day + (7 if self.interval == "week" else 1) * _DAY

    # ---- events

    def actor(self, one: HistoryEvent) -> Any:
        if "aggregation_group_type_index" in self.asked:
            group = one.properties.get("$group_0")
            return group if group else None
        return self.history.actor(one)

    def fulfils(self, one: HistoryEvent, series: Mapping[str, Any]) -> bool:
        conditions = [*series.get("properties", ()), *self.asked.get("properties", ())]
        return self.actor(one) is not None and all(
            text_of(one.properties.get(leaf["key"])) == leaf["value"] for leaf in conditions
        )

    def value(self, one: HistoryEvent) -> Value:
        parts = self.asked.get("breakdowns", ())
        values = [self._part(part, one) for part in parts]
        return values if len(values) > 1 else "".join(values)

    def _part(self, part: Mapping[str, Any], one: HistoryEvent) -> str:
        properties: Mapping[str, Any] = one.properties
        if part["type"] == "person":
            properties = self.history.persons.get(self.history.actor(one), {})
        text = text_of(properties.get(part["property"]))
        if part.get("normalize_url") and text:
            text = text.rstrip("/?#") or "/"
        return text or NONE

    # ---- numbers

    def _series(self, series: Mapping[str, Any]) -> dict[str, list[float]]:
        named = [one for one in self.history.once if one.event == series["id"]]
        counted = [one for one in named if self.fulfils(one, series)]
        if series.get("math") in ("first_time_for_user", "first_matching_event_for_user"):
            counted = self._first(named, counted, series["math"])
        by_value: dict[str, list[HistoryEvent]] = {}
        for one in counted:
            by_value.setdefault(key_of(self.value(one)), []).append(one)
        if not self.asked.get("breakdowns"):
            by_value = {"": counted}
        found = {value: self._numbers(series, events) for value, events in by_value.items()}
        sizes = {
            value: sum(row)
            for value, row in found.items()
            if any(row) or value == "" or self._is_measured(series, by_value[value])
        }
        shown = sorted(sizes, key=lambda value: (-sizes[value], value))[: self.limit]
        rest = [one for value in sizes if value not in shown for one in by_value[value]]
        kept = {value: found[value] for value in shown}
        if rest and not self.asked.get("breakdown_hide_other_aggregation"):
            kept[OTHER] = self._numbers(series, rest)
        return {value: self._shaped(row) for value, row in kept.items()}

    def _is_measured(self, series: Mapping[str, Any], events: Sequence[HistoryEvent]) -> bool:
        """Return whether there is something to aggregate, so that a 0 is a result."""
        name = series.get("math_property")
        within = [one for point in self.points for one in self._within(point, events)]
        if name == "$session_duration":
            return any(one.properties.get("$session_id") for one in within)
        return name is not None and any(
            number_of(one.properties.get(name)) is not None for one in within
        )

    @property
    def limit(self) -> int:
        return int(self.asked.get("breakdown_limit", 25))

    def _first(
        self, named: Sequence[HistoryEvent], counted: Sequence[HistoryEvent], math: str
    ) -> list[HistoryEvent]:
        """Return the first event of each actor, if that event counts."""
        firsts: dict[Any, HistoryEvent] = {}
        for one in named if math == "first_time_for_user" else counted:
            if self.actor(one) is not None:
                firsts.setdefault(self.actor(one), one)
        return [one for one in firsts.values() if one in counted]

    def _numbers(self, series: Mapping[str, Any], events: Sequence[HistoryEvent]) -> list[float]:
        math = series.get("math", "total")
        if math in _ONCE and self.display == "ActionsLineGraphCumulative":
            seen: set[Any] = {None, ""}
            found = []
            for point in self.points:
                here = {self._key(math, one) for one in self._within(point, events)} - seen
                seen |= here
                found.append(float(len(here)))
            return found
        window = _WINDOWS.get(math)
        if window and self.interval not in (("week", "month") if window == 7 else ("month",)):
            return [float(len(self._active(window, point, events))) for point in self.points]
        return [self._number(series, self._within(point, events)) for point in self.points]

    def _key(self, math: str, one: HistoryEvent) -> Any:
        name = {"unique_session": "$session_id", "unique_group": "$group_0"}.get(math)
        return self.actor(one) if name is None else one.properties.get(name)

    def _within(self, point: Point, events: Sequence[HistoryEvent]) -> list[HistoryEvent]:
        end = min(point.end, datetime.combine(self.today + _DAY, time()))
        return [one for one in events if point.start <= self.local(one) < end]

    def _active(self, window: int, point: Point, events: Sequence[HistoryEvent]) -> set[Any]:
        since = point.last_day - timedelta(days=window - 1)
        days = ((self.actor(one), self.local(one).date()) for one in events)
        return {actor for actor, day in days if since <= day <= point.last_day}

    def _number(self, series: Mapping[str, Any], events: Sequence[HistoryEvent]) -> float:
        math = series.get("math", "total")
        if math in ("dau", *_WINDOWS):
            return len({self.actor(one) for one in events})
        if math in ("unique_session", "unique_group"):
            return len({self._key(math, one) for one in events} - {None, ""})
        if math.endswith("_count_per_actor"):
            counts: dict[Any, int] = {}
            for one in events:
                counts[self.actor(one)] = counts.get(self.actor(one), 0) + 1
            return aggregate(math.removesuffix("_count_per_actor"), list(counts.values()))
        if series.get("math_property") == "$session_duration":
            return aggregate(math, self._durations(events))
        if "math_property" in series:
            numbers = [number_of(one.properties.get(series["math_property"])) for one in events]
            return aggregate(math, [one for one in numbers if one is not None])
        return len(events)

    def _durations(self, events: Sequence[HistoryEvent]) -> list[float]:
        since = datetime.combine(self.first_of(self.first), time(), self.zone) - _DAY
        until = datetime.combine(self.today + _DAY, time(), self.zone) + _DAY
        if self.is_total:
            since = datetime.combine(self.first, time(), self.zone) - _DAY
        if self.interval == "hour" and not self.is_total:
            last = self.points[-1].end.replace(tzinfo=self.zone)
            until = last + _DAY
        found = []
        for session in {one.properties.get("$session_id") for one in events} - {None, ""}:
            times = [
                one.at
                for one in self.history.once
                if one.properties.get("$session_id") == session and since <= one.at < until
            ]
            found.append((max(times) - min(times)).total_seconds())
        return found

    def _shaped(self, numbers: list[float]) -> list[float]:
        over = int(self.asked.get("smoothing_intervals", 1))
        if self.is_total:
            return numbers
        if over > 1:
            parts = [numbers[max(0, n - over) : n] for n in range(1, len(numbers) + 1)]
            numbers = [float(floor(sum(part) / len(part))) for part in parts]
        is_sum = self.display == "ActionsLineGraphCumulative"
        return list(accumulate(numbers)) if is_sum else numbers

    def _formula(self, series: Sequence[Mapping[str, list[float]]]) -> dict[str, list[float]]:
        """Return the results of the only formula in the tests, `A / (B + 1) - 2`."""
        nothing = [0.0] * len(self.points)
        values = {value for one in series for value in one}
        return {
            value: [
                a / (b + 1) - 2 if b != -1 else -2.0
                for a, b in zip(*(one.get(value, nothing) for one in series), strict=True)
            ]
            for value in values
        }


def midnight(day: date) -> datetime:
    return datetime.combine(day, time())


def key_of(value: Value) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def text_of(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def number_of(value: Any) -> float | None:
    try:
        return float(text_of(value))
    except ValueError:
        return None


def aggregate(math: str, numbers: Sequence[float]) -> float:
    if not numbers:
        return 0.0
    if math in _SHARES:
        return quantile(numbers, _SHARES[math])
    known: dict[str, Callable[[Sequence[float]], float]] = {
        "sum": sum, "min": min, "max": max, "avg": lambda of: sum(of) / len(of)
    }  # fmt: skip
    return known[math](numbers)


def quantile(numbers: Sequence[float], share: float) -> float:
    """Return a quantile, interpolated between the two nearest numbers."""
    ordered, place = sorted(numbers), share * (len(numbers) - 1)
    low, high = ordered[floor(place)], ordered[ceil(place)]
    return low + (high - low) * (place - floor(place))
