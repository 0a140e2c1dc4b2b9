"""API to export and import a project's definitions."""

from dataclasses import dataclass
from typing import Any, ClassVar

from litestar import Controller, Response, get, post
from litestar.di import NamedDependency
from litestar.openapi.spec import (
    OpenAPIFormat,
    OpenAPIMediaType,
    OpenAPIType,
    Operation,
    Schema,
)
from litestar.openapi.spec import (
    RequestBody as DocumentedBody,
)
from litestar.params import RequestBody
from msgspec import Struct

from fanion.errors import Invalid
from fanion.projects.model import Level
from fanion.projects.request_api import FRESH, ManagementRequest
from fanion.rest.endpoints import Streamed, no_pieces
from fanion.rest.unknown_fields import CREDENTIAL_NAMES, require_known
from fanion.transfer.task import ImportReport
from fanion.transfer.task_client import FILE_FIELD, ProjectTransfers

JSON = "application/json"


class ExportedProject(Struct, kw_only=True):
    """A document; docs/transfer.md describes its entries."""

    format: str
    version: int
    group_types: list[dict[str, Any]]
    event_definitions: list[dict[str, Any]]
    property_definitions: list[dict[str, Any]]
    cohorts: list[dict[str, Any]]
    insights: list[dict[str, Any]]
    dashboards: list[dict[str, Any]]
    roles: list[dict[str, Any]]
    flags: list[dict[str, Any]]


class ImportForm(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = frozenset({FILE_FIELD})

    dry_run: bool = False


_FORM = Schema(
    type=OpenAPIType.OBJECT,
    required=[FILE_FIELD],
    properties={
        FILE_FIELD: Schema(
            type=OpenAPIType.STRING,
            format=OpenAPIFormat.BINARY,
            description="A document of an export.",
        ),
        "dry_run": Schema(
            type=OpenAPIType.BOOLEAN, description="Report the changes without making them."
        ),
    },
)


@dataclass
class _TakesForm(Operation):
    def __post_init__(self) -> None:
        content = {"multipart/form-data": OpenAPIMediaType(schema=_FORM)}
        self.request_body = DocumentedBody(content=content, required=True)


class ProjectTransferApi(Controller):
    path = "/api/projects/{project_id:str}"
    tags = ("Projects",)

    @get("/export", summary="Export a project", **FRESH)
    async def export_project(
        self, request: ManagementRequest, transfers: NamedDependency[ProjectTransfers]
    ) -> Response[ExportedProject]:
        """Return the definitions of a project as one document, as `fanion export` writes it.

        The document contains flags, cohorts (with members of static ones), definitions, insights,
        dashboards, alerts, roles and the test account conditions, but no events or persons.
        Requires an administrator, and a key without scopes. The activity log records the export.
        """
        project = request.project
        request.principal.require_level(project.organization_id, Level.ADMIN)
        if request.is_head:  # nothing is exported, so nothing is recorded
            pieces = no_pieces()
        else:
            exporting = transfers.open_export(request.author, project)
            pieces = await request.unless_client_left(exporting)
        name = f'attachment; filename="project-{project.id}.json"'
        document: Response[Any] = Streamed(pieces, JSON, headers={"content-disposition": name})
        return document

    @post(
        "/import",
        status_code=200,
        summary="Import a project",
        operation_class=_TakesForm,
        takes_files=True,
        **FRESH,
    )
    async def import_project(
        self,
        request: ManagementRequest,
        data: RequestBody[ImportForm],
        transfers: NamedDependency[ProjectTransfers],
    ) -> ImportReport:
        """Create and update the objects in a document, as `fanion import` does.

        Upload the document as `file`, a field of multipart/form-data. Nothing is deleted, and
        importing the same document again changes nothing. The whole document is validated first,
        then written in one transaction. With `dry_run` the report is the same, but nothing is
        changed. Requires an administrator, and a key without scopes or expiry.
        """
        request.principal.require_level(request.project.organization_id, Level.ADMIN)
        request.principal.require_may_give_access()
        body = await request.values()
        require_known(body.files, {FILE_FIELD, "dry_run"} | CREDENTIAL_NAMES)
        file = body.files.get(FILE_FIELD)
        if file is None:
            raise Invalid(
                "Upload the document as multipart/form-data.", code="required", attr=FILE_FIELD
            )
        importing = transfers.import_file(request.author, file, dry_run=data.dry_run)
        return await request.unless_client_left(importing)
