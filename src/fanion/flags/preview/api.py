"""API that tells a flag editor, before it saves, what the change would do.

It says whom each condition reaches, and who would get another value. Why an unsaved flag answers as
it does is told by `management.evaluation_api`.

Source: flags.md sections 3 to 9, 12 and 15.
"""

from litestar import Controller, post
from litestar.di import NamedDependency
from litestar.params import RequestBody
from msgspec import UNSET
from msgspec.structs import replace

from fanion.flags.blast_radius.by_condition import ladder_of
from fanion.flags.definitions.validation.parts import not_valid
from fanion.flags.engine.definition import (
    FlagRow,
    Rules,
    parse_rules,
)
from fanion.flags.preview.schemas import (
    FlagChangePreview,
    FlagReach,
    UnsavedFlag,
    change_preview,
    flag_reach,
)
from fanion.flags.preview.service import FlagPreviews, question_of
from fanion.projects.request_api import ManagementRequest, scoped

# The key of a new flag that has none yet; it does not affect the counted shares.
NO_KEY = "no-key-yet"

# These operations change nothing, although they use POST.
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
        """Counts whom each condition of the flag would reach if it were saved.

        For each condition: how many subjects match, how many of these are decided by what is
        evaluated before it, and how many it rolls out to. At most 50 conditions with 200
        properties. A flag without `id` needs no `key` here.
        """
        if data.id in (UNSET, None) and data.key is UNSET:
            data = replace(data, key=NO_KEY)
        flag = await previews.unsaved_flag(request, data)
        row = flag.unsaved.row
        ladder = ladder_of(_reach_rules(row))
        reach = await previews.blast_radius.count_by_condition(
            request.project, ladder, request.app.state.now()
        )
        return flag_reach(ladder, reach)

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
        """Counts the persons who would get another value.

        Persons are evaluated one by one, each with the first of their distinct ids and without a
        device. Up to 50,000 are all evaluated; of more, a fixed sample of 20,000, which is always
        the same. One change is evaluated at a time: further requests wait. A newer request for the
        same flag, or closing the connection, cancels this one (409 `superseded`).
        """
        flag = await previews.unsaved_flag(request, data)
        question = question_of(request.project.id, flag, request.app.state.now())
        # All flags that a user has not created yet count as one flag.
        flag_id = None if flag.flag is None else flag.flag.definition.id
        asker = request.principal.user.id, request.project.id, flag_id
        result = await request.unless_client_left(previews.changes.compute_change(asker, question))
        return change_preview(question.group_type_index, result)


def _reach_rules(row: FlagRow | None) -> Rules:
    """Parse the flag's rules.

    Raises:
        Invalid: The stored filters cannot be read.
    """
    try:
        return Rules() if row is None else parse_rules(row.filters, row.rollout_percentage)
    except ValueError as error:
        raise not_valid(str(error)) from None
