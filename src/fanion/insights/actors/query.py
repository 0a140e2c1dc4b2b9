"""The query for the actors (persons) of a point of an insight, parsed from its parameters.

source: cohorts.md section 10, "Other ways"
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal, get_args

from fanion.errors import Invalid
from fanion.insights.date_range import (
    Bound,
    DateRange,
    Interval,
    RangeClock,
    cut,
    parse_bound,
    resolve,
)
from fanion.insights.series import Series
from fanion.insights.series_sql import OTHER
from fanion.insights.trends.query import TrendsQuery, parse_trends
from fanion.properties.cohort_sql import MICROSECOND
from fanion.rest.unknown_fields import no_choice

Status = Literal["new", "returning", "resurrecting", "dormant"]
STATUSES: tuple[Status, ...] = get_args(Status)

# Parameters that are read; the lists among them are JSON.
LISTS = ("events", "actions", "properties")
PARAMETERS = (
    "insight",
    *LISTS,
    "filter_test_accounts",
    "entity_id",
    "entity_type",
    "date_from",
    "date_to",
    "explicit_date",
    "interval",
    "breakdown",
    "breakdown_type",
    "breakdown_value",
    "formula",
    "stickiness_days",
    "target_date",
    "lifecycle_type",
    "funnel_step",
    "funnel_window_days",
    "funnel_order_type",
    "funnel_window_interval",
    "exclusions",
)
WINDOW_DAYS = 14
WINDOW_DAYS_MAX = 3_650
STICKINESS_MAX = 10_000

# Longer than any interval.
_MONTH = timedelta(days=32)


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """Did the series at least once. value: of the breakdown; None is any"""

    value: str | None


@dataclass(frozen=True, slots=True)
class StickinessPoint:
    """Did the series in exactly so many intervals."""

    intervals: int


@dataclass(frozen=True, slots=True)
class LifecyclePoint:
    """Has this status in the interval of `target`."""

    status: Status
    target: Bound


@dataclass(frozen=True, slots=True)
class FunnelPoint:
    """Did the steps in order, the last within `window` of the first.

    only: and not the next step
    """

    steps: tuple[Series, ...]
    level: int
    only: bool
    window: timedelta


@dataclass(frozen=True, slots=True)
class ActorsQuery:
    trends: TrendsQuery
    series: Series
    point: TrendPoint | StickinessPoint | LifecyclePoint | FunnelPoint


def parse_actors_query(asked: Mapping[str, Any]) -> ActorsQuery:
    """asked: by PARAMETERS, lists decoded, all else text. raises: Invalid"""
    kind = str(asked.get("insight")).upper()
    read = _READERS.get(kind)
    if read is None:
        raise Invalid(
            f"A cohort cannot be created from an insight of type {asked['insight']}.",
            attr="insight",
        )
    trends = parse_trends({**asked, "insight": "TRENDS"})
    if kind != "TRENDS" and trends.breakdown is not None:
        raise Invalid("Only a trend can have a breakdown.", attr="breakdown")
    return read(asked, trends)


def period(query: ActorsQuery, clock: RangeClock) -> tuple[DateRange, tuple[datetime, ...]]:
    """The date range of the events, and the starts of its intervals where they matter.

    raises: Invalid
    """
    trends = query.trends
    if isinstance(query.point, LifecyclePoint):
        return _with_previous_interval(query.point.target, trends.interval, clock)
    if isinstance(query.point, FunnelPoint):  # a funnel has no intervals
        exact = trends.is_explicit
        return resolve(trends.since, trends.until, "day", clock, is_explicit=exact), ()
    span = trends.span(clock)
    if isinstance(query.point, StickinessPoint):
        return span, cut(span, trends.interval, clock.zone).starts
    return span, ()


def _with_previous_interval(
    target: Bound, interval: Interval, clock: RangeClock
) -> tuple[DateRange, tuple[datetime, ...]]:
    at = resolve(target, target, interval, clock).start
    start = cut(DateRange(at, at + MICROSECOND), interval, clock.zone).starts[0]
    before = cut(DateRange(start - MICROSECOND, start), interval, clock.zone).starts[0]
    end = cut(DateRange(start, start + _MONTH), interval, clock.zone).starts[1]
    return DateRange(before, end), (before, start)


def _read_trend_point(asked: Mapping[str, Any], trends: TrendsQuery) -> ActorsQuery:
    value = asked.get("breakdown_value")
    if value is not None and trends.breakdown is None:
        raise Invalid("Set breakdown when breakdown_value is set.", attr="breakdown_value")
    if value == OTHER:
        raise Invalid(
            "A cohort cannot be created from the combined remaining values of a breakdown.",
            attr="breakdown_value",
        )
    return ActorsQuery(trends, _entity(asked, trends), TrendPoint(value))


def _read_stickiness_point(asked: Mapping[str, Any], trends: TrendsQuery) -> ActorsQuery:
    intervals = _whole(asked, "stickiness_days", 1, STICKINESS_MAX)
    return ActorsQuery(trends, _entity(asked, trends), StickinessPoint(intervals))


def _read_lifecycle_point(asked: Mapping[str, Any], trends: TrendsQuery) -> ActorsQuery:
    target = parse_bound(asked.get("target_date"), "target_date")
    if target.text is None:
        raise _required("target_date")
    given = asked.get("lifecycle_type")
    for status in STATUSES:
        if given == status:
            return ActorsQuery(trends, _entity(asked, trends), LifecyclePoint(status, target))
    if not given:
        raise _required("lifecycle_type")
    raise no_choice(given, STATUSES, "lifecycle_type")


def _read_funnel_point(asked: Mapping[str, Any], trends: TrendsQuery) -> ActorsQuery:
    """A negative step: the persons who reached the step before it and no further one."""
    if asked.get("funnel_order_type", "ordered") != "ordered":
        raise Invalid("Only ordered funnels are supported.", attr="funnel_order_type")
    for unsupported in ("funnel_window_interval", "exclusions"):
        if asked.get(unsupported):
            raise Invalid(f"Funnels with {unsupported} are not supported.", attr=unsupported)
    steps = _ordered(trends.series)
    step = _whole(asked, "funnel_step", -len(steps), len(steps))
    if step in (-1, 0):
        raise Invalid("Ensure this value is 1 or greater, or -2 or less.", attr="funnel_step")
    days = WINDOW_DAYS
    if asked.get("funnel_window_days"):
        days = _whole(asked, "funnel_window_days", 1, WINDOW_DAYS_MAX)
    level = step if step > 0 else -step - 1
    point = FunnelPoint(steps, level, step < 0, timedelta(days=days))
    return ActorsQuery(trends, _ANYTHING, point)


_READERS = {
    "TRENDS": _read_trend_point,
    "STICKINESS": _read_stickiness_point,
    "LIFECYCLE": _read_lifecycle_point,
    "FUNNELS": _read_funnel_point,
}
_ANYTHING = Series(None, "All events", "total", None, {})


def _entity(asked: Mapping[str, Any], trends: TrendsQuery) -> Series:
    """The entry of `events` that `entity_id` names; without an id the first one."""
    if asked.get("entity_type") not in (None, "", "events"):
        raise Invalid('entity_type must be "events".', attr="entity_type")
    name = asked.get("entity_id")
    for series in trends.series:
        if not name or series.event == name:
            return series
    if not name:
        raise Invalid("At least one event is required.", attr="events")
    return replace(_ANYTHING, event=name, name=name)


def _ordered(series: tuple[Series, ...]) -> tuple[Series, ...]:
    """By their `order`, if all of them have one."""
    if not series:
        raise Invalid("At least one event is required.", attr="events")
    orders = [one.raw.get("order") for one in series]
    if not all(isinstance(order, int) for order in orders):
        return series
    return tuple(sorted(series, key=lambda one: int(one.raw["order"])))


def _whole(asked: Mapping[str, Any], name: str, least: int, most: int) -> int:
    text = asked.get(name)
    if not text:
        raise _required(name)
    try:
        number = int(text) if len(text) < 10 else None
    except ValueError:
        number = None
    if number is None:
        raise Invalid("A valid integer is required.", attr=name)
    if not least <= number <= most:
        raise Invalid(f"Ensure this value is between {least} and {most}.", attr=name)
    return number


def _required(name: str) -> Invalid:
    return Invalid("This field is required.", code="required", attr=name)
