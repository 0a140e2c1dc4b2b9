"""The SQL that the statements of all questions share: which events, when, and whose.

Intervals are bound as ascending instants, and `roundDown` finds that of each event by binary
search, so only Python handles time zones. Events are grouped by the stored `person_id` before that
person is replaced with the one it was merged into, so the join reads persons, not events.

Source: insights.md, sections 3 and 17.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from fanion.events.storage.copies_sql import CountedOnce
from fanion.events.storage.filters_sql import (
    NO_PERSON,
    event_condition,
    group_key,
    group_rows,
    with_merged,
)
from fanion.insights.breakdowns import Breakdown
from fanion.insights.dates.intervals import DateRange
from fanion.insights.entities import Entity, SqlText
from fanion.insights.expressions.model import ColumnPath, WrittenExpression
from fanion.insights.query import Scope
from fanion.insights.sessions.fields import is_of_sessions
from fanion.insights.sessions.source_sql import SessionSource
from fanion.insights.sql.event_columns import EventColumns
from fanion.properties.bindings import COLUMN, NO_COLUMNS, Bindings, DedicatedColumns, micros
from fanion.properties.condition_sql import event_text, number_sql, shown_text
from fanion.properties.filters import (
    SEGMENT,
    ConditionGroup,
    InCohort,
    Node,
    Property,
    SqlCondition,
)

# Placeholders in results for "no value" and for all values beyond the largest.
NONE: Final = "$$_posthog_breakdown_null_$$"
OTHER: Final = "$$_posthog_breakdown_other_$$"

# Replaces a person that was merged into another one with that other person.
_RESOLVED = """
SELECT {columns},
       if(moved.new_person = {no_person}, found.who, moved.new_person) AS actor
  FROM ({found}) AS found
  LEFT ANY JOIN (SELECT old_person, new_person
                   FROM person_overrides FINAL
                  WHERE {project}) AS moved ON moved.old_person = found.who
"""


# Group keys and the values of a property, read once per statement. Both arrays begin with an empty
# text because an array must not be empty.
_GROUP_TEXTS = """(
  SELECT (arrayConcat([''], groupArray(group_key)), arrayConcat([''], groupArray({text})))
    FROM {rows})"""


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement with its values.

    Attributes:
        smaller: The statement that gives the same in less memory, and takes longer.
    """

    text: str
    parameters: Mapping[str, Any]
    smaller: "Statement | None" = None


@dataclass(frozen=True, slots=True)
class SqlContext:
    """The project, scope and time that the statements of one calculation share.

    Attributes:
        now: The time against which relative dates are resolved.
        run: The key under which `cohort_inputs` holds the members of the cohorts.
        whole_sessions: Whether all events of long sessions are read.
        copies_share_keys: Whether all copies of the project's events share their key.
        columns: The properties of events with a dedicated column.
        expressions: The expressions in SQL of the question.
    """

    project_id: int
    scope: Scope
    now: datetime
    run: UUID
    whole_sessions: bool = False
    copies_share_keys: bool = False
    columns: DedicatedColumns = NO_COLUMNS
    expressions: Mapping[SqlText, WrittenExpression] = field(default_factory=dict)


