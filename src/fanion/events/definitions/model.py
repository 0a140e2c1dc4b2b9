"""Event definitions, and queries of their list.

Source: capture.md sections 6 and 7.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import Meta, Struct

from fanion.errors import Invalid

EVENT_TYPES = ("event", "event_custom", "event_posthog")
_ORDERINGS = ("name", "last_seen_at", "last_seen_at::date")
WORDS_MAX = 20  # words of a search; each one costs three comparisons


class PlainEventDefinition(Struct, frozen=True, kw_only=True):
    """The fields of an event definition that users set: those that are exported and imported."""

    name: str
    created_at: datetime | None
    last_seen_at: datetime | None
    tags: list[str]
    post_to_chat: bool


# Fields whose changes are recorded in the activity log.
RECORDED = PlainEventDefinition.__struct_fields__


class EventDefinitionRecord(PlainEventDefinition, frozen=True, kw_only=True):
    """An event definition as it is stored and returned."""

    id: UUID
    last_updated_at: datetime | None


class EventDefinition(EventDefinitionRecord, frozen=True, kw_only=True):
    """The definition of an event of a project."""

    project_id: int

    def recorded_fields(self) -> dict[str, Any]:
        """Return the recorded fields as JSON."""
        values: dict[str, Any] = msgspec.to_builtins(
            {name: getattr(self, name) for name in RECORDED}
        )
        return values


class Marks(Struct, frozen=True, kw_only=True):
    """The marks that users gave an event; never both."""

    hidden: Annotated[bool, Meta(description="Hidden from lists of suggestions.")]
    verified: Annotated[bool, Meta(description="Known to be correct. Excludes `hidden`.")]


def check_marks(marks: Marks) -> None:
    if marks.hidden and marks.verified:
        raise Invalid("An event cannot be both hidden and verified.")


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
        hidden: True, False, or None for any.
        verified: True, False, or None for any.
    """

    words: Sequence[str] = ()
    order: Sequence[Ordering] = DEFAULT_ORDER
    event_type: str = "event"
    excluded: Sequence[str] = ()
    hidden: bool | None = None
    verified: bool | None = None
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
