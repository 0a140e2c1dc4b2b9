"""API for users who manage feature flags.

Source: api.md, "Feature flags"; flags.md sections 11 to 13.
"""

from dataclasses import replace
from datetime import datetime
from typing import Annotated

from litestar import Controller, Response, delete, get, patch, post
from litestar.datastructures import ResponseHeader
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, QueryParameter, RequestBody
from litestar.response.base import ASGIResponse
from msgspec import Meta, structs

from fanion.flags.definitions.changes_store import SCOPE
from fanion.flags.definitions.list_query import (
    STALE_DAYS,
    FlagQuery,
    read_flag_query,
)
from fanion.flags.definitions.model import FlagAccess
from fanion.flags.definitions.schemas import (
    VERSION_HEADER,
    FlagBody,
    FlagChanges,
    NewFlag,
    created_columns,
    flag_body,
)
from fanion.flags.definitions.service import FlagService
from fanion.flags.definitions.store import StoredFlag
from fanion.projects.activity_api import ActivityPage, activity_page
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.rest.endpoints import ObjectId, method_not_allowed
from fanion.rest.pagination import Paged

_VERSION = ResponseHeader(
    name=VERSION_HEADER,
    description="Version of the flag; it increases with every change.",
    documentation_only=True,
)


class StaleFlagBody(FlagBody, kw_only=True):
    """A flag, with the reason why it is in the list."""

    stale_reason: Annotated[
        str, Meta(description="`fully_rolled_out` or `not_evaluated`; the first that applies.")
    ]
    last_evaluated_at: datetime | None


class FlagsApi(Controller):
    path = "/api/projects/{project_id:str}/feature_flags"
    tags = ("Feature flags",)
    opt = scoped("feature_flag")

    @get("/", summary="List feature flags")
    async def flags(
        self,
        request: ManagementRequest,
        flags: NamedDependency[FlagService],
        search: FromQuery[str | None] = None,
        active: FromQuery[str | None] = None,
        kind: Annotated[str | None, QueryParameter(name="type")] = None,
        created_by_id: FromQuery[str | None] = None,
        tags: FromQuery[str | None] = None,
        excluded_properties: FromQuery[str | None] = None,
        evaluation_runtime: FromQuery[str | None] = None,
        order: FromQuery[str | None] = None,
        deleted: FromQuery[bool] = False,
        stale: FromQuery[bool] = False,
        stale_days: FromQuery[int] = STALE_DAYS,
    ) -> Paged[FlagBody]:
        """Lists the newest flags first, and with `deleted=true` only deleted ones.

        Parameters are combined by AND. `search` matches part of the key or the name. `active` is
        `true`, `false` or `STALE`: enabled, created more than 30 days ago, and with the same value
        for everyone. `type` is `boolean`, `multivariant` or `experiment`. `tags` is a JSON list, of
        which one must match; `excluded_properties` is a JSON list of keys to leave out.
        `evaluation_runtime` is `all`, `client` or `server`. `order` is `key`, `name`, `active`,
        `created_at` or `id`, with `-` for descending. Deleted flags can be restored until another
        flag takes the key.

        `stale=true` lists only enabled flags that are older than `stale_days` and no longer needed,
        each with its `stale_reason`: `fully_rolled_out`, or `not_evaluated` for that many days.
        """
        query = read_flag_query(
            search=search,
            active=active,
            kind=kind,
            created_by_id=created_by_id,
            tags=tags,
            excluded=excluded_properties,
            runtime=evaluation_runtime,
            order=order,
        )
        query = replace(query, deleted=deleted)
        access = await flags.access(request.principal, request.project)
        if stale:
            return await _stale_page(request, flags, access, query, stale_days)
        page, now = request.page, request.app.state.now()
        stored_flags, count = await flags.store.find_flags(
            request.project.id, query, now, page.limit, page.offset
        )
        return page.with_results([flag_body(flag, access) for flag in stored_flags], count)

    @post("/", summary="Create a feature flag", response_headers=[_VERSION])
    async def create(
        self,
        request: ManagementRequest,
        data: RequestBody[NewFlag],
        flags: NamedDependency[FlagService],
    ) -> Response[FlagBody]:
        """The flag takes effect from the next evaluation."""
        author = request.author
        flag = await flags.create_flag(author, created_columns(data, author.now))
        # The creator of a flag may edit it.
        return _flag_response(flag, FlagAccess(request.principal.user.id))

    @get("/{flag_id:str}", summary="Retrieve a feature flag", response_headers=[_VERSION])
    async def flag(
        self,
        request: ManagementRequest,
        flag_id: FromPath[ObjectId],
        flags: NamedDependency[FlagService],
    ) -> Response[FlagBody]:
        """Deleted flags are returned too."""
        flag = await flags.get_flag(request.project.id, flag_id)
        return _flag_response(flag, await flags.access(request.principal, request.project))

    @patch("/{flag_id:str}", summary="Update a feature flag", response_headers=[_VERSION])
    async def change(
        self,
        request: ManagementRequest,
        flag_id: FromPath[ObjectId],
        data: RequestBody[FlagChanges],
        flags: NamedDependency[FlagService],
    ) -> Response[FlagBody]:
        """`filters` are replaced as a whole. `deleted: true` deletes the flag, `false` restores it.

        With `version`, as in the header `X-Flag-Version`, the change is made only if the flag still
        has that version; otherwise the response is 409, with the flag as `current`.
        """
        access = await flags.access(request.principal, request.project)
        changed = await flags.change_flag(request.author, access, flag_id, data)
        return _flag_response(changed, access)

    @get("/activity", summary="List the activity of all feature flags", scope="activity_log:read")
    async def all_activity(
        self, request: ManagementRequest, flags: NamedDependency[FlagService]
    ) -> ActivityPage:
        """Lists the newest entries first; `page` starts at 1, and `limit` is 10 by default."""
        return await activity_page(request, flags.store.records, SCOPE)

    @get(
        "/{flag_id:str}/activity",
        summary="List a feature flag's activity",
        scope="activity_log:read",
    )
    async def activity(
        self,
        request: ManagementRequest,
        flag_id: FromPath[ObjectId],
        flags: NamedDependency[FlagService],
    ) -> ActivityPage:
        """Lists the newest entries first; `page` starts at 1, and `limit` is 10 by default."""
        await flags.get_flag(request.project.id, flag_id)
        return await activity_page(request, flags.store.records, SCOPE, str(flag_id))

    @delete("/{flag_id:str}", status_code=405, summary="Not supported: set `deleted` instead")
    async def remove(self, flag_id: FromPath[ObjectId]) -> ASGIResponse:
        return method_not_allowed("GET, PATCH")


def _flag_response(flag: StoredFlag, access: FlagAccess) -> Response[FlagBody]:
    version = {VERSION_HEADER: str(flag.definition.version)}
    return Response(flag_body(flag, access), headers=version)


async def _stale_page(
    request: ManagementRequest, flags: FlagService, access: FlagAccess, query: FlagQuery, days: int
) -> Paged[FlagBody]:
    now, page = request.app.state.now(), request.page
    stale_flags, count, staleness = await flags.find_stale_flags(
        request.project.id, query, days, now, page.limit, page.offset
    )
    bodies: list[FlagBody] = []
    for flag in stale_flags:
        reason = staleness.reason(flag.candidate, now)
        assert reason is not None  # the query has chosen the flag
        bodies.append(
            StaleFlagBody(
                **structs.asdict(flag_body(flag, access)),
                stale_reason=reason.value,
                last_evaluated_at=staleness.last_evaluated.get(flag.definition.key),
            )
        )
    return page.with_results(bodies, count)
