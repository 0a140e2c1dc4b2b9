"""The place of a number in the answer to a trend, in a request for its actors.

Source: insights.md, section 13.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

import msgspec

from fanion.errors import Invalid
from fanion.insights.dates.bounds import Bound, parse_bound
from fanion.insights.dates.intervals import DateRange, midnight
from fanion.insights.dates.offsets import Offsets, offsets_in
from fanion.insights.dates.ranges import RangeClock
from fanion.insights.entities import read_entity_id
from fanion.insights.parsing.fields import Fields
from fanion.insights.sql.compiler import OTHER
from fanion.insights.trends.frames import Frame, last_day
from fanion.insights.trends.maths import Math
from fanion.insights.trends.query import TrendsQuery
from fanion.insights.trends.rows_sql import SeriesQuery
from fanion.insights.trends.week import DAYS, HOURS, WeekPart
from fanion.properties.bindings import MICROSECOND

_LABELS: Final = ("current", "previous")


@dataclass(frozen=True, slots=True)
class TrendPlace:
    """The place of a number in the answer to a trend.

    Attributes:
        series: The index of the series in the question.
        day: The start of an interval, or a time in it; None for the whole range.
        values: The value of the breakdown, one text for each property. OTHER alone is the combined
            rest; empty for all.
        is_previous: Whether it is in the range to compare with.
        weekday: In an answer by weekday and hour, from 1 for Monday; None for all days.
        hour: Likewise, from 0; None for all hours.
    """

    series: int
    day: Bound | None = None
    values: tuple[str, ...] = ()
    is_previous: bool = False
    weekday: int | None = None
    hour: int | None = None

    @property
    def is_other(self) -> bool:
        return self.values == (OTHER,)


def read_trends_place(fields: Fields, query: TrendsQuery) -> TrendPlace:
    if query.formulas:
        raise fields.error(
            "formula", "A formula has no persons of its own. Ask for one of its series."
        )
    name = "people_day" if fields.raw("day") is None else "day"
    day = parse_bound(fields.raw(name), fields.place(name))
    if day.text is not None and day.moment is None and day.day is None:
        raise fields.error(name, "Must be the start of an interval.")
    is_previous = fields.choice("compare_label", _LABELS, "current") == "previous"
    if is_previous and not query.compare:
        raise fields.error("compare_label", "The question does not compare.")
    has_days = query.shape in ("series", "cumulative")
    shown_day = day if day.text is not None and has_days else None
    return TrendPlace(
        _series(fields, query),
        shown_day,
        _values(fields, query),
        is_previous,
        _of_week(fields, query, "weekday", 1, DAYS),
        _of_week(fields, query, "hour", 0, HOURS - 1),
    )


def _of_week(fields: Fields, query: TrendsQuery, name: str, least: int, most: int) -> int | None:
    number = fields.whole(name, least, most)
    if number is not None and query.shape != "week":
        raise fields.error(
            name, "Only trends with display CalendarHeatmap have weekdays and hours."
        )
    return number


def week_part(place: TrendPlace, offsets: Offsets) -> WeekPart:
    """Return the number at a place in an answer by weekday and hour."""
    if place.weekday is None and place.hour is None:
        return WeekPart(offsets, "all")
    if place.hour is None:
        return WeekPart(offsets, "weekday", (place.weekday or 1) - 1)
    if place.weekday is None:
        return WeekPart(offsets, "hour", place.hour)
    return WeekPart(offsets, "cell", (place.weekday - 1) * HOURS + place.hour)


def group_type_of_trend(query: TrendsQuery, place: TrendPlace) -> int | None:
    """Return the type of the groups that are counted, None for persons."""
    own = query.series[place.series].math.group_type_index
    return query.scope.group_type_index if own is None else own


def _series(fields: Fields, query: TrendsQuery) -> int:
    """Return the series by its index, or the first one of an event, if possible with this math."""
    if not query.series:
        raise fields.error("events", "At least one event is required.")
    order = fields.whole("entity_order", 0, len(query.series) - 1)
    named, math = read_entity_id(fields), fields.text("entity_math")
    if order is not None:
        return order
    matches = [n for n, series in enumerate(query.series) if named in (None, series.entity.id)]
    if not matches:
        raise fields.error("entity_id", "The question has no such series.")
    return next((n for n in matches if query.series[n].math.word == math), matches[0])


def _values(fields: Fields, query: TrendsQuery) -> tuple[str, ...]:
    raw = fields.raw("breakdown_value")
    if raw is None:
        return ()
    if query.breakdowns is None:
        raise fields.error("breakdown_value", "Set breakdown when breakdown_value is set.")
    values = _listed(raw) if query.breakdowns.dimensions > 1 else [raw]
    if isinstance(raw, list) and len(raw) == 1:
        values = raw
    if any(isinstance(value, bool) or not isinstance(value, str | int | float) for value in values):
        raise fields.error("breakdown_value", "Not a valid string.")
    texts = tuple(str(value) for value in values)
    if texts and set(texts) == {OTHER}:
        return (OTHER,)
    if len(texts) != query.breakdowns.dimensions:
        raise fields.error("breakdown_value", "Must have a value for each property.")
    return texts


def _listed(raw: object) -> Sequence[Any]:
    """Return a list, which may be JSON text in a query string."""
    if isinstance(raw, str) and raw.startswith("["):
        try:
            raw = msgspec.json.decode(raw)
        except msgspec.DecodeError:
            return [raw]
    return raw if isinstance(raw, list) else [raw]


def query_of_cell(
    query: TrendsQuery,
    series_query: SeriesQuery,
    place: TrendPlace,
    frame: Frame,
    clock: RangeClock,
) -> SeriesQuery:
    """Return what the number at a place counts, as one interval.

    Args:
        series_query: The series, with the bins of the whole range.

    Raises:
        Invalid: The range has no such interval.
    """
    span = _span(query, place, frame, clock)
    math = query.series[place.series].math.at(query.effective_interval)
    if math.window is not None:
        first = last_day(span, clock.zone) - timedelta(days=math.window - 1)
        span = DateRange(midnight(first, clock.zone), span.end)
        math = Math("dau")
    series = replace(series_query.series, math=math)
    week = None
    if query.shape == "week":
        week = week_part(place, offsets_in(span, clock.zone))
    return replace(
        series_query, series=series, span=span, starts=(), window=None, once=False, week=week
    )


def _span(query: TrendsQuery, place: TrendPlace, frame: Frame, clock: RangeClock) -> DateRange:
    """Return the range of a number; for a running sum it begins with the range of the question."""
    if place.day is None:
        return frame.span
    at = place.day.instant(clock.zone)
    starts = frame.intervals.starts
    number = sum(start <= at for start in starts) - 1
    if number < 0 or (frame.intervals.end is not None and at >= frame.intervals.end):
        raise Invalid("The question has no such interval.", attr="day")
    ends = (*starts[1:], frame.intervals.end or frame.span.end)
    start = frame.span.start if query.shape == "cumulative" else starts[number]
    start, end = max(start, frame.span.start), min(ends[number], frame.span.end)
    return DateRange(start, max(end, start + MICROSECOND))
