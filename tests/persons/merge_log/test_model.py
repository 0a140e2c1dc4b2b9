"""The distinct ids that each merge of a batch brings, whatever order the batch has."""

from datetime import UTC, datetime

from fanion.persons.merge import Merge, MergeKind, PersonState, Population, person_uuid
from fanion.persons.merge_log.model import IDS_LISTED_MAX, MovedIds, moved_ids
from tests.support.person_commands import Command

NOW = datetime(2024, 3, 1, 12, tzinfo=UTC)


def stored(number: int, name: str) -> PersonState:
    return PersonState(number, person_uuid(1, name), {}, False, NOW, 5)


def join(distinct_id: str, other_id: str) -> Command:
    return Command(distinct_id, NOW, None, Merge(MergeKind.DANGEROUSLY, other_id))


def moves(
    persons: dict[str, PersonState], own: dict[int, MovedIds], *commands: Command
) -> list[tuple[str, tuple[str, ...], int]]:
    """Return the event's distinct id, the ids that came and their number, of each merge."""
    population = Population(1, persons)
    for command in commands:
        population.apply(command)
    return [
        (logged.command.distinct_id, moved.listed, moved.count)
        for logged, moved in moved_ids(population.changes(), own)
    ]


def test_an_id_without_a_person_comes_alone() -> None:
    assert moves({}, {}, join("ann", "anon")) == [("ann", ("anon",), 1)]


def test_the_event_s_own_id_comes_where_only_the_other_one_has_a_person() -> None:
    bob = stored(2, "bob")

    assert moves({"bob": bob}, {}, join("phone", "bob")) == [("phone", ("phone",), 1)]


def test_a_stored_person_brings_all_of_its_ids() -> None:
    ann, bob = stored(1, "ann"), stored(2, "bob")
    own = {2: MovedIds(("bob", "bob-2"), 2)}

    assert moves({"ann": ann, "bob": bob}, own, join("ann", "bob")) == [
        ("ann", ("bob", "bob-2"), 2)
    ]


def test_a_person_of_the_same_batch_brings_the_id_that_made_it() -> None:
    made = Command("new", NOW)

    assert moves({"ann": stored(1, "ann")}, {}, made, join("ann", "new")) == [("ann", ("new",), 1)]


def test_a_chain_of_merges_brings_what_came_before() -> None:
    persons = {name: stored(number, name) for number, name in enumerate(("a", "b", "c"), 1)}
    own = {1: MovedIds(("a",), 1), 2: MovedIds(("b",), 1)}

    found = moves(persons, own, join("b", "a"), join("b", "anon"), join("c", "b"))

    assert found == [("b", ("a",), 1), ("b", ("anon",), 1), ("c", ("b", "a", "anon"), 3)]


def test_a_refused_merge_is_none() -> None:
    assert moves({}, {}, join("ann", "ann"), join("ann", "null")) == []


def test_only_the_first_ids_are_listed_and_all_are_counted() -> None:
    many = MovedIds(tuple(map(str, range(IDS_LISTED_MAX))), 5_000)

    added = many + MovedIds(("more",), 1)

    assert (len(added.listed), added.count) == (IDS_LISTED_MAX, 5_001)
