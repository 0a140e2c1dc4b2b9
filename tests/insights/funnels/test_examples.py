"""The worked examples of funnels in the reference.

Source: insights.md, section 5.
"""

from dataclasses import replace
from typing import Any

import pytest

from fanion.errors import Invalid
from tests.support.asked_actors import actors
from tests.support.histories import Analyst, History, HistoryEvent, history_event

DAY = "2024-04-02T"
ANN, BOB, CID, DAN = 1, 2, 3, 4
HISTORY = History(
    happened=[
        history_event("a", ANN, f"{DAY}10:00"),
        history_event("b", ANN, f"{DAY}10:10"),
        history_event("c", ANN, f"{DAY}10:40"),
        history_event("a", BOB, f"{DAY}10:00"),
        history_event("b", BOB, f"{DAY}11:00"),
        history_event("b", CID, f"{DAY}09:00"),
        history_event("a", CID, f"{DAY}10:00"),
        history_event("c", CID, f"{DAY}10:05"),
        history_event("a", DAN, f"{DAY}10:00"),
        history_event("x", DAN, f"{DAY}10:01"),
        history_event("b", DAN, f"{DAY}10:02"),
    ]
)
STEPS = [{"id": "a"}, {"id": "b"}, {"id": "c"}]


async def funnel(analyst: Analyst, history: History = HISTORY, **filters: Any) -> Any:
    question = {"insight": "FUNNELS", "events": STEPS, "date_from": "-7d", **filters}
    return await analyst.answer(history, **question)


def counts(steps: Any) -> list[int]:
    return [step["count"] for step in steps]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, [4, 3, 1]),
        ({"funnel_window_interval": 30, "funnel_window_interval_unit": "minute"}, [4, 2, 0]),
        ({"funnel_order_type": "strict"}, [4, 2, 1]),
        ({"funnel_order_type": "unordered"}, [4, 4, 2]),
        (
            {"exclusions": [{"id": "x", "funnel_from_step": 0, "funnel_to_step": 1}]},
            [3, 2, 1],
        ),
    ],
)
async def test_steps_are_counted(
    analyst: Analyst, filters: dict[str, Any], expected: list[int]
) -> None:
    assert counts(await funnel(analyst, **filters)) == expected


async def test_an_optional_step_may_be_skipped(analyst: Analyst) -> None:
    """The reference's persons: cid skips b, and dan does not go on to c."""
    project = await analyst.store(HISTORY)
    steps: list[dict[str, Any]] = [{"id": "a"}, {"id": "b", "optionalInFunnel": True}, {"id": "c"}]
    question: dict[str, Any] = {"insight": "FUNNELS", "events": steps}

    answer = await analyst.ask(project, **question)
    of_step = {
        number: len(await actors(analyst, project, **question, funnel_step=number))
        for number in (1, 2, -2, 3, -3)
    }

    assert counts(answer) == [4, 3, 2]
    assert [step["average_conversion_time"] for step in answer] == [None, 1440, 1350]
    assert [step["median_conversion_time"] for step in answer] == [None, 600, 1350]
    assert of_step == {1: 4, 2: 3, -2: 1, 3: 2, -3: 2}


@pytest.mark.parametrize(
    ("happened", "expected"),
    [
        ("a o p z", [1, 1, 1, 1]),
        ("a p z", [1, 0, 1, 1]),
        ("a p o z", [1, 0, 1, 1]),
        ("a z o p", [1, 0, 0, 1]),
        ("a o", [1, 1, 0, 0]),
        ("o p a z", [1, 0, 0, 1]),
    ],
)
async def test_optional_steps_are_passed_in_order(
    analyst: Analyst, happened: str, expected: list[int]
) -> None:
    steps = [
        {"id": "a"},
        {"id": "o", "optionalInFunnel": True},
        {"id": "p", "optionalInFunnel": True},
        {"id": "z"},
    ]
    events = [
        history_event(name, ANN, f"{DAY}10:0{minute}")
        for minute, name in enumerate(happened.split())
    ]

    assert counts(await funnel(analyst, History(happened=events), events=steps)) == expected


