"""The answer to a trend beside its numbers; breakdowns by cohort; the first day of the week."""

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from fanion.errors import Invalid
from fanion.insights.trends.query import parse_trends
from fanion.insights.trends.result import URLS_MAX, has_more
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
    found = await analyst.answer(BROWSERS, NOW, **ASKED, **TWO, events=[series()])

    assert [(one["label"], one["breakdown_value"], one["count"]) for one in found] == [
        ("Chrome::95", ["Chrome", "95"], 2),
        ("Safari::None (i.e. no value)", ["Safari", NONE], 1),
    ]
    assert not has_more(found)


async def test_the_rest_of_several_properties_is_one_entry(analyst: Analyst) -> None:
    asked: dict[str, Any] = {**ASKED, **TWO, "events": [series()], "breakdown_limit": 1}

    found = await analyst.answer(BROWSERS, NOW, **asked)
    hidden = await analyst.answer(BROWSERS, NOW, **asked, breakdown_hide_other_aggregation=True)

    assert [(one["label"], one["breakdown_value"]) for one in found] == [
        ("Chrome::95", ["Chrome", "95"]),
        ("Other (i.e. all remaining values)", [OTHER, OTHER]),
    ]
    assert (has_more(found), has_more(hidden)) == (True, False)
    assert hidden[0] | {"persons_urls": 0} == found[0] | {"persons_urls": 0}


async def test_a_persons_number_counts_for_each_of_its_events(analyst: Analyst) -> None:
    asked = series("sum", math_property="age", math_property_type="person_properties")

    [found] = await analyst.answer(BROWSERS, NOW, **ASKED, events=[asked])

    assert found["data"] == [41, 48.5, 0, 0]


async def test_a_histogram_of_persons(analyst: Analyst) -> None:
    found = await analyst.answer(
        BROWSERS,
        NOW,
        **ASKED,
        events=[series("dau")],
        breakdowns=[{"property": "age", "type": "person", "histogram_bin_count": 2}],
    )

    assert [(one["label"], one["data"]) for one in found] == [
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

    found = await analyst.answer(
        history,
        NOW,
        **ASKED,
        events=[series()],
        breakdown="$session_duration",
        breakdown_type="session",
        breakdown_histogram_bin_count=2,
    )

    assert [(one["label"], one["data"]) for one in found] == [
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

    found = await analyst.answer(
        history, NOW, **ASKED, events=[series("dau")], breakdown="page", breakdown_limit=1
    )

    assert {one["breakdown_value"]: one["count"] for one in found} == {"a": 2, OTHER: 1}


async def test_a_formula_combines_the_same_rest_of_all_series(analyst: Analyst) -> None:
    history = History(
        happened=[
            *(history_event("x", 1, "2024-03-01 10:00", page=page) for page in "aaab"),
            *(history_event("y", 1, "2024-03-01 10:00", page=page) for page in "bbbbbbc"),
        ]
    )

    found = await analyst.answer(
        history,
        NOW,
        **ASKED,
        events=[{"id": "x"}, {"id": "y"}],
        breakdown="page",
        breakdown_limit=2,
        formula="A + 10 * B",
    )

    assert {one["breakdown_value"]: one["data"][0] for one in found} == {
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

    assert [(one["label"], one["data"]) for one in named] == [
        ("Formula (A - B)", [1, 0, 0, 0]),
        ("Views", [2, 0, 2, 1]),
    ]
    assert [one["count"] for one in plain] == [5, 10]
    assert {tuple(one["persons_urls"]) for one in plain} == {()}


async def test_a_formula_of_totals(analyst: Analyst) -> None:
    events = [series(), series("dau"), {"id": "never"}]

    [found] = await analyst.answer(
        VIEWS, NOW, **ASKED, events=events, formula="A / B + C", display="BoldNumber"
    )

    assert (found["aggregated_value"], found["data"], found["persons"]) == (2.5, [], {})


async def test_a_range_is_compared_with_one_so_much_earlier(analyst: Analyst) -> None:
    found = await analyst.answer(
        VIEWS,
        NOW,
        events=[series()],
        date_from="2024-03-03",
        date_to="2024-03-04",
        compare_to="-2d",
    )

    assert [(one["compare_label"], one["days"], one["data"]) for one in found] == [
        ("current", ["2024-03-03", "2024-03-04"], [2, 1]),
        ("previous", ["2024-03-01", "2024-03-02"], [2, 0]),
    ]


@pytest.mark.parametrize(
    ("until", "incomplete"), [("2024-03-03", 0), ("2024-03-04", 1), ("2024-03-06", 3)]
)
async def test_points_that_are_not_over_are_told(
    analyst: Analyst, until: str, incomplete: int
) -> None:
    [found] = await analyst.answer(
        VIEWS, NOW, events=[series()], date_from="2024-03-01", date_to=until
    )

    assert found["incomplete"] == incomplete


@pytest.mark.parametrize(
    ("day", "days", "data"),
    [(0, ["2024-02-25", "2024-03-03"], [2, 3]), (1, ["2024-02-26", "2024-03-04"], [4, 1])],
)
async def test_weeks_begin_on_the_day_of_the_project(
    analyst: Analyst, day: int, days: list[str], data: list[int]
) -> None:
    project = replace(await analyst.store(VIEWS), week_start_day=day)

    [found] = await analyst.ask(project, NOW, **ASKED, events=[series()], interval="week")

    assert (found["days"], found["data"]) == (days, data)


async def test_active_persons_of_a_total_are_those_of_the_last_days(analyst: Analyst) -> None:
    history = History(
        happened=[
            history_event("viewed", ANN, "2024-02-20 10:00"),
            history_event("viewed", BOB, "2024-02-27 10:00"),
        ]
    )
    asked = {"date_from": "2024-02-01", "date_to": "2024-03-04", "display": "BoldNumber"}

    [week] = await analyst.answer(history, NOW, **asked, events=[series("weekly_active")])
    [month] = await analyst.answer(history, NOW, **asked, events=[series("monthly_active")])

    assert (week["aggregated_value"], month["aggregated_value"]) == (1, 2)


async def test_a_large_answer_has_no_addresses(analyst: Analyst) -> None:
    asked = {"date_from": "2024-03-03", "date_to": "2024-03-04", "interval": "minute"}

    [found] = await analyst.answer(VIEWS, NOW, **asked, events=[series()])

    assert len(found["data"]) == 2 * 24 * 60 > URLS_MAX
    assert (found["count"], found["persons_urls"]) == (3, [])


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
    asked = {
        "events": [{"id": "seen", "math": "dau"}],
        "date_from": "-3d",
        "breakdown": [pro["id"], some["id"], "all"],
        "breakdown_type": "cohort",
        "display": "BoldNumber",
    }

    answer = await tenant.api.post("/insights/trend/", json=asked)

    names = ("label", "breakdown_value", "aggregated_value")
    found = [tuple(one[name] for name in names) for one in answer.json()["result"]]
    assert found == [("all users", "all", 3), ("Some", some["id"], 2), ("Pro", pro["id"], 1)]


def all_of(plans: tuple[str, ...]) -> Any:
    return {"type": "AND", "values": [{"type": "AND", "values": [person_is("plan", [*plans])]}]}


def test_a_map_shows_more_values() -> None:
    asked = {"events": [{}], "breakdown": "$geoip_country_code"}

    limits = [
        found.limit
        for display in ("WorldMap", "ActionsPie")
        if (found := parse_trends({**asked, "display": display}).breakdowns) is not None
    ]

    assert limits == [250, 25]
