"""The worker that writes the hours and days of batch exports, each by one server.

A server writes intervals of several projects at once, so a destination that does not answer delays
only the exports of its own project.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Never

import msgspec
from sqlalchemy import Connection, update

from fanion.accept_log.port import Backlog
from fanion.db.drivers import RecordsUnavailable
from fanion.db.due_work import AHEAD, POLL_S, DueRow, LeasedWorker
from fanion.db.lease import LeaseLost
from fanion.db.schema.exports import batch_exports
from fanion.errors import NotFound, Unavailable
from fanion.events.event import EventStoreUnavailable
from fanion.events.storage.export_query import ExportQuery
from fanion.events.storage.store import EventStore
from fanion.exports.batch.model import FORMAT_OF, BatchExport, columns_from
from fanion.exports.batch.runs_store import begin_run, complete_run, fail_run
from fanion.exports.batch.s3_client import DestinationFailed, S3Bucket, open_bucket
from fanion.exports.batch.store import BatchExportStore
from fanion.exports.events_service import EventPages
from fanion.exports.intervals.files_service import write_interval
from fanion.exports.intervals.model import MANIFEST, SETTLED, Manifest
from fanion.exports.model import PAGE_ROWS_MAX
from fanion.projects.model import Project
from fanion.runtime.background import run_loop
from fanion.webhooks.client import Refused, Resolve

# Intervals that a server writes at once, one of a project; each holds a file in memory. One whose
# destination does not answer takes a place for a minute, and then waits for longer each time.
WRITING_MAX: Final = 4
_FAILURES: Final = (DestinationFailed, Refused, OSError, EventStoreUnavailable)


@dataclass(frozen=True, slots=True)
class ExportSources:
    """The sources of batch exports, and the way to their destinations.

    Attributes:
        backlogs: Returns the backlog of each lane of the accept log; may raise OSError.
        rows_max: The rows of a file.
    """

    events: EventStore
    backlogs: Callable[[], Awaitable[Sequence[Backlog]]]
    resolve: Resolve
    allow_private: bool
    rows_max: int = PAGE_ROWS_MAX


class BatchExportWorker(LeasedWorker[Project]):
    """The writing of the intervals that are over, one after the other in each export.

    Args:
        project_of: Returns a project by its id.
    """

    waits, all_wait, id_name = "batch_export_waits", "batch_exports_wait", "batch_export"
    expected = (*_FAILURES, Unavailable, NotFound)

    def __init__(
        self,
        store: BatchExportStore,
        sources: ExportSources,
        project_of: Callable[[int], Awaitable[Project | None]],
        now: Callable[[], datetime],
    ) -> None:
        super().__init__(store.due, project_of, now)
        self._store = store
        self._sources = sources
        self._writing: dict[asyncio.Task[bool], int] = {}  # the project of each
        self._ended = asyncio.Event()

    async def run(self) -> Never:
        """Write what is due until cancelled, then leave what is being written to other servers."""
        try:
            await run_loop(
                self.poll, POLL_S, self.all_wait, (RecordsUnavailable,), wake=self._ended
            )
        finally:
            for task in self._writing:
                task.cancel()
            await asyncio.gather(*self._writing, return_exceptions=True)

    async def work_once(self) -> bool:
        """Write the longest overdue interval of each project, as many as may be written at once.

        Returns:
            Whether any was begun, so that more may be due.

        Raises:
            RecordsUnavailable: The list of due exports cannot be read.
        """
        has_begun = await super().work_once()
        await asyncio.gather(*self._writing)
        return has_begun

    async def _poll_items(self) -> bool:
        return await super().work_once()

    async def _execute(self, item: DueRow) -> bool:
        """Begin to write an interval, unless its project or all places are taken."""
        if len(self._writing) >= WRITING_MAX or item.project_id in self._writing.values():
            return False
        task = asyncio.create_task(self._write_logged(item))
        self._writing[task] = item.project_id
        task.add_done_callback(self._free_place)
        return True

    async def _write_logged(self, item: DueRow) -> bool:
        try:
            return await super()._execute(item)
        except Exception as error:
            self._log_failure(item, error)
            return False

    def _free_place(self, task: "asyncio.Task[bool]") -> None:
        del self._writing[task]
        # After a failure that changed nothing, the next poll waits its time.
        if not task.cancelled() and task.exception() is None and task.result():
            self._ended.set()

    async def _due_items(self, now: datetime) -> Sequence[DueRow]:
        return await self._rows.due_rows(now, batch_exports.c.paused.is_(False), ahead=AHEAD)

    async def _process(self, row: DueRow, project: Project) -> None:
        export = await self._store.get_export(project.id, row.id)
        try:
            await self._require_complete(export)
            async with self._store.records.write() as connection:
                await connection.run_sync(begin_run, export, self._now())
            manifest = await self._write(row, export)
        except _FAILURES as error:
            await self._fail(row, export, str(error) or type(error).__name__)
            raise
        async with self._store.records.write() as connection:
            await connection.run_sync(self._finish, row, export, manifest)

    async def _require_complete(self, export: BatchExport) -> None:
        """Raise Unavailable unless everything that was accepted in the interval is stored."""
        lanes = await self._sources.backlogs()
        oldest = min((lane.oldest for lane in lanes if lane.oldest), default=None)
        until = min(filter(None, (self._now() - SETTLED, oldest)))
        if export.next_interval.end > until:
            raise Unavailable("events of the interval are still waiting for ingestion")

    async def _write(self, row: DueRow, export: BatchExport) -> Manifest:
        """Write the interval, unless its manifest says that it is written.

        Raises:
            LeaseLost: The export was changed, deleted or claimed by another server.
        """
        keys = await self._store.get_keys(export.project_id, export.id)
        interval = export.next_interval
        path = f"project-{export.project_id}/{interval.name}"
        sources = self._sources
        async with open_bucket(
            export.config, keys, sources.resolve, allow_private=sources.allow_private
        ) as bucket:
            if written := await bucket.read(f"{path}/{MANIFEST}"):
                return msgspec.json.decode(written, type=Manifest)
            names = await bucket.names(path)
            objects = _WhileLeased(bucket, lambda: self._rows.renew(row, self._now()))
            file_format = FORMAT_OF[export.config.file_format]
            pages = self._pages(export)
            return await write_interval(objects, f"{path}/", interval, file_format, pages, names)

    async def _pages(self, export: BatchExport) -> AsyncIterator[tuple[int, bytes]]:
        interval = export.next_interval
        query = ExportQuery(
            format=FORMAT_OF[export.config.file_format],
            start=interval.start,
            end=interval.end,
            by_acceptance=True,
            now=self._now(),
        )
        pages = EventPages(self._sources.events, export.project_id, query)
        cursor: str | None = ""
        while cursor is not None:
            page = await pages.next_page(self._sources.rows_max)
            yield page.rows, pages.head + page.text
            cursor = page.next

    def _finish(
        self, connection: Connection, row: DueRow, export: BatchExport, manifest: Manifest
    ) -> None:
        following = columns_from(export.next_interval.end, export.interval)
        if not self._rows.finish(connection, row, latest_error=None, **following):
            raise LeaseLost
        complete_run(connection, export, manifest, self._now())

    async def _fail(self, row: DueRow, export: BatchExport, error: str) -> None:
        """Show why the interval could not be written, unless the export was changed meanwhile."""
        async with self._store.records.write() as connection:
            await connection.run_sync(self._record_failure, row, export, error)

    def _record_failure(
        self, connection: Connection, row: DueRow, export: BatchExport, error: str
    ) -> None:
        failed = update(batch_exports).where(self._rows.is_unchanged(row))
        if connection.execute(failed.values(latest_error=error)).rowcount == 1:
            fail_run(connection, export, error, self._now())


@dataclass(frozen=True, slots=True)
class _WhileLeased:
    """A bucket to which only the server with the lease writes.

    Attributes:
        renew: Extends the lease, or raises LeaseLost.
    """

    bucket: S3Bucket
    renew: Callable[[], Awaitable[None]]

    async def write(self, name: str, content: bytes) -> None:
        await self.renew()
        await self.bucket.write(name, content)

    async def delete(self, names: Sequence[str]) -> None:
        await self.renew()
        await self.bucket.delete(names)

    async def flush(self) -> None:
        await self.bucket.flush()
