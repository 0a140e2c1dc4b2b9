"""The statements of the numbers of trends.

A trend goes from rows of `events` to rows (interval, value, number).

The steps are the same for every math: the rows of the series, with the values of its breakdown, are
aggregated by interval and value. A person that is counted in many intervals stays one row, with the
array of its intervals.

Source: insights.md, sections 4, 13 and 17; cohorts.md, section 23.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from fanion.insights.entities import SqlText
from fanion.insights.sql.breakdown import with_other_values
from fanion.insights.sql.compiler import OTHER, Statement
from fanion.insights.trends.counts_sql import Counts, has_few_intervals
from fanion.insights.trends.maths import Aggregate
from fanion.insights.trends.rows_sql import SeriesQuery, SeriesRows
from fanion.properties.bindings import micros

_Value = Callable[[str, Sequence[str]], str]
_AGGREGATES: Final[Mapping[Aggregate, str]] = {
    "avg": "avg",
    "sum": "sum",
    "min": "min",
    "max": "max",
    "median": "quantileExactInclusive(0.5)",
    "p25": "quantileExactInclusive(0.25)",
    "p75": "quantileExactInclusive(0.75)",
    "p90": "quantileExactInclusive(0.9)",
    "p95": "quantileExactInclusive(0.95)",
    "p99": "quantileExactInclusive(0.99)",
}

# The largest values of a breakdown, with all their numbers.
LARGEST = """
  SELECT value, groupArray(bucket) AS buckets, groupArray(toFloat64(total)) AS totals,
         count() OVER () AS values
    FROM ({trend})
GROUP BY value
ORDER BY sum({weight}) DESC, value
   LIMIT {limit}
"""

# The same, with all values beyond the largest as one more. It reads the events once, and is right
# where the numbers of values can be added up.
RANKED = """
  SELECT shown, numbers.1 AS buckets, numbers.2 AS totals, sum(values) OVER () AS values
    FROM (SELECT if(place <= {limit}, value, {other}) AS shown, sum(weight) AS weight,
                 sumMap(at, ns) AS numbers, count() AS values
            FROM (SELECT *, row_number() OVER (ORDER BY weight DESC, value) AS place
                    FROM (SELECT value, groupArray(bucket) AS at,
                                 groupArray(toFloat64(total)) AS ns, sum(total) AS weight
                            FROM ({trend})
                        GROUP BY value))
        GROUP BY shown)
ORDER BY weight DESC, shown
"""

COUNTED = """
  SELECT bucket, value, {total} AS total
    FROM ({valued})
GROUP BY bucket, value
"""

SUM_OF_ACTORS = """
  SELECT bucket, value, counted, sum(each.{number}) AS number
    FROM ({rows}) AS each
GROUP BY bucket, value, counted
"""

FIRST_BUCKET = """
  SELECT value, counted, min(each.bucket) AS bucket
    FROM ({rows}) AS each
GROUP BY value, counted
"""

# The persons of each interval, in memory together.
SETS = """
  SELECT {names}, arrayJoin(counted) AS {counted}
    FROM (SELECT {names}, groupUniqArray({counted}) AS counted
            FROM ({rows})
        GROUP BY {names})
"""

# For persons that are counted once, or in some of several intervals, and in less memory.
ONE_BY_ONE = """
  SELECT one.1 AS bucket, value, sum(one.2) AS total
    FROM (SELECT value, arrayJoin({cells}) AS one
            FROM (SELECT value, counted, {buckets} AS days
                    FROM ({valued})
                GROUP BY value, counted))
