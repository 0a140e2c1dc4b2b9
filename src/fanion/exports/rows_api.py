"""API of the exports of persons and groups."""

from typing import Annotated, Any

from litestar import Controller, Response, get
from litestar.di import NamedDependency
from litestar.params import FromQuery, QueryParameter

from fanion.db.engine import Records
from fanion.exports.model import read_cursor
from fanion.exports.response_api import export_response
from fanion.exports.rows_service import GroupPages, GroupPlace, PersonPages, PersonPlace, RowsQuery
from fanion.exports.schemas import ExportOperation, read_format, read_page_limit, read_range
from fanion.exports.service import Exports
from fanion.groups.model import GROUP_TYPES_MAX
from fanion.projects.request_api import ManagementRequest, scoped


class PersonRowsApi(Controller):
    path = "/api/projects/{project_id:str}/persons/export"
    tags = ("Persons",)
    opt = scoped("person")

    @get("/", summary="Export persons", operation_class=ExportOperation)
    async def export_persons(
        self,
        request: ManagementRequest,
        exports: NamedDependency[Exports],
        records: NamedDependency[Records],
        format: FromQuery[str | None] = None,  # noqa: A002  the name is the API's
        start_at: FromQuery[str | None] = None,
        end_at: FromQuery[str | None] = None,
        limit: FromQuery[str | None] = None,
        cursor: FromQuery[str | None] = None,
    ) -> Response[Any]:
        """Return persons as a file, the oldest first. The times are of their creation.

        Formats and pages are those of the export of events, except that a page has at most 10,000
        persons.
        """
        start, end = read_range(start_at, end_at, request.app.state.now())
        query = RowsQuery(read_format(format), start, end)
        pages = PersonPages(records, exports.events, request.project.id, query)
        pages.after = read_cursor(cursor, PersonPlace) if cursor else None
        rows_max = read_page_limit(limit)
        return await export_response(request, exports, pages, "persons", query.format, rows_max)


class GroupRowsApi(Controller):
    path = "/api/projects/{project_id:str}/groups/export"
    tags = ("Groups",)
    opt = scoped("group")

    @get("/", summary="Export groups", operation_class=ExportOperation)
    async def export_groups(
        self,
        request: ManagementRequest,
        exports: NamedDependency[Exports],
        records: NamedDependency[Records],
        format: FromQuery[str | None] = None,  # noqa: A002  the name is the API's
        start_at: FromQuery[str | None] = None,
        end_at: FromQuery[str | None] = None,
        group_type_index: Annotated[int | None, QueryParameter(ge=0, lt=GROUP_TYPES_MAX)] = None,
        limit: FromQuery[str | None] = None,
        cursor: FromQuery[str | None] = None,
    ) -> Response[Any]:
        """Return the groups of a type, or of all, as a file, by their type and key.

        The times are of their creation. Formats and pages are those of the export of
        events, except that a page has at most 10,000 groups.
        """
        start, end = read_range(start_at, end_at, request.app.state.now())
        query = RowsQuery(read_format(format), start, end, group_type_index)
        pages = GroupPages(records, exports.events, request.project.id, query)
        pages.after = read_cursor(cursor, GroupPlace) if cursor else None
        rows_max = read_page_limit(limit)
        return await export_response(request, exports, pages, "groups", query.format, rows_max)
