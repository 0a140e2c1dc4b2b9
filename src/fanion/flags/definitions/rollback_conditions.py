"""Rollback conditions: a flag is switched off automatically when an event is too frequent or rare.

Source: flags.md section 17.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import isfinite
from typing import Any

from fanion.errors import Invalid
from fanion.flags.definitions.validation.filters import same_json
from fanion.flags.definitions.validation.posthog_fields import OF_ROLLBACK_CONDITION
from fanion.insights.dates.intervals import DateRange
from fanion.insights.trends.query import TrendsQuery, parse_trends
from fanion.rest.unknown_fields import no_choice, require_known

_FIELD = "rollback_conditions"
# Conditions of one flag; each is a query to the event store.
CONDITIONS_MAX = 20
THRESHOLD_TYPES = ("insight",)
OPERATORS = ("lt", "gt")
AVERAGED = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class RollbackCondition:
    """A rollback condition that compares a metric with a threshold.

    Attributes:
        metric: Its first series is averaged over the last seven days.
    """

    metric: TrendsQuery
    threshold: float
    below: bool

    def holds(self, average: float) -> bool:
        return average < self.threshold if self.below else average > self.threshold


def listed_conditions(stored: object) -> Sequence[object]:
    """Return the stored conditions as a list; a single condition counts as a list of one.

    Args:
        stored: Any JSON.
    """
    if isinstance(stored, Mapping):
        return [stored] if stored else []
    return stored[:CONDITIONS_MAX] if isinstance(stored, list) else []


def is_watched(flag: Mapping[str, Any]) -> bool:
    """Return whether the flag's conditions are checked: it is on and has some.

    Args:
        flag: The stored values by column.
    """
    on = flag["active"] and not flag["deleted"]
    return bool(on and listed_conditions(flag.get("rollback_conditions")))


def read_condition(raw: object) -> RollbackCondition | None:
    """Parse a stored condition.

    Returns:
        None for a threshold type that never holds.

    Raises:
        ValueError: The condition cannot be read.
        Invalid: The metric cannot be read.
    """
    if not isinstance(raw, Mapping):
        raise ValueError("a condition must be an object")
    if raw.get("threshold_type") != "insight":
        return None
    threshold, metric = raw.get("threshold"), raw.get("threshold_metric")
    if isinstance(threshold, bool) or not isinstance(threshold, int | float):
        raise ValueError("the threshold must be a number")
    if not isfinite(threshold):
        raise ValueError("the threshold must be finite")
    if not isinstance(metric, Mapping):
        raise ValueError("threshold_metric must be an object")
    return RollbackCondition(parse_trends(metric), threshold, raw.get("operator") == "lt")


def check_conditions(sent: object, stored: object) -> None:
    """Raise Invalid unless the worker can read the conditions.

    Conditions that equal a stored one are accepted unchecked.

    Args:
        sent: Any JSON.
    """
    if sent is None or same_json(sent, stored):
        return
    if isinstance(sent, Mapping):
        sent = [sent] if sent else []
    if not isinstance(sent, list):
        raise Invalid(
            f'Expected a list of items but got type "{type(sent).__name__}".',
            code="not_a_list",
            attr=_FIELD,
        )
    if len(sent) > CONDITIONS_MAX:
        raise Invalid(f"Ensure there are at most {CONDITIONS_MAX} conditions.", attr=_FIELD)
    former = [stored] if isinstance(stored, Mapping) else stored
    known = former if isinstance(former, list) else []
    for index, condition in enumerate(sent):
        if not any(same_json(condition, known_condition) for known_condition in known):
            _check_condition(condition, f"{_FIELD}__{index}")


def _check_condition(raw: object, at: str) -> None:
    if not isinstance(raw, Mapping):
        raise Invalid(
            f'Expected a dictionary of items but got type "{type(raw).__name__}".',
            code="not_a_dict",
            attr=at,
        )
    require_known(raw, OF_ROLLBACK_CONDITION, at)
    for name in ("threshold_type", "operator", "threshold", "threshold_metric"):
        if raw.get(name) is None:
            raise Invalid("This field is required.", code="required", attr=f"{at}__{name}")
    for name, allowed in (("threshold_type", THRESHOLD_TYPES), ("operator", OPERATORS)):
        if raw[name] not in allowed:
            raise no_choice(raw[name], allowed, f"{at}__{name}")
    threshold, metric = raw["threshold"], raw["threshold_metric"]
    if isinstance(threshold, bool) or not isinstance(threshold, int | float):
        raise Invalid("A valid number is required.", attr=f"{at}__threshold")
    if not isinstance(metric, Mapping):
        raise Invalid(
            f'Expected a dictionary of items but got type "{type(metric).__name__}".',
            code="not_a_dict",
            attr=f"{at}__threshold_metric",
        )
    _check_metric(metric, f"{at}__threshold_metric")


def _check_metric(metric: Mapping[str, Any], at: str) -> None:
    """Check a metric, which needs a series: without one the average is 0, below every threshold."""
    try:
        query = parse_trends(metric)
    except Invalid as problem:
        attr = at if problem.attr is None else f"{at}__{problem.attr}"
        raise Invalid(problem.detail, code=problem.code, attr=attr) from None
    if not query.series:
        raise Invalid("A metric needs at least one event.", code="required", attr=f"{at}__events")


def averaged_span(now: datetime) -> DateRange:
    return DateRange(now - AVERAGED, now)
