"""The resolution of one project's part of a batch: its events' persons, and what to write."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import is_
from typing import Any
from uuid import UUID

import msgspec
from msgspec import structs

from fanion.events.definitions.properties import PERSONS, NewProperties, ProjectProperties
from fanion.events.event import Erasure, Event, GroupRow, PersonRow
from fanion.groups.model import (
    GroupChange,
    GroupState,
    group_columns,
    group_row,
    merge_group,
    new_group,
    new_types,
)
from fanion.ingest.event import ReceivedEvent
from fanion.ingest.ledger.model import SkippedChange, Tally, tally_of
from fanion.ingest.pipeline.batch import ProjectSamples
from fanion.ingest.pipeline.skipped_changes import skipped_changes, skipped_group
from fanion.persons.merge import (
    Changes,
    PersonState,
    Population,
)

_encode = msgspec.json.Encoder().encode


def without_erased(
    arrived: Sequence[ReceivedEvent], erasures: Iterable[Erasure]
) -> Sequence[ReceivedEvent]:
    """Return the events that may be stored after these erasures.

    Events of a person that was deleted with its events are left out. Events of a person that was
    deleted without them create no person. No person is merged with a deleted one.
    """
    for erasure in erasures:
        arrived = [
            kept
            for kept in (_apply_erasure(erasure, event) for event in arrived)
            if kept is not None
        ]
    return arrived


def _apply_erasure(erasure: Erasure, arrived: ReceivedEvent) -> ReceivedEvent | None:
    if arrived.received_at > erasure.requested_at:
        return arrived
    prepared = arrived.prepared
    if prepared.distinct_id in erasure.distinct_ids:
        if erasure.with_events:
            return None
        silent = structs.replace(prepared, update=None, merge=None, makes_person=False)
        return structs.replace(arrived, prepared=silent)
    if prepared.merge is not None and prepared.merge.other_id in erasure.distinct_ids:
        return structs.replace(arrived, prepared=structs.replace(prepared, merge=None))
    return arrived


@dataclass(frozen=True, slots=True)
class ProjectState:
    """The stored state of all persons, groups and properties that the events name.

    Attributes:
        persons: By distinct id.
        types: Group type → index.
        groups: By index and key.
        version_floor: The version above which new persons start; it rises with every deletion.
        erasures: The deletions of persons that may concern the events.
        is_deleted: Whether the project itself was deleted, so that no event is stored.
        split_ids: As for `Population`.
    """

    persons: Mapping[str, PersonState]
    types: Mapping[str, int]
    groups: Mapping[tuple[int, str], GroupState]
    properties: ProjectProperties = field(default_factory=lambda: ProjectProperties({}))
    version_floor: int = 0
    erasures: Sequence[Erasure] = ()
    is_deleted: bool = False
    split_ids: Mapping[UUID, UUID] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Resolved:
    """The changes that one project's part of a batch makes.

    Attributes:
        arrived: The events that are stored.
        persons: The persons to write.
        owners: The persons of all named distinct ids, after the batch.
        groups: The groups to write.
        expected_groups: The versions of all stored groups that the events describe.
        names: The names of the stored events.
        properties: The properties that are not stored yet.
        erased: The number of events left out because their person was deleted.
        version_floor: The version above which new persons start; it rises with every deletion.
        skipped: The requested changes that were not made.
        split_ids: As for `Population`.
    """

    project_id: int
    arrived: Sequence[ReceivedEvent]
    persons: Changes
    owners: Mapping[str, PersonState]
    groups: Mapping[tuple[int, str], GroupState]
    expected_groups: Mapping[tuple[int, str], int]
    names: frozenset[str]
    properties: NewProperties
    erased: int = 0
    version_floor: int = 0
    skipped: Tally = field(default_factory=Tally)
    split_ids: Mapping[UUID, UUID] = field(default_factory=dict)

    @property
    def newest_version(self) -> int:
        """Return the highest version of everything that is replaced."""
        persons, groups = self.persons.expected.values(), self.expected_groups.values()
        return max(self.version_floor, max(persons, default=0), max(groups, default=0))

    @property
    def has_versions(self) -> bool:
        """Return whether anything with a version is to be written."""
        changes = self.persons
        return bool(changes.created or changes.updated or changes.merged or self.groups)


def give_version(resolved: Resolved, version: int) -> None:
    """Set the version to write, which exceeds those of all persons and groups that it replaces."""
    resolved.persons.give_version(version)
    for group in resolved.groups.values():
        group.version = version


def person_rows(resolved: Resolved) -> list[PersonRow]:
    """Return the created, changed and merged persons as rows of the event store's mirror."""
    changes = resolved.persons
    rows = [(person, False) for person in (*changes.created, *changes.updated)]
    rows += [(merged.person, True) for merged in changes.merged]
    return [_person_row(resolved.project_id, person, is_deleted) for person, is_deleted in rows]


