"""The values of a breakdown: which are shown, how they are shown, and how to ask for them."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.support.asked_actors import actors
from tests.support.histories import Analyst, History, HistoryEvent, history_event

NOW = datetime(2024, 3, 4, 18, 0, tzinfo=UTC)
DAY = "2024-03-02 10:00"
ASKED: dict[str, Any] = {"date_from": "2024-03-01", "date_to": "2024-03-04"}
OTHER = "$$_posthog_breakdown_other_$$"
LISTS: list[Any] = [
    [], ["a", "b"], ["b", "a"], [1, 2.5], [True], ["it's", 'a "b"'], [["a"], []], ["a", 1, None],
    {}, {"b": 1, "a": [{}]}, [{"a": 1}], "plain", "[]", 7, True,
]  # fmt: skip


def text_of(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, separators=(",", ":"))


@pytest.mark.parametrize("breakdown_type", ["event", "person", "group"])
async def test_lists_and_objects_are_json_that_can_be_asked_again(
    analyst: Analyst, breakdown_type: str
) -> None:
    history = stored(breakdown_type)
    expected: dict[str, set[int]] = {}
    for who, value in enumerate(LISTS, 1):
        expected.setdefault(text_of(value), set()).add(who)
    question = {
        **ASKED,
        "events": [{"id": "viewed"}],
        "breakdown": "tags",
        "breakdown_type": breakdown_type,
        "breakdown_group_type_index": 0 if breakdown_type == "group" else None,
    }
    project = await analyst.store(history)

    entries = await analyst.ask(project, NOW, **question)

    assert {entry["breakdown_value"]: entry["count"] for entry in entries} == {
        text: len(persons) for text, persons in expected.items()
    }
    for text, persons in expected.items():
        behind = await actors(analyst, project, NOW, **question, breakdown_value=text)
        assert {who.int for who, _ in behind} == persons
        leaf: dict[str, Any] = {
            "key": "tags",
            "value": [text],
            "operator": "exact",
            "type": breakdown_type,
        }
        if breakdown_type == "group":
            leaf["group_type_index"] = 0
        same = {**ASKED, "events": question["events"], "properties": [leaf]}
        [again] = await analyst.ask(project, NOW, **same)
        assert again["count"] == len(persons)


def stored(of: str) -> History:
    """Return a history in which each value has an event of another person.

    Args:
        of: What the values are a property of.
    """
    numbered = list(enumerate(LISTS, 1))
    if of == "event":
        return History(
            happened=[history_event("viewed", who, DAY, tags=value) for who, value in numbered]
        )
    owned: list[dict[str, Any]] = [{"$group_0": f"g{who}"} for who, _ in numbered]
    happened = [history_event("viewed", who, DAY, **own) for who, own in enumerate(owned, 1)]
    if of == "person":
        ids: list[HistoryEvent] = list(happened)
        values = zip(ids, LISTS, strict=True)
        return History(
            happened=happened, persons={event.person: {"tags": v} for event, v in values}
        )
    return History(
        happened=happened, groups={(0, f"g{who}"): {"tags": value} for who, value in numbered}
    )


async def test_a_funnel_shows_lists_as_json(analyst: Analyst) -> None:
    history = History(
        happened=[
            history_event("viewed", who, DAY, tags=value) for who, value in enumerate(LISTS, 1)
        ]
    )
    question = {**ASKED, "insight": "FUNNELS", "events": [{"id": "viewed"}], "breakdown": "tags"}
    project = await analyst.store(history)

    answer = await analyst.ask(project, NOW, **question)

    values = [steps[0]["breakdown_value"] for steps in answer]
    assert {value for (value,) in values} == {text_of(value) for value in LISTS}
    for steps in answer:
        place = {"funnel_step": 1, "funnel_step_breakdown": steps[0]["breakdown_value"]}
        assert len(await actors(analyst, project, NOW, **question, **place)) == steps[0]["count"]


# The number of events of `a` and of `b` with each value.
RANKED = {"large": (9, 9), "even": (8, 8), "good": (3, 1), "best": (4, 1), "none": (0, 5)}


def ranked() -> History:
    happened = []
    for value, (first, second) in RANKED.items():
        happened += [history_event("a", who, DAY, plan=value) for who in range(1, first + 1)]
        happened += [history_event("b", who, DAY, plan=value) for who in range(1, second + 1)]
    return History(happened=happened)


@pytest.mark.parametrize("display", ["ActionsLineGraph", "ActionsTable"])
async def test_a_formula_shows_the_values_with_its_own_largest_results(
    analyst: Analyst, display: str
) -> None:
    question = {
        **ASKED,
        "events": [{"id": "a"}, {"id": "b"}],
        "breakdown": "plan",
        "breakdown_limit": 2,
        "display": display,
    }

    result = await analyst.answer(ranked(), NOW, **question, formula="A/B")
    both = await analyst.answer(ranked(), NOW, **question, formulas=["A/B", "A+B"])

    name = "count" if display == "ActionsLineGraph" else "aggregated_value"
    ratios = {"best": 4.0, "good": 3.0, OTHER: pytest.approx(17 / 22)}
    assert {entry["breakdown_value"]: entry[name] for entry in result} == ratios
    assert {entry["breakdown_value"]: entry[name] for entry in both[:3]} == ratios
    sums = {"large": 18, "even": 16, OTHER: 14}
    assert {entry["breakdown_value"]: entry[name] for entry in both[3:]} == sums


@pytest.mark.parametrize(
    ("math", "numbers"),
    [
        ({"math": "unique_session"}, [1, 1, 2, 2]),
        ({"math": "unique_group", "math_group_type_index": 0}, [1, 1, 1, 2]),
    ],
)
async def test_running_sums_count_sessions_and_groups_once(
    analyst: Analyst, math: dict[str, Any], numbers: list[int]
) -> None:
    own = [("s1", "acme"), ("s1", "acme"), ("s2", "acme"), ("s1", "corp")]
    held: list[dict[str, Any]] = [
        {"$session_id": session, "$group_0": group} for session, group in own
    ]
    happened = [
        history_event("viewed", day, f"2024-03-0{day} 10:00", **values)
        for day, values in enumerate(held, 1)
    ]
    question = {
        **ASKED,
        "events": [{"id": "viewed", **math}],
        "display": "ActionsLineGraphCumulative",
    }

    [result] = await analyst.answer(History(happened=happened), NOW, **question)

    assert (result["data"], result["count"]) == (numbers, numbers[-1])


VALUES: dict[str, Any] = {**ASKED, "breakdown": "plan", "breakdown_limit": 2}


def value_counts(*counts: tuple[int, int | None]) -> list[dict[str, int | None]]:
    return [{"shown": shown, "total": total} for shown, total in counts]


@pytest.mark.parametrize("math", ["total", "dau", "weekly_active", "sum"])
@pytest.mark.parametrize("more", [{}, {"compare": True}, {"breakdown_hide_other_aggregation": 1}])
async def test_an_answer_says_how_many_values_each_series_has(
    analyst: Analyst, math: str, more: dict[str, Any]
) -> None:
    project = await analyst.store(ranked())
    series = [{"id": name, "math": math, "math_property": "n"} for name in ("a", "b")]

    answer = await analyst.ask_with_values(project, NOW, **VALUES, **more, events=series)
    whole = await analyst.ask_with_values(
        project, NOW, **VALUES | {"breakdown_limit": 5}, **more, events=series
    )

    of_a, of_b = ([value for value, n in RANKED.items() if n[series]] for series in (0, 1))
    expected = (2, len(of_a)), (2, len(of_b))
    if math == "sum":  # no event has the property
        expected = (0, 0), (0, 0)
    assert answer["breakdown_values"] == value_counts(*expected)
    assert answer["hasMore"] is (math != "sum")
    assert whole["hasMore"] is False
    assert whole["breakdown_values"] == value_counts(*((total, total) for _, total in expected))


async def test_a_formula_has_the_values_of_all_its_series(analyst: Analyst) -> None:
    project = await analyst.store(ranked())
    question = {**VALUES, "events": [{"id": "a"}, {"id": "b"}], "formulas": ["A", "A+B"]}

    few = await analyst.ask_with_values(project, NOW, **question)
    all_values = await analyst.ask_with_values(project, NOW, **question | {"breakdown_limit": 9})

    assert few["breakdown_values"] == value_counts((2, len(RANKED)), (2, len(RANKED)))
    assert all_values["breakdown_values"] == value_counts((5, 5), (5, 5))


async def test_without_a_breakdown_an_answer_has_no_values(analyst: Analyst) -> None:
    project = await analyst.store(ranked())

    answer = await analyst.ask_with_values(project, NOW, **ASKED, events=[{"id": "a"}])

    assert isinstance(answer, list)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"breakdown_attribution_type": "all_events"},
        {"funnel_viz_type": "trends"},
        {"funnel_order_type": "unordered"},
    ],
)
async def test_a_funnel_says_how_many_values_there_are(
    analyst: Analyst, more: dict[str, Any]
) -> None:
    project = await analyst.store(one_value_each(7))
    question = {**VALUES, "insight": "FUNNELS", "events": [{"id": "a"}, {"id": "b"}], **more}

    answer = await analyst.ask_with_values(project, NOW, **question)
    whole = await analyst.ask_with_values(project, NOW, **question | {"breakdown_limit": 7})

    assert (answer["breakdown_values"], answer["hasMore"]) == (value_counts((2, 7)), True)
    assert (whole["breakdown_values"], whole["hasMore"]) == (value_counts((7, 7)), False)


async def test_retention_says_how_many_values_there_are(analyst: Analyst) -> None:
    project = await analyst.store(one_value_each(7))
    question = {
        **VALUES,
        "insight": "RETENTION",
        "target_entity": {"id": "a"},
        "returning_entity": {"id": "b"},
    }

    answer = await analyst.ask_with_values(project, NOW, **question)
    whole = await analyst.ask_with_values(project, NOW, **question | {"breakdown_limit": 7})

    assert (answer["breakdown_values"], answer["hasMore"]) == (value_counts((2, 7)), True)
    assert (whole["breakdown_values"], whole["hasMore"]) == (value_counts((7, 7)), False)


def one_value_each(persons: int) -> History:
    """Return a history in which each person did `a` and then `b`, with a value of its own."""
    times = (("a", DAY), ("b", "2024-03-02 11:00"))
    return History(
        happened=[
            history_event(name, who, at, plan=f"plan {who}")
            for who in range(1, persons + 1)
            for name, at in times
        ]
    )
