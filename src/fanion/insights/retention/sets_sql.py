"""The rows in which each person began, and those in which they returned, as bits of two numbers.

Source: insights.md, sections 6 and 17.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from fanion.insights.dates.intervals import DateRange
from fanion.insights.retention.query import RetentionQuery
from fanion.insights.sql.breakdown import BreakdownSql, with_other_values
from fanion.insights.sql.compiler import Compiler, SqlContext
from fanion.properties.bindings import MICROSECOND, micros

# Grouped by stored person. An event is a target, a return, or both.
FOUND = """
  {named}
  SELECT {who} AS who{own}, {began} AS began, groupBitOr(if({is_return}, bit, 0)) AS returned
    FROM {events}
GROUP BY who{own}
"""

# Used if returning requires several events in an interval. Each event counts once.
FOUND_COUNTED = """
  {named}
  SELECT {who} AS who{own}, bit, {began} AS began, countIf({is_return}) AS events
    FROM {events}
GROUP BY who{own}, bit
"""

# Grouped by the current person.
SETS = """
  SELECT actor, {value}, {began} AS began, groupBitOr(returned) AS returned
    FROM ({valued})
GROUP BY actor, value
"""

SETS_COUNTED = """
  SELECT actor, value, {began} AS began, groupBitOr(if(number >= {least}, bit, 0)) AS returned
    FROM (SELECT actor, {value}, bit, {began_so_far} AS began, sum(events) AS number
            FROM ({valued})
        GROUP BY actor, value, bit)
GROUP BY actor, value
"""

# Used if persons have windows. The times of returns are in microseconds.
FOUND_TIMES = """
  {named}
  SELECT {who} AS who{own}, minOrNullIf(at, is_target AND at < {end}) AS earliest,
         groupArrayIf(at, {is_return}) AS times
    FROM {events}
GROUP BY who{own}
"""

# A return in the window n after the row b has the bit b + n, as one in the interval n has.
SETS_OF_WINDOWS = """
  SELECT actor, value, began,
         bitAnd(arrayReduce('groupBitOr', arrayMap(n -> bitShiftLeft(began, n), {came})), {rows})
         AS returned
    FROM (SELECT actor, {value}, {began} AS began, assumeNotNull(min(earliest)) AS first,
                 arrayFilter(n -> n < 64, arrayMap(at -> intDiv(at - first, {width}),
                             arrayFilter(at -> at >= first, groupArrayArray(times)))) AS windows
            FROM ({valued})
        GROUP BY actor, value)
"""

VALUED = """
  SELECT actor, {value} AS own_value, {shown} AS value, {columns}
    FROM ({resolved}) AS resolved
  {join}
