"""Request and response bodies of the alert endpoints."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any, ClassVar

from msgspec import UNSET, Meta, Struct, UnsetType

from fanion.insights.alerts.checks import (
    choices_of,
    complete_points,
    limits_of,
    points_of,
)
from fanion.insights.alerts.checks_service import Check
from fanion.insights.alerts.model import (
    SERIES_INDEX_MAX,
    Alert,
    AlertChoice,
    AlertPoint,
    AlertRecord,
    BreakdownValue,
    Condition,
    PlainAlert,
    State,
)
from fanion.insights.dates.intervals import Interval
from fanion.insights.saved.schemas import NOT_YET
from fanion.rest.validation import INTEGER_MAX, shared_fields

_MAINTAINED = frozenset(
    {
        *("id", "state", "value", "error", "last_checked_at", "next_check_at", "check_every_s"),
        *("created_at", "created_by", "updated_at"),
    }
)
SUBSCRIBED_MAX = 20  # of one alert
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
Subscribed = Annotated[
    list[Annotated[int, Meta(ge=1, le=INTEGER_MAX)]],
    Meta(
        max_length=SUBSCRIBED_MAX,
        description="Ids of the members of the organization who get a mail when the alert starts "
        "and when it stops firing, if the server can send mail.",
    ),
]


Snoozed = Annotated[
    datetime,
    Meta(
        description="When the alert is checked again. Until then it is not checked, and nobody is "
        "told; the first check after it tells if the alert fires. Null ends it at once."
    ),
]


class NewAlert(Struct, kw_only=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = _MAINTAINED
    unsupported: ClassVar[Mapping[str, str]] = {"snoozed_until": NOT_YET}

    name: Name
    insight: InsightId
    condition: Kind
    threshold: Threshold
    series_index: SeriesIndex = 0
    breakdown_value: Value = None
    enabled: bool = True
    subscribed_users: Subscribed = []


class PreviewedAlert(Struct, kw_only=True, forbid_unknown_fields=True):
    """The fields of an alert that decide whether it fires."""

    insight: InsightId
    condition: Kind
    threshold: Threshold
    series_index: SeriesIndex = 0
    breakdown_value: Value = None


class AlertChanges(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = _MAINTAINED

    name: Name | UnsetType = UNSET
    insight: InsightId | UnsetType = UNSET
    condition: Kind | UnsetType = UNSET
    threshold: Threshold | UnsetType = UNSET
    series_index: SeriesIndex | UnsetType = UNSET
    breakdown_value: Value = UNSET
    enabled: bool | UnsetType = UNSET
    subscribed_users: Subscribed | UnsetType = UNSET
    snoozed_until: Snoozed | UnsetType | None = UNSET


class AlertBody(AlertRecord, frozen=True, kw_only=True):
    insight: int
    next_check_at: Annotated[datetime | None, Meta(description="Null if the alert is not enabled.")]
    check_every_s: Annotated[
        float, Meta(description="Seconds from one check to the next, as the server is set.")
    ]


def body_of_alert(alert: Alert, every: timedelta) -> AlertBody:
    return AlertBody(
        insight=alert.insight_id,
        next_check_at=alert.due_at if alert.enabled else None,
        check_every_s=every.total_seconds(),
        **shared_fields(alert, AlertRecord),
    )


class AlertPreview(Struct, frozen=True, kw_only=True):
    """The outcome of a check of an alert now, with the numbers that it compares."""

    state: State
    value: Annotated[float | None, Meta(description="The number that is compared.")]
    error: Annotated[str | None, Meta(description="Why there is no number.")]
    series_index: int
    breakdown_value: Annotated[
        BreakdownValue | None, Meta(description="The value of the breakdown that it would follow.")
    ]
    label: Annotated[str | None, Meta(description="The name of the series in the result.")]
    interval: Annotated[Interval | None, Meta(description="The interval of the numbers.")]
    points: Annotated[list[AlertPoint], Meta(description="The numbers of the series.")]
    limits: Annotated[
        list[float],
        Meta(
            description="The numbers from which on it fires: one, or two for a change, below and "
            "above the previous number."
        ),
    ]
    choices: Annotated[
        list[AlertChoice], Meta(description="All series of the insight that an alert can watch.")
    ]


def body_of_preview(check: Check[PlainAlert]) -> AlertPreview:
    alert, outcome, series = check.alert, check.outcome, check.series
    points = () if series is None else series.points
    over = points[: complete_points(points, is_unfinished=check.is_unfinished)]
    return AlertPreview(
        state=outcome.state,
        value=outcome.value,
        error=outcome.error,
        series_index=alert.series_index,
        breakdown_value=alert.breakdown_value,
        label=None if series is None else series.label,
        interval=check.interval,
        points=[] if series is None else points_of(series, is_unfinished=check.is_unfinished),
        limits=limits_of(alert, over),
        choices=choices_of(check.results),
    )
