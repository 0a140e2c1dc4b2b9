"""Actions in the records store."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, Row, Select, func, insert, select, update

from fanion.actions.conditions import ResolvedAction, resolve_action
from fanion.actions.model import ACTIONS_MAX, ActionRecord, ActionStep, PlainAction
from fanion.activity.model import Author, ItemState, item_record
from fanion.activity.store import record_activity
from fanion.db.engine import Records
from fanion.db.schema.events import actions
from fanion.db.schema.tables import projects, users
from fanion.errors import Invalid, NotFound
from fanion.projects.model import user_summary
from fanion.projects.organizations.store import USER_SUMMARY

# Fields whose changes are recorded in the activity log.
RECORDED = (*PlainAction.__struct_fields__, "deleted")

_action = actions.c
_COLUMNS = tuple(name for name in ActionRecord.__struct_fields__ if name != "created_by")


@dataclass(frozen=True, slots=True)
class ActionSelection:
    """The actions to list.

    Attributes:
        search: Part of the name, regardless of the case of ASCII letters.
        deleted: Whether to list the deleted actions, and not the others.
    """

    search: str = ""
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class ActionStore:
    """The reading of actions."""

    records: Records

    async def list_actions(
        self, project_id: int, query: ActionSelection, limit: int, offset: int
    ) -> tuple[Sequence[ActionRecord], int]:
        """Return a page of the project's actions, ordered by name, and their total number."""
        conditions = _conditions(project_id, query)
        count = select(func.count()).select_from(actions).where(*conditions)
        rows = _select_actions().where(*conditions).order_by(_action.name, _action.id)
        async with self.records.read() as connection:
            total = await connection.scalar(count)
            page = await connection.execute(rows.limit(limit).offset(offset))
            return [_action_of(row) for row in page], total or 0

    async def get_action(self, project_id: int, action_id: int) -> ActionRecord:
        """Return an action, deleted or not, or raise NotFound."""
        async with self.records.read() as connection:
            return await connection.run_sync(get_action, project_id, action_id)


async def resolve_actions(
    records: Records, project_id: int, ids: Collection[int]
) -> Mapping[int, ResolvedAction]:
    """Return the actions with these ids, by id, without deleted and unknown ones."""
    if not ids:
        return {}
    rows = await records.fetch(
        _select_actions().where(
            _action.project_id == project_id, _action.id.in_(ids), _action.deleted.is_(False)
        )
    )
    return {row.id: resolve_action(_action_of(row)) for row in rows}


def all_actions(connection: Connection, project_id: int) -> Sequence[ActionRecord]:
    """Return the actions of a project that are not deleted, in the order of their ids."""
    rows = _select_actions().where(_action.project_id == project_id, _action.deleted.is_(False))
    return [_action_of(row) for row in connection.execute(rows.order_by(_action.id))]


def get_action(
    connection: Connection, project_id: int, action_id: int, *, for_update: bool = False
) -> ActionRecord:
    """Return an action, deleted or not, or raise NotFound."""
    this = (_action.project_id == project_id) & (_action.id == action_id)
    if for_update:
        connection.execute(select(_action.id).where(this).with_for_update())
    row = connection.execute(_select_actions().where(this)).first()
    if row is None:
        raise NotFound
    return _action_of(row)


def create_action(
    connection: Connection, author: Author, values: Mapping[str, Any]
) -> ActionRecord:
    """Create an action.

    Args:
        values: The fields of a PlainAction.

    Raises:
        Invalid: There is an action with this name, or the project has too many of them.
    """
    _require_free_name(connection, author.project_id, values["name"])
    live = _conditions(author.project_id, ActionSelection())
    count = connection.scalar(select(func.count()).select_from(actions).where(*live))
    if (count or 0) >= ACTIONS_MAX:
        raise Invalid(f"A project can have at most {ACTIONS_MAX} actions.")
    statement = insert(actions).values(
        project_id=author.project_id,
        created_by_id=author.user_id,
        created_at=author.now,
        updated_at=author.now,
        **_stored({"deleted": False, **values}),
    )
    action_id = connection.execute(statement.returning(_action.id)).scalar_one()
    created = get_action(connection, author.project_id, action_id)
    _record(connection, author, None, created)
    return created


def write_action(
    connection: Connection, author: Author, before: ActionRecord, values: Mapping[str, Any]
) -> ActionRecord:
    """Change a locked action.

    Raises:
        Invalid: Another action has the new name, or that of an action to restore.
    """
    differing = {name: value for name, value in values.items() if getattr(before, name) != value}
    if not differing:
        return before
    is_live = not differing.get("deleted", before.deleted)
    if is_live and ("name" in differing or before.deleted):
        name = differing.get("name", before.name)
        _require_free_name(connection, author.project_id, name)
    this = update(actions).where(_action.id == before.id)
    connection.execute(this.values(**_stored(differing), updated_at=author.now))
    after = get_action(connection, author.project_id, before.id)
    _record(connection, author, before, after)
    return after


def _require_free_name(connection: Connection, project_id: int, name: str) -> None:
    """Raise Invalid if an action has this name; until the transaction ends, none is given it."""
    connection.execute(select(projects.c.id).where(projects.c.id == project_id).with_for_update())
    live = _conditions(project_id, ActionSelection())
    taken = connection.scalar(select(_action.id).where(*live, _action.name == name))
    if taken is not None:
        detail = f"This project already has an action with this name, ID {taken}"
        raise Invalid(detail, code="unique", attr="name")


def _record(
    connection: Connection, author: Author, before: ActionRecord | None, after: ActionRecord
) -> None:
    former = None if before is None else _state(before)
    record_activity(connection, item_record(author, "Action", former, _state(after)))


def _state(action: ActionRecord) -> ItemState:
    fields = {name: msgspec.to_builtins(getattr(action, name)) for name in RECORDED}
    return ItemState(str(action.id), action.name, fields)


def _conditions(project_id: int, query: ActionSelection) -> list[ColumnElement[bool]]:
    conditions = [_action.project_id == project_id, _action.deleted.is_(query.deleted)]
    if query.search:
        name = func.lower(_action.name)
        conditions.append(name.contains(query.search.lower(), autoescape=True))
    return conditions


def _select_actions() -> Select[Any]:
    return select(*(_action[name] for name in _COLUMNS), *USER_SUMMARY).select_from(
        actions.outerjoin(users, users.c.id == _action.created_by_id)
    )


def _stored(values: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: msgspec.to_builtins(value) for name, value in values.items()}


def _action_of(row: Row[Any]) -> ActionRecord:
    values = {name: getattr(row, name) for name in _COLUMNS}
    values["steps"] = msgspec.convert(row.steps, list[ActionStep])
    return ActionRecord(created_by=user_summary(row), **values)