async def test_only_the_first_time_of_a_person_counts(analyst: Analyst) -> None:
    """Ann did a long before the range, bob first without the plan, and cid first with it."""
    happened = [
        history_event("a", ANN, "2024-01-02T10:00", plan="pro"),
        history_event("a", ANN, f"{DAY}10:00", plan="pro"),
        history_event("b", ANN, f"{DAY}10:10"),
        history_event("a", BOB, f"{DAY}10:00"),
        history_event("a", BOB, f"{DAY}10:05", plan="pro"),
        history_event("b", BOB, f"{DAY}10:10"),
        history_event("a", CID, f"{DAY}10:00", plan="pro"),
        history_event("b", CID, f"{DAY}10:10"),
    ]
    pro = {"id": "a", "properties": [{"key": "plan", "value": "pro"}]}

    answers = [
        await funnel(
            analyst,
            History(happened=happened),
            events=[first, {"id": "b"}],
        )
        for first in (
            pro,
            {**pro, "math": "first_time_for_user"},
            {**pro, "math": "first_time_for_user_with_filters"},
            {"id": "a", "math": "first_time_for_user"},
        )
    ]

    assert list(map(counts, answers)) == [[3, 3], [1, 1], [2, 2], [2, 2]]


def in_session(session: str, event: str, who: int, at: str) -> HistoryEvent:
    return replace(history_event(event, who, at), properties={"$session_id": session})


async def test_steps_within_a_session_do_not_count_for_another(analyst: Analyst) -> None:
    happened = [
        in_session("s1", "a", ANN, f"{DAY}10:00"),
        in_session("s2", "b", ANN, f"{DAY}10:10"),
        in_session("s3", "a", BOB, f"{DAY}10:00"),
        in_session("s3", "b", CID, f"{DAY}10:05"),
        history_event("a", DAN, f"{DAY}10:00"),
        history_event("b", DAN, f"{DAY}10:05"),
    ]
    history, by_session = History(happened=happened), "properties.$session_id"

    persons = await funnel(analyst, history, funnel_aggregate_by_hogql="person_id")
    sessions = await funnel(analyst, history, funnel_aggregate_by_hogql=by_session)

    assert counts(persons) == [3, 2, 0]
    assert counts(sessions) == [2, 1, 0]
    assert {step["converted_people_url"] for step in sessions} == {None}
    with pytest.raises(Invalid) as caught:
        await actors(
            analyst,
            await analyst.store(history),
            insight="FUNNELS",
            events=STEPS,
            funnel_aggregate_by_hogql=by_session,
            funnel_step=1,
        )
    assert caught.value.attr == "funnel_aggregate_by_hogql"


async def test_times_are_averages_and_medians(analyst: Analyst) -> None:
    steps = await funnel(analyst)

    assert [step["average_conversion_time"] for step in steps] == [None, 1440, 1800]
    assert [step["median_conversion_time"] for step in steps] == [None, 600, 1800]


async def test_a_step_names_its_event_and_the_people_behind_it(analyst: Analyst) -> None:
    project = await analyst.store(HISTORY)
    steps = [{"id": "a", "name": "A", "custom_name": "Start"}, {"id": "b", "order": 1}]
    first, second = await analyst.ask(project, insight="FUNNELS", events=steps)

    urls = f"/api/projects/{project.id}/persons/funnel/?"
    assert first.pop("converted_people_url").startswith(urls)
    assert first == {
        "action_id": "a",
        "name": "A",
        "custom_name": "Start",
        "order": 0,
        "people": [],
        "count": 4,
        "type": "events",
        "average_conversion_time": None,
        "median_conversion_time": None,
        "dropped_people_url": None,
    }
    assert "funnel_step=2" in second["converted_people_url"]
    assert "funnel_step=-2" in second["dropped_people_url"]


async def test_unordered_steps_are_named_by_their_number(analyst: Analyst) -> None:
    steps = await funnel(analyst, funnel_order_type="unordered")

    assert [step["name"] for step in steps] == [
        "Completed 1 step",
        "Completed 2 steps",
        "Completed 3 steps",
    ]
    assert {step["action_id"] for step in steps} == {None}


async def test_without_steps_there_is_nothing(analyst: Analyst) -> None:
    assert await funnel(analyst, events=[]) == []
    times = await funnel(analyst, events=[], funnel_viz_type="time_to_convert")
    assert times == {"bins": [], "average_conversion_time": None}


async def test_one_step_is_its_count(analyst: Analyst) -> None:
    assert counts(await funnel(analyst, events=STEPS[:1])) == [4]


