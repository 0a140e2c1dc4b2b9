"""The names that a query in SQL may have, for clients that complete what is typed.

Source: insights.md, section 10a.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from fanion.insights.expressions.functions import (
    AGGREGATES,
    FUNCTIONS,
    TEMPLATES,
    WINDOW_FUNCTIONS,
)
from fanion.insights.expressions.row import GROUPS
from fanion.insights.sessions.fields import FIELDS

_OF_PERSONS: Final = ("id", "created_at", "properties")
_OF_GROUPS: Final = ("key", "created_at", "properties")

# The columns of each table, with those of what belongs to an event.
TABLES: Final[Mapping[str, Sequence[str]]] = {
    "events": (
        *("uuid", "event", "timestamp", "created_at", "distinct_id", "person_id", "properties"),
        *("elements_chain", "$session_id", "$window_id"),
        *(f"${group}" for group in GROUPS),
        *(f"person.{name}" for name in _OF_PERSONS),
        *(f"{group}.{name}" for group in GROUPS for name in _OF_GROUPS),
        *(f"session.{name}" for name in FIELDS),
    ),
    "persons": _OF_PERSONS,
    "groups": ("index", *_OF_GROUPS),
    "sessions": ("session_id", *FIELDS),
    "cohorts": ("id", "name", "count", "is_static"),
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
