"""API of the scheduled changes of a flag."""

from datetime import datetime
from typing import Annotated, Any

from litestar import Controller, delete, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, RequestBody
from msgspec import Meta, Struct

from fanion.flags.automation.schedule import NewScheduledChange, Step
from fanion.flags.automation.scheduled_store import ScheduledChange, ScheduledChangeStore
from fanion.flags.definitions.service import FlagService
from fanion.projects.model import UserSummary
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.rest.endpoints import ObjectId
from fanion.rest.pagination import Paged


class ScheduledChangeBody(Struct, kw_only=True):
    id: int
    feature_flag: int
    payload: Annotated[
        dict[str, Any],
        Meta(description="`operation`, `value` or `steps`, and `condition_index` if it was sent."),
    ]
    scheduled_at: Annotated[
        datetime, Meta(description="Time of the next step, or of the last one if none remains.")
    ]
    steps: Annotated[list[Step], Meta(description="Ordered by time; at least one.")]
    executed_at: Annotated[datetime | None, Meta(description="When the last step was executed.")]
    failure_reason: Annotated[
        str | None, Meta(description="Why the change failed; further steps are not executed.")
    ]
    created_by: UserSummary | None
    created_at: datetime


class ScheduledChangesApi(Controller):
    """The scheduled changes of one flag.

    Members of the organization may read them; users who may edit the flag may write them.
    """

    path = "/api/projects/{project_id:str}/feature_flags/{flag_id:str}/scheduled_changes"
    tags = ("Feature flags",)
    opt = scoped("feature_flag")

    @get("/", summary="List the scheduled changes of a flag")
    async def changes(
        self,
        request: ManagementRequest,
        flag_id: FromPath[ObjectId],
        flags: NamedDependency[FlagService],
    ) -> Paged[ScheduledChangeBody]:
        """Lists the newest first, including up to 100 changes that were executed or failed."""
        page, project_id = request.page, request.project.id
        await flags.get_flag(project_id, flag_id)
        changes, count = await _store(flags).changes_page(
            project_id, flag_id, page.limit, page.offset
        )
        return page.with_results([_change_body(change) for change in changes], count)

    @post("/", summary="Schedule a change of a flag")
    async def create(
        self,
        request: ManagementRequest,
        flag_id: FromPath[ObjectId],
        data: RequestBody[NewScheduledChange],
        flags: NamedDependency[FlagService],
    ) -> ScheduledChangeBody:
        """`update_status` enables or disables the flag; `update_rollout_percentage` sets a rollout.

        Set either `scheduled_at`, or `steps` that each have a time. The change is attributed to the
        caller; it is not applied to a deleted flag.
        """
        await flags.get_editable_flag(request.principal, request.project, flag_id)
        return _change_body(await _store(flags).create_change(request.author, flag_id, data))

    @get("/{change_id:str}", summary="Retrieve a scheduled change")
    async def change(
        self,
        request: ManagementRequest,
        flag_id: FromPath[ObjectId],
        change_id: FromPath[ObjectId],
        flags: NamedDependency[FlagService],
    ) -> ScheduledChangeBody:
        return _change_body(await _store(flags).get_change(request.project.id, flag_id, change_id))

    @delete("/{change_id:str}", summary="Cancel a scheduled change")
    async def remove(
        self,
        request: ManagementRequest,
        flag_id: FromPath[ObjectId],
        change_id: FromPath[ObjectId],
        flags: NamedDependency[FlagService],
    ) -> None:
        """Remaining steps are not executed. A change that has ended cannot be cancelled."""
        await flags.get_editable_flag(request.principal, request.project, flag_id)
        await _store(flags).cancel_change(request.author, flag_id, change_id)


def _store(flags: FlagService) -> ScheduledChangeStore:
    return ScheduledChangeStore(flags.store.records)


def _change_body(change: ScheduledChange) -> ScheduledChangeBody:
    return ScheduledChangeBody(
        id=change.id,
        feature_flag=change.flag_id,
        payload=dict(change.payload),
        scheduled_at=change.scheduled_at,
        steps=list(change.steps),
        executed_at=change.executed_at,
        failure_reason=change.failure_reason,
        created_by=change.created_by,
        created_at=change.created_at,
    )
