"""An event as the API shows it.

Source: capture.md section 8.
"""

from collections.abc import Mapping
from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import Meta, Struct

from fanion.events.event import Event


class PersonOfEvent(Struct, kw_only=True):
    """The person of an event. Its properties are only `email`, `name` and `username`."""

    is_identified: bool
    distinct_ids: list[str]
    properties: dict[str, Any]


class EventBody(Struct, kw_only=True):
    id: UUID
    distinct_id: str
    properties: dict[str, Any]
    event: str
    timestamp: Annotated[str, Meta(description="ISO 8601 with offset.")]
    person: PersonOfEvent | None
    elements: list[Any]
    elements_chain: str


def event_body(event: Event, persons: Mapping[str, PersonOfEvent]) -> EventBody:
    """Return the body of an event, whose person is looked up by distinct id."""
    properties = msgspec.json.decode(event.properties)
    return EventBody(
        id=event.uuid,
        distinct_id=event.distinct_id,
        properties=properties,
        event=event.event,
        timestamp=event.timestamp.isoformat(),
        person=persons.get(event.distinct_id),
        elements=[],
        elements_chain=properties.get("$elements_chain", ""),
    )
