"""Experiments in the records store, each read with its flag, its holdout and its saved metrics.

A transaction locks the flag first and then the experiment, as changes of flags do.

Source: experiments.md section 1.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    Text,
    UnaryExpression,
    cast,
    delete,
    func,
    insert,
    select,
    update,
)

from fanion.activity.model import Author, ItemState, item_record
from fanion.activity.store import record_activity
from fanion.db.engine import Records
from fanion.db.schema.experiments import (
    experiment_metric_links,
    experiment_saved_metrics,
    experiments,
)
from fanion.db.schema.tables import feature_flags
from fanion.errors import NotFound
from fanion.experiments.holdouts.store import read_holdouts
from fanion.experiments.model import CONTROL, Experiment, MetricLink, Phase, PlainExperiment
from fanion.experiments.parameters import is_eligible
from fanion.flags.definitions.model import variant_shares
from fanion.flags.definitions.store import READ_IDS_MAX, StoredFlag, flag_rows, stored_flag
from fanion.projects.organizations.store import read_user_summaries

ORDERS = ("name", "created_at", "updated_at", "start_date", "end_date", "id")
STATUSES = ("draft", "running", "paused", "stopped", "all")
# Fields whose changes are recorded in the activity log.
RECORDED = (*PlainExperiment.__struct_fields__, "holdout_id", "saved_metrics", "deleted")
_COLUMNS = tuple(
    name
    for name in Experiment.__struct_fields__
    if name not in ("flag", "holdout", "links", "created_by", "phases")
)

_experiment, _link, _saved = experiments.c, experiment_metric_links.c, experiment_saved_metrics.c
_flag = feature_flags.c


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentQuery:
    """A query for experiments that are not deleted; everything that is set must match.

    Attributes:
        search: Part of the name or the description; case does not matter.
        order: One of ORDERS, with `-` for descending; the newest first if it is empty.
    """

    status: str = ""
    archived: bool = False
    feature_flag_id: int | None = None
    created_by_id: int | None = None
    search: str = ""
    order: str = ""

    @property
    def conditions(self) -> list[ColumnElement[bool]]:
        wanted: list[ColumnElement[bool]] = [_experiment.deleted.is_(False)]
        wanted.append(_experiment.archived.is_(self.archived))
        if self.feature_flag_id is not None:
            wanted.append(_experiment.feature_flag_id == self.feature_flag_id)
        if self.created_by_id is not None:
            wanted.append(_experiment.created_by_id == self.created_by_id)
        if self.search:
            text = self.search.lower()
            columns = (_experiment.name, _experiment.description)
            name, description = (
                func.lower(column).contains(text, autoescape=True) for column in columns
            )
            wanted.append(name | func.coalesce(description, False))
        return [*wanted, *self._status_conditions]

    @property
    def _status_conditions(self) -> list[ColumnElement[bool]]:
        start, end = _experiment.start_date, _experiment.end_date
        if self.status == "draft":
            return [start.is_(None)]
        if self.status == "stopped":
            return [start.is_not(None), end.is_not(None)]
        if self.status not in ("running", "paused"):
            return []
        on = select(_flag.id).where(_flag.id == _experiment.feature_flag_id)
        on = on.where(_flag.active.is_(True), _flag.deleted.is_(False))
        is_on = on.exists() if self.status == "running" else ~on.exists()
        return [start.is_not(None), end.is_(None), is_on]

    @property
    def sorting(self) -> list[UnaryExpression[Any]]:
        newest = [_experiment.created_at.desc(), _experiment.id.desc()]
        if not self.order:
            return newest
        column: ColumnElement[Any] = _experiment[self.order.removeprefix("-")]
        by = column.desc() if self.order.startswith("-") else column.asc()
        return [by.nulls_last(), *newest]


@dataclass(frozen=True, slots=True)
class ExperimentStore:
    records: Records

    async def list_experiments(
        self, project_id: int, query: ExperimentQuery, limit: int, offset: int
    ) -> tuple[Sequence[Experiment], int]:
        """Return a page of experiments, and the number of all that match."""
        conditions = (_experiment.project_id == project_id, *query.conditions)
        count = select(func.count()).select_from(experiments).where(*conditions)
        rows = select(experiments).where(*conditions).order_by(*query.sorting)
        async with self.records.read() as connection:
            total = await connection.scalar(count)
            found = (await connection.execute(rows.limit(limit).offset(offset))).all()
            return await connection.run_sync(read_experiments, found), total or 0

    async def get_experiment(self, project_id: int, experiment_id: int) -> Experiment:
        """Return an experiment, or raise NotFound if it is deleted or unknown."""
        async with self.records.read() as connection:
            experiment = await connection.run_sync(get_experiment, project_id, experiment_id)
        if experiment.deleted:
            raise NotFound
        return experiment

    async def eligible_flags(self, project_id: int) -> Sequence[StoredFlag]:
        """Return the flags with which an experiment can run, newest first."""
        live = flag_rows().where(_flag.project_id == project_id, _flag.deleted.is_(False))
        live = live.where(cast(_flag.filters, Text).like(f'%"{CONTROL}"%'))
        rows = await self.records.fetch(live.order_by(_flag.created_at.desc(), _flag.id.desc()))
        flags = map(stored_flag, rows)
        return [flag for flag in flags if is_eligible(variant_shares(flag.definition.filters))]

    async def has_experiment(self, project_id: int, experiment_id: int) -> bool:
        """Return whether the project has or had this experiment; a deleted one counts."""
        return bool(await self.records.fetch(_rows(project_id, experiment_id)))


def get_experiment(connection: Connection, project_id: int, experiment_id: int) -> Experiment:
    """Return an experiment, even if it is deleted.

    Raises:
        NotFound: There is no such experiment.
    """
    experiment = find_experiment(connection, project_id, experiment_id)
    if experiment is None:
        raise NotFound
    return experiment


def find_experiment(
    connection: Connection, project_id: int, experiment_id: int
) -> Experiment | None:
    """Return an experiment, even if it is deleted; None if there is none."""
    rows = connection.execute(_rows(project_id, experiment_id)).all()
    return next(iter(read_experiments(connection, rows)), None)


def flag_id_of(connection: Connection, project_id: int, experiment_id: int) -> int | None:
    """Return the id of an experiment's flag.

    Raises:
        NotFound: There is no such experiment.
    """
    row = connection.execute(_rows(project_id, experiment_id)).first()
    if row is None:
        raise NotFound
    flag_id: int | None = row.feature_flag_id
    return flag_id


def lock_experiment(connection: Connection, project_id: int, experiment_id: int) -> Experiment:
    """Lock an experiment, whose flag is locked already, and return it.

    Raises:
        NotFound: There is no such experiment.
    """
    statement = _rows(project_id, experiment_id).with_for_update()
    rows = connection.execute(statement).all()
    if not rows:
        raise NotFound
    return read_experiments(connection, rows)[0]


def insert_experiment(connection: Connection, author: Author, values: Mapping[str, Any]) -> int:
    """Insert an experiment and return its id."""
    row = {
        **_new_columns(),
        **_encoded(values),
        "project_id": author.project_id,
        "version": 1,
        "created_by_id": author.user_id,
        "created_at": author.now,
        "updated_at": author.now,
        "checked_at": author.now,
    }
    statement = insert(experiments).values(**row).returning(_experiment.id)
    experiment_id: int = connection.execute(statement).scalar_one()
    return experiment_id


def update_experiment(
    connection: Connection, author: Author, before: Experiment, values: Mapping[str, Any]
) -> None:
    """Set columns of a locked experiment; its version moves on."""
    moved = {"version": before.version + 1, "updated_at": author.now}
    this = update(experiments).where(_experiment.id == before.id)
    connection.execute(this.values(**moved, **_encoded(values)))


def replace_links(
    connection: Connection, author: Author, experiment_id: int, links: Sequence[Mapping[str, Any]]
) -> None:
    """Replace the saved metrics of an experiment.

    Args:
        links: The `saved_metric_id` and the `metadata` of each.
    """
    connection.execute(delete(experiment_metric_links).where(_link.experiment_id == experiment_id))
    rows = [{**link, "experiment_id": experiment_id, "created_at": author.now} for link in links]
    if rows:
        connection.execute(insert(experiment_metric_links), rows)


def record_change(
    connection: Connection, author: Author, before: Experiment | None, after: Experiment
) -> bool:
    """Record a change in the activity; return False if nothing differs."""
    former = None if before is None else _state(before)
    return record_activity(connection, item_record(author, "Experiment", former, _state(after)))


def experiments_of_holdout(connection: Connection, project_id: int, holdout_id: int) -> list[int]:
    """Return the ids of the experiments that use a holdout, oldest first."""
    statement = select(_experiment.id).where(
        _experiment.project_id == project_id, _experiment.holdout_id == holdout_id
    )
    return list(connection.scalars(statement.order_by(_experiment.id)))


def flag_by_key(connection: Connection, project_id: int, key: str) -> StoredFlag | None:
    """Return the flag with this key that is not deleted, locked for the transaction."""
    is_it = (_flag.project_id == project_id, _flag.key == key, _flag.deleted.is_(False))
    row = connection.execute(flag_rows().where(*is_it).with_for_update(of=feature_flags)).first()
    return None if row is None else stored_flag(row)


def known_saved_metrics(
    connection: Connection, project_id: int, ids: Iterable[int]
) -> frozenset[int]:
    statement = select(_saved.id).where(_saved.project_id == project_id, _saved.id.in_(list(ids)))
    return frozenset(connection.scalars(statement))


def read_experiments(connection: Connection, rows: Sequence[Row[Any]]) -> list[Experiment]:
    """Return experiments with all that belongs to them.

    Args:
        rows: Rows with all columns of the table.
    """
    flags = _flags(connection, rows)
    holdouts = read_holdouts(connection, {row.holdout_id for row in rows} - {None})
    links = _links(connection, [row.id for row in rows])
    users = read_user_summaries(connection, (row.created_by_id for row in rows))
    return [
        Experiment(
            **{name: getattr(row, name) for name in _COLUMNS},
            phases=msgspec.convert(row.phases, list[Phase]),
            flag=flags.get(row.feature_flag_id),
            holdout=holdouts.get(row.holdout_id),
            links=links.get(row.id, ()),
            created_by=users.get(row.created_by_id),
        )
        for row in rows
    ]


def _flags(connection: Connection, rows: Sequence[Row[Any]]) -> dict[int, StoredFlag]:
    flags: dict[int, StoredFlag] = {}
    ids = sorted({row.feature_flag_id for row in rows if row.feature_flag_id is not None})
    for start in range(0, len(ids), READ_IDS_MAX):
        batch = ids[start : start + READ_IDS_MAX]
        for row in connection.execute(flag_rows().where(_flag.id.in_(batch))):
            flags[row.id] = stored_flag(row)
    return flags


def _links(connection: Connection, ids: Sequence[int]) -> Mapping[int, list[MetricLink]]:
    links: dict[int, list[MetricLink]] = {}
    for start in range(0, len(ids), READ_IDS_MAX):
        batch = ids[start : start + READ_IDS_MAX]
        rows = connection.execute(
            select(experiment_metric_links, _saved.query, _saved.name)
            .join(experiment_saved_metrics, _saved.id == _link.saved_metric_id)
            .where(_link.experiment_id.in_(batch))
            .order_by(_link.id)
        )
        for row in rows:
            link = MetricLink(
                id=row.id,
                experiment=row.experiment_id,
                saved_metric=row.saved_metric_id,
                metadata=row.metadata,
                query=row.query,
                name=row.name,
                created_at=row.created_at,
            )
            links.setdefault(row.experiment_id, []).append(link)
    return links


def _rows(project_id: int, experiment_id: int) -> Select[Any]:
    is_it = (_experiment.project_id == project_id, _experiment.id == experiment_id)
    return select(experiments).where(*is_it)


def _new_columns() -> dict[str, Any]:
    empty = PlainExperiment(name="", feature_flag_key="")
    plain = {name: getattr(empty, name) for name in PlainExperiment.__struct_fields__}
    return {**plain, "deleted": False}


def _encoded(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return columns with phases as JSON."""
    if "phases" not in values:
        return dict(values)
    return {**values, "phases": msgspec.to_builtins(values["phases"])}


def _state(experiment: Experiment) -> ItemState:
    links = [{"id": link.saved_metric, "metadata": link.metadata} for link in experiment.links]
    shown = {
        name: links if name == "saved_metrics" else getattr(experiment, name) for name in RECORDED
    }
    fields: Mapping[str, Any] = msgspec.to_builtins(shown)
    return ItemState(str(experiment.id), experiment.name, fields)
