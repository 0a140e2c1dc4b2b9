"""API of alerts on numbers of saved insights."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Annotated, Any, ClassVar

from litestar import Controller, delete, get, patch, post
from litestar.di import NamedDependency
from litestar.params import FromPath, RequestBody
from msgspec import UNSET, Meta, Struct, UnsetType

from fanion.insights.alerts.model import (
    SERIES_INDEX_MAX,
    Alert,
    BreakdownValue,
    Condition,
    State,
    check_threshold,
    check_value,
)
from fanion.insights.alerts.store import AlertStore
from fanion.projects.activity_api import ActivityPage, activity_page
from fanion.projects.model import UserSummary
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.rest.endpoints import ObjectId
from fanion.rest.pagination import Paged
from fanion.rest.validation import INTEGER_MAX, given_fields

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


class AlertBody(Struct, kw_only=True):
    id: int
    name: str
    insight: int
    series_index: int
    breakdown_value: BreakdownValue | None
    condition: Condition
    threshold: float
    enabled: bool
    state: State
    value: Annotated[float | None, Meta(description="The number at the last check.")]
    error: Annotated[str | None, Meta(description="Why there was no number.")]
    last_checked_at: datetime | None
    created_by: UserSummary | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Alerts:
    store: AlertStore

    def alert_columns(
        self, data: NewAlert | AlertChanges, before: Alert | None = None
    ) -> Mapping[str, Any]:
        """Return the columns that a request sets.

        Raises:
            Invalid: The threshold or the value of the breakdown cannot be used.
        """
        given = given_fields(data)
        if "insight" in given:
            given["insight_id"] = given.pop("insight")
        known = {"condition": "above", "threshold": 0.0} if before is None else asdict(before)
        check_value(given.get("breakdown_value"))
        check_threshold(*({**known, **given}[name] for name in ("condition", "threshold")))
        return given


class AlertsApi(Controller):
    path = "/api/projects/{project_id:str}/alerts"
    tags = ("Alerts",)
    opt = scoped("insight")

    @get("/", summary="List alerts")
    async def alerts(
        self, request: ManagementRequest, alerts: NamedDependency[Alerts]
    ) -> Paged[AlertBody]:
        """Return the alerts, oldest first."""
        page = request.page
        stored, count = await alerts.store.list_alerts(request.project.id, page.limit, page.offset)
        return page.with_results([_body(alert) for alert in stored], count)

    @post("/", summary="Create an alert")
    async def create(
        self,
        request: ManagementRequest,
        data: RequestBody[NewAlert],
        alerts: NamedDependency[Alerts],
    ) -> AlertBody:
        """Create an alert, which is then checked on a schedule.

        Webhooks with the event `insight.alert` are called when it starts and when it stops firing.
        """
        values = {"series_index": 0, "enabled": True, **alerts.alert_columns(data)}
        return _body(await alerts.store.create_alert(request.author, values))

    @get("/{alert_id:str}", summary="Retrieve an alert")
    async def alert(
        self,
        request: ManagementRequest,
        alert_id: FromPath[ObjectId],
        alerts: NamedDependency[Alerts],
    ) -> AlertBody:
        return _body(await alerts.store.get_alert(request.project.id, alert_id))

    @patch("/{alert_id:str}", summary="Update an alert")
    async def change(
        self,
        request: ManagementRequest,
        alert_id: FromPath[ObjectId],
        data: RequestBody[AlertChanges],
        alerts: NamedDependency[Alerts],
    ) -> AlertBody:
        """Change an alert, which is then checked again."""
        before = await alerts.store.get_alert(request.project.id, alert_id)
        values = alerts.alert_columns(data, before)
        return _body(await alerts.store.change_alert(request.author, alert_id, values))

    @delete("/{alert_id:str}", summary="Delete an alert")
    async def remove(
        self,
        request: ManagementRequest,
        alert_id: FromPath[ObjectId],
        alerts: NamedDependency[Alerts],
    ) -> None:
        await alerts.store.remove_alert(request.author, alert_id)

    @get(
        "/{alert_id:str}/activity",
        summary="List an alert's activity",
        scope="activity_log:read",
    )
    async def activity(
        self,
        request: ManagementRequest,
        alert_id: FromPath[ObjectId],
        alerts: NamedDependency[Alerts],
    ) -> ActivityPage:
        """Return the changes, newest first; `page` starts at 1, `limit` is 10 by default."""
        await alerts.store.get_alert(request.project.id, alert_id)
        records = alerts.store.records
        return await activity_page(request, records, "AlertConfiguration", str(alert_id))


def _body(alert: Alert) -> AlertBody:
    return AlertBody(
        id=alert.id,
        name=alert.name,
        insight=alert.insight_id,
        series_index=alert.series_index,
        breakdown_value=alert.breakdown_value,
        condition=alert.condition,
        threshold=alert.threshold,
        enabled=alert.enabled,
        state=alert.state,
        value=alert.value,
        error=alert.error,
        last_checked_at=alert.last_checked_at,
        created_by=alert.created_by,
        created_at=alert.created_at,
        updated_at=alert.updated_at,
    )
