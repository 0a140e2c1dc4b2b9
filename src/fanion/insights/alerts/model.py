"""An alert on a number of a saved insight: when it fires.

The number is that of the last interval that is over. `above` also looks at the interval that is
under way, which can only grow. Displays of totals have one number, and nothing to compare with.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import isfinite
from typing import Any, Final, Literal

from fanion.errors import Invalid
from fanion.projects.model import UserSummary

Condition = Literal["above", "below", "changes_by", "changes_by_percent"]
State = Literal["not_checked", "not_firing", "firing", "errored"]
SERIES_INDEX_MAX: Final = 999


class AlertError(Exception):
    """The number cannot be told; the text says why."""


@dataclass(frozen=True, slots=True)
class Alert:
    """series_index: place of the entry in the result, from 0

    value: the number that was looked at last; error: why there was none
    """

    id: int
    project_id: int
    insight_id: int
    name: str
    series_index: int
    condition: Condition
    threshold: float
    enabled: bool
    state: State
    value: float | None
    error: str | None
    last_checked_at: datetime | None
    created_at: datetime
    updated_at: datetime
    created_by: UserSummary | None


@dataclass(frozen=True, slots=True)
class Checked:
    """The outcome of a check."""

    state: State
    value: float | None = None
    error: str | None = None


def check_threshold(condition: Condition, threshold: float) -> None:
    """raises: Invalid"""
    is_change = condition in ("changes_by", "changes_by_percent")
    if not isfinite(threshold) or (is_change and threshold < 0):
        raise Invalid("Ensure this value is greater than or equal to 0.", attr="threshold")


def checked(alert: Alert, results: Any, *, goes_on: bool) -> Checked:
    """results: of the insight; goes_on: whether its last interval is still under way"""
    try:
        points = _points(results, alert.series_index)
        return _compared(alert, points, goes_on=goes_on)
    except AlertError as error:
        return Checked("errored", error=str(error))


def _compared(alert: Alert, points: Sequence[float], *, goes_on: bool) -> Checked:
    over = points[:-1] if goes_on and len(points) > 1 else points
    value, threshold = over[-1], alert.threshold
    if alert.condition == "above":
        value = max(value, points[-1])
        return _told(value > threshold, value)
    if alert.condition == "below":
        return _told(value < threshold, value)
    if len(over) < 2:
        raise AlertError("There is no interval before the last one to compare with.")
    before = over[-2]
    change = abs(value - before)
    if alert.condition == "changes_by":
        return _told(change >= threshold, value)
    is_large = change / abs(before) * 100 >= threshold if before else change > 0
    return _told(is_large, value)


def _told(fires: bool, value: float) -> Checked:
    return Checked("firing" if fires else "not_firing", value)


def _points(results: Any, index: int) -> Sequence[float]:
    """raises: AlertError"""
    if not isinstance(results, list) or not all(isinstance(one, Mapping) for one in results):
        raise AlertError("The insight has no series of numbers.")
    if index >= len(results):
        raise AlertError(f"The result has {len(results)} series.")
    entry = results[index]
    if "aggregated_value" in entry:
        return [float(entry["aggregated_value"] or 0)]
    data = entry.get("data")
    if not isinstance(data, list) or not data:
        raise AlertError("The insight has no series of numbers.")
    return [float(one) for one in data]
