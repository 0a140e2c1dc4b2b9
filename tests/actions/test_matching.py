"""Actions as Python functions: the same events as in questions, which the event store answers."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanion.actions.conditions import ResolvedAction, resolve_action
from fanion.actions.matching import At, event_test, is_of_persons
from fanion.actions.model import ActionRecord, ActionStep
from tests.insights.test_actions import CLICKS, OF_ELEMENTS, STEPS, Json
from tests.support.examples import examples
from tests.support.histories import History, HistoryEvent, histories

NOW = At(datetime(2024, 4, 1, tzinfo=UTC))


def action(*steps: Json) -> ResolvedAction:
    made = datetime(2024, 1, 1, tzinfo=UTC)
    return resolve_action(
        ActionRecord(
            id=1,
            name="a",
            description="",
            tags=[],
            deleted=False,
            created_by=None,
            steps=[ActionStep(**step) for step in steps],
            created_at=made,
            updated_at=made,
        )
    )


def matched(chosen: ResolvedAction, event: HistoryEvent) -> bool:
    return event_test(chosen.condition)(event.event, event.properties, NOW)


@pytest.mark.parametrize(("step", "expected"), OF_ELEMENTS)
def test_steps_compare_elements(step: Json, expected: int) -> None:
    assert sum(matched(action(step), event) for event in CLICKS) == expected


@settings(max_examples=examples(100))
@given(histories(), st.lists(st.sampled_from(range(len(STEPS))), min_size=1, max_size=3))
def test_an_event_matches_if_any_step_does(history: History, chosen: list[int]) -> None:
    made = action(*(STEPS[number][0] for number in chosen))

    for event in history.happened:
        assert matched(made, event) == any(STEPS[number][1](event) for number in chosen), event


def test_conditions_on_persons_are_found() -> None:
    plan = {"key": "plan", "type": "person", "value": "pro"}

    assert is_of_persons(action({"event": "a"}, {"event": "b", "properties": [plan]}).condition)
    assert not is_of_persons(action({"event": "a"}).condition)
