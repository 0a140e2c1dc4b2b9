"""The stream of live events over HTTP.

Source: insights.md section 12.
"""

from typing import Annotated, Final
from uuid import UUID

from litestar import Controller, get
from litestar.di import NamedDependency
from litestar.params import FromQuery, HeaderParameter, QueryParameter

from fanion.actions.conditions import ResolvedAction
from fanion.actions.matching import is_of_persons
from fanion.errors import Invalid
from fanion.events.api import EventReading
from fanion.events.live.ring import LiveFilter
from fanion.events.live.stream_service import LiveEvents, Subscription
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.rest.endpoints import Streamed, no_pieces, response_media_type
from fanion.rest.validation import INTEGER_MAX
from fanion.wire.distinct_id import stored_distinct_id
from fanion.wire.event_stream import HEADERS, MEDIA_TYPE

# Names and distinct ids are cut to this length when they are captured.
TEXT_CHARS_MAX: Final = 200


class LiveEventsApi(Controller):
    path = "/api/projects/{project_id:str}/events"
    tags = ("Events",)
    opt = scoped("event")

    @get(
        "/stream",
        summary="Stream events as they are stored",
        media_type=MEDIA_TYPE,
        operation_class=response_media_type(MEDIA_TYPE),
    )
    async def stream(
        self,
        request: ManagementRequest,
        live: NamedDependency[LiveEvents],
        events: NamedDependency[EventReading],
        event: FromQuery[str | None] = None,
        distinct_id: FromQuery[str | None] = None,
        person_id: FromQuery[str | None] = None,
        action_id: Annotated[int | None, QueryParameter(ge=1, le=INTEGER_MAX)] = None,
        last_event_id: Annotated[str | None, HeaderParameter(name="Last-Event-ID")] = None,
    ) -> Streamed:
        """Stream server-sent events, from now on or after `Last-Event-ID`.

        Each is an event as in the list of events, with its place in the log as `id`. Imports are
        not shown. `action_id` shows the events of an action, as it is when the stream begins.

        A client is sent at most 50 events a second. If there are more, `event: sample` comes before
        an even sample of them, with `events`, their number, `shown`, how many of them follow, and
        `per_second`. `event: skipped` has the number of `events` that were not sent, null if it is
        unknown, and the `reason`: `slow`, the client reads too slowly; `reconnected`, the event of
        `Last-Event-ID` is no longer in memory; `too_large`, over 1 MiB.
        """
        _require_once(request)
        live_filter = LiveFilter(
            _require_text(event, "event"),
            None
            if distinct_id is None
            else _require_text(stored_distinct_id(distinct_id), "distinct_id"),
            _parse_uuid(person_id, "person_id"),
            await _action(events, request.project.id, action_id),
        )

        async def may_read() -> None:
            await request.route_handler.authorize_connection(request)

        subscription = Subscription(
            request.project.id,
            request.principal.user.id,
            live_filter,
            last_event_id or "",
            may_read,
            request.client_left,
        )
        messages = live.messages(subscription)
        state = request.scope["state"]
        state["is_endless"] = True
        pieces = no_pieces() if state.get("is_head") else messages
        return Streamed(pieces, MEDIA_TYPE, headers=HEADERS)


async def _action(
    events: EventReading, project_id: int, action_id: int | None
) -> ResolvedAction | None:
    """Return an action.

    Raises:
        Invalid: There is none, or it depends on persons, whose properties a stream does not know.
    """
    action = await events.action(project_id, action_id)
    if action is not None and is_of_persons(action.condition):
        detail = "The action has conditions on persons, which streams cannot compare."
        raise Invalid(detail, attr="action_id")
    return action


def _require_once(request: ManagementRequest) -> None:
    """Raise Invalid if a parameter is given twice."""
    names = [name for name, _ in request.page.query]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise Invalid("Send this parameter once.", attr=twice)


def _require_text(text: str | None, name: str) -> str | None:
    if text is None:
        return None
    if not text:
        raise Invalid("This field may not be blank.", code="blank", attr=name)
    if len(text) > TEXT_CHARS_MAX:
        raise Invalid(
            f"Ensure this field has no more than {TEXT_CHARS_MAX} characters.",
            code="max_length",
            attr=name,
        )
    return text


def _parse_uuid(text: str | None, name: str) -> UUID | None:
    try:
        return None if text is None else UUID(text)
    except ValueError:
        raise Invalid("Must be a valid UUID.", attr=name) from None
