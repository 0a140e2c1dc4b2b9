"""The statements of the units behind a number of an experiment.

They read the same rows as the statements of the numbers.

Source: experiments.md, sections 2 and 3.
"""

from typing import Final

from fanion.experiments.calculation.exposures_sql import placed_units
from fanion.experiments.calculation.question import ExposureQuestion, MetricQuestion
from fanion.experiments.calculation.unit_values_sql import UnitValuesSql
from fanion.experiments.calculation.units_sql import UnitsSql
from fanion.experiments.metrics.model import RetentionMetric
from fanion.insights.calculation.service import Calculation
from fanion.insights.sql.compiler import Compiler, Statement

_EXPOSED: Final = """
  SELECT actor, {value} AS value
    FROM ({placed})
   WHERE place = {place}
ORDER BY value DESC, actor
"""
_MEASURED: Final = """
  SELECT actor, y AS value
    FROM ({values})
   WHERE {conditions}
ORDER BY value DESC, actor
"""


def exposed_statement(
    calculation: Calculation, question: ExposureQuestion, place: int
) -> Statement:
    """Return the statement of rows (actor, time of the first exposure).

    Args:
        place: The number of an arm, MULTIPLE, HELD_OUT or EARLIER. The last two have no time.
    """
    compiler, now = Compiler(calculation.context), calculation.now
    sql = UnitsSql(compiler, question, question.span(calculation.clock), now)
    time = "fromUnixTimestamp64Micro(exposed_at, 'UTC')" if place >= 0 else "NULL"
    bound = compiler.bindings.add(place, "Int16")
    text = _EXPOSED.format(value=time, placed=placed_units(sql), place=bound)
    return compiler.statement(text)


def measured_statement(
    calculation: Calculation,
    question: MetricQuestion,
    arm: int,
    converted: bool | None,
    step: int | None,
) -> Statement:
    """Return the statement of rows (actor, value) for the units of an arm that a metric counts.

    Args:
        converted: Whether the value is other than 0; None for all units.
        step: The number of a step of a funnel that the units reached, from 1.
    """
    sql = UnitValuesSql(calculation.context, question, calculation.zone, with_actors=True)
    conditions = [f"arm = {sql.compiler.bindings.add(arm, 'UInt8')}"]
    if isinstance(question.metric, RetentionMetric):
        conditions.append("is_starter")
    if converted is not None:
        conditions.append("y != 0" if converted else "y = 0")
    if step is not None:
        conditions.append(f"step_{step - 1}")
    text = _MEASURED.format(values=sql.text, conditions=" AND ".join(conditions))
    return sql.compiler.statement(text)
