"""One series of a trend as ClickHouse statements.

The intervals are handed in as instants, ascending: `roundDown` finds each event's by binary
search, so that time zones are one library's business. An event counts once, however often it is
stored (`LIMIT 1 BY uuid`). Persons are moved to whom they were merged into only after their
events have been gathered: so the join meets persons, not events.

source: cohorts.md section 23
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from fanion.events.conditions_sql import NOBODY, absolute, event_condition, with_merged
from fanion.insights.ranges import Span
from fanion.insights.trends import VALUES_MAX, Breakdown, Series, TrendsQuery
from fanion.properties.filters import Group, InCohort, Node, Property
from fanion.properties.sql import Bindings, micros

# Stand for "no value" and for all values that are not shown. source: cohorts.md section 23
NONE = "$$_posthog_breakdown_null_$$"
OTHER = "$$_posthog_breakdown_other_$$"

# An event without a person is told apart from others by its distinct id.
_WHO = f"if(person_id = {NOBODY}, reinterpretAsUUID(sipHash128(distinct_id)), person_id)"
_SURVIVOR = f"if(moved.new_person = {NOBODY}, found.who, moved.new_person)"
_COLUMN = re.compile(r"[A-Za-z0-9_$@.\- ]{1,200}")

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

FIRST_EVENT = """
  SELECT count(), min(timestamp)
    FROM events
   WHERE project_id = {project_id:UInt64}
     AND ({any_event:Bool} OR event IN {events:Array(String)})
"""


@dataclass(frozen=True, slots=True)
class Statement:
    text: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """One series in one stretch of time.

    starts: of the intervals; none for one number over the whole span
    run:    names the members of cohorts that were handed in
    now:    that relative dates count back from
    """

    project_id: int
    query: TrendsQuery
    series: Series
    span: Span
    starts: Sequence[datetime]
    now: datetime
    run: UUID


def largest_values(asked: Asked) -> Statement:
    """Rows: a value of the breakdown, the largest first; no more than are shown."""
    compiler = _Compiler(replace(asked, starts=()))
    trend = compiler.trend(None)
    text = LARGEST.format(trend=trend, limit=VALUES_MAX)
    return Statement(text, compiler.bindings.values)


def trend_statement(asked: Asked, shown: Sequence[str] | None) -> Statement:
    """Rows: interval in microseconds, value, number.

    shown: values of the breakdown that are told apart; None for all of them, of whose rows no
           more are told than VALUES_MAX can have, and one
    """
    compiler = _Compiler(asked)
    text = compiler.trend(shown)
    if shown is None:
        text += f"   LIMIT {VALUES_MAX * max(1, len(asked.starts)) + 1}\n"
    return Statement(text, compiler.bindings.values)


class _Compiler:
    def __init__(self, asked: Asked) -> None:
        self.bindings = Bindings()
        self._asked = asked
        self._project = f"project_id = {self.bindings.add(asked.project_id, 'UInt64')}"

    def trend(self, shown: Sequence[str] | None) -> str:
        breakdown = self._asked.query.breakdown
        own = "''" if breakdown is None else self._value(breakdown)
        if self._asked.series.math == "total" and not (breakdown and breakdown.of_person):
            value = self._told_apart(own, shown)
            return COUNTED.format(bucket=self._bucket(), value=value, where=self._where())
        return self._persons(breakdown, own, shown)

    def _persons(self, breakdown: Breakdown | None, own: str, shown: Sequence[str] | None) -> str:
        of_person = breakdown is not None and breakdown.of_person
        join = HELD.format(value=own, project=self._project) if of_person else ""
        # A person that has no row has no value either.
        held = f"if(held_value = '', {self.bindings.text(NONE)}, held_value)"
        return PERSONS.format(
            value=self._told_apart(held, shown) if of_person else "own_value",
            own_value="''" if of_person else self._told_apart(own, shown),
            total="sum(n)" if self._asked.series.math == "total" else "uniqExact(person)",
            survivor=_SURVIVOR,
            bucket=self._bucket(),
            who=_WHO,
            where=self._where(),
            project=self._project,
            join=join,
        )

    def _bucket(self) -> str:
        if not self._asked.starts:
            return "toInt64(0)"
        starts = self.bindings.add([micros(one) for one in self._asked.starts], "Array(Int64)")
        return f"roundDown(toUnixTimestamp64Micro(timestamp), {starts})"

    def _value(self, breakdown: Breakdown) -> str:
        """The property as text; what is null, absent or blank is no value."""
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

    def _told_apart(self, value: str, shown: Sequence[str] | None) -> str:
        if shown is None:
            return value
        return f"if({value} IN {self.bindings.texts(shown)}, {value}, {self.bindings.text(OTHER)})"

    def _where(self) -> str:
        asked, bind = self._asked, self.bindings
        conditions = [
            self._project,
            f"timestamp >= {bind.time(asked.span.start)}",
            f"timestamp < {bind.time(asked.span.end)}",
        ]
        if asked.series.event is not None:
            conditions.insert(1, f"event = {bind.text(asked.series.event)}")
        filters = (asked.query.properties, asked.series.properties)
        conditions += [self._condition(node) for node in filters if node is not None]
        return "\n             AND ".join(conditions)

    def _condition(self, node: Node) -> str:
        if isinstance(node, Group):
            parts = [self._condition(child) for child in node.children]
            return f"({f' {node.type} '.join(parts)})"
        if isinstance(node, InCohort):
            return self._in_cohort(node)
        assert isinstance(node, Property)  # parse_trends lets nothing else through
        leaf = absolute(node, self._asked.now)
        return event_condition(leaf, self.bindings, self._project)

    def _in_cohort(self, leaf: InCohort) -> str:
        run = self.bindings.add(self._asked.run, "UUID")
        cohort = self.bindings.add(leaf.cohort_id, "UInt64")
        members = (
            "(SELECT person_id FROM cohort_inputs "
            f"WHERE run = {run} AND cohort_id = {cohort}) AS members"
        )
        wanted = with_merged(members, "1", self._project)
        return f"person_id {'NOT IN' if leaf.negation else 'IN'} ({wanted})"
