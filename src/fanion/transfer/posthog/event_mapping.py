"""An event as a source lists it, made into an item that capture takes."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Struct

from fanion.groups.model import GROUP_TYPES_MAX

_DERIVED = tuple(f"$group_{index}" for index in range(GROUP_TYPES_MAX))
_encode = msgspec.json.Encoder().encode


class EventBody(Struct):
    id: UUID
    event: str
    distinct_id: str
    timestamp: datetime
    properties: dict[str, Any] = {}
    elements_chain: str | None = None


def read_events(raw: Sequence[object]) -> tuple[list[EventBody], int]:
    """In the order given, and how many could not be read."""
    found: list[EventBody] = []
    for one in raw:
        try:
            found.append(msgspec.convert(one, EventBody))
        except msgspec.ValidationError:
            continue
    return found, len(raw) - len(found)


def time_of(body: EventBody) -> datetime:
    """Without a zone it is UTC."""
    time = body.timestamp
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def item_of(body: EventBody) -> bytes:
    """With its own id and time, so that it is stored once however often it is sent."""
    return _encode(
        {
            "event": body.event,
            "distinct_id": body.distinct_id,
            "uuid": body.id,
            "timestamp": time_of(body).isoformat(),
            "properties": _properties(body),
        }
    )


def _properties(body: EventBody) -> Mapping[str, Any]:
    properties = dict(body.properties)
    if "$groups" in properties:
        # Made of the groups and of the indexes that their types have: here they may be others.
        for name in _DERIVED:
            properties.pop(name, None)
    if body.elements_chain:
        properties.setdefault("$elements_chain", body.elements_chain)
    return properties
