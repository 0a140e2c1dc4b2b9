"""The answers of web analytics, as clients read them.

Source: insights.md, section 11.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from fanion.insights.web_analytics.query import (
    Column,
    WebBreakdown,
    WebGoalsQuery,
    WebOverviewQuery,
    WebStatsTableQuery,
)
from fanion.insights.web_analytics.values.event_values_sql import LISTS

Unit = Literal["unit", "duration_s", "percentage"]
Row = Sequence[Any]
Figure = float | int | None

# In the order of the columns of the statement, after the value.
_FIGURES: Final[tuple[Column, ...]] = (
    "visitors",
    "views",
    "avg_time_on_page",
    "bounce_rate",
    "total_conversions",
    "unique_conversions",
    "conversion_rate",
)
_GOAL_COLUMNS: Final = ("action_name", "converting_users", "total_conversions", "conversion_rate")


@dataclass(frozen=True, slots=True)
class Overview:
    """The totals of one range.

    Attributes:
        seconds: The length of all sessions together.
        judged: The number of sessions with a page view.
    """

    visitors: int = 0
    views: int = 0
    sessions: int = 0
    seconds: int = 0
    bounced: int = 0
    judged: int = 0
    conversions: int = 0
    converters: int = 0

    @property
    def duration(self) -> float | None:
        return _share(self.seconds, self.sessions)

    @property
    def bounce_rate(self) -> float | None:
        return _percent(_share(self.bounced, self.judged))

    @property
    def conversion_rate(self) -> float | None:
        return _percent(_share(self.converters, self.visitors))


def overviews(rows: Sequence[Row]) -> tuple[Overview, Overview]:
    """Return the totals of the range, and those of the previous one.

    Args:
        rows: The rows of `overview_statement`.
    """
    by_range = {int(row[0]): Overview(*(int(number) for number in row[1:])) for row in rows}
    return by_range.get(0, Overview()), by_range.get(1, Overview())


def overview_answer(query: WebOverviewQuery, rows: Sequence[Row]) -> dict[str, Any]:
    now, before = overviews(rows)

    def item(key: str, unit: Unit, name: str, *, is_bad: bool | None = None) -> dict[str, Any]:
        previous = getattr(before, name) if query.is_compared else None
        return _item(key, unit, (getattr(now, name), previous), is_bad)

    if query.goal is not None:
        items = [
            item("visitors", "unit", "visitors"),
            item("total conversions", "unit", "conversions"),
            item("unique conversions", "unit", "converters"),
            item("conversion rate", "percentage", "conversion_rate"),
        ]
    else:
        items = [
            item("visitors", "unit", "visitors"),
            item("views", "unit", "views"),
            item("sessions", "unit", "sessions"),
            item("session duration", "duration_s", "duration"),
            item("bounce rate", "percentage", "bounce_rate", is_bad=True),
        ]
    return {"results": items}


def _item(
    key: str, unit: Unit, figures: tuple[Figure, Figure], is_bad: bool | None
) -> dict[str, Any]:
    value, previous = figures
    change = None
    if value is not None and previous:
        change = round(100 * (value - previous) / previous)
    return {
        "key": key,
        "kind": unit,
        "value": value,
        "previous": previous,
        "changeFromPreviousPct": change,
        "isIncreaseBad": is_bad,
    }


def stats_answer(query: WebStatsTableQuery, rows: Sequence[Row]) -> dict[str, Any]:
    """Return the answer to the question of a table.

    Args:
        rows: The rows of `table_statement`.
    """
    columns = query.columns
    shown = rows[: query.limit]
    return {
        "columns": [_column(column) for column in ("breakdown_value", *columns)],
        "results": [
            [_value(query.breakdown, row[0]), *_pairs(row, columns, query.is_compared)]
            for row in shown
        ],
        "hasMore": len(rows) > query.limit,
        "limit": query.limit,
        "offset": query.offset,
    }


def _pairs(row: Row, columns: Sequence[Column], is_compared: bool) -> list[list[Figure]]:
    figures = dict(zip(_FIGURES, zip(row[1::2], row[2::2], strict=True), strict=True))
    return [
        [_figure(now), _figure(before) if is_compared else None]
        for now, before in (figures[column] for column in columns)
    ]


def _figure(value: float) -> Figure:
    return None if math.isnan(value) else value


def _value(breakdown: WebBreakdown, text: str) -> Any:
    if text == "":
        return None
    if breakdown in LISTS:
        parts = [part or None for part in json.loads(text)]
        return [_number(part) for part in parts] if breakdown == "Viewport" else parts
    return float(text) if breakdown == "Timezone" else text


def _number(text: str | None) -> int | str | None:
    is_whole = text is not None and text.isascii() and text.isdecimal()
    return int(text) if text is not None and is_whole and len(text) < 10 else text


def goals_answer(
    query: WebGoalsQuery, rows: Sequence[Row], overview: Sequence[Row]
) -> dict[str, Any]:
    """Return the answer to the question of goals.

    Args:
        rows: The rows of `table_statement`, by the number of the goal.
        overview: The rows of `overview_statement`.
    """
    visitors = [totals.visitors for totals in overviews(overview)]
    by_goal: Mapping[str, Row] = {row[0]: row for row in rows}
    table = [
        _goal(goal.label, by_goal.get(str(number)), visitors)
        for number, goal in enumerate(query.goals)
    ]
    if query.ordering is not None:
        index = _GOAL_COLUMNS.index(query.ordering.column)
        table.sort(key=lambda row: row[index], reverse=query.ordering.is_descending)
    if not query.is_compared:
        table = [[row[0], *([pair[0], None] for pair in row[1:])] for row in table]
    end = query.offset + query.limit
    return {
        "columns": [_column(name) for name in _GOAL_COLUMNS],
        "results": table[query.offset : end],
        "hasMore": len(table) > end,
        "limit": query.limit,
        "offset": query.offset,
    }


def _goal(name: str, row: Row | None, visitors: Sequence[int]) -> list[Any]:
    users = [0, 0] if row is None else [int(row[1]), int(row[2])]
    total = [0, 0] if row is None else [int(row[3]), int(row[4])]
    rates = [_share(number, of) or 0 for number, of in zip(users, visitors, strict=True)]
    return [name, users, total, rates]


def _column(name: str) -> str:
    return f"context.columns.{name}"


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
