"""Event counts by interval, as one array per breakdown value.

Each event increments its position in the array, so rows are grouped only by value; grouping by
value and interval took twice as long. Arrays also use memory for intervals without events.

Source: insights.md, section 4.
"""

from collections.abc import Sequence
from typing import Final

from fanion.insights.sql.breakdown import with_other_values
from fanion.insights.sql.compiler import OTHER, Statement
from fanion.insights.trends.rows_sql import SeriesQuery, SeriesRows
from fanion.properties.bindings import micros

# With more intervals, arrays would often be mostly zeros.
INTERVALS_MAX: Final = 400

_COUNTS = """
  {named}
  SELECT {value} AS value, countResample(0, {intervals}, 1)(bucket) AS totals
    FROM {rows}
GROUP BY value
"""
_LARGEST = """
  SELECT value, {starts} AS buckets, totals, count() OVER () AS values
    FROM ({counts})
ORDER BY arraySum(totals) DESC, value
   LIMIT {limit}
"""
# Values beyond the largest are added up in one extra row.
_RANKED = """
  SELECT if(place <= {limit}, value, {other}) AS shown, {starts}, sumForEach(totals),
         sum(count()) OVER () AS values
    FROM (SELECT value, totals, arraySum(totals) AS weight,
                 row_number() OVER (ORDER BY weight DESC, value) AS place
            FROM ({counts}))
GROUP BY shown
ORDER BY sum(weight) DESC, shown
"""


def has_few_intervals(query: SeriesQuery) -> bool:
    return len(query.starts) <= INTERVALS_MAX


class Counts(SeriesRows):
    """The events of a series, whose breakdown must not be by persons."""

    def largest(self, values: Sequence[str] | None, limit: int) -> Statement:
        """Return the statement for rows (value, intervals, counts, all values), largest first.

        Args:
            values: The values that get their own rows, others become OTHER; None for all values.
        """
        text = _LARGEST.format(starts=self._starts(), counts=self._counts(values), limit=limit)
        return self.compiler.statement(text)

    def ranked(self) -> Statement:
        """Return the statement of `largest`, with all but the largest values merged into OTHER."""
        text = _RANKED.format(
            limit=self.query.limit,
            other=self.compiler.bindings.text(OTHER),
            starts=self._starts(),
            counts=self._counts(None),
        )
        return self.compiler.statement(text)

    def _counts(self, values: Sequence[str] | None) -> str:
        columns = {"bucket": self._place(), **self.columns(actor=False, bucket=False)}
        own, named = self.values.value(), self._named(columns)
        rows = f"{self.compiler.once.events}\n   WHERE {self.where()}"
        if not self.compiler.once.by_key:
            rows, named = f"({self.rows(columns, self.where(), once=True)})", ""
        return _COUNTS.format(
            named=named,
            value=with_other_values(self.compiler, own, values),
            intervals=max(len(self.query.starts), 1),
            rows=rows,
        )

    def _named(self, columns: dict[str, str]) -> str:
        return "WITH " + ", ".join(f"{text} AS {name}" for name, text in columns.items())

    def _starts(self) -> str:
        starts = [micros(start) for start in self.query.starts] or [0]
        return self.compiler.bindings.add(starts, "Array(Int64)")

    def _place(self) -> str:
        """Return SQL for the zero-based index of a row's interval."""
        if not self.query.starts:
            return "0"
        starts, count = self._starts(), len(self.query.starts)
        return f"transform({self.compiler.bucket(self.query.starts)}, {starts}, range({count}), 0)"
