"""Events and persons as stored by the event store, its queries and its errors."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final, Self
from uuid import UUID
from zoneinfo import ZoneInfo

from msgspec import Struct
from msgspec.msgpack import Decoder

from fanion.properties.filters import Property

NO_PERSON = UUID(int=0)
_LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)
DAYS = 30


class Event(Struct, frozen=True, gc=False):
    """timestamp and received_at: aware, UTC; properties: JSON object

    person_id: for an event without a person the one that its distinct id would get; NO_PERSON as
               earlier versions stored it
    values:    the decoded properties of an event to be stored; without them encoding costs more
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
    """Newest first unless `ascending`; `after` and `before` are exclusive.

    person_id:  the surviving person; events of persons merged into it count as its own
    properties: conditions on the event or its person, all of which hold
    cursor:     last row of the previous page: of the instant of `before` (ascending: of `after`),
                events behind this one in the order are included
    received_after: exclusive; of the acceptance
    now:        relative dates in `properties` count back from it
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


class PersonEvent(Struct, frozen=True, gc=False):
    """An event of a person's timeline, without what it does not need.

    session_id: empty if it has none
    properties: JSON object; empty if it is too long to be read
    """

    uuid: UUID
    event: str
    distinct_id: str
    timestamp: datetime
    received_at: datetime
    session_id: str
    properties: bytes


class PersonEventQuery(Struct, frozen=True):
    """Newest first, of a surviving person and those merged into it.

    distinct_ids: all that it has, where they are few: they lead to its events faster
    before:       exclusive
    cursor:       of the instant of `before`, events behind this one in the order are included;
                  with_cursor: and this one
    """

    person_id: UUID
    distinct_ids: tuple[str, ...]
    before: datetime
    limit: int
    cursor: UUID | None = None
    with_cursor: bool = False


class PersonRow(Struct, frozen=True):
    """A person as mirrored into the event store; the highest version wins.

    values: as of an event
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
        """Of a person that was merged or deleted."""
        return cls(project_id, person_id, b"{}", _LONG_AGO, version, is_deleted=True, values={})


class GroupRow(Struct, frozen=True):
    """A group as mirrored into the event store; the highest version wins.

    values: as of an event
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
    """Events of `old_person` count for `new_person`; the highest version wins."""

    project_id: int
    old_person: UUID
    new_person: UUID
    version: int


class EventStoreUnavailable(Exception):
    """The store cannot answer now (unreachable, full, out of memory or time); the data is not at
    fault.

    The text is one line without content of events. The same call may succeed later.
    """


class StatementFailed(EventStoreUnavailable):
    """The store is available, but failed to execute this statement: it took too much memory or
    time, or is not supported. Others may succeed. code: of the engine, 0 if it is not known"""

    def __init__(self, reason: str, code: int = 0) -> None:
        super().__init__(reason)
        self.code = code


class EventRejected(Exception):
    """A row of this insert can never be stored; halving the batch finds it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """The deletion of a person, until all stores have completed it.

    persons:      the person and all that were merged into it
    version:      the highest that any of them can have; a person that returns has a higher one
    with_events:  whether its events are deleted too
    requested_at: applies to what was accepted until then; a person that returns later is new
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
    """The last days, up to today, in a time zone. start and end: UTC, [start, end)"""

    zone: str
    first: date
    number: int
    start: datetime
    end: datetime

    def counted(self, counts: Mapping[date, int]) -> list[tuple[date, int]]:
        """Every day with its count, the oldest first; those without events too."""
        days = (self.first + timedelta(days=place) for place in range(self.number))
        return [(day, counts.get(day, 0)) for day in days]


def last_days(now: datetime, zone: str, number: int = DAYS) -> Days:
    """now: aware; zone: IANA name. A day begins at the zone's midnight, however long it is."""
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
    """Of 128 bits; in less than half of the time that `UUID(int=…)` takes."""
    return _decode_uuid(_16_BYTES + number.to_bytes(16))
