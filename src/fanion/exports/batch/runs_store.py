"""The runs of batch exports in the records store: one row for each hour or day."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, delete, func, insert, select, update

from fanion.db.engine import Records
from fanion.db.schema.exports import batch_export_runs
from fanion.exports.batch.model import BatchExport, BatchExportRun
from fanion.exports.intervals.model import Manifest

RUNS_KEPT: Final = 1_000  # of one export, six weeks of hours
_NEWEST: Final = 10
_INTERRUPTED: Final = "The export was changed."

_run = batch_export_runs.c
_COLUMNS: Final = tuple(_run[name] for name in BatchExportRun.__struct_fields__)


async def list_runs(
    records: Records, export_id: int, limit: int, offset: int
) -> tuple[Sequence[BatchExportRun], int]:
    """Return a page of an export's runs, the newest first, and the number of all."""
    theirs = _run.export_id == export_id
    count = select(func.count()).select_from(batch_export_runs).where(theirs)
    page = select(*_COLUMNS).where(theirs).order_by(_run.id.desc()).limit(limit).offset(offset)
    async with records.read() as connection:
        total = (await connection.execute(count)).scalar_one()
        rows = (await connection.execute(page)).all()
    return [BatchExportRun(**row._asdict()) for row in rows], total


def newest_runs(connection: Connection, export_id: int) -> list[BatchExportRun]:
    """Return the last runs of an export, the newest first."""
    theirs = select(*_COLUMNS).where(_run.export_id == export_id)
    rows = connection.execute(theirs.order_by(_run.id.desc()).limit(_NEWEST))
    return [BatchExportRun(**row._asdict()) for row in rows]


def begin_run(connection: Connection, export: BatchExport, now: datetime) -> None:
    """Note that the next interval is being written, once more if it was tried before."""
    again = {"status": "Running", "attempts": _run.attempts + 1}
    if not _update(connection, export, now, finished_at=None, **again):
        _insert(connection, export, now, status="Running", attempts=1)


def complete_run(
    connection: Connection, export: BatchExport, manifest: Manifest, now: datetime
) -> None:
    """Note that an interval is written, and delete runs that are older than the last RUNS_KEPT."""
    values = {
        "status": "Completed",
        "records_completed": manifest.rows,
        "bytes_exported": sum(file.bytes for file in manifest.files),
        "latest_error": None,
        "finished_at": now,
    }
    _update(connection, export, now, **values)
    theirs = _run.export_id == export.id
    newest_left_out = select(_run.id).where(theirs).order_by(_run.id.desc()).offset(RUNS_KEPT)
    old = _run.id <= newest_left_out.limit(1).scalar_subquery()
    connection.execute(delete(batch_export_runs).where(theirs, old))


def fail_run(connection: Connection, export: BatchExport, error: str, now: datetime) -> None:
    """Note why the interval could not be written."""
    _update(connection, export, now, status="FailedRetryable", latest_error=error, finished_at=now)


def interrupt_runs(connection: Connection, export_id: int, now: datetime) -> None:
    """Note that what is being written ends, because the export was changed."""
    running = (_run.export_id == export_id) & (_run.status == "Running")
    values = {"status": "FailedRetryable", "latest_error": _INTERRUPTED, "finished_at": now}
    connection.execute(
        update(batch_export_runs).where(running).values(last_updated_at=now, **values)
    )


def _update(connection: Connection, export: BatchExport, now: datetime, **values: Any) -> bool:
    statement = update(batch_export_runs).where(_is_next(export))
    return connection.execute(statement.values(last_updated_at=now, **values)).rowcount == 1


def _insert(connection: Connection, export: BatchExport, now: datetime, **values: Any) -> None:
    interval = export.next_interval
    statement = insert(batch_export_runs).values(
        project_id=export.project_id,
        export_id=export.id,
        data_interval_start=interval.start,
        data_interval_end=interval.end,
        created_at=now,
        last_updated_at=now,
        **values,
    )
    connection.execute(statement)


def _is_next(export: BatchExport) -> ColumnElement[bool]:
    start = export.next_interval.start
    return (_run.export_id == export.id) & (_run.data_interval_start == start)
