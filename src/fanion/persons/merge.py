"""Identity resolution: the changes that a batch of events makes to persons.

`Population` is a unit of work. It is loaded with the persons of the distinct ids in a batch,
applies the batch's commands in order of arrival, and returns the changes to be written. It is
deterministic, including the ids of new persons.

A person's properties are limited (`properties.size`). The update of one event is applied as a
whole, or not at all if the person would then exceed the limit and be larger than before. A merge is
always applied; properties of the merged person that do not fit are left out.
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

from fanion.events.event import uuid_of
from fanion.properties.size import (
    PROPERTIES_BYTES_MAX,
    SizedProperties,
    bytes_after,
    changed_properties,
    fitting_properties,
    is_size_allowed,
)

PERSON_NAMESPACE = UUID("932979b4-65c3-4424-8467-0b66ec27bc22").bytes
# The bits of version 5 and of the variant. Source: RFC 9562 section 5.5.
_KIND = 5 << 76 | 2 << 62
_WITHOUT_KIND = ~(15 << 76 | 3 << 62)

_ILLEGAL_IN_ANY_CASE = frozenset(
    [
        *("anonymous", "guest", "distinctid", "distinct_id", "id", "not_authenticated"),
        *("email", "undefined", "true", "false"),
    ]
)
_ILLEGAL_AS_WRITTEN = frozenset(["[object Object]", "NaN", "None", "none", "null", "0"])
NAMES_LISTED_MAX = 40  # names of omitted properties that are kept


class PersonUpdate(msgspec.Struct, frozen=True, gc=False):
    """The update of a person by one event, applied in the order set_once, set, unset.

    Source: capture.md 3.2.
    """

    set: Mapping[str, Any]
    set_once: Mapping[str, Any]
    unset: tuple[str, ...] = ()


class MergeKind(StrEnum):
    IDENTIFY = "$identify"
    ALIAS = "$create_alias"
    DANGEROUSLY = "$merge_dangerously"


class Merge(msgspec.Struct, frozen=True, gc=False):
    """A merge of the person of `other_id` into the person of the event's distinct id."""

    kind: MergeKind
    other_id: str


class PersonCommand(Protocol):
    """The effect of one event on persons.

    Attributes:
        timestamp: An aware time in UTC; a person is as old as the earliest of its events.
        makes_person: False for events without a person profile, which neither create nor change
            a person.
    """

    @property
    def uuid(self) -> UUID: ...
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
    """A person in memory, owned and changed by `Population`.

    Attributes:
        id: The id in the records store; None until the person is stored.
        version: The stored version; 0 until the person is stored.
    """

    id: int | None
    uuid: UUID
    properties: dict[str, Any]
    is_identified: bool
    created_at: datetime
    version: int
    _merged_into: "PersonState | None" = field(default=None, repr=False)
    _bytes: int | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Merged:
    """A stored person that was merged: all distinct ids of `person` move to `into`."""

    person: PersonState
    into: PersonState


@dataclass(frozen=True, slots=True)
class Join:
    """A merge of an event: distinct ids come to a person.

    Attributes:
        command: The command of the event, which names a merge.
        into: The person that they come to. It may be merged in turn.
        person: The person that was merged; None if only `distinct_id` comes, which had none.
    """

    command: "PersonCommand"
    into: PersonState
    person: PersonState | None
    distinct_id: str


