"""Retention, calculated in the event store.

Of those who did something first, it tells how many did something later.

Source: insights.md, sections 1b, 6 and 13.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from fanion.errors import Invalid
from fanion.insights.calculation.cohort_names_store import cohort_names
from fanion.insights.calculation.kind_service import ActorsKind, Kind
from fanion.insights.calculation.people_urls import PeopleUrls
from fanion.insights.calculation.service import Calculation
from fanion.insights.calculation.value_counts import with_value_counts
from fanion.insights.dates.intervals import Intervals
from fanion.insights.parsing.fields import Fields
from fanion.insights.parsing.query_names import DRAWN, Part, same_names
from fanion.insights.parsing.translation import StandardForm
from fanion.insights.retention.query import (
    TOTAL_INTERVALS_OF_QUERIES,
    RetentionQuery,
    read_retention,
)
from fanion.insights.retention.result import retention_result
from fanion.insights.retention.sets_sql import RetentionRows
from fanion.insights.retention.sql import (
    RetentionPlace,
    actors_statement,
    largest_values,
    retention_statement,
)
from fanion.insights.retention.values_sql import sums_statement
from fanion.insights.sql.compiler import OTHER, Statement

# Numbers in one result: a few megabytes of JSON.
CELLS_MAX: Final = 100_000


async def calculate_retention(calculation: Calculation, query: RetentionQuery) -> Any:
    """Return one entry for each row and value of the breakdown.

    With a breakdown, the entries are `results` beside the number of values.
    """
    retention, rows = _retention_rows(calculation, query)
    if retention.cells * (retention.limit + 1) > CELLS_MAX:
        detail = f"The result has more than {CELLS_MAX} numbers. Use fewer intervals."
        raise Invalid(detail, attr="total_intervals")
    counted = await calculation.rows(retention_statement(retention, None))
    total = len({value for value, *_ in counted})
    values: Sequence[str] | None = None
    if total > retention.limit:
        values, total = await _largest(calculation, retention)
        counted = await calculation.rows(retention_statement(retention, values))
    sums = await _sums(calculation, retention, values)
    names = await cohort_names(calculation.records, calculation.project.id, query.breakdowns)
    urls = PeopleUrls(calculation.project.id, "retention", query.scope.sent)
    entries = await asyncio.to_thread(
        retention_result,
        query,
        rows,
        calculation.zone,
        [(value, int(row), int(ahead), int(persons)) for value, row, ahead, persons in counted],
        sums,
        urls.url,
        names,
    )
    return with_value_counts(entries, query.breakdowns, [total])


async def _sums(
    calculation: Calculation, retention: RetentionRows, values: Sequence[str] | None
) -> Sequence[tuple[str, int, int, float]]:
    """Return the sums of the property, none if only persons are counted."""
    if retention.query.aggregation == "count":
        return ()
    rows = await calculation.rows(sums_statement(retention, values))
    return [(value, int(row), int(place), float(total)) for value, row, place, total in rows]


def read_retention_place(fields: Fields, query: RetentionQuery) -> RetentionPlace:
    row = fields.whole("selected_interval", 0, query.rows_max - 1)
    if row is None:
        raise fields.error("selected_interval", "This field is required.")
    values = query.values_of(row, query.rows_max)
    ahead = fields.whole("returning_interval", 0, values - 1)
    return RetentionPlace(row, ahead, _value(fields, query))


def _value(fields: Fields, query: RetentionQuery) -> str | tuple[str, ...] | None:
    """Parse a value as answers write it; a list may be JSON text."""
    name, raw = "breakdown_value", fields.raw("breakdown_value")
    if raw is None or raw == "":
        return None
    if query.breakdowns is None:
        raise fields.error(name, "Set breakdown when breakdown_value is set.")
    parts = query.breakdowns.parts
    if len(parts) == 1 or all(part.type == "cohort" for part in parts):
        return str(raw)
    try:
        values = msgspec.convert(
            msgspec.json.decode(raw) if isinstance(raw, str) else raw, type=tuple[str, ...]
        )
    except (msgspec.DecodeError, msgspec.ValidationError):
        raise fields.error(name, "Must be a list of strings.") from None
    return OTHER if set(values) == {OTHER} else values


async def find_retention_actors(
    calculation: Calculation, query: RetentionQuery, place: RetentionPlace
) -> Statement:
    """Return the statement of the actors, each with 0 or 1 for every value of the row."""
    retention, _ = _retention_rows(calculation, query)
    _require_in_rows(place, retention)
    if place.value != OTHER:
        return actors_statement(retention, place, None)
    values, _ = await _largest(calculation, retention)
    return actors_statement(retention, place, values)


def _require_in_rows(place: RetentionPlace, retention: RetentionRows) -> None:
    """Raise Invalid for a place that the answer does not have."""
    last = len(retention.starts) - 1
    if place.row > last:
        detail = f"Ensure this value is between 0 and {last}."
        raise Invalid(detail, attr="selected_interval")
    last = retention.values_of(place.row) - 1
    if place.ahead is not None and place.ahead > last:
        detail = f"Ensure this value is between 0 and {last}."
        raise Invalid(detail, attr="returning_interval")


async def _largest(calculation: Calculation, retention: RetentionRows) -> tuple[Sequence[str], int]:
    """Return the values with the most persons, and how many values there are."""
    rows = await calculation.rows(largest_values(retention))
    return [value for value, _ in rows], rows[0][1] if rows else 0


def _retention_rows(
    calculation: Calculation, query: RetentionQuery
) -> tuple[RetentionRows, Intervals]:
    span, rows = query.rows(calculation.clock)
    return RetentionRows(calculation.context, query, span, rows.starts), rows


_FILTER = Part(
    same_names(
        *("period", "totalIntervals", "retentionType", "targetEntity", "returningEntity"),
        *("cumulative", "minimumOccurrences", "retentionCustomBrackets", "timeWindowMode"),
        *("aggregationType", "aggregationProperty", "aggregationPropertyType"),
        "customAggregationTarget",
    ),
    DRAWN
    | {
        *("retentionReference", "meanRetentionCalculation", "showMean", "dashboardDisplay"),
        *("display", "selectedInterval"),
    },
)
RETENTION: Final = Kind(
    "RetentionQuery",
    RetentionQuery,
    read_retention,
    calculate_retention,
    form=StandardForm(
        "RETENTION",
        {"retentionFilter": _FILTER},
        defaults={"total_intervals": TOTAL_INTERVALS_OF_QUERIES},
    ),
    path="retention",
    actors=ActorsKind(
        "retention",
        read_retention_place,
        find_retention_actors,
        frozenset({"selected_interval", "returning_interval", "breakdown_value"}),
        {"interval": "selected_interval", "breakdown": "breakdown_value"},
    ),
)
