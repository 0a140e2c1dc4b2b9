"""Scheduled changes of flags as they are stored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, Row, Select, func, select, update

from fanion.db.schema.flags import scheduled_changes
from fanion.db.schema.tables import users
from fanion.flags.automation.schedule import Step
from fanion.projects.model import UserSummary, user_summary
from fanion.projects.organizations_store import USER_SUMMARY

FLAG_DELETED = "The feature flag was deleted."

_change = scheduled_changes.c


@dataclass(frozen=True, slots=True)
class ScheduledChange:
    """due_at: of the next step, None when nothing is left to be done"""

    id: int
    project_id: int
    flag_id: int
    payload: Mapping[str, Any]
    steps: Sequence[Step]
    due_at: datetime | None
    executed_at: datetime | None
    failure_reason: str | None
    created_at: datetime
    created_by: UserSummary | None

    @property
    def scheduled_at(self) -> datetime:
        """Of the step that comes next, or came last."""
        return self.due_at or next(
            (one.scheduled_at for one in self.steps if one.executed_at is None),
            self.steps[-1].scheduled_at,
        )


def of_flag(project_id: int, flag_id: int) -> ColumnElement[bool]:
    return (_change.project_id == project_id) & (_change.flag_id == flag_id)


def page_of_changes(
    connection: Connection, project_id: int, flag_id: int, limit: int, offset: int
) -> tuple[Sequence[ScheduledChange], int]:
    """The newest first, with the number of all of them."""
    theirs = of_flag(project_id, flag_id)
    total = connection.scalar(select(func.count()).select_from(scheduled_changes).where(theirs))
    rows = _rows().where(theirs).order_by(_change.id.desc()).limit(limit).offset(offset)
    return [_read(row) for row in connection.execute(rows)], total or 0


def get_change(
    connection: Connection,
    project_id: int,
    flag_id: int,
    change_id: int,
    *,
    for_update: bool = False,
) -> ScheduledChange | None:
    statement = _rows().where(of_flag(project_id, flag_id), _change.id == change_id)
    if for_update:
        statement = statement.with_for_update(of=scheduled_changes)
    row = connection.execute(statement).first()
    return None if row is None else _read(row)


def cancel_changes(connection: Connection, flag_id: int) -> None:
    """Whatever waits will not be done. To be called in the transaction that deletes the flag."""
    connection.execute(
        update(scheduled_changes)
        .where(_change.flag_id == flag_id, _change.due_at.is_not(None))
        .values(due_at=None, failure_reason=FLAG_DELETED)
    )


def _rows() -> Select[Any]:
    return select(
        _change.id,
        _change.project_id,
        _change.flag_id,
        _change.payload,
        _change.steps,
        _change.due_at,
        _change.executed_at,
        _change.failure_reason,
        _change.created_at,
        *USER_SUMMARY,
    ).select_from(scheduled_changes.outerjoin(users, users.c.id == _change.created_by_id))


def _read(row: Row[Any]) -> ScheduledChange:
    return ScheduledChange(
        row.id,
        row.project_id,
        row.flag_id,
        row.payload,
        msgspec.convert(row.steps, list[Step]),
        row.due_at,
        row.executed_at,
        row.failure_reason,
        row.created_at,
        user_summary(row),
    )
