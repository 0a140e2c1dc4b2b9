"""Breakdowns by a property of an event's group, for random histories, against a model."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanion.errors import Invalid
from fanion.insights.sql.compiler import NONE, OTHER
from tests.support.examples import examples
from tests.support.histories import Analyst, History, HistoryEvent, histories, history_event

Json = dict[str, Any]


def value(history: History, event: HistoryEvent, key: str, index: int = 0) -> str:
    group = str(event.properties.get(f"$group_{index}") or "")
    held = history.groups.get((index, group), {}).get(key)
    return NONE if held in (None, "") else str(held)


def counted(history: History, name: str, of: Callable[[HistoryEvent], str]) -> Counter[str]:
    return Counter(of(event) for event in history.once if event.event == name)


@settings(max_examples=examples(20))
@given(histories(), st.sampled_from(("plan", "size")))
async def test_events_by_a_property_of_their_group(
    analyst: Analyst, history: History, key: str
) -> None:
    result = await analyst.answer(
        history,
        events=[{"id": "a"}],
        date_from="-20d",
        breakdown=key,
        breakdown_type="group",
        breakdown_group_type_index=0,
    )

    found = {entry["breakdown_value"]: entry["count"] for entry in result}
    assert found == counted(history, "a", lambda one: value(history, one, key))


@settings(max_examples=examples(15))
@given(histories())
async def test_persons_by_properties_of_two_groups(analyst: Analyst, history: History) -> None:
    parts = [
        {"property": "plan", "type": "group", "group_type_index": 0},
        {"property": "plan", "type": "event"},
    ]

    result = await analyst.answer(
        history,
        events=[{"id": "a", "math": "dau"}],
        date_from="-20d",
        display="BoldNumber",
        breakdowns=parts,
        breakdown_limit=100,
    )

    expected: dict[str, set[object]] = {}
    for event in history.once:
        if event.event == "a":
            first = value(history, event, "plan")
            expected.setdefault(first, set()).add(history.actor(event))
    found = Counter[str]()
    for entry in result:
        found[entry["breakdown_value"][0]] += entry["aggregated_value"]
    assert set(found) == set(expected)
    assert all(found[first] >= len(expected[first]) for first in expected)


async def test_values_beyond_those_that_are_shown_and_bins(analyst: Analyst) -> None:
    happened = [
        replace(history_event("a", 1, f"2024-04-01 10:0{n}"), properties={"$group_0": key})
        for n, key in enumerate("abbccc")
    ]
    groups = {(0, key): {"size": size} for key, size in (("a", 10), ("b", 20), ("c", 40))}
    question: Json = {
        "events": [{"id": "a"}],
        "date_from": "-20d",
        "breakdown": "size",
        "breakdown_type": "group",
        "breakdown_group_type_index": 0,
    }
    project = await analyst.store(History(happened=happened, groups=groups))

    limited = await analyst.ask(project, **question, breakdown_limit=1)
    binned = await analyst.ask(project, **question, breakdown_histogram_bin_count=3)

    assert {series["breakdown_value"]: series["count"] for series in limited} == {"40": 3, OTHER: 3}
    assert {series["breakdown_value"]: series["count"] for series in binned} == {
        "[10,20]": 1,
        "[20,30]": 2,
        "[30,40.01]": 3,
    }


@pytest.mark.parametrize("index", [None, 5])
async def test_a_group_type_is_required(analyst: Analyst, index: int | None) -> None:
    with pytest.raises(Invalid) as refused:
        await analyst.answer(
            History(),
            events=[{"id": "a"}],
            breakdown="plan",
            breakdown_type="group",
            breakdown_group_type_index=index,
        )
    assert refused.value.attr == "breakdown_group_type_index"


async def test_funnels_and_retention_have_values_of_groups_too(analyst: Analyst) -> None:
    def did(event: str, who: int, day: int, group: str) -> HistoryEvent:
        return replace(
            history_event(event, who, f"2024-04-0{day} 10:00"), properties={"$group_0": group}
        )

    history = History(
        happened=[
            did("a", 1, 1, "acme"),
            did("b", 1, 2, "acme"),
            did("a", 2, 1, "corp"),
            did("a", 3, 1, "unknown"),
        ],
        groups={(0, "acme"): {"plan": "pro"}, (0, "corp"): {"plan": "free"}},
    )
    project = await analyst.store(history)
    by_plan: Json = {
        "breakdown": "plan",
        "breakdown_type": "group",
        "breakdown_group_type_index": 0,
    }
    steps = [{"id": "a"}, {"id": "b"}]
    entities: Json = {"target_entity": {"id": "a"}, "returning_entity": {"id": "b"}}

    funnel = await analyst.ask(project, insight="FUNNELS", events=steps, date_from="-3d", **by_plan)
    retention = await analyst.ask(
        project, insight="RETENTION", total_intervals=3, **entities, **by_plan
    )

    counts = {one[0]["breakdown_value"][0]: [step["count"] for step in one] for one in funnel}
    assert counts == {"pro": [1, 1], "free": [1, 0], "": [1, 0]}
    rows = [(row["breakdown_value"], [v["count"] for v in row["values"]]) for row in retention]
    assert ("pro", [1, 1, 0]) in rows
    assert ("free", [1, 0, 0]) in rows
    assert (NONE, [1, 0, 0]) in rows
