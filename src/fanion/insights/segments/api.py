"""API of segments."""

from litestar import Controller, delete, get, patch, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, RequestBody
from litestar.response.base import ASGIResponse
from msgspec import structs

from fanion.insights.segments.model import SegmentRecord
from fanion.insights.segments.schemas import NewSegment, SegmentChanges
from fanion.insights.segments.service import SegmentService
from fanion.projects.activity_api import ActivityPage, activity_page
from fanion.projects.named_items.store import ItemSelection
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.rest.endpoints import ObjectId, method_not_allowed
from fanion.rest.pagination import Paged
from fanion.rest.validation import given_fields


class SegmentsApi(Controller):
    path = "/api/projects/{project_id:str}/segments"
    tags = ("Segments",)
    opt = scoped("insight")

    @get("/", summary="List segments")
    async def list_segments(
        self,
        request: ManagementRequest,
        segments: NamedDependency[SegmentService],
        search: FromQuery[str | None] = None,
        deleted: FromQuery[bool] = False,
    ) -> Paged[SegmentRecord]:
        """Return the segments, ordered by name, with `deleted=true` only deleted ones.

        `search` is part of the name, in any case.
        """
        page, query = request.page, ItemSelection((search or "").strip(), deleted)
        found, count = await segments.page(request.project.id, query, page.limit, page.offset)
        return page.with_results(list(found), count)

    @post("/", summary="Create a segment")
    async def create(
        self,
        request: ManagementRequest,
        data: RequestBody[NewSegment],
        segments: NamedDependency[SegmentService],
    ) -> SegmentRecord:
        """Create a segment: a named set of conditions.

        Conditions name it as `{"type": "segment", "key": "id", "value": 5, "operator": "in"}`, or
        with `not_in` for the events that do not fulfil it.
        """
        return await segments.create(request.author, structs.asdict(data))

    @get("/activity", summary="List the activity of all segments", scope="activity_log:read")
    async def all_activity(
        self, request: ManagementRequest, segments: NamedDependency[SegmentService]
    ) -> ActivityPage:
        return await activity_page(request, segments.records, "Segment")

    @get("/{segment_id:str}", summary="Retrieve a segment")
    async def segment(
        self,
        request: ManagementRequest,
        segment_id: FromPath[ObjectId],
        segments: NamedDependency[SegmentService],
    ) -> SegmentRecord:
        """Return the segment, even if it is deleted."""
        return await segments.get(request.project.id, segment_id)

    @patch("/{segment_id:str}", summary="Update a segment")
    async def change(
        self,
        request: ManagementRequest,
        segment_id: FromPath[ObjectId],
        data: RequestBody[SegmentChanges],
        segments: NamedDependency[SegmentService],
    ) -> SegmentRecord:
        """Change a segment, which changes the answers of everything that uses it.

        A segment that insights or dashboards use cannot be deleted.
        """
        return await segments.change(request.author, segment_id, given_fields(data))

    @get(
        "/{segment_id:str}/activity",
        summary="List a segment's activity",
        scope="activity_log:read",
    )
    async def segment_activity(
        self,
        request: ManagementRequest,
        segment_id: FromPath[ObjectId],
        segments: NamedDependency[SegmentService],
    ) -> ActivityPage:
        segment = await segments.get(request.project.id, segment_id)
        return await activity_page(request, segments.records, "Segment", str(segment.id))

    @delete("/{segment_id:str}", status_code=405, summary="Not supported: set `deleted` instead")
    async def remove(self, segment_id: FromPath[str]) -> ASGIResponse:
        return method_not_allowed("GET, PATCH")
