"""The events of paths that happened before, between or after steps of a funnel.

Each actor has a part of time, from the first of its best tries. Its events come from a separate
part of a UNION, so that the table of events is on neither side of a join.

Source: insights.md, sections 5a and 9.
"""

from dataclasses import replace
from typing import Final

from fanion.insights.dates.ranges import RangeClock
from fanion.insights.funnels.actor_tries_sql import tries_of_actors
from fanion.insights.funnels.elements_sql import FunnelSql
from fanion.insights.paths.query import WithinFunnel
from fanion.insights.sql.compiler import Compiler
from fanion.properties.bindings import micros

_FIRST: Final = "toInt64(1)"
_LAST: Final = "toInt64(9223372036854775807)"

_PARTS = """
  SELECT actor, {since} AS since, {until} AS until
    FROM (SELECT actor, arrayMax(arrayMap(try -> try.1, tries)) AS level,
                 arrayFirst(try -> try.1 = level, tries) AS best
            FROM ({tries})
           WHERE notEmpty(tries))
   WHERE {reached}
"""

# Actors without a part have no events.
_WITHIN = """
  SELECT actor, arrayFilter(one -> toInt64(bitShiftRight(one, 192)) BETWEEN since AND until, done)
                  AS happened
    FROM (SELECT actor, max(of_funnel.1) AS since, max(of_funnel.2) AS until,
                 groupArrayArray(own) AS done
            FROM (SELECT actor, (since, until) AS of_funnel, CAST([], 'Array(UInt256)') AS own
                    FROM ({parts})
                   UNION ALL
                  SELECT actor, (toInt64(0), toInt64(0)) AS of_funnel, happened AS own
                    FROM ({resolved}))
        GROUP BY actor)
   WHERE until > 0
"""


def within_funnel(
    compiler: Compiler, within: WithinFunnel, clock: RangeClock, resolved: str, zero: int
) -> str:
    """Return rows (actor, happened) with what happened in the part of the funnel.

    Args:
        resolved: A SELECT of all that happened, with the current actor.
        zero: What is added to the times of what happened.
    """
    context = replace(compiler.context, scope=within.funnel.scope)
    own = Compiler(context, compiler.bindings)
    funnel = FunnelSql(context, within.funnel.of_required(), within.funnel.span(clock))
    return _WITHIN.format(parts=_parts(own, funnel, within, zero), resolved=resolved)


def _parts(compiler: Compiler, funnel: FunnelSql, within: WithinFunnel, zero: int) -> str:
    """Return rows (actor, since, until), both included; times are greater than 0."""
    # The times of a try count from the start of its range plus one.
    origin = compiler.bindings.add(micros(funnel.span.start) - 1 + zero, "Int64")
    level = within.level
    at = f"toInt64(best.{level + 1}) + {origin}"
    reached = f"level {'>=' if within.step > 0 else '='} {level}"
    since, until = at, at
    if within.which == "funnel_path_before_step":
        since = _FIRST
    elif within.which == "funnel_path_after_step":
        until = _LAST
    else:
        since = f"toInt64(best.{level}) + {origin}"
    return _PARTS.format(
        since=since, until=until, reached=reached, tries=tries_of_actors(compiler, funnel)
    )
