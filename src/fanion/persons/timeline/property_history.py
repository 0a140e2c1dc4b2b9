"""The changes of properties that a person's events made, each with the value before it.

The events are applied in the order of their acceptance, as ingestion has applied them. The value
before a change is only given where these events determine it: not before the first event that is
known, for some time after a change through the API, and where the order of two events is uncertain.

Source: capture.md sections 3.2, 3.3 and 4.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from operator import attrgetter
from typing import Any, Literal, Protocol
from uuid import UUID

import msgspec
from msgspec import Struct

from fanion.persons.merge import MergeKind, is_legal_id
from fanion.persons.timeline.automatic import automatic_properties, initial_name
from fanion.wire.distinct_id import stored_distinct_id

# A change through the API, and an event accepted up to this time after it, may be applied in either
# order: both wait for the batch that is being ingested.
EDIT_SETTLES = timedelta(minutes=1)
# A larger update may have been refused, because the person would have become too large.
UPDATE_BYTES_MAX = 16 * 1024

_ABSENT, _UNKNOWN = object(), object()
_OTHER_ID = {
    MergeKind.IDENTIFY: "$anon_distinct_id",
    MergeKind.ALIAS: "alias",
    MergeKind.DANGEROUSLY: "alias",
}
_UPDATES = ("$set", "$set_once", "$unset")
# Prefix of properties of the event, and of the person where the server has found the client's
# location.
_LOCATED = "$geoip_"

_encode = msgspec.json.Encoder(order="deterministic").encode

Operation = Literal["set", "set_once", "unset"]


class HistoryEvent(Struct, frozen=True):
    """An event of a person, as far as the history needs it.

    Attributes:
        properties: None if they were too long to be read.
    """

    uuid: UUID
    name: str
    distinct_id: str
    timestamp: datetime
    received_at: datetime
    properties: Mapping[str, Any] | None


class PropertyChange(Struct, frozen=True):
    """A change of one property by an event.

    Attributes:
        value: The new value; None for `unset`.
        before: None if the person did not have the property, or if the value is not known.
        is_known: Whether `before` is known; if not, the event may have changed nothing.
    """

    name: str
    operation: Operation
    value: Any
    before: Any
    is_known: bool


def may_change(event: HistoryEvent) -> bool:
    """Return whether the event names properties to be changed."""
    properties = event.properties
    return properties is not None and any(name in properties for name in _UPDATES)


def changes_of(
    events: Iterable[HistoryEvent],
    edited_at: Iterable[datetime],
    *,
    is_complete: bool,
) -> dict[UUID, list[PropertyChange]]:
    """Return the changes of each event that has made some.

    An event that sets a property to the value that it has changes nothing.

    Args:
        events: The events of one person, and of persons merged into it.
        edited_at: Times of changes that are not events, including deletions.
        is_complete: Whether nothing precedes these events.
    """
    history = _History(sorted(edited_at), is_complete=is_complete)
    in_order = sorted(
        events, key=lambda event: (event.received_at, event.timestamp, event.uuid.int)
    )
    changes: dict[UUID, list[PropertyChange]] = {}
    for at, accepted in groupby(in_order, attrgetter("received_at")):
        history.forget_edited(at)
        changes |= {uuid: made for uuid, made in history.apply_events(list(accepted)) if made}
        if history.is_unsettled(at):
            history.blur()
    return changes


class _Person(Protocol):
    """The known properties of one person: each is a value, _ABSENT or _UNKNOWN."""

    def get(self, name: str) -> Any: ...
    def put(self, name: str, value: Any) -> None: ...


class _Known:
    """A person all of whose events are known."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.is_identified = False

    def get(self, name: str) -> Any:
        return self.values.get(name, _ABSENT)

    def put(self, name: str, value: Any) -> None:
        self.values[name] = value

    def merge_values(self, other: "_Known") -> None:
        """Merge another person into this one."""
        for name, value in other.values.items():
            if self.get(name) is _ABSENT:
                self.values[name] = value


