"""Correlations of a funnel: the worked example, and a model in plain Python.

Source: insights.md, section 5i.
"""

from collections import defaultdict
from dataclasses import replace
from math import log
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanion.errors import Invalid
from fanion.insights.funnels.places import read_correlation_place
from fanion.insights.funnels.query import read_correlation
from fanion.insights.parsing.fields import Fields
from tests.insights.funnels.oracle import Oracle
from tests.insights.funnels.test_oracle import DENSE
from tests.support.asked_actors import actors
from tests.support.examples import examples
from tests.support.histories import PERSONS, Analyst, History, HistoryEvent, history_event

DAY = "2024-04-02T"
ASKED: dict[str, Any] = {"insight": "FUNNELS_CORRELATION", "events": [{"id": "a"}, {"id": "b"}]}
Filters = dict[str, Any]


def _converted(who: int, *others: str) -> list[HistoryEvent]:
    return [*_dropped(who, *others), history_event("b", who, f"{DAY}11:00", plan="pro")]


def _dropped(who: int, *others: str) -> list[HistoryEvent]:
    done = [history_event(name, who, f"{DAY}10:{n:02}") for n, name in enumerate(others, 1)]
    return [history_event("a", who, f"{DAY}10:00"), *done]


def _happened(*persons: list[HistoryEvent]) -> History:
    return History(happened=[event for some in persons for event in some])


EXAMPLE = _happened(
    *(_converted(who, "x") for who in (1, 2, 3)),
    _converted(4),
    _dropped(5, "x"),
    *(_dropped(who) for who in range(6, 11)),
)


async def test_odds_compare_those_who_did_an_event_with_those_who_did_not(
    analyst: Analyst,
) -> None:
    assert await analyst.answer(EXAMPLE, **ASKED) == {
        "events": [
            {
                "event": {"event": "x", "properties": {}, "elements": []},
                "success_count": 3,
                "failure_count": 1,
                "odds_ratio": 6.0,
                "correlation_type": "success",
            }
        ],
        "skewed": False,
    }


async def test_events_can_be_left_out(analyst: Analyst) -> None:
    asked = ASKED | {"funnel_correlation_exclude_event_names": ["x"]}

    assert await analyst.answer(EXAMPLE, **asked) == {"events": [], "skewed": False}


@pytest.mark.parametrize(
    ("converted", "dropped", "skewed"),
    [(1, 10, False), (1, 11, True), (10, 1, False), (11, 1, True), (0, 3, True), (3, 0, True)],
)
async def test_what_differs_too_much_says_nothing(
    analyst: Analyst, converted: int, dropped: int, skewed: bool
) -> None:
    history = _happened(
        *(_converted(who, "x") for who in range(1, converted + 1)),
        *(_dropped(who + 100, "x") for who in range(dropped)),
    )

    answer = await analyst.answer(history, **ASKED)

    assert answer["skewed"] == skewed
    assert bool(answer["events"]) != skewed


async def test_ten_of_each_side_are_shown_the_most_telling_first(analyst: Analyst) -> None:
    """A converted person did one to twelve events, and another person the same number of others."""
    history = _happened(
        *(_converted(who, *(f"s{n:02}" for n in range(who))) for who in range(1, 13)),
        *(_dropped(20 + who, *(f"f{n:02}" for n in range(who))) for who in range(1, 13)),
    )

    answer = await analyst.answer(history, **ASKED)

    names = [row["event"]["event"] for row in answer["events"]]
    assert names == [f"s{n:02}" for n in range(10)] + [f"f{n:02}" for n in range(10)]
    assert [row["correlation_type"] for row in answer["events"]] == ["success"] * 10 + [
        "failure"
    ] * 10


async def test_properties_of_persons_are_compared(analyst: Analyst) -> None:
    held = {person: {"plan": "pro", "n": 1, "email": "e"} for person in PERSONS[:2]}
    history = replace(
        _happened(_converted(1), _converted(2), _dropped(3), _dropped(4)),
        persons={**held, PERSONS[2]: {"plan": "free", "none": None}},
    )
    asked = ASKED | {"funnel_correlation_type": "properties"}

    every = await analyst.answer(
        history,
        **asked,
        funnel_correlation_names=["$all"],
        funnel_correlation_exclude_names=["email"],
    )
    named = await analyst.answer(history, **asked, funnel_correlation_names=["n"])

    assert [
        (e["event"]["event"], e["success_count"], e["failure_count"]) for e in every["events"]
    ] == [
        ("n::1", 2, 0),
        ("plan::pro", 2, 0),
        ("plan::free", 0, 1),
    ]
    assert every["events"][0]["odds_ratio"] == 9.0
    assert named["events"] == every["events"][:1]


