"""Scheduled changes in the records store: made, taken back, and executed by one server each.

An execution locks the flag, then the change, and writes both in one transaction: of
several servers the second finds it done. Every transaction locks in this order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
from msgspec.structs import replace
from sqlalchemy import Connection, delete, func, insert, select, update

from fanion.activity.model import Author, Trigger
from fanion.db.engine import Records, RecordsUnavailable
from fanion.db.schema.flags import scheduled_changes
from fanion.errors import AppError, Invalid, NotFound, PermissionDenied
from fanion.flags.automation.schedule import (
    NewScheduledChange,
    Step,
    payload_of_step,
    planned_values,
    read_plan,
)
from fanion.flags.management.role_access_store import access_now
from fanion.flags.storage.activity import record_updated, scheduled_change
from fanion.flags.storage.changes import change_flag
from fanion.flags.storage.rows import StoredFlag, lock_flag
from fanion.flags.storage.schedule_rows import (
    ScheduledChange,
    get_change,
    of_flag,
    page_of_changes,
)
from fanion.projects.model import Project

# Of one flag.
WAITING_MAX = 100
DONE_KEPT = 100
# Of one look; the next one follows at once when there were so many.
DUE_MAX = 100
_LEFT = "The user who scheduled the change is no longer a member of the organization."
_NO_RIGHT = "The user who scheduled the change may no longer edit this feature flag."
_INTERNAL = "The change failed on the server's side."

_change = scheduled_changes.c


@dataclass(frozen=True, slots=True)
class DueChange:
    """A change whose time has come."""

    id: int
    project_id: int
    flag_id: int


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """What became of a step. failure_reason: None when it was executed

    error: an unexpected exception
    """

    failure_reason: str | None = None
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class ScheduledChangeStore:
    """project_id is that of the flag; a flag of another project has no changes here."""

    records: Records

    async def page(
        self, project_id: int, flag_id: int, limit: int, offset: int
    ) -> tuple[Sequence[ScheduledChange], int]:
        """The newest first, with the number of all of them."""
        async with self.records.read() as connection:
            return await connection.run_sync(page_of_changes, project_id, flag_id, limit, offset)

    async def get(self, project_id: int, flag_id: int, change_id: int) -> ScheduledChange:
        """raises: NotFound"""
        async with self.records.read() as connection:
            found = await connection.run_sync(get_change, project_id, flag_id, change_id)
        if found is None:
            raise NotFound
        return found

    async def create(
        self, author: Author, flag_id: int, data: NewScheduledChange
    ) -> ScheduledChange:
        """raises: NotFound for the flag; Invalid for what could not be done to it"""
        async with self.records.write() as connection:
            return await connection.run_sync(_create, author, flag_id, data)

    async def remove(self, author: Author, flag_id: int, change_id: int) -> None:
        """raises: NotFound; Invalid when nothing of it is left to be done"""
        async with self.records.write() as connection:
            await connection.run_sync(_remove, author, flag_id, change_id)

    async def due(self, now: datetime) -> Sequence[DueChange]:
        """Those whose time came first, DUE_MAX at most."""
        statement = (
            select(_change.id, _change.project_id, _change.flag_id)
            .where(_change.due_at <= now)
            .order_by(_change.due_at, _change.id)
            .limit(DUE_MAX)
        )
        rows: Sequence[Any] = await self.records.fetch(statement)
        return [DueChange(*row) for row in rows]

    async def execute(self, due: DueChange, project: Project, now: datetime) -> StepOutcome | None:
        """Execute its next step; None when another server has, or it was cancelled."""
        async with self.records.write() as connection:
            return await connection.run_sync(_execute, due, project, now)


def _create(
    connection: Connection, author: Author, flag_id: int, data: NewScheduledChange
) -> ScheduledChange:
    project_id = author.project_id
    flag = lock_flag(connection, project_id, flag_id)
    if flag is None:
        raise NotFound
    plan = read_plan(data, flag.definition, author.now)
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
    made = get_change(connection, project_id, flag_id, change_id)
    assert made is not None
    record_updated(
        connection,
        author,
        flag_id,
        flag.definition.key,
        [scheduled_change(None, _logged_fields(made))],
    )
    return made


def _make_room(connection: Connection, project_id: int, flag_id: int) -> None:
    """The oldest that are done go. raises: Invalid when too many wait"""
    theirs = of_flag(project_id, flag_id)
    waiting = connection.scalar(
        select(func.count())
        .select_from(scheduled_changes)
        .where(theirs, _change.due_at.is_not(None))
    )
    if (waiting or 0) >= WAITING_MAX:
        raise Invalid(f"There are {WAITING_MAX} scheduled changes of this feature flag already.")
    done = select(_change.id).where(theirs, _change.due_at.is_(None))
    oldest = done.order_by(_change.id.desc()).offset(DONE_KEPT - 1)
    connection.execute(
        delete(scheduled_changes).where(_change.id.in_(list(connection.scalars(oldest))))
    )


def _remove(connection: Connection, author: Author, flag_id: int, change_id: int) -> None:
    project_id = author.project_id
    flag = lock_flag(connection, project_id, flag_id)
    found = get_change(connection, project_id, flag_id, change_id, for_update=True)
    if flag is None or found is None:
        raise NotFound
    if found.due_at is None:
        raise Invalid(
            "This scheduled change has been executed or has failed; it cannot be cancelled."
        )
    connection.execute(delete(scheduled_changes).where(_change.id == change_id))
    record_updated(
        connection,
        author,
        flag_id,
        flag.definition.key,
        [scheduled_change(_logged_fields(found), None)],
    )


def _execute(
    connection: Connection, due: DueChange, project: Project, now: datetime
) -> StepOutcome | None:
    lock_flag(connection, due.project_id, due.flag_id)
    change = get_change(connection, due.project_id, due.flag_id, due.id, for_update=True)
    if change is None or change.due_at is None or change.due_at > now:
        return None
    place = next(n for n, step in enumerate(change.steps) if step.executed_at is None)
    outcome = _tried(connection, change, change.steps[place], project, now)
    values: dict[str, Any]
    if outcome.failure_reason is not None:
        values = {"due_at": None, "failure_reason": outcome.failure_reason}
    else:
        steps = list(change.steps)
        steps[place] = replace(steps[place], executed_at=now)
        is_last = place + 1 == len(steps)
        values = {
            "steps": msgspec.to_builtins(steps),
            "due_at": None if is_last else steps[place + 1].scheduled_at,
            "executed_at": now if is_last else None,
        }
    connection.execute(update(scheduled_changes).where(_change.id == change.id).values(**values))
    return outcome


def _tried(
    connection: Connection, change: ScheduledChange, step: Step, project: Project, now: datetime
) -> StepOutcome:
    """A failure undoes what was done to the flag, and nothing else."""
    payload = payload_of_step(change.payload, step)
    user_id = None if change.created_by is None else change.created_by.id
    access = (
        None
        if user_id is None
        else access_now(connection, user_id, project.organization_id, project.id)
    )
    if user_id is not None and access is None:
        return StepOutcome(_LEFT)

    def decide(flag: StoredFlag) -> Mapping[str, Any]:
        """The user who scheduled the change must still have the right."""
        if access is not None and not access.can_edit(change.flag_id, flag.creator_id):
            raise PermissionDenied(_NO_RIGHT)
        return planned_values(payload, flag.definition)

    author = Author(
        project_id=project.id,
        organization_id=project.organization_id,
        user_id=user_id,
        now=now,
        trigger=Trigger(job_type="scheduled_change", job_id=str(change.id), payload=payload),
    )
    try:
        with connection.begin_nested():
            change_flag(connection, author, change.flag_id, decide)
    except RecordsUnavailable:
        raise
    except AppError as error:
        return StepOutcome(error.detail)
    except Exception as error:
        return StepOutcome(_INTERNAL, error)
    return StepOutcome()


def _logged_fields(change: ScheduledChange) -> dict[str, Any]:
    return {
        "id": change.id,
        "scheduled_at": change.scheduled_at,
        "payload": change.payload,
    }
