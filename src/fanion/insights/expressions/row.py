"""The columns of one event that an expression in SQL within a question may name.

Source: insights.md, section 10a.
"""

from collections.abc import Sequence
from typing import Final

from fanion.insights.breakdowns import GROUP_TYPES_MAX
from fanion.insights.expressions.model import ColumnPath, mark
from fanion.insights.expressions.scope import Column
from fanion.insights.sessions.fields import FIELDS

# The event store looks first whether any row has an object under each of them.
PROPERTIES_MAX: Final = 100
EVENT_COLUMNS: Final = ("uuid", "event", "distinct_id")
# Columns that are a property of the event.
OF_PROPERTIES: Final = {
    "elements_chain": "$elements_chain",
    "$session_id": "$session_id",
    "$window_id": "$window_id",
}
GROUPS: Final = {f"group_{index}": index for index in range(GROUP_TYPES_MAX)}
_TIMES: Final = ("timestamp", "created_at")


class EventRow:
    """A row of `events`, whose columns become marks.

    Args:
        zone: The time zone of the project, as an expression.

    Attributes:
        paths: The columns that were named, by the numbers of their marks.
    """

    def __init__(self, zone: str) -> None:
        self.paths: list[ColumnPath] = []
        self._zone = zone

    def column(self, parts: Sequence[str]) -> Column | None:
        first, keys = parts[0], tuple(parts[1:])
        if first == "properties":
            return self._property(first, keys)
        if keys:
            return self._of_others(first, keys)
        if first in EVENT_COLUMNS:
            return Column(self._mark(first), is_set=True)
        if first in _TIMES:
            return self._time(first, is_set=True)
        if first in OF_PROPERTIES:
            return self._property("properties", (OF_PROPERTIES[first],))
        if first == "person_id":
            return Column(self._mark("person", "id"), is_set=True)
        if first.startswith("$") and first[1:] in GROUPS:
            return Column(self._mark(first[1:], "key"), is_set=True)
        return None

    def _mark(self, *path: str) -> str:
        if path not in self.paths:
            self.paths.append(path)
        return mark(self.paths.index(path))

    def _time(self, *path: str, is_set: bool = False) -> Column:
        moment = self._mark(*path)
        return Column(f"toTimeZone({moment}, {self._zone})", "time", moment, is_set)

    def _property(self, first: str, keys: tuple[str, ...]) -> Column:
        return Column(self._mark(first, *keys), "value" if keys else "json", is_set=not keys)

    def _of_others(self, first: str, keys: tuple[str, ...]) -> Column | None:
        """Return a column of the person, of a group or of the session."""
        if first == "session":
            return self._of_session(keys)
        if first != "person" and first not in GROUPS:
            return None
        if keys[0] == "properties" and len(keys) > 1:
            return Column(self._mark(first, *keys))
        if keys == ("created_at",):
            return self._time(first, *keys)
        if keys == (("id",) if first == "person" else ("key",)):
            return Column(self._mark(first, *keys), is_set=True)
        return None

    def _of_session(self, keys: tuple[str, ...]) -> Column | None:
        if keys in (("id",), ("session_id",)):
            return self._property("properties", ("$session_id",))
        if len(keys) > 1 or keys[0] not in FIELDS:
            return None
        if FIELDS[keys[0]] == "time":
            return self._time("session", *keys)
        return Column(self._mark("session", *keys))