@pytest.mark.parametrize("order", ["ordered", "strict", "unordered"])
async def test_twenty_steps_and_exclusions_are_possible(analyst: Analyst, order: str) -> None:
    names = [f"e{number}" for number in range(20)]
    happened = [history_event(name, ANN, f"{DAY}10:{n:02}") for n, name in enumerate(names)]
    happened += [history_event(name, BOB, f"{DAY}10:{n:02}") for n, name in enumerate(names[:7])]
    ends = (0, 19) if order == "unordered" else (3, 5)
    exclusions = [
        {"id": f"x{n}", "funnel_from_step": ends[0], "funnel_to_step": ends[1]} for n in range(20)
    ]

    steps = await funnel(
        analyst,
        History(happened=happened),
        events=[{"id": name} for name in names],
        exclusions=exclusions,
        funnel_order_type=order,
        funnel_window_interval=1,
        funnel_window_interval_unit="month",
        breakdown="plan",
    )

    assert counts(steps[0]) == [2] * 7 + [1] * 13


SECONDS = (60, 100, 600)
CONVERTED = History(
    happened=[
        one
        for who, seconds in enumerate(SECONDS, 1)
        for one in (
            history_event("a", who, f"{DAY}10:00:00"),
            history_event("b", who, f"{DAY}10:{seconds // 60:02}:{seconds % 60:02}"),
        )
    ]
)


async def test_times_to_convert_are_counted_in_bins(analyst: Analyst) -> None:
    answer = await funnel(analyst, CONVERTED, events=STEPS[:2], funnel_viz_type="time_to_convert")

    assert answer["bins"] == [[60, 2], [330, 0], [600, 1]]
    assert answer["average_conversion_time"] == pytest.approx(253.33, abs=0.01)


async def test_times_of_values_share_their_bins(analyst: Analyst) -> None:
    """60, 100 and 600 seconds have two bins of 270; the largest value comes first."""
    happened = [
        replace(event, properties={"plan": "pro" if event.distinct_id == "d3" else "free"})
        for event in CONVERTED.happened
    ]
    question: dict[str, Any] = {"events": STEPS[:2], "funnel_viz_type": "time_to_convert"}

    answer = await funnel(analyst, History(happened=happened), **question, breakdown="plan")
    largest = await funnel(
        analyst, History(happened=happened), **question, breakdown="plan", breakdown_limit=1
    )

    assert answer == [
        {
            "bins": [[60, 2], [330, 0], [600, 0]],
            "average_conversion_time": 80,
            "median_conversion_time": 80,
            "breakdown": ["free"],
            "breakdown_value": ["free"],
        },
        {
            "bins": [[60, 0], [330, 0], [600, 1]],
            "average_conversion_time": 600,
            "median_conversion_time": 600,
            "breakdown": ["pro"],
            "breakdown_value": ["pro"],
        },
    ]
    assert [entry["breakdown"] for entry in largest] == [["free"], ["Other"]]


@pytest.mark.parametrize(("bin_count", "number"), [(1, 2), (5, 6), (500, 91), (None, 3)])
async def test_the_number_of_bins_can_be_asked_for(
    analyst: Analyst, bin_count: int | None, number: int
) -> None:
    answer = await funnel(
        analyst,
        CONVERTED,
        events=STEPS[:2],
        funnel_viz_type="time_to_convert",
        bin_count=bin_count,
    )

    assert len(answer["bins"]) == number
    assert sum(count for _, count in answer["bins"]) == len(SECONDS)


async def test_trends_show_the_rate_of_each_day(analyst: Analyst) -> None:
    days = ("2024-04-01", "2024-04-02")
    happened = [history_event("a", who, f"{days[0]}T10:00") for who in (1, 2, 3)]
    happened += [
        history_event("b", 1, f"{days[1]}T09:00"),
        history_event("a", 1, f"{days[1]}T10:00"),
    ]
    history = History(happened=happened)

    [line] = await funnel(
        analyst, history, events=STEPS[:2], funnel_viz_type="trends", date_from="-2d"
    )

    assert line == {
        "count": 3,
        "data": [33.33, 0.0, 0.0],
        "entered": [3, 1, 0],
        "converted": [1, 0, 0],
        "days": [*days, "2024-04-03"],
        "labels": ["1-Apr-2024", "2-Apr-2024", "3-Apr-2024"],
    }


SIGN_UP = History(
    happened=[
        history_event("a", ANN, f"{DAY}10:00"),
        history_event("b", ANN, f"{DAY}10:10", plan="Safari"),
    ]
)


