"""Stickiness of random histories, against a model in plain Python."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.insights.retention.oracle import starts
from tests.insights.stickiness.oracle import stickiness
from tests.support.asked_actors import actors
from tests.support.examples import examples
from tests.support.histories import NOW, Analyst, History, HistoryEvent, histories

CRITERIA: dict[str, Callable[[int, int], bool]] = {
    "gte": lambda events, value: events >= value,
    "lte": lambda events, value: events <= value,
    "exact": lambda events, value: events == value,
}


def group(event: HistoryEvent) -> Any:
    return event.properties.get("$group_0") or None


# It takes seconds: each example is stored and asked about.
@settings(max_examples=examples(30))
@given(histories(), st.data())
async def test_every_option_counts_as_the_model_does(
    analyst: Analyst, history: History, data: st.DataObject
) -> None:
    interval = data.draw(st.sampled_from(("day", "week", "month")), "interval")
    event = data.draw(st.sampled_from(("a", None)), "event")
    cumulative = data.draw(st.booleans(), "cumulative")
    of_groups = data.draw(st.sampled_from(("", "series", "question")), "groups")
    criteria = data.draw(st.sampled_from((None, "gte", "lte", "exact")), "criteria")
    series: dict[str, Any] = {"id": event, "type": "events"}
    question: dict[str, Any] = {"insight": "STICKINESS", "interval": interval, "events": [series]}
    question |= {"date_from": _first(history.zone, interval), "date_to": None}
    if criteria:
        question["stickiness_criteria"] = {"operator": criteria, "value": 2}
    if cumulative:
        question["computed_as"] = "cumulative"
    if of_groups == "series":
        series |= {"math": "unique_group", "math_group_type_index": 0}
    if of_groups == "question":
        question["aggregation_group_type_index"] = 0

    project = await analyst.store(history)
    [entry] = await analyst.ask(project, **question)

    exactly = stickiness(
        history,
        [*_bounds(history.zone, interval)[:-1], _tomorrow(history.zone)],
        lambda one: event in (None, one.event),
        lambda events: criteria is None or CRITERIA[criteria](events, 2),
        group if of_groups else history.actor,
    )
    numbers = [len(row) for row in exactly]
    expected = [sum(numbers[n:]) for n in range(len(numbers))] if cumulative else numbers
    assert (entry["data"], entry["count"]) == (expected, sum(numbers))
    for place, number in enumerate(entry["data"], 1):
        result = await actors(analyst, project, **question, stickiness_days=place)
        assert len({who for who, _ in result}) == len(result) == number


def _bounds(zone: str, interval: str) -> list[datetime]:
    number = {"day": 5, "week": 3, "month": 2}[interval]
    return starts(zone, interval.capitalize(), number, NOW)


def _first(zone: str, interval: str) -> str:
    return _bounds(zone, interval)[0].astimezone(ZoneInfo(zone)).date().isoformat()


def _tomorrow(zone: str) -> datetime:
    day = NOW.astimezone(ZoneInfo(zone)).date() + timedelta(days=1)
    return datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(zone)).astimezone(UTC)
