"""The statements of exposures: units by variant and day, and calls without a variant.

Source: experiments.md, sections 2 and 6.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from fanion.experiments.calculation.question import ExposureQuestion
from fanion.experiments.calculation.units_sql import IS_EXPOSED, UnitsSql
from fanion.insights.dates.intervals import DateRange
from fanion.insights.sql.compiler import Compiler, SqlContext, Statement
from fanion.properties.bindings import micros

# The places of units without an arm.
HELD_OUT: Final = -1
EARLIER: Final = -2

_PLACED = """
  SELECT actor, exposed_at,
         multiIf(was_earlier, {earlier}, NOT {is_exposed}, {held_out}, toInt16(arm)) AS place
    FROM (SELECT actor, was_earlier, was_held_out, highest_arm,
                 if({several}, 0, first_arm) AS arm, first_at + {origin} AS exposed_at
            FROM ({units}))
   WHERE was_earlier OR {is_exposed} OR was_held_out
"""
_BY_DAY = """
  SELECT place,
         {day} AS day,
         count() AS units,
         min(exposed_at) AS first,
         max(exposed_at) AS last
    FROM ({placed})
GROUP BY place, day
ORDER BY place, day
"""
_WITHOUT = """
  SELECT {count} AS calls
    FROM {events}
   WHERE {where}
"""


def exposures_statement(
    context: SqlContext, question: ExposureQuestion, span: DateRange, starts: Sequence[datetime]
) -> Statement:
    """Return the statement of rows (place, day, units, first, last), as `placed_units` has them.

    Args:
        starts: The starts of the days.
    """
    compiler = Compiler(context)
    sql = UnitsSql(compiler, question, span, context.now)
    bound = compiler.bindings.add([micros(start) for start in starts], "Array(Int64)")
    day = f"roundDown(exposed_at, {bound})"
    return compiler.statement(_BY_DAY.format(day=day, placed=placed_units(sql)))


def placed_units(sql: UnitsSql) -> str:
    """Return rows (actor, exposed_at, place) of the units that are counted in some place.

    The place is the number of an arm, MULTIPLE, HELD_OUT or EARLIER. Times are microseconds since
    1970; those of units without an arm mean nothing.
    """
    return _PLACED.format(
        earlier=EARLIER,
        held_out=HELD_OUT,
        is_exposed=IS_EXPOSED,
        several=sql.several,
        origin=sql.origin,
        units=sql.units([], with_held_out=True),
    )


def without_variant_statement(
    context: SqlContext, question: ExposureQuestion, span: DateRange
) -> Statement:
    """Return the statement of the number of calls that answered no variant."""
    compiler = Compiler(context)
    sql = UnitsSql(compiler, question, span, context.now)
    where = compiler.where(span, question.exposures)
    text = _WITHOUT.format(
        count=compiler.once.count(sql.is_without_variant()),
        events=compiler.once.events,
        where=where,
    )
    return compiler.statement(text)
