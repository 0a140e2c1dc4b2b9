"""The statements of a life cycle.

Intervals are numbered, and the one before the range is 1. Each actor has the set of intervals in
which it was active, and the interval in which it was created.

Source: insights.md, sections 8 and 17.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from fanion.insights.dates.intervals import DateRange
from fanion.insights.lifecycle.query import STATUSES, LifecycleQuery, Status
from fanion.insights.sql.compiler import Compiler, SqlContext, Statement
from fanion.properties.bindings import micros

FOUND = """
  SELECT who, groupUniqArray(number) AS numbers
    FROM (SELECT {who} AS who, {number} AS number
            FROM events
           WHERE {where}
             AND (timestamp < {first} OR timestamp >= {start}))
GROUP BY who
"""

ACTIVE = """
  SELECT actor, arraySort(groupUniqArrayArray(numbers)) AS active
    FROM ({resolved})
GROUP BY actor
"""

# An actor without a time of creation begins with the first event that is read.
WITHOUT_CREATION = """
  SELECT actor, active, arrayMin(active) AS created
    FROM ({active})
"""

# A person may have been active before it was created, as a visitor without a profile.
WITH_CREATION = """
  SELECT actor, active,
         if(is_known = 0, arrayMin(active), least(arrayMin(active), {number})) AS created
    FROM ({active}) AS active
    LEFT ANY JOIN (SELECT person_id, created_at, 1 AS is_known
                     FROM persons FINAL
                    WHERE {project}) AS persons ON persons.person_id = active.actor
"""

# Gives a status to each interval in which an actor is active, and to the one after it. Lambdas name
# no array of the row, since it would be copied for each element.
BY_STATUS = """
  SELECT number, status, count() AS actors
    FROM (SELECT arrayConcat(
                   arrayMap((n, since) -> (n, multiIf(n = created, 1, since = 1, 2, 3)),
                            active, arrayDifference(active)),
                   arrayMap((n, next) -> (if(next = n + 1, 0, n + 1), 4),
                            active, arrayPushBack(arrayPopFront(active), 0))
                 ) AS found
            FROM ({created}))
         ARRAY JOIN found.1 AS number, found.2 AS status
   WHERE number > 1 AND number <= {last}
GROUP BY number, status
"""

ACTORS = """
  SELECT actor, 1 AS value
    FROM ({created})
   WHERE {status}
ORDER BY actor
"""

_TESTS: Final[dict[Status, str]] = {
    "new": "has(active, {n}) AND created = {n}",
    "returning": "has(active, {n}) AND created != {n} AND has(active, {n} - 1)",
    "resurrecting": "has(active, {n}) AND created != {n} AND NOT has(active, {n} - 1)",
    "dormant": "NOT has(active, {n}) AND has(active, {n} - 1)",
}


@dataclass(frozen=True, slots=True)
class LifecycleIntervals:
    """The inputs to the statements of a life cycle.

    Attributes:
        before: The start of the interval before the range.
        starts: The starts of the intervals in the range.
    """

    context: SqlContext
    query: LifecycleQuery
    span: DateRange
    before: datetime
    starts: Sequence[datetime]


def lifecycle_statement(lifecycle: LifecycleIntervals) -> Statement:
    """Return the statement of rows (interval from 0, status, actors)."""
    compiler = Compiler(lifecycle.context)
    last = compiler.bindings.add(len(lifecycle.starts) + 1, "Int64")
    counted = BY_STATUS.format(created=_created(compiler, lifecycle), last=last)
    names = compiler.bindings.texts(STATUSES)
    return compiler.statement(f"SELECT number - 2, {names}[status], actors\n  FROM ({counted})")


def actors_statement(lifecycle: LifecycleIntervals, index: int, status: Status) -> Statement:
    """Return the statement of rows (actor, 1).

    Args:
        index: The number of the interval, from 0.
    """
    compiler = Compiler(lifecycle.context)
    number = compiler.bindings.add(index + 2, "Int64")
    test = _TESTS[status].format(n=number)
    return compiler.statement(ACTORS.format(created=_created(compiler, lifecycle), status=test))


def _created(compiler: Compiler, lifecycle: LifecycleIntervals) -> str:
    bind = compiler.bindings
    rows = FOUND.format(
        who=compiler.who(),
        number=_number(compiler, lifecycle, "timestamp"),
        where=compiler.where(
            DateRange(lifecycle.before, lifecycle.span.end), [lifecycle.query.entity]
        ),
        first=bind.time(lifecycle.starts[0]),
        start=bind.time(lifecycle.span.start),
    )
    active = ACTIVE.format(resolved=compiler.resolved(rows, ["numbers"]))
    if lifecycle.context.scope.group_type_index is not None:
        return WITHOUT_CREATION.format(active=active)
    number = f"if(created_at < {bind.time(lifecycle.before)}, 0, {_number(compiler, lifecycle)})"
    return WITH_CREATION.format(active=active, number=number, project=compiler.project)


def _number(compiler: Compiler, lifecycle: LifecycleIntervals, time: str = "created_at") -> str:
    """Return SQL for the number of a time's interval, from 1; the time must not precede all."""
    starts = [micros(start) for start in (lifecycle.before, *lifecycle.starts)]
    bound = compiler.bindings.add(starts, "Array(Int64)")
    return f"toInt64(indexOf({bound}, roundDown(toUnixTimestamp64Micro({time}), {bound})))"
