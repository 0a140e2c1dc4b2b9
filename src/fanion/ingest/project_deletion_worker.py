"""Background worker that deletes from all stores what deleted projects held.

A project and its keys are deleted from the records at once. This worker then deletes everything
else, in a first sweep at once. What was under way at that moment, in requests, jobs and the accept
log, may be stored after it; a second sweep deletes that. Ingestion leaves out what comes later.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, Never

import structlog
from sqlalchemy import Table

from fanion.accept_log.port import AcceptLog
from fanion.db.engine import Records, RecordsUnavailable
from fanion.db.unwritten import UnwrittenPolls
from fanion.events.event import EventStoreUnavailable
from fanion.events.storage.store import EventStore
from fanion.ingest.erasure_journal_store import ErasureJournal
from fanion.ingest.pipeline.position_store import lane_backlogs
from fanion.projects.deletion.store import (
    EMPTIED,
    ProjectDeletion,
    delete_rows,
    mark_finished,
    mark_swept,
    unfinished_deletions,
)
from fanion.runtime.background import run_loop

LOOK_EVERY_S: Final = 10.0
# Looks in a row that are left out while all are finished and nobody writes an SQLite store.
LEFT_OUT_MAX: Final = 5
# Other servers notice the deletion within a second. Requests that were in progress, calculations
# and inserts take at most this long.
UNDER_WAY: Final = timedelta(minutes=1)

_FAILURES = (EventStoreUnavailable, RecordsUnavailable, OSError)


class ProjectDeletionWorker:
    """The worker that finishes deletions of projects.

    It may be interrupted anywhere: what is left is looked up in the stores.
    """

    def __init__(
        self,
        records: Records,
        events: EventStore,
        log: AcceptLog,
        now: Callable[[], datetime],
        journal: ErasureJournal,
    ) -> None:
        self._records = records
        self._events = events
        self._accepted = log
        self._now = now
        self._journal = journal
        self._begun = asyncio.Event()
        self._unwritten = UnwrittenPolls(records.write_mark, LEFT_OUT_MAX)
        self._is_work_left = True
        self._log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

    def wake(self) -> None:
        """Look for deletions at once, because one has begun."""
        self._begun.set()

    async def run(self) -> Never:
        """Finish deletions that any process has begun, until cancelled."""
        await run_loop(
            self.poll, LOOK_EVERY_S, "project_deletion_waits", _FAILURES, wake=self._begun
        )

    async def poll(self) -> None:
        """Do what `work_once` does, unless all are finished and an SQLite store is unwritten."""
        await self._unwritten.poll(self.work_once, has_work=self._is_work_left)

    async def work_once(self) -> None:
        """Continue every unfinished deletion as far as possible.

        Raises:
            EventStoreUnavailable: The event store failed.
            RecordsUnavailable: The records store failed.
            OSError: The accept log failed.
        """
        async with self._records.read() as connection:
            deletions = await connection.run_sync(unfinished_deletions)
        self._is_work_left = bool(deletions)
        if deletions:
            await asyncio.to_thread(self._journal.note_projects, deletions)
        for deletion in deletions:
            if not deletion.is_swept:
                await self._sweep(deletion.project_id)
                async with self._records.write() as connection:
                    await connection.run_sync(mark_swept, deletion.project_id, self._now())
            elif await self._may_finish(deletion):
                await self._sweep(deletion.project_id)
                async with self._records.write() as connection:
                    await connection.run_sync(mark_finished, deletion.project_id, self._now())
                self._log.info("project_deleted", project=deletion.project_id)

    async def _sweep(self, project_id: int) -> None:
        """Delete everything of a project from the records and the event store."""
        for table in EMPTIED:
            while await self._delete_some(table, project_id):
                pass
        await self._events.erase_project(project_id)

    async def _delete_some(self, table: Table, project_id: int) -> bool:
        async with self._records.write() as connection:
            return await connection.run_sync(delete_rows, table, project_id)

    async def _may_finish(self, deletion: ProjectDeletion) -> bool:
        """Return whether nothing from before the deletion can still reach the stores."""
        noticed_at = deletion.requested_at + UNDER_WAY
        if self._now() <= noticed_at:
            return False
        lanes = await lane_backlogs(self._records, self._accepted)
        return all(lane.oldest is None or lane.oldest > noticed_at for lane in lanes)
