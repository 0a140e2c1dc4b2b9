"""Holdouts in the records store."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from fanion.activity.model import Author, ItemState, item_record
from fanion.activity.store import record_activity
from fanion.db.engine import Records
from fanion.db.schema.experiments import experiment_holdouts
from fanion.errors import Invalid, NotFound
from fanion.experiments.holdouts.schemas import with_variant
from fanion.experiments.model import HoldoutRecord
from fanion.projects.organizations.store import read_user_summaries

HOLDOUTS_MAX = 100  # in one project
_FIELDS = ("name", "description", "filters")
_COLUMNS = tuple(name for name in HoldoutRecord.__struct_fields__ if name != "created_by")

_holdout = experiment_holdouts.c


@dataclass(frozen=True, slots=True)
class HoldoutStore:
    records: Records

    async def list_holdouts(
        self, project_id: int, limit: int, offset: int
    ) -> tuple[Sequence[HoldoutRecord], int]:
        """Return a page of the project's holdouts, newest first, and their total number."""
        theirs = _holdout.project_id == project_id
        count = select(func.count()).select_from(experiment_holdouts).where(theirs)
        rows = select(experiment_holdouts).where(theirs)
        rows = rows.order_by(_holdout.created_at.desc(), _holdout.id.desc())
        async with self.records.read() as connection:
            total = await connection.scalar(count)
            found = (await connection.execute(rows.limit(limit).offset(offset))).all()
            return await connection.run_sync(_read, found), total or 0

    async def get_holdout(self, project_id: int, holdout_id: int) -> HoldoutRecord:
        """Return a holdout, or raise NotFound."""
        async with self.records.read() as connection:
            return await connection.run_sync(get_holdout, project_id, holdout_id)


def get_holdout(
    connection: Connection, project_id: int, holdout_id: int, *, for_update: bool = False
) -> HoldoutRecord:
    """Return a holdout, or raise NotFound."""
    statement = select(experiment_holdouts).where(
        _holdout.project_id == project_id, _holdout.id == holdout_id
    )
    statement = statement.with_for_update() if for_update else statement
    rows = connection.execute(statement).all()
    if not rows:
        raise NotFound
    return _read(connection, rows)[0]


def require_holdout(connection: Connection, project_id: int, holdout_id: int) -> HoldoutRecord:
    """Return a holdout that a request names, or raise Invalid.

    It is not deleted before the transaction ends.
    """
    try:
        return get_holdout(connection, project_id, holdout_id, for_update=True)
    except NotFound:
        raise Invalid(
            f'Invalid pk "{holdout_id}" - object does not exist.',
            code="does_not_exist",
            attr="holdout_id",
        ) from None


def read_holdouts(
    connection: Connection, holdout_ids: Collection[int]
) -> Mapping[int, HoldoutRecord]:
    """Return holdouts by id."""
    if not holdout_ids:
        return {}
    statement = select(experiment_holdouts).where(_holdout.id.in_(holdout_ids))
    rows = connection.execute(statement).all()
    return {holdout.id: holdout for holdout in _read(connection, rows)}


def create_holdout(
    connection: Connection, author: Author, values: Mapping[str, Any]
) -> HoldoutRecord:
    """Create a holdout, whose variant gets the id of the holdout.

    Raises:
        Invalid: The project has too many holdouts.
    """
    theirs = _holdout.project_id == author.project_id
    count = select(func.count()).select_from(experiment_holdouts).where(theirs)
    if (connection.scalar(count) or 0) >= HOLDOUTS_MAX:
        raise Invalid(f"A project can have at most {HOLDOUTS_MAX} holdouts.")
    statement = insert(experiment_holdouts).values(
        project_id=author.project_id,
        created_by_id=author.user_id,
        created_at=author.now,
        updated_at=author.now,
        **values,
    )
    holdout_id = connection.execute(statement.returning(_holdout.id)).scalar_one()
    _set(connection, holdout_id, {"filters": with_variant(values["filters"], holdout_id)})
    created = get_holdout(connection, author.project_id, holdout_id)
    _record(connection, author, None, created)
    return created


def write_holdout(
    connection: Connection, author: Author, before: HoldoutRecord, values: Mapping[str, Any]
) -> HoldoutRecord:
    """Change a locked holdout."""
    differing = {name: value for name, value in values.items() if getattr(before, name) != value}
    if not differing:
        return before
    _set(connection, before.id, {**differing, "updated_at": author.now})
    after = get_holdout(connection, author.project_id, before.id)
    _record(connection, author, before, after)
    return after


def remove_holdout(connection: Connection, author: Author, holdout: HoldoutRecord) -> None:
    """Delete a locked holdout; experiments that had it have none then."""
    connection.execute(delete(experiment_holdouts).where(_holdout.id == holdout.id))
    _record(connection, author, holdout, None)


def _set(connection: Connection, holdout_id: int, values: Mapping[str, Any]) -> None:
    connection.execute(
        update(experiment_holdouts).where(_holdout.id == holdout_id).values(**values)
    )


def _record(
    connection: Connection,
    author: Author,
    before: HoldoutRecord | None,
    after: HoldoutRecord | None,
) -> None:
    former, latest = (None if holdout is None else _state(holdout) for holdout in (before, after))
    record_activity(connection, item_record(author, "ExperimentHoldout", former, latest))


def _state(holdout: HoldoutRecord) -> ItemState:
    fields = {name: getattr(holdout, name) for name in _FIELDS}
    return ItemState(str(holdout.id), holdout.name, fields)


def _read(connection: Connection, rows: Sequence[Row[Any]]) -> list[HoldoutRecord]:
    users = read_user_summaries(connection, (row.created_by_id for row in rows))
    return [
        HoldoutRecord(
            **{name: getattr(row, name) for name in _COLUMNS},
            created_by=users.get(row.created_by_id),
        )
        for row in rows
    ]
