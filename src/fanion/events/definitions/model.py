"""Event definitions: queries of their list, and the changes that are recorded as activity.

source: capture.md section 7
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from fanion.errors import Invalid

# The fields whose changes the activity log records, in this order.
LOGGED_FIELDS = ("name", "created_at", "last_seen_at", "tags", "post_to_chat")

EVENT_TYPES = ("event", "event_custom", "event_posthog")
_ORDERINGS = ("name", "last_seen_at", "last_seen_at::date")
WORDS_MAX = 20  # of a search; each is three comparisons


@dataclass(frozen=True, slots=True)
class EventDefinition:
    id: UUID
    project_id: int
    name: str
    created_at: datetime | None
    last_seen_at: datetime | None
    last_updated_at: datetime | None
    tags: list[str]
    post_to_chat: bool

    def logged_fields(self) -> dict[str, Any]:
        """Its fields as JSON."""
        values: dict[str, Any] = msgspec.to_builtins(
            {one: getattr(self, one) for one in LOGGED_FIELDS}
        )
        return values


@dataclass(frozen=True, slots=True)
class Ordering:
    """Ascending with nulls first, descending with nulls last. by_day: the time of day is
    left out of account"""

    field: str
    descending: bool = False
    by_day: bool = False


DEFAULT_ORDER = (Ordering("last_seen_at", descending=True, by_day=True), Ordering("name"))


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionQuery:
    """words:    each of which must occur in the name, in any case
    order:    what decides first stands first
    excluded: names to leave out
    hidden:   only those that are, or are not; None for all
    """

    words: Sequence[str] = ()
    order: Sequence[Ordering] = DEFAULT_ORDER
    event_type: str = "event"
    excluded: Sequence[str] = ()
    hidden: bool | None = None
    limit: int = 100
    offset: int = 0


def read_order(texts: Iterable[str]) -> Sequence[Ordering]:
    """What is no ordering is passed over; when nothing is left, the default."""
    orders = [
        Ordering(
            name.partition("::")[0], descending=text.startswith("-"), by_day=name.endswith("::date")
        )
        for text in texts
        if (name := text.removeprefix("-")) in _ORDERINGS
    ]
    return list(dict.fromkeys([*orders, Ordering("name")])) if orders else DEFAULT_ORDER


def read_words(search: str | None) -> Sequence[str]:
    return (search or "").split()[:WORDS_MAX]


def read_names(text: str | None, parameter: str) -> list[str]:
    """A query parameter that is a JSON list of names. raises: Invalid"""
    if not text:
        return []
    try:
        names = msgspec.json.decode(text, type=list[str])
    except (msgspec.DecodeError, RecursionError):
        raise Invalid("Must be a JSON list of names.", attr=parameter) from None
    return [name for name in names if "\0" not in name]
