"""Stickiness, calculated in the event store: in how many intervals persons did something.

Source: insights.md, sections 1b, 7 and 13.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from fanion.insights.calculation.kind_service import (
    INSIGHT_ACTORS,
    NEWER_SERIES_PLACES,
    SERIES_PLACES,
    ActorsKind,
    ActorsSource,
    Kind,
    group_type_of,
)
from fanion.insights.calculation.people_urls import PeopleUrls
from fanion.insights.calculation.service import Calculation, require_few_numbers
from fanion.insights.dates.comparison import earlier_range, intervals_back, previous_range
from fanion.insights.dates.intervals import DateRange, Intervals, widen_to_interval
from fanion.insights.dates.ranges import RangeClock
from fanion.insights.dates.whole_intervals import intervals_of
from fanion.insights.entities import read_entity_id
from fanion.insights.parsing.fields import Fields
from fanion.insights.parsing.query_names import DRAWN, Part, same_names
from fanion.insights.parsing.translation import StandardForm
from fanion.insights.sql.compiler import Statement
from fanion.insights.stickiness.query import StickinessQuery, read_stickiness
from fanion.insights.stickiness.result import stickiness_entry
from fanion.insights.stickiness.sql import (
    SeriesIntervals,
    actors_statement,
    stickiness_statement,
)

# Numbers in one result; each comes with the address of its actors.
NUMBERS_MAX: Final = 10_000


@dataclass(frozen=True, slots=True)
class StickinessPlace:
    """The place of a number in the answer.

    Attributes:
        series: The index of the series in the question.
        intervals: The number of intervals.
    """

    series: int
    intervals: int


async def calculate_stickiness(
    calculation: Calculation, query: StickinessQuery
) -> list[dict[str, Any]]:
    """Return one entry for each series; with `compare`, all current ones come first."""
    urls = PeopleUrls(calculation.project.id, "stickiness", query.scope.sent)
    entries = []
    for is_previous, (span, intervals) in enumerate(_ranges(calculation, query)):
        for order in range(len(query.series)):
            series_intervals = _series_intervals(calculation, query, order, span, intervals)
            rows = await calculation.rows(stickiness_statement(series_intervals))
            counts = [(int(number), int(actors)) for number, actors in rows]
            entries.append(
                stickiness_entry(
                    query, order, intervals, counts, urls, before=span if is_previous else None
                )
            )
    return entries


def read_stickiness_place(fields: Fields, query: StickinessQuery) -> StickinessPlace:
    intervals = fields.whole("stickiness_days", 1, NUMBERS_MAX)
    if intervals is None:
        raise fields.error("stickiness_days", "This field is required.")
    return StickinessPlace(_series(fields, query), intervals)


def _series(fields: Fields, query: StickinessQuery) -> int:
    """Return the index of the series, given by its index or as the first one of an event."""
    order = fields.whole("entity_order", 0, len(query.series) - 1)
    named = read_entity_id(fields)
    for index, series in enumerate(query.series):
        if order in (None, index) and named in (None, series.entity.id):
            return index
    raise fields.error("entity_id", "The question has no such series.")


async def find_stickiness_actors(
    calculation: Calculation, query: StickinessQuery, place: StickinessPlace
) -> Statement:
    """Return the statement of the actors, each with the number of its intervals."""
    span, intervals = next(_ranges(calculation, query))
    series_intervals = _series_intervals(calculation, query, place.series, span, intervals)
    return actors_statement(series_intervals, place.intervals, cumulative=query.cumulative)


def _series_intervals(
    calculation: Calculation,
    query: StickinessQuery,
    order: int,
    span: DateRange,
    intervals: Intervals,
) -> SeriesIntervals:
    series = query.series[order]
    return SeriesIntervals(calculation.context, series, span, intervals.starts, query.criteria)


def _ranges(
    calculation: Calculation, query: StickinessQuery
) -> Iterator[tuple[DateRange, Intervals]]:
    """Yield the range of the question, then the previous one if the question compares."""
    clock, interval = calculation.clock, query.interval
    span = query.span(clock)
    intervals = intervals_of(span, interval, clock)
    numbers = len(intervals.starts) * len(query.series)
    require_few_numbers(numbers * (2 if query.compare else 1), NUMBERS_MAX)
    yield span, intervals
    if query.compare:
        before = _before(query, span, intervals, clock)
        yield before, intervals_of(before, interval, clock)


def _before(
    query: StickinessQuery, span: DateRange, intervals: Intervals, clock: RangeClock
) -> DateRange:
    scope, interval, zone = query.scope, query.interval, clock.zone
    if query.compare_to is None:
        number = intervals_back(scope.since, scope.until, intervals, interval, zone)
        return previous_range(span, number, interval, zone)
    before = earlier_range(span, query.compare_to, zone)
    return (
        before
        if scope.is_explicit
        else widen_to_interval(before, interval, zone, clock.week_start_day)
    )


def group_type_of_stickiness(query: StickinessQuery, place: StickinessPlace) -> int | None:
    """Return the type of the groups that the series counts, or else that of the question."""
    own = query.series[place.series].group_type_index
    return group_type_of(query, place) if own is None else own


_FILTER = Part(same_names("computedAs", "stickinessCriteria", "compare", "display"), DRAWN)
STICKINESS: Final = Kind(
    "StickinessQuery",
    StickinessQuery,
    read_stickiness,
    calculate_stickiness,
    form=StandardForm("STICKINESS", {"stickinessFilter": _FILTER}),
    path="trend",
    shown_as="Stickiness",
    actors=ActorsKind(
        "stickiness",
        read_stickiness_place,
        find_stickiness_actors,
        SERIES_PLACES | {"stickiness_days", "breakdown_value", "compare_label"},
        {**NEWER_SERIES_PLACES, "day": "stickiness_days"},
        source=ActorsSource("StickinessActorsQuery", INSIGHT_ACTORS.names),
        group_type=group_type_of_stickiness,
    ),
)
