"""The statements of the actors behind a number of a trend, and of the ends of its histograms.

Source: insights.md, sections 4 and 17.
"""

from collections.abc import Sequence

from fanion.insights.sql.breakdown import EVENT_BREAKDOWNS
from fanion.insights.sql.compiler import Statement
from fanion.insights.trends.rows_sql import SeriesQuery, SeriesRows

ACTORS = """
  SELECT counted AS actor, sum(n) AS number
    FROM ({valued})
   WHERE {condition}
GROUP BY counted
ORDER BY number DESC, actor
"""


def actors_statement(
    query: SeriesQuery, values: Sequence[str], hidden: Sequence[str] | None = None
) -> Statement:
    """Return the statement of rows (actor, number of its events), the largest number first.

    Args:
        values: The value of the breakdown, one text for each property; empty for all.
        hidden: If given, all values but these are meant.
    """
    sql = _ActorsSql(query)
    return sql.compiler.statement(sql.actors(values, hidden))


class _ActorsSql(SeriesRows):
    def actors(self, values: Sequence[str], hidden: Sequence[str] | None) -> str:
        rows, counted = self._found()
        return ACTORS.format(
            valued=self.valued(rows, [f"{counted} AS counted", "n"]),
            condition=self._of_values(values, hidden),
        )

    def _of_values(self, values: Sequence[str], hidden: Sequence[str] | None) -> str:
        bind = self.compiler.bindings
        if hidden is not None:
            return f"value NOT IN {bind.texts(hidden)}"
        if not values:
            return "1"
        if len(values) == 1:
            return f"value = {bind.text(values[0])}"
        return f"value = toJSONString({bind.texts(values)})"

    def _found(self) -> tuple[str, str]:
        """Return rows of who is counted, with its events, or sessions that count once, as `n`."""
        math = self.math
        if math.is_first_time:
            return f"SELECT *, 1 AS n FROM ({self.first_events()})", self.counted
        if math.of_sessions:
            return f"SELECT *, 1 AS n FROM ({self.sessions(actor=True)})", self.counted
        if math.aggregate is not None and not math.is_per_actor:
            return f"SELECT *, 1 AS n FROM ({self.measured(actor=True)})", self.counted
        if math.word in ("unique_session", "unique_group"):
            return self._with_key(), "key" if math.word == "unique_group" else self.counted
        return self.events_of_actors(), self.counted

    def _with_key(self) -> str:
        columns = self.columns(actor=self.math.word == "unique_session") | {"key": self.key()}
        rows = self.rows(columns, f"{self.where()} AND key != ''", once=True)
        return self.resolved(self.grouped(rows, columns, "count() AS n"), [*columns, "n"])


def extent_statement(query: SeriesQuery, index: int) -> Statement:
    """Return the statement of one row: the least and the greatest number, null without any.

    Args:
        index: The index of the part of the breakdown.
    """
    sql = _ExtentSql(query)
    return sql.compiler.statement(sql.extent(index))


class _ExtentSql(SeriesRows):
    def extent(self, index: int) -> str:
        """Return SQL for the extent of a histogram, over the events that are counted."""
        assert self.query.breakdowns is not None
        part, compiler = self.query.breakdowns.parts[index], self.compiler
        number = compiler.number_of(compiler.own_text(part))
        if part.type in EVENT_BREAKDOWNS:
            where = f"{self.where()} AND isNotNull(number)"
            rows = self.rows({"number": number}, where, once=False)
            return f"SELECT min(number), max(number) FROM ({rows})"
        rows = self.rows({"who": compiler.person()}, self.where(), once=False)
        persons = compiler.resolved_person(f"SELECT DISTINCT who FROM ({rows})", ["who"])
        held = f"SELECT person_id, {number} AS number FROM persons FINAL WHERE {compiler.project}"
        return (
            f"SELECT min(number), max(number) FROM ({persons}) AS found "
            f"LEFT ANY JOIN ({held}) AS held ON held.person_id = actor WHERE isNotNull(number)"
        )
