"""The statements of stickiness.

Source: insights.md, sections 7 and 17.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from fanion.insights.dates.intervals import DateRange
from fanion.insights.sql.compiler import Compiler, SqlContext, Statement
from fanion.insights.stickiness.query import Criteria, StickinessSeries

# The intervals of the current person. One that it shares with a merged person counts once.
INTERVALS_OF_ACTORS = """
  SELECT actor, length(groupUniqArrayArray(buckets)) AS number
    FROM ({resolved})
GROUP BY actor
"""

BUCKETS = """
  SELECT who, groupUniqArray(bucket) AS buckets
    FROM (SELECT {who} AS who, {bucket} AS bucket
            FROM events
           WHERE {where})
GROUP BY who
"""

# Used if an interval needs a number of events. Each event counts once.
ENOUGH_OF_ACTORS = """
  SELECT actor, count() AS number
    FROM (SELECT actor, bucket
            FROM ({resolved})
        GROUP BY actor, bucket
          HAVING sum(n) {comparison})
GROUP BY actor
"""

COUNTED = """
  SELECT who, bucket, count() AS n
    FROM (SELECT {who} AS who, {bucket} AS bucket
            FROM {events}
           WHERE {where}{limit})
GROUP BY who, bucket
"""

BY_NUMBER = """
  SELECT number, count() AS actors
    FROM ({actors})
GROUP BY number
"""

ACTORS = """
  SELECT actor, number
    FROM ({actors})
   WHERE number {comparison}
ORDER BY number DESC, actor
"""

_OPERATORS = {"gte": ">=", "lte": "<=", "exact": "="}


@dataclass(frozen=True, slots=True)
class SeriesIntervals:
    """One series in one range.

    Attributes:
        starts: The starts of the intervals.
    """

    context: SqlContext
    series: StickinessSeries
    span: DateRange
    starts: Sequence[datetime]
    criteria: Criteria | None = None


def stickiness_statement(series_intervals: SeriesIntervals) -> Statement:
    """Return the statement of rows (number of intervals, actors with exactly that many)."""
    compiler = _compiler(series_intervals)
    return compiler.statement(BY_NUMBER.format(actors=_actors(compiler, series_intervals)))


def actors_statement(
    series_intervals: SeriesIntervals, number: int, *, cumulative: bool
) -> Statement:
    """Return the statement of rows (actor, number of its intervals).

    Args:
        cumulative: Whether actors with more than `number` intervals count too.
    """
    compiler = _compiler(series_intervals)
    bound = compiler.bindings.add(number, "UInt64")
    text = ACTORS.format(
        actors=_actors(compiler, series_intervals),
        comparison=f"{'>=' if cumulative else '='} {bound}",
    )
    return compiler.statement(text)


def _compiler(series_intervals: SeriesIntervals) -> Compiler:
    """Return a compiler that counts the groups of the series, whatever the question counts."""
    context, index = series_intervals.context, series_intervals.series.group_type_index
    if index is not None:
        context = replace(context, scope=replace(context.scope, group_type_index=index))
    return Compiler(context)


def _actors(compiler: Compiler, series_intervals: SeriesIntervals) -> str:
    criteria = series_intervals.criteria
    text, columns = (BUCKETS, ["buckets"]) if criteria is None else (COUNTED, ["bucket", "n"])
    rows = text.format(
        who=compiler.who(),
        bucket=compiler.bucket(series_intervals.starts),
        events=compiler.once.events,
        limit=compiler.once.limit,
        where=compiler.where(series_intervals.span, [series_intervals.series.entity]),
    )
    resolved = compiler.resolved(rows, columns)
    if criteria is None:
        return INTERVALS_OF_ACTORS.format(resolved=resolved)
    bound = compiler.bindings.add(criteria.value, "UInt64")
    return ENOUGH_OF_ACTORS.format(
        resolved=resolved, comparison=f"{_OPERATORS[criteria.operator]} {bound}"
    )
