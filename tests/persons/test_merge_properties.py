"""Properties that hold for every batch of person commands."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from fanion.persons.merge import (
    Changes,
    Merge,
    MergeKind,
    PersonState,
    PersonUpdate,
    Population,
    person_uuid,
)
from tests.support.examples import examples
from tests.support.person_commands import Command

NOW = datetime(2024, 3, 1, 12, tzinfo=UTC)
IDS = st.sampled_from(["a", "b", "c", "d", "e", "f", "null"])
VALUES = st.dictionaries(st.sampled_from("xyz"), st.integers(0, 2), max_size=2)
COMMANDS = st.lists(
    st.builds(
        Command,
        IDS,
        st.integers(0, 5).map(lambda days: NOW - timedelta(days=days)),
        st.none()
        | st.builds(PersonUpdate, VALUES, VALUES, st.lists(st.sampled_from("xyz")).map(tuple)),
        st.none() | st.builds(Merge, st.sampled_from(MergeKind), IDS),
        st.booleans(),
    ),
    max_size=25,
)
# The persons stored before the batch: distinct id → the person's number, if it has one.
STORED = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 2), max_size=5)


def load(stored: dict[str, int]) -> dict[str, PersonState]:
    known: dict[int, PersonState] = {}
    for distinct_id, number in stored.items():
        uuid = person_uuid(1, distinct_id)
        fresh = PersonState(number, uuid, {"x": number}, number == 2, NOW, 3)
        known.setdefault(number, fresh)
    return {distinct_id: known[number] for distinct_id, number in stored.items()}


def run(
    stored: dict[str, int], commands: list[Command]
) -> tuple[list[UUID], Changes, dict[str, PersonState]]:
    persons = load(stored)
    population = Population(1, persons)
    uuids = [population.apply(command) for command in commands]
    return uuids, population.changes(), persons


def written(changes: Changes) -> dict[str, Any]:
    """Return all that a store would write."""

    def row(person: PersonState) -> tuple[Any, ...]:
        properties = list(person.properties.items())
        identity = (person.id, person.uuid, person.created_at, person.version)
        return (*identity, person.is_identified, properties)

    return {
        "created": [row(person) for person in changes.created],
        "updated": [row(person) for person in changes.updated],
        "attached": [(name, person.uuid) for name, person in changes.attached.items()],
        "merged": [(row(merged.person), merged.into.uuid) for merged in changes.merged],
        "overrides": changes.overrides,
    }


@given(STORED, COMMANDS)
def test_a_repeat_after_a_crash_writes_the_same(
    stored: dict[str, int], commands: list[Command]
) -> None:
    first_uuids, first, _ = run(stored, commands)
    second_uuids, second, _ = run(stored, commands)

    assert first_uuids == second_uuids
    assert written(first) == written(second)


@settings(max_examples=examples(300))
@given(STORED, COMMANDS)
def test_the_changes_fit_together(stored: dict[str, int], commands: list[Command]) -> None:
    _, changes, persons = run(stored, commands)

    living = {id(person) for person in (*changes.created, *persons.values())}
    living -= {id(merged.person) for merged in changes.merged}
    written_persons = [*changes.created, *changes.updated]
    assert len({id(person) for person in written_persons}) == len(written_persons)
    assert {id(person) for person in written_persons} <= living
    assert {id(person) for person in changes.attached.values()} <= living
    assert {id(merged.into) for merged in changes.merged} <= living
    assert not set(changes.attached) & set(stored)
    assert all(person.id is None for person in changes.created)
    assert set(changes.expected.values()) <= {3}
    changes.give_version(7)
    assert all(person.version == 7 for person in written_persons)
    assert all(merged.person.version == 7 for merged in changes.merged)


@settings(max_examples=examples(300))
@given(STORED, COMMANDS)
def test_overrides_lead_from_the_vanished_to_the_living_in_one_step(
    stored: dict[str, int], commands: list[Command]
) -> None:
    _, changes, _ = run(stored, commands)

    merged = [merged.person.uuid for merged in changes.merged]
    assert len(set(merged)) == len(merged)
    assert changes.overrides.keys() >= set(merged)
    assert not changes.overrides.keys() & set(changes.overrides.values())
    for distinct_id, person in changes.attached.items():
        future = person_uuid(1, distinct_id)  # the person of its events without a profile
        assert changes.overrides.get(future, future) == person.uuid
