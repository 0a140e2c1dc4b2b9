"""Segments in questions, against the same conditions written out."""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanion.activity.model import Author
from fanion.insights.segments.store import SEGMENTS
from fanion.projects.model import Project
from tests.insights.test_actions import numbers
from tests.support.examples import examples
from tests.support.histories import NOW, Analyst, History, histories

Json = dict[str, Any]
# Conditions of every type that a segment may have.
CONDITIONS: list[Json] = [
    {"type": "event", "key": "plan", "operator": "exact", "value": ["pro", ""]},
    {"type": "event", "key": "n", "operator": "gt", "value": 2},
    {"type": "event", "key": "plan", "operator": "is_not_set", "value": "is_not_set"},
    {"type": "person", "key": "plan", "operator": "exact", "value": "pro"},
    {"type": "person", "key": "plan", "operator": "is_not", "value": "pro"},
    {"type": "group", "key": "size", "operator": "gt", "value": 2, "group_type_index": 0},
    {"type": "session", "key": "$session_duration", "operator": "gt", "value": 60},
    {"type": "hogql", "key": "toFloat(properties.n) > 1 OR event = 'a'"},
]
# Questions by a condition on all of their events, or on one of them.
QUESTIONS: Mapping[str, Callable[[Any], Json]] = {
    "trends": lambda own: {"events": [{"id": "a", "properties": own}, {"id": "b"}]},
    "groups": lambda own: {
        "events": [
            {"type": "groups", "nodes": [{"id": "a", "properties": own}, {"id": "b"}],
             "properties": own},
        ],
    },
    "funnels": lambda own: {
        "insight": "FUNNELS",
        "events": [{"id": "a"}, {"id": "b", "properties": own}],
        "properties": own,
    },
    "retention": lambda own: {
        "insight": "RETENTION",
        "target_entity": {"id": "a", "properties": own},
        "returning_entity": {"id": "b"},
    },
    "lifecycle": lambda own: {"insight": "LIFECYCLE", "events": [{"id": "a"}], "properties": own},
    "paths": lambda own: {"insight": "PATHS", "properties": own},
}  # fmt: skip

leaves = st.sampled_from(CONDITIONS)
groups: st.SearchStrategy[Json] = st.recursive(
    st.lists(leaves, min_size=1, max_size=3),
    lambda inner: st.lists(inner | leaves, min_size=1, max_size=2),
    max_leaves=4,
).flatmap(lambda values: st.sampled_from(("AND", "OR")).map(lambda kind: _group(kind, values)))


def _group(kind: str, values: list[Any]) -> Json:
    other = "OR" if kind == "AND" else "AND"
    parts = [_group(other, part) if isinstance(part, list) else part for part in values]
    return {"type": kind, "values": parts}


async def define(analyst: Analyst, project: Project, properties: Json) -> int:
    """Create a segment, and return its id."""
    values = {"name": uuid4().hex, "description": "", "properties": properties}
    author = Author(project.organization_id, None, NOW, project_id=project.id)
    async with analyst.records.write() as connection:
        return (await connection.run_sync(SEGMENTS.create, author, values)).id


def within(segment_id: int, operator: str) -> Json:
    return {"type": "segment", "key": "id", "value": segment_id, "operator": operator}


@settings(max_examples=examples(30))
@given(histories(), groups)
async def test_events_are_in_a_segment_or_not(
    analyst: Analyst, history: History, conditions: Json
) -> None:
    project = await analyst.store(history)
    segment_id = await define(analyst, project, conditions)

    async def total(*properties: Json) -> float:
        [entry] = await analyst.ask(
            project,
            events=[{"id": None}],
            properties={"type": "AND", "values": list(properties)},
            date_from="-20d",
            display="BoldNumber",
        )
        return float(entry["aggregated_value"])

    inside = await total(within(segment_id, "in"))
    assert inside == await total(conditions)
    assert await total(within(segment_id, "not_in")) == len(history.once) - inside
    assert await total(conditions, within(segment_id, "not_in")) == 0
    either = {"type": "OR", "values": [conditions, within(segment_id, "not_in")]}
    assert await total(either) == len(history.once)


@pytest.mark.parametrize("kind", QUESTIONS)
@settings(max_examples=examples(4))
@given(histories(), groups)
async def test_a_segment_is_its_conditions_in_every_question(
    analyst: Analyst, kind: str, history: History, conditions: Json
) -> None:
    project = await analyst.store(history)
    segment_id = await define(analyst, project, conditions)

    asked = [
        await analyst.ask(project, **QUESTIONS[kind](own), date_from="-10d")
        for own in ([within(segment_id, "in")], conditions)
    ]

    assert numbers(asked[0]) == numbers(asked[1])