class Compiler:
    """The compiler of one statement, which collects the values to bind.

    Args:
        bindings: Those of the statement, if it is that of another compiler.

    Attributes:
        project: The SQL condition on the project.
        once: The parts of the statement by which an event counts once.
        sessions: The SQL of session properties; `where` widens the time range that it reads.
    """

    def __init__(self, context: SqlContext, bindings: Bindings | None = None) -> None:
        self.context = context
        self.bindings = Bindings() if bindings is None else bindings
        self.project = f"project_id = {self.bindings.add(context.project_id, 'UInt64')}"
        self.once = CountedOnce(context.copies_share_keys)
        self.sessions = SessionSource(
            self.bindings,
            self.project,
            context.now,
            context.whole_sessions,
            self.once,
            context.columns,
        )

    def statement(self, text: str) -> Statement:
        return Statement(text, self.bindings.values)

    def bucket(self, starts: Sequence[datetime], time: str = "timestamp") -> str:
        """Return SQL for the start of a row's interval, in microseconds; 0 without `starts`."""
        if not starts:
            return "toInt64(0)"
        bound = self.bindings.add([micros(start) for start in starts], "Array(Int64)")
        return f"roundDown(toUnixTimestamp64Micro({time}), {bound})"

    def where(self, span: DateRange, entities: Collection[Entity] | None) -> str:
        """Return the condition on the rows of `events` that the question can use.

        Args:
            entities: The events of the question, None for all events. The condition is exact for a
                single entity; for several, it may let other rows through.
        """
        bind = self.bindings
        self.sessions.widen(span)
        conditions = [
            self.project,
            f"timestamp >= {bind.time(span.start)}",
            f"timestamp < {bind.time(span.end)}",
        ]
        if entities is not None:
            conditions += self._named(entities)
        if self.context.scope.properties is not None:
            conditions.append(self.condition(self.context.scope.properties))
        if not self.context.scope.counts_persons:
            conditions.append(f"{self.who()} != ''")
        return "\n   AND ".join(conditions)

    def _named(self, entities: Collection[Entity]) -> list[str]:
        """Return conditions on entities; names come first, since the table is ordered by them."""
        names = names_of(entities)
        conditions = [] if names is None else [f"event IN {self.bindings.texts(names)}"]
        if all(entity.properties is not None for entity in entities):
            conditions.append(f"({' OR '.join(self.entity(entity) for entity in entities)})")
        return conditions

    def any_of(self, entities: Collection[Entity]) -> str:
        """Return the condition for a row to be an event of any of the entities."""
        names = names_of(entities)
        if names is not None and all(entity.properties is None for entity in entities):
            return f"event IN {self.bindings.texts(names)}"
        return f"({' OR '.join(self.entity(entity) for entity in entities)})"

    def entity(self, entity: Entity) -> str:
        """Return the condition for a row to be an event of the entity."""
        event = entity.event
        named = None if event is None else f"event = {self.bindings.text(event)}"
        own = None if entity.properties is None else self.condition(entity.properties)
        parts = [part for part in (named, own) if part is not None]
        return f"({' AND '.join(parts)})" if parts else "1"

    def condition(self, node: Node) -> str:
        """Return the SQL of a condition on a row of `events`."""
        if is_of_sessions(node):
            return self.sessions.condition(node)
        if isinstance(node, ConditionGroup):
            parts = [self.condition(child) for child in _sessions_together(node)]
            joined = f"({f' {node.type} '.join(parts)})"
            return f"(NOT {joined})" if node.negation else joined
        if isinstance(node, InCohort):
            members = self.members(node.cohort_id)
            return f"person_id {'NOT IN' if node.negation else 'IN'} ({members})"
        if isinstance(node, SqlCondition):
            held = self.expression(SqlText("condition", node.key))
            return f"(NOT {held})" if node.negation else held
        # The parser refuses all others, and segments have become their conditions.
        assert isinstance(node, Property) and node.type != SEGMENT
        return event_condition(
            node, self.bindings, self.project, self.context.now, self.context.columns
        )

    def expression(self, sent: SqlText) -> str:
        """Return an expression in SQL of the question on a row of `events`."""
        written = self.written(sent)
        return written.filled([self.event_column(path) for path in written.columns])

    def written(self, sent: SqlText) -> WrittenExpression:
        """Return an expression of the question, whose values become those of the statement."""
        written = self.context.expressions[sent]
        self.bindings.values.update(written.values)
        return written

    def event_column(self, path: ColumnPath) -> str:
        """Return a column of a row of `events` that an expression names."""
        rows = f"events WHERE {self.project} AND {self._read()}"
        columns = self.context.columns
        return EventColumns(self.bindings, self.project, rows, columns, self.sessions).text(path)

    def members(self, cohort_id: int) -> str:
        """Return a SELECT of the person ids of a cohort's members as events store them."""
        run = self.bindings.add(self.context.run, "UUID")
        cohort = self.bindings.add(cohort_id, "UInt64")
        rows = (
            "(SELECT person_id FROM cohort_inputs "
            f"WHERE run = {run} AND cohort_id = {cohort}) AS members"
        )
        return with_merged(rows, "1", self.project)

    def who(self) -> str:
        """Return SQL for the actor of an event: stored person as UUID, others as text."""
        if self.context.scope.counted_by is not None:
            return self.expression(self.context.scope.counted_by)
        index = self.context.scope.group_type_index
        return "person_id" if index is None else group_key(index)

    def resolved(self, rows: str, columns: Sequence[str]) -> str:
        """Return a SELECT of the rows of `rows` with who is counted now as `actor`.

        Args:
            rows: A SELECT with `columns` and the stored actor as `who`.
        """
        if not self.context.scope.counts_persons:
            return f"SELECT {', '.join(columns)}, who AS actor FROM ({rows}) AS found"
        return self.resolved_person(rows, columns)

    def person(self) -> str:
        """Return SQL for the stored person of a row of `events`, even when groups are counted."""
        return "person_id"

    def resolved_person(self, rows: str, columns: Sequence[str]) -> str:
        """Return a SELECT of the rows of `rows` with the current person as `actor`.

        Args:
            rows: A SELECT with `columns` and the stored person as `who`, even when groups are
                counted.
        """
        return _RESOLVED.format(
            columns=", ".join(columns), no_person=NO_PERSON, found=rows, project=self.project
        )

    def own_text(self, breakdown: Breakdown) -> str:
        """Return SQL for a breakdown by a value of the event, of its session or of its group.

        A group's property is read as it is now.
        """
        if breakdown.type == "hogql":
            return self.expression(SqlText("value", breakdown.key))
        if breakdown.type == "session":
            return self.sessions.text(breakdown.key)
        if breakdown.type != "group":
            rows = f"events WHERE {self.project} AND {self._read()}"
            return self.shown_text(breakdown.key, rows, self.context.columns)
        assert breakdown.group_type_index is not None  # the parser requires it
        rows = group_rows(breakdown.group_type_index, self.bindings, self.project)
        known = _GROUP_TEXTS.format(text=self.shown_text(breakdown.key, rows), rows=rows)
        key = group_key(breakdown.group_type_index)
        return f"transform({key}, tupleElement({known}, 1), tupleElement({known}, 2), '')"

    def text(self, key: str) -> str:
        """Return SQL for an event property as text, empty when it is null or absent."""
        return event_text(key, self.bindings, self.context.columns)

    def text_and_check(self, key: str) -> tuple[str, str]:
        """Return SQL for the text of an event property, and a condition on the row.

        The text is only correct in statements with this condition. It lets the engine group by the
        distinct values of a column, which it cannot do with `text`.
        """
        own = self.context.columns.checked(key)
        if own is None:
            return self.text(key), "1"
        return f"ifNull({own[0]}, '')", f"ifNull({own[1]}, 0) = 0"

    def shown_text(self, key: str, rows: str, columns: DedicatedColumns = NO_COLUMNS) -> str:
        """Return SQL for a property as a breakdown value, empty when it is null or absent.

        Lists and objects become JSON.

        Args:
            rows: What follows FROM to read the rows that have the property.
            columns: For rows of `events`, the properties with a dedicated column.
        """
        if not COLUMN.fullmatch(key):
            return self.text(key)
        return shown_text(key, self.bindings, rows, columns)

    def text_of_person(self, key: str) -> str:
        """Return SQL for a property of a row of `persons`, as a breakdown value."""
        return self.shown_text(key, f"persons WHERE {self.project}")

    def _read(self) -> str:
        """Return the condition on the time range from which events and their sessions are read."""
        reach = self.sessions.reach()
        return f"timestamp >= {reach.since} AND timestamp < {reach.until}"

    def number(self, key: str) -> str:
        """Return SQL for an event property as a number, null when it is not one."""
        return self.number_of(self.text(key))

    def number_of(self, text: str) -> str:
        return number_sql(text)


def names_of(entities: Collection[Entity]) -> Sequence[str] | None:
    """Return the names that the events of some entities can have, each once; None for any."""
    named = [entity.names for entity in entities]
    if any(names is None for names in named):
        return None
    return list(dict.fromkeys(name for names in named for name in names or ()))


def _sessions_together(group: ConditionGroup) -> Sequence[Node]:
    """Merge the children on sessions into one, so that sessions are computed once."""
    on_sessions = tuple(child for child in group.children if is_of_sessions(child))
    others = [child for child in group.children if not is_of_sessions(child)]
    return [*others, ConditionGroup(group.type, on_sessions)] if on_sessions else others
