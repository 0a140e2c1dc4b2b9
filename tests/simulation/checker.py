"""The conditions that must hold in the end, after the last fault."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from uuid import UUID

import msgspec

from fanion.persons.merge import person_uuid
from tests.simulation.traffic import PROJECT

if TYPE_CHECKING:
    from tests.simulation.world import Simulation

_decode = msgspec.json.decode


class Violation(AssertionError):
    pass


def check(simulation: "Simulation") -> None:
    """Raise Violation with everything that is wrong."""
    if violations := list(_violations(simulation)):
        raise Violation("\n".join(violations))


def _violations(simulation: "Simulation") -> Iterator[str]:
    yield from _events(simulation)
    yield from _persons(simulation)
    yield from _mirror(simulation)
    yield from _groups(simulation)
    yield from _log(simulation)


def _owners(simulation: "Simulation") -> dict[str, UUID]:
    rows = simulation.database.rows(
        "SELECT link.distinct_id, p.uuid FROM person_distinct_ids link"
        " JOIN persons p ON p.id = link.person_id ORDER BY 1"
    )
    return {name: UUID(uuid) for name, uuid in rows}


def _events(simulation: "Simulation") -> Iterator[str]:
    """Yield what is wrong with stored events, for each row, since any of them may be shown."""
    sent, owners = simulation.traffic.expected.sent, _owners(simulation)
    overrides = simulation.tables.final_overrides()
    stored = {event.uuid for event in simulation.tables.events}
    yield from (f"event {uuid} is not stored" for uuid in sent.keys() - stored)
    yield from (f"event {uuid} was never sent" for uuid in stored - sent.keys())
    for row in simulation.tables.events:
        expected = sent.get(row.uuid)
        if expected is None:
            continue
        person = overrides.get(row.person_id, (row.person_id,))[0]
        name = expected.distinct_id
        # The person of a guest who is not known yet.
        owner = owners.get(name) or person_uuid(PROJECT, name)
        if person != owner:
            yield (
                f"a row of event {row.uuid} of {name} has person {row.person_id}, "
                f"resolved {person}, and not {owner}"
            )


def _persons(simulation: "Simulation") -> Iterator[str]:
    expected = simulation.traffic.expected.persons()
    ids_of: dict[UUID, set[str]] = {}
    for name, uuid in _owners(simulation).items():
        ids_of.setdefault(uuid, set()).add(name)
    properties = {
        UUID(uuid): _decode(text)
        for uuid, text in simulation.database.rows("SELECT uuid, properties FROM persons")
    }
    yield from (f"person {uuid} has no distinct id" for uuid in properties.keys() - ids_of.keys())
    stored = {frozenset(ids): properties[uuid] for uuid, ids in ids_of.items()}
    if stored.keys() != expected.keys():
        yield f"persons are {_shown(stored)} and not {_shown(expected)}"
        return
    contended = simulation.traffic.expected.contended
    for ids, values in stored.items():
        rest = dict(values)
        for distinct_id in sorted(ids & contended.keys()):
            value, allowed = rest.pop(f"contended_{distinct_id}", None), contended[distinct_id]
            if value not in allowed:
                yield f"property contended_{distinct_id} is {value} and not one of {allowed}"
        for name in sorted(rest.keys() | expected[ids].keys()):
            is_, should = rest.get(name), expected[ids].get(name)
            if is_ != should:
                yield f"property {name} of {sorted(ids)} is {is_} and not {should}"


def _shown(persons: dict[frozenset[str], Any]) -> list[list[str]]:
    return sorted(sorted(ids) for ids in persons)


def _mirror(simulation: "Simulation") -> Iterator[str]:
    stored = {
        UUID(uuid): (version, _decode(text))
        for uuid, version, text in simulation.database.rows(
            "SELECT uuid, version, properties FROM persons"
        )
    }
    mirrored = {
        uuid: (row.version, _decode(row.properties))
        for uuid, row in simulation.tables.persons.items()
        if not row.is_deleted
    }
    for uuid in sorted(stored.keys() | mirrored.keys()):
        if stored.get(uuid) != mirrored.get(uuid):
            yield f"person {uuid} is {stored.get(uuid)}, in the mirror {mirrored.get(uuid)}"
    if waiting := simulation.database.rows("SELECT version FROM mirror_outbox"):
        yield f"the outbox still has {waiting}"


def _groups(simulation: "Simulation") -> Iterator[str]:
    expected = simulation.traffic.expected
    database, tables = simulation.database, simulation.tables
    types = dict(database.rows("SELECT group_type, group_type_index FROM group_types"))
    if types.keys() != expected.types or len(set(types.values())) < len(types):
        yield f"group types are {types} and not {sorted(expected.types)}"
        return
    expected_groups = {
        (types[kind], key): values for (kind, key), values in expected.groups.items()
    }
    stored = {
        (index, key): (version, _decode(text))
        for index, key, version, text in database.rows(
            "SELECT group_type_index, group_key, version, properties FROM groups"
        )
    }
    mirrored = {
        place: (row.version, _decode(row.properties)) for place, row in tables.groups.items()
    }
    if {place: values for place, (_, values) in stored.items()} != expected_groups:
        yield f"groups are {stored} and not {expected_groups}"
    if stored != mirrored:
        yield f"groups are {stored}, in the mirror {mirrored}"
    for row in tables.events:
        if (sent := expected.sent.get(row.uuid)) is None:
            continue
        properties = _decode(row.properties)
        groups = {int(name[-1]): properties[name] for name in properties if _is_group(name)}
        should = {types[kind]: key for kind, key in sent.groups.items()}
        if groups != should:
            yield f"a row of event {row.uuid} has the groups {groups} and not {should}: {types}"


def _is_group(name: str) -> bool:
    return name.startswith("$group_") and name[-1].isdigit()


def _log(simulation: "Simulation") -> Iterator[str]:
    if letters := simulation.database.rows("SELECT log_id, error FROM dead_letters"):
        yield f"dead letters: {letters}"
