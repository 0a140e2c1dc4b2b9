"""API of the blast radius: how many persons or groups a release condition would reach.

Source: flags.md section 15.
"""

from typing import Annotated, Any

from litestar import Controller, post
from litestar.di import NamedDependency
from litestar.openapi.spec import OpenAPIType, Schema
from msgspec import Meta, Struct

from fanion.errors import Invalid
from fanion.flags.blast_radius.query import read_reach
from fanion.flags.blast_radius.store import BlastRadius
from fanion.flags.definitions.schemas import FlagChanges
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.properties.operators import GROUP_TYPE_INDEX_MAX
from fanion.rest.endpoints import request_media_type

_CONDITION = Schema(
    type=OpenAPIType.OBJECT,
    title="ReachOfCondition",
    required=["condition"],
    properties={
        "condition": Schema(
            type=[OpenAPIType.OBJECT, OpenAPIType.NULL],
            properties={
                "properties": Schema(
                    type=[OpenAPIType.ARRAY, OpenAPIType.NULL],
                    items=Schema(type=OpenAPIType.OBJECT),
                )
            },
            description="As in the `filters.groups` of a flag.",
        ),
        "group_type_index": Schema(
            type=[OpenAPIType.INTEGER, OpenAPIType.NULL], minimum=0, maximum=GROUP_TYPE_INDEX_MAX
        ),
    },
)
_FLAG = Schema(
    title="ReachOfFlag",
    type=OpenAPIType.OBJECT,
    required=["filters"],
    properties={
        # Only the filters are read, so the other fields may be anything.
        **{name: Schema() for name in FlagChanges.__struct_fields__},
        "filters": Schema(
            type=[OpenAPIType.OBJECT, OpenAPIType.NULL],
            description="Filters of a flag; one group must match.",
        ),
    },
)
_BODY = Schema(
    any_of=[_CONDITION, _FLAG],
    description="One condition, or the writable fields of a flag; only its `filters` are used.",
)


class BlastRadiusBody(Struct, kw_only=True):
    users_affected: Annotated[int, Meta(description="Number of persons or groups that match.")]
    total_users: Annotated[
        int, Meta(description="All persons of the project, or all groups of the type.")
    ]


class BlastRadiusApi(Controller):
    path = "/api/projects/{project_id:str}/feature_flags"
    tags = ("Feature flags",)
    opt = scoped("feature_flag")

    @post(
        "/user_blast_radius",
        status_code=200,
        summary="Estimate the blast radius of a release condition",
        reads=True,
        reads_body=True,
        operation_class=request_media_type("application/json", _BODY),
    )
    async def reach(
        self, request: ManagementRequest, blast_radius: NamedDependency[BlastRadius]
    ) -> BlastRadiusBody:
        """Send one `condition`, or the writable fields of a flag.

        The rollout of a `condition` is ignored; `condition: null` matches all. For groups, send the
        `group_type_index` too. Of a flag's fields, all `groups` of its `filters` count, together
        with their `aggregation_group_type_index`.
        """
        body = await request.values()
        if body.form:
            raise Invalid("Send the condition as JSON, not as a form.")
        values: Any = body.values
        reach = read_reach(values, FlagChanges.__struct_fields__)
        radius = await blast_radius.count_reach(request.project, reach, request.app.state.now())
        return BlastRadiusBody(users_affected=radius.affected, total_users=radius.total)
