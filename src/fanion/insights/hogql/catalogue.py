"""The names that a query in SQL may have, for clients that complete what is typed.

Source: insights.md, section 10a.
"""

from collections.abc import Mapping
from typing import Final, Literal

from fanion.insights.expressions.functions import (
    AGGREGATES,
    FUNCTIONS,
    TEMPLATES,
    WINDOW_FUNCTIONS,
)
from fanion.insights.expressions.row import GROUPS
from fanion.insights.sessions.fields import FIELDS, FieldType

# The words of PostHog for the types of columns.
ColumnType = Literal["string", "integer", "float", "datetime", "boolean", "json"]

_TYPES: Final[Mapping[FieldType, ColumnType]] = {
    "text": "string",
    "number": "integer",
    "time": "datetime",
    "boolean": "boolean",
}
_TIME_AND_PROPERTIES: Final[Mapping[str, ColumnType]] = {
    "created_at": "datetime",
    "properties": "json",
}
_OF_PERSONS: Final[Mapping[str, ColumnType]] = {"id": "string", **_TIME_AND_PROPERTIES}
_OF_GROUPS: Final[Mapping[str, ColumnType]] = {"key": "string", **_TIME_AND_PROPERTIES}
_OF_SESSIONS: Final[Mapping[str, ColumnType]] = {
    name: _TYPES[field_type] for name, field_type in FIELDS.items()
}


def _within(owner: str, columns: Mapping[str, ColumnType]) -> dict[str, ColumnType]:
    return {f"{owner}.{name}": column_type for name, column_type in columns.items()}


# The columns of each table with their types, and those of what belongs to an event.
TABLES: Final[Mapping[str, Mapping[str, ColumnType]]] = {
    "events": {
        "uuid": "string",
        "event": "string",
        "timestamp": "datetime",
        "created_at": "datetime",
        "distinct_id": "string",
        "person_id": "string",
        "properties": "json",
        "elements_chain": "string",
        "$session_id": "string",
        "$window_id": "string",
        **{f"${group}": "string" for group in GROUPS},
        **_within("person", _OF_PERSONS),
        **{name: kind for group in GROUPS for name, kind in _within(group, _OF_GROUPS).items()},
        **_within("session", _OF_SESSIONS),
    },
    "persons": _OF_PERSONS,
    "groups": {"index": "integer", **_OF_GROUPS},
    "sessions": {"session_id": "string", **_OF_SESSIONS},
    "cohorts": {"id": "integer", "name": "string", "count": "integer", "is_static": "boolean"},
}
# Names of PostHog, as they are usually written.
_WRITTEN: Final = ("toInt", "toFloat", "toDecimal", "toUUID", "toBoolean", "toBoolOrNull")
FUNCTION_NAMES: Final = tuple(
    sorted(
        {*AGGREGATES.values(), *WINDOW_FUNCTIONS.values(), *FUNCTIONS.values(), *_WRITTEN},
        key=str.lower,
    )
)
assert TEMPLATES.keys() == {name.lower() for name in _WRITTEN}
