"""Events as the source returns them, and as they are handed in here."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Struct

from fanion.groups.model import GROUP_TYPES_MAX

_DERIVED = tuple(f"$group_{index}" for index in range(GROUP_TYPES_MAX))
_encode = msgspec.json.Encoder().encode


class TimedRow(Struct):
    """The fields that a row must have so that pages can continue after it."""

    timestamp: datetime

    @property
    def time(self) -> datetime:
        """The time in UTC, which is also the zone of times without one."""
        time = self.timestamp
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


class PosthogEvent(TimedRow):
    id: UUID
    event: str
    distinct_id: str
    properties: dict[str, Any] = {}
    elements_chain: str | None = None


Row = PosthogEvent | TimedRow | None


def read_row(raw: object) -> Row:
    """Return the event; only its time if other fields cannot be read, or None without a time."""
    for kind in (PosthogEvent, TimedRow):
        try:
            return msgspec.convert(raw, kind)
        except msgspec.ValidationError:
            continue
    return None


def item_of(event: PosthogEvent) -> bytes:
    """Return the body of a capture request for the event, with its own id and time."""
    return _encode(
        {
            "event": event.event,
            "distinct_id": event.distinct_id,
            "uuid": event.id,
            "timestamp": event.time.isoformat(),
            "properties": own_properties(event.properties, event.elements_chain),
        }
    )


def own_properties(given: Mapping[str, Any], elements_chain: str | None) -> dict[str, Any]:
    """Return the properties with the elements, without what is derived from other properties."""
    properties = dict(given)
    if "$groups" in properties:
        # Derived from the groups and the indexes of their types, which differ between projects.
        for name in _DERIVED:
            properties.pop(name, None)
    if elements_chain:
        properties.setdefault("$elements_chain", elements_chain)
    return properties
