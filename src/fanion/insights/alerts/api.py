"""API of alerts on numbers of saved insights."""

from typing import Annotated

from litestar import Controller, delete, get, patch, post
from litestar.di import NamedDependency
from litestar.params import FromPath, QueryParameter, RequestBody
from msgspec import structs

from fanion.insights.alerts.checks_store import list_checks
from fanion.insights.alerts.model import AlertCheck
from fanion.insights.alerts.schemas import (
    AlertBody,
    AlertChanges,
    AlertPreview,
    NewAlert,
    PreviewedAlert,
    body_of_alert,
    body_of_preview,
)
from fanion.insights.alerts.service import AlertService
from fanion.projects.activity_api import ActivityPage, activity_page
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.rest.endpoints import ObjectId
from fanion.rest.pagination import Paged
from fanion.rest.validation import INTEGER_MAX, given_fields

AlertInsight = Annotated[int | None, QueryParameter(ge=1, le=INTEGER_MAX)]


class AlertsApi(Controller):
    path = "/api/projects/{project_id:str}/alerts"
    tags = ("Alerts",)
    opt = scoped("insight")

    @get("/", summary="List alerts")
    async def alerts(
        self,
        request: ManagementRequest,
        alerts: NamedDependency[AlertService],
        insight: AlertInsight = None,
    ) -> Paged[AlertBody]:
        """Return the alerts, oldest first; with `insight` only those of that saved insight."""
        page, store = request.page, alerts.store
        stored, count = await store.list_alerts(
            request.project.id, page.limit, page.offset, insight
        )
        return page.with_results([body_of_alert(alert, store.every) for alert in stored], count)

    @post("/", summary="Create an alert")
    async def create(
        self,
        request: ManagementRequest,
        data: RequestBody[NewAlert],
        alerts: NamedDependency[AlertService],
    ) -> AlertBody:
        """Create an alert, which is then checked on a schedule.

        Webhooks with the event `insight.alert` are called when it starts and when it stops firing,
        and the members in `subscribed_users` get a mail.
        """
        created = await alerts.create_alert(request.author, given_fields(data))
        return body_of_alert(created, alerts.store.every)

    @post(
        "/preview",
        status_code=200,
        summary="Check an alert that is not saved",
        scope="insight:read",
        reads=True,
    )
    async def preview(
        self,
        request: ManagementRequest,
        data: RequestBody[PreviewedAlert],
        alerts: NamedDependency[AlertService],
    ) -> AlertPreview:
        """Return what a check would say now, with the numbers of the series. Nobody is told."""
        checking = alerts.preview_alert(
            request.project, structs.asdict(data), request.app.state.now()
        )
        return body_of_preview(await request.unless_client_left(checking))

    @get("/{alert_id:str}", summary="Retrieve an alert")
    async def alert(
        self,
        request: ManagementRequest,
        alert_id: FromPath[ObjectId],
        alerts: NamedDependency[AlertService],
    ) -> AlertBody:
        stored = await alerts.store.get_alert(request.project.id, alert_id)
        return body_of_alert(stored, alerts.store.every)

    @patch("/{alert_id:str}", summary="Update an alert")
    async def change(
        self,
        request: ManagementRequest,
        alert_id: FromPath[ObjectId],
        data: RequestBody[AlertChanges],
        alerts: NamedDependency[AlertService],
    ) -> AlertBody:
        """Change an alert, which is then checked again if the change affects what is checked."""
        changed = await alerts.change_alert(request.author, alert_id, given_fields(data))
        return body_of_alert(changed, alerts.store.every)

    @delete("/{alert_id:str}", summary="Delete an alert")
    async def remove(
        self,
        request: ManagementRequest,
        alert_id: FromPath[ObjectId],
        alerts: NamedDependency[AlertService],
    ) -> None:
        await alerts.remove_alert(request.author, alert_id)

    @get("/{alert_id:str}/checks", summary="List an alert's checks")
    async def checks(
        self,
        request: ManagementRequest,
        alert_id: FromPath[ObjectId],
        alerts: NamedDependency[AlertService],
    ) -> Paged[AlertCheck]:
        """Return the checks, newest first. The last 1,000 are kept."""
        await alerts.store.get_alert(request.project.id, alert_id)
        page = request.page
        checks, count = await list_checks(alerts.store.records, alert_id, page.limit, page.offset)
        return page.with_results(list(checks), count)

    @get(
        "/{alert_id:str}/activity",
        summary="List an alert's activity",
        scope="activity_log:read",
    )
    async def activity(
        self,
        request: ManagementRequest,
        alert_id: FromPath[ObjectId],
        alerts: NamedDependency[AlertService],
    ) -> ActivityPage:
        """Return the changes, newest first; `page` starts at 1, `limit` is 10 by default."""
        await alerts.store.get_alert(request.project.id, alert_id)
        records = alerts.store.records
        return await activity_page(request, records, "AlertConfiguration", str(alert_id))
