"""API of holdouts.

Source: experiments.md section 1d.
"""

from litestar import Controller, delete, get, patch, post
from litestar.di import NamedDependency
from litestar.params import FromPath, RequestBody
from msgspec import structs

from fanion.experiments.holdouts.schemas import HoldoutChanges, NewHoldout
from fanion.experiments.holdouts.service import HoldoutService
from fanion.experiments.model import HoldoutRecord
from fanion.flags.definitions.access_api import with_flag_access
from fanion.flags.definitions.model import FlagAccess
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.rest.endpoints import ObjectId
from fanion.rest.pagination import Paged
from fanion.rest.validation import given_fields


class HoldoutsApi(Controller):
    path = "/api/projects/{project_id:str}/experiment_holdouts"
    tags = ("Experiments",)
    opt = scoped("experiment")
    dependencies = with_flag_access()

    @get("/", summary="List holdouts")
    async def holdouts(
        self, request: ManagementRequest, holdouts: NamedDependency[HoldoutService]
    ) -> Paged[HoldoutRecord]:
        """Return the holdouts, newest first."""
        page = request.page
        found, count = await holdouts.store.list_holdouts(
            request.project.id, page.limit, page.offset
        )
        return page.with_results(list(found), count)

    @post("/", summary="Create a holdout")
    async def create(
        self,
        request: ManagementRequest,
        data: RequestBody[NewHoldout],
        holdouts: NamedDependency[HoldoutService],
    ) -> HoldoutRecord:
        """Create a holdout: a percentage of all persons, the same in each of its experiments.

        Inside it a flag has the value `holdout-<id>`, and persons are in no variant.
        """
        return await holdouts.create_holdout(request.author, structs.asdict(data))

    @get("/{holdout_id:str}", summary="Retrieve a holdout")
    async def holdout(
        self,
        request: ManagementRequest,
        holdout_id: FromPath[ObjectId],
        holdouts: NamedDependency[HoldoutService],
    ) -> HoldoutRecord:
        return await holdouts.store.get_holdout(request.project.id, holdout_id)

    @patch("/{holdout_id:str}", summary="Update a holdout")
    async def change(
        self,
        request: ManagementRequest,
        holdout_id: FromPath[ObjectId],
        data: RequestBody[HoldoutChanges],
        access: NamedDependency[FlagAccess],
        holdouts: NamedDependency[HoldoutService],
    ) -> HoldoutRecord:
        """Change a holdout, and the flags of the experiments that have it."""
        return await holdouts.change_holdout(request.author, access, holdout_id, given_fields(data))

    @delete("/{holdout_id:str}", summary="Delete a holdout")
    async def remove(
        self,
        request: ManagementRequest,
        holdout_id: FromPath[ObjectId],
        access: NamedDependency[FlagAccess],
        holdouts: NamedDependency[HoldoutService],
    ) -> None:
        """Delete a holdout, and take it off the flags of the experiments that have it."""
        await holdouts.remove_holdout(request.author, access, holdout_id)
