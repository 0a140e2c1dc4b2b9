"""API of the roles that may edit a flag.

Source: api.md, "Feature flag role access"; flags.md section 16.
"""

from typing import Annotated, ClassVar
from uuid import UUID

from litestar import Controller, delete, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, RequestBody
from msgspec import Meta, Struct
from msgspec.structs import asdict

from fanion.flags.definitions.role_access.service import RoleAccessService
from fanion.flags.definitions.role_access.store import RoleAccess
from fanion.flags.definitions.schemas import FlagBody, flag_body
from fanion.flags.definitions.service import FlagService
from fanion.flags.definitions.validation.posthog_fields import OF_ROLE_ACCESS
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.rest.endpoints import ObjectId
from fanion.rest.pagination import Paged


class NewRoleAccess(Struct, kw_only=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = OF_ROLE_ACCESS

    role_id: Annotated[UUID, Meta(description="A role of the project's organization.")]


class RoleAccessBody(RoleAccess, frozen=True, kw_only=True):
    feature_flag: FlagBody


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
        role_access: NamedDependency[RoleAccessService],
    ) -> Paged[RoleAccessBody]:
        """Lists the oldest first."""
        page, project_id = request.page, request.project.id
        flag = await _body_of_flag(request, role_access.flags, flag_id)
        accesses, count = await role_access.store.list_access(
            project_id, flag_id, page.limit, page.offset
        )
        return page.with_results([_access_body(access, flag) for access in accesses], count)

    @post("/", summary="Permit a role to edit a flag")
    async def create(
        self,
        request: ManagementRequest,
        flag_id: FromPath[ObjectId],
        data: RequestBody[NewRoleAccess],
        role_access: NamedDependency[RoleAccessService],
    ) -> RoleAccessBody:
        access = await role_access.flags.access(request.principal, request.project)
        created, flag = await role_access.create_access(
            request.author, access, flag_id, data.role_id
        )
        return _access_body(created, flag_body(flag, access))

    @get("/{access_id:str}", summary="Retrieve a role's permission")
    async def record(
        self,
        request: ManagementRequest,
        flag_id: FromPath[ObjectId],
        access_id: FromPath[ObjectId],
        role_access: NamedDependency[RoleAccessService],
    ) -> RoleAccessBody:
        project_id = request.project.id
        flag = await _body_of_flag(request, role_access.flags, flag_id)
        stored = await role_access.store.get_access(project_id, flag_id, access_id)
        return _access_body(stored, flag)

    @delete("/{access_id:str}", summary="Revoke a role's permission to edit a flag")
    async def remove(
        self,
        request: ManagementRequest,
        flag_id: FromPath[ObjectId],
        access_id: FromPath[ObjectId],
        role_access: NamedDependency[RoleAccessService],
    ) -> None:
        access = await role_access.flags.access(request.principal, request.project)
        await role_access.remove_access(request.author, access, flag_id, access_id)


async def _body_of_flag(request: ManagementRequest, flags: FlagService, flag_id: int) -> FlagBody:
    flag = await flags.get_flag(request.project.id, flag_id)
    return flag_body(flag, await flags.access(request.principal, request.project))


def _access_body(access: RoleAccess, flag: FlagBody) -> RoleAccessBody:
    return RoleAccessBody(**asdict(access), feature_flag=flag)
