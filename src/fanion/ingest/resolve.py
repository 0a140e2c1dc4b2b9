"""What one project's part of a run comes to: events with their persons, and what to write."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from fanion.events.event import Event
from fanion.groups.types import GroupState, group_columns, merge_group, new_types
from fanion.ingest.prepared import Prepared
from fanion.persons.merge import Changes, PersonState, Population

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Arrived:
    """A prepared event with the time at which its envelope was accepted."""

    prepared: Prepared
    received_at: datetime


@dataclass(frozen=True, slots=True)
class Known:
    """What the stores know of everything that the events name.

    persons: by distinct id; types: group type → index; groups: by index and key
    """

    persons: Mapping[str, PersonState]
    types: Mapping[str, int]
    groups: Mapping[tuple[int, str], GroupState]


@dataclass(frozen=True, slots=True)
class Resolved:
    """new_types and groups: to be written; names: of the events stored"""

    project_id: int
    events: list[Event]
    persons: Changes
    new_types: Mapping[str, int]
    groups: Mapping[tuple[int, str], GroupState]
    names: frozenset[str]


def named_types(arrived: Iterable[Arrived]) -> list[str]:
    """Group types in the order in which the events name them."""
    names: dict[str, None] = {}
    for event in arrived:
        prepared = event.prepared
        names.update(dict.fromkeys(prepared.groups))
        if prepared.group_identify is not None:
            names[prepared.group_identify.group_type] = None
    return list(names)


def identified_groups(arrived: Iterable[Arrived], types: Mapping[str, int]) -> set[tuple[int, str]]:
    """The groups, by index and key, that the events describe."""
    identifies = (event.prepared.group_identify for event in arrived)
    return {
        (types[one.group_type], one.group_key)
        for one in identifies
        if one is not None and one.group_type in types
    }


def resolve(project_id: int, arrived: Sequence[Arrived], known: Known) -> Resolved:
    """Apply the events in their order. The same input always gives the same outcome."""
    population = Population(project_id, known.persons)
    added = new_types(known.types, named_types(arrived))
    types = {**known.types, **added}
    events = [_event(project_id, one, population, types) for one in arrived]
    return Resolved(
        project_id,
        events,
        population.changes(),
        added,
        _groups(arrived, types, known.groups),
        frozenset(event.event for event in events),
    )


def _event(
    project_id: int, arrived: Arrived, population: Population, types: Mapping[str, int]
) -> Event:
    prepared = arrived.prepared
    person = population.apply(prepared.person_command())
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
    )


def _groups(
    arrived: Sequence[Arrived],
    types: Mapping[str, int],
    stored: Mapping[tuple[int, str], GroupState],
) -> Mapping[tuple[int, str], GroupState]:
    current = dict(stored)
    changed: dict[tuple[int, str], GroupState] = {}
    for event in arrived:
        identify = event.prepared.group_identify
        if identify is None or identify.group_type not in types:
            continue
        place = (types[identify.group_type], identify.group_key)
        group, differs = merge_group(current.get(place), identify)
        current[place] = group
        if differs:
            changed[place] = group
    return changed
