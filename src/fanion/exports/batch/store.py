"""Batch exports in the records store, with their activity."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import msgspec
from sqlalchemy import ColumnElement, Connection, Row, delete, func, insert, select, update

from fanion.activity.model import Author, ItemState, item_record
from fanion.activity.store import record_activity
from fanion.db.due_work import DueRows
from fanion.db.engine import Records
from fanion.db.schema.exports import batch_exports
from fanion.db.schema.tables import projects
from fanion.errors import Invalid, NotFound
from fanion.exports.batch.model import BatchExport, BatchExportRun, S3Config, S3Keys
from fanion.exports.batch.runs_store import interrupt_runs, newest_runs
from fanion.projects.auth.keys import mask

BATCH_EXPORTS_MAX: Final = 20  # of one project
# Longer than a request to the destination is tried.
LEASE: Final = timedelta(minutes=10)
_COLUMNS: Final = tuple(
    name for name in BatchExport.__struct_fields__ if name not in ("config", "latest_runs")
)
_RECORDED: Final = ("name", "interval", "paused")
_KEYS: Final = S3Keys.__struct_fields__

_export = batch_exports.c


@dataclass(frozen=True, slots=True)
class BatchExportStore:
    records: Records

    @property
    def due(self) -> DueRows:
        """Return the exports as rows that are due when their next interval is over."""
        return DueRows(self.records, batch_exports, _export.due_at, LEASE)

    async def list_exports(
        self, project_id: int, limit: int, offset: int
    ) -> tuple[Sequence[BatchExport], int]:
        """Return a page of a project's exports, the newest first, and the number of all."""
        theirs = _export.project_id == project_id
        count = select(func.count()).select_from(batch_exports).where(theirs)
        page = select(batch_exports).where(theirs).order_by(_export.id.desc())
        async with self.records.read() as connection:
            total = (await connection.execute(count)).scalar_one()
            rows = (await connection.execute(page.limit(limit).offset(offset))).all()
            return await connection.run_sync(_read_exports, rows), total

    async def get_export(self, project_id: int, export_id: int) -> BatchExport:
        """Return an export, or raise NotFound."""
        async with self.records.read() as connection:
            return await connection.run_sync(get_export, project_id, export_id)

    async def get_keys(self, project_id: int, export_id: int) -> S3Keys:
        """Return the keys of an export, or raise NotFound."""
        async with self.records.read() as connection:
            return await connection.run_sync(read_keys, project_id, export_id)


def get_export(connection: Connection, project_id: int, export_id: int) -> BatchExport:
    """Return an export, or raise NotFound."""
    statement = select(batch_exports).where(_is_export(project_id, export_id))
    rows = connection.execute(statement).all()
    if not rows:
        raise NotFound
    return _read_exports(connection, rows)[0]


def lock_export(connection: Connection, project_id: int, export_id: int) -> BatchExport:
    """Return an export that no other transaction changes until this one ends.

    Raises:
        NotFound: There is no such export.
    """
    _lock_project(connection, project_id)
    return get_export(connection, project_id, export_id)


def read_keys(connection: Connection, project_id: int, export_id: int) -> S3Keys:
    """Return the keys of an export, or raise NotFound."""
    statement = select(*(_export[name] for name in _KEYS))
    row = connection.execute(statement.where(_is_export(project_id, export_id))).first()
    if row is None:
        raise NotFound
    return S3Keys(aws_access_key_id=row[0], aws_secret_access_key=row[1])


def add_export(
    connection: Connection, author: Author, config: S3Config, values: Mapping[str, Any]
) -> BatchExport:
    """Create an export within a transaction.

    Args:
        values: By column, without project, destination and times.

    Raises:
        Invalid: The project has BATCH_EXPORTS_MAX exports, or one to the same place.
    """
    project_id = author.project_id
    _lock_project(connection, project_id)
    theirs = _export.project_id == project_id
    count = select(func.count()).select_from(batch_exports).where(theirs)
    if (connection.scalar(count) or 0) >= BATCH_EXPORTS_MAX:
        raise Invalid(f"A project can have at most {BATCH_EXPORTS_MAX} batch exports.")
    _require_own_place(connection, project_id, config)
    statement = insert(batch_exports).values(
        project_id=project_id,
        config=msgspec.to_builtins(config),
        created_at=author.now,
        last_updated_at=author.now,
        **values,
    )
    added = connection.execute(statement.returning(_export.id)).scalar_one()
    created = get_export(connection, project_id, added)
    _record(connection, author, None, created)
    return created


