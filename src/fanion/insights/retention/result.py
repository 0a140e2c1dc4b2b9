"""The answer to a question of retention, as clients read it.

Source: insights.md, section 6.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import msgspec

from fanion.insights.breakdowns import Breakdowns
from fanion.insights.calculation.cohort_labels import with_cohort_labels
from fanion.insights.dates.intervals import Intervals
from fanion.insights.retention.query import RetentionQuery
from fanion.insights.sql.compiler import OTHER

# Returns the address of the persons behind a row, or behind a value in it.
Url = Callable[..., str]
_Counts = Mapping[tuple[int, int], int]
_Sums = Mapping[tuple[int, int], float]


@dataclass(frozen=True, slots=True)
class _Numbers:
    """The numbers of one value of the breakdown, by (row from 0, index in the row)."""

    counts: _Counts = field(default_factory=dict)
    sums: _Sums = field(default_factory=dict)

    def at(self, query: RetentionQuery, place: tuple[int, int]) -> Mapping[str, float]:
        """Return how many persons there are at a place, and with an aggregation its value."""
        persons = self.counts.get(place, 0)
        if query.aggregation == "count":
            return {"count": persons}
        total = self.sums.get(place, 0.0)
        if query.aggregation == "avg":
            total = total / persons if persons else 0.0
        return {"count": persons, "aggregation_value": total}


def retention_result(
    query: RetentionQuery,
    rows: Intervals,
    zone: ZoneInfo,
    counts: Iterable[tuple[str, int, int, int]],
    sums: Iterable[tuple[str, int, int, float]],
    url: Url,
    cohorts: Mapping[int, str],
) -> list[dict[str, Any]]:
    """Return a triangle of rows: what lies in the future is not known.

    With a breakdown each value has a triangle, the largest first.

    Args:
        counts: Tuples (value, row from 1, index in the row, persons).
        sums: The same tuples with sums of the property; none if only persons are counted.
        cohorts: The names of cohorts, by id.
    """
    by_value = _by_value(counts, sums)
    if query.breakdowns is None:
        return _triangle(query, rows, zone, by_value.get("", _Numbers()), url, {})
    if query.breakdowns.hide_other:
        by_value.pop(OTHER, None)
    return [
        entry
        for value in sorted(by_value, key=lambda value: _place(value, by_value[value].counts))
        for entry in _triangle(
            query, rows, zone, by_value[value], url, _broken_down(query.breakdowns, value, cohorts)
        )
    ]


def _by_value(
    counts: Iterable[tuple[str, int, int, int]], sums: Iterable[tuple[str, int, int, float]]
) -> dict[str, _Numbers]:
    counted: dict[str, dict[tuple[int, int], int]] = {}
    for value, row, ahead, persons in counts:
        counted.setdefault(value, {})[row - 1, ahead] = persons
    summed: dict[str, dict[tuple[int, int], float]] = {}
    for value, row, ahead, total in sums:
        summed.setdefault(value, {})[row - 1, ahead] = total
    return {value: _Numbers(own, summed.get(value, {})) for value, own in counted.items()}


def _broken_down(
    breakdowns: Breakdowns, value: str, cohorts: Mapping[int, str]
) -> Mapping[str, Any]:
    """Return the value of the breakdown, and in `breakdown` the same with names of cohorts.

    The value is text, the id of a cohort, or a list of texts.
    """
    values = _values(breakdowns, value)
    named = with_cohort_labels(breakdowns, values, cohorts)
    if breakdowns.dimensions > 1:
        return {"breakdown": named, "breakdown_value": values}
    shown = int(value) if breakdowns.are_cohorts and value.isdecimal() else value
    return {"breakdown": named[0], "breakdown_value": shown}


def _values(breakdowns: Breakdowns, value: str) -> Sequence[str]:
    if breakdowns.dimensions == 1:
        return [value]
    if value == OTHER:
        return [OTHER] * breakdowns.dimensions
    return msgspec.json.decode(value, type=list[str])


def _place(value: str, counts: _Counts) -> tuple[bool, int, str]:
    began = sum(persons for (_, ahead), persons in counts.items() if ahead == 0)
    return value == OTHER, -began, value


def _triangle(
    query: RetentionQuery,
    rows: Intervals,
    zone: ZoneInfo,
    numbers: _Numbers,
    url: Url,
    broken_down: Mapping[str, Any],
) -> list[dict[str, Any]]:
    number = len(rows.starts)
    place = {name: value for name, value in broken_down.items() if name == "breakdown_value"}
    labels = _labels(query)
    return [
        {
            "label": f"{query.period_name} {row}",
            "date": _date(start, zone),
            "values": [
                {
                    **numbers.at(query, (row, ahead)),
                    "people": [],
                    "people_url": url(selected_interval=row, returning_interval=ahead, **place),
                    **labels[ahead],
                }
                for ahead in range(query.values_of(row, number))
            ],
            "people_url": url(selected_interval=row, **place),
            **broken_down,
        }
        for row, start in enumerate(rows.starts)
    ]


def _labels(query: RetentionQuery) -> Sequence[Mapping[str, str]]:
    """Return what each value of a row says about itself: with brackets, which intervals it has."""
    if not query.sizes:
        return [{}] * query.total_intervals
    numbers = ["0", *(bracket.numbers for bracket in query.brackets)]
    return [{"label": f"{query.period_name} {number}"} for number in numbers]


def _date(start: datetime, zone: ZoneInfo) -> str:
    return start.astimezone(zone).isoformat().replace("+00:00", "Z")
