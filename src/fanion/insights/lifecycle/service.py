"""Life cycles, calculated in the event store: who is new, comes back, or stays away.

Source: insights.md, sections 1b, 8 and 13.
"""

import asyncio
from dataclasses import dataclass
from typing import Any, Final

from fanion.errors import Invalid
from fanion.insights.calculation.kind_service import SERIES_PLACES, ActorsKind, Kind, always
from fanion.insights.calculation.people_urls import PeopleUrls
from fanion.insights.calculation.service import Calculation
from fanion.insights.dates.bounds import Bound, parse_bound
from fanion.insights.dates.intervals import Intervals
from fanion.insights.dates.ranges import resolve_range
from fanion.insights.dates.whole_intervals import interval_before, intervals_of
from fanion.insights.lifecycle.query import STATUSES, LifecycleQuery, Status, read_lifecycle
from fanion.insights.lifecycle.result import lifecycle_result
from fanion.insights.lifecycle.sql import (
    LifecycleIntervals,
    actors_statement,
    lifecycle_statement,
)
from fanion.insights.parsing.fields import Fields
from fanion.insights.parsing.query_names import DRAWN, Part
from fanion.insights.parsing.translation import StandardForm
from fanion.insights.sql.compiler import Statement

# Intervals in a range; each has four numbers, with an address for each.
INTERVALS_MAX: Final = 2_500


@dataclass(frozen=True, slots=True)
class LifecyclePlace:
    """The place of a number in the answer.

    Attributes:
        target: A time in the interval, as it was sent.
    """

    status: Status
    target: Bound


async def calculate_lifecycle(
    calculation: Calculation, query: LifecycleQuery
) -> list[dict[str, Any]]:
    """Return four entries, one for each status."""
    lifecycle, intervals = _lifecycle_intervals(calculation, query)
    rows = await calculation.rows(lifecycle_statement(lifecycle))
    counts = {(int(number), status): int(actors) for number, status, actors in rows}
    urls = PeopleUrls(calculation.project.id, "lifecycle", query.scope.sent)
    return await asyncio.to_thread(lifecycle_result, query, intervals, counts, urls)


def read_lifecycle_place(fields: Fields, query: LifecycleQuery) -> LifecyclePlace:
    target = parse_bound(fields.raw("target_date"), fields.place("target_date"))
    if target.text is None:
        raise fields.error("target_date", "This field is required.")
    if fields.text("lifecycle_type") is None:
        raise fields.error("lifecycle_type", "This field is required.")
    return LifecyclePlace(fields.choice("lifecycle_type", STATUSES, "new"), target)


async def find_lifecycle_actors(
    calculation: Calculation, query: LifecycleQuery, place: LifecyclePlace
) -> Statement:
    """Return the statement of the actors, each with the value 1.

    Raises:
        Invalid: The time is not in the range.
    """
    lifecycle, _ = _lifecycle_intervals(calculation, query)
    clock = calculation.clock
    at = resolve_range(place.target, place.target, query.interval, clock).start
    number = sum(start <= at for start in lifecycle.starts) - 1
    if number < 0 or at >= lifecycle.span.end:
        raise Invalid("This time is not in the range of the question.", attr="target_date")
    return actors_statement(lifecycle, number, place.status)


def _lifecycle_intervals(
    calculation: Calculation, query: LifecycleQuery
) -> tuple[LifecycleIntervals, Intervals]:
    span = query.span(calculation.clock)
    intervals = intervals_of(span, query.interval, calculation.clock)
    if len(intervals.starts) > INTERVALS_MAX:
        detail = f"There are more than {INTERVALS_MAX} intervals. Use a shorter date range."
        raise Invalid(detail, attr="interval")
    before = interval_before(intervals.starts[0], query.interval, calculation.clock).start
    context = calculation.context
    return LifecycleIntervals(context, query, span, before, intervals.starts), intervals


_FILTER = Part({}, DRAWN | {"toggledLifecycles"})
LIFECYCLE: Final = Kind(
    "LifecycleQuery",
    LifecycleQuery,
    read_lifecycle,
    calculate_lifecycle,
    form=StandardForm("LIFECYCLE", {"lifecycleFilter": _FILTER}),
    path="trend",
    shown_as="Lifecycle",
    actors=ActorsKind(
        "lifecycle",
        read_lifecycle_place,
        find_lifecycle_actors,
        SERIES_PLACES | {"target_date", "lifecycle_type", "breakdown_value"},
        {"day": "target_date", "status": "lifecycle_type"},
    ),
    has_series=always,
)
