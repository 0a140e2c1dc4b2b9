"""Event definitions, and queries of their list.

Source: capture.md sections 6 and 7.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Struct

from fanion.errors import Invalid
from fanion.events.definitions.details import DetailQuery, Details

EVENT_TYPES = ("event", "event_custom", "event_posthog")
_ORDERINGS = ("name", "last_seen_at", "last_seen_at::date")
WORDS_MAX = 20  # words of a search; each one costs three comparisons


class PlainEventDefinition(Struct, frozen=True, kw_only=True):
    """The fields of an event definition, besides its details, that are exported and imported."""

    name: str
    created_at: datetime | None
    last_seen_at: datetime | None
    post_to_chat: bool


# Fields whose changes are recorded in the activity log, in addition to the details.
RECORDED = PlainEventDefinition.__struct_fields__


class EventDefinitionRecord(Details, frozen=True, kw_only=True):
    """An event definition as it is stored and returned."""

    id: UUID
    name: str
    created_at: datetime | None
    last_seen_at: datetime | None
    last_updated_at: datetime | None
    post_to_chat: bool


class EventDefinition(EventDefinitionRecord, frozen=True, kw_only=True):
    """The definition of an event of a project."""

    project_id: int

    def recorded_fields(self) -> dict[str, Any]:
        """Return the fields whose changes are recorded in the activity log, as JSON."""
        own = {name: getattr(self, name) for name in RECORDED}
        return {**msgspec.to_builtins(own), **self.recorded_details}


@dataclass(frozen=True, slots=True)
class Ordering:
    """An order: ascending with nulls first, or descending with nulls last.

    Attributes:
        by_day: Whether the time of day is ignored.
    """

    field: str
    descending: bool = False
    by_day: bool = False


DEFAULT_ORDER = (Ordering("last_seen_at", descending=True, by_day=True), Ordering("name"))


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionQuery:
    """A query for event definitions.

    Attributes:
        words: Words that must all occur in the name, in any case.
        order: The most significant first.
        excluded: Names to leave out.
    """

    words: Sequence[str] = ()
    order: Sequence[Ordering] = DEFAULT_ORDER
    event_type: str = "event"
    excluded: Sequence[str] = ()
    details: DetailQuery = field(default_factory=DetailQuery)
    limit: int = 100
    offset: int = 0


def read_order(texts: Iterable[str]) -> Sequence[Ordering]:
    """Return the known orderings among these, or the default if there is none."""
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
    """Parse a query parameter that is a JSON list of names.

    Raises:
        Invalid: The text is something else.
    """
    if not text:
        return []
    try:
        names = msgspec.json.decode(text, type=list[str])
    except (msgspec.DecodeError, RecursionError):
        raise Invalid("Must be a JSON list of names.", attr=parameter) from None
    return [name for name in names if "\0" not in name]
