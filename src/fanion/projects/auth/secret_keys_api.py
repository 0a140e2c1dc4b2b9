"""The secret key of a project, over HTTP."""

from typing import Annotated

from litestar import Controller, delete, post
from litestar.di import NamedDependency
from litestar.params import RequestBody
from msgspec import Meta, Struct

from fanion.errors import NotFound
from fanion.projects.api import FormerValidS
from fanion.projects.auth.secret_keys import SecretKeys
from fanion.projects.model import Level
from fanion.projects.request import ManagementRequest, scoped


class NewSecretKey(Struct, kw_only=True, forbid_unknown_fields=True):
    former_valid_s: FormerValidS = 0


class SecretKeyBody(Struct, kw_only=True):
    secret_api_key: Annotated[str, Meta(description="Told this once; `phs_…`.")]


class SecretKeysApi(Controller):
    path = "/api/projects/{project_id:str}/secret_key"
    tags = ("Projects",)
    opt = scoped("project")

    @post("/", summary="Make or replace the project's secret key")
    async def rotate(
        self,
        request: ManagementRequest,
        data: RequestBody[NewSecretKey],
        secret_keys: NamedDependency[SecretKeys],
    ) -> SecretKeyBody:
        """It reads flag definitions for local evaluation, and nothing else. The present key and
        all former ones end at once, unless `former_valid_s` lets the present one go on.
        Needs an administrator of the organization."""
        request.principal.require_level(request.project.organization_id, Level.ADMIN)
        user = request.principal.user
        key = await secret_keys.rotate(request.project.id, user.id, data.former_valid_s)
        return SecretKeyBody(secret_api_key=key)

    @delete("/", summary="Revoke the project's secret key")
    async def revoke(
        self, request: ManagementRequest, secret_keys: NamedDependency[SecretKeys]
    ) -> None:
        """All former keys end with it."""
        request.principal.require_level(request.project.organization_id, Level.ADMIN)
        if not await secret_keys.revoke(request.project.id, request.principal.user.id):
            raise NotFound
