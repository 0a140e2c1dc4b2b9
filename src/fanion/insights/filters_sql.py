"""Compiles the filters of an insight to ClickHouse conditions on the table `events`.

Intervals are bound as ascending instants, and `roundDown` finds that of each event by binary
search; so time zones are handled by Python alone.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from fanion.events.storage.filters_sql import absolute, event_condition, with_merged
from fanion.insights.date_range import DateRange
from fanion.insights.series import Breakdown, Series
from fanion.properties.cohort_sql import Bindings, micros
from fanion.properties.filters import ConditionGroup, InCohort, Node, Property

# Stand for "no value" and for all values beyond the largest. source: cohorts.md section 23
NONE = "$$_posthog_breakdown_null_$$"
OTHER = "$$_posthog_breakdown_other_$$"

_COLUMN = re.compile(r"[A-Za-z0-9_$@.\- ]{1,200}")


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
        assert isinstance(node, Property)  # parse_trends lets nothing else through
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
