"""Conditions on actions find the same members as a reference implementation."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from typing import Any
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fanion.actions.conditions import resolve_action
from fanion.actions.model import ActionRecord, ActionStep
from fanion.cohorts.calculation.query_plan import PlanContext, compile_plan
from fanion.cohorts.criteria.definition import Criteria
from fanion.cohorts.criteria.resolve import actions_named, resolve, with_actions_of
from fanion.events.storage.store import EventStore
from tests.cohorts.calculation.test_behaviour_sql import (
    NOW,
    READINGS,
    Json,
    PersonEvent,
    SamplePerson,
    behaviours,
    populate,
    random_persons,
)
from tests.support.examples import examples

MADE = datetime(2026, 1, 1, tzinfo=UTC)
# Steps of actions by id, and what they mean.
ACTIONS: dict[int, tuple[Sequence[Json], Callable[[PersonEvent], bool]]] = {
    1: ([{"event": "a"}], lambda event: event.event == "a"),
    2: ([{"event": "a"}, {"event": "b"}, {"event": "a"}], lambda event: True),
    3: (
        [
            {"event": "b"},
            {"event": "a", "properties": [{"key": "total", "value": 1, "type": "event"}]},
        ],
        lambda event: event.event == "b" or event.total == 1,
    ),
}
_numbers = count(1)


def action(number: int) -> ActionRecord:
    steps = [ActionStep(**step) for step in ACTIONS[number][0]]
    return ActionRecord(
        id=number,
        name=f"Action {number}",
        steps=steps,
        deleted=False,
        created_by=None,
        created_at=MADE,
        updated_at=MADE,
    )


RESOLVED = {number: resolve_action(action(number)) for number in ACTIONS}


def is_member(leaf: Json, person: SamplePerson) -> bool:
    """Return what the condition means, by events that have the name of what they belong to."""
    done = [*person.events, *person.merged]
    belonging = [
        replace(event, event=f"{name} {leaf[name]}")
        for name in ("key", "seq_event")
        for event in done
        if leaf.get(name) in ACTIONS and ACTIONS[leaf[name]][1](event)
    ]
    named: Json = {name: f"{name} {leaf[name]}" for name in ("key", "seq_event") if name in leaf}
    return READINGS[leaf["value"]]({**leaf, **named}, belonging)


@st.composite
def leaves_of_actions(draw: st.DrawFn, kind: str) -> Json:
    leaf = draw(behaviours([kind]))
    leaf["key"], leaf["event_type"] = draw(st.sampled_from(sorted(ACTIONS))), "actions"
    if kind.endswith("performing_event"):  # the recent window is not longer than the whole one
        leaf["seq_time_value"], leaf["seq_time_interval"] = 6, "hour"
    if "seq_event" in leaf:
        leaf["seq_event"] = draw(st.sampled_from(sorted(ACTIONS)))
        leaf["seq_event_type"] = "actions"
    return leaf


# It takes seconds: each example is stored and asked about.
@settings(
    max_examples=examples(6),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    seed=st.integers(0, 2**32),
    conditions=st.tuples(*(leaves_of_actions(kind) for kind in READINGS)),
)
async def test_members_are_those_who_did_the_action(
    events: EventStore, project_id: int, seed: int, conditions: tuple[Json, ...]
) -> None:
    population = random_persons(seed)
    project = (project_id << 20) % (1 << 60) + (1 << 40) + next(_numbers)
    ids = await populate(events, project, population)

    for leaf in conditions:
        expected = {ids[n] for n, person in enumerate(population) if is_member(leaf, person)}
        assert await members(events, project, leaf) == expected, leaf


async def members(events: EventStore, project: int, leaf: Any) -> set[UUID]:
    tree = resolve(
        Criteria(1, None, False, {"properties": {"type": "OR", "values": [leaf]}}, ()), {}
    )
    assert RESOLVED.keys() >= set(actions_named(tree))
    moment = PlanContext(project, NOW, ZoneInfo("UTC"), uuid4())
    plan = compile_plan(with_actions_of(tree, RESOLVED), moment)
    answer = await events.ask(plan.members, plan.parameters)
    return {UUID(bytes=member) for member in (answer.columns[0] if answer.columns else [])}
