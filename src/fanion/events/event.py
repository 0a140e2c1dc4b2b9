"""The events and persons of the event store, its queries and its errors."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final, Self
from uuid import UUID
from zoneinfo import ZoneInfo

from msgspec import Struct
from msgspec.msgpack import Decoder

from fanion.properties.filters import Node, Property

NO_PERSON = UUID(int=0)
_LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)
DAYS = 30
# Clocks differ a little; lists that end now must not miss an event of the present moment.
FUTURE: Final = timedelta(seconds=5)


class Event(Struct, frozen=True, gc=False):
    """An event in the event store. Times are aware, in UTC; properties are a JSON object.

    Attributes:
        person_id: For an event without a person, the person that its distinct id would get.
        values: The decoded properties of an event to be stored. Without them, encoding costs more.
    """

    project_id: int
    uuid: UUID
    event: str
    distinct_id: str
    person_id: UUID
    timestamp: datetime
    received_at: datetime
    properties: bytes
    values: Mapping[str, Any] | None = None


class EventQuery(Struct, frozen=True):
    """A query for events, newest first unless `ascending`; `after` and `before` are exclusive.

    Attributes:
        person_id: The surviving person. Events of persons merged into it count as its own.
        properties: Conditions on the event or its person, all of which must hold.
        cursor: The last row of the previous page. Events behind it in the order are included, at
            the instant of `before` (ascending: of `after`).
        received_after: Exclusive; for the time of acceptance.
        now: The moment from which relative dates in `properties` count back.
        action: The condition of an action whose events are wanted.
    """

    event: str | None = None
    distinct_id: str | None = None
    person_id: UUID | None = None
    after: datetime | None = None
    before: datetime | None = None
    limit: int = 100
    ascending: bool = False
    properties: tuple[Property, ...] = ()
    cursor: UUID | None = None
    received_after: datetime | None = None
    now: datetime = datetime.max.replace(tzinfo=UTC)
    action: Node | None = None


class PersonEvent(Struct, frozen=True, gc=False):
    """An event of a person's timeline, with only the fields that it needs.

    Attributes:
        session_id: Empty if it has none.
        properties: A JSON object; empty if it is too long to be read.
    """

    uuid: UUID
    event: str
    distinct_id: str
    timestamp: datetime
    received_at: datetime
    session_id: str
    properties: bytes


class PersonEventQuery(Struct, frozen=True):
    """A query for the events of a surviving person and those merged into it, newest first.

    Attributes:
        distinct_ids: All that the person has, if they are few: they lead to its events faster.
        before: Exclusive.
        cursor: An event at the instant of `before`. Events behind it in the order are included.
        with_cursor: Whether to include the event of the cursor itself.
    """

    person_id: UUID
    distinct_ids: tuple[str, ...]
    before: datetime
    limit: int
    cursor: UUID | None = None
    with_cursor: bool = False


class PersonRow(Struct, frozen=True):
    """A person as mirrored into the event store. The highest version wins.

    Attributes:
        values: The decoded properties, as of an event.
    """

    project_id: int
    person_id: UUID
    properties: bytes
    created_at: datetime
    version: int
    is_deleted: bool = False
    values: Mapping[str, Any] | None = None

    @classmethod
    def gone(cls, project_id: int, person_id: UUID, version: int) -> Self:
        """Return the row of a person that was merged or deleted."""
        return cls(project_id, person_id, b"{}", _LONG_AGO, version, is_deleted=True, values={})


class GroupRow(Struct, frozen=True):
    """A group as mirrored into the event store. The highest version wins.

    Attributes:
        values: The decoded properties, as of an event.
    """

    project_id: int
    group_type_index: int
    group_key: str
    properties: bytes
    created_at: datetime
    version: int
    is_deleted: bool = False
    values: Mapping[str, Any] | None = None


class Override(Struct, frozen=True):
    """A merge: events of `old_person` count for `new_person`. The highest version wins."""

    project_id: int
    old_person: UUID
    new_person: UUID
    version: int


class EventStoreUnavailable(Exception):
    """The error when the store cannot answer now, because it is unreachable or out of a resource.

    It may be full, or out of memory or time. The data is not at fault, and the same call may
    succeed later. The text is one line without content of events.
    """


class StatementFailed(EventStoreUnavailable):
    """The error when an available store failed to execute a statement.

    The statement took too much memory or time, or is not supported. Others may succeed.

    Attributes:
        code: The engine's error code; 0 if it is not known.
    """

    def __init__(self, reason: str, code: int = 0) -> None:
        super().__init__(reason)
        self.code = code


class EventRejected(Exception):
    """The error when a row of an insert can never be stored. Halving the batch finds the row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """The deletion of a person, until all stores have completed it.

    Attributes:
        persons: The person and all that were merged into it.
        version: The highest that any of them can have. A person that returns has a higher one.
        with_events: Whether its events are deleted too.
        requested_at: Applies to what was accepted until then. A person that returns later is new.
    """

    id: int
    project_id: int
    persons: tuple[UUID, ...]
    distinct_ids: frozenset[str]
    version: int
    with_events: bool
    requested_at: datetime


@dataclass(frozen=True, slots=True)
class Days:
    """The last days, up to today, in a time zone.

    Attributes:
        start: In UTC.
        end: In UTC, exclusive.
    """

    zone: str
    first: date
    number: int
    start: datetime
    end: datetime

    def counted(self, counts: Mapping[date, int]) -> list[tuple[date, int]]:
        """Return every day with its count, the oldest first, including days without events."""
        days = (self.first + timedelta(days=number) for number in range(self.number))
        return [(day, counts.get(day, 0)) for day in days]


def last_days(now: datetime, zone: str, number: int = DAYS) -> Days:
    """Return the last days up to today. A day begins at the zone's midnight, however long it is.

    Args:
        now: An aware time.
        zone: An IANA name.
    """
    here = ZoneInfo(zone)
    today = now.astimezone(here).date()
    first = today - timedelta(days=number - 1)
    return Days(zone, first, number, _midnight(first, here), _midnight(_next(today), here))


def _next(day: date) -> date:
    return day + timedelta(days=1)


def _midnight(day: date, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, time(), zone).astimezone(UTC)


_decode_uuid = Decoder(UUID).decode
_16_BYTES = b"\xc4\x10"  # the prefix of 16 bytes in MessagePack


def uuid_of(number: int) -> UUID:
    """Return the UUID of a 128-bit number, in less than half the time of `UUID(int=…)`."""
    return _decode_uuid(_16_BYTES + number.to_bytes(16))
