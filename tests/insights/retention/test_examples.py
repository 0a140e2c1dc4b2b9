"""The worked examples of retention, the shape of the answer, and the actors behind it."""

from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanion.errors import Invalid
from fanion.insights.retention import service
from tests.support.asked_actors import actors
from tests.support.examples import examples
from tests.support.histories import PERSONS, Analyst, History, histories, history_event

ANN, BOB, CID = PERSONS[:3]
PAGE: dict[str, Any] = {"id": "$pageview", "type": "events"}


def came(*, event: str = "$pageview", zone: str = "UTC") -> History:
    """Return a history in which ann came on 1, 2 and 3 March, bob on 1 and 3, cid on 2."""
    times = ((1, 1), (1, 2), (1, 3), (2, 1), (2, 3), (3, 2))
    return History(
        zone, [history_event(event, who, f"2024-03-0{day} 10:00", zone) for who, day in times]
    )


ASKED: dict[str, Any] = {"insight": "RETENTION", "total_intervals": 3, "date_to": "2024-03-03"}
FIRST_TIME: dict[str, Any] = {"retention_type": "retention_first_time"}


def counts(rows: list[dict[str, Any]]) -> list[list[int]]:
    return [[value["count"] for value in row["values"]] for row in rows]


async def test_who_comes_back_is_counted_from_each_day(analyst: Analyst) -> None:
    rows = await analyst.answer(came(), **ASKED)

    assert counts(rows) == [[2, 1, 2], [2, 1], [2]]


async def test_rows_begin_with_date_from_and_look_total_intervals_ahead(
    analyst: Analyst,
) -> None:
    since = {**ASKED, "date_from": "2024-02-29"}

    rows = await analyst.answer(came(), **since)
    short = await analyst.answer(came(), **since | {"total_intervals": 2})

    assert counts(rows) == [[0, 0, 0], [2, 1, 2], [2, 1], [2]]
    assert counts(short) == [[0, 0], [2, 1], [2, 1], [2]]


async def test_by_first_time_each_person_is_in_one_row(analyst: Analyst) -> None:
    rows = await analyst.answer(came(), **ASKED, **FIRST_TIME)

    assert counts(rows) == [[2, 1, 2], [1, 0], [0]]


async def test_who_began_before_the_rows_is_in_none_by_first_time(analyst: Analyst) -> None:
    rows = await analyst.answer(came(), **ASKED | FIRST_TIME | {"total_intervals": 2})

    assert counts(rows) == [[1, 0], [0]]


async def test_first_time_is_the_first_event_that_fulfils_the_own_conditions(
    analyst: Analyst,
) -> None:
    history = History(
        "UTC",
        [
            history_event("$pageview", 1, "2024-03-01 10:00", plan="free"),
            history_event("$pageview", 1, "2024-03-02 10:00", plan="pro"),
            history_event("$pageview", 1, "2024-03-03 10:00", plan="pro"),
        ],
    )
    pro = PAGE | {"properties": [{"key": "plan", "value": "pro"}]}

    rows = await analyst.answer(history, **ASKED, **FIRST_TIME, target_entity=pro)

    assert counts(rows) == [[0, 0, 0], [1, 1], [0]]


async def test_coming_back_later_counts_as_cumulative(analyst: Analyst) -> None:
    rows = await analyst.answer(came(), **ASKED, cumulative=True)

    assert counts(rows) == [[2, 2, 2], [2, 1], [2]]


async def test_conditions_of_the_question_hold_for_both_events(analyst: Analyst) -> None:
    history = History(
        "UTC",
        [
            history_event("$pageview", 1, "2024-03-01 10:00", plan="pro"),
            history_event("$pageview", 1, "2024-03-02 10:00", plan="free"),
            history_event("$pageview", 1, "2024-03-03 10:00", plan="pro"),
        ],
    )

    rows = await analyst.answer(history, **ASKED, properties=[{"key": "plan", "value": "pro"}])

    assert counts(rows) == [[1, 0, 1], [0, 0], [1]]


