"""The failures in a project, over HTTP."""

from datetime import datetime
from typing import Annotated

from litestar import Controller, get
from litestar.di import NamedDependency
from msgspec import Meta, Struct

from fanion.db.engine import Records
from fanion.projects.problems_store import Backups, Kind, find_problems
from fanion.projects.request_api import ManagementRequest, scoped


class ProblemBody(Struct, kw_only=True):
    kind: Kind
    item_id: Annotated[
        int | None,
        Meta(
            description="The webhook, the cohort or, for changes and rollbacks, the flag; for an "
            "alert its insight."
        ),
    ]
    name: Annotated[
        str,
        Meta(description="URL of the webhook without its path, or name or key of the item."),
    ]
    count: Annotated[int, Meta(description="Dead letters, deliveries or calculations that failed.")]
    detail: Annotated[str | None, Meta(description="The last error.")]
    alert_id: int | None
    value: Annotated[float | None, Meta(description="The number of an alert that fires.")]
    at: Annotated[datetime | None, Meta(description="Time of the last error, if known.")]


class Problems(Struct, kw_only=True):
    results: list[ProblemBody]


class ProblemsApi(Controller):
    path = "/api/projects/{project_id:str}/problems"
    tags = ("Activity",)
    opt = scoped("activity_log")

    @get("/", summary="List what fails")
    async def problems(
        self,
        request: ManagementRequest,
        records: NamedDependency[Records],
        backups: NamedDependency[Backups],
    ) -> Problems:
        """Return what fails in the project, of each kind the newest 20.

        These are dead letters, alerts that fire or cannot be checked, flags that were rolled back
        and are still off, guarded releases that were rolled back or wait, and cohorts whose last
        calculation failed; also, of the last seven days, webhook deliveries that were given up and
        scheduled changes that failed. Backups of the server concern all of its projects: the last
        one failed, or is late.
        """
        now = request.app.state.now()
        problems = await find_problems(records, request.project.id, now, backups)
        return Problems(
            results=[
                ProblemBody(
                    kind=problem.kind,
                    item_id=problem.item_id,
                    name=problem.name,
                    count=problem.count,
                    detail=problem.detail,
                    alert_id=problem.alert_id,
                    value=problem.value,
                    at=problem.at,
                )
                for problem in problems
            ]
        )
