"""Funnels of events that share a moment, each of which is used for one step."""

from typing import Any

import pytest

from tests.support.histories import Analyst, History, HistoryEvent, history_event

DAY = "2024-03-22T"
ORDERS = ("ordered", "strict", "unordered")


def happened(*events: str, **properties: Any) -> list[HistoryEvent]:
    """Return events of one person.

    Args:
        events: The name and the minute of each, such as `v 10`.
    """
    named = (text.split() for text in events)
    return [history_event(name, 1, f"{DAY}13:{minute}", **properties) for name, minute in named]


async def counts(
    analyst: Analyst, history: list[HistoryEvent], *steps: str | None, **filters: Any
) -> list[int]:
    question: dict[str, Any] = {
        "insight": "FUNNELS",
        "events": [{"id": step} for step in steps],
        "date_from": "2024-03-20",
        "date_to": "2024-03-30",
        **filters,
    }
    return [step["count"] for step in await analyst.answer(History(happened=history), **question)]


@pytest.mark.parametrize("order", ORDERS)
async def test_two_events_of_a_moment_are_two_equal_steps(analyst: Analyst, order: str) -> None:
    question = {"funnel_order_type": order}

    assert await counts(analyst, happened("v 01", "v 01"), "v", "v", **question) == [1, 1]
    assert await counts(analyst, happened("v 01"), "v", "v", **question) == [1, 0]
    assert await counts(analyst, happened("v 01", "v 01"), "v", "v", "v", **question) == [1, 1, 0]
    assert await counts(analyst, happened("v 01", "v 01", "v 02"), *"vvv", **question) == [1, 1, 1]


async def test_pairs_of_moments_are_taken_by_equal_steps(analyst: Analyst) -> None:
    history = happened("a 00", "v 10", "v 10", "v 11", "v 11", "z 12")

    for number in range(1, 5):
        result = await counts(analyst, history, "a", *["v"] * number, "z")
        assert result == [1] * (number + 2)
    assert await counts(analyst, history, "a", *"vvvvv", "z") == [1, 1, 1, 1, 1, 0, 0]
    strict = {"funnel_order_type": "strict"}
    assert await counts(analyst, history, *"avvvvz", **strict) == [1] * 6
    assert await counts(analyst, history, *"avvz", **strict) == [1, 1, 1, 0]


# The events of a moment, the steps, and the counts of an ordered funnel.
TAKEN: list[tuple[list[str], list[str | None], list[int]]] = [
    (["b 01", "a 01"], ["a", "b"], [1, 1]),
    (["v 01", "a 01"], ["v", "a", "v"], [1, 1, 0]),
    (["v 00", "v 01", "a 01"], ["v", "a", "v"], [1, 1, 1]),
    (["v 01"], [None, "v"], [1, 0]),
    (["v 01", "w 01"], [None, "v"], [1, 1]),
    (["v 01", "w 01"], [None, "v", "w"], [1, 1, 0]),
    (["v 01", "w 01", "x 01"], [None, "v", None, "w"], [1, 1, 1, 0]),
    (["v 01", "w 01", "x 01", "x 01"], [None, "v", None, "w"], [1, 1, 1, 1]),
]


@pytest.mark.parametrize(("events", "steps", "expected"), TAKEN)
async def test_no_event_is_taken_twice(
    analyst: Analyst, events: list[str], steps: list[str | None], expected: list[int]
) -> None:
    assert await counts(analyst, happened(*events), *steps) == expected


@pytest.mark.parametrize("order", ["ordered", "unordered"])
@pytest.mark.parametrize("number", [3, 6, 20])
async def test_conditions_that_an_event_fulfils_together_need_an_event_each(
    analyst: Analyst, order: str, number: int
) -> None:
    own: dict[str, Any] = {f"p{place}": "yes" for place in range(number)}
    steps = [{"id": "v", "properties": [{"key": name, "value": "yes"}]} for name in own]
    question = {"events": steps, "funnel_order_type": order}

    # Three persons, who have one event, two, and as many as there are steps.
    history = [
        history_event("v", person, f"{DAY}13:01", **own)
        for person, events in enumerate((1, 2, number), 1)
        for _ in range(events)
    ]

    assert await counts(analyst, history, **question) == [3, 2] + [1] * (number - 2)


@pytest.mark.parametrize("order", ORDERS)
async def test_conversions_after_the_range_count_within_the_window(
    analyst: Analyst, order: str
) -> None:
    question: dict[str, Any] = {
        "funnel_order_type": order,
        "date_to": "2024-03-22",
        "funnel_window_interval": 2,
        "funnel_window_interval_unit": "day",
    }
    last, later = (
        history_event("b", 1, "2024-03-24 13:00"),
        history_event("b", 1, "2024-03-24 13:01"),
    )
    entered = happened("a 00")

    assert await counts(analyst, [*entered, last], "a", "b", **question) == [1, 1]
    assert await counts(analyst, [*entered, later], "a", "b", **question) == [1, 0]
    assert await counts(analyst, [history_event("a", 1, "2024-03-23 00:00")], "a", **question) == [
        0
    ]


async def test_who_converts_after_the_range_is_counted_everywhere(analyst: Analyst) -> None:
    history = History(happened=[*happened("a 00"), history_event("b", 1, "2024-03-25 13:00")])
    question: dict[str, Any] = {
        "insight": "FUNNELS",
        "events": [{"id": "a"}, {"id": "b"}],
        "date_from": "2024-03-22",
        "date_to": "2024-03-22",
    }

    [line] = await analyst.answer(history, **question, funnel_viz_type="trends")
    times = await analyst.answer(history, **question, funnel_viz_type="time_to_convert")

    assert (line["days"], line["data"]) == (["2024-03-22"], [100.0])
    assert times["average_conversion_time"] == 3 * 86_400
