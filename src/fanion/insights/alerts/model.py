"""Alerts on a number of a saved insight, and the outcomes of their checks."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import isfinite
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from fanion.errors import Invalid
from fanion.projects.model import UserSummary

Condition = Literal["above", "below", "changes_by", "changes_by_percent"]
State = Literal["not_checked", "not_firing", "firing", "errored"]
# The value of one property, the id of a cohort, or the values of several properties.
BreakdownValue = str | int | list[str]
SERIES_INDEX_MAX: Final = 999
SNOOZE_MAX: Final = timedelta(days=366)


class PlainAlert(Struct, frozen=True, kw_only=True):
    """The fields of an alert that are exported and imported.

    Attributes:
        series_index: The index of the entry in the result, or among the entries of
            `breakdown_value`, from 0.
        breakdown_value: The value of the breakdown to follow, wherever it is in the result.
    """

    name: str
    condition: Condition
    threshold: float
    series_index: int
    breakdown_value: BreakdownValue | None
    enabled: bool


class AlertRecord(PlainAlert, frozen=True, kw_only=True):
    """An alert as it is stored and returned, with the outcome of its last check."""

    id: int
    subscribed_users: Annotated[
        list[int], Meta(description="Ids of the members who get a mail, where mail can be sent.")
    ]
    snoozed_until: Annotated[
        datetime | None,
        Meta(description="Until then it is not checked, and nobody is told about it."),
    ]
    state: State
    value: Annotated[float | None, Meta(description="The number at the last check.")]
    error: Annotated[str | None, Meta(description="Why there was no number.")]
    last_checked_at: datetime | None
    created_by: UserSummary | None
    created_at: datetime
    updated_at: datetime


class Alert(AlertRecord, frozen=True, kw_only=True):
    """An alert of an insight in a project.

    Attributes:
        due_at: The time of the next check.
    """

    project_id: int
    insight_id: int
    due_at: datetime


class AlertCheck(Struct, frozen=True, kw_only=True):
    """A past check of an alert."""

    checked_at: datetime
    state: State
    value: float | None
    error: str | None
    webhooks: Annotated[int, Meta(description="How many webhooks were called.")]
    mails: Annotated[int, Meta(description="How many members got a mail.")]


@dataclass(frozen=True, slots=True)
class Checked:
    """The outcome of a check."""

    state: State
    value: float | None = None
    error: str | None = None


def is_news(alert: Alert, outcome: Checked) -> bool:
    """Return whether the alert starts or stops firing, or still fires after it was snoozed."""
    fires = outcome.state == "firing"
    return fires != (alert.state == "firing") or (fires and alert.snoozed_until is not None)


def check_threshold(condition: Condition, threshold: float) -> None:
    """Raise Invalid for a threshold that is not finite, and for a negative one of a change."""
    is_change = condition in ("changes_by", "changes_by_percent")
    if not isfinite(threshold) or (is_change and threshold < 0):
        raise Invalid("Ensure this value is greater than or equal to 0.", attr="threshold")


def check_snooze(until: datetime | None, now: datetime) -> None:
    """Raise Invalid unless an alert can be snoozed until this time; None ends it."""
    if until is None or now < until <= now + SNOOZE_MAX:
        return
    detail = f"Must be later than now, and within {SNOOZE_MAX.days} days."
    raise Invalid(detail, attr="snoozed_until")


def check_value(value: object) -> None:
    """Raise Invalid unless it can be the value of a breakdown."""
    texts = value if isinstance(value, list) else [value]
    is_number = isinstance(value, int) and not isinstance(value, bool)
    if value is None or is_number or (texts and all(isinstance(text, str) for text in texts)):
        return
    raise Invalid("Must be a string, an integer, or a list of strings.", attr="breakdown_value")


class AlertChoice(Struct, frozen=True, kw_only=True):
    """An entry of a result that an alert can watch."""

    series_index: int
    breakdown_value: BreakdownValue | None
    label: Annotated[str | None, Meta(description="Null for the only series of a funnel.")]
    is_previous: Annotated[bool, Meta(description="Whether it is that of the previous period.")]


class AlertPoint(Struct, frozen=True, kw_only=True):
    """The number of one interval."""

    day: Annotated[str | None, Meta(description="When the interval begins; null for a total.")]
    value: float
    is_complete: Annotated[bool, Meta(description="Whether a check counts the interval as over.")]
