"""The statements of retention.

Each person has two sets of rows, as the bits of two numbers: rows in which it began, and rows in
which it came back. Persons with the same sets are counted together, then pairs of both.

Source: insights.md, sections 6 and 17.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from fanion.insights.dates.intervals import DateRange
from fanion.insights.retention.query import RetentionQuery
from fanion.insights.sql.breakdown import BreakdownSql, with_other_values
from fanion.insights.sql.compiler import Compiler, SqlContext, Statement
from fanion.properties.bindings import micros

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

VALUED = """
  SELECT actor, {value} AS own_value, {shown} AS value, {columns}
    FROM ({resolved}) AS resolved
  {join}
"""

PAIRS = """
  SELECT value, pair.1 + 1 AS row, pair.2 AS ahead, sum(persons) AS total
    FROM (SELECT value, persons, arrayMap(b -> toInt64(b), bitPositionsToArray(began)) AS begins,
                 arrayMap(r -> toInt64(r), bitPositionsToArray(returned)) AS returns,
                 arrayConcat(arrayMap(b -> (b, toInt64(0)), begins),
                             arrayFlatten(arrayMap(b -> {ahead}, begins))) AS pairs
            FROM (SELECT value, began, returned, count() AS persons
                    FROM ({sets})
                   WHERE began != 0
                GROUP BY value, began, returned))
         ARRAY JOIN pairs AS pair
GROUP BY value, row, ahead
"""

LARGEST = """
  SELECT value, count() OVER () AS values
    FROM ({sets})
   WHERE began != 0
GROUP BY value
ORDER BY sum(bitCount(began)) DESC, value
   LIMIT {limit}
"""

APPEARANCES = """
  SELECT actor, appearances
    FROM (SELECT actor, {appearances} AS appearances
            FROM ({sets})
           WHERE {chosen})
   WHERE {seen}