GROUP BY bucket, value
"""


def trend_statement(
    query: SeriesQuery, values: Sequence[str] | None, most: int | None = None
) -> Statement:
    """Return the statement of rows (value, its intervals, their numbers), the largest value first.

    Each row ends with the number of all values.

    Intervals are in microseconds. With a window an interval is the number of a day, and its number
    is how many persons more are active from this day on.

    Args:
        values: The values of the breakdown with their own rows, while all others are OTHER. None
            for all values, with one row more than are shown.
        most: The number of rows, instead of one more than are shown.
    """
    limit = query.limit + 1 if most is None else most
    statement = _largest(_TrendSql(query, keeps_sets=False), values, limit)
    if _TrendSql(query).counts_together:
        return replace(Counts(query).largest(values, limit), smaller=statement)
    if not _TrendSql(query).keeps_sets:
        return statement
    return replace(_largest(_TrendSql(query), values, limit), smaller=statement)


def _largest(sql: "_TrendSql", values: Sequence[str] | None, limit: int) -> Statement:
    trend = sql.trend(values)
    weight = "total" if sql.query.window is None else sql.covered_days()
    return sql.compiler.statement(LARGEST.format(trend=trend, weight=weight, limit=limit))


def ranked_trend_statement(query: SeriesQuery) -> Statement:
    """Return the statement of `trend_statement` in which all but the largest values are OTHER.

    Args:
        query: A series whose math `is_summed`.
    """
    sql = _TrendSql(query)
    other = sql.compiler.bindings.text(OTHER)
    text = RANKED.format(trend=sql.trend(None), limit=query.limit, other=other)
    statement = sql.compiler.statement(text)
    return replace(Counts(query).ranked(), smaller=statement) if sql.counts_together else statement


class _TrendSql(SeriesRows):
    """The SQL of the numbers of a series.

    Args:
        keeps_sets: Whether the persons of an interval may be in memory together.

    Attributes:
        keeps_sets: Whether they are, which only some series gain from.
    """

    def __init__(self, query: SeriesQuery, *, keeps_sets: bool = True) -> None:
        super().__init__(query)
        counts_actors = self._builder() == self._of_actors
        is_plain = not query.once and query.window is None and not self.values.needs_person
        self.keeps_sets = keeps_sets and counts_actors and is_plain and bool(query.starts)

    @property
    def counts_together(self) -> bool:
        """Return whether the counts of all intervals fit in memory together, as in `Counts`."""
        is_total = self._builder() == self._total
        return (
            is_total
            and self.query.week is None
            and has_few_intervals(self.query)
            and not self.values.needs_person
        )

    def trend(self, values: Sequence[str] | None) -> str:
        build = self._builder()
        return build(lambda rows, more: self._shown(self.valued(rows, more), values))

    def _builder(self) -> Callable[[_Value], str]:
        math = self.math
        if math.hogql is not None:
            return self._of_sql
        if math.is_first_time:
            return self._first_time
        if math.is_per_actor:
            return self._per_actor
        if math.is_sum_per_actor:
            return self._sum_per_actor
        if math.of_sessions:
            return self._of_sessions
        if math.aggregate is not None:
            return self._of_property
        if math.word in ("unique_session", "unique_group"):
            return self._of_keys
        return self._total if math.word == "total" else self._of_actors

    def _shown(self, valued: str, values: Sequence[str] | None) -> str:
        if values is None:
            return valued
        shown = with_other_values(self.compiler, "value", values)
        return f"SELECT * REPLACE({shown} AS value) FROM ({valued})"

    def _total(self, valued: _Value) -> str:
        columns = self.columns(actor=False)
        rows = self.rows(columns, self.where(), once=True)
        grouped = self.resolved(self.grouped(rows, columns, "count() AS n"), [*columns, "n"])
        return COUNTED.format(total="sum(n)", valued=valued(grouped, ["bucket", "n"]))

    def _of_actors(self, valued: _Value) -> str:
        columns = self.columns(actor=True)
        if self.keeps_sets:
            return self._of_sets(valued, columns)
        buckets = "groupUniqArray(bucket) AS buckets"
        others = {name: text for name, text in columns.items() if name != "bucket"}
        rows = self.rows(columns, self.where(), once=False)
        grouped = self.grouped(rows, others, buckets)
        grouped = self.resolved(grouped, [*others, "buckets"])
        return ONE_BY_ONE.format(
            cells=self._cells(),
            buckets="groupUniqArrayArray(buckets)",
            valued=valued(grouped, ["buckets", f"{self.counted} AS counted"]),
        )

    def _of_sets(self, valued: _Value, columns: Mapping[str, str]) -> str:
        counted = "group_key" if self.by_group else "who"
        rows = SETS.format(
            names=", ".join(name for name in columns if name != counted),
            counted=counted,
            rows=self.rows(columns, self.where(), once=False),
        )
        rows = self.resolved(rows, list(columns))
        rows = valued(rows, ["bucket", f"{self.counted} AS counted"])
        return COUNTED.format(total="uniqExact(counted)", valued=rows)

    def _cells(self) -> str:
        """Return SQL for pairs (interval, number) of a person with an event in each of `days`."""
        if self.query.once:
            return "[(arrayMin(days), toInt64(1))]"
        if self.query.window is None:
            return "arrayMap(day -> (day, toInt64(1)), days)"
        sorted_days = f"arraySort(arrayMap(day -> {self._day_number('day')}, days))"
        following = f"arrayPushBack(arrayPopFront({sorted_days}), {2**31})"
        ends = f"least(day + {self.query.window}, next)"
        return (
            f"arrayConcat(arrayMap(day -> (day, toInt64(1)), {sorted_days}), "
            f"arrayMap((day, next) -> ({ends}, toInt64(-1)), {sorted_days}, {following}))"
        )

    def _day_number(self, day: str) -> str:
        bind, starts = self.compiler.bindings, self.query.starts
        instants = bind.add([micros(start) for start in starts], "Array(Int64)")
        numbers = bind.add(list(self.query.numbers), "Array(Int64)")
        return f"transform({day}, {instants}, {numbers}, toInt64(-1))"

    def covered_days(self) -> str:
        """Return SQL for a number times the days that show it: those after the first window."""
        first, days = (self.query.window or 1) - 1, self.query.numbers[-1] + 1
        return f"total * greatest({days} - greatest(bucket, {first}), 0)"

    def _of_keys(self, valued: _Value) -> str:
        columns, where = self.columns(actor=False), f"{self.where()} AND counted != ''"
        keyed = {**columns, "counted": self.key()}
        keyed_rows = self.grouped(self.rows(keyed, where, once=False), keyed, "1")
        keyed_rows = self.resolved(keyed_rows, [*columns, "counted"])
        rows = valued(keyed_rows, ["bucket", "counted"])
        if self.query.once:
            rows = FIRST_BUCKET.format(rows=rows)
        return COUNTED.format(total="uniqExact(counted)", valued=rows)

    def _of_property(self, valued: _Value) -> str:
        """Return the aggregate over events, even if the property is the person's."""
        rows = self.measured(actor=False)
        return COUNTED.format(
            total=f"{self._aggregate}({self._number})", valued=valued(rows, ["bucket", "number"])
        )

    def _of_sql(self, valued: _Value) -> str:
        """Return an aggregate in SQL, whose columns become those of the rows."""
        assert self.math.hogql is not None
        written = self.compiler.written(SqlText("aggregate", self.math.hogql))
        named = {
            f"column_{number}": self.compiler.event_column(path)
            for number, path in enumerate(written.columns)
        }
        columns = {**self.columns(actor=False), **named}
        rows = self.resolved(self.rows(columns, self.where(), once=True), list(columns))
        total = written.filled(list(named))
        return COUNTED.format(total=total, valued=valued(rows, ["bucket", *named]))

    @property
    def _aggregate(self) -> str:
        assert self.math.aggregate is not None
        return _AGGREGATES[self.math.aggregate]

    def _of_sessions(self, valued: _Value) -> str:
        sessions = self.sessions(actor=False)
        once = "SELECT DISTINCT bucket, value, session, number FROM ({})"
        rows = valued(sessions, ["bucket", "session", "number"])
        return COUNTED.format(total=f"{self._aggregate}({self._number})", valued=once.format(rows))

    @property
    def _number(self) -> str:
        multiplier = self.math.multiplier
        if multiplier is None:
            return "number"
        return f"number * {self.compiler.bindings.add(multiplier, 'Float64')}"

    def _per_actor(self, valued: _Value) -> str:
        actors = self.events_of_actors()
        each = (
            "SELECT bucket, value, counted, sum(n) AS number FROM ({}) "
            "GROUP BY bucket, value, counted"
        )
        rows = valued(actors, ["bucket", "n", f"{self.counted} AS counted"])
        return COUNTED.format(total=f"{self._aggregate}(number)", valued=each.format(rows))

    def _sum_per_actor(self, valued: _Value) -> str:
        rows = valued(self.measured(actor=True), ["bucket", "number", f"{self.counted} AS counted"])
        each = SUM_OF_ACTORS.format(number=self._number, rows=rows)
        return COUNTED.format(total=f"{self._aggregate}(number)", valued=each)

    def _first_time(self, valued: _Value) -> str:
        return COUNTED.format(total="count()", valued=valued(self.first_events(), ["bucket"]))
