"""When a flag is switched off by itself: conditions on how often something happens.

source: flags.md section 17
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import isfinite
from typing import Any

from fanion.insights.ranges import Span
from fanion.insights.trends import TrendsQuery, parse_trends

# Of one flag; each is a question to the event store.
CONDITIONS_MAX = 20
AVERAGED = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class RollbackCondition:
    """metric: its first series is averaged over the last seven days"""

    metric: TrendsQuery
    threshold: float
    below: bool

    def holds(self, average: float) -> bool:
        return average < self.threshold if self.below else average > self.threshold


def listed_conditions(stored: object) -> Sequence[object]:
    """stored: any JSON; a single condition counts as a list of one"""
    if isinstance(stored, Mapping):
        return [stored] if stored else []
    return stored[:CONDITIONS_MAX] if isinstance(stored, list) else []


def is_watched(flag: Mapping[str, Any]) -> bool:
    """flag: its stored values by column"""
    on = flag["active"] and not flag["deleted"]
    return bool(on and listed_conditions(flag.get("rollback_conditions")))


def read_condition(raw: object) -> RollbackCondition | None:
    """None for one of a kind that never holds. raises: ValueError, Invalid"""
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


def averaged_span(now: datetime) -> Span:
    return Span(now - AVERAGED, now)
