"""Scheduled changes of flags in the records store, each step executed by one server.

An execution locks the flag, then the change, and writes both in one transaction, so a second server
finds the step done, and no lease is needed (decision 23). Every transaction locks in this order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
from msgspec.structs import replace
from sqlalchemy import ColumnElement, Connection, Row, Select, delete, func, insert, select, update

from fanion.activity.model import Author, Trigger
from fanion.db.due_work import AHEAD, DUE_MAX
from fanion.db.engine import Records, RecordsUnavailable
from fanion.db.schema.flags import scheduled_changes
from fanion.db.schema.tables import users
from fanion.errors import AppError, Invalid, NotFound
from fanion.flags.automation.schedule import (
    NewScheduledChange,
    Step,
    payload_of_step,
    planned_values,
    read_plan,
    served_payload,
)
from fanion.flags.definitions.access_store import access_now
from fanion.flags.definitions.changes_store import change_flag, record_updated, related_change
from fanion.flags.definitions.releases_store import require_no_release
from fanion.flags.definitions.store import StoredFlag, lock_flag
from fanion.projects.model import Project, UserSummary, user_summary
from fanion.projects.organizations.store import USER_SUMMARY

# Pending and completed changes of one flag.
WAITING_MAX = 100
DONE_MAX = 100
_LEFT = "The user who scheduled the change is no longer a member of the organization."
_NO_RIGHT = "The user who scheduled the change may no longer edit this feature flag."
_INTERNAL = "The change failed on the server's side."

_change = scheduled_changes.c


@dataclass(frozen=True, slots=True)
class ScheduledChange:
    """A scheduled change of one flag.

    Attributes:
        due_at: The time of the next step; None if no step remains.
    """

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
        """Return the time of the next step, or else of the step that came last."""
        return self.due_at or next(
            (step.scheduled_at for step in self.steps if step.executed_at is None),
            self.steps[-1].scheduled_at,
        )


@dataclass(frozen=True, slots=True)
class DueChange:
    """A change whose next step is due."""

    id: int
    project_id: int
    flag_id: int
    due_at: datetime


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """The outcome of executing one step.

    Attributes:
        failure_reason: None if the step was executed.
        error: An unexpected exception.
    """

    failure_reason: str | None = None
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class ScheduledChangeStore:
    """The scheduled changes of flags.

    The flag must belong to the project given with it; otherwise it has no changes here.
    """

    records: Records

    async def changes_page(
        self, project_id: int, flag_id: int, limit: int, offset: int
    ) -> tuple[Sequence[ScheduledChange], int]:
        """Return a page of a flag's changes, newest first, and their total number."""
        is_of_flag = _is_of_flag(project_id, flag_id)
        count = select(func.count()).select_from(scheduled_changes).where(is_of_flag)
        rows = (
            _select_changes()
            .where(is_of_flag)
            .order_by(_change.id.desc())
            .limit(limit)
            .offset(offset)
        )
        async with self.records.read() as connection:
            total = await connection.scalar(count)
            return [_change_of_row(row) for row in await connection.execute(rows)], total or 0

    async def get_change(self, project_id: int, flag_id: int, change_id: int) -> ScheduledChange:
        async with self.records.read() as connection:
            change = await connection.run_sync(_get_change, project_id, flag_id, change_id)
        if change is None:
            raise NotFound
        return change

    async def create_change(
        self, author: Author, flag_id: int, data: NewScheduledChange
    ) -> ScheduledChange:
        """Schedule a change of a flag.

        Raises:
            NotFound: There is no such flag.
            Invalid: The change could not be applied to it.
        """
        async with self.records.write() as connection:
            return await connection.run_sync(_create_change, author, flag_id, data)

    async def cancel_change(self, author: Author, flag_id: int, change_id: int) -> None:
        """Cancel a scheduled change.

        Raises:
            NotFound: There is no such flag or change.
            Invalid: No step of the change remains.
        """
        async with self.records.write() as connection:
            await connection.run_sync(_cancel_change, author, flag_id, change_id)

    async def due_changes(self, now: datetime) -> Sequence[DueChange]:
        """Return changes that fall due within AHEAD, the longest overdue first, at most DUE_MAX."""
        statement = (
            select(_change.id, _change.project_id, _change.flag_id, _change.due_at)
            .where(_change.due_at <= now + AHEAD)
            .order_by(_change.due_at, _change.id)
            .limit(DUE_MAX)
        )
        rows: Sequence[Any] = await self.records.fetch(statement)
        return [DueChange(*row) for row in rows]

    async def execute_step(
        self, due: DueChange, project: Project, now: datetime
    ) -> StepOutcome | None:
        """Execute a change's next step.

        Returns:
            None if another server has executed the step, or the change was cancelled.
        """
        async with self.records.write() as connection:
            return await connection.run_sync(_execute_step, due, project, now)


def _create_change(
    connection: Connection, author: Author, flag_id: int, data: NewScheduledChange
) -> ScheduledChange:
    project_id = author.project_id
    flag = lock_flag(connection, project_id, flag_id)
    if flag is None:
        raise NotFound
    plan = read_plan(data, flag.definition, author.now)
    if plan.payload["operation"] == "update_rollout_percentage":
        require_no_release(connection, flag_id, plan.payload.get("condition_index", 0))
    _make_room(connection, project_id, flag_id)
    statement = insert(scheduled_changes).values(
        project_id=project_id,
        flag_id=flag_id,
        payload=plan.payload,
        steps=msgspec.to_builtins(plan.steps),
        due_at=plan.steps[0].scheduled_at,
        executed_at=None,
        failure_reason=None,
        created_by_id=author.user_id,
        created_at=author.now,
    )
    change_id = connection.execute(statement.returning(_change.id)).scalar_one()
    change = _get_change(connection, project_id, flag_id, change_id)
    assert change is not None
    record_updated(
        connection,
        author,
        flag_id,
        flag.definition.key,
        [related_change("scheduled_change", None, _recorded_change(change))],
    )
    return change


