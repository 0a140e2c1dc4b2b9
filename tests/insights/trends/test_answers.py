"""The answer to a trend beside its numbers; breakdowns by cohort; the first day of the week."""

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from fanion.errors import Invalid
from fanion.insights.trends.query import parse_trends
from fanion.insights.trends.result import URLS_MAX
from tests.insights.trends.test_examples import ANN, ASKED, BOB, NOW, VIEWS, series
from tests.support.application import Tenant
from tests.support.cohorts import create_cohort, person, person_is
from tests.support.histories import Analyst, History, history_event

NONE = "$$_posthog_breakdown_null_$$"
OTHER = "$$_posthog_breakdown_other_$$"
BROWSERS = History(
    happened=[
        history_event("viewed", ANN, "2024-03-01 10:00", browser="Chrome", version=95),
        history_event("viewed", ANN, "2024-03-02 10:00", browser="Chrome", version=95),
        history_event("viewed", BOB, "2024-03-02 10:00", browser="Safari"),
    ],
    persons={UUID(int=ANN): {"age": "41"}, UUID(int=BOB): {"age": 7.5}},
)
TWO = {"breakdowns": [{"property": "browser"}, {"property": "version"}]}


async def test_values_of_several_properties_are_a_list(analyst: Analyst) -> None:
    result = await analyst.answer(BROWSERS, NOW, **ASKED, **TWO, events=[series()])

    assert [(entry["label"], entry["breakdown_value"], entry["count"]) for entry in result] == [
        ("Chrome::95", ["Chrome", "95"], 2),
        ("Safari::None (i.e. no value)", ["Safari", NONE], 1),
    ]


async def test_the_rest_of_several_properties_is_one_entry(analyst: Analyst) -> None:
    question: dict[str, Any] = {**ASKED, **TWO, "events": [series()], "breakdown_limit": 1}

    result = await analyst.answer(BROWSERS, NOW, **question)
    hidden = await analyst.answer(BROWSERS, NOW, **question, breakdown_hide_other_aggregation=True)

    assert [(entry["label"], entry["breakdown_value"]) for entry in result] == [
        ("Chrome::95", ["Chrome", "95"]),
        ("Other (i.e. all remaining values)", [OTHER, OTHER]),
    ]
    assert hidden[0] | {"persons_urls": 0} == result[0] | {"persons_urls": 0}


async def test_a_persons_number_counts_for_each_of_its_events(analyst: Analyst) -> None:
    question = series("sum", math_property="age", math_property_type="person_properties")

    [result] = await analyst.answer(BROWSERS, NOW, **ASKED, events=[question])

    assert result["data"] == [41, 48.5, 0, 0]


async def test_a_histogram_of_persons(analyst: Analyst) -> None:
    result = await analyst.answer(
        BROWSERS,
        NOW,
        **ASKED,
        events=[series("dau")],
        breakdowns=[{"property": "age", "type": "person", "histogram_bin_count": 2}],
    )

    assert [(entry["label"], entry["data"]) for entry in result] == [
        ("[24.25,41.01]", [1, 1, 0, 0]),
        ("[7.5,24.25]", [0, 1, 0, 0]),
    ]


async def test_a_histogram_of_the_lengths_of_sessions(analyst: Analyst) -> None:
    long: dict[str, Any] = {"$session_id": "s1"}
    short: dict[str, Any] = {"$session_id": "s2"}
    history = History(
        happened=[
            history_event("viewed", ANN, "2024-03-01 10:00", **long),
            history_event("left", ANN, "2024-03-01 10:10", **long),
            history_event("viewed", BOB, "2024-03-02 10:00", **short),
        ]
    )

    result = await analyst.answer(
        history,
        NOW,
        **ASKED,
        events=[series()],
        breakdown="$session_duration",
        breakdown_type="session",
        breakdown_histogram_bin_count=2,
    )

    assert [(entry["label"], entry["data"]) for entry in result] == [
        ("[0,300]", [0, 1, 0, 0]),
        ("[300,600.01]", [1, 0, 0, 0]),
    ]


async def test_the_other_of_persons_counts_each_once(analyst: Analyst) -> None:
    history = History(
        happened=[
            history_event("viewed", who, "2024-03-01 10:00", page=page)
            for who, page in ((1, "a"), (2, "a"), (3, "b"), (3, "c"), (3, "d"))
        ]
    )

    result = await analyst.answer(
        history, NOW, **ASKED, events=[series("dau")], breakdown="page", breakdown_limit=1
    )

    assert {entry["breakdown_value"]: entry["count"] for entry in result} == {"a": 2, OTHER: 1}


async def test_a_formula_combines_the_same_rest_of_all_series(analyst: Analyst) -> None:
    history = History(
        happened=[
            *(history_event("x", 1, "2024-03-01 10:00", page=page) for page in "aaab"),
            *(history_event("y", 1, "2024-03-01 10:00", page=page) for page in "bbbbbbc"),
        ]
    )

    result = await analyst.answer(
        history,
        NOW,
        **ASKED,
        events=[{"id": "x"}, {"id": "y"}],
        breakdown="page",
        breakdown_limit=2,
        formula="A + 10 * B",
    )

    assert {entry["breakdown_value"]: entry["data"][0] for entry in result} == {
        "b": 61,
        "c": 10,
        OTHER: 3,
    }


