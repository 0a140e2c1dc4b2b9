"""Changes of properties with the values before them, and where these are not known."""

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from uuid import UUID, uuid4

import pytest

from fanion.persons.timeline.property_history import (
    EDIT_SETTLES,
    UPDATE_BYTES_MAX,
    HistoryEvent,
    PropertyChange,
    changes_of,
)

NOON = datetime(2024, 3, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
UNKNOWN = "unknown"

_numbers = count(1)


def uuid7(number: int) -> UUID:
    return UUID(int=number << 80 | 7 << 76 | 2 << 62)


def event(
    minute: float,
    distinct_id: str = "ann",
    name: str = "seen",
    uuid: UUID | None = None,
    **more: Any,
) -> HistoryEvent:
    """Return an event that is accepted at its own time.

    Args:
        more: Properties; `set`, `once` and `unset` stand for the names with a `$`.
    """
    short = {"set": "$set", "once": "$set_once", "unset": "$unset"}
    properties = {short.get(key, key): value for key, value in more.items()}
    at = NOON + minute * MINUTE
    return HistoryEvent(uuid or uuid7(next(_numbers)), name, distinct_id, at, at, properties)


def identify(minute: float, distinct_id: str, other: str, **more: Any) -> HistoryEvent:
    properties: dict[str, Any] = {"$anon_distinct_id": other, **more}
    return event(minute, distinct_id, "$identify", **properties)


def changes_told(
    *events: HistoryEvent, edits: tuple[datetime, ...] = (), is_complete: bool = True
) -> list[dict[str, tuple[str, Any, Any]]]:
    """Return the changes of each event that has some: name → operation, before, value.

    The events are in the order given.
    """
    changes = changes_of(events, edits, is_complete=is_complete)
    return [
        {
            change.name: (change.operation, _before(change), change.value)
            for change in changes[event.uuid]
        }
        for event in events
        if event.uuid in changes
    ]


def _before(change: PropertyChange) -> Any:
    return change.before if change.is_known else UNKNOWN


def test_each_value_is_told_with_the_one_before() -> None:
    assert changes_told(
        event(0, set={"plan": "free"}),
        event(1, set={"plan": "pro", "seats": 1}),
        event(2, unset=["plan", "nothing"]),
        event(3, set={"plan": None}),
        event(4, once={"seats": 5, "first": 1}),
    ) == [
        {"plan": ("set", None, "free")},
        {"plan": ("set", "free", "pro"), "seats": ("set", None, 1)},
        {"plan": ("unset", "pro", None)},
        {"plan": ("set", None, None)},
        {"first": ("set_once", None, 1)},
    ]


def test_what_is_there_already_is_no_change() -> None:
    same = {"plan": "pro", "list": [1, {"a": 2}]}

    assert len(changes_told(event(0, set=same), event(1, set=same), event(2, once=same))) == 1


def test_true_is_not_1() -> None:
    assert changes_told(event(0, set={"a": 1}), event(1, set={"a": True}))[1] == {
        "a": ("set", 1, True)
    }


def test_the_order_is_that_of_acceptance() -> None:
    late = event(5, set={"plan": "late"})
    late = HistoryEvent(
        late.uuid, "seen", "ann", NOON - 60 * MINUTE, late.received_at, late.properties
    )

    assert changes_told(late, event(1, set={"plan": "early"})) == [
        {"plan": ("set", "early", "late")},
        {"plan": ("set", None, "early")},
    ]


def test_in_one_event_set_beats_set_once_and_unset_beats_both() -> None:
    both: dict[str, Any] = {"set": {"plan": "pro"}, "once": {"plan": "free"}}

    assert changes_told(event(0), event(1, **both), event(2, unset={"plan": 1}, **both)) == [
        {"plan": ("set", None, "pro")},
        {"plan": ("unset", "pro", None)},
    ]


def test_the_event_that_creates_a_person_removes_nothing() -> None:
    first = event(0, set={"plan": "pro"}, unset=["plan"])

    assert changes_told(first, event(1, set={"plan": "free"})) == [
        {"plan": ("set", None, "pro")},
        {"plan": ("set", "pro", "free")},
    ]


def test_automatic_properties_count_as_values_before() -> None:
    browser: dict[str, Any] = {"$browser": "Firefox"}

    assert changes_told(
        event(0, **browser),
        event(1, set={"$browser": "Chrome"}, once={"$initial_browser": "Opera"}),
    ) == [{"$browser": ("set", "Firefox", "Chrome")}]


def test_locations_are_not_known_before() -> None:
    located: dict[str, Any] = {"$geoip_city_name": "Rome"}

    [changes] = changes_told(event(0, **located), event(1, set={"$geoip_city_name": "Oslo"}))

    assert changes == {"$geoip_city_name": ("set", UNKNOWN, "Oslo")}


def test_an_event_without_a_person_profile_changes_nothing() -> None:
    silent: dict[str, Any] = {"$process_person_profile": False}

    assert changes_told(event(0, set={"a": 1}, **silent), event(1, set={"a": 2})) == [
        {"a": ("set", None, 2)}
    ]


# ── Merges ───────────────────────────────────────────────────────────────────────────────


def test_a_merge_brings_what_the_survivor_lacks() -> None:
    assert changes_told(
        event(0, "anon", set={"a": "anon", "b": "anon"}),
        event(1, "ann", set={"b": "ann"}),
        identify(2, "ann", "anon", set={"a": 2, "b": 2}),
        event(3, "anon", set={"a": 3}),
    )[2:] == [
        {"a": ("set", "anon", 2), "b": ("set", "ann", 2)},
        {"a": ("set", 2, 3)},
    ]


def test_a_long_id_is_merged_as_it_is_stored() -> None:
    stored = "a" * 200

    assert changes_told(
        event(0, stored, set={"a": "anon"}),
        identify(1, "ann", stored + "b", set={"a": 1}),
    )[1:] == [{"a": ("set", "anon", 1)}]


def test_an_id_that_joins_a_person_shares_its_values() -> None:
    assert changes_told(
        event(0, "anon", set={"a": 0}),
        identify(1, "ann", "anon", set={"a": 1}),
        event(2, "ann", set={"a": 2}),
    )[1:] == [{"a": ("set", 0, 1)}, {"a": ("set", 1, 2)}]


def test_an_identified_person_is_merged_by_force_only() -> None:
    before = [
        identify(0, "bob", "anon", set={"a": "bob"}),
        event(1, "ann", set={"b": 1}),
        identify(2, "ann", "bob"),
    ]
    forced = event(3, "ann", "$merge_dangerously", alias="bob")

    assert changes_told(*before, event(4, "ann", set={"a": 4}))[-1] == {"a": ("set", None, 4)}
    assert changes_told(*before, forced, event(4, "ann", set={"a": 4}))[-1] == {
        "a": ("set", "bob", 4)
    }


def test_an_id_of_many_users_merges_nothing() -> None:
    assert changes_told(
        event(0, "anonymous", set={"a": 0}),
        identify(1, "ann", "anonymous", set={"a": 1}),
        event(2, "anonymous", set={"a": 2}),
    ) == [{"a": ("set", None, 0)}, {"a": ("set", None, 1)}, {"a": ("set", 0, 2)}]


# ── What is not known ────────────────────────────────────────────────────────────────────


def test_nothing_is_known_before_the_first_event_of_a_part() -> None:
    assert changes_told(
        event(0, set={"a": 0}, once={"b": 0}, unset=["c"]),
        event(1, set={"a": 1}),
        is_complete=False,
    ) == [
        {"a": ("set", UNKNOWN, 0), "b": ("set_once", UNKNOWN, 0), "c": ("unset", UNKNOWN, None)},
        {"a": ("set", 0, 1)},
    ]


def test_of_a_part_only_values_of_the_same_id_are_known() -> None:
    """It is not known whether both ids are one person by then."""
    assert changes_told(
        event(0, "ann", set={"a": 0}),
        event(1, "bob", set={"a": 1}),
        event(2, "bob", set={"a": 2}),
        event(3, "ann", set={"a": 3}),
        identify(4, "ann", "bob", set={"a": 4}),
        event(5, "ann", set={"a": 5}),
        is_complete=False,
    ) == [
        {"a": ("set", UNKNOWN, 0)},
        {"a": ("set", UNKNOWN, 1)},
        {"a": ("set", 1, 2)},
        {"a": ("set", UNKNOWN, 3)},
        {"a": ("set", UNKNOWN, 4)},
        {"a": ("set", 4, 5)},
    ]


def test_after_a_change_by_the_api_nothing_is_known_until_it_is_set_again() -> None:
    later = EDIT_SETTLES / MINUTE + 3
    events = [
        event(0, set={"a": 0}),
        event(2, set={"a": 2}),
        event(2.5, set={"a": 3}),
        event(later, set={"a": 4}),
        event(later + 1, set={"a": 5}),
    ]

    befores = [changes["a"][1] for changes in changes_told(*events, edits=(NOON + 2 * MINUTE,))]

    assert befores == [None, UNKNOWN, UNKNOWN, UNKNOWN, 4]


def test_an_event_that_was_too_long_to_be_read_may_have_changed_everything() -> None:
    long = HistoryEvent(uuid4(), "seen", "ann", NOON + MINUTE, NOON + MINUTE, None)

    assert changes_told(event(0, set={"a": 0}), long, event(2, set={"a": 2}))[1] == {
        "a": ("set", UNKNOWN, 2)
    }


def test_a_large_update_may_have_been_refused() -> None:
    large = "x" * UPDATE_BYTES_MAX

    assert changes_told(event(0, set={"a": large, "b": 1}), event(1, set={"b": 2}))[1] == {
        "b": ("set", UNKNOWN, 2)
    }


@pytest.mark.parametrize("is_certain", [True, False])
def test_of_one_request_the_order_is_known_by_ids_that_are_made_in_order(is_certain: bool) -> None:
    ids = [uuid7(1), uuid7(2)] if is_certain else [UUID(int=7), UUID(int=8)]
    first, second = (event(1, uuid=uuid, set={"a": n, f"b{n}": n}) for n, uuid in enumerate(ids))

    changes = changes_told(event(0, set={"a": 9}), first, second, event(2, set={"a": 2}))

    assert [of_event["a"][1] for of_event in changes] == (
        [None, 9, 0, 1] if is_certain else [None, UNKNOWN, UNKNOWN, UNKNOWN]
    )
    assert [changes[1]["b0"][1], changes[2]["b1"][1]] == [None, None]


def test_a_merge_in_a_request_of_uncertain_order_makes_everything_unknown() -> None:
    ids = [uuid4(), uuid4()]

    changes = changes_told(
        event(0, "ann", set={"a": 0}),
        identify(1, "ann", "bob", uuid=ids[0], set={"a": 1}),
        event(1, "bob", uuid=ids[1], set={"c": 1}),
        event(2, "bob", set={"a": 2}),
    )

    befores = [(of_event["a"] if "a" in of_event else of_event["c"])[1] for of_event in changes]
    assert befores == [None, *[UNKNOWN] * 3]