def _make_room(connection: Connection, project_id: int, flag_id: int) -> None:
    """Delete the flag's oldest completed changes, and raise Invalid if too many are pending."""
    is_of_flag = _is_of_flag(project_id, flag_id)
    pending = connection.scalar(
        select(func.count())
        .select_from(scheduled_changes)
        .where(is_of_flag, _change.due_at.is_not(None))
    )
    if (pending or 0) >= WAITING_MAX:
        raise Invalid(
            f"This feature flag has {WAITING_MAX} scheduled changes that are not executed yet: no "
            "more can be scheduled."
        )
    done = select(_change.id).where(is_of_flag, _change.due_at.is_(None))
    oldest = done.order_by(_change.id.desc()).offset(DONE_MAX - 1)
    connection.execute(
        delete(scheduled_changes).where(_change.id.in_(list(connection.scalars(oldest))))
    )


def _cancel_change(connection: Connection, author: Author, flag_id: int, change_id: int) -> None:
    project_id = author.project_id
    flag = lock_flag(connection, project_id, flag_id)
    change = _get_change(connection, project_id, flag_id, change_id, for_update=True)
    if flag is None or change is None:
        raise NotFound
    if change.due_at is None:
        raise Invalid(
            "This scheduled change has been executed or has failed; it cannot be cancelled."
        )
    connection.execute(delete(scheduled_changes).where(_change.id == change_id))
    record_updated(
        connection,
        author,
        flag_id,
        flag.definition.key,
        [related_change("scheduled_change", _recorded_change(change), None)],
    )


def _execute_step(
    connection: Connection, due: DueChange, project: Project, now: datetime
) -> StepOutcome | None:
    flag = lock_flag(connection, due.project_id, due.flag_id)
    change = _get_change(connection, due.project_id, due.flag_id, due.id, for_update=True)
    if flag is None or change is None or change.due_at is None or change.due_at > now:
        return None
    index = next(n for n, step in enumerate(change.steps) if step.executed_at is None)
    outcome = _try_step(connection, flag, change, change.steps[index], project, now)
    values: dict[str, Any]
    if outcome.failure_reason is not None:
        values = {"due_at": None, "failure_reason": outcome.failure_reason}
    else:
        steps = list(change.steps)
        steps[index] = replace(steps[index], executed_at=now)
        is_last = index + 1 == len(steps)
        values = {
            "steps": msgspec.to_builtins(steps),
            "due_at": None if is_last else steps[index + 1].scheduled_at,
            "executed_at": now if is_last else None,
        }
    connection.execute(update(scheduled_changes).where(_change.id == change.id).values(**values))
    return outcome


def _try_step(
    connection: Connection,
    flag: StoredFlag,
    change: ScheduledChange,
    step: Step,
    project: Project,
    now: datetime,
) -> StepOutcome:
    """Apply a step to the locked flag; a failure rolls back what was done to the flag only."""
    payload = payload_of_step(change.payload, step)
    user_id = None if change.created_by is None else change.created_by.id
    if user_id is not None:  # the user who scheduled the change must still have the right
        access = access_now(connection, user_id, project.organization_id, project.id)
        if access is None:
            return StepOutcome(_LEFT)
        if not access.can_edit(change.flag_id, flag.creator_id):
            return StepOutcome(_NO_RIGHT)
    author = Author(
        project_id=project.id,
        organization_id=project.organization_id,
        user_id=user_id,
        now=now,
        trigger=Trigger(job_type="scheduled_change", job_id=str(change.id), payload=payload),
    )
    try:
        with connection.begin_nested():
            change_flag(connection, author, flag, planned_values(payload, flag.definition))
    except RecordsUnavailable:
        raise
    except AppError as error:
        return StepOutcome(error.detail)
    except Exception as error:
        return StepOutcome(_INTERNAL, error)
    return StepOutcome()


def _recorded_change(change: ScheduledChange) -> dict[str, Any]:
    return {
        "id": change.id,
        "scheduled_at": change.scheduled_at,
        "payload": change.payload,
    }


def _is_of_flag(project_id: int, flag_id: int) -> ColumnElement[bool]:
    return (_change.project_id == project_id) & (_change.flag_id == flag_id)


def _get_change(
    connection: Connection,
    project_id: int,
    flag_id: int,
    change_id: int,
    *,
    for_update: bool = False,
) -> ScheduledChange | None:
    statement = _select_changes().where(_is_of_flag(project_id, flag_id), _change.id == change_id)
    if for_update:
        statement = statement.with_for_update(of=scheduled_changes)
    row = connection.execute(statement).first()
    return None if row is None else _change_of_row(row)


def _select_changes() -> Select[Any]:
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


def _change_of_row(row: Row[Any]) -> ScheduledChange:
    return ScheduledChange(
        row.id,
        row.project_id,
        row.flag_id,
        served_payload(row.payload),
        msgspec.convert(row.steps, list[Step]),
        row.due_at,
        row.executed_at,
        row.failure_reason,
        row.created_at,
        user_summary(row),
    )
