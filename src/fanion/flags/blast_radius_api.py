"""How many a release condition would reach, over HTTP.

source: flags.md section 15
"""

from typing import Annotated, Any

from litestar import Controller, post
from litestar.di import NamedDependency
from msgspec import Meta, Struct

from fanion.errors import Invalid
from fanion.flags.blast_radius import read_reach
from fanion.flags.blast_radius_store import BlastRadius
from fanion.projects.request import ManagementRequest, scoped


class BlastRadiusBody(Struct, kw_only=True):
    users_affected: Annotated[int, Meta(description="How many match the properties.")]
    total_users: Annotated[int, Meta(description="Persons of the project, or groups of the type.")]


class BlastRadiusApi(Controller):
    path = "/api/projects/{project_id:str}/feature_flags"
    tags = ("Feature flags",)
    opt = scoped("feature_flag")

    @post(
        "/user_blast_radius",
        status_code=200,
        summary="Count whom a release condition would reach",
        scope="feature_flag:read",
    )
    async def reach(
        self, request: ManagementRequest, blast_radius: NamedDependency[BlastRadius]
    ) -> BlastRadiusBody:
        """The body holds the `condition`, whose `properties` count and whose rollout does not,
        and for groups their `group_type_index`. `condition: null` is everybody."""
        body = await request.values()
        if body.form:
            raise Invalid("A condition is sent as JSON.")
        values: Any = body.values
        found = await blast_radius.of(request.project, read_reach(values), request.app.state.now())
        return BlastRadiusBody(users_affected=found.affected, total_users=found.total)
