"""Who is who: what a batch of events makes of the persons that it names.

`Population` is a working copy. It is loaded with the persons behind the distinct ids of a
batch, takes the batch's commands in arrival order, and says what the store has to write.
The same persons and commands always give the same changes, person ids included.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from hashlib import sha1
from typing import Any, Protocol
from uuid import UUID

import msgspec

from fanion.events.event import NO_PERSON
from fanion.uuids import uuid_of

_PERSON_NAMESPACE = UUID("932979b4-65c3-4424-8467-0b66ec27bc22").bytes
# Version 5 and the variant. source: RFC 9562 section 5.5
_KIND = 5 << 76 | 2 << 62
_WITHOUT_KIND = ~(15 << 76 | 3 << 62)

_ILLEGAL_IN_ANY_CASE = frozenset(
    [
        *("anonymous", "guest", "distinctid", "distinct_id", "id", "not_authenticated"),
        *("email", "undefined", "true", "false"),
    ]
)
_ILLEGAL_AS_WRITTEN = frozenset(["[object Object]", "NaN", "None", "none", "null", "0"])
_ABSENT = object()

_encode = msgspec.json.Encoder(order="deterministic").encode


class PersonUpdate(msgspec.Struct, frozen=True, gc=False):
    """Applied in the order set_once, set, unset. source: capture.md 3.2"""

    set: Mapping[str, Any]
    set_once: Mapping[str, Any]
    unset: tuple[str, ...] = ()


class MergeKind(StrEnum):
    IDENTIFY = "$identify"
    ALIAS = "$create_alias"
    DANGEROUSLY = "$merge_dangerously"


class Merge(msgspec.Struct, frozen=True, gc=False):
    """The person of `other_id` shall become one with that of the event's distinct id."""

    kind: MergeKind
    other_id: str


class PersonCommand(Protocol):
    """What one event means for persons.

    timestamp:    aware, UTC; a person that the event makes is as old as the event
    makes_person: False for events without a person profile, which change nothing
    """

    @property
    def distinct_id(self) -> str: ...
    @property
    def timestamp(self) -> datetime: ...
    @property
    def update(self) -> PersonUpdate | None: ...
    @property
    def merge(self) -> Merge | None: ...
    @property
    def makes_person(self) -> bool: ...


@dataclass(slots=True, eq=False, weakref_slot=True)
class PersonState:
    """A person in memory; `Population` owns and changes it.

    id:      in the records store; None while it is not stored
    version: as stored, 0 for one that is not; in `Changes` the version to write
    """

    id: int | None
    uuid: UUID
    properties: dict[str, Any]
    is_identified: bool
    created_at: datetime
    version: int
    _merged_into: "PersonState | None" = field(default=None, repr=False)
    _version_min: int = field(default=0, repr=False)


@dataclass(frozen=True, slots=True)
class Merged:
    """A stored person that is gone: every distinct id of `person` moves to `into`."""

    person: PersonState
    into: PersonState


@dataclass(frozen=True, slots=True)
class Override:
    """Events of `old_person` count for `new_person`; whatever counted for `old_person` by an
    earlier override does too."""

    old_person: UUID
    new_person: UUID


@dataclass(frozen=True, slots=True)
class Changes:
    """What the store has to write, in this order. Persons carry their new version.

    attached:  distinct ids seen for the first time, with their persons
    overrides: of merged persons, those included that were made in this batch
    expected:  number → version of the stored persons that this is based on
    """

    created: tuple[PersonState, ...]
    updated: tuple[PersonState, ...]
    attached: Mapping[str, PersonState]
    merged: tuple[Merged, ...]
    overrides: tuple[Override, ...]
    expected: Mapping[int, int] = field(default_factory=dict)


