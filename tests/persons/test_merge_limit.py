"""The limit on a person's properties, whatever is done to persons."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fanion.persons.merge import (
    NAMES_LISTED_MAX,
    Changes,
    Merge,
    MergeKind,
    PersonState,
    PersonUpdate,
    Population,
    edit_of,
    person_uuid,
)
from fanion.properties.size import PROPERTIES_BYTES_MAX, json_bytes
from tests.support.examples import examples
from tests.support.person_commands import Command

NOW = datetime(2024, 3, 1, 12, tzinfo=UTC)
SMALL = 60

NAMES = st.sampled_from(["a", "b", "c", "long name", "ü"])
VALUES = st.text("aé😀", max_size=40) | st.integers() | st.lists(st.integers(0, 9), max_size=9)
PROPERTIES = st.dictionaries(NAMES, VALUES, max_size=4)
UPDATES = st.builds(PersonUpdate, PROPERTIES, PROPERTIES, st.lists(NAMES, max_size=2).map(tuple))
IDS = st.sampled_from("xyz")
COMMANDS = st.lists(
    st.builds(
        Command,
        IDS,
        st.just(NOW),
        st.none() | UPDATES,
        st.none() | st.builds(Merge, st.just(MergeKind.DANGEROUSLY), IDS),
    ),
    max_size=20,
)


def person(name: str, properties: dict[str, Any]) -> PersonState:
    number = sum(name.encode())
    return PersonState(number, person_uuid(1, name), properties, False, NOW, 5)


def changes_of(
    persons: dict[str, PersonState], *commands: Command, bytes_max: int = PROPERTIES_BYTES_MAX
) -> Changes:
    population = Population(1, persons, bytes_max=bytes_max)
    for each in commands:
        population.apply(each)
    return population.changes()


def setting(name: str, **values: Any) -> Command:
    return Command(name, NOW, PersonUpdate(values, {}))


def reported(changes: Changes) -> list[tuple[bool, int, tuple[str, ...]]]:
    return [(omitted.is_merge, omitted.count, omitted.names) for omitted in changes.omitted]


# ── By table ─────────────────────────────────────────────────────────────────────────────

FULL = PROPERTIES_BYTES_MAX - len('{"big":""}')  # bytes of the value of `big`
HUGE = "y" * FULL * 3


@pytest.mark.parametrize(
    ("before", "update", "after"),
    [
        ({}, PersonUpdate({"big": "x" * FULL}, {}), {"big": "x" * FULL}),
        ({}, PersonUpdate({"big": "x" * (FULL + 1)}, {}), {}),
        ({}, PersonUpdate({}, {"big": "x" * (FULL + 1)}), {}),
        ({}, PersonUpdate({"big": "é" * (FULL // 2 + 1)}, {}), {}),
        ({"big": "x" * FULL}, PersonUpdate({"a": 1}, {}), {"big": "x" * FULL}),
        ({"big": "x" * FULL}, PersonUpdate({"a": 1}, {}, ("big",)), {"a": 1}),
        ({"big": "x" * FULL}, PersonUpdate({"a": 1, "big": "y"}, {}), {"a": 1, "big": "y"}),
        # Persons from before there was a limit.
        ({"big": HUGE}, PersonUpdate({"a": 1}, {}), {"big": HUGE}),
        ({"big": HUGE}, PersonUpdate({"big": HUGE[1:]}, {}), {"big": HUGE[1:]}),
        ({"big": HUGE, "a": 1}, PersonUpdate({}, {}, ("a",)), {"big": HUGE}),
        ({"big": HUGE, "a": 1}, PersonUpdate({"a": 2}, {}), {"big": HUGE, "a": 2}),
    ],
)  # fmt: skip
def test_a_change_is_made_whole_or_not_at_all(
    before: dict[str, Any], update: PersonUpdate, after: dict[str, Any]
) -> None:
    known = person("u", dict(before))

    changes = changes_of({"u": known}, Command("u", NOW, update))

    assert known.properties == after
    assert known.properties_bytes == json_bytes(after)
    assert bool(changes.updated) is (after != before)
    names = tuple(dict.fromkeys([*update.set_once, *update.set]))
    assert reported(changes) == ([] if after != before else [(False, len(names), names)])


def test_an_event_whose_change_is_not_made_still_makes_its_person() -> None:
    changes = changes_of({}, setting("u", big="x" * PROPERTIES_BYTES_MAX))

    assert [created.properties for created in changes.created] == [{}]
    assert [(omitted.person, omitted.names) for omitted in changes.omitted] == [
        (person_uuid(1, "u"), ("big",))
    ]


def test_an_event_whose_change_is_not_made_still_identifies() -> None:
    command = Command(
        "u",
        NOW,
        PersonUpdate({"big": "x" * PROPERTIES_BYTES_MAX}, {}),
        Merge(MergeKind.IDENTIFY, "anonymous-1"),
    )

    changes = changes_of({"u": person("u", {"a": 1})}, command)

    assert [(updated.is_identified, updated.properties) for updated in changes.updated] == [
        (True, {"a": 1})
    ]
    assert set(changes.attached) == {"anonymous-1"}


def join(distinct_id: str, other_id: str, update: PersonUpdate | None = None) -> Command:
    return Command(distinct_id, NOW, update, Merge(MergeKind.IDENTIFY, other_id))


def test_a_merge_keeps_the_survivor_whole_and_takes_what_fits() -> None:
    remaining = person("k", {"a": "kept", "big": "x" * (PROPERTIES_BYTES_MAX - 100)})
    other = person("o", {"a": "other", "huge": "y" * 200, "small": 1, "wide": "z" * 90, "b": 2})

    changes = changes_of({"k": remaining, "o": other}, join("k", "o", PersonUpdate({"c": 3}, {})))

    assert remaining.properties == {
        "a": "kept",
        "big": "x" * (PROPERTIES_BYTES_MAX - 100),
        "small": 1,
        "b": 2,
        "c": 3,
    }
    assert [(merged.person.uuid, merged.into.uuid) for merged in changes.merged] == [
        (other.uuid, remaining.uuid)
    ]
    assert reported(changes) == [(True, 2, ("huge", "wide"))]


def test_a_merge_into_a_person_beyond_the_limit_adds_nothing() -> None:
    remaining = person("k", {"big": "x" * PROPERTIES_BYTES_MAX})
    other = person("o", {"big": 1, "a": 1, "b": 2})

    changes = changes_of({"k": remaining, "o": other}, join("k", "o"))

    assert remaining.properties == {"big": "x" * PROPERTIES_BYTES_MAX}
    assert len(changes.merged) == 1
    assert reported(changes) == [(True, 2, ("a", "b"))]


def test_of_many_properties_only_some_are_named() -> None:
    many = {f"name {number}": "x" * 100 for number in range(8_000)}

    changes = changes_of({}, Command("u", NOW, PersonUpdate(many, {})))

    [omitted] = changes.omitted
    assert (omitted.count, omitted.names) == (8_000, tuple(many)[:NAMES_LISTED_MAX])


def test_small_changes_of_a_large_person_do_not_measure_it_anew() -> None:
    """To encode half a megabyte takes a quarter of a millisecond.

    That is eight times what ingestion has for an event.
    """
    cannot_be_encoded = object()
    large = person("u", {"rest": cannot_be_encoded})
    large.properties_bytes = PROPERTIES_BYTES_MAX - 10

    changes = changes_of({"u": large}, setting("u", n=1), setting("u", n=2), setting("u", n="xxx"))

    assert large.properties == {"rest": cannot_be_encoded, "n": "xxx"}
    assert large.properties_bytes == PROPERTIES_BYTES_MAX - 10 + len(',"n":"xxx"')
    assert reported(changes) == []


# ── Whatever happens ─────────────────────────────────────────────────────────────────────


@settings(max_examples=examples(300))
@given(st.dictionaries(IDS, PROPERTIES, max_size=3), COMMANDS)
@example({}, [setting("x", a="a" * 60)])
def test_no_person_grows_beyond_the_limit(
    stored: dict[str, dict[str, Any]], commands: list[Command]
) -> None:
    persons = {name: person(name, dict(properties)) for name, properties in stored.items()}
    population = Population(1, persons, bytes_max=SMALL)
    before = {person.uuid: person.properties_bytes for person in persons.values()}

    for each in commands:
        population.apply(each)
        for changed in population.persons().values():
            now = json_bytes(changed.properties)
            assert changed.properties_bytes == now
            assert now <= max(SMALL, before.get(changed.uuid, 0))
            before[changed.uuid] = now


@given(PROPERTIES, UPDATES)
def test_a_change_that_does_not_let_a_person_grow_is_always_made(
    properties: dict[str, Any], update: PersonUpdate
) -> None:
    known = person("u", dict(properties))
    edit = edit_of(known, update, is_new=False)
    if edit is None:
        return

    made = edit.may_be_made(known, bytes_max=1)

    assert made is (edit.bytes_after <= json_bytes(properties))


@given(PROPERTIES, PROPERTIES)
def test_a_merge_is_always_made_and_leaves_the_survivor_whole(
    remaining: dict[str, Any], other: dict[str, Any]
) -> None:
    survivor, vanishing = person("k", dict(remaining)), person("o", dict(other))

    changes = changes_of({"k": survivor, "o": vanishing}, join("k", "o"), bytes_max=SMALL)

    assert len(changes.merged) == 1
    assert all(survivor.properties[name] == value for name, value in remaining.items())
    left_out = {**other, **remaining}.keys() - survivor.properties.keys()
    assert sum(omitted.count for omitted in changes.omitted) == len(left_out)
    assert {name for omitted in changes.omitted for name in omitted.names} == left_out


@given(st.dictionaries(IDS, PROPERTIES, max_size=3), COMMANDS)
def test_a_repeat_comes_to_the_same(
    stored: dict[str, dict[str, Any]], commands: list[Command]
) -> None:
    def run() -> Any:
        persons = {name: person(name, dict(properties)) for name, properties in stored.items()}
        changes = changes_of(persons, *commands, bytes_max=SMALL)
        written = [(p.uuid, p.version, p.properties) for p in (*changes.created, *changes.updated)]
        return written, reported(changes)

    assert run() == run()
