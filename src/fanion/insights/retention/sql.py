"""The statements of retention.

Each person has two sets of rows, as the bits of two numbers: rows in which it began, and rows in
which it came back. Persons with the same sets are counted together, then pairs of both.

Source: insights.md, sections 6 and 17.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from fanion.insights.retention.sets_sql import RetentionRows, retention_sets
from fanion.insights.sql.compiler import Compiler, Statement

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
# The same with brackets: places has the bracket of each interval after the first, firsts the first
# interval of each bracket.
_BRACKETS: Final = (
    "arrayDistinct(arrayMap(r -> (b, {places}[r - b]), "
    "arrayFilter(r -> r > b AND r - b <= length({places}), returns)))"
)
_BRACKETS_CUMULATIVE: Final = (
    "arrayMap(k -> (b, toInt64(k)), "
    "range(1, arrayCount(first -> first <= arrayMax(returns) - b, {firsts}) + 1))"
)


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
    sets = retention_sets(compiler, retention, None)
    return compiler.statement(LARGEST.format(sets=sets, limit=retention.limit))


def retention_statement(retention: RetentionRows, values: Sequence[str] | None) -> Statement:
    """Return the statement of rows (value, row from 1, rows later, persons).

    Args:
        values: The values of the breakdown with their own rows, while all others are OTHER. None
            for all values, with one row more than those that are shown can have.
    """
    compiler = Compiler(retention.context)
    sets = retention_sets(compiler, retention, values)
    text = PAIRS.format(ahead=_ahead(compiler, retention), sets=sets)
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
    return compiler.statement(
        APPEARANCES.format(
            appearances=_appearances(compiler, retention, place.row, row),
            sets=retention_sets(compiler, retention, values),
            chosen=chosen,
            seen=f"appearances[{ahead}] = 1",
        )
    )


def _ahead(compiler: Compiler, retention: RetentionRows) -> str:
    query = retention.query
    if not query.sizes:
        return _AHEAD_CUMULATIVE if query.cumulative else _AHEAD
    if query.cumulative:
        firsts = [bracket.first for bracket in query.brackets]
        return _BRACKETS_CUMULATIVE.format(firsts=compiler.bindings.add(firsts, "Array(Int64)"))
    places = [place for place, size in enumerate(query.sizes, 1) for _ in range(size)]
    return _BRACKETS.format(places=compiler.bindings.add(places, "Array(Int64)"))


def _appearances(compiler: Compiler, retention: RetentionRows, row: int, bound_row: str) -> str:
    """Return SQL for a list with 0 or 1 for each value of a row."""
    values, query = retention.values_of(row), retention.query
    if query.sizes:
        return _appearances_in_brackets(compiler, retention, values, bound_row)
    later = f"bitTest(returned, {bound_row} + k)"
    if query.cumulative:
        later = f"bitShiftRight(returned, {bound_row} + k) != 0"
    return f"arrayMap(k -> toUInt8(k = 0 OR {later}), range({values}))"


def _appearances_in_brackets(
    compiler: Compiler, retention: RetentionRows, values: int, bound_row: str
) -> str:
    brackets, bind = retention.query.brackets[: values - 1], compiler.bindings
    firsts = bind.add([bracket.first for bracket in brackets], "Array(UInt64)")
    bits = [
        2**64 - 1 if retention.query.cumulative else (1 << bracket.last - bracket.first + 1) - 1
        for bracket in brackets
    ]
    later = f"bitAnd(bitShiftRight(returned, {bound_row} + first), bits) != 0"
    return (
        f"arrayPushFront(arrayMap((first, bits) -> toUInt8({later}), "
        f"{firsts}, {bind.add(bits, 'Array(UInt64)')}), toUInt8(1))"
    )