async def test_the_same_interval_is_no_return(analyst: Analyst) -> None:
    history = History(
        "UTC",
        [
            history_event("a", 1, "2024-03-01 10:00"),
            history_event("b", 1, "2024-03-01 11:00"),
            history_event("b", 1, "2024-03-01 12:00"),
        ],
    )

    rows = await analyst.answer(
        history, **ASKED, target_entity={"id": "a"}, returning_entity={"id": "b"}
    )

    assert counts(rows) == [[1, 0, 0], [0, 0], [0]]


async def test_days_are_those_of_the_project_where_clocks_change(analyst: Analyst) -> None:
    zone = "Europe/Berlin"
    history = History(
        zone, [history_event("$pageview", 1, f"2024-03-{day} 23:59", zone) for day in (30, 31)]
    )

    rows = await analyst.answer(history, **ASKED | {"date_to": "2024-03-31", "total_intervals": 2})

    assert counts(rows) == [[1, 1], [1]]
    assert [row["date"] for row in rows] == [
        "2024-03-30T00:00:00+01:00",
        "2024-03-31T00:00:00+01:00",
    ]


def came_in(days: dict[int, tuple[int, ...]]) -> History:
    """Return a history of persons, with the days of March on which each came."""
    return History(
        "UTC",
        [
            history_event("$pageview", who, f"2024-03-0{day} 10:00")
            for who, own in days.items()
            for day in own
        ],
    )


BRACKETS: dict[str, Any] = ASKED | {
    "date_to": "2024-03-06",
    "total_intervals": 6,
    "retention_custom_brackets": [1, 3],
}


async def test_a_bracket_counts_who_came_back_in_any_of_its_days(analyst: Analyst) -> None:
    project = await analyst.store(came_in({1: (1, 2, 5), 2: (1, 4), 3: (2,)}))

    rows = await analyst.ask(project, **BRACKETS)
    later = await analyst.ask(project, **BRACKETS, cumulative=True)

    # Days 2 to 4 after 3 March end with 7 March, which is not known.
    assert counts(rows) == [[2, 1, 2], [2, 0, 1], [0, 0], [1, 0], [1, 0], [0]]
    assert counts(later) == [[2, 2, 2], [2, 1, 1], [0, 0], [1, 0], [1, 0], [0]]
    assert [value["label"] for value in rows[0]["values"]] == ["Day 0", "Day 1", "Day 2-4"]
    at: dict[str, Any] = {"selected_interval": 0, "returning_interval": 2}
    assert await actors(analyst, project, **BRACKETS, **at) == [(ANN, [1, 1, 1]), (BOB, [1, 0, 1])]


PAID: dict[str, Any] = ASKED | {
    "target_entity": {"id": "joined"},
    "returning_entity": {"id": "paid"},
    "aggregation_property": "amount",
}


def values(rows: list[dict[str, Any]]) -> list[list[float]]:
    return [[value["aggregation_value"] for value in row["values"]] for row in rows]


async def test_a_value_is_the_sum_of_a_property_of_who_came_back(analyst: Analyst) -> None:
    paid = [(1, "01 09:00", 5), (1, "01 11:00", 10), (1, "02 10:00", 20), (1, "02 12:00", "2.5")]
    paid += [(2, "02 10:00", 4), (2, "03 10:00", "free"), (3, "03 10:00", 8)]
    history = History(
        "UTC",
        [history_event("joined", who, "2024-03-01 10:00") for who in (1, 2)]
        + [history_event("paid", who, f"2024-03-{at}", amount=amount) for who, at, amount in paid],
    )
    project = await analyst.store(history)

    sums = await analyst.ask(project, **PAID, aggregation_type="sum")
    means = await analyst.ask(project, **PAID, aggregation_type="avg")
    windows: dict[str, Any] = {
        "time_window_mode": "24_hour_windows",
        "retention_custom_brackets": [1, 1],
    }
    own = await analyst.ask(project, **PAID, aggregation_type="sum", **windows)

    # What was paid at 9:00 came before ann joined. On 3 March bob paid, but no number.
    assert counts(sums) == counts(means) == [[2, 2, 1], [0, 0], [0]]
    assert values(sums) == [[10, 26.5, 0], [0, 0], [0]]
    assert values(means) == [[5, 13.25, 0], [0, 0], [0]]
    # The windows of both begin at 10:00.
    assert (counts(own)[0], values(own)[0]) == ([2, 2, 1], [10, 26.5, 0])
    at: dict[str, Any] = {"selected_interval": 0, "returning_interval": 2}
    at["aggregation_type"] = "sum"
    assert [who for who, _ in await actors(analyst, project, **PAID, **at)] == [BOB]


