"""Conditions on steps that count only the first event of each person, or of what is counted.

The very first event of all time is read with its uuid, once persons are resolved: two ids of a
merged person have one first event. Of events of one instant the one with the smallest uuid is
first.

Source: insights.md, sections 4a and 5.
"""

from typing import Final

from fanion.insights.dates.intervals import DateRange
from fanion.insights.entities import FIRST_MATCHING, Entity
from fanion.insights.sessions.source_sql import EVER
from fanion.insights.sql.compiler import Compiler

_ID: Final = "toUInt128(uuid)"

# A subquery on a cluster is computed once for all shards.
_IS_FIRST = """({event} AND {id} GLOBAL IN (
  SELECT earliest.2
    FROM (SELECT actor, min(first) AS earliest
            FROM ({found})
        GROUP BY actor)
   WHERE earliest.1 >= {start}))"""

# An actor with an event before the range has no first event in it, so ids are read only within the
# range: they compress badly, and reading them of all history took two thirds of the time.
_FOUND = """
  SELECT {who} AS who, min(tuple(timestamp, {id})) AS first
    FROM events
   WHERE {where} AND timestamp >= {start}
GROUP BY who
UNION ALL
  SELECT {who} AS who, tuple({start} - INTERVAL 1 MICROSECOND, toUInt128(0)) AS first
    FROM events
   WHERE {where} AND timestamp < {start}
GROUP BY who
"""


def is_event_of(compiler: Compiler, reach: DateRange, entity: Entity) -> str:
    """Return the condition for a row of `events` to be an event of a step.

    Args:
        reach: The range that is read.
    """
    event = compiler.entity(entity)
    if entity.first_time is None:
        return event
    start = compiler.bindings.time(reach.start)
    found = _FOUND.format(
        who=compiler.who(), id=_ID, where=_of_all_time(compiler, reach, entity), start=start
    )
    return _IS_FIRST.format(
        event=event,
        id=_ID,
        found=compiler.resolved(found, ["first"]),
        start=start,
    )


def _of_all_time(compiler: Compiler, reach: DateRange, entity: Entity) -> str:
    """Return the condition on the events of which the first counts."""
    conditions = [compiler.project, f"timestamp < {compiler.bindings.time(reach.end)}"]
    if entity.names is not None:
        conditions.append(f"event IN {compiler.bindings.texts(entity.names)}")
    if not compiler.context.scope.counts_persons:
        conditions.append(f"{compiler.who()} != ''")
    if entity.first_time == FIRST_MATCHING:
        compiler.sessions.widen(EVER)
        conditions.append(compiler.entity(entity))
        if compiler.context.scope.properties is not None:
            conditions.append(compiler.condition(compiler.context.scope.properties))
    return " AND ".join(conditions)
