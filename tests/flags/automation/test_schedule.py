"""The fields of a scheduled change, and the columns that it sets."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fanion.errors import Invalid
from fanion.flags.automation.schedule import (
    STEPS_MAX,
    NewScheduledChange,
    Step,
    payload_of_step,
    planned_values,
    read_plan,
)
from fanion.flags.engine.definition import FlagRow
from fanion.rest.validation import read_struct

NOW = datetime(2024, 3, 1, 12, tzinfo=UTC)
SOON = "2024-03-01T13:00:00Z"
LATER = "2024-03-01T14:00:00Z"
ROLLOUT = "update_rollout_percentage"

Json = dict[str, Any]


def flag(*groups: Json, **fields: Any) -> FlagRow:
    filters = {"groups": list(groups), "payloads": {"true": "1"}} if groups else {}
    return FlagRow(1, "a", filters, **fields)


def step(at: str, value: object) -> Json:
    return {"scheduled_at": at, "value": value}


def refused(sent: Json, row: FlagRow) -> tuple[str, str, str | None]:
    with pytest.raises(Invalid) as error:
        read_plan(read_struct(NewScheduledChange, sent), row, NOW)
    return error.value.code, error.value.detail, error.value.attr


def test_a_change_in_one_step() -> None:
    sent = {"scheduled_at": SOON, "payload": {"operation": "update_status", "value": False}}

    plan = read_plan(read_struct(NewScheduledChange, sent), flag(), NOW)

    assert plan.payload == {"operation": "update_status", "value": False}
    assert plan.steps == [Step(scheduled_at=NOW + timedelta(hours=1), value=False)]


def test_what_other_versions_send_with_a_change_is_known() -> None:
    sent = {"scheduled_at": SOON, "payload": STATUS, "record_id": 1, "model_name": "FeatureFlag"}
    once = {"is_recurring": False, "recurrence_interval": None, "api_key": "phx_x"}

    plan = read_plan(read_struct(NewScheduledChange, {**sent, **once}), flag(), NOW)

    assert plan.payload == STATUS


def test_a_change_in_several_steps() -> None:
    steps = [step(SOON, 10), step(LATER, 33.3)]
    payload = {"operation": ROLLOUT, "steps": steps, "condition_index": 1}

    plan = read_plan(read_struct(NewScheduledChange, {"payload": payload}), flag({}, {}), NOW)

    assert plan.payload["condition_index"] == 1
    assert [planned.value for planned in plan.steps] == [10, 33.3]
    assert payload_of_step(plan.payload, plan.steps[1]) == {
        "operation": ROLLOUT,
        "condition_index": 1,
        "value": 33.3,
    }


STATUS = {"operation": "update_status", "value": True}
LATE = "A change must be scheduled later than now, and within five years."
DISORDER = "Each step must be later than the one before it, and within five years."
REQUIRED = "This field is required."
PERCENTAGE = "A percentage must be between 0 and 100, not {}."
REFUSED: dict[str, tuple[Json, tuple[str, str, str | None]]] = {
    "an unknown name": (
        {"scheduled_for": SOON, "payload": STATUS},
        (
            "invalid_input",
            'Unknown field "scheduled_for". Did you mean "scheduled_at"?',
            "scheduled_for",
        ),
    ),
    "an unknown name in the payload": (
        {"scheduled_at": SOON, "payload": {**STATUS, "index": 1}},
        (
            "invalid_input",
            'Unknown field "index". Did you mean "condition_index"?',
            "payload__index",
        ),
    ),
    "an unknown name in a step": (
        {"payload": {"operation": ROLLOUT, "steps": [{**step(SOON, 1), "percentage": 1}]}},
        (
            "invalid_input",
            'Unknown field "percentage". Allowed are: scheduled_at, value.',
            "payload__steps__0__percentage",
        ),
    ),
    "a repetition": (
        {"scheduled_at": SOON, "payload": STATUS, "is_recurring": True},
        ("invalid_input", '"is_recurring" is not supported. Use steps.', "is_recurring"),
    ),
    "nothing": ({}, ("required", REQUIRED, "payload")),
    "no operation": (
        {"scheduled_at": SOON, "payload": {}},
        ("required", REQUIRED, "payload__operation"),
    ),
    "an unknown operation": (
        {"scheduled_at": SOON, "payload": {"operation": "explode", "value": 1}},
        (
            "invalid_choice",
            '"explode" is not a valid choice. Allowed are: update_rollout_percentage, '
            "update_status.",
            "payload__operation",
        ),
    ),
    "no time": ({"payload": STATUS}, ("required", REQUIRED, "scheduled_at")),
    "no value": (
        {"scheduled_at": SOON, "payload": {"operation": "update_status"}},
        ("required", REQUIRED, "payload__value"),
    ),
    "now": (
        {"scheduled_at": "2024-03-01T12:00:00Z", "payload": STATUS},
        ("invalid_input", LATE, "scheduled_at"),
    ),
    "the far future": (
        {"scheduled_at": "9999-12-31T23:59:59Z", "payload": STATUS},
        ("invalid_input", LATE, "scheduled_at"),
    ),
    "a status that is a number": (
        {"scheduled_at": SOON, "payload": {"operation": "update_status", "value": 1}},
        ("invalid_input", "Must be a valid boolean.", "payload__value"),
    ),
    "a percentage that is a boolean": (
        {"scheduled_at": SOON, "payload": {"operation": ROLLOUT, "value": True}},
        ("invalid_input", "A valid number is required.", "payload__value"),
    ),
    "a percentage that is null": (
        {"scheduled_at": SOON, "payload": {"operation": ROLLOUT, "value": None}},
        ("invalid_input", "A valid number is required.", "payload__value"),
    ),
    "a percentage above 100": (
        {"scheduled_at": SOON, "payload": {"operation": ROLLOUT, "value": 100.1}},
        ("invalid_input", PERCENTAGE.format(100.1), "payload__value"),
    ),
    "a percentage below 0": (
        {"payload": {"operation": ROLLOUT, "steps": [step(SOON, 1), step(LATER, -1)]}},
        ("invalid_input", PERCENTAGE.format(-1), "payload__steps__1__value"),
    ),
    "no steps": (
        {"payload": {"operation": ROLLOUT, "steps": []}},
        ("invalid_input", f"Ensure there are 1 to {STEPS_MAX} steps, not 0.", "payload__steps"),
    ),
    "too many steps": (
        {"payload": {"operation": ROLLOUT, "steps": [step(SOON, 1)] * (STEPS_MAX + 1)}},
        (
            "invalid_input",
            f"Ensure there are 1 to {STEPS_MAX} steps, not {STEPS_MAX + 1}.",
            "payload__steps",
        ),
    ),
    "two steps at once": (
        {"payload": {"operation": ROLLOUT, "steps": [step(SOON, 1), step(SOON, 2)]}},
        ("invalid_input", DISORDER, "payload__steps"),
    ),
    "a time next to the steps": (
        {"scheduled_at": SOON, "payload": {"operation": ROLLOUT, "steps": [step(SOON, 1)]}},
        ("invalid_input", "Set scheduled_at inside each step, not on the change.", "scheduled_at"),
    ),
    "a value next to the steps": (
        {"payload": {"operation": ROLLOUT, "value": 1, "steps": [step(SOON, 1)]}},
        ("invalid_input", "Set value inside each step, not on the payload.", "payload__value"),
    ),
    "a condition set that is not there": (
        {"scheduled_at": SOON, "payload": {"operation": ROLLOUT, "value": 1, "condition_index": 1}},
        ("invalid_input", "The feature flag has no condition set 1.", "payload"),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_could_not_be_done_is_refused(name: str) -> None:
    sent, reported = REFUSED[name]

    assert refused(sent, flag({})) == reported


def test_several_condition_sets_need_one_to_be_named() -> None:
    sent = {"scheduled_at": SOON, "payload": {"operation": ROLLOUT, "value": 1}}

    reported = "The feature flag has 2 condition sets; condition_index must name one."
    assert refused(sent, flag({}, {})) == ("invalid_input", reported, "payload")


def test_a_deleted_flag_is_not_changed() -> None:
    sent = {"scheduled_at": SOON, "payload": STATUS}

    reported = "The feature flag is deleted."
    assert refused(sent, flag({}, deleted=True)) == ("invalid_input", reported, "payload")


def test_switching_on_ends_a_rollback() -> None:
    on = planned_values(STATUS, flag())
    off = planned_values({**STATUS, "value": False}, flag())

    assert (on, off) == ({"active": True, "performed_rollback": False}, {"active": False})


def test_a_rollout_changes_its_condition_set_alone() -> None:
    first, second = {"variant": "x"}, {"properties": [], "rollout_percentage": 5, "note": "kept"}
    payload = {"operation": ROLLOUT, "value": 50, "condition_index": 1}

    values = planned_values(payload, flag(first, second))

    assert values == {
        "filters": {
            "groups": [first, {**second, "rollout_percentage": 50}],
            "payloads": {"true": "1"},
        }
    }
    assert second["rollout_percentage"] == 5


def test_a_flag_without_condition_sets_has_one_for_all_persons() -> None:
    values = planned_values({"operation": ROLLOUT, "value": 0}, flag())

    assert values == {"filters": {"groups": [{"properties": [], "rollout_percentage": 0}]}}