@dataclass(frozen=True, slots=True)
class _Blurred:
    """The person of a distinct id, where it is not known which ids are one person.

    A value is known if this id was the last of all that set it.

    Attributes:
        last: By name, the value and the id that set it.
    """

    last: dict[str, tuple[Any, str]]
    distinct_id: str

    def get(self, name: str) -> Any:
        value, distinct_id = self.last.get(name, (_UNKNOWN, ""))
        return value if distinct_id == self.distinct_id else _UNKNOWN

    def put(self, name: str, value: Any) -> None:
        self.last[name] = value, self.distinct_id


class _History:
    def __init__(self, edited_at: Sequence[datetime], *, is_complete: bool) -> None:
        self._edits = list(edited_at)
        self._edited: datetime | None = None
        self._is_blurred = not is_complete
        self._persons: dict[str, _Known] = {}
        self._last: dict[str, tuple[Any, str]] = {}

    def forget_edited(self, at: datetime) -> None:
        while self._edits and self._edits[0] <= at:
            self._edited = self._edits.pop(0)
            self.blur()

    def is_unsettled(self, at: datetime) -> bool:
        return self._edited is not None and at <= self._edited + EDIT_SETTLES

    def blur(self) -> None:
        """Forget all values, and which ids are one person."""
        self._is_blurred = True
        self._persons.clear()
        self._last.clear()

    def apply_events(
        self, accepted: Sequence[HistoryEvent]
    ) -> Iterator[tuple[UUID, list[PropertyChange]]]:
        """Apply events, and yield the changes of each.

        Args:
            accepted: Events accepted at the same time, sorted by their own times.
        """
        uncertain: Sequence[str] = ()
        if not _are_in_order(accepted):
            if any(map(_other_id, accepted)):
                self.blur()
            touched = Counter(name for event in accepted for name in _touched(event))
            uncertain = [name for name, times in touched.items() if times > 1]
        for event in accepted:
            yield event.uuid, self._apply_event(event, uncertain)

    def _apply_event(self, event: HistoryEvent, uncertain: Sequence[str]) -> list[PropertyChange]:
        if event.properties is None:
            self.blur()
            return []
        if event.properties.get("$process_person_profile") is False:
            return []
        person, is_new = self._person_of(event)
        for name in uncertain:
            person.put(name, _UNKNOWN)
        changes = list(_update_properties(person, event, is_new=is_new))
        for name in uncertain:
            person.put(name, _UNKNOWN)
        return changes

    def _person_of(self, event: HistoryEvent) -> tuple[_Person, bool | None]:
        """Return the person, and whether this event creates it; None where that is not known."""
        other_id = _other_id(event)
        if self._is_blurred:
            if other_id is not None:
                self.blur()
            return _Blurred(self._last, event.distinct_id), None
        if other_id is not None:
            return self._merge_persons(event, other_id)
        known = self._persons.get(event.distinct_id)
        if known is None:
            known = self._persons[event.distinct_id] = _Known()
            return known, True
        return known, False

    def _merge_persons(self, event: HistoryEvent, other_id: str) -> tuple[_Known, bool]:
        """Apply an event that merges two persons, and return the person and whether it is new.

        Source: capture.md section 4, rules 3 to 7.
        """
        own, other = self._persons.get(event.distinct_id), self._persons.get(other_id)
        person = own or other or _Known()
        self._persons.setdefault(event.distinct_id, person)
        self._persons.setdefault(other_id, person)
        by_force = event.name == MergeKind.DANGEROUSLY
        if own and other and own is not other and (by_force or not other.is_identified):
            own.merge_values(other)
            for distinct_id, known in self._persons.items():
                if known is other:
                    self._persons[distinct_id] = own
        person.is_identified = True
        return person, own is None and other is None


