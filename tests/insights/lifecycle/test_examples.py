"""The worked example of life cycles, the shape of the answer, and the actors behind it."""

from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from fanion.errors import Invalid
from fanion.events.event import PersonRow
from fanion.insights.lifecycle.service import INTERVALS_MAX
from fanion.projects.model import Project
from tests.support.asked_actors import actors
from tests.support.histories import PERSONS, Analyst, History, history_event

ANN, BOB, CID = PERSONS[:3]
TIMES = ((1, 1), (1, 2), (1, 3), (2, 1), (2, 3), (3, 2))
# ann came on 1, 2 and 3 March, bob on 1 and 3, cid on 2.
CAME = History(
    "UTC", [history_event("$pageview", who, f"2024-03-0{day} 10:00") for who, day in TIMES]
)
ASKED: dict[str, Any] = {
    "insight": "LIFECYCLE",
    "events": [{"id": "$pageview", "name": "$pageview", "type": "events"}],
    "date_from": "2024-03-01",
    "date_to": "2024-03-04",
}


async def stored(analyst: Analyst, history: History = CAME, **created: str) -> Project:
    """Store a history and return its project.

    Args:
        created: The days when ann, bob or cid were created, if not at their first event.
    """
    project = await analyst.store_anew(history)
    times = {"ann": "2024-03-01", "bob": "2024-03-01", "cid": "2024-03-02"} | created
    persons = zip((ANN, BOB, CID), times.values(), strict=True)
    await analyst.events.mirror_persons(
        [
            PersonRow(project.id, who, b"{}", datetime.fromisoformat(at).replace(tzinfo=UTC), 1)
            for who, at in persons
        ]
    )
    return project


def data(entries: list[dict[str, Any]]) -> dict[str, list[float]]:
    return {entry["status"]: entry["data"] for entry in entries}


async def test_each_day_has_its_new_returning_resurrecting_and_dormant(analyst: Analyst) -> None:
    entries = await analyst.ask(await stored(analyst), **ASKED)

    assert data(entries) == {
        "new": [2, 1, 0, 0],
        "returning": [0, 1, 1, 0],
        "resurrecting": [0, 0, 1, 0],
        "dormant": [0, -1, -1, -2],
    }
    assert [entry["count"] for entry in entries] == [3, 2, 1, -4]


