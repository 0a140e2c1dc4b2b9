"""The statements of conversion times that share their bins, by value of the breakdown.

Source: insights.md, section 5h.
"""

from collections.abc import Sequence

from fanion.insights.funnels.elements_sql import FunnelSql
from fanion.insights.funnels.sql import people_of_steps
from fanion.insights.sql.compiler import Compiler, Statement

_EXTENTS = """
  SELECT value, count() AS converted, min(sample), max(sample), avg(sample),
         quantileExactInclusive(0.5)(sample), count() OVER () AS values
    FROM (SELECT value, {sample} AS sample FROM ({people}))
GROUP BY value
ORDER BY converted DESC, value
   LIMIT {limit}
"""

_BINNED = """
  SELECT value, intDiv(toInt64(floor(sample)) - {start}, {width}) AS place, count() AS number
    FROM (SELECT value, {sample} AS sample FROM ({people}))
GROUP BY value, place
ORDER BY value, place
"""


def time_extents(funnel: FunnelSql, limit: int) -> Statement:
    """Return the statement of the conversion times, the value with the most persons first.

    Rows: value; persons; least, greatest, average and median time in seconds; how many values there
    are.
    """
    compiler = Compiler(funnel.context)
    sample, people = _samples(compiler, funnel)
    return compiler.statement(_EXTENTS.format(sample=sample, people=people, limit=limit))


def binned_times(funnel: FunnelSql, start: int, width: int) -> Statement:
    """Return the statement of rows (value, number of a bin, persons in it)."""
    compiler = Compiler(funnel.context)
    sample, people = _samples(compiler, funnel)
    return compiler.statement(
        _BINNED.format(
            sample=sample,
            people=people,
            start=compiler.bindings.add(start, "Int64"),
            width=compiler.bindings.add(width, "Int64"),
        )
    )


def _samples(compiler: Compiler, funnel: FunnelSql) -> tuple[str, str]:
    """Return SQL for the seconds of a row, and the rows of those who converted."""
    query = funnel.query
    numbers: Sequence[int] = range(query.from_step + 2, query.to_step + 2)
    people = people_of_steps(compiler, funnel, numbers, f"level > {query.to_step}")
    return " + ".join(f"seconds_{number}" for number in numbers), people
