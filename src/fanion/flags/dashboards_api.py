"""The dashboard that shows how a flag is used: made anew, or given what applications tell.

source: flags.md section 15
"""

from typing import Literal

import msgspec
from litestar import Controller, post
from litestar.di import NamedDependency
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import FromPath
from msgspec import Struct

from fanion.errors import AppError
from fanion.flags.api import Flags
from fanion.flags.dashboards_store import enrich_dashboard, renew_dashboard
from fanion.insights.dashboards_store import Maker
from fanion.projects.request import ManagementRequest, scoped
from fanion.rest.ids import ObjectId


class Done(Struct, kw_only=True):
    success: Literal[True] = True


class NotDone(Struct, kw_only=True):
    error: str
    success: Literal[False] = False


class NotEnriched(AppError):
    """Told in a shape of its own, which clients know. source: flags.md section 15"""

    status, type = 400, "validation_error"

    def body(self) -> bytes:
        return msgspec.json.encode(NotDone(error=self.detail))


class FlagDashboardsApi(Controller):
    path = "/api/projects/{project_id:str}/feature_flags/{flag_id:str}"
    tags = ("Feature flags",)
    opt = scoped("feature_flag")

    @post("/dashboard", status_code=200, summary="Make a new usage dashboard for a flag")
    async def renew(
        self,
        request: ManagementRequest,
        flag_id: FromPath[ObjectId],
        flags: NamedDependency[Flags],
    ) -> Done:
        """The flag's `usage_dashboard` is the new one; the former one stays."""
        await flags.editable(request, flag_id)
        async with flags.store.records.write() as connection:
            await connection.run_sync(renew_dashboard, _maker(request), flag_id)
        return Done()

    @post(
        "/enrich_usage_dashboard",
        status_code=200,
        summary="Show on the usage dashboard how the feature is seen and used",
        responses={400: ResponseSpec(NotDone, description="Nothing was added, and why")},
    )
    async def enrich(
        self,
        request: ManagementRequest,
        flag_id: FromPath[ObjectId],
        flags: NamedDependency[Flags],
    ) -> Done:
        """Adds tiles for `$feature_view` and `$feature_interaction`, once, when the flag has
        enriched analytics."""
        await flags.editable(request, flag_id)
        async with flags.store.records.write() as connection:
            problem = await connection.run_sync(enrich_dashboard, _maker(request), flag_id)
        if problem is not None:
            raise NotEnriched(problem)
        return Done()


def _maker(request: ManagementRequest) -> Maker:
    return Maker(request.project.id, request.principal.user.id, request.app.state.now())
