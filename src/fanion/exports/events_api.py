"""API of the export of events."""

from datetime import datetime
from typing import Any

from litestar import Controller, Response, get
from litestar.di import NamedDependency
from litestar.params import FromQuery

from fanion.events.storage.export_query import ExportQuery, Place
from fanion.exports.events_service import EventPages
from fanion.exports.model import read_cursor
from fanion.exports.response_api import export_response
from fanion.exports.schemas import ExportOperation, read_format, read_page_limit, read_range
from fanion.exports.service import Exports
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.properties.validation import read_conditions
from fanion.rest.unknown_fields import choice

# The times of an event that a range may be of.
TIMES = ("timestamp", "created_at")


class EventExportsApi(Controller):
    path = "/api/projects/{project_id:str}/events/export"
    tags = ("Events",)
    opt = scoped("event")

    @get("/", summary="Export events", operation_class=ExportOperation)
    async def export_events(
        self,
        request: ManagementRequest,
        exports: NamedDependency[Exports],
        format: FromQuery[str | None] = None,  # noqa: A002  the name is the API's
        start_at: FromQuery[str | None] = None,
        end_at: FromQuery[str | None] = None,
        by: FromQuery[str | None] = None,
        event: FromQuery[str | None] = None,
        properties: FromQuery[str | None] = None,
        limit: FromQuery[str | None] = None,
        cursor: FromQuery[str | None] = None,
    ) -> Response[Any]:
        """Return events as a file: `format` is `csv`, `jsonl` (JSON lines) or `parquet`.

        `start_at` (inclusive) and `end_at` (exclusive) are dates, or relative ones such as `-4h`,
        of the event's own time, or with `by=created_at` of the time at which it was accepted;
        `event` and `properties` select events as in the list. Events come day by day, in UTC, and
        within a day in an order that stays the same. `person_id` is the person that the event
        belongs to now.

        Without `limit`, the whole export is sent as one file; a connection that is closed before
        its end leaves an incomplete file. With `limit`, at most so many events are sent, with their
        number in the header `X-Fanion-Rows` and the address of the next ones in `Link`: follow it
        to the end to read every event exactly once, and to continue after an interruption. A
        Parquet file always is such a page. A page has at most 100,000 events, and fewer if they are
        large.
        """
        now: datetime = request.app.state.now()
        start, end = read_range(start_at, end_at, now)
        query = ExportQuery(
            format=read_format(format),
            start=start,
            end=end,
            by_acceptance=choice(TIMES[0] if by is None else by, TIMES, "by") == "created_at",
            event=event,
            properties=read_conditions(properties, "events and persons", with_elements=True),
            now=now,
        )
        after = read_cursor(cursor, Place) if cursor else None
        pages = EventPages(exports.events, request.project.id, query, after)
        rows_max = read_page_limit(limit)
        return await export_response(request, exports, pages, "events", query.format, rows_max)
