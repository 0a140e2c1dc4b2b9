"""API of alerts on numbers of saved insights."""

from litestar import Controller, delete, get, patch, post
from litestar.di import NamedDependency
from litestar.params import FromPath, RequestBody

from fanion.insights.alerts.schemas import AlertBody, AlertChanges, NewAlert, body_of_alert
from fanion.insights.alerts.service import AlertService
from fanion.projects.activity_api import ActivityPage, activity_page
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.rest.endpoints import ObjectId
from fanion.rest.pagination import Paged
from fanion.rest.validation import given_fields


class AlertsApi(Controller):
    path = "/api/projects/{project_id:str}/alerts"
    tags = ("Alerts",)
    opt = scoped("insight")

    @get("/", summary="List alerts")
    async def alerts(
        self, request: ManagementRequest, alerts: NamedDependency[AlertService]
    ) -> Paged[AlertBody]:
        """Return the alerts, oldest first."""
        page = request.page
        stored, count = await alerts.store.list_alerts(request.project.id, page.limit, page.offset)
        return page.with_results([body_of_alert(alert) for alert in stored], count)

    @post("/", summary="Create an alert")
    async def create(
        self,
        request: ManagementRequest,
        data: RequestBody[NewAlert],
        alerts: NamedDependency[AlertService],
    ) -> AlertBody:
        """Create an alert, which is then checked on a schedule.

        Webhooks with the event `insight.alert` are called when it starts and when it stops firing.
        """
        return body_of_alert(await alerts.create_alert(request.author, given_fields(data)))

    @get("/{alert_id:str}", summary="Retrieve an alert")
    async def alert(
        self,
        request: ManagementRequest,
        alert_id: FromPath[ObjectId],
        alerts: NamedDependency[AlertService],
    ) -> AlertBody:
        return body_of_alert(await alerts.store.get_alert(request.project.id, alert_id))

    @patch("/{alert_id:str}", summary="Update an alert")
    async def change(
        self,
        request: ManagementRequest,
        alert_id: FromPath[ObjectId],
        data: RequestBody[AlertChanges],
        alerts: NamedDependency[AlertService],
    ) -> AlertBody:
        """Change an alert, which is then checked again."""
        sent = given_fields(data)
        return body_of_alert(await alerts.change_alert(request.author, alert_id, sent))

    @delete("/{alert_id:str}", summary="Delete an alert")
    async def remove(
        self,
        request: ManagementRequest,
        alert_id: FromPath[ObjectId],
        alerts: NamedDependency[AlertService],
    ) -> None:
        await alerts.remove_alert(request.author, alert_id)

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
