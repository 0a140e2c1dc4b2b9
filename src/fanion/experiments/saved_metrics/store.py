"""Saved metrics of experiments in the records store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from fanion.activity.model import Author, ItemState, item_record
from fanion.activity.store import record_activity
from fanion.db.engine import Records
from fanion.db.schema.experiments import experiment_saved_metrics
from fanion.errors import Invalid, NotFound
from fanion.experiments.saved_metrics.model import SavedMetricRecord
from fanion.projects.organizations.store import read_user_summaries

SAVED_METRICS_MAX = 500  # in one project
_FIELDS = ("name", "description", "query", "tags")
_COLUMNS = tuple(name for name in SavedMetricRecord.__struct_fields__ if name != "created_by")

_metric = experiment_saved_metrics.c


@dataclass(frozen=True, slots=True)
class SavedMetricStore:
    records: Records

    async def list_metrics(
        self, project_id: int, limit: int, offset: int
    ) -> tuple[Sequence[SavedMetricRecord], int]:
        """Return a page of the project's saved metrics, newest first, and their total number."""
        theirs = _metric.project_id == project_id
        count = select(func.count()).select_from(experiment_saved_metrics).where(theirs)
        rows = select(experiment_saved_metrics).where(theirs)
        rows = rows.order_by(_metric.created_at.desc(), _metric.id.desc())
        async with self.records.read() as connection:
            total = await connection.scalar(count)
            found = (await connection.execute(rows.limit(limit).offset(offset))).all()
            return await connection.run_sync(_read, found), total or 0

    async def get_metric(self, project_id: int, metric_id: int) -> SavedMetricRecord:
        """Return a saved metric, or raise NotFound."""
        async with self.records.read() as connection:
            return await connection.run_sync(get_metric, project_id, metric_id)


def get_metric(
    connection: Connection, project_id: int, metric_id: int, *, for_update: bool = False
) -> SavedMetricRecord:
    """Return a saved metric, or raise NotFound."""
    statement = select(experiment_saved_metrics).where(
        _metric.project_id == project_id, _metric.id == metric_id
    )
    statement = statement.with_for_update() if for_update else statement
    rows = connection.execute(statement).all()
    if not rows:
        raise NotFound
    return _read(connection, rows)[0]


def create_metric(
    connection: Connection, author: Author, values: Mapping[str, Any]
) -> SavedMetricRecord:
    """Create a saved metric.

    Raises:
        Invalid: The project has too many of them.
    """
    theirs = _metric.project_id == author.project_id
    count = select(func.count()).select_from(experiment_saved_metrics).where(theirs)
    if (connection.scalar(count) or 0) >= SAVED_METRICS_MAX:
        raise Invalid(f"A project can have at most {SAVED_METRICS_MAX} saved metrics.")
    statement = insert(experiment_saved_metrics).values(
        project_id=author.project_id,
        created_by_id=author.user_id,
        created_at=author.now,
        updated_at=author.now,
        **values,
    )
    metric_id = connection.execute(statement.returning(_metric.id)).scalar_one()
    created = get_metric(connection, author.project_id, metric_id)
    _record(connection, author, None, created)
    return created


def write_metric(
    connection: Connection, author: Author, before: SavedMetricRecord, values: Mapping[str, Any]
) -> SavedMetricRecord:
    """Change a locked saved metric."""
    differing = {name: value for name, value in values.items() if getattr(before, name) != value}
    if not differing:
        return before
    this = update(experiment_saved_metrics).where(_metric.id == before.id)
    connection.execute(this.values(**differing, updated_at=author.now))
    after = get_metric(connection, author.project_id, before.id)
    _record(connection, author, before, after)
    return after


def remove_metric(connection: Connection, author: Author, metric_id: int) -> None:
    """Delete a saved metric, also from the experiments that have it, or raise NotFound."""
    gone = get_metric(connection, author.project_id, metric_id, for_update=True)
    connection.execute(delete(experiment_saved_metrics).where(_metric.id == metric_id))
    _record(connection, author, gone, None)


def _record(
    connection: Connection,
    author: Author,
    before: SavedMetricRecord | None,
    after: SavedMetricRecord | None,
) -> None:
    former, latest = (None if metric is None else _state(metric) for metric in (before, after))
    record_activity(connection, item_record(author, "ExperimentSavedMetric", former, latest))


def _state(metric: SavedMetricRecord) -> ItemState:
    return ItemState(str(metric.id), metric.name, {name: getattr(metric, name) for name in _FIELDS})


def _read(connection: Connection, rows: Sequence[Row[Any]]) -> list[SavedMetricRecord]:
    users = read_user_summaries(connection, (row.created_by_id for row in rows))
    return [
        SavedMetricRecord(
            **{name: getattr(row, name) for name in _COLUMNS},
            created_by=users.get(row.created_by_id),
        )
        for row in rows
    ]
