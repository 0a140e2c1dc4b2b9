"""The server-sent events of a stream of live events."""

from enum import StrEnum
from typing import Any, cast

import msgspec
from msgspec import Struct

from fanion.events.event_body import EventBody, PersonOfEvent
from fanion.events.live.ring import LiveEvent
from fanion.wire.event_stream import encode_message

RETRY_MS = 2_000  # after this time a browser connects again
OPENING = f"retry: {RETRY_MS}\n\n".encode()

_encode = msgspec.json.Encoder().encode


class Reason(StrEnum):
    """A reason why events were not sent."""

    SLOW = "slow"  # the client read too slowly
    # The event of Last-Event-ID, or later ones, are no longer in memory.
    RECONNECTED = "reconnected"
    TOO_LARGE = "too_large"  # for a stream; it can be read from /events/


class Skipped(Struct):
    """The message about events that were not sent.

    Attributes:
        events: None if their number is unknown.
    """

    events: int | None
    reason: Reason


class Sample(Struct):
    """The message before a sample of events.

    Attributes:
        events: The number of events that match the filter.
        shown: How many of them follow.
        per_second: The rate of `events`.
    """

    events: int
    shown: int
    per_second: float


def event_message(event: LiveEvent, person: PersonOfEvent | None) -> bytes:
    """Return an event as in the list of events. Its JSON has no line ends."""
    body = EventBody(
        id=event.uuid,
        distinct_id=event.distinct_id,
        properties=cast("dict[str, Any]", msgspec.Raw(event.properties)),
        event=event.event,
        timestamp=event.timestamp.isoformat(),
        person=person,
        elements=[],
        elements_chain=cast("str", msgspec.Raw(event.elements_chain)),
    )
    return encode_message(_encode(body), event_id=event.position)


def skipped_message(events: int | None, reason: Reason) -> bytes:
    return encode_message(_encode(Skipped(events, reason)), event="skipped")


def sample_message(sample: Sample) -> bytes:
    return encode_message(_encode(sample), event="sample")
