"""Rings of live events: their content and cost, and the sample shown of too many events."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from fanion.events.live.pace import WINDOW_S, Pace, evenly
from fanion.events.live.ring import LiveEvent, LiveFilter, Ring
from fanion.server.flow_control import BufferBudget

ANN, BEA = UUID(int=1), UUID(int=2)


def event(position: str, size: int = 10) -> LiveEvent:
    return LiveEvent(position, UUID(int=0), "e", "d", datetime(2024, 3, 1, tzinfo=UTC), b"x" * size)


def ring(events_max: int = 3, bytes_max: int = 2**20, budget: int = 2**20) -> Ring:
    return Ring(BufferBudget(budget), events_max, bytes_max)


def positions(kept: Ring) -> list[str]:
    events = (kept.get(number) for number in range(kept.first, kept.count))
    return [kept_event.position for kept_event in events if kept_event is not None]


@pytest.mark.parametrize(
    ("live_filter", "fits"),
    [
        (LiveFilter(), True),
        (LiveFilter("paid"), True),
        (LiveFilter("Paid"), False),
        (LiveFilter(None, "ann"), True),
        (LiveFilter("paid", "bea"), False),
        (LiveFilter("paid", "ann", ANN), True),
        (LiveFilter(None, None, BEA), False),
    ],
)
def test_an_event_fits_when_all_that_is_given_is_equal(live_filter: LiveFilter, fits: bool) -> None:
    assert live_filter.fits("paid", "ann", ANN) is fits


def test_the_last_events_are_kept_and_all_are_numbered() -> None:
    kept = ring()

    kept.put_events(map(event, "abcde"))

    assert (kept.count, kept.first, positions(kept)) == (5, 2, ["c", "d", "e"])
    assert (kept.get(1), kept.get(5)) == (None, None)


def test_events_before_the_last_are_counted() -> None:
    kept = ring()
    kept.put_events(map(event, "ab"))

    kept.put_events(map(event, "xyz"), earlier=7)

    assert (kept.count, kept.first, positions(kept)) == (12, 9, ["x", "y", "z"])


def test_an_event_is_found_by_its_position() -> None:
    kept = ring()
    kept.put_events(map(event, "abcd"))

    assert [kept.find(position) for position in "abcdz"] == [None, 1, 2, 3, None]


def test_bytes_are_limited_too() -> None:
    kept = ring(events_max=100, bytes_max=3 * event("a", 500).cost)

    kept.put_events(event(position, 500) for position in "abcdef")

    assert positions(kept) == ["d", "e", "f"]


def test_all_rings_share_one_budget_and_give_it_back() -> None:
    budget = BufferBudget(4 * event("a").cost)
    first, second = Ring(budget, 100), Ring(budget, 100)
    first.put_events(map(event, "abc"))

    second.put_events(map(event, "xyz"))

    assert (positions(first), positions(second)) == (["a", "b", "c"], ["z"])
    assert (second.count, second.first) == (3, 2)
    first.clear()
    second.clear()
    assert budget.held == 0


def test_without_any_room_an_event_is_counted_as_lost() -> None:
    kept = ring(budget=10)

    kept.put_events([event("a")])

    assert (kept.count, kept.first, positions(kept)) == (1, 1, [])


def test_the_cost_of_an_event_is_more_than_its_text() -> None:
    assert event("a", 1_000).cost > 1_000


def test_a_window_has_room_for_so_many_events_and_then_none_until_it_ends() -> None:
    pace = Pace(10.0, 50)

    pace.sent(50)

    assert (pace.room(10.9), round(pace.wait_s(10.9), 3)) == (0, 0.1)
    assert pace.room(10.0 + WINDOW_S) == 50


@pytest.mark.parametrize(
    ("size", "number", "sample"),
    [(3, 5, [0, 1, 2]), (5, 5, [0, 1, 2, 3, 4]), (10, 2, [4, 9]), (7, 3, [1, 3, 6]), (4, 0, [])],
)
def test_a_sample_is_even_and_ends_with_the_last(size: int, number: int, sample: list[int]) -> None:
    assert evenly(range(size), number) == sample
