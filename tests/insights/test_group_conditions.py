"""Conditions on an event's group, for random histories, against a model in plain Python."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.histories import Analyst, History, HistoryEvent, histories, history_event

Json = dict[str, Any]

# Conditions on the properties of a group, and what they mean; None stands for a missing property.
CONDITIONS: list[tuple[Json, Callable[[Any], bool]]] = [
    ({"key": "plan", "value": "pro"}, lambda plan: plan == "pro"),
    ({"key": "plan", "value": ["pro", "free"]}, lambda plan: plan in ("pro", "free")),
    ({"key": "plan", "value": "pro", "operator": "is_not"}, lambda plan: plan != "pro"),
    ({"key": "plan", "value": "pro", "negation": True}, lambda plan: plan != "pro"),
    ({"key": "plan", "value": "is_set", "operator": "is_set"}, lambda plan: plan is not None),
    ({"key": "plan", "operator": "is_not_set"}, lambda plan: plan is None),
    (
        {"key": "plan", "value": "r", "operator": "not_icontains"},
        lambda plan: "r" not in (plan or ""),
    ),
    ({"key": "size", "value": 2, "operator": "gt"}, lambda size: size in (20, 2.5)),
]


def seen(who: int, properties: Json) -> HistoryEvent:
    return replace(history_event("seen", who, "2024-04-01 10:00"), properties=properties)


def held(history: History, event: HistoryEvent, index: int) -> Mapping[str, Any]:
    key = str(event.properties.get(f"$group_{index}") or "")
    return history.groups.get((index, key), {})


@settings(max_examples=examples(30))
@given(histories(), st.sampled_from(CONDITIONS), st.sampled_from((0, 1)))
async def test_events_of_groups_are_counted(
    analyst: Analyst, history: History, condition: tuple[Json, Callable[[Any], bool]], index: int
) -> None:
    question, means = condition
    leaf = {**question, "type": "group", "group_type_index": index}

    [entry] = await analyst.answer(
        history, events=[{"id": "a", "properties": [leaf]}], date_from="-20d"
    )

    counted = [event for event in history.once if event.event == "a"]
    expected = [
        event for event in counted if means(held(history, event, index).get(question["key"]))
    ]
    assert entry["count"] == len(expected)


@pytest.mark.parametrize("place", ["properties", "events"])
async def test_conditions_on_several_things_hold_together(analyst: Analyst, place: str) -> None:
    history = History(
        happened=[
            seen(1, {"$group_0": "acme", "$group_1": "red"}),
            seen(2, {"$group_0": "acme"}),
            seen(3, {"$group_0": "corp", "$group_1": "red"}),
        ],
        groups={(0, "acme"): {"plan": "pro"}, (0, "corp"): {"plan": "free"}, (1, "red"): {"n": 3}},
    )
    tree = {
        "type": "AND",
        "values": [
            {"key": "plan", "type": "group", "group_type_index": 0, "value": "pro"},
            {"key": "n", "type": "group", "group_type_index": 1, "operator": "gt", "value": 2},
        ],
    }
    sent: Json = {"events": [{"id": "seen"}], "properties": tree}
    if place == "events":
        sent = {"events": [{"id": "seen", "properties": tree}]}

    [entry] = await analyst.answer(history, **sent)

    assert entry["count"] == 1


async def test_groups_of_another_project_do_not_count(analyst: Analyst) -> None:
    await analyst.store(History(groups={(0, "acme"): {"plan": "pro"}}))
    history = History(happened=[seen(1, {"$group_0": "acme"})])
    leaf = {"key": "plan", "type": "group", "group_type_index": 0, "value": "pro"}

    [entry] = await analyst.answer(history, events=[{"id": "seen"}], properties=[leaf])

    assert entry["count"] == 0
