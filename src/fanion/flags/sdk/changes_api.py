"""The stream of flag changes for members, over HTTP."""

from litestar import Controller, get
from litestar.di import NamedDependency

from fanion.flags.sdk.endpoints import CallerGrant
from fanion.flags.sdk.sse_service import Broadcaster
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.rest.endpoints import Streamed, no_pieces, response_media_type
from fanion.wire.event_stream import HEADERS, MEDIA_TYPE


class FlagChangesApi(Controller):
    path = "/api/projects/{project_id:str}/feature_flags"
    tags = ("Feature flags",)
    opt = scoped("feature_flag")

    @get(
        "/changes/stream",
        summary="Stream changes of flags to members",
        media_type=MEDIA_TYPE,
        operation_class=response_media_type(MEDIA_TYPE),
    )
    async def stream(
        self, request: ManagementRequest, flag_changes: NamedDependency[Broadcaster]
    ) -> Streamed:
        """Stream server-sent events: the current version at once, then one for each change.

        Unlike `/feature_flags/stream/`, which SDKs read with a key, it accepts a session too.
        """

        async def may_read() -> None:
            await request.route_handler.authorize_connection(request)

        messages = flag_changes.messages(request.project.id, CallerGrant(may_read))
        request.scope["state"]["is_endless"] = True
        return Streamed(no_pieces() if request.is_head else messages, MEDIA_TYPE, headers=HEADERS)
