"""The worked example of stickiness, the shape of the answer, and the actors behind it."""

from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from fanion.errors import Invalid
from fanion.insights.stickiness.service import NUMBERS_MAX
from tests.support.asked_actors import actors
from tests.support.histories import PERSONS, Analyst, History, history_event

ANN, BOB, CID = PERSONS[:3]
TIMES = ((1, 1), (1, 2), (1, 3), (2, 1), (2, 3), (3, 2))
# ann came on 1, 2 and 3 March, bob on 1 and 3, cid on 2.
CAME = History(
    "UTC", [history_event("$pageview", who, f"2024-03-0{day} 10:00") for who, day in TIMES]
)
PAGE = {"id": "$pageview", "name": "$pageview", "type": "events", "order": 0}
ASKED: dict[str, Any] = {
    "insight": "STICKINESS",
    "events": [PAGE],
    "date_from": "2024-03-01",
    "date_to": "2024-03-03",
}


async def test_persons_are_counted_by_the_number_of_their_days(analyst: Analyst) -> None:
    [entry] = await analyst.answer(CAME, **ASKED)

    del entry["persons_urls"]
    assert entry == {
        "count": 3,
        "data": [1, 1, 1],
        "days": [1, 2, 3],
        "label": "$pageview",
        "labels": ["1 day", "2 days", "3 days"],
        "filter": {},
        "action": {
            "id": "$pageview",
            "type": "events",
            "order": 0,
            "name": "$pageview",
            "custom_name": None,
            "math": None,
            "math_property": None,
            "math_hogql": None,
            "math_group_type_index": None,
            "properties": {},
        },
    }


async def test_so_many_days_or_more_are_cumulative(analyst: Analyst) -> None:
    [entry] = await analyst.answer(CAME, **ASKED, computed_as="cumulative")

    assert (entry["data"], entry["count"]) == ([3, 2, 1], 3)
    assert entry["labels"] == ["1 day or more", "2 days or more", "3 days or more"]


async def test_an_interval_counts_only_with_so_many_events(analyst: Analyst) -> None:
    happened = [*CAME.happened, history_event("$pageview", 1, "2024-03-01 12:00")]

    [entry] = await analyst.answer(
        History("UTC", happened), **ASKED, stickiness_criteria={"operator": "gte", "value": 2}
    )

    assert (entry["data"], entry["count"]) == ([1, 0, 0], 1)


async def test_an_event_that_is_stored_twice_counts_once(analyst: Analyst) -> None:
    history = History("UTC", [*CAME.happened, *CAME.happened])

    [entry] = await analyst.answer(
        history, **ASKED, stickiness_criteria={"operator": "gte", "value": 2}
    )

    assert entry["data"] == [0, 0, 0]


async def test_two_ranges_are_compared(analyst: Analyst) -> None:
    project = await analyst.store(CAME)
    question = ASKED | {"date_from": "2024-03-02", "compare": True}

    current, previous = await analyst.ask(project, **question)

    assert (current["data"], current["compare_label"]) == ([2, 1], "current")
    assert (previous["data"], previous["compare_label"]) == ([2, 0], "previous")
    for entry in (current, previous):
        for place, number in zip(entry["persons_urls"], entry["data"], strict=True):
            result = await actors(analyst, project, **question | place["filter"])
            assert len(result) == number


async def test_a_range_is_compared_with_the_one_a_week_before(analyst: Analyst) -> None:
    question = ASKED | {"date_from": "2024-03-08", "date_to": "2024-03-10"}

    current, previous = await analyst.answer(CAME, **question, compare=True, compare_to="-1w")

    assert (current["data"], previous["data"]) == ([0, 0, 0], [1, 1, 1])


async def test_people_of_a_number_are_found_at_its_address(analyst: Analyst) -> None:
    project = await analyst.store(CAME)
    [entry] = await analyst.ask(project, **ASKED)

    address = urlsplit(entry["persons_urls"][1]["url"])

    assert address.path == f"/api/projects/{project.id}/persons/stickiness/"
    assert dict(parse_qsl(address.query))["stickiness_days"] == "2"
    assert await actors(analyst, project, **ASKED, stickiness_days=2) == [(BOB, 2)]


async def test_a_series_is_named_by_its_place_or_its_event(analyst: Analyst) -> None:
    project = await analyst.store(CAME)
    question = ASKED | {"events": [{"id": "x"}, PAGE]}

    by_place = await actors(analyst, project, **question, entity_order=1, stickiness_days=1)
    by_event = await actors(analyst, project, **question, entity_id="$pageview", stickiness_days=1)
    first = await actors(analyst, project, **question, stickiness_days=1)

    assert (by_place, by_event, first) == ([(CID, 1)], [(CID, 1)], [])


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({}, "stickiness_days"),
    ({"stickiness_days": 0}, "stickiness_days"),
    ({"stickiness_days": 1, "entity_id": "x"}, "entity_id"),
    ({"stickiness_days": 1, "entity_order": 1}, "entity_order"),
]


@pytest.mark.parametrize(("place", "attr"), REFUSED)
async def test_a_place_that_the_answer_does_not_have_is_refused(
    analyst: Analyst, place: dict[str, Any], attr: str
) -> None:
    project = await analyst.store(CAME)

    with pytest.raises(Invalid) as caught:
        await actors(analyst, project, **ASKED, **place)

    assert caught.value.attr == attr


async def test_too_many_numbers_are_refused(analyst: Analyst) -> None:
    with pytest.raises(Invalid) as caught:
        await analyst.answer(CAME, **ASKED | {"date_from": "1996-01-01", "events": [PAGE] * 10})

    assert caught.value.attr == "interval"
    assert str(NUMBERS_MAX) in caught.value.detail


async def test_no_series_is_no_entry(analyst: Analyst) -> None:
    assert await analyst.answer(CAME, **ASKED | {"events": []}) == []
