"""The result of a trend as clients read it.

source: cohorts.md section 23
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fanion.insights.date_range import Intervals
from fanion.insights.filters_sql import NONE, OTHER
from fanion.insights.series import Series, series_body
from fanion.insights.trends.query import TrendsQuery
from fanion.properties.cohort_sql import micros

_LABELS = {NONE: "None (i.e. no value)", OTHER: "Other (i.e. all remaining values)"}
_NO_TIME = Intervals((), (), ())


@dataclass(frozen=True, slots=True)
class SeriesCounts:
    """The counts of one series. rows: (interval in microseconds, value, number)

    is_previous: of the previous range, for comparison
    """

    series: Series
    order: int
    rows: Iterable[tuple[int, str, int]]
    intervals: Intervals
    is_previous: bool = False


def trend_result(query: TrendsQuery, counts: Sequence[SeriesCounts]) -> list[dict[str, Any]]:
    """One entry for each series and value of the breakdown: series as asked, then the largest."""
    result = []
    for one in counts:
        found = _by_value(one)
        if query.breakdown is None:
            found = {"": found.get("", {})}
        entries = [_entry(query, one, value, numbers) for value, numbers in found.items()]
        result += sorted(entries, key=_size)
    return result


def _by_value(counted: SeriesCounts) -> dict[str, dict[int, int]]:
    found: dict[str, dict[int, int]] = {}
    for bucket, value, number in counted.rows:
        found.setdefault(value, {})[bucket] = number
    return found


def _size(entry: Mapping[str, Any]) -> tuple[float, str]:
    return -entry.get("aggregated_value", entry["count"]), entry["label"]


def _entry(
    query: TrendsQuery, counted: SeriesCounts, value: str, numbers: Mapping[int, int]
) -> dict[str, Any]:
    intervals = _NO_TIME if query.totals else counted.intervals
    data = [float(numbers.get(one, 0)) for one in _micros(intervals.starts)]
    entry: dict[str, Any] = {
        "action": series_body(counted.series, counted.order),
        "label": _label(query, counted.series, value),
        "count": float(sum(data)),
        "data": data,
        "days": list(intervals.days),
        "labels": list(intervals.labels),
        "filter": {},
    }
    if query.breakdown is not None:
        entry["breakdown_value"] = value
    if query.compare:
        entry["compare"] = True
        entry["compare_label"] = "previous" if counted.is_previous else "current"
    if query.totals:
        return entry | {"aggregated_value": float(sum(numbers.values())), "persons": {}}
    return entry | {"persons_urls": []}


def _micros(starts: Sequence[datetime]) -> list[int]:
    return [micros(start) for start in starts]


def _label(query: TrendsQuery, series: Series, value: str) -> str:
    if query.breakdown is None:
        return series.name
    label = _LABELS.get(value, value)
    return label if len(query.series) == 1 else f"{series.name} - {label}"
