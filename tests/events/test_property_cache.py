"""The properties that ingestion keeps in memory."""

from datetime import timedelta
from typing import Any

from fanion.events.definitions.properties import (
    NAME_CHARS_MAX,
    NAMES_MAX,
    NAMES_OF_EVENT_MAX,
    OCCURRENCES_MAX,
    PERSONS,
    READ_AGAIN,
    UNTRACKED,
    ActorProperties,
    NewProperties,
    ProjectProperties,
    PropertyCache,
    PropertyType,
)
from tests.support.management import NOW

NUMERIC, STRING = PropertyType.NUMERIC, PropertyType.STRING


def recorded(**types: PropertyType | None) -> ProjectProperties:
    return ProjectProperties(dict(types))


def seen(*occurrences: dict[str, Any], event: str = "paid") -> dict[str, Any]:
    return {event: occurrences}


def test_names_are_new_once() -> None:
    known = recorded()
    events = seen({"price": 1, "plan": "pro"}, {"plan": "free"})

    first = known.new(events)
    known.add_properties(first)
    again = known.new(events)

    assert first == NewProperties({"plan": STRING, "price": NUMERIC}, {"paid": ["plan", "price"]})
    assert again == NewProperties()


def test_another_event_that_carries_a_known_name_is_new() -> None:
    known = recorded(plan=STRING)

    assert known.new(seen({"plan": 1})) == NewProperties({}, {"paid": ["plan"]})


def test_the_first_value_that_reports_a_type_decides_it() -> None:
    new = recorded().new(seen({"a": None}, {"b": True}, {"a": 1}, {"a": "text"}))

    assert new.types == {"a": NUMERIC, "b": None}


def test_a_type_on_record_is_not_reported_again_and_a_missing_one_is() -> None:
    known = recorded(plan=STRING, price=None, flag=None)

    new = known.new(seen({"plan": 1, "price": 1, "flag": True}))

    assert new.types == {"price": NUMERIC}
    assert new.carried == {"paid": ["flag", "plan", "price"]}


def test_names_that_describe_no_event_or_cannot_be_stored_are_passed_over() -> None:
    junk = dict.fromkeys(UNTRACKED, 1) | {"x" * (NAME_CHARS_MAX + 1): 1, "a\0b": 1, "": 1}

    assert recorded().new(seen(junk)) == NewProperties()


def test_a_flood_of_names_is_cut() -> None:
    known = recorded()

    known.add_properties(known.new(seen({f"n{n}": n for n in range(NAMES_OF_EVENT_MAX + 5)})))
    for number in range(20):
        names = {f"{number}-{n}": n for n in range(NAMES_OF_EVENT_MAX)}
        known.add_properties(known.new(seen(names, event=f"e{number}")))

    assert len(known.carried["paid"]) == NAMES_OF_EVENT_MAX
    assert len(known.types) == NAMES_MAX
    assert known.new(seen({"one more": 1}, event="other")) == NewProperties()
    assert known.new(seen({"n1": 1}, event="other")).carried == {"other": ["n1"]}


def test_memory_is_read_again_after_a_while() -> None:
    known = PropertyCache()
    known.refresh(NOW)
    known.put_project(1, recorded(plan=STRING))

    known.refresh(NOW + READ_AGAIN - timedelta(seconds=1))
    stored = known.of_project(1)
    known.refresh(NOW + READ_AGAIN)

    assert stored is not None
    assert known.of_project(1) is None


def test_of_a_flood_a_part_is_looked_at_until_something_is_new() -> None:
    known = recorded()
    plain = [{"plan": "pro"} for _ in range(OCCURRENCES_MAX + 1)]
    known.add_properties(known.new({"paid": plain}))

    seldom = known.new({"paid": [*plain, {"between": 1}]})
    often = known.new({"paid": [{"first": 1}, *plain, {"between": 1}]})
    few = known.new({"paid": [*plain[:10], {"between": 1}]})

    assert seldom == NewProperties()
    assert often.carried == {"paid": ["between", "first"]}
    assert few.carried == {"paid": ["between"]}


def test_properties_of_persons_and_groups_are_known_apart() -> None:
    known = recorded()
    changed: dict[int, list[dict[str, Any]]] = {
        PERSONS: [{"plan": "pro", "new": True}, {"plan": 1, "$set": 1}],
        0: [{"plan": 5}],
    }

    first = known.new({}, changed)
    known.add_properties(first)

    assert first == NewProperties(
        actors={PERSONS: {"new": None, "plan": STRING}, 0: {"plan": NUMERIC}}
    )
    assert known.new({}, changed) == NewProperties()


def test_a_missing_type_of_a_person_is_examined_once_after_each_read() -> None:
    known = recorded()
    known.actors[PERSONS] = ActorProperties({"new": None}, {"new"})

    examined = known.new({}, {PERSONS: [{"new": False}]})
    known.add_properties(examined)

    assert examined == NewProperties(actors={PERSONS: {"new": None}})
    assert known.new({}, {PERSONS: [{"new": "yes"}]}) == NewProperties()


def test_a_flood_of_names_of_persons_is_cut() -> None:
    known = recorded()

    known.add_properties(known.new({}, {PERSONS: [{f"n{n}": True for n in range(NAMES_MAX + 5)}]}))

    assert len(known.actors[PERSONS].types) == NAMES_MAX
    assert known.new({}, {PERSONS: [{"one more": 1}]}) == NewProperties()
