"""API of actions."""

from litestar import Controller, delete, get, patch, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, RequestBody
from litestar.response.base import ASGIResponse
from msgspec import structs

from fanion.actions.schemas import ActionBody, ActionChanges, NewAction, action_body
from fanion.actions.service import ActionService
from fanion.projects.activity_api import ActivityPage, activity_page
from fanion.projects.named_items.store import ItemSelection
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.rest.endpoints import ObjectId, method_not_allowed
from fanion.rest.pagination import Paged
from fanion.rest.validation import given_fields


class ActionsApi(Controller):
    path = "/api/projects/{project_id:str}/actions"
    tags = ("Actions",)
    opt = scoped("action")

    @get("/", summary="List actions")
    async def list_actions(
        self,
        request: ManagementRequest,
        actions: NamedDependency[ActionService],
        search: FromQuery[str | None] = None,
        deleted: FromQuery[bool] = False,
    ) -> Paged[ActionBody]:
        """Return the actions, ordered by name, with `deleted=true` only deleted ones.

        `search` is part of the name, in any case.
        """
        page, query = request.page, ItemSelection((search or "").strip(), deleted)
        found, count = await actions.page(request.project.id, query, page.limit, page.offset)
        return page.with_results([action_body(action) for action in found], count)

    @post("/", summary="Create an action")
    async def create(
        self,
        request: ManagementRequest,
        data: RequestBody[NewAction],
        actions: NamedDependency[ActionService],
    ) -> ActionBody:
        """Create an action: an event counts once if it matches any of the steps."""
        return action_body(await actions.create(request.author, structs.asdict(data)))

    @get("/activity", summary="List the activity of all actions", scope="activity_log:read")
    async def all_activity(
        self, request: ManagementRequest, actions: NamedDependency[ActionService]
    ) -> ActivityPage:
        return await activity_page(request, actions.records, "Action")

    @get("/{action_id:str}", summary="Retrieve an action")
    async def action(
        self,
        request: ManagementRequest,
        action_id: FromPath[ObjectId],
        actions: NamedDependency[ActionService],
    ) -> ActionBody:
        """Return the action, even if it is deleted."""
        return action_body(await actions.get(request.project.id, action_id))

    @patch("/{action_id:str}", summary="Update an action")
    async def change(
        self,
        request: ManagementRequest,
        action_id: FromPath[ObjectId],
        data: RequestBody[ActionChanges],
        actions: NamedDependency[ActionService],
    ) -> ActionBody:
        """Change an action, which changes the answers of everything that uses it.

        An action that insights or cohorts use cannot be deleted.
        """
        changed = await actions.change(request.author, action_id, given_fields(data))
        return action_body(changed)

    @get(
        "/{action_id:str}/activity", summary="List an action's activity", scope="activity_log:read"
    )
    async def action_activity(
        self,
        request: ManagementRequest,
        action_id: FromPath[ObjectId],
        actions: NamedDependency[ActionService],
    ) -> ActivityPage:
        action = await actions.get(request.project.id, action_id)
        return await activity_page(request, actions.records, "Action", str(action.id))

    @delete("/{action_id:str}", status_code=405, summary="Not supported: set `deleted` instead")
    async def remove(self, action_id: FromPath[str]) -> ASGIResponse:
        return method_not_allowed("GET, PATCH")