class Population:
    """The persons that a batch names.

    persons:       by distinct id; two distinct ids of a person must share one PersonState
    version_floor: new persons get a higher version; a deleted one may have had the same UUID
    """

    def __init__(
        self, project_id: int, persons: Mapping[str, PersonState], version_floor: int = 0
    ) -> None:
        self._project_id = project_id
        self._version_floor = version_floor
        self._persons = dict(persons)
        self._attached: list[str] = []
        self._created: list[PersonState] = []
        self._touched: dict[PersonState, None] = {}
        self._vanished: list[PersonState] = []

    def apply(self, command: PersonCommand) -> UUID:
        """The person that the event counts for. source: capture.md sections 3.2, 3.4 and 4"""
        if not command.makes_person:
            existing = self._find(command.distinct_id)
            return NO_PERSON if existing is None else existing.uuid
        merge = command.merge
        if merge is None or not _may_merge(command.distinct_id, merge.other_id):
            found = self._find(command.distinct_id)
            is_new = found is None
            person = found or self._create(command.distinct_id, command.timestamp)
        else:
            person, is_new = self._join(command, merge)
            if not person.is_identified:
                person.is_identified = True
                self._touched[person] = None
        if command.update is not None and apply_update(person.properties, command.update, is_new):
            self._touched[person] = None
        return person.uuid

    def changes(self) -> Changes:
        """To be taken once, when every command has been applied."""
        stored = [person for person in self._touched if person.id is not None]
        created = [person for person in self._created if person._merged_into is None]
        merged = [person for person in self._vanished if person.id is not None]
        attached = {name: _survivor(self._persons[name]) for name in self._attached}
        expected = {
            person.id: person.version
            for person in (*attached.values(), *stored, *merged)
            if person.id is not None
        }
        for person in (*created, *stored, *merged):
            person.version = max(person.version, person._version_min) + 1
        return Changes(
            created=tuple(created),
            updated=tuple(stored),
            attached=attached,
            merged=tuple(Merged(person, _survivor(person)) for person in merged),
            overrides=tuple(
                Override(person.uuid, _survivor(person).uuid) for person in self._vanished
            ),
            expected=expected,
        )

    def persons(self) -> dict[str, PersonState]:
        """Who owns each distinct id now."""
        return {
            name: person if person._merged_into is None else _survivor(person)
            for name, person in self._persons.items()
        }

    def _join(self, command: PersonCommand, merge: Merge) -> tuple[PersonState, bool]:
        kept, other = self._find(command.distinct_id), self._find(merge.other_id)
        if other is None:
            is_new = kept is None
            if kept is None:
                kept = self._create(command.distinct_id, command.timestamp)
            self._attach(merge.other_id, kept)
            return kept, is_new
        if kept is None:
            self._attach(command.distinct_id, other)
            return other, False
        may_vanish = not other.is_identified or merge.kind is MergeKind.DANGEROUSLY
        if kept is not other and may_vanish:
            self._absorb(kept, other)
        return kept, False

    def _absorb(self, kept: PersonState, other: PersonState) -> None:
        """Cheap however many distinct ids `other` has: they follow it when they are asked for."""
        kept.properties = other.properties | kept.properties
        kept.created_at = min(kept.created_at, other.created_at)
        # Of all versions that a person and those merged into it have had, its own is the highest.
        kept._version_min = max(kept._version_min, other.version, other._version_min)
        other._merged_into = kept
        self._vanished.append(other)
        self._touched.pop(other, None)
        self._touched[kept] = None

    def _find(self, distinct_id: str) -> PersonState | None:
        person = self._persons.get(distinct_id)
        if person is None or person._merged_into is None:
            return person
        return _survivor(person)

    def _create(self, distinct_id: str, timestamp: datetime) -> PersonState:
        uuid = person_uuid(self._project_id, distinct_id)
        person = PersonState(None, uuid, {}, False, timestamp, self._version_floor)
        self._created.append(person)
        self._attach(distinct_id, person)
        return person

    def _attach(self, distinct_id: str, person: PersonState) -> None:
        self._persons[distinct_id] = person
        self._attached.append(distinct_id)


def person_uuid(project_id: int, distinct_id: str) -> UUID:
    """The id of the person that the first event of a distinct id makes: a repeat after a
    crash makes the same one."""
    # As `uuid.uuid5` makes it, in half of the time.
    name = f"{project_id}:{distinct_id}".encode()
    digest = sha1(_PERSON_NAMESPACE + name, usedforsecurity=False).digest()
    return uuid_of(int.from_bytes(digest[:16]) & _WITHOUT_KIND | _KIND)


def is_legal_id(distinct_id: str) -> bool:
    """Whether a distinct id may be merged: it must not be what broken clients send for many
    users at once. source: capture.md section 4"""
    bare = distinct_id.strip()
    if len(bare) > 1 and bare[0] == bare[-1] and bare[0] in "'\"":
        bare = bare[1:-1].strip()
    return (
        bool(bare) and bare.lower() not in _ILLEGAL_IN_ANY_CASE and bare not in _ILLEGAL_AS_WRITTEN
    )


def _may_merge(distinct_id: str, other_id: str) -> bool:
    return distinct_id != other_id and is_legal_id(distinct_id) and is_legal_id(other_id)


def _survivor(person: PersonState) -> PersonState:
    """The person that this one has become, however many merges later."""
    end = person
    while end._merged_into is not None:
        end = end._merged_into
    while person._merged_into is not None:  # the next one to ask takes a single step
        following = person._merged_into
        person._merged_into = end
        person = following
    return end


def apply_update(properties: dict[str, Any], update: PersonUpdate, is_new: bool) -> bool:
    """Returns whether anything changed. source: capture.md 3.2"""
    changed = False
    for name, value in update.set_once.items():
        if name not in properties:
            properties[name] = value
            changed = True
    for name, value in update.set.items():
        if not _is_same(properties.get(name, _ABSENT), value):
            properties[name] = value
            changed = True
    if not is_new:
        for name in update.unset:
            changed = properties.pop(name, _ABSENT) is not _ABSENT or changed
    return changed


def _is_same(old: object, new: object) -> bool:
    """Equal as JSON: Python takes True for 1 and 1.0."""
    if type(old) is not type(new) or old != new:
        return False
    if isinstance(new, dict | list):
        return _encode(old) == _encode(new)
    return True