ORDER BY arraySum(appearances) DESC, actor
"""

# The pairs (row, rows later) of a person that began in `b`.
_AHEAD: Final = "arrayMap(r -> (b, r - b), arrayFilter(r -> r > b, returns))"
_AHEAD_CUMULATIVE: Final = (
    "arrayMap(k -> (b, toInt64(k)), range(1, toUInt64(greatest(0, arrayMax(returns) - b) + 1)))"
)
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
    def limit(self) -> int:
        return self.query.breakdowns.limit if self.query.breakdowns else 1

    @property
    def cells(self) -> int:
        """Return how many pairs of rows the statement counts for one value of the breakdown."""
        return len(self.starts) * (len(self.starts) + 1) // 2

    def values_of(self, row: int) -> int:
        """Return how many values a row has; what lies in the future has none."""
        return min(len(self.starts) - row, self.query.total_intervals)


@dataclass(frozen=True, slots=True)
class RetentionPlace:
    """The place of a number in the answer to a question of retention.

    Attributes:
        row: From 0.
        ahead: The index of the value in the row, from 0; None for the whole row.
        value: The value of the breakdown, a tuple for several properties; None for all.
    """

    row: int
    ahead: int | None = None
    value: str | tuple[str, ...] | None = None


def largest_values(retention: RetentionRows) -> Statement:
    """Return the statement of the values of the breakdown with the most persons, largest first.

    Rows: value; how many values there are.
    """
    compiler = Compiler(retention.context)
    sets = _sets(compiler, retention, None)
    return compiler.statement(LARGEST.format(sets=sets, limit=retention.limit))


def retention_statement(retention: RetentionRows, values: Sequence[str] | None) -> Statement:
    """Return the statement of rows (value, row from 1, rows later, persons).

    Args:
        values: The values of the breakdown with their own rows, while all others are OTHER. None
            for all values, with one row more than those that are shown can have.
    """
    compiler = Compiler(retention.context)
    ahead = _AHEAD_CUMULATIVE if retention.query.cumulative else _AHEAD
    text = PAIRS.format(ahead=ahead, sets=_sets(compiler, retention, values))
    if values is None:
        text += f"   LIMIT {retention.limit * retention.cells + 1}\n"
    return compiler.statement(text)


def actors_statement(
    retention: RetentionRows, place: RetentionPlace, values: Sequence[str] | None
) -> Statement:
    """Return the statement of rows (actor, a list of 0 or 1 for each value of the row)."""
    compiler = Compiler(retention.context)
    row = compiler.bindings.add(place.row, "UInt64")
    chosen = f"bitTest(began, {row})"
    if isinstance(place.value, str):
        chosen += f" AND value = {compiler.bindings.text(place.value)}"
    elif place.value is not None:
        chosen += f" AND value = toJSONString({compiler.bindings.texts(place.value)})"
    ahead = "1" if place.ahead is None else compiler.bindings.add(place.ahead + 1, "Int64")
    later = f"bitTest(returned, {row} + k)"
    if retention.query.cumulative:
        later = f"bitShiftRight(returned, {row} + k) != 0"
    return compiler.statement(
        APPEARANCES.format(
            appearances=f"arrayMap(k -> toUInt8(k = 0 OR {later}), "
            f"range({retention.values_of(place.row)}))",
            sets=_sets(compiler, retention, values),
            chosen=chosen,
            seen=f"appearances[{ahead}] = 1",
        )
    )


def _sets(compiler: Compiler, retention: RetentionRows, values: Sequence[str] | None) -> str:
    query, bind = retention.query, compiler.bindings
    broken_down = BreakdownSql(compiler, query.breakdowns)
    own = broken_down.event_columns()
    is_first, is_counted = query.type == "retention_first_time", query.occurrences > 1
    start = bind.add(micros(retention.span.start), "Int64")
    named, events = _events(compiler, retention, own)
    rows = (FOUND_COUNTED if is_counted else FOUND).format(
        named=named,
        who=compiler.who(),
        own="".join(f", {name}" for name in own),
        began="minOrNullIf(at, is_target)" if is_first else "groupBitOr(if(is_target, bit, 0))",
        is_return=f"is_returning AND at >= {start}" if is_first else "is_returning",
        events=events,
    )
    columns = ["began", *(["bit", "events"] if is_counted else ["returned"])]
    resolved = compiler.resolved(rows, [*own, *columns])
    valued = VALUED.format(
        value=broken_down.value(),
        shown=with_other_values(compiler, "own_value", values),
        columns=", ".join(columns),
        resolved=resolved,
        join=broken_down.joins(),
    )
    return (SETS_COUNTED if is_counted else SETS).format(
        began=_first_bit(compiler, retention) if is_first else "groupBitOr(began)",
        began_so_far="min(began)" if is_first else "groupBitOr(began)",
        least=query.occurrences,
        value="'' AS value" if query.breakdowns is None else "value",
        valued=resolved if query.breakdowns is None else valued,
    )


def _events(
    compiler: Compiler, retention: RetentionRows, own: Mapping[str, str]
) -> tuple[str, str]:
    """Return the named expressions computed from an event, and the FROM clause."""
    columns = {
        **own,
        "at": "toUnixTimestamp64Micro(timestamp)",
        "bit": _bit(compiler, retention, "toUnixTimestamp64Micro(timestamp)"),
        "is_target": compiler.entity(retention.query.target),
        "is_returning": compiler.entity(retention.query.returning),
    }
    named = ",\n         ".join(f"{text} AS {name}" for name, text in columns.items())
    where, once = _where(compiler, retention), compiler.once
    if retention.query.occurrences == 1:
        return f"WITH {named}", f"events\n   WHERE {where}"
    if once.by_key:
        return f"WITH {named}", f"{once.events}\n   WHERE {where}"
    rows = f"SELECT {compiler.who()}, {named}\n    FROM events\n   WHERE {where}{once.limit}"
    return "", f"({rows})"


def _where(compiler: Compiler, retention: RetentionRows) -> str:
    """Return the condition on events; if first times count, target events of all time are read."""
    if retention.query.type != "retention_first_time":
        return compiler.where(retention.span, retention.query.entities)
    where = compiler.where(DateRange(_LONG_AGO, retention.span.end), retention.query.entities)
    start = compiler.bindings.time(retention.span.start)
    return f"{where}\n   AND (timestamp >= {start} OR {compiler.entity(retention.query.target)})"


def _first_bit(compiler: Compiler, retention: RetentionRows) -> str:
    start = compiler.bindings.add(micros(retention.span.start), "Int64")
    first = "assumeNotNull(min(began))"
    is_in = f"isNotNull(min(began)) AND {first} >= {start}"
    return f"if({is_in}, {_bit(compiler, retention, first)}, 0)"


def _bit(compiler: Compiler, retention: RetentionRows, at: str) -> str:
    """Return SQL for the bit of the row that a time lies in; the first row has the lowest bit."""
    bind = compiler.bindings
    starts = bind.add([micros(start) for start in retention.starts], "Array(Int64)")
    bits = bind.add([1 << index for index in range(len(retention.starts))], "Array(UInt64)")
    return f"transform(roundDown({at}, {starts}), {starts}, {bits}, toUInt64(0))"
