"""The actions that questions and criteria name, as they were sent."""

from typing import Any

import pytest

from fanion.actions.references import action_places, named_actions

GOAL = {"actionId": 7}
PLACES: dict[str, Any] = {
    "a series": {"kind": "TrendsQuery", "series": [{"kind": "ActionsNode", "id": 7}]},
    "a series of older clients": {"events": [], "actions": [{"id": "7"}]},
    "a conversion goal": {"kind": "WebOverviewQuery", "conversionGoal": GOAL},
    "a goal of a table": {"kind": "DataTableNode", "source": {"goals": [GOAL]}},
    "a condition of a cohort": {"values": [{"event_type": "actions", "key": 7}]},
    "a sequence of a cohort": {"values": [{"seq_event_type": "actions", "seq_event": 7}]},
    "an older group of a cohort": [{"action_id": 7}],
}


@pytest.mark.parametrize("value", PLACES.values(), ids=PLACES)
def test_an_action_is_found_wherever_it_is_named(value: Any) -> None:
    assert list(named_actions(value)) == [7]


def test_events_with_the_same_fields_name_no_action() -> None:
    goals = [{"customEventName": "7"}, {"customEventName": "7", "actionId": None}]
    events = [{"kind": "EventsNode", "event": "7"}, {"event_type": "events", "key": "7"}]

    assert list(named_actions([goals, events])) == []


def test_the_id_of_a_goal_can_be_replaced_where_it_stands() -> None:
    goal: dict[str, Any] = {"actionId": 7}

    for place, field in action_places(goal):
        place[field] = {"action": "Paid"}

    assert goal == {"actionId": {"action": "Paid"}}
