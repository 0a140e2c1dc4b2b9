"""Compiles one series of a trend to ClickHouse statements.

An event counts once, however often it is stored (`LIMIT 1 BY uuid`). Events are grouped by
person_id before they are assigned to the person it was merged into, so that the join reads
persons, not events.

source: cohorts.md section 23
"""

from collections.abc import Sequence
from dataclasses import replace

from fanion.events.storage.filters_sql import NO_PERSON
from fanion.insights.filters_sql import NONE, OTHER, InsightStatement, SeriesConditions, SeriesQuery
from fanion.insights.series import Breakdown
from fanion.insights.trends.query import VALUES_MAX

# An event without a person is counted by its distinct id.
_WHO = f"if(person_id = {NO_PERSON}, reinterpretAsUUID(sipHash128(distinct_id)), person_id)"
_SURVIVOR = f"if(moved.new_person = {NO_PERSON}, found.who, moved.new_person)"

COUNTED = """
  SELECT bucket, value, count() AS total
    FROM (SELECT {bucket} AS bucket, {value} AS value
            FROM events
           WHERE {where}
           LIMIT 1 BY uuid)
GROUP BY bucket, value
"""

# Rows of `found`: an interval, a value and a person, each once, with its events as `n`.
PERSONS = """
  SELECT bucket, {value} AS value, {total} AS total
    FROM (SELECT bucket, own_value, n, {survivor} AS person
            FROM (SELECT bucket, own_value, who, count() AS n
                    FROM (SELECT {bucket} AS bucket, {own_value} AS own_value, {who} AS who
                            FROM events
                           WHERE {where}
                           LIMIT 1 BY uuid)
                GROUP BY bucket, own_value, who) AS found
            LEFT ANY JOIN (SELECT old_person, new_person
                             FROM person_overrides FINAL
                            WHERE {project}) AS moved ON moved.old_person = found.who) AS counted
{join}
GROUP BY bucket, value
"""

HELD = """
LEFT ANY JOIN (SELECT person_id, {value} AS held_value
                 FROM persons FINAL
                WHERE {project}) AS held ON held.person_id = counted.person
"""

LARGEST = """
  SELECT value
    FROM ({trend})
GROUP BY value
ORDER BY sum(total) DESC, value
   LIMIT {limit}
"""


def largest_values(query: SeriesQuery) -> InsightStatement:
    """Rows: values of the breakdown, the largest first, at most VALUES_MAX."""
    compiler = _Compiler(replace(query, starts=()))
    trend = compiler.trend(None)
    text = LARGEST.format(trend=trend, limit=VALUES_MAX)
    return InsightStatement(text, compiler.bindings.values)


def trend_statement(query: SeriesQuery, values: Sequence[str] | None) -> InsightStatement:
    """Rows: interval in microseconds, value, number.

    values: values of the breakdown with rows of their own, all others are OTHER; None for all
           values, with one row more than VALUES_MAX of them can have
    """
    compiler = _Compiler(query)
    text = compiler.trend(values)
    if values is None:
        text += f"   LIMIT {VALUES_MAX * max(1, len(query.starts)) + 1}\n"
    return InsightStatement(text, compiler.bindings.values)


class _Compiler(SeriesConditions):
    def trend(self, values: Sequence[str] | None) -> str:
        breakdown = self.query.breakdown
        own = "''" if breakdown is None else self.value(breakdown)
        if self.query.series.math == "total" and not (breakdown and breakdown.of_person):
            value = self._grouped_value(own, values)
            return COUNTED.format(bucket=self.bucket(), value=value, where=self.where())
        return self._by_person(breakdown, own, values)

    def _by_person(
        self, breakdown: Breakdown | None, own: str, values: Sequence[str] | None
    ) -> str:
        of_person = breakdown is not None and breakdown.of_person
        join = HELD.format(value=own, project=self.project) if of_person else ""
        # A person that has no row has no value either.
        held = f"if(held_value = '', {self.bindings.text(NONE)}, held_value)"
        return PERSONS.format(
            value=self._grouped_value(held, values) if of_person else "own_value",
            own_value="''" if of_person else self._grouped_value(own, values),
            total="sum(n)" if self.query.series.math == "total" else "uniqExact(person)",
            survivor=_SURVIVOR,
            bucket=self.bucket(),
            who=_WHO,
            where=self.where(),
            project=self.project,
            join=join,
        )

    def _grouped_value(self, value: str, values: Sequence[str] | None) -> str:
        if values is None:
            return value
        return f"if({value} IN {self.bindings.texts(values)}, {value}, {self.bindings.text(OTHER)})"
