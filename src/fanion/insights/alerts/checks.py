"""When an alert fires.

The number is that of the last interval that is over. `above` also looks at the current interval,
whose number can only grow. Displays of totals have one number, and nothing to compare it with.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from fanion.insights.alerts.model import (
    SERIES_INDEX_MAX,
    AlertChoice,
    AlertPoint,
    BreakdownValue,
    Checked,
    PlainAlert,
)
from fanion.insights.sql.compiler import OTHER

AnyAlert = TypeVar("AnyAlert", bound=PlainAlert)

_VALUE: Final = "breakdown_value"  # the name in the entries of a result
_NO_EVENTS: Final = (0.0, 0.0, 0.0)  # the points of a value, if the result has no entries


class AlertError(Exception):
    """An alert without a number to check; the text says why."""


@dataclass(frozen=True, slots=True)
class AlertSeries:
    """The entry of a result that an alert watches.

    Attributes:
        label: The name that the result gives to the entry; None if the result does not have it.
        days: The beginning of each interval; None for a total.
        points: The number of each interval, or the total; at least one.
    """

    label: str | None
    days: Sequence[str] | None
    points: Sequence[float]


def follow_breakdown_value(alert: AnyAlert, results: Any) -> AnyAlert:
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
    alert: PlainAlert, results: Any, *, is_unfinished: bool, shows_all_values: bool = True
) -> tuple[Checked, AlertSeries | None]:
    """Compare the number of an alert with its threshold.

    Args:
        alert: It names the value of the breakdown, if the insight has one.
        results: The result of the insight.
        is_unfinished: Whether the last interval is not over yet.
        shows_all_values: Whether a value of the breakdown that is not in the result has no events.

    Returns:
        The outcome, and the alert's series unless the result does not have it.
    """
    try:
        series = _series_of(alert, results, shows_all_values=shows_all_values)
    except AlertError as error:
        return Checked("errored", error=str(error)), None
    return _compared(alert, series.points, is_unfinished=is_unfinished), series


def _compared(alert: PlainAlert, points: Sequence[float], *, is_unfinished: bool) -> Checked:
    over = points[: complete_points(points, is_unfinished=is_unfinished)]
    value, threshold = over[-1], alert.threshold
    if alert.condition == "above":
        value = max(value, points[-1])
        return _outcome(value > threshold, value)
    if alert.condition == "below":
        return _outcome(value < threshold, value)
    if len(over) < 2:
        reason = "There is no interval before the last one to compare with."
        return Checked("errored", error=reason)
    before = over[-2]
    change = abs(value - before)
    if alert.condition == "changes_by":
        return _outcome(change >= threshold, value)
    is_large = change / abs(before) * 100 >= threshold if before else change > 0
    return _outcome(is_large, value)


def complete_points(points: Sequence[float], *, is_unfinished: bool) -> int:
    """Return how many of the points, from the first one on, count as complete intervals."""
    return len(points) - 1 if is_unfinished and len(points) > 1 else len(points)


def limits_of(alert: PlainAlert, over: Sequence[float]) -> list[float]:
    """Return the numbers from which on the alert fires, smallest first.

    Args:
        over: The numbers of the complete intervals. Changes are compared with the last but one.
    """
    if alert.condition in ("above", "below"):
        return [alert.threshold]
    if len(over) < 2:
        return []
    before, change = over[-2], alert.threshold
    if alert.condition == "changes_by_percent":
        change = abs(before) * change / 100
    return sorted(limit for limit in {before - change, before + change} if isfinite(limit))


def _outcome(fires: bool, value: float) -> Checked:
    return Checked("firing" if fires else "not_firing", value)


def points_of(series: AlertSeries, *, is_unfinished: bool) -> list[AlertPoint]:
    complete = complete_points(series.points, is_unfinished=is_unfinished)
    return [
        AlertPoint(
            day=series.days[index] if series.days else None,
            value=value,
            is_complete=index < complete,
        )
        for index, value in enumerate(series.points)
    ]


def choices_of(results: Any) -> list[AlertChoice]:
    """Return the entries of a result that an alert can watch, in their order."""
    if not _is_list_of_entries(results):
        return []
    seen: dict[str | None, int] = {}
    choices = []
    for index, entry in enumerate(results[: SERIES_INDEX_MAX + 1]):
        value = entry.get(_VALUE)
        key = None if value is None else _text(value)
        choices.append(
            AlertChoice(
                series_index=index if key is None else seen.get(key, 0),
                breakdown_value=value,
                label=entry.get("label"),
                is_previous=entry.get("compare_label") == "previous",
            )
        )
        seen[key] = seen.get(key, 0) + 1
    return choices


def _series_of(alert: PlainAlert, results: Any, *, shows_all_values: bool) -> AlertSeries:
    """Return the alert's entry of a result, or raise AlertError without any."""
    if not _is_list_of_entries(results):
        raise AlertError("The insight has no series of numbers.")
    entries = _entries(results, alert.breakdown_value)
    if not entries and alert.breakdown_value is not None:
        if not shows_all_values or _with_value(results, OTHER):
            shown = alert.breakdown_value
            raise AlertError(f"The insight does not show the value {shown} of its breakdown.")
        days = results[0].get("days") if results else None
        return AlertSeries(None, days, [0.0] * len(days) if days else _NO_EVENTS)
    if alert.series_index >= len(entries):
        raise AlertError(f"The result has {len(entries)} series.")
    return _series_of_entry(entries[alert.series_index])


def _series_of_entry(entry: Mapping[str, Any]) -> AlertSeries:
    label = entry.get("label")
    if "aggregated_value" in entry:
        return AlertSeries(label, None, [float(entry["aggregated_value"] or 0)])
    data = entry.get("data")
    if not isinstance(data, list) or not data:
        raise AlertError("The insight has no series of numbers.")
    return AlertSeries(label, entry.get("days"), [float(number) for number in data])


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