@pytest.mark.parametrize(
    ("attribution", "value"),
    [
        ({}, "Safari"),
        ({"breakdown_attribution_type": "last_touch"}, "Safari"),
        ({"breakdown_attribution_type": "step", "breakdown_attribution_value": 0}, ""),
        ({"breakdown_attribution_type": "step", "breakdown_attribution_value": 1}, "Safari"),
    ],
)
async def test_a_person_has_the_value_of_one_of_its_events(
    analyst: Analyst, attribution: dict[str, Any], value: str
) -> None:
    [steps] = await funnel(analyst, SIGN_UP, events=STEPS[:2], breakdown="plan", **attribution)

    assert [step["breakdown_value"] for step in steps] == [[value]] * 2
    assert [step["breakdown"] for step in steps] == [[value]] * 2
    assert counts(steps) == [1, 1]


@pytest.mark.parametrize("attribution", ["first_touch", "all_events"])
async def test_values_beyond_the_largest_are_one_entry(analyst: Analyst, attribution: str) -> None:
    """A person counts once in this entry, even with several of its values."""
    happened = [
        history_event("a", who, f"{DAY}1{value}:0{n}", plan=f"v{value}")
        for value in range(4)
        for who in range(1, 6 - value)
        for n in range(2)
    ]
    history = History(happened=happened)
    question = {
        "events": STEPS[:1],
        "breakdown": "plan",
        "breakdown_limit": 2,
        "breakdown_attribution_type": attribution,
    }

    result = await funnel(analyst, history, **question)
    largest = await funnel(analyst, history, **question, breakdown_hide_other_aggregation=True)

    if attribution == "first_touch":
        assert [(s[0]["breakdown"], s[0]["count"]) for s in result] == [(["v0"], 5)]
        return
    assert [(s[0]["breakdown"], s[0]["count"]) for s in result] == [
        (["v0"], 5),
        (["v1"], 4),
        (["Other"], 3),
    ]
    assert [steps[0]["breakdown"] for steps in largest] == [["v0"], ["v1"]]


def _own(properties: dict[str, Any]) -> dict[str, Any]:
    return properties


async def test_pages_are_one_value_however_their_addresses_end(analyst: Analyst) -> None:
    pages = ("https://x.io/docs", "https://x.io/docs/", "https://x.io/docs?#")
    happened = [
        history_event("a", who, f"{DAY}10:00", **_own({"$current_url": page}))
        for who, page in enumerate(pages, 1)
    ]

    [steps] = await funnel(
        analyst,
        History(happened=happened),
        events=STEPS[:1],
        breakdown="$current_url",
        breakdown_normalize_url=True,
    )

    assert (steps[0]["breakdown_value"], steps[0]["count"]) == (["https://x.io/docs"], 3)


async def test_groups_have_values_too(analyst: Analyst) -> None:
    happened = [
        history_event("a", who, f"{DAY}10:00", **_own({"$group_0": key}))
        for who, key in enumerate(("acme", "acme", "corp"), 1)
    ]
    groups = {(0, "acme"): {"size": "big"}, (0, "corp"): {"size": "small"}}

    result = await funnel(
        analyst,
        History(happened=happened, groups=groups),
        events=STEPS[:1],
        breakdown="size",
        breakdown_type="group",
        breakdown_group_type_index=0,
    )

    assert [(s[0]["breakdown_value"], s[0]["count"]) for s in result] == [
        (["big"], 2),
        (["small"], 1),
    ]


async def test_sessions_have_values_and_conditions(analyst: Analyst) -> None:
    """The first session takes one minute, the second one two minutes."""
    happened = [
        history_event(name, who, f"{DAY}10:0{minute * who}", **_own({"$session_id": f"s{who}"}))
        for who in (1, 2)
        for minute, name in enumerate(("a", "b"))
    ]
    question = {"events": STEPS[:2]}
    long = {"key": "$session_duration", "value": 100, "operator": "gt", "type": "session"}

    result = await funnel(
        analyst,
        History(happened=happened),
        **question,
        breakdown="$session_duration",
        breakdown_type="session",
    )
    kept = await funnel(analyst, History(happened=happened), **question, properties=[long])
    step = {"events": [{**STEPS[0], "properties": [long]}, STEPS[1]]}
    first = await funnel(analyst, History(happened=happened), **step)

    assert [(s[0]["breakdown_value"], counts(s)) for s in result] == [
        (["120"], [1, 1]),
        (["60"], [1, 1]),
    ]
    assert counts(kept) == counts(first) == [1, 1]
