"""Groups of events in questions, against a model in plain Python, and against actions."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanion.errors import Invalid
from fanion.insights.kinds.service import read_sent_query
from fanion.insights.trends.query import parse_trends
from tests.insights.test_actions import CONDITION, NOW, QUESTIONS, Json, numbers
from tests.support.asked_actors import actors
from tests.support.defined_actions import define
from tests.support.examples import examples
from tests.support.histories import Analyst, History, HistoryEvent, histories, history_event

# Nodes, and what they mean.
NODES: Sequence[tuple[Json, Callable[[HistoryEvent], bool]]] = [
    ({"id": "a"}, lambda event: event.event == "a"),
    (
        {"id": "b", "properties": CONDITION},
        lambda event: event.event == "b" and "plan" in event.properties,
    ),
    (
        {"id": None, "properties": [{"key": "n", "operator": "gt", "value": 2}]},
        lambda event: event.properties.get("n") in (2.5, "4"),
    ),
]


def group(*nodes: Json, **more: Any) -> Json:
    return {"type": "groups", "nodes": list(nodes), **more}


@settings(max_examples=examples(20))
@given(histories(), st.lists(st.sampled_from(range(len(NODES))), min_size=1, max_size=3))
async def test_an_event_counts_once_if_it_matches_any_node(
    analyst: Analyst, history: History, chosen: list[int]
) -> None:
    entity = group(*(NODES[n][0] for n in chosen))

    [total, persons] = await analyst.answer(
        history, events=[entity, {**entity, "math": "dau"}], date_from="-20d", display="BoldNumber"
    )

    matching = [event for event in history.once if any(NODES[n][1](event) for n in chosen)]
    assert total["aggregated_value"] == len(matching)
    assert persons["aggregated_value"] == len({history.actor(event) for event in matching})


@pytest.mark.parametrize("kind", QUESTIONS)
@settings(max_examples=examples(4))
@given(histories())
async def test_a_group_is_the_action_with_the_same_steps(
    analyst: Analyst, kind: str, history: History
) -> None:
    project = await analyst.store(history)
    steps = {"event": "a", "properties": CONDITION}, {"event": "d"}
    both, only_d = (
        await define(analyst, project, *steps),
        await define(analyst, project, {"event": "d"}),
    )
    mixed = group({"id": "a", "properties": CONDITION}, only_d, operator="OR")

    asked = [
        await analyst.ask(project, **QUESTIONS[kind](entity), date_from="-10d")
        for entity in (both, mixed)
    ]

    assert numbers(asked[0]) == numbers(asked[1])


async def test_the_persons_behind_a_group_are_those_it_counts(analyst: Analyst) -> None:
    happened = [
        history_event(name, who, "2024-03-30 10:00")
        for who, name in enumerate(("paid", "refunded", "seen"), 1)
    ]
    query = {
        "kind": "TrendsQuery",
        "series": [
            {
                "kind": "GroupNode",
                "operator": "OR",
                "math": "dau",
                "nodes": [
                    {"kind": "EventsNode", "event": "paid", "math": "dau"},
                    {"kind": "EventsNode", "event": "refunded"},
                ],
            }
        ],
        "dateRange": {"date_from": "2024-03-30", "date_to": "2024-03-30"},
    }
    sent, history = dict(read_sent_query(query).scope.sent), History(happened=happened)

    [entry] = await analyst.answer(history, NOW, **sent)

    assert (entry["label"], entry["data"]) == ("paid or refunded", [2])
    assert (entry["action"]["type"], entry["action"]["id"]) == ("groups", None)
    place = dict(parse_qsl(entry["persons_urls"][0]["url"]))
    assert place["entity_type"] == "groups"
    found = await actors(analyst, await analyst.store(history), NOW, **sent)
    assert {who for who, _ in found} == {UUID(int=1), UUID(int=2)}


REFUSED: Mapping[str, tuple[Json, str, str]] = {
    "no nodes": (group(), "nodes", "This field is required."),
    "an id": (group({"id": "a"}, id="b"), "id", "A group of events has nodes in place of an id."),
    "nodes of an event": (
        {"id": "a", "nodes": [{"id": "b"}]},
        "nodes",
        'nodes are only for the type "groups". Leave them out.',
    ),
    "AND": (
        group({"id": "a"}, operator="AND"),
        "operator",
        "One event is never several events. Use OR, or conditions.",
    ),
    "a group in a group": (
        group(group({"id": "a"})),
        "nodes__0__type",
        "A group of events cannot have groups.",
    ),
    "another math": (
        group({"id": "a", "math": "dau"}),
        "nodes__0__math",
        "What is counted belongs to the group. Leave it out.",
    ),
    "too many": (
        group(*[{"id": "a"}] * 21),
        "nodes",
        "Ensure this list has at most 20 elements.",
    ),
    "no condition": (
        group({"id": "a", "properties": 7}),
        "nodes__0__properties",
        "The filters cannot be read: a filter tree must be an object or a list.",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_group_is_refused_with_its_place(name: str) -> None:
    entity, place, detail = REFUSED[name]

    with pytest.raises(Invalid) as caught:
        parse_trends({"events": [entity]})

    assert (caught.value.attr, caught.value.detail) == (f"events__0__{place}", detail)


def test_an_error_of_a_query_names_its_own_place() -> None:
    nodes = [{"kind": "EventsNode", "event": "a"}, {"kind": "EventsNode", "event": 7}]

    with pytest.raises(Invalid) as caught:
        read_sent_query({"kind": "TrendsQuery", "series": [{"kind": "GroupNode", "nodes": nodes}]})

    assert caught.value.attr == "query__series__0__nodes__1__event"