def _person_row(project_id: int, person: PersonState, is_deleted: bool) -> PersonRow:
    return PersonRow(
        project_id,
        person.uuid,
        _encode(person.properties),
        person.created_at,
        person.version,
        is_deleted,
        person.properties,
    )


def group_rows(resolved: Resolved) -> list[GroupRow]:
    """Return the created and changed groups as rows of the event store's mirror."""
    return [
        group_row(resolved.project_id, index, key, group)
        for (index, key), group in resolved.groups.items()
    ]


def named_types(arrived: Iterable[ReceivedEvent]) -> list[str]:
    """Return the group types in the order in which the events name them."""
    names: dict[str, None] = {}
    for event in arrived:
        prepared = event.prepared
        if prepared.groups:
            names.update(dict.fromkeys(prepared.groups))
        if prepared.group_identify is not None:
            names[prepared.group_identify.group_type] = None
    return list(names)


def distinct_ids(arrived: Sequence[ReceivedEvent]) -> list[str]:
    """Return the distinct ids of all persons that the events name, each once."""
    ids = dict.fromkeys([event.prepared.distinct_id for event in arrived])
    merges = [event.prepared.merge for event in arrived]
    ids.update(dict.fromkeys([merge.other_id for merge in merges if merge is not None]))
    return list(ids)


def identified_groups(
    arrived: Iterable[ReceivedEvent], types: Mapping[str, int]
) -> set[tuple[int, str]]:
    """Return the groups, by index and key, that the events describe."""
    identifies = (event.prepared.group_identify for event in arrived)
    return {
        (types[identify.group_type], identify.group_key)
        for identify in identifies
        if identify is not None and identify.group_type in types
    }


