"""Compiles one series of an insight to ClickHouse: the conditions on its events, and the statements
of a trend.

Intervals are bound as ascending instants, and `roundDown` finds that of each event by binary
search; so time zones are handled by Python alone. An event counts once, however often it is stored
(`LIMIT 1 BY uuid`). Events are grouped by person_id before they are assigned to the person it was
merged into, so that the join reads persons, not events.

source: cohorts.md section 23
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from fanion.events.storage.filters_sql import NO_PERSON, absolute, event_condition, with_merged
from fanion.insights.date_range import DateRange
from fanion.insights.series import Breakdown, Series
from fanion.insights.trends.query import VALUES_MAX
from fanion.properties.cohort_sql import Bindings, micros
from fanion.properties.filters import ConditionGroup, InCohort, Node, Property

# Placeholders in results for "no value" and for all values beyond the largest.
NONE = "$$_posthog_breakdown_null_$$"
OTHER = "$$_posthog_breakdown_other_$$"

_COLUMN = re.compile(r"[A-Za-z0-9_$@.\- ]{1,200}")
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


@dataclass(frozen=True, slots=True)
class InsightStatement:
    text: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SeriesQuery:
    """One series in one time range.

    properties: conditions on the events of every series
    starts: of the intervals; none for one number over the whole span
    run:    of the members of cohorts in `cohort_inputs`
    now:    relative dates are resolved against it
    """

    project_id: int
    properties: Node | None
    breakdown: Breakdown | None
    series: Series
    span: DateRange
    starts: Sequence[datetime]
    now: datetime
    run: UUID


class SeriesConditions:
    """Compiler of one series in one time range. project: the condition on the project"""

    def __init__(self, query: SeriesQuery) -> None:
        self.bindings = Bindings()
        self.query = query
        self.project = f"project_id = {self.bindings.add(query.project_id, 'UInt64')}"

    def bucket(self) -> str:
        if not self.query.starts:
            return "toInt64(0)"
        starts = self.bindings.add([micros(one) for one in self.query.starts], "Array(Int64)")
        return f"roundDown(toUnixTimestamp64Micro(timestamp), {starts})"

    def value(self, breakdown: Breakdown) -> str:
        """The property as text; NONE when it is null, absent or empty."""
        key, none = breakdown.key, self.bindings.text(NONE)
        if _COLUMN.fullmatch(key):
            name = self.bindings.add(key.replace(".", "%2E"), "Identifier")
            return f"ifNull(nullIf(toString(attributes.{name}), ''), {none})"
        place = f"properties, {self.bindings.text(key)}"
        text = (
            f"multiIf(JSONType({place}) = 'Null', '', JSONType({place}) = 'String', "
            f"JSONExtractString({place}), JSONExtractRaw({place}))"
        )
        return f"ifNull(nullIf({text}, ''), {none})"

    def where(self) -> str:
        """The condition on the events of the series within the range."""
        query, bind = self.query, self.bindings
        conditions = [
            self.project,
            f"timestamp >= {bind.time(query.span.start)}",
            f"timestamp < {bind.time(query.span.end)}",
        ]
        if query.series.event is not None:
            conditions.insert(1, f"event = {bind.text(query.series.event)}")
        filters = (query.properties, query.series.properties)
        conditions += [self.condition(node) for node in filters if node is not None]
        return "\n             AND ".join(conditions)

    def condition(self, node: Node) -> str:
        if isinstance(node, ConditionGroup):
            parts = [self.condition(child) for child in node.children]
            return f"({f' {node.type} '.join(parts)})"
        if isinstance(node, InCohort):
            return self._in_cohort(node)
        assert isinstance(node, Property)  # parse_trends refuses all others
        leaf = absolute(node, self.query.now)
        return event_condition(leaf, self.bindings, self.project)

    def _in_cohort(self, leaf: InCohort) -> str:
        run = self.bindings.add(self.query.run, "UUID")
        cohort = self.bindings.add(leaf.cohort_id, "UInt64")
        members = (
            "(SELECT person_id FROM cohort_inputs "
            f"WHERE run = {run} AND cohort_id = {cohort}) AS members"
        )
        wanted = with_merged(members, "1", self.project)
        return f"person_id {'NOT IN' if leaf.negation else 'IN'} ({wanted})"


def largest_values(query: SeriesQuery) -> InsightStatement:
    """Rows: values of the breakdown, the largest first, at most VALUES_MAX."""
    compiler = _TrendCompiler(replace(query, starts=()))
    trend = compiler.trend(None)
    text = LARGEST.format(trend=trend, limit=VALUES_MAX)
    return InsightStatement(text, compiler.bindings.values)


def trend_statement(query: SeriesQuery, values: Sequence[str] | None) -> InsightStatement:
    """Rows: interval in microseconds, value, number.

    values: values of the breakdown with rows of their own, all others are OTHER; None for all
           values, with one row more than VALUES_MAX of them can have
    """
    compiler = _TrendCompiler(query)
    text = compiler.trend(values)
    if values is None:
        text += f"   LIMIT {VALUES_MAX * max(1, len(query.starts)) + 1}\n"
    return InsightStatement(text, compiler.bindings.values)


class _TrendCompiler(SeriesConditions):
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