@dataclass(frozen=True, slots=True)
class OmittedProperties:
    """Properties that were not set because the person would have become too large.

    Attributes:
        command: The command of the event that would have set them.
        is_merge: Whether they are those of a merged person; otherwise they are the event's own.
        count: The number of properties.
        names: The first NAMES_LISTED_MAX of them.
    """

    command: "PersonCommand"
    person: UUID
    is_merge: bool
    count: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes to write, in this order.

    Persons have the version that is stored until they are given the one to write.

    Attributes:
        attached: Distinct ids seen for the first time, with their persons.
        overrides: Merged person → surviving person, including persons that this batch has created;
            earlier overrides to a merged person must follow. Also, for each attached distinct id,
            the person that its events without a profile have → the person that it belongs to.
        expected: Id → version of the stored persons that the changes are based on.
        omitted: In the order of the commands.
        joins: The merges, in the order of the commands.
        first_ids: The distinct ids that created persons which a later merge of this batch took.
    """

    created: tuple[PersonState, ...]
    updated: tuple[PersonState, ...]
    attached: Mapping[str, PersonState]
    merged: tuple[Merged, ...]
    overrides: Mapping[UUID, UUID]
    expected: Mapping[int, int] = field(default_factory=dict)
    omitted: tuple[OmittedProperties, ...] = ()
    joins: tuple[Join, ...] = ()
    first_ids: Mapping[UUID, str] = field(default_factory=dict)

    def give_version(self, version: int) -> None:
        """Give the version to write to all changed persons.

        Args:
            version: Higher than that of each of these persons.
        """
        for person in (*self.created, *self.updated, *(merged.person for merged in self.merged)):
            person.version = version


class Population:
    """The persons that a batch names, as a unit of work.

    Args:
        persons: By distinct id; two distinct ids of a person must share one PersonState.
        bytes_max: The limit of the properties of one person.
        split_ids: For distinct ids that were split off and have no person now: the UUID that their
            person would have → the one that it gets instead.
    """

    def __init__(
        self,
        project_id: int,
        persons: Mapping[str, PersonState],
        bytes_max: int = PROPERTIES_BYTES_MAX,
        split_ids: Mapping[UUID, UUID] | None = None,
    ) -> None:
        self._split_ids = split_ids or {}
        self._project_id = project_id
        self._bytes_max = bytes_max
        self._persons = dict(persons)
        self._attached: list[str] = []
        self._joined: list[str] = []  # attached ids that were given to the person of another id
        self._anonymous: dict[str, UUID] = {}
        self._created: list[PersonState] = []
        self._touched: dict[PersonState, None] = {}
        self._vanished: list[PersonState] = []
        self._omitted: list[OmittedProperties] = []
        self._joins: list[Join] = []

    def apply(self, command: PersonCommand) -> UUID:
        """Apply the command of an event, and return the event's person, which may not exist yet.

        Source: capture.md sections 3.2, 3.4 and 4.
        """
        if not command.makes_person:
            existing = self._find_person(command.distinct_id)
            return self._future(command.distinct_id) if existing is None else existing.uuid
        merge = command.merge
        if merge is None or not _may_merge(command.distinct_id, merge.other_id):
            known = self._find_person(command.distinct_id)
            is_new = known is None
            person = known or self._create_person(command.distinct_id, command.timestamp)
        else:
            person, is_new = self._join(command, merge)
            if not person.is_identified:
                person.is_identified = True
                self._touched[person] = None
        if command.timestamp < person.created_at:  # events may arrive in any order
            person.created_at = command.timestamp
            self._touched[person] = None
        if command.update is not None:
            self._update_person(person, command, command.update, is_new)
        return person.uuid

    def changes(self) -> Changes:
        """Return the changes to write; to be called once, after all commands."""
        stored = [person for person in self._touched if person.id is not None]
        created = [person for person in self._created if person._merged_into is None]
        merged = [person for person in self._vanished if person.id is not None]
        attached = {name: _survivor(self._persons[name]) for name in self._attached}
        expected = {
            person.id: person.version
            for person in (*attached.values(), *stored, *merged)
            if person.id is not None
        }
        return Changes(
            created=tuple(created),
            updated=tuple(stored),
            attached=attached,
            merged=tuple(Merged(person, _survivor(person)) for person in merged),
            overrides=self._overrides(),
            expected=expected,
            omitted=tuple(self._omitted),
            joins=tuple(self._joins),
            first_ids=self._first_ids(),
        )

    def _first_ids(self) -> dict[UUID, str]:
        new = {
            join.person
            for join in self._joins
            if join.person is not None and join.person.id is None
        }
        if not new:
            return {}
        joined = set(self._joined)
        named = ((self._persons[name], name) for name in self._attached if name not in joined)
        return {person.uuid: name for person, name in named if person in new}

    def _overrides(self) -> dict[UUID, UUID]:
        old_persons = {self._future(name): self._persons[name] for name in self._joined}
        old_persons |= {person.uuid: person for person in self._vanished}
        survivors = {uuid: _survivor(person).uuid for uuid, person in old_persons.items()}
        return {old: new for old, new in survivors.items() if old != new}

    def persons(self) -> dict[str, PersonState]:
        """Return the current person of each distinct id."""
        return {
            name: person if person._merged_into is None else _survivor(person)
            for name, person in self._persons.items()
        }

    def _join(self, command: PersonCommand, merge: Merge) -> tuple[PersonState, bool]:
        survivor, other = self._find_person(command.distinct_id), self._find_person(merge.other_id)
        if other is None:
            is_new = survivor is None
            if survivor is None:
                survivor = self._create_person(command.distinct_id, command.timestamp)
            self._join_id(command, merge.other_id, survivor)
            return survivor, is_new
        if survivor is None:
            self._join_id(command, command.distinct_id, other)
            return other, False
        may_vanish = not other.is_identified or merge.kind is MergeKind.DANGEROUSLY
        if survivor is not other and may_vanish:
            self._merge_persons(command, survivor, other)
        return survivor, False

    def _update_person(
        self, person: PersonState, command: PersonCommand, update: PersonUpdate, is_new: bool
    ) -> None:
        edit = edit_of(person, update, is_new)
        if edit is None:
            return
        if edit.may_be_made(person, self._bytes_max):
            edit.apply_to(person)
            self._touched[person] = None
        else:
            self._note_omitted(command, person, (*edit.put, *edit.removed), is_merge=False)

    def _merge_persons(
        self, command: PersonCommand, survivor: PersonState, other: PersonState
    ) -> None:
        """Merge `other` into `survivor`, in constant time for its distinct ids.

        The distinct ids of `other` are resolved when they are looked up.
        """
        taken, size = fitting_properties(
            survivor.properties_bytes, survivor.properties, other.properties, self._bytes_max
        )
        left_out = [
            name
            for name in other.properties
            if name not in taken and name not in survivor.properties
        ]
        if left_out:
            self._note_omitted(command, survivor, left_out, is_merge=True)
        survivor.properties.update(taken)
        survivor.properties_bytes = size
        survivor.created_at = min(survivor.created_at, other.created_at)
        assert command.merge is not None
        self._joins.append(Join(command, survivor, other, command.merge.other_id))
        other._merged_into = survivor
        self._vanished.append(other)
        self._touched.pop(other, None)
        self._touched[survivor] = None

    def _note_omitted(
        self, command: PersonCommand, person: PersonState, names: Collection[str], *, is_merge: bool
    ) -> None:
        some = tuple(islice(names, NAMES_LISTED_MAX))
        self._omitted.append(OmittedProperties(command, person.uuid, is_merge, len(names), some))

    def _find_person(self, distinct_id: str) -> PersonState | None:
        person = self._persons.get(distinct_id)
        if person is None or person._merged_into is None:
            return person
        return _survivor(person)

    def _create_person(self, distinct_id: str, timestamp: datetime) -> PersonState:
        person = PersonState(None, self._new_uuid(distinct_id), {}, False, timestamp, 0)
        self._created.append(person)
        self._attach(distinct_id, person)
        return person

    def _future(self, distinct_id: str) -> UUID:
        """Return the person that a distinct id without one would get."""
        known = self._anonymous.get(distinct_id)
        if known is None:
            known = self._anonymous[distinct_id] = self._new_uuid(distinct_id)
        return known

    def _new_uuid(self, distinct_id: str) -> UUID:
        uuid = person_uuid(self._project_id, distinct_id)
        return self._split_ids.get(uuid, uuid) if self._split_ids else uuid

    def _join_id(self, command: PersonCommand, distinct_id: str, person: PersonState) -> None:
        """Give an unknown distinct id to the person of another one.

        The person counts as changed, since it gets an override: a batch that merges it meanwhile,
        and has not read the override, conflicts with this one.
        """
        self._attach(distinct_id, person)
        self._joined.append(distinct_id)
        self._joins.append(Join(command, person, None, distinct_id))
        self._touched[person] = None

    def _attach(self, distinct_id: str, person: PersonState) -> None:
        self._persons[distinct_id] = person
        self._attached.append(distinct_id)


def person_uuid(project_id: int, distinct_id: str) -> UUID:
    """Return the id of the person created for a distinct id, the same if a batch is repeated."""
    # The result is that of `uuid.uuid5`, in half the time.
    name = f"{project_id}:{distinct_id}".encode()
    digest = sha1(PERSON_NAMESPACE + name, usedforsecurity=False).digest()
    return uuid_of(int.from_bytes(digest[:16]) & _WITHOUT_KIND | _KIND)


def is_legal_id(distinct_id: str) -> bool:
    """Return whether a distinct id may be merged.

    Ids that faulty clients send for many users may not.

    Source: capture.md section 4.
    """
    bare = distinct_id.strip()
    if len(bare) > 1 and bare[0] == bare[-1] and bare[0] in "'\"":
        bare = bare[1:-1].strip()
    return (
        bool(bare) and bare.lower() not in _ILLEGAL_IN_ANY_CASE and bare not in _ILLEGAL_AS_WRITTEN
    )


def _may_merge(distinct_id: str, other_id: str) -> bool:
    return distinct_id != other_id and is_legal_id(distinct_id) and is_legal_id(other_id)


def _survivor(person: PersonState) -> PersonState:
    """Follow all merges of a person, with path compression."""
    end = person
    while end._merged_into is not None:
        end = end._merged_into
    while person._merged_into is not None:
        following = person._merged_into
        person._merged_into = end
        person = following
    return end


class Edit(msgspec.Struct, frozen=True, gc=False):
    """The effective change of a person's properties.

    Attributes:
        put: Properties with other values than before.
        removed: Names of existing properties to be removed.
        bytes_after: The size of all properties after the change.
    """

    put: dict[str, Any]
    removed: tuple[str, ...]
    bytes_after: int

    def may_be_made(self, person: PersonState, bytes_max: int = PROPERTIES_BYTES_MAX) -> bool:
        return is_size_allowed(self.bytes_after, person.properties_bytes, bytes_max)

    def apply_to(self, person: PersonState) -> None:
        if person.properties:
            person.properties.update(self.put)
        else:
            person.properties = self.put
        for name in self.removed:
            del person.properties[name]
        person.properties_bytes = self.bytes_after


def edit_of(person: PersonState, update: PersonUpdate, is_new: bool) -> Edit | None:
    """Return the effective change that an update makes, or None if nothing changes.

    Args:
        is_new: Whether the event of the update has created the person.

    Source: capture.md 3.2.
    """
    properties = person.properties
    if not properties:
        put = {**update.set_once, **update.set}
    else:
        put = {name: value for name, value in update.set_once.items() if name not in properties}
        put.update(changed_properties(properties, update.set))
    removed: tuple[str, ...] = ()
    if update.unset and not is_new:
        for name in update.unset:
            put.pop(name, None)
        removed = tuple(name for name in dict.fromkeys(update.unset) if name in properties)
    if not put and not removed:
        return None
    return Edit(put, removed, bytes_after(person.properties_bytes, properties, put, removed))
