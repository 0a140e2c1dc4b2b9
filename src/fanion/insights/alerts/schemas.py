"""Request and response bodies of the alert endpoints."""

from typing import Annotated, Any, ClassVar

from msgspec import UNSET, Meta, Struct, UnsetType

from fanion.insights.alerts.model import SERIES_INDEX_MAX, Alert, AlertRecord, Condition
from fanion.rest.validation import INTEGER_MAX, shared_fields

_MAINTAINED = frozenset(
    {"id", "state", "value", "error", "last_checked_at", "created_at", "created_by", "updated_at"}
)
Name = Annotated[str, Meta(min_length=1, max_length=400)]
InsightId = Annotated[int, Meta(ge=1, le=INTEGER_MAX, description="Id of a saved insight.")]
SeriesIndex = Annotated[
    int,
    Meta(
        ge=0,
        le=SERIES_INDEX_MAX,
        description="Index of the entry in the result, from 0. With `breakdown_value` its index "
        "among the entries of that value.",
    ),
]
Value = Annotated[
    Any,
    Meta(
        description="The value of the breakdown that the alert follows, as results show it. The "
        "first check of an alert without one takes the value at `series_index`."
    ),
]
Kind = Annotated[
    Condition,
    Meta(
        description="`above` or `below` the threshold, or a change by as much, or by as many "
        "percent, since the previous interval. The last complete interval counts; `above` also "
        "looks at the current one."
    ),
]
Threshold = Annotated[float, Meta(description="Not negative for changes.")]


class NewAlert(Struct, kw_only=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = _MAINTAINED

    name: Name
    insight: InsightId
    condition: Kind
    threshold: Threshold
    series_index: SeriesIndex = 0
    breakdown_value: Value = None
    enabled: bool = True


class AlertChanges(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = _MAINTAINED

    name: Name | UnsetType = UNSET
    insight: InsightId | UnsetType = UNSET
    condition: Kind | UnsetType = UNSET
    threshold: Threshold | UnsetType = UNSET
    series_index: SeriesIndex | UnsetType = UNSET
    breakdown_value: Value = UNSET
    enabled: bool | UnsetType = UNSET


class AlertBody(AlertRecord, frozen=True, kw_only=True):
    insight: int


def body_of_alert(alert: Alert) -> AlertBody:
    return AlertBody(insight=alert.insight_id, **shared_fields(alert, AlertRecord))
