"""The statement of what correlates with reaching the last step of a funnel.

Each actor has a window: from the first step of its best try to the last step, or to the end of the
funnel's window. What the actor did in it comes from a separate part of a UNION, so that the table
of events is on neither side of a join.

Source: insights.md, section 5i.
"""

from dataclasses import dataclass, replace
from typing import Final

from fanion.insights.entities import Entity
from fanion.insights.funnels.actor_tries_sql import tries_of_actors
from fanion.insights.funnels.elements_sql import FunnelSql
from fanion.insights.funnels.query import FunnelCorrelationQuery
from fanion.insights.funnels.tries_sql import window_end
from fanion.insights.sql.compiler import Compiler, Statement
from fanion.properties.bindings import micros

SIDE_MAX: Final = 10

_WINDOWS = """
  SELECT actor, level, best.2 AS entered, if(level = {size}, best.{last}, {end}) AS ended
    FROM (SELECT actor, arrayMax(arrayMap(try -> try.1, tries)) AS level,
                 arrayFirst(try -> try.1 = level, tries) AS best
            FROM ({tries})
           WHERE notEmpty(tries))
"""

_DONE = """
  SELECT actor, level,
         arrayDistinct(arrayFlatten(arrayMap(one -> one.2,
             arrayFilter(one -> one.1 > entered AND one.1 < ended, others)))) AS names
    FROM (SELECT actor, max(of_window.1) AS level, max(of_window.2) AS entered,
                 max(of_window.3) AS ended, groupArrayArray(done) AS others
            FROM (SELECT actor, (toUInt64(level), entered, ended) AS of_window,
                         CAST([], 'Array(Tuple(UInt64, Array(String)))') AS done
                    FROM ({windows})
                   UNION ALL
                  SELECT actor, (toUInt64(0), toUInt64(0), toUInt64(0)) AS of_window, done
                    FROM ({others}))
        GROUP BY actor)
   WHERE level > 0
"""

_OTHERS = """
  SELECT who, groupArray((at, names)) AS done
    FROM (SELECT {who} AS who,
                 toUInt64(toUnixTimestamp64Micro(timestamp) - {start} + 1) AS at,
                 {names} AS names
            FROM events
           WHERE {where})
GROUP BY who
"""

# An inner join would name the same persons. In engine 26.9 it filters rows of events early, which
# are then remembered as excluded by the other conditions: later statements did not find them.
_HELD = """
  SELECT actor, level, held.names AS names
    FROM ({windows}) AS found
    LEFT JOIN (SELECT person_id, {names} AS names FROM persons FINAL WHERE {project}) AS held
      ON held.person_id = found.actor
"""

_CORRELATED = """
  SELECT name, success, failure, odds
    FROM (SELECT name, countIf(level = {size}) AS success, countIf(level < {size}) AS failure,
                 ((success + 1) * ({failures} - failure + 1))
                   / ((failure + 1) * ({successes} - success + 1)) AS odds
            FROM (SELECT level, arrayJoin(names) AS name FROM ({named}))
        GROUP BY name)
ORDER BY odds > 1 DESC, abs(log(odds)) DESC, name
   LIMIT {most} BY odds > 1
"""

_ACTORS = """
  SELECT actor, toUInt64(level) AS reached
    FROM ({named})
   WHERE has(names, {name})
     AND {side}
ORDER BY reached DESC, actor
"""


@dataclass(frozen=True, slots=True)
class CorrelationSql:
    """The inputs to the statements of a correlation.

    Attributes:
        funnel: The funnel.
    """

    funnel: FunnelSql
    query: FunnelCorrelationQuery


def correlated(correlation: CorrelationSql, successes: int, failures: int) -> Statement:
    """Return the statement of rows (name, successes with it, failures with it, odds).

    Names that correlate with success come first; on each side the most telling come first.

    Args:
        successes: The number of actors that reached the last step.
        failures: The number of actors that entered and did not reach it.
    """
    compiler = Compiler(correlation.funnel.context)
    return compiler.statement(
        _CORRELATED.format(
            size=len(correlation.funnel.query.steps),
            successes=compiler.bindings.add(successes, "Int64"),
            failures=compiler.bindings.add(failures, "Int64"),
            named=_named(compiler, correlation),
            most=SIDE_MAX,
        )
    )


def correlated_actors(correlation: CorrelationSql, name: str, *, converted: bool) -> Statement:
    """Return the statement of rows (actor, steps reached), for actors with a name of the answer."""
    compiler = Compiler(correlation.funnel.context)
    size = len(correlation.funnel.query.steps)
    return compiler.statement(
        _ACTORS.format(
            named=_named(compiler, correlation),
            name=compiler.bindings.text(name),
            side=f"level = {size}" if converted else f"level < {size}",
        )
    )


def _named(compiler: Compiler, correlation: CorrelationSql) -> str:
    """Return rows (actor, level, the names that it has)."""
    windows = _windows(compiler, correlation.funnel)
    if correlation.query.type == "properties":
        names = _pairs(compiler, correlation.query.names, correlation.query.exclude_names)
        return _HELD.format(windows=windows, names=names, project=compiler.project)
    others = compiler.resolved(_others(compiler, correlation), ["done"])
    return _DONE.format(windows=windows, others=others)


def _windows(compiler: Compiler, funnel: FunnelSql) -> str:
    size = len(funnel.query.steps)
    return _WINDOWS.format(
        size=size,
        last=size + 1,
        end=window_end(compiler, funnel, "best.2"),
        tries=tries_of_actors(compiler, funnel),
    )


def _others(compiler: Compiler, correlation: CorrelationSql) -> str:
    """Return the events of the actors, whatever the conditions of the funnel are."""
    query = correlation.query
    free = Compiler(replace(compiler.context, scope=replace(query.scope, properties=None)))
    # Both compilers write one statement.
    free.bindings, free.project = compiler.bindings, compiler.project
    where = free.where(correlation.funnel.reach, _events(query))
    names = "[toString(event)]"
    if query.type == "events":
        own = [name for step in query.funnel.steps for name in step.names or ()]
        left_out = compiler.bindings.texts([*own, *query.exclude_event_names])
        where += f"\n   AND event NOT IN {left_out}"
    else:
        pairs = _pairs(compiler, (), query.exclude_property_names)
        names = f"arrayMap(pair -> concat(event, '::', pair), {pairs})"
    return _OTHERS.format(
        who=compiler.who(),
        start=compiler.bindings.add(micros(correlation.funnel.span.start), "Int64"),
        names=names,
        where=where,
    )


def _events(query: FunnelCorrelationQuery) -> list[Entity] | None:
    if query.type == "events":
        return None
    left_out = query.exclude_event_names
    return [Entity(name) for name in query.event_names if name not in left_out]


def _pairs(compiler: Compiler, names: tuple[str, ...], left_out: tuple[str, ...]) -> str:
    """Return SQL for `name::value` of each property of a row that has a value."""
    text = "if(startsWith(pair.2, '\"'), JSONExtractString(concat('[', pair.2, ']'), 1), pair.2)"
    tests = ["pair.2 NOT IN ('null', '\"\"')"]
    if names:
        tests.append(f"pair.1 IN {compiler.bindings.texts(names)}")
    if left_out:
        tests.append(f"pair.1 NOT IN {compiler.bindings.texts(left_out)}")
    kept = f"arrayFilter(pair -> {' AND '.join(tests)}, JSONExtractKeysAndValuesRaw(properties))"
    return f"arrayMap(pair -> concat(pair.1, '::', {text}), {kept})"