async def test_windows_are_of_24_hours_from_the_first_event_when_clocks_change(
    analyst: Analyst,
) -> None:
    zone = "Europe/Berlin"  # the night before 31 March has an hour less
    history = History(
        zone,
        [
            history_event("$pageview", 1, "2024-03-30 12:00", zone),
            history_event("$pageview", 1, "2024-03-31 12:30", zone),  # 23.5 hours
            history_event("$pageview", 2, "2024-03-30 12:00", zone),
            history_event("$pageview", 2, "2024-03-31 13:00", zone),  # 24 hours
            history_event("$pageview", 3, "2024-03-30 23:00", zone),
            history_event("$pageview", 3, "2024-03-31 00:30", zone),  # 1.5 hours
            history_event("$pageview", 3, "2024-04-01 11:00", zone),  # 35 hours, after date_to
        ],
    )
    project = await analyst.store(history)
    question = ASKED | {"date_to": "2024-03-31", "total_intervals": 2}

    rows = await analyst.ask(project, **question, time_window_mode="24_hour_windows")
    calendar = await analyst.ask(project, **question)

    assert (counts(rows), counts(calendar)) == ([[3, 2], [0]], [[3, 3], [3]])
    place: dict[str, Any] = {"selected_interval": 0, "returning_interval": 1}
    result = await actors(analyst, project, **question, **place, time_window_mode="24_hour_windows")
    assert [who for who, _ in result] == [BOB, CID]


async def test_weeks_begin_on_the_day_that_the_project_says(analyst: Analyst) -> None:
    history = History(
        "UTC",
        [
            history_event("$pageview", 1, "2024-03-10 10:00"),
            history_event("$pageview", 1, "2024-03-11 10:00"),
        ],
    )  # a Sunday and a Monday
    question = ASKED | {"period": "Week", "total_intervals": 2, "date_to": "2024-03-12"}
    project = await analyst.store(history)

    sunday = await analyst.ask(project, **question)
    monday = await analyst.ask(replace(project, week_start_day=1), **question)

    assert [row["date"][:10] for row in sunday] == ["2024-03-03", "2024-03-10"]
    assert [row["date"][:10] for row in monday] == ["2024-03-04", "2024-03-11"]
    assert (counts(sunday), counts(monday)) == ([[0, 0], [1]], [[1, 1], [1]])


async def test_the_answer_has_the_shape_that_clients_read(analyst: Analyst) -> None:
    project = await analyst.store(came())

    row, *_ = await analyst.ask(project, **ASKED, period="Day")

    assert {**row, "values": [{**value, "people_url": ""} for value in row["values"]]} == {
        "label": "Day 0",
        "date": "2024-03-01T00:00:00Z",
        "values": [{"count": n, "people": [], "people_url": ""} for n in (2, 1, 2)],
        "people_url": row["people_url"],
    }
    address = urlsplit(row["people_url"])
    assert address.path == f"/api/projects/{project.id}/persons/retention/"
    assert dict(parse_qsl(address.query)) == {
        "insight": "RETENTION",
        "total_intervals": "3",
        "date_to": "2024-03-03",
        "period": "Day",
        "selected_interval": "0",
    }


async def test_several_properties_are_broken_down_together(analyst: Analyst) -> None:
    history = History(
        "UTC",
        [
            history_event("$pageview", 1, "2024-03-01 10:00", plan="pro", url="/a/"),
            history_event("$pageview", 1, "2024-03-02 10:00", plan="pro", url="/a"),
            history_event("$pageview", 2, "2024-03-01 10:00", plan="free", url="/a"),
        ],
    )
    url = {"property": "url", "normalize_url": True}
    question = ASKED | {"breakdowns": [{"property": "plan"}, url], "total_intervals": 2}
    question["date_to"] = "2024-03-02"
    project = await analyst.store(history)

    rows = await analyst.ask(project, **question)

    assert [(row["breakdown_value"], row["label"]) for row in rows] == [
        (["pro", "/a"], "Day 0"),
        (["pro", "/a"], "Day 1"),
        (["free", "/a"], "Day 0"),
        (["free", "/a"], "Day 1"),
    ]
    assert counts(rows) == [[1, 1], [1], [1, 0], [0]]
    for place in (["pro", "/a"], '["pro","/a"]'):
        result = await actors(
            analyst, project, **question, selected_interval=1, breakdown_value=place
        )
        assert result == [(ANN, [1])]


