"""API of annotations."""

from typing import Annotated
from uuid import UUID

from litestar import Controller, delete, get, patch, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, QueryParameter, RequestBody
from litestar.response.base import ASGIResponse
from msgspec import structs

from fanion.insights.annotations.model import AnnotationRecord, Scope
from fanion.insights.annotations.schemas import AnnotationChanges, NewAnnotation
from fanion.insights.annotations.service import AnnotationService
from fanion.insights.annotations.store import AnnotationSelection
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.properties.validation import read_time_parameter
from fanion.rest.endpoints import ObjectId, method_not_allowed
from fanion.rest.pagination import Paged
from fanion.rest.validation import INTEGER_MAX, given_fields

InsightId = Annotated[int | None, QueryParameter(name="dashboardItemId", ge=1, le=INTEGER_MAX)]

OfScope = Annotated[Scope | None, QueryParameter(name="scope")]


class AnnotationsApi(Controller):
    path = "/api/projects/{project_id:str}/annotations"
    tags = ("Annotations",)
    opt = scoped("annotation")

    @get("/", summary="List annotations")
    async def annotations(
        self,
        request: ManagementRequest,
        annotations: NamedDependency[AnnotationService],
        search: FromQuery[str | None] = None,
        of_scope: OfScope = None,
        insight_id: InsightId = None,
        date_from: FromQuery[str | None] = None,
        date_to: FromQuery[str | None] = None,
        deleted: FromQuery[bool] = False,
    ) -> Paged[AnnotationRecord]:
        """Return the annotations, with the latest moment first.

        Those of other projects are among them if they are for the whole organization.
        `date_from` and `date_to` are dates, or relative ones such as `-4h`.
        """
        page, now = request.page, request.app.state.now()
        query = AnnotationSelection(
            search,
            of_scope,
            insight_id,
            read_time_parameter(date_from, "date_from", now),
            read_time_parameter(date_to, "date_to", now),
            deleted,
        )
        found, count = await annotations.store.list_annotations(
            _reader(request), query, page.limit, page.offset
        )
        return page.with_results(list(found), count)

    @post("/", summary="Create an annotation")
    async def create(
        self,
        request: ManagementRequest,
        data: RequestBody[NewAnnotation],
        annotations: NamedDependency[AnnotationService],
    ) -> AnnotationRecord:
        """Create an annotation: a note about a moment, which charts show.

        Without `date_marker` it is about now.
        """
        return await annotations.create_annotation(request.author, structs.asdict(data))

    @get("/{annotation_id:str}", summary="Retrieve an annotation")
    async def annotation(
        self,
        request: ManagementRequest,
        annotation_id: FromPath[ObjectId],
        annotations: NamedDependency[AnnotationService],
    ) -> AnnotationRecord:
        return await annotations.store.get_annotation(_reader(request), annotation_id)

    @patch("/{annotation_id:str}", summary="Update an annotation")
    async def change(
        self,
        request: ManagementRequest,
        annotation_id: FromPath[ObjectId],
        data: RequestBody[AnnotationChanges],
        annotations: NamedDependency[AnnotationService],
    ) -> AnnotationRecord:
        """Change an annotation.

        `deleted` deletes and restores; a deleted annotation accepts only `deleted: false`.
        """
        return await annotations.change_annotation(
            request.author, annotation_id, given_fields(data)
        )

    @delete("/{annotation_id:str}", status_code=405, summary="Not supported: set `deleted` instead")
    async def remove(self, annotation_id: FromPath[str]) -> ASGIResponse:
        return method_not_allowed("GET, PATCH")


def _reader(request: ManagementRequest) -> tuple[int, UUID]:
    return request.project.id, request.project.organization_id
