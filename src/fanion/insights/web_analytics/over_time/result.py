"""The answer to the question of the figures by interval, as clients read it.

Source: insights.md, section 11.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from fanion.insights.dates.intervals import Intervals
from fanion.insights.web_analytics.over_time.query import Metric, WebTrendsQuery
from fanion.insights.web_analytics.result import Overview, Row
from fanion.properties.bindings import micros

_FIELDS: Final[Mapping[Metric, str]] = {
    "UniqueUsers": "visitors",
    "PageViews": "views",
    "Sessions": "sessions",
    "Bounces": "bounced",
    "SessionDuration": "seconds",
    "TotalSessions": "sessions",
    "BounceRate": "bounce_rate",
    "AverageSessionDuration": "duration",
}
_Totals = Mapping[tuple[int, int], Overview]


def web_trends_answer(
    query: WebTrendsQuery, cuts: Sequence[Intervals], rows: Sequence[Row], end: datetime
) -> dict[str, Any]:
    """Return the figures of each interval, with a comparison beside those of the one before.

    Args:
        cuts: The intervals of the range, and of the previous one if there is one.
        rows: The rows of `points_statement`.
        end: The time until which there are sessions.
    """
    totals: _Totals = {
        (int(row[0]), int(row[1])): Overview(*(int(number) for number in row[2:])) for row in rows
    }
    points = [
        {
            "bucket": day,
            "metrics": {
                metric: _value(_FIELDS[metric], cuts, totals, place) for metric in query.metrics
            },
        }
        for place, day in enumerate(cuts[0].days)
    ]
    return {"results": points, "incomplete": cuts[0].unfinished(end)}


def _value(name: str, cuts: Sequence[Intervals], totals: _Totals, place: int) -> Any:
    pair = [_figure(name, cut, totals, index, place) for index, cut in enumerate(cuts)]
    return pair[0] if len(pair) == 1 else pair


def _figure(name: str, cut: Intervals, totals: _Totals, index: int, place: int) -> Any:
    """Return a figure of an interval, None if there is no such interval."""
    if place >= len(cut.starts):
        return None
    return getattr(totals.get((index, micros(cut.starts[place])), Overview()), name)