async def test_properties_of_events_are_compared(analyst: Analyst) -> None:
    history = _happened(
        [*_converted(1), history_event("x", 1, f"{DAY}10:30", plan="pro", n=2)],
        [*_dropped(2), history_event("x", 2, f"{DAY}10:30", plan="free")],
        [*_dropped(3), history_event("y", 3, f"{DAY}10:30", plan="pro")],
    )

    answer = await analyst.answer(
        history,
        **ASKED,
        funnel_correlation_type="event_with_properties",
        funnel_correlation_event_names=["x"],
        funnel_correlation_event_exclude_property_names=["n"],
    )

    assert [(e["event"]["event"], e["success_count"]) for e in answer["events"]] == [
        ("x::plan::pro", 1),
        ("x::plan::free", 0),
    ]


@pytest.mark.parametrize(
    ("asked", "place", "converted"),
    [
        ({}, {"funnel_correlation_person_entity": {"id": "x", "type": "events"}}, {1}),
        (
            {
                "funnel_correlation_type": "event_with_properties",
                "funnel_correlation_event_names": ["x"],
            },
            {
                "funnel_correlation_person_entity": {
                    "id": "x",
                    "properties": [{"key": "n", "value": ["2"], "operator": "exact"}],
                }
            },
            {1},
        ),
        (
            {"funnel_correlation_type": "properties", "funnel_correlation_names": ["$all"]},
            {"funnel_correlation_property_values": [{"key": "plan", "value": "pro"}]},
            {1},
        ),
    ],
)
async def test_the_people_of_a_correlation_are_those_it_counts(
    analyst: Analyst, asked: Filters, place: Filters, converted: set[int]
) -> None:
    history = replace(
        _happened(
            [*_converted(1), history_event("x", 1, f"{DAY}10:30", n=2)],
            [*_converted(2), history_event("x", 2, f"{DAY}11:30", n=2)],
            [*_dropped(3), history_event("x", 3, f"{DAY}10:30", n=2)],
            _dropped(4),
        ),
        persons={PERSONS[0]: {"plan": "pro"}, PERSONS[2]: {"plan": "pro"}},
    )
    project = await analyst.store(history)
    question = ASKED | asked

    answer = await analyst.ask(project, **question)
    result = [
        {
            who.int
            for who, _ in await actors(
                analyst, project, **question, **place, funnel_correlation_person_converted=side
            )
        }
        for side in (True, False)
    ]

    assert result == [converted, {3}]
    assert (answer["events"][0]["success_count"], answer["events"][0]["failure_count"]) == (1, 1)


@pytest.mark.parametrize(
    ("sent", "attr"),
    [
        ({}, "funnel_correlation_person_converted"),
        ({"funnel_correlation_person_converted": "true"}, "funnel_correlation_person_entity"),
        (
            {
                "funnel_correlation_person_converted": "true",
                "funnel_correlation_person_entity": {"type": "events"},
            },
            "funnel_correlation_person_entity__id",
        ),
    ],
)
def test_a_place_of_a_correlation_needs_its_parts(sent: Filters, attr: str) -> None:
    fields = Fields(ASKED | sent)
    with pytest.raises(Invalid) as refused:
        read_correlation_place(fields, read_correlation(fields))

    assert refused.value.attr == attr


@settings(max_examples=examples(15))
@given(
    DENSE,
    st.sampled_from(("ordered", "strict", "unordered")),
    st.sampled_from(({}, {"properties": [{"key": "plan", "value": "pro"}]})),
    st.sampled_from(({}, {"funnel_window_interval": 20, "funnel_window_interval_unit": "minute"})),
)
async def test_events_are_those_between_the_first_and_the_last_step(
    analyst: Analyst, history: History, order: str, conditions: Filters, window: Filters
) -> None:
    asked = ASKED | {"funnel_order_type": order, "date_from": "-7d"} | conditions | window

    answer = await analyst.answer(history, **asked)

    expected = _expected(history, asked)
    result = {
        row["event"]["event"]: (row["success_count"], row["failure_count"], row["odds_ratio"])
        for row in answer["events"]
    }
    assert answer["skewed"] == (expected is None)
    assert result == (expected or {})
    telling = [(row["odds_ratio"] <= 1, -abs(log(row["odds_ratio"]))) for row in answer["events"]]
    assert telling == sorted(telling)


def _expected(history: History, asked: Filters) -> dict[str, Any] | None:
    oracle, free = Oracle(history, asked), Oracle(history, {**asked, "properties": []})
    size, of_all = len(asked["events"]), free.of_actors()
    did: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    totals = [0, 0]
    for who, _, best in oracle.people():
        first = best[0]
        start, is_failure = first.events[0].at, first.level < size
        end = oracle.window_end(start) if is_failure else first.events[-1].at
        totals[is_failure] += 1
        names = {event.event for event in of_all[who] if start < event.at < end}
        for name in names - {"a", "b"}:
            did[name][is_failure] += 1
    successes, failures = totals
    if not successes or not failures or max(totals) > 10 * min(totals):
        return None
    return {
        name: (s, f, pytest.approx((s + 1) * (failures - f + 1) / ((f + 1) * (successes - s + 1))))
        for name, (s, f) in did.items()
    }
