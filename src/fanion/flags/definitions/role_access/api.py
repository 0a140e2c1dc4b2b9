"""API of the roles that may edit a flag.

Source: api.md, "Feature flag role access"; flags.md section 16.
"""

from datetime import datetime
from typing import Annotated, ClassVar
from uuid import UUID

from litestar import Controller, delete, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, RequestBody
from msgspec import Meta, Struct

from fanion.flags.definitions.role_access.store import RoleAccess, RoleAccessStore
from fanion.flags.definitions.schemas import FlagBody, flag_body
from fanion.flags.definitions.service import FlagService
from fanion.flags.definitions.validation.posthog_fields import OF_ROLE_ACCESS
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.projects.roles.model import Role
from fanion.rest.endpoints import ObjectId
from fanion.rest.pagination import Paged


class NewRoleAccess(Struct, kw_only=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = OF_ROLE_ACCESS

    role_id: Annotated[UUID, Meta(description="A role of the project's organization.")]


class RoleAccessBody(Struct, kw_only=True):
    id: int
    feature_flag: FlagBody
    role: Role
    role_id: UUID
    added_at: datetime
    updated_at: datetime


class RoleAccessApi(Controller):
    """The roles that may edit a flag.

    Members of the organization may read them. The flag's creator and users who may edit every flag
    may change them.
    """

    path = "/api/projects/{project_id:str}/feature_flags/{flag_id:str}/role_access"
    tags = ("Feature flags",)
    opt = scoped("feature_flag")

    @get("/", summary="List the roles that may edit a flag")
    async def records(
        self,
        request: ManagementRequest,
        flag_id: FromPath[ObjectId],
        flags: NamedDependency[FlagService],
    ) -> Paged[RoleAccessBody]:
        """Lists the oldest first."""
        page, project_id = request.page, request.project.id
        flag = flag_body(
            await flags.get_flag(project_id, flag_id),
            await flags.access(request.principal, request.project),
        )
        accesses, count = await _store(flags).access_page(
            project_id, flag_id, page.limit, page.offset
        )
        return page.with_results([_access_body(access, flag) for access in accesses], count)

    @post("/", summary="Permit a role to edit a flag")
    async def create(
        self,
        request: ManagementRequest,
        flag_id: FromPath[ObjectId],
        data: RequestBody[NewRoleAccess],
        flags: NamedDependency[FlagService],
    ) -> RoleAccessBody:
        access = await flags.access(request.principal, request.project)
        flag = await flags.get_flag(request.project.id, flag_id)
        access.require_share(flag.creator_id)
        created = await _store(flags).create_access(request.author, flag_id, data.role_id)
        return _access_body(created, flag_body(flag, access))

    @get("/{access_id:str}", summary="Retrieve a role's permission")
    async def record(
        self,
        request: ManagementRequest,
        flag_id: FromPath[ObjectId],
        access_id: FromPath[ObjectId],
        flags: NamedDependency[FlagService],
    ) -> RoleAccessBody:
        project_id = request.project.id
        flag = flag_body(
            await flags.get_flag(project_id, flag_id),
            await flags.access(request.principal, request.project),
        )
        return _access_body(await _store(flags).get_access(project_id, flag_id, access_id), flag)

    @delete("/{access_id:str}", summary="Revoke a role's permission to edit a flag")
    async def remove(
        self,
        request: ManagementRequest,
        flag_id: FromPath[ObjectId],
        access_id: FromPath[ObjectId],
        flags: NamedDependency[FlagService],
    ) -> None:
        access = await flags.access(request.principal, request.project)
        flag = await flags.get_flag(request.project.id, flag_id)
        access.require_share(flag.creator_id)
        await _store(flags).remove_access(request.author, flag_id, access_id)


def _store(flags: FlagService) -> RoleAccessStore:
    return RoleAccessStore(flags.store.records)


def _access_body(access: RoleAccess, flag: FlagBody) -> RoleAccessBody:
    return RoleAccessBody(
        id=access.id,
        feature_flag=flag,
        role=access.role,
        role_id=access.role.id,
        added_at=access.added_at,
        updated_at=access.updated_at,
    )
