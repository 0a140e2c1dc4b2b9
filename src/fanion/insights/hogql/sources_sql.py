"""The tables of SQL that users write, as subqueries that read only rows of their project.

A subquery has the columns that the query names, under names of its own. Persons are those of today:
an event of a person that was merged belongs to the surviving one.

Source: insights.md, section 10.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from fanion.events.storage.filters_sql import NO_PERSON, group_key, group_rows
from fanion.insights.expressions.grammar import Refused
from fanion.insights.expressions.row import (
    EVENT_COLUMNS,
    GROUPS,
    OF_PROPERTIES,
    PROPERTIES_MAX,
)
from fanion.insights.expressions.scope import Column, ColumnSource, Lent, Names
from fanion.insights.sessions.fields import FIELDS
from fanion.insights.sessions.sql import SESSION_ID, Reach, Sessions
from fanion.insights.sql.compiler import Compiler
from fanion.properties.condition_sql import path_text, row_text

# What `*` means.
ALL_OF_EVENTS: Final = (
    *("uuid", "event", "properties", "timestamp", "distinct_id", "elements_chain", "created_at"),
    "person_id",
)
_PERSON: Final = "if({moved}.new_person = {no_person}, {found}.{person}, {moved}.new_person)"


class Source(ColumnSource, Protocol):
    """A source of rows of a SELECT: a table, or another SELECT."""

    @property
    def name(self) -> str: ...

    def columns(self) -> Sequence[str]:
        """Return what `*` means."""
        ...

    def text(self) -> str:
        """Return what follows FROM, once all columns are known."""
        ...


@dataclass(slots=True)
class Selected:
    """The columns that one level of a subquery reads, each once, by their expressions."""

    names: Names
    found: dict[str, str] = field(default_factory=dict)

    def add(self, expression: str) -> str:
        if expression not in self.found:
            self.found[expression] = self.names.new("c")
        return self.found[expression]

    def text(self, *, nullable: bool = False) -> str:
        """Return what follows SELECT.

        Args:
            nullable: Whether a column is null in a row that a join does not find.
        """
        form = "toNullable({}) AS {}" if nullable else "{} AS {}"
        listed = [form.format(expression, name) for expression, name in self.found.items()]
        return ", ".join(listed) or "1 AS c0"


@dataclass(frozen=True, slots=True)
class Tables:
    """The parts that the tables of one statement share.

    Attributes:
        compiler: Collects the values, and knows the project.
        zone: The time zone of the project, as an expression.
        cohorts: What follows FROM to read the project's cohorts.
        properties: The properties that the statement reads, with the rows that have them.
    """

    compiler: Compiler
    names: Names
    zone: str
    cohorts: str
    properties: set[tuple[str, ...]] = field(default_factory=set)

    @property
    def lent(self) -> Lent:
        """Return the parts that expressions use."""
        return Lent(self.compiler.bindings, self.names, self.zone, self.compiler.members)

    def time(self, column: str) -> str:
        return f"toTimeZone({column}, {self.zone})"

    def sessions(self) -> Sessions:
        return Sessions(
            self.compiler.bindings,
            self.compiler.project,
            Reach("", "", "", whole=True),
            self.compiler.once,
            self.compiler.context.columns,
        )

    def property(self, keys: Sequence[str], rows: str, *, of_events: bool = False) -> str:
        """Return a property of a row as text, null if it is missing; the whole JSON without keys.

        Args:
            rows: What follows FROM to read the rows.

        Raises:
            Refused: The query names too many properties.
        """
        self.properties.add((rows, *keys))
        if len(self.properties) > PROPERTIES_MAX:
            raise Refused(f"The query names more than {PROPERTIES_MAX} properties.")
        bindings, context = self.compiler.bindings, self.compiler.context
        if not keys:
            return "properties"
        if len(keys) > 1:
            return path_text("properties", keys, bindings)
        if of_events:
            return row_text(keys[0], bindings, rows, context.columns)
        return row_text(keys[0], bindings, rows)


class PlainTable:
    """A table whose columns are expressions on its rows."""

    def __init__(
        self, tables: Tables, rows: str, own: Mapping[str, str], times: Mapping[str, str]
    ) -> None:
        self.name = tables.names.new("t")
        self._tables = tables
        self._rows = rows
        self._own = own
        self._times = times
        self._selected = Selected(tables.names)

    def column(self, parts: Sequence[str]) -> Column | None:
        first, keys = parts[0], parts[1:]
        if first == "properties" and "properties" in self.columns():
            own = self._selected.add(self._tables.property(keys, self._rows))
            return Column(f"{self.name}.{own}", "value" if keys else "json", is_set=not keys)
        if keys:
            return None
        if first in self._times:
            moment = self._selected.add(self._times[first])
            shown = self._selected.add(self._tables.time(self._times[first]))
            return Column(f"{self.name}.{shown}", "time", f"{self.name}.{moment}")
        if first in self._own:
            return Column(f"{self.name}.{self._selected.add(self._own[first])}")
        return None

    def columns(self) -> Sequence[str]:
        return (*self._own, *self._times)

    def text(self, *, nullable: bool = False) -> str:
        columns = self._selected.text(nullable=nullable)
        return f"(SELECT {columns} FROM {self._rows}) AS {self.name}"


def persons_table(tables: Tables) -> PlainTable:
    rows = f"persons FINAL WHERE {tables.compiler.project}"
    own = {"id": "person_id", "properties": "properties"}
    return PlainTable(tables, rows, own, {"created_at": "created_at"})


def groups_table(tables: Tables) -> PlainTable:
    rows = f"groups FINAL WHERE {tables.compiler.project}"
    own = {"index": "group_type_index", "key": "group_key", "properties": "properties"}
    return PlainTable(tables, rows, own, {"created_at": "created_at"})


def cohorts_table(tables: Tables) -> PlainTable:
    own = {
        name: f"tupleElement(cohort, {number})"
        for number, name in enumerate(("id", "name", "count", "is_static"), 1)
    }
    return PlainTable(tables, tables.cohorts, own, {})


class SessionsTable:
    """The sessions of the project, calculated from all its events."""

    def __init__(self, tables: Tables) -> None:
        self.name = tables.names.new("t")
        self._tables = tables
        self._sessions = tables.sessions()
        self._selected = Selected(tables.names)

    def column(self, parts: Sequence[str]) -> Column | None:
        if len(parts) > 1:
            return None
        if parts[0] in ("id", "session_id"):
            return Column(f"{self.name}.{self._selected.add('session_id')}", is_set=True)
        if parts[0] not in FIELDS:
            return None
        value = self._sessions.value(parts[0])
        if FIELDS[parts[0]] != "time":
            return Column(f"{self.name}.{self._selected.add(value)}")
        shown, moment = self._selected.add(self._tables.time(value)), self._selected.add(value)
        return Column(f"{self.name}.{shown}", "time", f"{self.name}.{moment}")

    def columns(self) -> Sequence[str]:
        return ("session_id", *FIELDS)

    def text(self, *, nullable: bool = False) -> str:
        rows = self._sessions.grouped("session_id", self._tables.compiler.project)
        columns = self._selected.text(nullable=nullable)
        return f"(SELECT {columns} FROM ({rows}) AS sessions) AS {self.name}"


class EventsTable:
    """The events of the project, with what their persons, groups and sessions are now."""

    def __init__(self, tables: Tables) -> None:
        self.name = tables.names.new("t")
        self._tables = tables
        self._own = Selected(tables.names)
        self._person: str | None = None
        # Each of them is joined by its key, if the query names a column of it.
        self._joined: dict[str, _Joined] = {}
        self._pushed: list[str] = []

    def push(self, condition: str) -> None:
        """Add a condition on a row of `events`, before a column is asked for."""
        self._pushed.append(condition)

    def own_column(self, name: str) -> str | None:
        """Return the expression on a row of `events` by which it can be found early."""
        return name if name in ("timestamp", *EVENT_COLUMNS) else None

    def column(self, parts: Sequence[str]) -> Column | None:
        first, keys = parts[0], parts[1:]
        if first == "properties":
            return self._property(keys)
        if first in ("timestamp", "created_at") and not keys:
            return self._time("timestamp" if first == "timestamp" else "received_at")
        if first in EVENT_COLUMNS and not keys:
            return Column(f"{self.name}.{self._own.add(first)}", is_set=True)
        if first in OF_PROPERTIES and not keys:
            return self._property([OF_PROPERTIES[first]])
        if first.startswith("$group_") and first[1:] in GROUPS and not keys:
            return Column(self._read(self._own.add(group_key(GROUPS[first[1:]]))), is_set=True)
        if (first == "person_id" and not keys) or (first == "person" and keys == ["id"]):
            return Column(f"{self.name}.{self._who()}", is_set=True)
        return self._of_others(first, keys)

    def columns(self) -> Sequence[str]:
        return ALL_OF_EVENTS

    def _read(self, column: str) -> str:
        return f"{self.name}.{column}"

    def _time(self, column: str) -> Column:
        shown, moment = self._own.add(self._tables.time(column)), self._own.add(column)
        return Column(self._read(shown), "time", self._read(moment), is_set=True)

    def _property(self, keys: Sequence[str]) -> Column:
        rows = f"events WHERE {' AND '.join([self._tables.compiler.project, *self._pushed])}"
        own = self._own.add(self._tables.property(keys, rows, of_events=True))
        return Column(self._read(own), "value" if keys else "json", is_set=not keys)

    def _who(self) -> str:
        if self._person is None:
            self._own.add("person_id")
            self._person = self._tables.names.new("c")
        return self._person

    def _of_others(self, first: str, keys: Sequence[str]) -> Column | None:
        """Return a column of the person, of a group or of the session."""
        if not keys:
            return None
        joined = self._joined.get(first) or self._join(first)
        if joined is None:
            return None
        self._joined[first] = joined
        found = joined.column(keys)
        if found is None:
            return None
        own = joined.selected.add(found.text)
        moment = "" if not found.moment else self._read(joined.selected.add(found.moment))
        return Column(self._read(own), found.kind, moment)

    def _join(self, first: str) -> "_Joined | None":
        names = self._tables.names
        if first == "person":
            return _Joined(self._who(), persons_table(self._tables), ["id"], Selected(names))
        if first == "session":
            key = self._own.add(SESSION_ID)
            return _Joined(key, SessionsTable(self._tables), ["session_id"], Selected(names))
        if first not in GROUPS:
            return None
        index = GROUPS[first]
        rows = group_rows(index, self._tables.compiler.bindings, self._tables.compiler.project)
        own = {"key": "group_key", "index": "group_type_index", "properties": "properties"}
        table = PlainTable(self._tables, rows, own, {"created_at": "created_at"})
        return _Joined(self._own.add(group_key(index)), table, ["key"], Selected(names))

    def text(self) -> str:
        once = self._tables.compiler.once
        where = "\n   AND ".join([self._tables.compiler.project, *self._pushed])
        columns = self._own.text()
        found = f"SELECT {columns} FROM {once.events} WHERE {where}{once.limit}"
        if self._person is not None:
            found = self._with_person(found)
        for joined in self._joined.values():
            found = joined.joined_to(found, self._tables.names)
        return f"({found}) AS {self.name}"

    def _with_person(self, found: str) -> str:
        project, names = self._tables.compiler.project, self._tables.names
        rows, moved = names.new("t"), names.new("t")
        person = _PERSON.format(
            moved=moved, no_person=NO_PERSON, found=rows, person=self._own.add("person_id")
        )
        return (
            f"SELECT {rows}.*, {person} AS {self._person} FROM ({found}) AS {rows} "
            f"LEFT ANY JOIN (SELECT old_person, new_person FROM person_overrides FINAL "
            f"WHERE {project}) AS {moved} "
            f"ON {moved}.old_person = {rows}.{self._own.add('person_id')}"
        )


@dataclass(slots=True)
class _Joined:
    """A table whose row belongs to an event.

    Attributes:
        key: The column of the event.
        own_key: The path of the key in the table.
        selected: The columns that the query names.
    """

    key: str
    table: "PlainTable | SessionsTable"
    own_key: Sequence[str]
    selected: Selected
    column: Callable[[Sequence[str]], Column | None] = field(init=False)

    def __post_init__(self) -> None:
        self.column = self.table.column

    def joined_to(self, found: str, names: Names) -> str:
        """Return the rows of a statement with the columns of the table, null without its row."""
        own = self.table.column(self.own_key)
        assert own is not None  # every table has its key
        rows = names.new("t")
        columns = ", ".join(
            f"toNullable({expression}) AS {name}"
            for expression, name in self.selected.found.items()
        )
        return (
            f"SELECT {rows}.*, {columns} FROM ({found}) AS {rows} "
            f"LEFT ANY JOIN {self.table.text(nullable=True)} ON {own.text} = {rows}.{self.key}"
        )
