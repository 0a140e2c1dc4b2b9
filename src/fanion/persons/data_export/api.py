"""API of the export of a person's data."""

from datetime import datetime
from typing import Annotated, Any

from litestar import Controller, Response, get
from litestar.di import NamedDependency
from litestar.openapi.spec import OpenAPIFormat, OpenAPIType, Schema
from litestar.params import FromPath, FromQuery
from msgspec import Meta, Struct

from fanion.persons.api import read_person_id
from fanion.persons.data_export.model import (
    AcceptedItem,
    ExportedCohort,
    ExportedPerson,
    ExportedProject,
)
from fanion.persons.data_export.service import PersonExports
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.rest.endpoints import Streamed, no_pieces, response_media_type
from fanion.rest.unknown_fields import no_choice

GZIP = "application/gzip"
# What a key needs besides the scope of persons.
SCOPES = ("event:read", "cohort:read")


class ExportedEventBody(Struct, kw_only=True):
    id: str
    event: str
    distinct_id: str
    timestamp: datetime
    received_at: datetime
    properties: dict[str, Any]


class ExportCounts(Struct, kw_only=True):
    accepted_events: int
    events: int


class PersonExportBody(Struct, kw_only=True):
    exported_at: datetime
    project: ExportedProject
    person: ExportedPerson
    cohorts: list[ExportedCohort]
    accepted_events: Annotated[
        list[AcceptedItem],
        Meta(description="Accepted and not stored yet; one that is stored meanwhile is in both."),
    ]
    events: Annotated[list[ExportedEventBody], Meta(description="Oldest first.")]
    counts: Annotated[
        ExportCounts, Meta(description="Comes last: a file that was broken off lacks it.")
    ]


class PersonExportApi(Controller):
    path = "/api/projects/{project_id:str}/persons"
    tags = ("Persons",)
    opt = scoped("person")

    @get(
        "/{person_id:str}/export",
        summary="Export the data of a person",
        operation_class=response_media_type(
            GZIP, Schema(type=OpenAPIType.STRING, format=OpenAPIFormat.BINARY)
        ),
    )
    async def export_person(
        self,
        request: ManagementRequest,
        person_id: FromPath[str],
        person_exports: NamedDependency[PersonExports],
        compression: FromQuery[str | None] = None,
    ) -> Response[PersonExportBody]:
        """Return all that is stored about a person, and about those merged into it, as one file.

        It has the properties, distinct ids, cohorts and events, and what was accepted and is not
        stored yet. `compression=gzip` packs it. The activity log records the export. A key also
        needs the scopes `event:read` and `cohort:read`.
        """
        if compression not in (None, "", "gzip"):
            raise no_choice(compression, ("gzip",), "compression")
        for scope in SCOPES:
            request.principal.require_access(request.project, scope)
        is_packed, known_id = compression == "gzip", read_person_id(person_id)
        if request.is_head:  # nothing is exported, so nothing is recorded
            person = await person_exports.get_person(request.project.id, known_id)
            return _file(f"person-{person.uuid}", Streamed(no_pieces(), _media_type(is_packed)))
        uuid, pieces = await person_exports.open_export(
            request.author, request.project, known_id, is_packed=is_packed
        )
        return _file(f"person-{uuid}", Streamed(pieces, _media_type(is_packed)))


def _media_type(is_packed: bool) -> str:
    return GZIP if is_packed else "application/json"


def _file(name: str, streamed: Streamed) -> Response[Any]:
    extension = "json.gz" if streamed.media_type == GZIP else "json"
    streamed.headers["content-disposition"] = f'attachment; filename="{name}.{extension}"'
    return streamed
