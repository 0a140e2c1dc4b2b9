"""The timeline of a person: what happened, newest first.

At one instant, events come in the order of their lists, each followed by the changes of properties
that it made; then cohorts, the one with the highest id first.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from heapq import merge
from typing import Any, Literal, get_args
from uuid import UUID

import msgspec
from msgspec import Struct

from fanion.errors import Invalid
from fanion.events.event import PersonEvent
from fanion.persons.timeline.automatic import AUTOMATIC
from fanion.persons.timeline.property_history import HistoryEvent, PropertyChange
from fanion.rest.unknown_fields import no_choice

Kind = Literal["event", "properties", "cohort"]
KINDS: tuple[Kind, ...] = get_args(Kind)
FLAG_CALLED = "$feature_flag_called"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Properties of an event that are decoded; of those of its location only the names count.
_READ = AUTOMATIC | {
    *("$set", "$set_once", "$unset", "$process_person_profile", "$anon_distinct_id", "alias"),
    *("$feature_flag", "$feature_flag_response"),
}
_LOCATED = "$geoip_"
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode = msgspec.json.Decoder().decode


class EnteredCohort(Struct, frozen=True):
    """A cohort that the person has entered.

    Attributes:
        timestamp: When the calculation or change that made the person a member was complete.
    """

    timestamp: datetime
    id: int
    name: str
    is_static: bool


class Position(Struct, frozen=True):
    """The position of an entry, such as the last one of a page.

    Attributes:
        id: The id of the event or of the cohort.
    """

    kind: Kind
    id: UUID | int

    @property
    def event_id(self) -> UUID | None:
        return self.id if isinstance(self.id, UUID) else None

    def cursor_text(self) -> str:
        return f"{self.kind}-{self.id}"


class Entry(Struct, frozen=True):
    """An entry of the timeline.

    Attributes:
        event: Set for the kinds `event` and `properties`.
        changes: Set for the kind `properties`.
        cohort: Set for the kind `cohort`.
    """

    kind: Kind
    timestamp: datetime
    event: HistoryEvent | None = None
    session_id: str = ""
    changes: Sequence[PropertyChange] = ()
    cohort: EnteredCohort | None = None

    @property
    def position(self) -> Position:
        if self.event is not None:
            return Position(self.kind, self.event.uuid)
        assert self.cohort is not None
        return Position(self.kind, self.cohort.id)


def read_kinds(text: str | None) -> frozenset[Kind]:
    """Parse kinds separated by commas; an empty text means all kinds.

    Raises:
        Invalid: A kind is unknown.
    """
    if not text:
        return frozenset(KINDS)
    names = text.split(",")
    for name in names:
        if name not in KINDS:
            raise no_choice(name, KINDS, "kind")
    return frozenset(kind for kind in KINDS if kind in names)


def read_position(text: str) -> Position:
    """Parse the cursor of a next link.

    Raises:
        Invalid: The text is not such a cursor.
    """
    kind, _, given = text.partition("-")
    try:
        if kind == "cohort" and given.isascii() and given.isdigit():
            return Position("cohort", int(given))
        if kind in ("event", "properties"):
            return Position("event" if kind == "event" else "properties", UUID(given))
    except ValueError:
        pass
    raise Invalid("Use the cursor of a next link.", attr="cursor")


def read_event(event: PersonEvent) -> HistoryEvent:
    """Return the event with the properties that a timeline needs."""
    return HistoryEvent(
        event.uuid,
        event.event,
        event.distinct_id,
        event.timestamp,
        event.received_at,
        _read_properties(event.properties) if event.properties else None,
    )


def _read_properties(properties: bytes) -> dict[str, Any]:
    members = _members(properties)
    decoded = {name: _decode(raw) for name, raw in members.items() if name in _READ}
    return decoded | {name: None for name in members if name.startswith(_LOCATED)}


def event_entries(
    events: Iterable[tuple[PersonEvent, HistoryEvent]],
    changes: Mapping[UUID, Sequence[PropertyChange]],
    kinds: frozenset[Kind],
    after: UUID | None = None,
) -> Iterator[Entry]:
    """Yield the entries of events, in the order of the events.

    Args:
        after: The event whose own entry has been shown.
    """
    for stored, event in events:
        if "event" in kinds and event.uuid != after:
            yield Entry("event", event.timestamp, event, stored.session_id)
        if "properties" in kinds and (made := changes.get(event.uuid)):
            yield Entry("properties", event.timestamp, event, stored.session_id, made)


def cohort_entries(
    cohorts: Iterable[EnteredCohort], before: datetime, after: Position | None
) -> list[Entry]:
    """Return the cohort entries that follow a position, newest first."""
    at_once = after.id if after is not None and isinstance(after.id, int) else None
    following = [
        cohort
        for cohort in cohorts
        if cohort.timestamp < before
        or (
            cohort.timestamp == before
            and after is not None
            and (at_once is None or cohort.id < at_once)
        )
    ]
    following.sort(key=lambda cohort: (cohort.timestamp, cohort.id), reverse=True)
    return [Entry("cohort", cohort.timestamp, cohort=cohort) for cohort in following]


def merged_entries(events: Iterable[Entry], cohorts: Iterable[Entry]) -> list[Entry]:
    return list(merge(events, cohorts, key=_newest_first))


def _newest_first(entry: Entry) -> tuple[timedelta, bool]:
    return _EPOCH - entry.timestamp, entry.kind == "cohort"


def called_flag(event: HistoryEvent) -> tuple[str, Any] | None:
    """Return the key and the value of the flag that was called; None for other events."""
    properties = event.properties or {}
    key = properties.get("$feature_flag")
    if event.name != FLAG_CALLED or not isinstance(key, str):
        return None
    return key, properties.get("$feature_flag_response")
