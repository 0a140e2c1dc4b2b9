"""Who is who: what a batch of events makes of the persons that it names.

`Population` is a working copy. It is loaded with the persons behind the distinct ids of a
batch, takes the batch's commands in arrival order, and says what the store has to write.
The same persons and commands always give the same changes, person ids included.

A person's properties are limited (`properties.size`). What one event says of its person is one
change, made whole or not at all; it is not made when the person would be larger than the limit
and larger than before. A merge always is; of the vanishing person it leaves out what does not fit.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from hashlib import sha1
from itertools import islice
from typing import Any, Protocol
from uuid import UUID

import msgspec

from fanion.events.event import NO_PERSON, uuid_of
from fanion.properties.size import (
    PROPERTIES_BYTES_MAX,
    SizedProperties,
    bytes_after,
    differing,
    fitting,
    is_size_allowed,
)

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
NAMES_LISTED_MAX = 40  # of the properties that a person did not get


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
class PersonState(SizedProperties):
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
    _bytes: int | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Merged:
    """A stored person that is gone: every distinct id of `person` moves to `into`."""

    person: PersonState
    into: PersonState


@dataclass(frozen=True, slots=True)
class OmittedProperties:
    """What a person did not get, because its properties would have been too large.

    command:  of the event that would have changed it
    is_merge: these are properties of a person that became this one; otherwise the event's own
    count:    how many properties; names: the first NAMES_LISTED_MAX of them
    """

    command: "PersonCommand"
    person: UUID
    is_merge: bool
    count: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Changes:
    """What the store has to write, in this order. Persons carry their new version.

    attached:  distinct ids seen for the first time, with their persons
    overrides: merged person → surviving person, those included that this batch has created;
               earlier overrides to a merged person must follow
    expected:  number → version of the stored persons that this is based on
    not_made:  in the order of the commands
    """

    created: tuple[PersonState, ...]
    updated: tuple[PersonState, ...]
    attached: Mapping[str, PersonState]
    merged: tuple[Merged, ...]
    overrides: Mapping[UUID, UUID]
    expected: Mapping[int, int] = field(default_factory=dict)
    not_made: tuple[OmittedProperties, ...] = ()


class Population:
    """The persons that a batch names.

    persons:       by distinct id; two distinct ids of a person must share one PersonState
    version_floor: new persons get a higher version; a deleted one may have had the same UUID
    bytes_max:     of the properties of one person
    """

    def __init__(
        self,
        project_id: int,
        persons: Mapping[str, PersonState],
        version_floor: int = 0,
        bytes_max: int = PROPERTIES_BYTES_MAX,
    ) -> None:
        self._project_id = project_id
        self._version_floor = version_floor
        self._bytes_max = bytes_max
        self._persons = dict(persons)
        self._attached: list[str] = []
        self._created: list[PersonState] = []
        self._touched: dict[PersonState, None] = {}
        self._vanished: list[PersonState] = []
        self._not_made: list[OmittedProperties] = []

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
        if command.update is not None:
            self._update(person, command, command.update, is_new)
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
            overrides={person.uuid: _survivor(person).uuid for person in self._vanished},
            expected=expected,
            not_made=tuple(self._not_made),
        )

    def persons(self) -> dict[str, PersonState]:
        """Who owns each distinct id now."""
        return {
            name: person if person._merged_into is None else _survivor(person)
            for name, person in self._persons.items()
        }

    def _join(self, command: PersonCommand, merge: Merge) -> tuple[PersonState, bool]:
        survivor, other = self._find(command.distinct_id), self._find(merge.other_id)
        if other is None:
            is_new = survivor is None
            if survivor is None:
                survivor = self._create(command.distinct_id, command.timestamp)
            self._attach(merge.other_id, survivor)
            return survivor, is_new
        if survivor is None:
            self._attach(command.distinct_id, other)
            return other, False
        may_vanish = not other.is_identified or merge.kind is MergeKind.DANGEROUSLY
        if survivor is not other and may_vanish:
            self._absorb(command, survivor, other)
        return survivor, False

    def _update(
        self, person: PersonState, command: PersonCommand, update: PersonUpdate, is_new: bool
    ) -> None:
        edit = edit_of(person, update, is_new)
        if edit is None:
            return
        if edit.may_be_made(person, self._bytes_max):
            edit.make(person)
            self._touched[person] = None
        else:
            self._note(command, person, (*edit.put, *edit.removed), is_merge=False)

    def _absorb(self, command: PersonCommand, survivor: PersonState, other: PersonState) -> None:
        """Cheap however many distinct ids `other` has: they follow it when they are asked for."""
        taken, size = fitting(
            survivor.properties_bytes, survivor.properties, other.properties, self._bytes_max
        )
        left_out = [
            name
            for name in other.properties
            if name not in taken and name not in survivor.properties
        ]
        if left_out:
            self._note(command, survivor, left_out, is_merge=True)
        survivor.properties.update(taken)
        survivor.properties_bytes = size
        survivor.created_at = min(survivor.created_at, other.created_at)
        # Of all versions that a person and those merged into it have had, its own is the highest.
        survivor._version_min = max(survivor._version_min, other.version, other._version_min)
        other._merged_into = survivor
        self._vanished.append(other)
        self._touched.pop(other, None)
        self._touched[survivor] = None

    def _note(
        self, command: PersonCommand, person: PersonState, names: Collection[str], *, is_merge: bool
    ) -> None:
        some = tuple(islice(names, NAMES_LISTED_MAX))
        self._not_made.append(OmittedProperties(command, person.uuid, is_merge, len(names), some))

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


class Edit(msgspec.Struct, frozen=True, gc=False):
    """What an update changes of a person's properties.

    put: none of them is there with this value; removed: all of them are there
    bytes_after: of all properties, once it is made
    """

    put: dict[str, Any]
    removed: tuple[str, ...]
    bytes_after: int

    def may_be_made(self, person: PersonState, bytes_max: int = PROPERTIES_BYTES_MAX) -> bool:
        return is_size_allowed(self.bytes_after, person.properties_bytes, bytes_max)

    def make(self, person: PersonState) -> None:
        if person.properties:
            person.properties.update(self.put)
        else:
            person.properties = self.put
        for name in self.removed:
            del person.properties[name]
        person.properties_bytes = self.bytes_after


def edit_of(person: PersonState, update: PersonUpdate, is_new: bool) -> Edit | None:
    """None when nothing changes. is_new: the event that says it has made the person

    source: capture.md 3.2
    """
    properties = person.properties
    if not properties:
        put = {**update.set_once, **update.set}
    else:
        put = {name: value for name, value in update.set_once.items() if name not in properties}
        put.update(differing(properties, update.set))
    removed: tuple[str, ...] = ()
    if update.unset and not is_new:
        for name in update.unset:
            put.pop(name, None)
        removed = tuple(name for name in dict.fromkeys(update.unset) if name in properties)
    if not put and not removed:
        return None
    return Edit(put, removed, bytes_after(person.properties_bytes, properties, put, removed))
