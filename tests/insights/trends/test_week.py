"""Trends by weekday and hour: worked examples, a model in plain Python, and who is behind."""

from collections.abc import Callable, Collection
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanion.errors import Invalid
from tests.support.asked_actors import actors
from tests.support.examples import examples
from tests.support.histories import (
    NOW,
    PERSONS,
    Analyst,
    History,
    HistoryEvent,
    histories,
    history_event,
)

ANN, BOB = PERSONS[:2]
ZONE = "Europe/Berlin"
MAP: dict[str, Any] = {
    "insight": "TRENDS",
    "display": "CalendarHeatmap",
    "events": [{"id": "a", "math": "dau"}],
}
# The clocks went forward on Sunday 31 March at 2:00, and back on Sunday 27 October at 3:00.
CAME = History(
    ZONE,
    [
        history_event("a", 2, "2024-03-23 12:59", ZONE),
        history_event("a", 1, "2024-03-30 12:00", ZONE),
        history_event("a", 1, "2024-03-31 01:30", ZONE),
        history_event("a", 2, "2024-03-31 03:30", ZONE),
        history_event("a", 2, "2024-04-01 00:15", ZONE),
        history_event("b", 2, "2024-04-01 00:15", ZONE),
        history_event("a", 1, "2024-10-27 00:30"),
        history_event("a", 1, "2024-10-27 01:30"),
    ],
)
SPRING: dict[str, Any] = MAP | {"date_from": "2024-03-23", "date_to": "2024-04-01"}
LATER = datetime(2024, 11, 1, tzinfo=UTC)

Cells = dict[tuple[int, int], float]


def cells(heatmap: dict[str, Any]) -> Cells:
    return {(one["row"], one["column"]): one["value"] for one in heatmap["data"] if one["value"]}


def sides(heatmap: dict[str, Any]) -> tuple[dict[int, float], dict[int, float], float]:
    rows = {one["row"]: one["value"] for one in heatmap["rowAggregations"] if one["value"]}
    columns = {one["column"]: one["value"] for one in heatmap["columnAggregations"] if one["value"]}
    return rows, columns, heatmap["allAggregations"]


async def heatmap(
    analyst: Analyst, history: History, now: datetime = NOW, **asked: Any
) -> dict[str, Any]:
    [entry] = await analyst.answer(history, now, **asked)
    found: dict[str, Any] = entry["calendar_heatmap_data"]
    assert entry["count"] == found["allAggregations"]
    return found


async def test_hours_are_those_of_the_projects_clocks(analyst: Analyst) -> None:
    events = await heatmap(analyst, CAME, **SPRING | {"events": [{"id": "a"}]})
    persons = await heatmap(analyst, CAME, **SPRING)
    autumn = await heatmap(
        analyst, CAME, LATER, **MAP | {"events": [{"id": "a"}], "date_from": "2024-10-27"}
    )

    assert cells(events) == {(6, 12): 2, (7, 1): 1, (7, 3): 1, (1, 0): 1}
    assert sides(events) == ({6: 2, 7: 2, 1: 1}, {12: 2, 1: 1, 3: 1, 0: 1}, 5)
    assert cells(persons) == {(6, 12): 2, (7, 1): 1, (7, 3): 1, (1, 0): 1}
    assert sides(persons) == ({6: 2, 7: 2, 1: 1}, {12: 2, 1: 1, 3: 1, 0: 1}, 2)
    # The hour from 2:00 comes twice that night.
    assert cells(autumn) == {(7, 2): 2}
    assert [len(events[name]) for name in ("data", "rowAggregations", "columnAggregations")] == [
        168,
        7,
        24,
    ]


PLACES: list[tuple[dict[str, Any], list[Any]]] = [
    ({"weekday": 6, "hour": 12}, [ANN, BOB]),
    ({"weekday": 1}, [BOB]),
    ({"hour": 1}, [ANN]),
    ({}, [ANN, BOB]),
]


