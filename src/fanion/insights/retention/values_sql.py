"""The statement of retention of a value: the sum of a property of the events of who came back.

Source: insights.md, section 6.
"""

from collections.abc import Sequence
from typing import Final

from fanion.insights.retention.sets_sql import RetentionRows, read_events, valued_rows
from fanion.insights.sql.breakdown import BreakdownSql
from fanion.insights.sql.compiler import Compiler, Statement
from fanion.properties.bindings import MICROSECOND, micros

# Grouped by stored person. Each event counts once. Times are in microseconds.
FOUND = """
  {named}
  SELECT {who} AS who{own}, {targets} AS targets,
         groupArrayIf((at, assumeNotNull(number)), {is_return} AND isNotNull(number)) AS returns
    FROM {events}
GROUP BY who{own}
"""

# begins: the row and time of the first event in each row in which the person began.
BEGINS = """
  SELECT value, returns, arraySort(targets) AS times,
         arrayMap(at -> {row_of_at}, times) AS places,
         arrayFilter((begin, place, before) -> place >= 0 AND place != before,
                     arrayZip(places, times), places,
                     arrayPopBack(arrayPushFront(places, toInt64(-1)))) AS begins
    FROM (SELECT actor, {value}, {times} AS targets,
                 groupArrayArray(returns) AS returns
            FROM ({valued})
        GROUP BY actor, value)
"""

SUMS = """
  SELECT value, begin.1 + 1 AS row, {place} AS ahead, sum(came.2) AS total
    FROM (SELECT value, begin, came, {intervals} AS intervals
            FROM (SELECT value, returns, begin
                    FROM ({begins})
                   ARRAY JOIN begins AS begin)
           ARRAY JOIN returns AS came
           WHERE came.1 >= begin.2)
   WHERE intervals >= 0 AND begin.1 + intervals < {rows} AND {is_in}
GROUP BY value, row, ahead
"""

_ALL_TARGETS: Final = "groupArrayIf(at, is_target)"
_FIRST_TARGET: Final = (
    "if(countIf(is_target AND at < {end}) = 0, emptyArrayInt64(), "
    "[minIf(at, is_target AND at < {end})])"
)


def sums_statement(retention: RetentionRows, values: Sequence[str] | None) -> Statement:
    """Return the statement of rows (value, row from 1, index of the value, sum).

    Args:
        values: As in `retention_statement`.
    """
    compiler = Compiler(retention.context)
    bind, query, number = compiler.bindings, retention.query, len(retention.starts)
    place, is_in = "intervals", "1"
    if query.sizes:
        places = [at for at, size in enumerate(query.sizes, 1) for _ in range(size)]
        bound = bind.add([0, *places], "Array(Int64)")
        place, is_in = f"{bound}[intervals + 1]", f"intervals < length({bound})"
    intervals = f"({_row_of(compiler, retention, 'came.1')}) - begin.1"
    if query.width is not None:
        width = bind.add(query.width // MICROSECOND, "Int64")
        intervals = f"intDiv(came.1 - begin.2, {width})"
    return compiler.statement(
        SUMS.format(
            begins=_begins(compiler, retention, values),
            place=place,
            is_in=is_in,
            intervals=intervals,
            rows=bind.add(number, "Int64"),
        )
    )


def _begins(compiler: Compiler, retention: RetentionRows, values: Sequence[str] | None) -> str:
    query, bind = retention.query, compiler.bindings
    assert query.aggregated is not None  # checked when the question was read
    broken_down = BreakdownSql(compiler, query.breakdowns)
    own = broken_down.event_columns()
    columns = {**own, "number": compiler.number(query.aggregated)}
    named, events = read_events(compiler, retention, columns, once=True)
    start, end = (
        bind.add(micros(moment), "Int64") for moment in (retention.span.start, retention.span.end)
    )
    is_once = query.has_windows or query.type == "retention_first_time"
    found = FOUND.format(
        named=named,
        who=compiler.who(),
        own="".join(f", {name}" for name in own),
        targets=(_FIRST_TARGET if is_once else _ALL_TARGETS).format(end=end),
        is_return=f"is_returning AND at >= {start}",
        events=events,
    )
    parts = valued_rows(compiler, broken_down, found, ["targets", "returns"], values)
    times = "groupArrayArray(targets)"
    if is_once:
        times = f"arraySlice(arraySort({times}), 1, 1)"
    return BEGINS.format(times=times, row_of_at=_row_of(compiler, retention, "at"), **parts)


def _row_of(compiler: Compiler, retention: RetentionRows, at: str) -> str:
    """Return SQL for the index of the row that a time lies in or after, -1 before the first."""
    bind = compiler.bindings
    starts = bind.add([micros(start) for start in retention.starts], "Array(Int64)")
    rows = bind.add(list(range(len(retention.starts))), "Array(Int64)")
    first = bind.add(micros(retention.starts[0]), "Int64")
    row = f"transform(roundDown({at}, {starts}), {starts}, {rows}, toInt64(-1))"
    return f"if({at} < {first}, toInt64(-1), {row})"
