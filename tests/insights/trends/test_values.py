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