async def test_each_formula_is_an_entry(analyst: Analyst) -> None:
    nodes = [{"formula": "A - B"}, {"formula": "A", "custom_name": "Views"}]

    named = await analyst.answer(
        VIEWS, NOW, **ASKED, events=[series(), series("dau")], formulaNodes=nodes
    )
    plain = await analyst.answer(VIEWS, NOW, **ASKED, events=[series()], formulas=["A", "A*2"])

    assert [(entry["label"], entry["data"]) for entry in named] == [
        ("Formula (A - B)", [1, 0, 0, 0]),
        ("Views", [2, 0, 2, 1]),
    ]
    assert [entry["count"] for entry in plain] == [5, 10]
    assert {tuple(entry["persons_urls"]) for entry in plain} == {()}


async def test_a_formula_of_totals(analyst: Analyst) -> None:
    events = [series(), series("dau"), {"id": "never"}]

    [result] = await analyst.answer(
        VIEWS, NOW, **ASKED, events=events, formula="A / B + C", display="BoldNumber"
    )

    assert (result["aggregated_value"], result["data"], result["persons"]) == (2.5, [], {})


async def test_a_range_is_compared_with_one_so_much_earlier(analyst: Analyst) -> None:
    result = await analyst.answer(
        VIEWS,
        NOW,
        events=[series()],
        date_from="2024-03-03",
        date_to="2024-03-04",
        compare_to="-2d",
    )

    assert [(entry["compare_label"], entry["days"], entry["data"]) for entry in result] == [
        ("current", ["2024-03-03", "2024-03-04"], [2, 1]),
        ("previous", ["2024-03-01", "2024-03-02"], [2, 0]),
    ]


@pytest.mark.parametrize(
    ("until", "incomplete"), [("2024-03-03", 0), ("2024-03-04", 1), ("2024-03-06", 3)]
)
async def test_points_that_are_not_over_are_told(
    analyst: Analyst, until: str, incomplete: int
) -> None:
    [result] = await analyst.answer(
        VIEWS, NOW, events=[series()], date_from="2024-03-01", date_to=until
    )

    assert result["incomplete"] == incomplete


@pytest.mark.parametrize(
    ("day", "days", "data"),
    [(0, ["2024-02-25", "2024-03-03"], [2, 3]), (1, ["2024-02-26", "2024-03-04"], [4, 1])],
)
async def test_weeks_begin_on_the_day_of_the_project(
    analyst: Analyst, day: int, days: list[str], data: list[int]
) -> None:
    project = replace(await analyst.store(VIEWS), week_start_day=day)

    [result] = await analyst.ask(project, NOW, **ASKED, events=[series()], interval="week")

    assert (result["days"], result["data"]) == (days, data)


async def test_active_persons_of_a_total_are_those_of_the_last_days(analyst: Analyst) -> None:
    history = History(
        happened=[
            history_event("viewed", ANN, "2024-02-20 10:00"),
            history_event("viewed", BOB, "2024-02-27 10:00"),
        ]
    )
    question = {"date_from": "2024-02-01", "date_to": "2024-03-04", "display": "BoldNumber"}

    [week] = await analyst.answer(history, NOW, **question, events=[series("weekly_active")])
    [month] = await analyst.answer(history, NOW, **question, events=[series("monthly_active")])

    assert (week["aggregated_value"], month["aggregated_value"]) == (1, 2)


async def test_a_large_answer_has_no_addresses(analyst: Analyst) -> None:
    question = {"date_from": "2024-03-03", "date_to": "2024-03-04", "interval": "minute"}

    [result] = await analyst.answer(VIEWS, NOW, **question, events=[series()])

    assert len(result["data"]) == 2 * 24 * 60 > URLS_MAX
    assert (result["count"], result["persons_urls"]) == (3, [])


async def test_an_answer_with_too_many_numbers_is_refused(analyst: Analyst) -> None:
    with pytest.raises(Invalid) as refused:
        await analyst.answer(
            VIEWS, NOW, events=[series()] * 26, date_from="-1y", interval="hour", compare=True
        )

    assert refused.value.attr == "interval"


async def test_a_breakdown_by_cohort_has_one_entry_for_each(tenant: Tenant) -> None:
    await tenant.capture(person("ann", plan="pro"), person("bob", plan="free"), person("cid"))
    pro = await create_cohort(tenant, name="Pro", filters={"properties": all_of(("pro",))})
    some = await create_cohort(tenant, name="Some", filters={"properties": all_of(("pro", "free"))})
    await tenant.server.calculated()
    question = {
        "events": [{"id": "seen", "math": "dau"}],
        "date_from": "-3d",
        "breakdown": [pro["id"], some["id"], "all"],
        "breakdown_type": "cohort",
        "display": "BoldNumber",
    }

    answer = await tenant.api.post("/insights/trend/", json=question)

    names = ("label", "breakdown_value", "aggregated_value")
    result = [tuple(entry[name] for name in names) for entry in answer.json()["result"]]
    assert result == [("all users", "all", 3), ("Some", some["id"], 2), ("Pro", pro["id"], 1)]
    assert answer.json()["breakdown_values"] == [{"shown": 3, "total": 3}]


def all_of(plans: tuple[str, ...]) -> Any:
    return {"type": "AND", "values": [{"type": "AND", "values": [person_is("plan", [*plans])]}]}


def test_a_map_shows_more_values() -> None:
    question = {"events": [{}], "breakdown": "$geoip_country_code"}

    limits = [
        result.limit
        for display in ("WorldMap", "ActionsPie")
        if (result := parse_trends({**question, "display": display}).breakdowns) is not None
    ]

    assert limits == [250, 25]
