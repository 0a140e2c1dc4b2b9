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
_SHARES = {"median": 0.5, "p25": 0.25, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99}
_WINDOWS = {"weekly_active": 7, "monthly_active": 30}
_ONCE = ("dau", "unique_session", "unique_group")
_DAY = timedelta(days=1)
# The months in which each interval of months begins.
_MONTHS = {"month": tuple(range(1, 13)), "quarter": (1, 4, 7, 10), "year": (1,)}
_LONG = timedelta(hours=12)

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

    def __init__(self, history: History, days: int = 8, **question: Any) -> None:
        self.history, self.question = history, question
        self.zone = ZoneInfo(history.zone)
        self.today = NOW.astimezone(self.zone).date()
        self.first = self.today - timedelta(days=days - 1)
        self.interval = question.get("interval", "day")
        self.display = question.get("display", "ActionsLineGraph")
        self.is_total = self.display in ("BoldNumber", "ActionsTable")
        self.points = self._points()

    def answer(self) -> list[dict[str, Any]]:
        """Return the numbers of each value, for each series or for the formula."""
        series_numbers = [self._series(series) for series in self.question["events"]]
        if self.question.get("formula"):
            return [self._formula(series_numbers)]
        return series_numbers

    # ---- time

    def local(self, event: HistoryEvent) -> datetime:
        return event.at.astimezone(self.zone).replace(tzinfo=None)

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
        hours = []
        while (start := at.astimezone(self.zone).replace(tzinfo=None)) < end.replace(second=0):
            hours.append(Point(start, start + timedelta(hours=1), start.date()))
            at += timedelta(hours=1)
        return hours

    def first_of(self, day: date) -> date:
        if self.interval == "week":
            return day - timedelta(days=(day.weekday() + 1) % 7)
        while self.interval in _MONTHS and (
            day.day != 1 or day.month not in _MONTHS[self.interval]
        ):
            day -= _DAY
        return day

    def _next(self, day: date) -> date:
        if self.interval in _MONTHS:
            return self.first_of(day + 372 // len(_MONTHS[self.interval]) * _DAY)
        return day + (7 if self.interval == "week" else 1) * _DAY

    # ---- events

    def actor(self, event: HistoryEvent) -> Any:
        if "aggregation_group_type_index" in self.question:
            group = event.properties.get("$group_0")
            return group if group else None
        return self.history.actor(event)

    def fulfils(self, event: HistoryEvent, series: Mapping[str, Any]) -> bool:
        conditions = [*series.get("properties", ()), *self.question.get("properties", ())]
        return self.actor(event) is not None and all(
            text_of(event.properties.get(leaf["key"])) == leaf["value"] for leaf in conditions
        )

    def value(self, event: HistoryEvent) -> Value:
        parts = self.question.get("breakdowns", ())
        values = [self._part(part, event) for part in parts]
        return values if len(values) > 1 else "".join(values)

    def _part(self, part: Mapping[str, Any], event: HistoryEvent) -> str:
        properties: Mapping[str, Any] = event.properties
        if part["type"] == "person":
            properties = self.history.persons.get(self.history.actor(event), {})
        text = text_of(properties.get(part["property"]))
        if part.get("normalize_url") and text:
            text = text.rstrip("/?#") or "/"
        return text or NONE

    # ---- numbers

    def _series(self, series: Mapping[str, Any]) -> dict[str, list[float]]:
        named = [event for event in self.history.once if event.event == series["id"]]
        counted = [event for event in named if self.fulfils(event, series)]
        if series.get("math") in ("first_time_for_user", "first_matching_event_for_user"):
            counted = self._first(named, counted, series["math"])
        by_value: dict[str, list[HistoryEvent]] = {}
        for event in counted:
            by_value.setdefault(key_of(self.value(event)), []).append(event)
        if not self.question.get("breakdowns"):
            by_value = {"": counted}
        numbers = {value: self._numbers(series, events) for value, events in by_value.items()}
        sizes = {
            value: sum(row)
            for value, row in numbers.items()
            if any(row) or value == "" or self._is_measured(series, by_value[value])
        }
        shown = sorted(sizes, key=lambda value: (-sizes[value], value))[: self.limit]
        rest = [event for value in sizes if value not in shown for event in by_value[value]]
        kept = {value: numbers[value] for value in shown}
        if rest and not self.question.get("breakdown_hide_other_aggregation"):
            kept[OTHER] = self._numbers(series, rest)
        return {value: self._shaped(row) for value, row in kept.items()}

    def _is_measured(self, series: Mapping[str, Any], events: Sequence[HistoryEvent]) -> bool:
        """Return whether there is something to aggregate, so that a 0 is a result."""
        name = series.get("math_property")
        within = [event for point in self.points for event in self._within(point, events)]
        if name == "$session_duration":
            return any(event.properties.get("$session_id") for event in within)
        return name is not None and any(
            number_of(event.properties.get(name)) is not None for event in within
        )

    @property
    def limit(self) -> int:
        return int(self.question.get("breakdown_limit", 25))

    def _first(
        self, named: Sequence[HistoryEvent], counted: Sequence[HistoryEvent], math: str
    ) -> list[HistoryEvent]:
        """Return the first event of each actor, if that event counts."""
        firsts: dict[Any, HistoryEvent] = {}
        for event in named if math == "first_time_for_user" else counted:
            if self.actor(event) is not None:
                firsts.setdefault(self.actor(event), event)
        return [event for event in firsts.values() if event in counted]

    def _numbers(self, series: Mapping[str, Any], events: Sequence[HistoryEvent]) -> list[float]:
        math = series.get("math", "total")
        if math in _ONCE and self.display == "ActionsLineGraphCumulative":
            seen: set[Any] = {None, ""}
            numbers = []
            for point in self.points:
                here = {self._key(math, event) for event in self._within(point, events)} - seen
                seen |= here
                numbers.append(float(len(here)))
            return numbers
        window = _WINDOWS.get(math)
        if window and self.interval not in (("week", *_MONTHS) if window == 7 else tuple(_MONTHS)):
            return [float(len(self._active(window, point, events))) for point in self.points]
        return [self._number(series, self._within(point, events)) for point in self.points]

    def _key(self, math: str, event: HistoryEvent) -> Any:
        name = {"unique_session": "$session_id", "unique_group": "$group_0"}.get(math)
        return self.actor(event) if name is None else event.properties.get(name)

    def _within(self, point: Point, events: Sequence[HistoryEvent]) -> list[HistoryEvent]:
        end = min(point.end, datetime.combine(self.today + _DAY, time()))
        return [event for event in events if point.start <= self.local(event) < end]

    def _active(self, window: int, point: Point, events: Sequence[HistoryEvent]) -> set[Any]:
        since = point.last_day - timedelta(days=window - 1)
        days = ((self.actor(event), self.local(event).date()) for event in events)
        return {actor for actor, day in days if since <= day <= point.last_day}

    def _number(self, series: Mapping[str, Any], events: Sequence[HistoryEvent]) -> float:
        math = series.get("math", "total")
        if math in ("dau", *_WINDOWS):
            return len({self.actor(event) for event in events})
        if math in ("unique_session", "unique_group"):
            return len({self._key(math, event) for event in events} - {None, ""})
        if math.endswith("_count_per_actor"):
            counts: dict[Any, int] = {}
            for event in events:
                counts[self.actor(event)] = counts.get(self.actor(event), 0) + 1
            return aggregate(math.removesuffix("_count_per_actor"), list(counts.values()))
        if series.get("math_property") == "$session_duration":
            return aggregate(math, self._durations(events))
        if "math_property" in series:
            return self._of_property(series, events)
        return len(events)

    def _of_property(self, series: Mapping[str, Any], events: Sequence[HistoryEvent]) -> float:
        sums: dict[Any, float] = {}
        math, numbers = series["math"], []
        for event in events:
            number = number_of(event.properties.get(series["math_property"]))
            if number is not None:
                numbers.append(number * series.get("math_multiplier", 1))
                sums[self.actor(event)] = sums.get(self.actor(event), 0) + numbers[-1]
        if math.endswith("_sum_per_actor"):
            return aggregate(math.removesuffix("_sum_per_actor"), list(sums.values()))
        return aggregate(math, numbers)

    def _durations(self, events: Sequence[HistoryEvent]) -> list[float]:
        since = datetime.combine(self.first_of(self.first), time(), self.zone) - _DAY
        until = datetime.combine(self.today + _DAY, time(), self.zone) + _DAY
        if self.is_total:
            since = datetime.combine(self.first, time(), self.zone) - _DAY
        if self.interval == "hour" and not self.is_total:
            last = self.points[-1].end.replace(tzinfo=self.zone)
            until = last + _DAY
        durations = []
        for session in {event.properties.get("$session_id") for event in events} - {None, ""}:
            own = [e.at for e in self.history.once if e.properties.get("$session_id") == session]
            seen = [at for at in own if since <= at < until]
            # A session that is seen for so long is read as a whole.
            times = own if max(seen) - min(seen) >= _LONG else seen
            durations.append((max(times) - min(times)).total_seconds())
        return durations

    def _shaped(self, numbers: list[float]) -> list[float]:
        over = int(self.question.get("smoothing_intervals", 1))
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
        values = {value for row in series for value in row}
        return {
            value: [
                a / (b + 1) - 2 if b != -1 else -2.0
                for a, b in zip(*(row.get(value, nothing) for row in series), strict=True)
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
    ordered, position = sorted(numbers), share * (len(numbers) - 1)
    low, high = ordered[floor(position)], ordered[ceil(position)]
    return low + (high - low) * (position - floor(position))