class Resolution:
    """One project's part of a batch, whose events are resolved lazily and in order.

    The result is deterministic.

    Attributes:
        arrived: The events that are stored.
        is_deleted: Whether the project was deleted.
        types: Group type → index, including the new types.
        new_types: The types to write before an event that carries their indices is stored.
    """

    def __init__(
        self,
        project_id: int,
        arrived: Sequence[ReceivedEvent],
        state: ProjectState,
        samples: ProjectSamples | None = None,
    ) -> None:
        self.project_id = project_id
        self.is_deleted = state.is_deleted
        self.arrived = () if state.is_deleted else without_erased(arrived, state.erasures)
        self._erased = len(arrived) - len(self.arrived)
        self._known = state
        self._samples = samples
        self._population = Population(project_id, state.persons, split_ids=state.split_ids)
        named = named_types(self.arrived) if samples is None else samples.types
        self.new_types = new_types(state.types, named)
        self.types: Mapping[str, int] = {**state.types, **self.new_types}
        self._given = arrived

    @property
    def is_valid(self) -> bool:
        """Return whether the preparer's work is valid for what is stored."""
        if self._samples is None:
            return True
        is_whole = not self._erased and all(map(is_, self._given, self.arrived))
        return is_whole and self._samples.types.items() <= self._known.types.items()

    def events(self) -> Iterator[Event]:
        """Yield the events. To be iterated once, instead of calling `persons`."""
        for event in self.arrived:
            person = self._population.apply(event.prepared)
            yield stored_event(self.project_id, event, person, self.types)

    def persons(self) -> list[UUID]:
        """Return the persons of the events when the preparer has encoded their other columns."""
        apply = self._population.apply
        return [apply(event.prepared) for event in self.arrived]

    def outcome(self) -> Resolved:
        """Return the changes. To be called once, after all events."""
        samples = self._samples
        by_name = properties_by_name(self.arrived) if samples is None else samples.seen
        changes = self._population.changes()
        groups, skipped = _changed_groups(self.arrived, self.types, self._known.groups)
        return Resolved(
            self.project_id,
            self.arrived,
            changes,
            self._population.persons(),
            groups,
            {key: group.version for key, group in self._known.groups.items()},
            frozenset(by_name),
            self._known.properties.new(by_name, _changed_properties(changes, groups)),
            self._erased,
            self._known.version_floor,
            tally_of(
                self.project_id,
                [*skipped, *skipped_changes(self.arrived, self.types, changes)],
            ),
            self._known.split_ids,
        )


def stored_event(
    project_id: int, arrived: ReceivedEvent, person: UUID, types: Mapping[str, int]
) -> Event:
    """Return the event to store.

    Args:
        types: Group type → index, at least of the types that the event names.
    """
    prepared = arrived.prepared
    properties: dict[str, Any] = prepared.properties
    if prepared.groups:
        properties = {**properties, **group_columns(prepared.groups, types)}
    return Event(
        project_id,
        prepared.uuid,
        prepared.name,
        prepared.distinct_id,
        person,
        prepared.timestamp,
        arrived.received_at,
        _encode(properties),
        properties,
    )


def properties_by_name(arrived: Iterable[ReceivedEvent]) -> dict[str, list[Mapping[str, Any]]]:
    """Return the properties of all occurrences of each event."""
    by_name: dict[str, list[Mapping[str, Any]]] = {}
    for event in arrived:
        prepared = event.prepared
        if prepared.name in by_name:
            by_name[prepared.name].append(prepared.properties)
        else:
            by_name[prepared.name] = [prepared.properties]
    return by_name


def _changed_properties(
    changes: Changes, groups: Mapping[tuple[int, str], GroupState]
) -> Mapping[int, Sequence[Mapping[str, Any]]]:
    """Return the properties of the persons and groups to write, as `ProjectProperties` wants."""
    changed: dict[int, list[Mapping[str, Any]]] = {}
    if changes.created or changes.updated:
        changed[PERSONS] = [person.properties for person in (*changes.created, *changes.updated)]
    for (index, _), group in groups.items():
        changed.setdefault(index, []).append(group.properties)
    return changed


def _changed_groups(
    arrived: Sequence[ReceivedEvent],
    types: Mapping[str, int],
    stored: Mapping[tuple[int, str], GroupState],
) -> tuple[Mapping[tuple[int, str], GroupState], list[SkippedChange]]:
    """Return the groups to write, and the changes that were skipped."""
    current = dict(stored)
    changed: dict[tuple[int, str], GroupState] = {}
    skipped: list[SkippedChange] = []
    for event in arrived:
        identify = event.prepared.group_identify
        if identify is None or identify.group_type not in types:
            continue
        key = (types[identify.group_type], identify.group_key)
        group = current.get(key)
        if group is None:
            group = current[key] = changed[key] = new_group(identify)
        change = merge_group(group, identify)
        if change is GroupChange.MADE:
            changed[key] = group
        elif change is GroupChange.TOO_LARGE:
            skipped.append(skipped_group(event, identify))
    return changed, skipped