def _update_properties(
    person: _Person, event: HistoryEvent, *, is_new: bool | None
) -> Iterator[PropertyChange]:
    """Apply an event to a person, and yield the changes that the event names."""
    properties = event.properties or {}
    latest, initial = automatic_properties(event.name, properties)
    to_set, given_once = _object(properties, "$set"), _object(properties, "$set_once")
    set_once = {name: value for name, value in given_once.items() if value is not None}
    unset = [] if is_new else _unset_names(properties.get("$unset"))
    before = {name: person.get(name) for name in (*set_once, *to_set, *unset)}
    changes: dict[str, PropertyChange] = {}
    for name, value in {**initial, **set_once}.items():
        if person.get(name) is _ABSENT:
            person.put(name, value)
        if name in set_once and before[name] in (_ABSENT, _UNKNOWN):
            changes[name] = _property_change(name, "set_once", value, before[name])
    for name, value in {**latest, **to_set}.items():
        person.put(name, value)
        if name in to_set:
            changes[name] = _property_change(name, "set", value, before[name])
    for name in unset:
        # The event that creates a person removes nothing.
        is_certain = is_new is False or name not in changes
        person.put(name, _ABSENT if is_certain else _UNKNOWN)
        changes[name] = _property_change(name, "unset", None, before[name])
    for name in _uncertain_names(event, to_set, set_once):
        person.put(name, _UNKNOWN)
    yield from (change for change in changes.values() if not _is_idle(change, before[change.name]))


def _uncertain_names(
    event: HistoryEvent, to_set: Mapping[str, Any], set_once: Mapping[str, Any]
) -> Iterator[str]:
    for name in event.properties or ():
        if name.startswith(_LOCATED):
            yield from (name, initial_name(name))
    if sum(len(_encode(values)) for values in (to_set, set_once)) > UPDATE_BYTES_MAX:
        yield from _touched(event)


def _property_change(name: str, operation: Operation, value: Any, before: Any) -> PropertyChange:
    is_known = before is not _UNKNOWN
    former = before if is_known and before is not _ABSENT else None
    return PropertyChange(name, operation, value, former, is_known)


def _is_idle(change: PropertyChange, before: Any) -> bool:
    if before is _UNKNOWN:
        return False
    if change.operation == "unset":
        return before is _ABSENT
    return before is not _ABSENT and _encode(before) == _encode(change.value)


def _other_id(event: HistoryEvent) -> str | None:
    """Return the other id of a merge, if the merge is allowed."""
    if event.properties is None or event.name not in _OTHER_ID:
        return None
    given = event.properties.get(_OTHER_ID[MergeKind(event.name)])
    if not given:
        return None
    other = stored_distinct_id(given)
    is_allowed = other != event.distinct_id and is_legal_id(other)
    return other if is_allowed and is_legal_id(event.distinct_id) else None


def _touched(event: HistoryEvent) -> set[str]:
    """Return the names of properties that an event may change."""
    properties = event.properties or {}
    latest, initial = automatic_properties(event.name, properties)
    explicit = (_object(properties, "$set"), _object(properties, "$set_once"))
    named = {name for values in (*explicit, latest, initial) for name in values}
    return named.union(_unset_names(properties.get("$unset")))


def _are_in_order(accepted: Sequence[HistoryEvent]) -> bool:
    """Return whether the order of the events of one request is certain.

    Ids of version 7 are made one after another, by clients and by the server.
    """
    if len(accepted) < 2:
        return True
    ids = [event.uuid for event in accepted]
    return all(uuid.version == 7 for uuid in ids) and ids == sorted(ids, key=attrgetter("int"))


def _object(properties: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = properties.get(name)
    return value if isinstance(value, dict) else {}


def _unset_names(unset: object) -> list[str]:
    if not isinstance(unset, list | dict):
        return []
    return [name for name in dict.fromkeys(unset) if isinstance(name, str)]