def write_export(
    connection: Connection, author: Author, before: BatchExport, values: Mapping[str, Any]
) -> BatchExport:
    """Set columns of a locked export.

    Args:
        values: By column, `config` as a record. With `lease_until`, what is being written begins
            again.

    Raises:
        Invalid: Another export of the project writes to the same place.
    """
    columns = dict(values)
    if config := columns.get("config"):
        _require_own_place(connection, author.project_id, config, but=before.id)
        columns["config"] = msgspec.to_builtins(config)
    former = read_keys(connection, author.project_id, before.id)
    this = update(batch_exports).where(_is_export(author.project_id, before.id))
    connection.execute(this.values(last_updated_at=author.now, **columns))
    if "lease_until" in columns:
        interrupt_runs(connection, before.id, author.now)
    after = get_export(connection, author.project_id, before.id)
    _record(connection, author, before, after, former)
    return after


def remove_export(connection: Connection, author: Author, export_id: int) -> None:
    """Delete an export with its runs, or raise NotFound. What it has written stays."""
    gone = lock_export(connection, author.project_id, export_id)
    connection.execute(delete(batch_exports).where(_is_export(author.project_id, export_id)))
    record_activity(connection, item_record(author, "BatchExport", _state(gone, {}), None))


def _require_own_place(
    connection: Connection, project_id: int, config: S3Config, but: int | None = None
) -> None:
    """Raise Invalid if another export of the project writes to the same place."""
    statement = select(_export.id, _export.name, _export.config)
    for row in connection.execute(statement.where(_export.project_id == project_id)):
        if row.id != but and msgspec.convert(row.config, S3Config).place == config.place:
            raise Invalid(
                f"The export {row.name} writes there already. Use another bucket or prefix.",
                attr="destination__config__prefix",
            )


def _lock_project(connection: Connection, project_id: int) -> None:
    """Let concurrent changes wait for each other, so that the limits hold."""
    connection.execute(select(projects.c.id).where(projects.c.id == project_id).with_for_update())


def _record(
    connection: Connection,
    author: Author,
    before: BatchExport | None,
    after: BatchExport,
    former: S3Keys | None = None,
) -> None:
    """Record a change. Of new keys it says only how they begin and end."""
    latest = read_keys(connection, author.project_id, after.id)
    changed = former is not None and former != latest
    was = _state(before, _masked(former) if changed else {}) if before else None
    state = _state(after, _masked(latest) if changed else {})
    record_activity(connection, item_record(author, "BatchExport", was, state))


def _masked(keys: S3Keys | None) -> Mapping[str, Any]:
    return {} if keys is None else {"keys": [mask(getattr(keys, name)) for name in _KEYS]}


def _state(export: BatchExport, keys: Mapping[str, Any]) -> ItemState:
    fields = {name: getattr(export, name) for name in _RECORDED}
    destination = msgspec.to_builtins(export.config)
    return ItemState(str(export.id), export.name, {**fields, "destination": destination, **keys})


def _is_export(project_id: int, export_id: int) -> ColumnElement[bool]:
    return (_export.project_id == project_id) & (_export.id == export_id)


def _read_exports(connection: Connection, rows: Sequence[Row[Any]]) -> list[BatchExport]:
    runs: Mapping[int, list[BatchExportRun]] = {
        row.id: newest_runs(connection, row.id) for row in rows
    }
    return [
        BatchExport(
            config=msgspec.convert(row.config, S3Config),
            latest_runs=runs[row.id],
            **{name: getattr(row, name) for name in _COLUMNS},
        )
        for row in rows
    ]
