"""Everything that is stored about one person, written as pieces of one JSON document."""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Protocol
from uuid import UUID

import msgspec
from msgspec import Struct

from fanion.events.event import Event
from fanion.persons.store import Person

_GZIP = 16  # added to the window size, zlib then writes a gzip member

_encode = msgspec.json.Encoder().encode


class AcceptedItem(Struct, frozen=True, kw_only=True):
    """An item that was accepted for a person and is not stored as an event.

    Attributes:
        state: `waiting` for ingestion, or `failed`: part of a dead letter.
        item: As it was sent; None if the request names the person but cannot be read.
    """

    state: Literal["waiting", "failed"]
    received_at: datetime
    item: Mapping[str, Any] | None


class ExportedEvent(Struct, frozen=True, kw_only=True):
    id: UUID
    event: str
    distinct_id: str
    timestamp: datetime
    received_at: datetime
    properties: msgspec.Raw


class ExportedPerson(Struct, frozen=True, kw_only=True):
    """A person with the ids of those that were merged into it."""

    uuid: UUID
    created_at: datetime
    is_identified: bool
    distinct_ids: Sequence[str]
    merged_persons: Sequence[UUID]
    properties: Mapping[str, Any]


class ExportedProject(Struct, frozen=True, kw_only=True):
    id: int
    name: str


class ExportedCohort(Struct, frozen=True, kw_only=True):
    id: int
    name: str
    is_static: bool


class CohortOfPerson(Protocol):
    """A cohort that had a person at its last calculation."""

    @property
    def id(self) -> int: ...
    @property
    def name(self) -> str | None: ...
    @property
    def is_static(self) -> bool: ...


class ExportHead(Struct, frozen=True, kw_only=True):
    """The fields of the document before its two long lists."""

    exported_at: datetime
    project: ExportedProject
    person: ExportedPerson
    cohorts: Sequence[ExportedCohort]


def exported_person(person: Person, merged: Sequence[UUID]) -> ExportedPerson:
    return ExportedPerson(
        uuid=person.uuid,
        created_at=person.created_at,
        is_identified=person.is_identified,
        distinct_ids=person.distinct_ids,
        merged_persons=merged,
        properties=person.properties,
    )


def exported_cohorts(cohorts: Iterable[CohortOfPerson]) -> list[ExportedCohort]:
    return [
        ExportedCohort(id=cohort.id, name=cohort.name or "", is_static=cohort.is_static)
        for cohort in cohorts
    ]


def head_text(head: ExportHead) -> bytes:
    """Return the document up to the beginning of the accepted items."""
    return _encode(head)[:-1] + b',"accepted_events":[\n'


def list_text(members: Iterable[Struct], *, is_first: bool) -> bytes:
    """Return members of a list, each on a line of its own."""
    text = b",\n".join(map(_encode, members))
    return text if is_first or not text else b",\n" + text


EVENTS_TEXT = b'\n],"events":[\n'


def end_text(accepted_events: int, events: int) -> bytes:
    """Return the end of the document, which a file that was broken off lacks."""
    return b'\n],"counts":' + _encode({"accepted_events": accepted_events, "events": events}) + b"}"


def exported_events(events: Iterable[Event]) -> list[ExportedEvent]:
    return [
        ExportedEvent(
            id=event.uuid,
            event=event.event,
            distinct_id=event.distinct_id,
            timestamp=event.timestamp,
            received_at=event.received_at,
            properties=msgspec.Raw(event.properties),
        )
        for event in events
    ]


class Packer:
    """The compression of a document: gzip, or none."""

    def __init__(self, *, is_packed: bool) -> None:
        level, window = zlib.Z_DEFAULT_COMPRESSION, zlib.MAX_WBITS + _GZIP
        self._gzip = zlib.compressobj(level, zlib.DEFLATED, window) if is_packed else None

    def pack(self, text: bytes) -> bytes:
        return text if self._gzip is None else self._gzip.compress(text)

    def finish(self) -> bytes:
        return b"" if self._gzip is None else self._gzip.flush()