async def test_everybody_is_an_entry_beside_cohorts(analyst: Analyst) -> None:
    project = await analyst.store(came())
    question = ASKED | {"breakdown": ["all"], "breakdown_type": "cohort"}

    rows = await analyst.ask(project, **question)

    assert counts(rows) == [[2, 1, 2], [2, 1], [2]]
    assert {(row["breakdown"], row["breakdown_value"]) for row in rows} == {("all users", "all")}
    place = {"selected_interval": 1, "breakdown_value": "all"}
    assert len(await actors(analyst, project, **question | place)) == 2


async def test_people_of_a_row_say_when_they_came_back(analyst: Analyst) -> None:
    project = await analyst.store(came())

    assert await actors(analyst, project, **ASKED, selected_interval=0) == [
        (ANN, [1, 1, 1]),
        (BOB, [1, 0, 1]),
    ]
    assert await actors(analyst, project, **ASKED, selected_interval=1) == [
        (ANN, [1, 1]),
        (CID, [1, 0]),
    ]


async def test_people_of_a_value_are_those_who_came_back_then(analyst: Analyst) -> None:
    project = await analyst.store(came())

    result = await actors(analyst, project, **ASKED, selected_interval=0, returning_interval=1)

    assert result == [(ANN, [1, 1, 1])]


@settings(max_examples=examples(10))
@given(
    histories(),
    st.sampled_from(
        (
            {},
            FIRST_TIME,
            {"cumulative": True},
            {"minimum_occurrences": 2},
            {"breakdown": "plan", "breakdown_limit": 1},
            {"time_window_mode": "24_hour_windows"},
            {"retention_custom_brackets": [1, 2], "time_window_mode": "24_hour_windows"},
            {"retention_custom_brackets": [2, 1], "cumulative": True},
        )
    ),
)
async def test_behind_each_number_are_as_many_people(
    analyst: Analyst, history: History, option: dict[str, Any]
) -> None:
    project = await analyst.store(history)
    question: dict[str, Any] = {
        "insight": "RETENTION",
        "target_entity": {"id": "a"},
        "total_intervals": 4,
    }
    question |= {"returning_entity": {"id": None}, "period": "Week", **option}

    rows = await analyst.ask(project, **question)

    for place, row in enumerate(rows):
        at = {"selected_interval": place % 4, "breakdown_value": row.get("breakdown_value")}
        result = await actors(analyst, project, **question, **at)
        assert [sum(seen[n] for _, seen in result) for n in range(len(row["values"]))] == [
            value["count"] for value in row["values"]
        ]


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({}, "selected_interval"),
    ({"selected_interval": 3}, "selected_interval"),
    ({"selected_interval": 1, "returning_interval": 2}, "returning_interval"),
    ({"selected_interval": 0, "breakdown_value": "x"}, "breakdown_value"),
]


@pytest.mark.parametrize(("place", "attr"), REFUSED)
async def test_a_place_that_the_answer_does_not_have_is_refused(
    analyst: Analyst, place: dict[str, Any], attr: str
) -> None:
    project = await analyst.store(came())

    with pytest.raises(Invalid) as caught:
        await actors(analyst, project, **ASKED, **place)

    assert caught.value.attr == attr


async def test_too_many_numbers_are_refused(analyst: Analyst) -> None:
    with pytest.raises(Invalid) as caught:
        await analyst.answer(
            came(), insight="RETENTION", total_intervals=64, breakdown="plan", breakdown_limit=100
        )

    assert caught.value.attr == "total_intervals"
    assert str(service.CELLS_MAX) in caught.value.detail
