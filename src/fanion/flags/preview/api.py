"""API of what a flag editor says before it saves: whom each condition reaches, and who gets another
value. Why an unsaved flag answers as it does is said by `management.evaluation_api`.

source: flags.md sections 3 to 9, 12 and 15
"""

from litestar import Controller, post
from litestar.di import NamedDependency
from litestar.params import RequestBody
from msgspec import UNSET
from msgspec.structs import replace

from fanion.flags.blast_radius.by_condition import ladder_of
from fanion.flags.engine.definition import (
    FlagRow,
    Rules,
    parse_rules,
)
from fanion.flags.preview.question import question_of
from fanion.flags.preview.schemas import (
    FlagChangePreview,
    FlagReach,
    UnsavedFlag,
    change_preview,
    flag_reach,
)
from fanion.flags.preview.service import FlagPreviews
from fanion.flags.validation.filters import not_computable
from fanion.projects.request_api import ManagementRequest, scoped

# Of a new flag that has no key yet: shares are counted without it.
NO_KEY = "no-key-yet"

# These operations change nothing, whatever their method.
_READS = {**scoped("feature_flag:read"), "reads": True}


class FlagPreviewsApi(Controller):
    path = "/api/projects/{project_id:str}/feature_flags"
    tags = ("Feature flags",)
    opt = _READS

    @post("/reach", status_code=200, summary="Estimate whom each condition of a flag reaches")
    async def reach(
        self,
        request: ManagementRequest,
        data: RequestBody[UnsavedFlag],
        previews: NamedDependency[FlagPreviews],
    ) -> FlagReach:
        """For each condition of the flag as it would be saved: whom it matches, of whom already
        taken by what is evaluated before, of whom rolled out. At most 50 conditions with 200
        properties. A flag without `id` needs no `key` here."""
        if data.id in (UNSET, None) and data.key is UNSET:
            data = replace(data, key=NO_KEY)
        flag = await previews.unsaved(request, data)
        row = flag.unsaved.row
        ladder = ladder_of(_reach_rules(row))
        found = await previews.blast_radius.by_condition(
            request.project, ladder, request.app.state.now()
        )
        return flag_reach(ladder, found)

    @post(
        "/preview_change",
        status_code=200,
        summary="Count who would get another value by a change of a flag",
    )
    async def change(
        self,
        request: ManagementRequest,
        data: RequestBody[UnsavedFlag],
        previews: NamedDependency[FlagPreviews],
    ) -> FlagChangePreview:
        """How many persons go from which value to which, evaluated one by one, each with the first
        of its distinct ids and without a device. Up to 50,000 are all evaluated; of more, a fixed
        sample of 20,000, which is always the same. One change at a time is evaluated: further
        requests wait. Who asks again about the same flag abandons the former request (409
        `superseded`), and so does who closes the connection."""
        flag = await previews.unsaved(request, data)
        question = question_of(request.project.id, flag, request.app.state.now())
        # The flags that a user has not created yet count as one.
        flag_id = None if flag.flag is None else flag.flag.definition.id
        asker = request.principal.user.id, request.project.id, flag_id
        computed = await request.unless_client_left(previews.changes.compute(asker, question))
        return change_preview(question.group_type_index, computed)


def _reach_rules(row: FlagRow | None) -> Rules:
    """raises: Invalid for stored filters that cannot be read"""
    try:
        return Rules() if row is None else parse_rules(row.filters, row.rollout_percentage)
    except ValueError as error:
        raise not_computable(str(error)) from None
