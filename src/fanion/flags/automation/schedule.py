"""Scheduled changes of a flag: their fields, their validation, and the columns they set.

A change has one operation and one or more steps, each with a time and a value. A rollout that grows
from 10 to 100 percent is one change with several steps.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, ClassVar, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, structs

from fanion.errors import Invalid
from fanion.flags.definitions.validation.posthog_fields import OF_SCHEDULED_CHANGE
from fanion.flags.engine.definition import FlagRow, grouped_filters
from fanion.flags.engine.percentages import whole_number
from fanion.rest.unknown_fields import is_idle

STEPS_MAX = 50
DELAY_MAX = timedelta(days=5 * 366)

Operation = Literal["update_status", "update_rollout_percentage"]
Value = bool | int | float
Time = Annotated[datetime, Meta(description="A time in the future, within five years.")]
ConditionIndex = Annotated[
    int, Meta(ge=0, description="Index of the condition set; required when the flag has several.")
]
AnyValue = Annotated[
    Any, Meta(description="`update_status`: boolean; `update_rollout_percentage`: 0 to 100.")
]


Recurrence = Annotated[Any, Meta(description="Not supported: null, false or absent.")]


class StepBody(Struct, kw_only=True, forbid_unknown_fields=True):
    scheduled_at: Time
    value: AnyValue


class ScheduledPayload(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """`value` for a change in one step, `steps` for a change in several."""

    operation: Operation
    value: AnyValue = UNSET
    steps: list[StepBody] | UnsetType = UNSET
    condition_index: ConditionIndex | UnsetType = UNSET


class NewScheduledChange(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = OF_SCHEDULED_CHANGE

    payload: ScheduledPayload
    scheduled_at: Time | UnsetType = UNSET
    is_recurring: Recurrence = UNSET
    recurrence_interval: Recurrence = UNSET
    cron_expression: Recurrence = UNSET
    end_date: Recurrence = UNSET


class Step(Struct, frozen=True, kw_only=True):
    """A step as stored and returned; a whole percentage is an integer."""

    scheduled_at: datetime
    value: Value
    executed_at: datetime | None = None

    def __post_init__(self) -> None:
        structs.force_setattr(self, "value", whole_number(self.value))


@dataclass(frozen=True, slots=True)
class SchedulePlan:
    """A validated change.

    Attributes:
        payload: As stored and returned.
        steps: Ordered by time.
    """

    payload: Mapping[str, Any]
    steps: Sequence[Step]


def read_plan(data: NewScheduledChange, flag: FlagRow, now: datetime) -> SchedulePlan:
    """Validate a new scheduled change.

    Raises:
        Invalid: The first step could not be applied to the flag in its current state, or a time or
            value is not allowed.
    """
    sent = data.payload
    _refuse_recurrence(data)
    steps = _steps_of_change(data)
    before, attr = now, "payload__steps" if sent.steps else "scheduled_at"
    for step in steps:
        if not before < step.scheduled_at <= now + DELAY_MAX:
            raise Invalid(_time_problem(before, now), attr=attr)
        before = step.scheduled_at
    payload: dict[str, Any] = {"operation": sent.operation}
    if sent.condition_index is not UNSET:
        payload["condition_index"] = sent.condition_index
    if sent.steps:
        payload["steps"] = [{"scheduled_at": s.scheduled_at, "value": s.value} for s in steps]
    else:
        payload["value"] = steps[0].value
    try:
        planned_values(payload_of_step(payload, steps[0]), flag)
    except Invalid as problem:
        raise Invalid(problem.detail, attr="payload") from None
    return SchedulePlan(payload, steps)


def _refuse_recurrence(data: NewScheduledChange) -> None:
    for name in ("is_recurring", "recurrence_interval", "cron_expression", "end_date"):
        value = getattr(data, name)
        if value is not UNSET and not is_idle(value):
            raise Invalid(f'"{name}" is not supported. Use steps.', attr=name)


def served_payload(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return a stored payload with whole percentages as integers."""
    served = dict(payload)
    if "value" in served:
        served["value"] = whole_number(served["value"])
    if "steps" in served:
        served["steps"] = [
            {**step, "value": whole_number(step["value"])} for step in served["steps"]
        ]
    return served


def payload_of_step(payload: Mapping[str, Any], step: Step) -> dict[str, Any]:
    """Return the payload that the change would have if this were its only step."""
    rest = {name: value for name, value in payload.items() if name != "steps"}
    return {**rest, "value": step.value}


def planned_values(payload: Mapping[str, Any], flag: FlagRow) -> dict[str, Any]:
    """Return the flag's columns that a change in one step sets.

    Raises:
        Invalid: The change cannot be applied to the flag.
    """
    if flag.deleted:
        raise Invalid("The feature flag is deleted.")
    value = payload["value"]
    if payload["operation"] == "update_status":
        return columns_of_switch(value)
    return {"filters": _with_rollout(grouped_filters(flag), payload.get("condition_index"), value)}


def columns_of_switch(active: bool) -> dict[str, Any]:
    """Return the columns that switch a flag on or off; switching it on ends its rollback.

    Source: flags.md section 17.
    """
    return {"active": True, "performed_rollback": False} if active else {"active": False}


def _with_rollout(filters: dict[str, Any], index: int | None, percentage: float) -> dict[str, Any]:
    groups = list(filters["groups"])
    if index is None and len(groups) != 1:
        raise Invalid(
            f"The feature flag has {len(groups)} condition sets; condition_index must name one."
        )
    position = index or 0
    if position >= len(groups):
        raise Invalid(f"The feature flag has no condition set {position}.")
    groups[position] = {**groups[position], "rollout_percentage": percentage}
    return {**filters, "groups": groups}


def _steps_of_change(data: NewScheduledChange) -> list[Step]:
    """Return the steps of a new change.

    Raises:
        Invalid: There is neither one time with its value, nor a list of steps, or both are given.
    """
    sent = data.payload
    if sent.steps is UNSET:
        if data.scheduled_at is UNSET:
            raise _required("scheduled_at")
        if sent.value is UNSET:
            raise _required("payload__value")
        value = _value_of_operation(sent.operation, sent.value, "payload__value")
        return [Step(scheduled_at=data.scheduled_at, value=value)]
    if data.scheduled_at is not UNSET:
        raise Invalid("Set scheduled_at inside each step, not on the change.", attr="scheduled_at")
    if sent.value is not UNSET:
        raise Invalid("Set value inside each step, not on the payload.", attr="payload__value")
    if not 1 <= len(sent.steps) <= STEPS_MAX:
        raise Invalid(
            f"Ensure there are 1 to {STEPS_MAX} steps, not {len(sent.steps)}.",
            attr="payload__steps",
        )
    return [
        Step(
            scheduled_at=step.scheduled_at,
            value=_value_of_operation(
                sent.operation, step.value, f"payload__steps__{index}__value"
            ),
        )
        for index, step in enumerate(sent.steps)
    ]


def _value_of_operation(operation: Operation, value: object, attr: str) -> Value:
    if operation == "update_status":
        if not isinstance(value, bool):
            raise Invalid("Must be a valid boolean.", attr=attr)
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Invalid("A valid number is required.", attr=attr)
    if not 0 <= value <= 100:
        raise Invalid(f"A percentage must be between 0 and 100, not {value}.", attr=attr)
    return value


def _time_problem(before: datetime, now: datetime) -> str:
    if before == now:
        return "A change must be scheduled later than now, and within five years."
    return "Each step must be later than the one before it, and within five years."


def _required(attr: str) -> Invalid:
    return Invalid("This field is required.", code="required", attr=attr)
