"""The batch exports of a project over HTTP."""

from litestar import Controller, delete, get, patch, post
from litestar.di import NamedDependency
from litestar.params import FromPath, RequestBody

from fanion.exports.batch.model import BatchExportRun
from fanion.exports.batch.runs_store import list_runs
from fanion.exports.batch.schemas import (
    BatchExportBody,
    BatchExportChanges,
    NewBackfill,
    NewBatchExport,
    PausedBody,
    Unpause,
    batch_export_body,
)
from fanion.exports.batch.service import BatchExportService
from fanion.projects.model import Level
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.rest.endpoints import ObjectId
from fanion.rest.pagination import Paged


class BatchExportsApi(Controller):
    """Endpoints of batch exports, which require administrators: they send all events elsewhere."""

    path = "/api/projects/{project_id:str}/batch_exports"
    tags = ("Batch exports",)
    opt = scoped("batch_export")

    @get("/", summary="List batch exports")
    async def batch_exports(
        self, request: ManagementRequest, batch_exports: NamedDependency[BatchExportService]
    ) -> Paged[BatchExportBody]:
        """Return the batch exports of the project, the newest first."""
        _require_administrator(request)
        page = request.page
        rows, count = await batch_exports.store.list_exports(
            request.project.id, page.limit, page.offset
        )
        return page.with_results([batch_export_body(export) for export in rows], count)

    @post("/", summary="Create a batch export")
    async def create(
        self,
        request: ManagementRequest,
        data: RequestBody[NewBatchExport],
        batch_exports: NamedDependency[BatchExportService],
    ) -> BatchExportBody:
        """Create an export that writes the events of each hour or day, in UTC, when it is over.

        Events are chosen by the time at which they were accepted. The keys of the bucket are not
        shown again.
        """
        _require_administrator(request)
        return batch_export_body(await batch_exports.create_export(request.author, data))

    @get("/{export_id:str}", summary="Retrieve a batch export")
    async def batch_export(
        self,
        request: ManagementRequest,
        export_id: FromPath[ObjectId],
        batch_exports: NamedDependency[BatchExportService],
    ) -> BatchExportBody:
        _require_administrator(request)
        export = await batch_exports.store.get_export(request.project.id, export_id)
        return batch_export_body(export)

    @patch("/{export_id:str}", summary="Update a batch export")
    async def change(
        self,
        request: ManagementRequest,
        export_id: FromPath[ObjectId],
        data: RequestBody[BatchExportChanges],
        batch_exports: NamedDependency[BatchExportService],
    ) -> BatchExportBody:
        """Update the given fields, also those of the destination, and try again at once.

        What is written stays where it is. Keys that are not given stay as they are, but another
        endpoint needs its own.
        """
        _require_administrator(request)
        changed = await batch_exports.change_export(request.author, export_id, data)
        return batch_export_body(changed)

    @delete("/{export_id:str}", summary="Delete a batch export")
    async def remove(
        self,
        request: ManagementRequest,
        export_id: FromPath[ObjectId],
        batch_exports: NamedDependency[BatchExportService],
    ) -> None:
        """Delete the export with its runs. What it has written stays."""
        _require_administrator(request)
        await batch_exports.remove_export(request.author, export_id)

    @post("/{export_id:str}/pause", status_code=200, summary="Pause a batch export")
    async def pause(
        self,
        request: ManagementRequest,
        export_id: FromPath[ObjectId],
        batch_exports: NamedDependency[BatchExportService],
    ) -> PausedBody:
        """Write nothing until the export is unpaused."""
        _require_administrator(request)
        export = await batch_exports.set_paused(request.author, export_id, paused=True)
        return PausedBody(paused=export.paused)

    @post("/{export_id:str}/unpause", status_code=200, summary="Unpause a batch export")
    async def unpause(
        self,
        request: ManagementRequest,
        export_id: FromPath[ObjectId],
        data: RequestBody[Unpause],
        batch_exports: NamedDependency[BatchExportService],
    ) -> PausedBody:
        """Go on with the present hour or day, or with `backfill` where the export was paused."""
        _require_administrator(request)
        export = await batch_exports.set_paused(
            request.author, export_id, paused=False, backfill=data.backfill
        )
        return PausedBody(paused=export.paused)

    @post("/{export_id:str}/backfills", summary="Backfill a batch export")
    async def backfill(
        self,
        request: ManagementRequest,
        export_id: FromPath[ObjectId],
        data: RequestBody[NewBackfill],
        batch_exports: NamedDependency[BatchExportService],
    ) -> BatchExportBody:
        """Go on with an earlier hour or day. Those that have a manifest are not written again."""
        _require_administrator(request)
        export = await batch_exports.begin_backfill(request.author, export_id, data.start_at)
        return batch_export_body(export)

    @get("/{export_id:str}/runs", summary="List the runs of a batch export")
    async def runs(
        self,
        request: ManagementRequest,
        export_id: FromPath[ObjectId],
        batch_exports: NamedDependency[BatchExportService],
    ) -> Paged[BatchExportRun]:
        """Return the hours or days that were written or tried, the newest first; 1,000 are kept."""
        _require_administrator(request)
        store, page = batch_exports.store, request.page
        await store.get_export(request.project.id, export_id)
        rows, count = await list_runs(store.records, export_id, page.limit, page.offset)
        return page.with_results(list(rows), count)


def _require_administrator(request: ManagementRequest) -> None:
    request.principal.require_level(request.project.organization_id, Level.ADMIN)
