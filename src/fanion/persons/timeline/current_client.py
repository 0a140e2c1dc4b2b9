"""The identity with which a person's client requests flags, taken from the newest events."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Struct, field

from fanion.events.event import PersonEvent
from fanion.wire.distinct_id import stored_distinct_id

# The newest events among which those of a browser or an app are sought.
EVENTS_MAX = 100


class CurrentClient(Struct, frozen=True, kw_only=True):
    """The identity that the client of a person sends with a request for flags.

    Attributes:
        groups: Group type → group key.
        seen_at: The time of its newest event; None if the person has no events.
    """

    distinct_id: str
    groups: Mapping[str, str] = {}
    device_id: str | None = None
    seen_at: datetime | None = None


class _Sent(Struct, gc=False):
    """The properties that clients add to each event."""

    groups: Any = field(name="$groups", default=None)
    device_id: Any = field(name="$device_id", default=None)
    session_id: Any = field(name="$session_id", default=None)
    anon_distinct_id: Any = field(name="$anon_distinct_id", default=None)

    @property
    def is_of_device(self) -> bool:
        """Return whether a browser or an app sent the event, rather than a server."""
        return isinstance(self.device_id, str) or isinstance(self.session_id, str)


_decode = msgspec.json.Decoder(_Sent).decode


def client_of_events(events: Sequence[PersonEvent]) -> CurrentClient | None:
    """Return the client of the newest event, preferably of one by a browser or an app.

    An anonymous id is replaced by the id with which its browser was identified: a browser gets
    another anonymous id when it is signed out.

    Args:
        events: Newest first.
    """
    read = [(event, _decode(event.properties or b"{}")) for event in events]
    if not read:
        return None
    event, sent = next((pair for pair in read if pair[1].is_of_device), read[0])
    distinct_id = _identified(event.distinct_id, read)
    if distinct_id != event.distinct_id:
        own = (pair for pair in read if pair[0].distinct_id == distinct_id)
        event, sent = next(own, (event, sent))
    return CurrentClient(
        distinct_id=distinct_id,
        groups=_groups(sent.groups),
        device_id=sent.device_id if isinstance(sent.device_id, str) else None,
        seen_at=read[0][0].timestamp,
    )


def client_of_ids(distinct_ids: Sequence[str]) -> CurrentClient | None:
    """Return the client of a person without events: anonymous ids are UUIDs, others come first."""
    if not distinct_ids:
        return None
    return CurrentClient(distinct_id=min(distinct_ids, key=lambda text: (_is_uuid(text), text)))


def _identified(distinct_id: str, read: Sequence[tuple[PersonEvent, _Sent]]) -> str:
    for event, sent in read:
        anonymous = sent.anon_distinct_id
        if event.event != "$identify" or not isinstance(anonymous, str):
            continue
        if stored_distinct_id(anonymous) == distinct_id:
            return event.distinct_id
    return distinct_id


def _groups(sent: Any) -> Mapping[str, str]:
    if not isinstance(sent, dict):
        return {}
    return {
        name: key if isinstance(key, str) else msgspec.json.encode(key).decode()
        for name, key in sent.items()
        if isinstance(key, str | int | float) and not isinstance(key, bool)
    }


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
