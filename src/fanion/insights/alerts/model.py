"""Alerts on a number of a saved insight, and when they fire.

The number is that of the last interval that is over. `above` also looks at the current interval,
whose number can only grow. Displays of totals have one number, and nothing to compare it with.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import isfinite
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from fanion.errors import Invalid
from fanion.insights.sql.compiler import OTHER
from fanion.projects.model import UserSummary

Condition = Literal["above", "below", "changes_by", "changes_by_percent"]
State = Literal["not_checked", "not_firing", "firing", "errored"]
# The value of one property, the id of a cohort, or the values of several properties.
BreakdownValue = str | int | list[str]
SERIES_INDEX_MAX: Final = 999


_VALUE: Final = "breakdown_value"  # the name in the entries of a result
_NO_EVENTS: Final = (0.0, 0.0, 0.0)  # the points of a value that is not in the result


class AlertError(Exception):
    """An alert without a number to check; the text says why."""


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
    state: State
    value: Annotated[float | None, Meta(description="The number at the last check.")]
    error: Annotated[str | None, Meta(description="Why there was no number.")]
    last_checked_at: datetime | None
    created_by: UserSummary | None
    created_at: datetime
    updated_at: datetime


class Alert(AlertRecord, frozen=True, kw_only=True):
    """An alert of an insight in a project."""

    project_id: int
    insight_id: int


@dataclass(frozen=True, slots=True)
class Checked:
    """The outcome of a check."""

    state: State
    value: float | None = None
    error: str | None = None


def check_threshold(condition: Condition, threshold: float) -> None:
    """Raise Invalid for a threshold that is not finite, and for a negative one of a change."""
    is_change = condition in ("changes_by", "changes_by_percent")
    if not isfinite(threshold) or (is_change and threshold < 0):
        raise Invalid("Ensure this value is greater than or equal to 0.", attr="threshold")


def check_value(value: object) -> None:
    """Raise Invalid unless it can be the value of a breakdown."""
    texts = value if isinstance(value, list) else [value]
    is_number = isinstance(value, int) and not isinstance(value, bool)
    if value is None or is_number or (texts and all(isinstance(text, str) for text in texts)):
        return
    raise Invalid("Must be a string, an integer, or a list of strings.", attr="breakdown_value")


def follow_breakdown_value(alert: Alert, results: Any) -> Alert:
    """Return the alert with the breakdown value at its index, if it does not name one yet.

    Values change places from one check to the next.
    """
    if alert.breakdown_value is not None or not _is_list_of_entries(results):
        return alert
    value = next((entry.get(_VALUE) for entry in results[alert.series_index :]), None)
    if value is None:
        return alert
    before = _with_value(results[: alert.series_index], value)
    return replace(alert, breakdown_value=value, series_index=len(before))


def check_alert(
    alert: Alert, results: Any, *, is_unfinished: bool, shows_all_values: bool = True
) -> Checked:
    """Compare the number of an alert with its threshold.

    Args:
        alert: It names the value of the breakdown, if the insight has one.
        results: The result of the insight.
        is_unfinished: Whether the last interval is not over yet.
        shows_all_values: Whether a value of the breakdown that is not in the result has no events.
    """
    try:
        points = _points(alert, results, shows_all_values=shows_all_values)
        return _compared(alert, points, is_unfinished=is_unfinished)
    except AlertError as error:
        return Checked("errored", error=str(error))


def _compared(alert: Alert, points: Sequence[float], *, is_unfinished: bool) -> Checked:
    over = points[:-1] if is_unfinished and len(points) > 1 else points
    value, threshold = over[-1], alert.threshold
    if alert.condition == "above":
        value = max(value, points[-1])
        return _outcome(value > threshold, value)
    if alert.condition == "below":
        return _outcome(value < threshold, value)
    if len(over) < 2:
        raise AlertError("There is no interval before the last one to compare with.")
    before = over[-2]
    change = abs(value - before)
    if alert.condition == "changes_by":
        return _outcome(change >= threshold, value)
    is_large = change / abs(before) * 100 >= threshold if before else change > 0
    return _outcome(is_large, value)


def _outcome(fires: bool, value: float) -> Checked:
    return Checked("firing" if fires else "not_firing", value)


def _points(alert: Alert, results: Any, *, shows_all_values: bool) -> Sequence[float]:
    """Return the numbers of the alert's entry; raise AlertError without any."""
    if not _is_list_of_entries(results):
        raise AlertError("The insight has no series of numbers.")
    entries = _entries(results, alert.breakdown_value)
    if not entries and alert.breakdown_value is not None:
        if not shows_all_values or _with_value(results, OTHER):
            shown = alert.breakdown_value
            raise AlertError(f"The insight does not show the value {shown} of its breakdown.")
        return _NO_EVENTS
    if alert.series_index >= len(entries):
        raise AlertError(f"The result has {len(entries)} series.")
    entry = entries[alert.series_index]
    if "aggregated_value" in entry:
        return [float(entry["aggregated_value"] or 0)]
    data = entry.get("data")
    if not isinstance(data, list) or not data:
        raise AlertError("The insight has no series of numbers.")
    return [float(number) for number in data]


def _is_list_of_entries(results: Any) -> bool:
    return isinstance(results, list) and all(isinstance(entry, Mapping) for entry in results)


def _entries(
    results: Sequence[Mapping[str, Any]], value: BreakdownValue | None
) -> Sequence[Mapping[str, Any]]:
    """Return the entries of a breakdown value, or all; raise AlertError without a breakdown."""
    if value is None:
        return results
    if any(_VALUE not in entry for entry in results):
        raise AlertError("The insight has no breakdown.")
    return _with_value(results, value)


def _with_value(
    results: Sequence[Mapping[str, Any]], value: BreakdownValue
) -> Sequence[Mapping[str, Any]]:
    """Return the entries of a value as clients write it: the id of a cohort may be text."""
    return [entry for entry in results if _text(entry.get(_VALUE)) == _text(value)]


def _text(value: Any) -> str:
    """Return a value as text; a list of one value counts as that value."""
    if isinstance(value, list):
        return _text(value[0]) if len(value) == 1 else "\0".join(str(part) for part in value)
    return str(value)
