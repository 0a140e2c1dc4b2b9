"""The statement of the overview of web analytics.

For each range the events around it are grouped by session once. Then persons are resolved, and all
ranges are added up.

Source: insights.md, section 11.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType

from fanion.insights.dates.intervals import DateRange
from fanion.insights.entities import Entity
from fanion.insights.sql.compiler import Compiler, SqlContext, Statement
from fanion.insights.web_analytics.counted_sql import CountedSessions
from fanion.insights.web_analytics.kept_sql import KeptRows
from fanion.insights.web_analytics.query import WebQuery

_OVERVIEW = """
  SELECT is_previous,
         uniqExact(actor),
         sumIf(views, place = 1),
         countIf(place = 1),
         sumIf(seconds, place = 1),
         countIf(place = 1 AND ifNull(bounce, 0)),
         countIf(place = 1 AND isNotNull(bounce)),
         {conversions}
    FROM ({counted}) AS counted
GROUP BY is_previous
"""
_CONVERSIONS = "sumIf(conversions, place = 1), uniqExactIf(actor, converted)"
_COLUMNS = ("is_previous", "place", "views", "seconds", "bounce")


_POINTS = """
  SELECT is_previous,
         bucket,
         uniqExact(actor),
         sumIf(views, place = 1),
         countIf(place = 1),
         sumIf(seconds, place = 1),
         countIf(place = 1 AND ifNull(bounce, 0)),
         countIf(place = 1 AND isNotNull(bounce))
    FROM ({counted}) AS counted
GROUP BY is_previous, bucket
"""


def overview_statement(
    context: SqlContext,
    query: WebQuery,
    spans: Sequence[DateRange],
    goal: Entity | None,
    kept: KeptRows | None = None,
) -> Statement:
    """Return the statement of the totals of each range.

    Rows: whether it is the previous range; visitors; views; sessions; seconds of all sessions;
    sessions that bounced; sessions with a page view; conversions; persons who converted.
    """
    compiler = Compiler(context)
    rows = _rows_of_ranges(compiler, query, spans, goal, kept)
    of_goal = () if goal is None else ("conversions", "converted")
    text = _OVERVIEW.format(
        conversions="0, 0" if goal is None else _CONVERSIONS,
        counted=compiler.resolved(rows, (*_COLUMNS, *of_goal)),
    )
    return compiler.statement(text)


def points_statement(
    context: SqlContext,
    query: WebQuery,
    spans: Sequence[DateRange],
    starts: Sequence[datetime],
    kept: KeptRows | None = None,
) -> Statement:
    """Return the statement of the figures of each interval in which sessions began.

    Rows: whether it is the previous range; the start of the interval in microseconds; visitors;
    views; sessions; seconds of all sessions; sessions that bounced; sessions with a page view.

    Args:
        starts: The starts of the intervals of all ranges, ascending.
    """
    compiler = Compiler(context)
    bucket = compiler.bucket(starts, "started")
    rows = _rows_of_ranges(compiler, query, spans, None, kept, {"bucket": bucket})
    counted = compiler.resolved(rows, (*_COLUMNS, "bucket"))
    return compiler.statement(_POINTS.format(counted=counted))


def _rows_of_ranges(
    compiler: Compiler,
    query: WebQuery,
    spans: Sequence[DateRange],
    goal: Entity | None,
    kept: KeptRows | None,
    more: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return the rows of sessions of all ranges.

    Kept rows of two ranges, one after the other, are read as those of one.

    Args:
        more: Further columns of a row.
    """
    if kept is not None and len(spans) == 2 and spans[1].end == spans[0].start:
        both = DateRange(spans[1].start, spans[0].end)
        counted = CountedSessions(compiler, query, both, goal, kept, parted_at=spans[0].start)
        return counted.rows_of_both({**_columns(counted), **more})
    all_counted = [CountedSessions(compiler, query, span, goal, kept) for span in spans]
    return " UNION ALL ".join(
        counted.rows(index, {**_columns(counted), **more})
        for index, counted in enumerate(all_counted)
    )


def _columns(counted: CountedSessions) -> Mapping[str, str]:
    value = counted.sessions.value
    return {"seconds": value("$session_duration"), "bounce": value("$is_bounce")}
