"""The actors behind the numbers of trends are as many as each number says."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanion.errors import Invalid
from fanion.insights.actors.service import read_actors
from fanion.insights.kinds.service import ACTORS_BY_QUESTION
from fanion.projects.model import Project
from tests.insights.trends.test_examples import ANN, ASKED, BOB, NOW, VIEWS, series
from tests.insights.trends.test_oracle import BREAKDOWNS
from tests.support.application import Tenant
from tests.support.cohorts import person
from tests.support.examples import examples
from tests.support.histories import NOW as LATER
from tests.support.histories import Analyst, History, histories, history_event

PLACE = ("day", "entity_order", "breakdown_value", "compare_label")
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "interval": st.sampled_from(("day", "week", "month", "quarter", "year")),
        "display": st.sampled_from(("BoldNumber", "ActionsBar")),
        "breakdowns": st.lists(st.sampled_from(BREAKDOWNS), max_size=2, unique_by=str),
        "breakdown_limit": st.integers(1, 3),
        "aggregation_group_type_index": st.just(0),
        "compare": st.booleans(),
        "explicit_date": st.booleans(),
    },
)
PERSONS: list[dict[str, Any]] = [
    {"math": "dau"},
    {"math": "weekly_active"},
    {"math": "monthly_active"},
    {"math": "first_time_for_user"},
    {"math": "first_matching_event_for_user"},
    {"math": "unique_group", "math_group_type_index": 0},
]


async def actors(
    analyst: Analyst, project: Project, now: datetime = LATER, **question: Any
) -> list[tuple[Any, Any]]:
    """Return the actors that a request with the question and the place finds."""
    result = read_actors(question)
    analysis = analyst.analysis
    query, calculation = await analysis.begin(project, result.query, now)
    find = ACTORS_BY_QUESTION[type(query)].find
    rows = await calculation.rows(await find(calculation, query, result.place))
    return [(actor, value) for actor, value in rows]


def place_of(url: str) -> dict[str, Any]:
    sent = dict(parse_qsl(urlsplit(url).query))
    return {name: sent[name] for name in PLACE if name in sent}


def cells(answer: Any) -> Iterator[tuple[float, dict[str, Any]]]:
    """Yield some numbers of an answer with their places, zeros among them."""
    for entry in answer:
        if "aggregated_value" in entry:
            yield entry["aggregated_value"], place_of(entry["persons"]["url"])
            continue
        numbers = list(zip(entry["data"], entry["persons_urls"], strict=True))
        kept = [point for point in numbers if point[0]][:3] + numbers[:1]
        yield from ((number, place_of(url["url"])) for number, url in kept)


@pytest.mark.parametrize("math", PERSONS, ids=lambda one: one["math"])
@settings(max_examples=examples(5))
@given(history=histories(), options=OPTIONS)
async def test_a_number_of_persons_lists_so_many(
    analyst: Analyst, math: Mapping[str, Any], history: History, options: dict[str, Any]
) -> None:
    project = await analyst.store(history)
    question = {**options, "events": [{"id": "a", **math}], "date_from": "-7d"}

    for number, place in cells(await analyst.ask(project, **question)):
        result = await actors(analyst, project, **question, **place)
        assert len(result) == number, place


@settings(max_examples=examples(8))
@given(history=histories(), options=OPTIONS)
async def test_a_number_of_events_is_that_of_its_persons(
    analyst: Analyst, history: History, options: dict[str, Any]
) -> None:
    project = await analyst.store(history)
    question = {**options, "events": [{"id": "a"}], "date_from": "-7d"}

    for number, place in cells(await analyst.ask(project, **question)):
        result = await actors(analyst, project, **question, **place)
        assert sum(value for _, value in result) == number, place


@settings(max_examples=examples(6))
@given(history=histories())
async def test_a_running_sum_lists_all_until_then(analyst: Analyst, history: History) -> None:
    project = await analyst.store(history)
    question: dict[str, Any] = {
        "events": [{"id": "a", "math": "dau"}],
        "date_from": "-7d",
        "display": "ActionsLineGraphCumulative",
    }

    [entry] = await analyst.ask(project, **question)

    for number, url in zip(entry["data"], entry["persons_urls"], strict=True):
        assert len(await actors(analyst, project, **question, **place_of(url["url"]))) == number


SESSION: Any = {"$session_id": "s"}
SPENT = History(
    happened=[
        history_event("paid", ANN, "2024-03-02 10:00", price=10, **SESSION),
        history_event("paid", ANN, "2024-03-02 11:00", price=None),
        history_event("paid", BOB, "2024-03-02 12:00", price="many"),
    ]
)


@pytest.mark.parametrize(
    ("math", "expected"),
    [
        ({"math": "sum", "math_property": "price"}, [(ANN, 1)]),
        ({"math": "avg", "math_property": "$session_duration"}, [(ANN, 1)]),
        ({"math": "unique_session"}, [(ANN, 1)]),
        ({"math": "max_count_per_actor"}, [(ANN, 2), (BOB, 1)]),
    ],
)
async def test_only_those_are_listed_whose_events_count(
    analyst: Analyst, math: Mapping[str, Any], expected: list[tuple[int, int]]
) -> None:
    project = await analyst.store(SPENT)
    question = {**ASKED, "events": [{"id": "paid", **math}]}

    result = await actors(analyst, project, LATER, **question, day="2024-03-02")

    assert [(who.int, value) for who, value in result] == expected


async def test_a_histogram_lists_those_in_its_bin(analyst: Analyst) -> None:
    history = History(
        happened=[
            history_event("paid", number, "2024-03-02 10:00", price=price)
            for number, price in enumerate((10, 20, 30, 40), 1)
        ]
    )
    project = await analyst.store(history)
    question: dict[str, Any] = {
        **ASKED,
        "events": [{"id": "paid"}],
        "breakdown": "price",
        "breakdown_histogram_bin_count": 4,
    }

    result = await actors(
        analyst, project, **question, breakdown_value="[25,32.5]", day="2024-03-02"
    )

    assert [who.int for who, _ in result] == [3]


async def test_older_clients_ask_for_one_interval_as_the_range(analyst: Analyst) -> None:
    project = await analyst.store(VIEWS)
    question = {"date_from": "2024-03-03", "date_to": "2024-03-03", "events": [series("dau")]}

    result = await actors(analyst, project, NOW, **question, entity_id="viewed", entity_math="dau")

    assert {who.int for who, _ in result} == {ANN, BOB}


@pytest.mark.parametrize(
    ("question", "place", "attr"),
    [
        ({}, {"day": "2024-02-01"}, "day"),
        ({}, {"day": "soon"}, "day"),
        ({}, {"day": "-1d"}, "day"),
        ({}, {"entity_order": 1}, "entity_order"),
        ({}, {"breakdown_value": "a"}, "breakdown_value"),
        ({}, {"compare_label": "previous"}, "compare_label"),
        ({"formula": "A"}, {}, "formula"),
        ({"breakdowns": list(BREAKDOWNS[:2])}, {"breakdown_value": "a"}, "breakdown_value"),
    ],
)
async def test_a_place_that_the_answer_does_not_have_is_refused(
    analyst: Analyst, question: dict[str, Any], place: dict[str, Any], attr: str
) -> None:
    project = await analyst.store(VIEWS)

    with pytest.raises(Invalid) as refused:
        await actors(analyst, project, NOW, **ASKED, events=[series()], **question, **place)

    assert refused.value.attr == attr


async def test_the_address_of_a_number_answers_with_its_people(tenant: Tenant) -> None:
    await tenant.capture(person("ann", plan="pro"), person("bob", plan="free"), person("cid"))
    question = {
        "events": [{"id": "seen", "math": "dau"}],
        "date_from": "-3d",
        "breakdowns": [{"property": "plan", "type": "person"}, {"property": "$lib"}],
    }
    answer = await tenant.api.post("/insights/trend/", json=question)
    headers = {"authorization": tenant.api.headers["authorization"]}

    for entry in answer.json()["result"]:
        for number, url in zip(entry["data"], entry["persons_urls"], strict=True):
            page = await tenant.public.get(url["url"], headers=headers)
            assert page.status_code == 200, page.text
            assert page.json()["results"][0]["count"] == number
