"""The rules of merges, one by one, as in section 4 of the capture reference."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid5

import pytest

from fanion.persons.merge import (
    Changes,
    Merge,
    MergeKind,
    PersonState,
    PersonUpdate,
    Population,
    is_legal_id,
    person_uuid,
)
from tests.support.person_commands import Command

NOW = datetime(2024, 3, 1, 12, tzinfo=UTC)
PROJECT = 1
KINDS = list(MergeKind)


def person(
    name: str, /, *, identified: bool = False, age: int = 0, **properties: Any
) -> PersonState:
    """Return a stored person of version 5, made `age` days before NOW, with the id of `name`."""
    made = NOW - timedelta(days=age)
    return PersonState(
        id=sum(name.encode()),
        uuid=person_uuid(PROJECT, name),
        properties=dict(properties),
        is_identified=identified,
        created_at=made,
        version=5,
    )


def command(distinct_id: str, **parts: Any) -> Command:
    return Command(distinct_id, parts.pop("timestamp", NOW), **parts)


def join(
    distinct_id: str,
    other_id: str,
    kind: MergeKind = MergeKind.IDENTIFY,
    update: PersonUpdate | None = None,
) -> Command:
    return Command(distinct_id, NOW, update, Merge(kind, other_id))


def changes_of(persons: dict[str, PersonState], *commands: Command) -> Changes:
    population = Population(PROJECT, persons)
    for each in commands:
        population.apply(each)
    return population.changes()


def test_the_first_event_of_a_distinct_id_makes_a_person_as_old_as_the_event() -> None:
    population = Population(PROJECT, {})
    past = NOW - timedelta(days=3)

    uuid = population.apply(command("u1", timestamp=past))
    again = population.apply(command("u1"))

    changes = population.changes()
    [made] = changes.created
    assert uuid == again == made.uuid == person_uuid(PROJECT, "u1")
    assert (made.id, made.version, made.is_identified) == (None, 0, False)
    assert made.created_at == past
    assert changes.attached == {"u1": made}
    assert (changes.updated, changes.merged, changes.overrides) == ((), (), {})


def test_a_person_is_as_old_as_its_earliest_event_whatever_the_order() -> None:
    days = [2, 5, 1, 4]
    population = Population(PROJECT, {"u1": person("u1", age=3)})

    for name in ("u1", "u2"):
        for age in days:
            population.apply(command(name, timestamp=NOW - timedelta(days=age)))

    changes = population.changes()
    [known], [made] = changes.updated, changes.created
    assert known.created_at == made.created_at == NOW - timedelta(days=5)


def test_later_events_leave_the_age_of_a_person() -> None:
    known = person("u1", age=3)

    changes = changes_of({"u1": known}, command("u1", timestamp=NOW - timedelta(days=3)))

    assert changes == Changes((), (), {}, (), {})


def test_an_earlier_event_ages_the_person_that_its_unknown_id_joins() -> None:
    known = person("ann", age=3)
    earlier = Command("anon", NOW - timedelta(days=9), None, Merge(MergeKind.IDENTIFY, "ann"))

    [changed] = changes_of({"ann": known}, earlier).updated

    assert changed.created_at == NOW - timedelta(days=9)


def test_an_event_without_person_profile_does_not_age_the_person() -> None:
    earlier = command("u1", timestamp=NOW - timedelta(days=9), makes_person=False)

    assert changes_of({"u1": person("u1")}, earlier) == Changes((), (), {}, (), {})


def test_person_ids_differ_between_projects_and_distinct_ids() -> None:
    assert len({person_uuid(1, "11"), person_uuid(11, "1"), person_uuid(1, "1")}) == 3


def test_a_known_person_without_a_change_is_not_written() -> None:
    assert changes_of({"u1": person("u1")}, command("u1")) == Changes((), (), {}, (), {})


def test_an_event_without_person_profile_makes_and_changes_no_person() -> None:
    known = person("u1")
    population = Population(PROJECT, {"u1": known})
    update = PersonUpdate({"a": 1}, {})

    for_known = population.apply(command("u1", makes_person=False, update=update))
    for_unknown = population.apply(command("u2", makes_person=False))

    assert (for_known, for_unknown) == (known.uuid, person_uuid(PROJECT, "u2"))
    assert population.changes() == Changes((), (), {}, (), {})


def test_an_event_without_a_profile_has_the_person_that_its_distinct_id_gets() -> None:
    population = Population(PROJECT, {})

    anonymous = population.apply(command("u1", makes_person=False))
    named = population.apply(command("u1"))

    assert anonymous == named
    assert population.changes().overrides == {}


def test_events_without_a_profile_follow_their_distinct_id() -> None:
    population = Population(PROJECT, {})

    before = population.apply(command("anon", makes_person=False))
    owner = population.apply(join("u1", "anon"))
    after = population.apply(command("anon", makes_person=False))

    assert (before, after) == (person_uuid(PROJECT, "anon"), owner)
    assert population.changes().overrides == {before: owner}


def test_events_without_a_profile_follow_through_merges_of_one_batch() -> None:
    population = Population(PROJECT, {})

    before = population.apply(command("anon", makes_person=False))
    merged = population.apply(join("u1", "anon"))
    population.apply(command("u2"))
    owner = population.apply(join("u2", "u1", MergeKind.DANGEROUSLY))

    assert population.changes().overrides == {before: owner, merged: owner}


@pytest.mark.parametrize(
    ("before", "update", "after"),
    [
        ({"a": 1}, PersonUpdate({"a": 2}, {}), {"a": 2}),
        ({"a": 1}, PersonUpdate({}, {"a": 2, "b": 2}), {"a": 1, "b": 2}),
        ({"a": None}, PersonUpdate({}, {"a": 2}), None),
        ({}, PersonUpdate({"a": 1}, {"a": 2}), {"a": 1}),
        ({"a": 1}, PersonUpdate({"a": None}, {}), {"a": None}),
        ({"a": 1}, PersonUpdate({"a": 2, "b": 2}, {"c": 2}, ("a", "c", "zzz")), {"b": 2}),
        ({"a": 1}, PersonUpdate({"a": 1}, {"a": 2}, ("b",)), None),
        ({"a": 1}, PersonUpdate({"a": True}, {}), {"a": True}),
        ({"a": 1}, PersonUpdate({"a": 1.0}, {}), {"a": 1.0}),
        ({"a": [1]}, PersonUpdate({"a": [True]}, {}), {"a": [True]}),
        ({"a": {"x": 1, "y": 2}}, PersonUpdate({"a": {"y": 2, "x": 1}}, {}), None),
    ],
)
def test_an_update_applies_set_once_then_set_then_unset(
    before: dict[str, Any], update: PersonUpdate, after: dict[str, Any] | None
) -> None:
    known = person("u1", **before)

    changes = changes_of({"u1": known}, command("u1", update=update))

    assert repr(known.properties) == repr(before if after is None else after)
    assert [p.version for p in changes.updated] == ([] if after is None else [5])


def test_unset_does_not_apply_on_the_event_that_makes_the_person() -> None:
    update = PersonUpdate({"a": 1}, {"b": 2}, ("a", "b"))

    changes = changes_of({}, command("u1", update=update))

    assert changes.created[0].properties == {"b": 2, "a": 1}


def test_a_person_changed_often_in_a_batch_is_written_once() -> None:
    updates = [command("u1", update=PersonUpdate({"n": n}, {})) for n in range(5)]

    changes = changes_of({"u1": person("u1")}, *updates)

    assert [(p.version, p.properties) for p in changes.updated] == [(5, {"n": 4})]


@pytest.mark.parametrize("kind", KINDS)
def test_equal_ids_merge_nothing_and_identify_no_person(kind: MergeKind) -> None:
    update = PersonUpdate({"a": 1}, {})

    changes = changes_of({"u1": person("u1")}, join("u1", "u1", kind, update))

    assert [(p.is_identified, p.properties) for p in changes.updated] == [(False, {"a": 1})]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("distinct_id", "other_id"), [("u1", "null"), ("Anonymous", "u1")])
def test_an_illegal_id_merges_nothing_but_its_event_gets_its_person(
    kind: MergeKind, distinct_id: str, other_id: str
) -> None:
    changes = changes_of({}, join(distinct_id, other_id, kind, PersonUpdate({"a": 1}, {})))

    [made] = changes.created
    assert (made.is_identified, made.properties) == (False, {"a": 1})
    assert list(changes.attached) == [distinct_id]


@pytest.mark.parametrize("kind", KINDS)
def test_two_unknown_ids_become_one_identified_person(kind: MergeKind) -> None:
    update = PersonUpdate({"a": 1}, {}, ("a",))

    changes = changes_of({}, join("u1", "anon", kind, update))

    [made] = changes.created
    assert (made.uuid, made.is_identified) == (person_uuid(PROJECT, "u1"), True)
    assert made.properties == {"a": 1}
    assert changes.attached == {"u1": made, "anon": made}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("known_id", ["u1", "anon"])
@pytest.mark.parametrize("identified", [False, True])
def test_the_unknown_id_joins_the_known_person(
    kind: MergeKind, known_id: str, identified: bool
) -> None:
    known = person(known_id, identified=identified)
    population = Population(PROJECT, {known_id: known})

    uuid = population.apply(join("u1", "anon", kind))

    changes = population.changes()
    assert uuid == known.uuid
    assert changes.created == ()
    # It changes even where nothing else does: a batch that merges it meanwhile must know of the
    # override.
    assert changes.updated == (known,)
    assert known.is_identified
    new_id = "anon" if known_id == "u1" else "u1"
    assert changes.attached == {new_id: known}
    assert changes.overrides == {person_uuid(PROJECT, new_id): known.uuid}


@pytest.mark.parametrize("kind", KINDS)
def test_an_unidentified_person_merges_into_that_of_the_distinct_id(kind: MergeKind) -> None:
    stored = person("u1", identified=True, age=1, b=3, c=4, d=5)
    other = person("anon", age=9, a=1, b=2)
    update = PersonUpdate({"d": 6, "e": 7}, {"a": 8, "f": 9})
    population = Population(PROJECT, {"u1": stored, "anon": other})

    uuid = population.apply(join("u1", "anon", kind, update))

    changes = population.changes()
    assert uuid == stored.uuid
    assert stored.properties == {"a": 1, "b": 3, "c": 4, "d": 6, "e": 7, "f": 9}
    assert stored.created_at == NOW - timedelta(days=9)
    assert stored.is_identified
    assert changes.updated == (stored,)
    assert [(m.person, m.into) for m in changes.merged] == [(other, stored)]
    changes.give_version(9)
    assert (stored.version, other.version) == (9, 9)
    assert changes.overrides == {other.uuid: stored.uuid}
    assert changes.attached == {}


@pytest.mark.parametrize("kind", [MergeKind.IDENTIFY, MergeKind.ALIAS])
def test_an_identified_person_is_not_merged_away(kind: MergeKind) -> None:
    stored, other = person("u1", b=3), person("anon", identified=True, a=1)
    update = PersonUpdate({"c": 1}, {})

    changes = changes_of({"u1": stored, "anon": other}, join("u1", "anon", kind, update))

    assert changes.merged == ()
    assert changes.updated == (stored,)
    assert (stored.is_identified, stored.properties) == (True, {"b": 3, "c": 1})
    assert other.properties == {"a": 1}


def test_a_dangerous_merge_takes_an_identified_person_too() -> None:
    stored, other = person("u1"), person("anon", identified=True, a=1)

    changes = changes_of({"u1": stored, "anon": other}, join("u1", "anon", MergeKind.DANGEROUSLY))

    assert [(m.person, m.into) for m in changes.merged] == [(other, stored)]
    assert stored.properties == {"a": 1}


def test_two_ids_of_one_person_only_mark_it_identified() -> None:
    both = person("u1")
    persons = {"u1": both, "anon": both}

    changes = changes_of(persons, join("u1", "anon"))
    unchanged = changes_of(persons, join("u1", "anon"))

    assert (changes.updated, changes.merged, both.is_identified) == ((both,), (), True)
    assert unchanged == Changes((), (), {}, (), {})


def test_events_after_a_merge_count_for_the_survivor() -> None:
    stored, other = person("u1"), person("anon")
    population = Population(PROJECT, {"u1": stored, "anon": other, "anon2": other})

    population.apply(join("u1", "anon"))

    assert population.apply(command("anon2")) == stored.uuid


def test_a_chain_of_merges_ends_at_the_last_survivor() -> None:
    a, b, c = person("a"), person("b"), person("c")

    changes = changes_of(
        {"a": a, "b": b, "c": c},
        join("b", "a", MergeKind.DANGEROUSLY),
        join("c", "b", MergeKind.DANGEROUSLY),
        join("a", "new", MergeKind.DANGEROUSLY),
    )

    assert changes.updated == (c,)
    assert [(m.person, m.into) for m in changes.merged] == [(a, c), (b, c)]
    new = person_uuid(PROJECT, "new")
    assert changes.overrides == {a.uuid: c.uuid, b.uuid: c.uuid, new: c.uuid}
    assert changes.attached == {"new": c}


def test_a_person_made_and_merged_in_one_batch_is_never_stored_but_overridden() -> None:
    stored = person("u1")

    changes = changes_of({"u1": stored}, command("anon"), join("u1", "anon"))

    assert (changes.created, changes.merged) == ((), ())
    assert changes.attached == {"anon": stored}
    assert changes.overrides == {person_uuid(PROJECT, "anon"): stored.uuid}


def test_a_stored_person_can_merge_into_one_made_in_the_batch() -> None:
    other = person("anon", a=1, age=2)

    changes = changes_of({"anon": other}, command("u1"), join("u1", "anon"))

    [made] = changes.created
    assert made.properties == {"a": 1}
    assert made.created_at == NOW - timedelta(days=2)
    assert [(m.person, m.into) for m in changes.merged] == [(other, made)]


def test_a_merge_costs_the_same_however_many_distinct_ids_a_person_has() -> None:
    crowd = person("crowd")
    persons = {f"d{n}": crowd for n in range(50_000)} | {"u1": person("u1")}
    population = Population(PROJECT, persons)

    started = time.process_time()
    population.apply(join("u1", "d7"))
    population.changes()

    assert time.process_time() - started < 0.01  # a microsecond each would be five times that


@pytest.mark.parametrize(
    "distinct_id",
    [
        *["anonymous", "Guest", "DISTINCTID", "distinct_id", "ID", "not_authenticated"],
        *["email", "Undefined", "TRUE", "False", "[object Object]", "NaN", "None", "none"],
        *["null", "0", "undefined", "", "  ", "'null'", '"anonymous"', '"0"', "''", '" "', " 0 "],
    ],
)
def test_ids_that_broken_clients_share_are_illegal_to_merge(distinct_id: str) -> None:
    assert not is_legal_id(distinct_id)


@pytest.mark.parametrize(
    "distinct_id",
    ["nan", "Nan", "NULL", "NONE", "00", "u1", "'", '"', "null'", "[object object]", "anonymous1"],
)
def test_ids_that_only_look_like_them_are_legal(distinct_id: str) -> None:
    assert is_legal_id(distinct_id)


@pytest.mark.parametrize("distinct_id", ["", "a", "ü" * 200, *(f"user-{n}" for n in range(50))])
def test_the_id_of_a_new_person_is_named_by_its_project_and_distinct_id(distinct_id: str) -> None:
    namespace = UUID("932979b4-65c3-4424-8467-0b66ec27bc22")

    assert person_uuid(7, distinct_id) == uuid5(namespace, f"7:{distinct_id}")