@pytest.mark.parametrize(("place", "expected"), PLACES)
async def test_behind_a_number_are_the_persons_of_its_hours(
    analyst: Analyst, place: dict[str, Any], expected: list[Any]
) -> None:
    project = await analyst.store(CAME)

    result = await actors(analyst, project, **SPRING, **place)

    assert sorted(who for who, _ in result) == expected


@pytest.mark.parametrize(
    ("asked", "attr"),
    [
        (SPRING | {"weekday": 8}, "weekday"),
        (SPRING | {"hour": 24}, "hour"),
        (SPRING | {"display": "BoldNumber", "hour": 1}, "hour"),
    ],
)
async def test_a_place_that_no_week_has_is_refused(
    analyst: Analyst, asked: dict[str, Any], attr: str
) -> None:
    project = await analyst.store(CAME)

    with pytest.raises(Invalid) as caught:
        await actors(analyst, project, **asked)

    assert caught.value.attr == attr


def number(event: HistoryEvent) -> float | None:
    try:
        return float(str(event.properties.get("n")))
    except ValueError:
        return None


def sum_of(events: Collection[HistoryEvent], _: History) -> float:
    return sum(number(event) or 0 for event in events)


def average_of(events: Collection[HistoryEvent], _: History) -> float:
    numbers = [value for event in events if (value := number(event)) is not None]
    return sum(numbers) / len(numbers) if numbers else 0


def persons_of(events: Collection[HistoryEvent], history: History) -> float:
    return len({history.actor(event) for event in events})


def sessions_of(events: Collection[HistoryEvent], _: History) -> float:
    return len({event.properties.get("$session_id") for event in events} - {None, ""})


def count_of(events: Collection[HistoryEvent], _: History) -> float:
    return len(events)


MATHS: dict[str, Callable[[Collection[HistoryEvent], History], float]] = {
    "total": count_of,
    "dau": persons_of,
    "unique_session": sessions_of,
    "sum": sum_of,
    "avg": average_of,
}


@settings(max_examples=examples(20))
@given(histories(), st.sampled_from(sorted(MATHS)))
async def test_each_number_is_that_of_the_model(
    analyst: Analyst, history: History, math: str
) -> None:
    asked = MAP | {"events": [{"id": None, "math": math, "math_property": "n"}]}
    asked |= {"date_from": "-30d"}
    found = await heatmap(analyst, history, **asked)

    def expected(**at: int) -> float:
        local = [(event, event.at.astimezone(ZoneInfo(history.zone))) for event in history.once]
        own = [
            event
            for event, time in local
            if at.get("row", time.isoweekday()) == time.isoweekday()
            and at.get("column", time.hour) == time.hour
        ]
        return MATHS[math](own, history)

    numbers = [*found["data"], *found["rowAggregations"], *found["columnAggregations"]]
    for one in numbers:
        place = {name: at for name, at in one.items() if name != "value"}
        assert one["value"] == pytest.approx(expected(**place)), place
    assert found["allAggregations"] == pytest.approx(expected())


@settings(max_examples=examples(8))
@given(histories(), st.sampled_from(("dau", "first_time_for_user")))
async def test_behind_each_number_are_as_many_persons(
    analyst: Analyst, history: History, math: str
) -> None:
    project = await analyst.store(history)
    asked = MAP | {"events": [{"id": "a", "math": math}], "date_from": "-30d"}

    [entry] = await analyst.ask(project, **asked)

    found = entry["calendar_heatmap_data"]
    seen = [one for one in found["data"] if one["value"]][:4]
    for one in [*seen, *found["rowAggregations"][:3], *found["columnAggregations"][9:12]]:
        names = {"row": "weekday", "column": "hour"}
        place = {names[name]: at for name, at in one.items() if name != "value"}
        assert len(await actors(analyst, project, **asked, **place)) == one["value"], place
