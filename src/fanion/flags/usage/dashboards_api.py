"""The dashboard that shows how a flag is used: made, or given what applications tell.

source: flags.md section 15
"""

from typing import Literal

import msgspec
from litestar import Controller, post
from litestar.di import NamedDependency
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import FromPath
from msgspec import Struct, structs

from fanion.errors import AppError
from fanion.flags.management.api import FlagChanges, Flags
from fanion.flags.management.schemas import FlagBody, shown
from fanion.flags.usage.dashboards_store import enrich_dashboard, ensure_dashboard
from fanion.flags.validation.posthog_fields import OF_FLAG
from fanion.insights.dashboards_store import Creator
from fanion.projects.request import ManagementRequest, scoped
from fanion.rest.endpoints import ObjectId

# As the published table says: the writable fields of a flag.
_OF_BODY = OF_FLAG.union(FlagChanges.__struct_fields__)


class Done(Struct, kw_only=True):
    success: Literal[True] = True


class FlagWithDashboard(FlagBody, kw_only=True):
    """`success` is what PostHog's own answer consists of."""

    success: Literal[True] = True


class NotDone(Struct, kw_only=True):
    """`success` and `error` are what PostHog's own answer consists of."""

    type: str
    code: str
    detail: str
    attr: str | None
    error: str
    success: Literal[False] = False


class NotEnriched(AppError):
    """Told with two further fields, which clients know. source: flags.md section 15"""

    status, type, default_code = 400, "validation_error", "not_enriched"

    def body(self) -> bytes:
        told = NotDone(
            type=self.type, code=self.code, detail=self.detail, attr=self.attr, error=self.detail
        )
        return msgspec.json.encode(told)


class FlagDashboardsApi(Controller):
    path = "/api/projects/{project_id:str}/feature_flags/{flag_id:str}"
    tags = ("Feature flags",)
    opt = scoped("feature_flag")

    @post(
        "/dashboard",
        status_code=200,
        summary="Make the usage dashboard of a flag",
        body_names=_OF_BODY,
    )
    async def ensure(
        self,
        request: ManagementRequest,
        flag_id: FromPath[ObjectId],
        flags: NamedDependency[Flags],
    ) -> FlagWithDashboard:
        """The flag, with the `usage_dashboard` that it has already, or else with a new one. The
        body may hold fields of a flag; they change nothing."""
        await flags.editable(request, flag_id)
        async with flags.store.records.write() as connection:
            await connection.run_sync(ensure_dashboard, _maker(request), flag_id)
        flag = await flags.get(request.project.id, flag_id)
        body = shown(flag, await flags.access(request))
        return FlagWithDashboard(**structs.asdict(body))

    @post(
        "/enrich_usage_dashboard",
        status_code=200,
        summary="Show on the usage dashboard how the feature is seen and used",
        body_names=_OF_BODY,
        responses={
            400: ResponseSpec(
                NotDone, generate_examples=False, description="Nothing was added, and why"
            )
        },
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


def _maker(request: ManagementRequest) -> Creator:
    return Creator(request.project.id, request.principal.user.id, request.app.state.now())
