"""Columns of a row of `events` that expressions in SQL name, of its person, groups and session too.

Values of persons and groups are those of today. They are read once for a statement, and are then a
constant in it, as those of sessions are.

Source: insights.md, section 10a.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from fanion.events.storage.filters_sql import NO_PERSON, group_key, group_rows
from fanion.insights.expressions.model import ColumnPath
from fanion.insights.expressions.row import GROUPS
from fanion.insights.sessions.fields import FIELDS
from fanion.insights.sessions.source_sql import SessionSource
from fanion.properties.bindings import Bindings, DedicatedColumns
from fanion.properties.condition_sql import path_text, row_text

_OWN: Final = {"timestamp": "timestamp", "created_at": "received_at"}
# Both arrays begin with a key that no row has, because an array must not be empty.
_KNOWN: Final = """(
  SELECT (arrayConcat([{no_key}], groupArray(key)), arrayConcat([''], groupArray(text)))
    FROM (SELECT {key} AS key, {text} AS text
            FROM {rows})
   WHERE isNotNull(text))"""
_FOUND: Final = "transform({key}, tupleElement({known}, 1), tupleElement({known}, 2), '')"
_MICROS: Final = "toString(toUnixTimestamp64Micro(created_at))"


@dataclass(frozen=True, slots=True)
class EventColumns:
    """The columns that the expressions of one statement read.

    Attributes:
        project: The condition on the project.
        rows: What follows FROM to read the rows of `events` of the statement.
        columns: The properties of events with a dedicated column.
    """

    bindings: Bindings
    project: str
    rows: str
    columns: DedicatedColumns
    sessions: SessionSource

    def text(self, path: ColumnPath) -> str:
        """Return the expression that reads a column, null without a value."""
        first, keys = path[0], path[1:]
        if first == "properties":
            return self._property(keys, self.rows, self.columns) if keys else "properties"
        if first == "session":
            return self._of_session(keys[0])
        if first == "person":
            return self._person() if keys == ("id",) else self._of_person(keys)
        if first in GROUPS:
            return self._of_group(GROUPS[first], keys)
        return _OWN.get(first, first)

    def _property(
        self, keys: Sequence[str], rows: str, columns: DedicatedColumns | None = None
    ) -> str:
        if len(keys) > 1:
            return path_text("properties", keys, self.bindings)
        if columns is None:
            return row_text(keys[0], self.bindings, rows)
        return row_text(keys[0], self.bindings, rows, columns)

    def _person(self) -> str:
        """Return the person of today: after a merge the one that is left."""
        known = _KNOWN.format(
            no_key=NO_PERSON,
            key="old_person",
            text="toString(new_person)",
            rows=f"person_overrides FINAL WHERE {self.project}",
        )
        return f"ifNull(toUUIDOrNull({_FOUND.format(key='person_id', known=known)}), person_id)"

    def _of_person(self, keys: Sequence[str]) -> str:
        rows = f"persons FINAL WHERE {self.project}"
        return self._known(self._person(), "person_id", NO_PERSON, rows, keys)

    def _of_group(self, index: int, keys: Sequence[str]) -> str:
        if keys == ("key",):
            return group_key(index)
        rows = group_rows(index, self.bindings, self.project)
        return self._known(group_key(index), "group_key", "''", rows, keys)

    def _known(self, own: str, key: str, no_key: str, rows: str, keys: Sequence[str]) -> str:
        """Return a value of the row of another table whose key is `own`.

        Texts are marked, since what is not found is an empty text.
        """
        is_time = keys[0] == "created_at"
        text = _MICROS if is_time else f"concat('=', {self._property(keys[1:], rows)})"
        known = _KNOWN.format(no_key=no_key, key=key, text=text, rows=rows)
        found = _FOUND.format(key=own, known=known)
        if is_time:
            return f"fromUnixTimestamp64Micro(toInt64OrNull({found}), 'UTC')"
        return f"substring(nullIf({found}, ''), 2)"

    def _of_session(self, field: str) -> str:
        shown = self.sessions.text(field)
        kind = FIELDS[field]
        if kind == "number":
            return f"toFloat64OrNull({shown})"
        if kind == "boolean":
            return f"(nullIf({shown}, '') = 'true')"
        if kind == "time":
            return f"parseDateTime64BestEffortOrNull({shown}, 6, 'UTC')"
        return f"nullIf({shown}, '')"