"""

_LONG_AGO: Final = datetime(1900, 1, 2, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class RetentionRows:
    """The inputs to the statements of retention.

    Attributes:
        starts: The starts of the rows, in `span`.
    """

    context: SqlContext
    query: RetentionQuery
    span: DateRange
    starts: Sequence[datetime]

    @property
    def end(self) -> datetime:
        """Return the end of what is read: windows may end after the last row."""
        width, number = self.query.width, len(self.starts)
        if width is None:
            return self.span.end
        ends = (*self.starts[1:], self.span.end)
        return max(end + width * (number - row) for row, end in enumerate(ends))

    @property
    def limit(self) -> int:
        return self.query.breakdowns.limit if self.query.breakdowns else 1

    @property
    def cells(self) -> int:
        """Return how many pairs of rows the statement counts for one value of the breakdown."""
        return len(self.starts) * (len(self.starts) + 1) // 2

    def values_of(self, row: int) -> int:
        """Return how many values a row has; what lies in the future has none."""
        return self.query.values_of(row, len(self.starts))


def retention_sets(
    compiler: Compiler, retention: RetentionRows, values: Sequence[str] | None
) -> str:
    """Return a SELECT of rows (actor, value, began, returned)."""
    query = retention.query
    broken_down = BreakdownSql(compiler, query.breakdowns)
    own = broken_down.event_columns()
    rows, columns = _found(compiler, retention, own)
    parts = valued_rows(compiler, broken_down, rows, columns, values)
    if query.width is not None:
        return _sets_of_windows(compiler, retention, query.width, parts)
    is_first = query.type == "retention_first_time"
    return (SETS_COUNTED if query.occurrences > 1 else SETS).format(
        began=_first_bit(compiler, retention, "began") if is_first else "groupBitOr(began)",
        began_so_far="min(began)" if is_first else "groupBitOr(began)",
        least=query.occurrences,
        **parts,
    )


def valued_rows(
    compiler: Compiler,
    broken_down: BreakdownSql,
    rows: str,
    columns: Sequence[str],
    values: Sequence[str] | None,
) -> Mapping[str, str]:
    """Return a SELECT of rows with who is counted now as `actor`, and its expression of the value.

    Args:
        rows: A SELECT with the stored actor as `who`, the columns of the breakdown, and `columns`.
    """
    own = broken_down.event_columns()
    resolved = compiler.resolved(rows, [*own, *columns])
    if not broken_down.parts:
        return {"value": "'' AS value", "valued": resolved}
    valued = VALUED.format(
        value=broken_down.value(),
        shown=with_other_values(compiler, "own_value", values),
        columns=", ".join(columns),
        resolved=resolved,
        join=broken_down.joins(),
    )
    return {"value": "value", "valued": valued}


def _found(
    compiler: Compiler, retention: RetentionRows, own: Mapping[str, str]
) -> tuple[str, Sequence[str]]:
    """Return a SELECT of what each stored person did, and its columns beside `own`."""
    query, bind = retention.query, compiler.bindings
    is_first, is_counted = query.type == "retention_first_time", query.occurrences > 1
    start = bind.add(micros(retention.span.start), "Int64")
    named, events = read_events(compiler, retention, own, once=is_counted)
    parts = {
        "named": named,
        "who": compiler.who(),
        "own": "".join(f", {name}" for name in own),
        "is_return": f"is_returning AND at >= {start}" if is_first else "is_returning",
        "events": events,
    }
    if query.has_windows:
        end = bind.add(micros(retention.span.end), "Int64")
        return FOUND_TIMES.format(end=end, **parts), ["earliest", "times"]
    began = "minOrNullIf(at, is_target)" if is_first else "groupBitOr(if(is_target, bit, 0))"
    found = (FOUND_COUNTED if is_counted else FOUND).format(began=began, **parts)
    return found, ["began", *(["bit", "events"] if is_counted else ["returned"])]


def _sets_of_windows(
    compiler: Compiler, retention: RetentionRows, width: timedelta, parts: Mapping[str, str]
) -> str:
    least, came = retention.query.occurrences, "windows"
    if least > 1:
        came = f"arrayFilter(n -> countEqual(windows, n) >= {least}, arrayDistinct(windows))"
    return SETS_OF_WINDOWS.format(
        came=came,
        rows=compiler.bindings.add((1 << len(retention.starts)) - 1, "UInt64"),
        began=_first_bit(compiler, retention, "earliest"),
        width=compiler.bindings.add(width // MICROSECOND, "Int64"),
        **parts,
    )


def read_events(
    compiler: Compiler, retention: RetentionRows, own: Mapping[str, str], *, once: bool
) -> tuple[str, str]:
    """Return the named expressions computed from an event, and the FROM clause.

    Args:
        once: Whether an event counts once, however often it is stored.
    """
    columns = {
        **own,
        "at": "toUnixTimestamp64Micro(timestamp)",
        "bit": _bit(compiler, retention, "toUnixTimestamp64Micro(timestamp)"),
        "is_target": compiler.entity(retention.query.target),
        "is_returning": compiler.entity(retention.query.returning),
    }
    named = ",\n         ".join(f"{text} AS {name}" for name, text in columns.items())
    where, counted = _where(compiler, retention), compiler.once
    if not once:
        return f"WITH {named}", f"events\n   WHERE {where}"
    if counted.by_key:
        return f"WITH {named}", f"{counted.events}\n   WHERE {where}"
    rows = f"SELECT {compiler.who()}, {named}\n    FROM events\n   WHERE {where}{counted.limit}"
    return "", f"({rows})"


def _where(compiler: Compiler, retention: RetentionRows) -> str:
    """Return the condition on events; if first times count, target events of all time are read."""
    if retention.query.type != "retention_first_time":
        span = DateRange(retention.span.start, retention.end)
        return compiler.where(span, retention.query.entities)
    where = compiler.where(DateRange(_LONG_AGO, retention.end), retention.query.entities)
    start = compiler.bindings.time(retention.span.start)
    return f"{where}\n   AND (timestamp >= {start} OR {compiler.entity(retention.query.target)})"


def _first_bit(compiler: Compiler, retention: RetentionRows, earliest: str) -> str:
    """Return SQL for the bit of the row with the first time of a person, 0 if it is in none.

    Args:
        earliest: The column with the first times of stored persons.
    """
    start = compiler.bindings.add(micros(retention.span.start), "Int64")
    first = f"assumeNotNull(min({earliest}))"
    is_in = f"isNotNull(min({earliest})) AND {first} >= {start}"
    return f"if({is_in}, {_bit(compiler, retention, first)}, 0)"


def _bit(compiler: Compiler, retention: RetentionRows, at: str) -> str:
    """Return SQL for the bit of the row that a time lies in; the first row has the lowest bit."""
    bind = compiler.bindings
    starts = bind.add([micros(start) for start in retention.starts], "Array(Int64)")
    bits = bind.add([1 << index for index in range(len(retention.starts))], "Array(UInt64)")
    return f"transform(roundDown({at}, {starts}), {starts}, {bits}, toUInt64(0))"