async def test_the_answer_has_the_shape_that_clients_read(analyst: Analyst) -> None:
    new, *_ = await analyst.ask(await stored(analyst), **ASKED)

    del new["persons_urls"]
    assert new == {
        "status": "new",
        "label": "$pageview - new",
        "count": 3.0,
        "data": [2.0, 1.0, 0.0, 0.0],
        "days": ["2024-03-01", "2024-03-02", "2024-03-03", "2024-03-04"],
        "labels": ["1-Mar-2024", "2-Mar-2024", "3-Mar-2024", "4-Mar-2024"],
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


async def test_any_event_is_named_so(analyst: Analyst) -> None:
    entries = await analyst.ask(await stored(analyst), **ASKED | {"events": [{"id": None}]})

    assert entries[3]["label"] == "All events - dormant"


async def test_the_interval_before_the_range_is_looked_at(analyst: Analyst) -> None:
    question = ASKED | {"date_from": "2024-03-03", "date_to": "2024-03-03"}

    entries = await analyst.ask(await stored(analyst), **question)

    assert data(entries) == {
        "new": [0],
        "returning": [1],
        "resurrecting": [1],
        "dormant": [-1],
    }


async def test_who_was_created_earlier_by_another_event_is_resurrecting(analyst: Analyst) -> None:
    entries = await analyst.ask(await stored(analyst, cid="2024-02-20"), **ASKED)

    assert (data(entries)["new"], data(entries)["resurrecting"]) == ([2, 0, 0, 0], [0, 1, 1, 0])


async def test_who_was_a_visitor_before_is_new_at_the_first_visit(analyst: Analyst) -> None:
    project = await stored(analyst, ann="2024-03-02")

    entries = await analyst.ask(project, **ASKED)

    assert data(entries) == data(await analyst.ask(await stored(analyst), **ASKED))
    place: dict[str, Any] = {"lifecycle_type": "new", "target_date": "2024-03-02"}
    assert await actors(analyst, project, **ASKED, **place) == [(CID, 1)]


async def test_groups_begin_with_the_first_event_that_is_looked_at(analyst: Analyst) -> None:
    groups: list[dict[str, Any]] = [{"$group_0": f"g{who}"} for who in range(4)]
    happened = [
        history_event("$pageview", who, f"2024-03-0{day} 10:00", **groups[who])
        for who, day in TIMES
    ]
    history = History("UTC", happened)

    entries = await analyst.answer(history, **ASKED, aggregation_group_type_index=0)

    assert data(entries)["new"] == [2, 1, 0, 0]


async def test_only_events_of_an_explicit_range_and_the_interval_before_count(
    analyst: Analyst,
) -> None:
    """The range is 4 to 6 March, and its week began on 3 March."""
    history = History(
        "UTC",
        [
            history_event("$pageview", 1, "2024-03-02 10:00"),
            history_event("$pageview", 1, "2024-03-05 10:00"),
            history_event("$pageview", 2, "2024-03-03 10:00"),
        ],
    )
    question = ASKED | {"interval": "week", "explicit_date": True}
    question |= {"date_from": "2024-03-04T00:00:00", "date_to": "2024-03-06T00:00:00"}

    entries = await analyst.ask(await stored(analyst, history, ann="2024-02-01"), **question)

    assert data(entries) == {"new": [0], "returning": [1], "resurrecting": [0], "dormant": [0]}


async def test_hours_that_clocks_repeat_are_told_apart(analyst: Analyst) -> None:
    """In Berlin, 02:00 on 2023-10-29 came twice: at 00:00 and at 01:00 UTC."""
    zone = "Europe/Berlin"
    history = History(zone, [history_event("$pageview", 4, "2023-10-29 01:30")])
    question = ASKED | {"interval": "hour", "date_from": "2023-10-29", "date_to": "2023-10-29"}
    project = await analyst.store(history)

    entries = await analyst.ask(project, **question)

    new = entries[0]
    assert new["days"][2] == new["days"][3] == "2023-10-29 02:00:00"
    assert sorted(new["data"][2:4]) == [0, 1]
    for place, number in zip(new["persons_urls"][2:4], new["data"][2:4], strict=True):
        assert len(await actors(analyst, project, **question, **place["filter"])) == number


async def test_people_of_a_number_are_found_at_its_address(analyst: Analyst) -> None:
    project = await stored(analyst)
    entries = await analyst.ask(project, **ASKED)

    address = urlsplit(entries[3]["persons_urls"][3]["url"])

    assert address.path == f"/api/projects/{project.id}/persons/lifecycle/"
    place: dict[str, Any] = {"lifecycle_type": "dormant", "target_date": "2024-03-04"}
    assert place.items() <= dict(parse_qsl(address.query)).items()
    assert await actors(analyst, project, **ASKED, **place) == [(ANN, 1), (BOB, 1)]


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"lifecycle_type": "new"}, "target_date"),
    ({"target_date": "2024-03-01"}, "lifecycle_type"),
    ({"target_date": "2024-03-01", "lifecycle_type": "old"}, "lifecycle_type"),
    ({"target_date": "2024-02-29", "lifecycle_type": "new"}, "target_date"),
    ({"target_date": "2024-03-05", "lifecycle_type": "new"}, "target_date"),
    ({"target_date": "soon", "lifecycle_type": "new"}, "target_date"),
]


@pytest.mark.parametrize(("place", "attr"), REFUSED)
async def test_a_place_that_the_answer_does_not_have_is_refused(
    analyst: Analyst, place: dict[str, Any], attr: str
) -> None:
    project = await stored(analyst)

    with pytest.raises(Invalid) as caught:
        await actors(analyst, project, **ASKED, **place)

    assert caught.value.attr == attr


async def test_too_many_intervals_are_refused(analyst: Analyst) -> None:
    with pytest.raises(Invalid) as caught:
        await analyst.answer(CAME, **ASKED | {"date_from": "2014-01-01"})

    assert caught.value.attr == "interval"
    assert str(INTERVALS_MAX) in caught.value.detail
