"""API for users who manage feature flags.

Source: api.md, "Feature flags"; flags.md sections 11 to 13.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any

from litestar import Controller, Response, delete, get, patch, post
from litestar.datastructures import ResponseHeader
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, QueryParameter, RequestBody
from litestar.response.base import ASGIResponse
from msgspec import UNSET, Meta, structs
from sqlalchemy.ext.asyncio import AsyncConnection

from fanion.activity.model import Author
from fanion.errors import Invalid, NotFound
from fanion.flags.management.list_query import (
    STALE_DAYS,
    STALE_DAYS_MAX,
    FlagQuery,
    Staleness,
    read_flag_query,
)
from fanion.flags.management.role_access_store import FlagAccess, access_of
from fanion.flags.management.schemas import (
    VERSION_HEADER,
    FlagBody,
    FlagChanges,
    NewFlag,
    StaleFlag,
    changed_columns,
    created_columns,
    flag_body,
)
from fanion.flags.storage.changes import SCOPE, change_flag, create_flag, unique_key
from fanion.flags.storage.store import FlagStore, StoredFlag, lock_flag
from fanion.projects.activity_api import ActivityPage, activity_page
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.rest.endpoints import ObjectId, method_not_allowed
from fanion.rest.pagination import Paged
from fanion.runtime.change_bus import ChangeBus, Topic

# Takes the project id and the current time; returns flag key → time of the last evaluation.
LastEvaluated = Callable[[int, datetime], Awaitable[Mapping[str, datetime]]]
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


async def never_evaluated(project_id: int, now: datetime) -> Mapping[str, datetime]:
    return {}


@dataclass(frozen=True, slots=True)
class LockedFlag:
    connection: AsyncConnection
    author: Author
    flag: StoredFlag

    async def change_columns(self, values: Mapping[str, Any]) -> StoredFlag:
        """Change columns of the flag.

        Raises:
            Invalid: The flag cannot be changed like this.
        """
        return await self.connection.run_sync(change_flag, self.author, self.flag, values)


@dataclass(frozen=True, slots=True)
class Flags:
    """The stored flags; every change is published."""

    store: FlagStore
    bus: ChangeBus
    last_evaluated: LastEvaluated = never_evaluated

    async def access(self, request: ManagementRequest) -> FlagAccess:
        return await access_of(self.store.records, request.principal, request.project)

    async def get_flag(self, project_id: int, flag_id: int) -> StoredFlag:
        flag = await self.store.get_flag(project_id, flag_id)
        if flag is None:
            raise NotFound
        return flag

    async def get_editable_flag(self, request: ManagementRequest, flag_id: int) -> StoredFlag:
        """Return a flag that the caller may edit, for operations on a flag by POST.

        Raises:
            NotFound: There is no such flag.
            PermissionDenied: The caller may not edit it.
        """
        flag = await self.get_flag(request.project.id, flag_id)
        (await self.access(request)).require_edit(flag_id, flag.creator_id)
        return flag

    async def create_flag(self, author: Author, values: dict[str, Any]) -> StoredFlag:
        with unique_key():
            async with self.store.records.write() as connection:
                flag = await connection.run_sync(create_flag, author, values)
        self.bus.publish(Topic.FLAGS, author.project_id)
        return flag

    @asynccontextmanager
    async def locked_flag(self, author: Author, flag_id: int) -> AsyncGenerator[LockedFlag]:
        """Yield a flag that no other transaction changes before the end of the block.

        Raises:
            NotFound: There is no such flag.
        """
        with unique_key():
            async with self.store.records.write() as connection:
                flag = await connection.run_sync(lock_flag, author.project_id, flag_id)
                if flag is None:
                    raise NotFound
                yield LockedFlag(connection, author, flag)
        self.bus.publish(Topic.FLAGS, author.project_id)


class FlagsApi(Controller):
    path = "/api/projects/{project_id:str}/feature_flags"
    tags = ("Feature flags",)
    opt = scoped("feature_flag")

    @get("/", summary="List feature flags")
    async def flags(
        self,
        request: ManagementRequest,
        flags: NamedDependency[Flags],
        search: FromQuery[str | None] = None,
        active: FromQuery[str | None] = None,
        kind: Annotated[str | None, QueryParameter(name="type")] = None,
        created_by_id: FromQuery[str | None] = None,
        tags: FromQuery[str | None] = None,
        excluded_properties: FromQuery[str | None] = None,
        evaluation_runtime: FromQuery[str | None] = None,
        order: FromQuery[str | None] = None,
        stale: FromQuery[bool] = False,
        stale_days: FromQuery[int] = STALE_DAYS,
    ) -> Paged[FlagBody]:
        """Lists the newest flags first; deleted flags are neither listed nor counted.

        Parameters are combined by AND. `search` matches part of the key or the name. `active` is
        `true`, `false` or `STALE`: enabled, created more than 30 days ago, and with the same value
        for everyone. `type` is `boolean`, `multivariant` or `experiment`. `tags` is a JSON list, of
        which one must match; `excluded_properties` is a JSON list of keys to leave out.
        `evaluation_runtime` is `all`, `client` or `server`. `order` is `key`, `name`, `active`,
        `created_at` or `id`, with `-` for descending.

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
        access = await flags.access(request)
        if stale:
            return await stale_page(
                request, flags.store, access, flags.last_evaluated, query, stale_days
            )
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
        flags: NamedDependency[Flags],
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
        flags: NamedDependency[Flags],
    ) -> Response[FlagBody]:
        """Deleted flags are returned too."""
        flag = await flags.get_flag(request.project.id, flag_id)
        return _flag_response(flag, await flags.access(request))

    @patch("/{flag_id:str}", summary="Update a feature flag", response_headers=[_VERSION])
    async def change(
        self,
        request: ManagementRequest,
        flag_id: FromPath[ObjectId],
        data: RequestBody[FlagChanges],
        flags: NamedDependency[Flags],
    ) -> Response[FlagBody]:
        """`filters` are replaced as a whole. `deleted: true` deletes the flag, `false` restores it.

        With `version`, as in the header `X-Flag-Version`, the change is made only if the flag still
        has that version; otherwise the response is 409, with the flag as `current`.
        """
        access = await flags.access(request)
        async with flags.locked_flag(request.author, flag_id) as locked:
            flag = locked.flag
            access.require_edit(flag_id, flag.creator_id)
            if data.version not in {UNSET, None, flag.definition.version}:
                raise StaleFlag(flag_body(flag, access), flag.definition.version)
            changed = await locked.change_columns(changed_columns(data, flag))
        return _flag_response(changed, access)

    @get("/activity", summary="List the activity of all feature flags", scope="activity_log:read")
    async def all_activity(
        self, request: ManagementRequest, flags: NamedDependency[Flags]
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
        flags: NamedDependency[Flags],
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


async def stale_page(
    request: ManagementRequest,
    store: FlagStore,
    access: FlagAccess,
    last_evaluated: LastEvaluated,
    query: FlagQuery,
    days: int,
) -> Paged[FlagBody]:
    """Return a page of the stale flags that match the query, in its order.

    Args:
        days: An older flag with no evaluation for this many days counts as unused.
    """
    if not 1 <= days <= STALE_DAYS_MAX:
        raise Invalid(f"Ensure this value is between 1 and {STALE_DAYS_MAX}.", attr="stale_days")
    project_id, now, page = request.project.id, request.app.state.now(), request.page
    staleness = Staleness(await last_evaluated(project_id, now), days)
    query = replace(query, staleness=staleness)
    flags, count = await store.find_flags(project_id, query, now, page.limit, page.offset)
    bodies: list[FlagBody] = []
    for flag in flags:
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
