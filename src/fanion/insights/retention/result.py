"""The answer to a question of retention, as clients read it.

Source: insights.md, section 6.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec

from fanion.insights.breakdowns import Breakdowns
from fanion.insights.dates.intervals import Intervals
from fanion.insights.retention.query import RetentionQuery
from fanion.insights.sql.compiler import OTHER

# Returns the address of the persons behind a row, or behind a value in it.
Url = Callable[..., str]
_Counts = Mapping[tuple[int, int], int]
_NO_COUNTS: Final[_Counts] = {}


def retention_result(
    query: RetentionQuery,
    rows: Intervals,
    zone: ZoneInfo,
    counts: Iterable[tuple[str, int, int, int]],
    url: Url,
) -> list[dict[str, Any]]:
    """Return a triangle of rows: what lies in the future is not known.

    With a breakdown each value has a triangle, the largest first.

    Args:
        counts: Tuples (value, row from 1, intervals later, persons).
    """
    by_value: dict[str, dict[tuple[int, int], int]] = {}
    for value, row, ahead, persons in counts:
        by_value.setdefault(value, {})[row - 1, ahead] = persons
    if query.breakdowns is None:
        return _triangle(query, rows, zone, by_value.get("", _NO_COUNTS), url, {})
    if query.breakdowns.hide_other:
        by_value.pop(OTHER, None)
    return [
        entry
        for value in sorted(by_value, key=lambda value: _place(value, by_value[value]))
        for entry in _triangle(
            query, rows, zone, by_value[value], url, _value(query.breakdowns, value)
        )
    ]


def _value(breakdowns: Breakdowns, value: str) -> Mapping[str, Any]:
    """Return the value of the breakdown: text, the id of a cohort, or a list of texts."""
    shown: Any = value
    if all(part.type == "cohort" for part in breakdowns.parts):
        shown = int(value) if value.isdecimal() else value
    elif len(breakdowns.parts) > 1:
        is_other = value == OTHER
        shown = [OTHER] * len(breakdowns.parts) if is_other else msgspec.json.decode(value)
    return {"breakdown_value": shown}


def _place(value: str, counts: _Counts) -> tuple[bool, int, str]:
    began = sum(persons for (_, ahead), persons in counts.items() if ahead == 0)
    return value == OTHER, -began, value


def _triangle(
    query: RetentionQuery,
    rows: Intervals,
    zone: ZoneInfo,
    counts: _Counts,
    url: Url,
    broken_down: Mapping[str, Any],
) -> list[dict[str, Any]]:
    number = len(rows.starts)
    return [
        {
            "label": f"{query.period_name} {row}",
            "date": _date(start, zone),
            "values": [
                {
                    "count": counts.get((row, ahead), 0),
                    "people": [],
                    "people_url": url(
                        selected_interval=row, returning_interval=ahead, **broken_down
                    ),
                }
                for ahead in range(min(number - row, query.total_intervals))
            ],
            "people_url": url(selected_interval=row, **broken_down),
            **broken_down,
        }
        for row, start in enumerate(rows.starts)
    ]


def _date(start: datetime, zone: ZoneInfo) -> str:
    return start.astimezone(zone).isoformat().replace("+00:00", "Z")
