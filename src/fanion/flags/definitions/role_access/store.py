"""The roles that may edit flags, in the records store.

Source: flags.md section 16.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, delete, func, insert, select

from fanion.activity.model import Author, OrganizationAuthor
from fanion.db.engine import Records
from fanion.db.schema.organizations import flag_role_access, roles
from fanion.db.schema.tables import feature_flags
from fanion.errors import Invalid, NotFound
from fanion.flags.definitions.changes_store import record_updated, related_change
from fanion.projects.roles.model import Role
from fanion.projects.roles.store import load_roles, lock_roles
from fanion.projects.store import load_projects

_access = flag_role_access.c
_COLUMNS = (_access.id, _access.role_id, _access.added_at, _access.updated_at)


class RoleAccess(Struct, frozen=True, kw_only=True):
    """A role's permission to edit a flag, as it is stored and returned."""

    id: int
    role: Role
    role_id: UUID
    added_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class RoleAccessStore:
    """The roles that may edit flags.

    The flag must belong to the project given with it; otherwise it has no records here.
    """

    records: Records

    async def list_access(
        self, project_id: int, flag_id: int, limit: int, offset: int
    ) -> tuple[Sequence[RoleAccess], int]:
        """Return a page of a flag's records, oldest first, and their total number."""
        is_of_flag = _is_of_flag(project_id, flag_id)
        statement = (
            select(*_COLUMNS).where(is_of_flag).order_by(_access.id).limit(limit).offset(offset)
        )
        async with self.records.read() as connection:
            count = select(func.count()).select_from(flag_role_access).where(is_of_flag)
            total = (await connection.execute(count)).scalar_one()
            rows = (await connection.execute(statement)).all()
            return await connection.run_sync(_with_roles, rows), total

    async def get_access(self, project_id: int, flag_id: int, access_id: int) -> RoleAccess:
        async with self.records.read() as connection:
            return await connection.run_sync(_get_access, project_id, flag_id, access_id)


def _is_of_flag(project_id: int, flag_id: int) -> ColumnElement[bool]:
    return (_access.project_id == project_id) & (_access.flag_id == flag_id)


def _with_roles(connection: Connection, rows: Sequence[Any]) -> list[RoleAccess]:
    roles_by_id = load_roles(connection, [row.role_id for row in rows])
    return [
        RoleAccess(
            id=row.id,
            role=roles_by_id[row.role_id],
            role_id=row.role_id,
            added_at=row.added_at,
            updated_at=row.updated_at,
        )
        for row in rows
    ]


def _get_access(
    connection: Connection, project_id: int, flag_id: int, access_id: int
) -> RoleAccess:
    statement = select(*_COLUMNS).where(_is_of_flag(project_id, flag_id), _access.id == access_id)
    rows = connection.execute(statement).all()
    if not rows:
        raise NotFound
    return _with_roles(connection, rows)[0]


def give_flag(connection: Connection, author: Author, flag_id: int, role_id: UUID) -> RoleAccess:
    """Allow a role to edit a flag, in the caller's transaction.

    Raises:
        NotFound: There is no such flag.
        Invalid: There is no such role.
        IntegrityError: The role may edit the flag already.
    """
    key = _lock_flag(connection, author.project_id, flag_id)
    role = connection.scalar(
        select(roles.c.id)
        .where(roles.c.id == role_id, roles.c.organization_id == author.organization_id)
        .with_for_update()
    )
    if role is None:
        raise Invalid(
            f'Invalid pk "{role_id}" - object does not exist.',
            code="does_not_exist",
            attr="role_id",
        )
    statement = insert(flag_role_access).values(
        project_id=author.project_id,
        flag_id=flag_id,
        role_id=role_id,
        added_at=author.now,
        updated_at=author.now,
    )
    access_id = connection.execute(statement.returning(_access.id)).scalar_one()
    access = _get_access(connection, author.project_id, flag_id, access_id)
    record_updated(
        connection,
        author,
        flag_id,
        key,
        [related_change("role_access", None, _recorded_role(access.role))],
    )
    return access


def remove_access(connection: Connection, author: Author, flag_id: int, access_id: int) -> None:
    """Revoke a role's permission in the caller's transaction, or raise NotFound."""
    key = _lock_flag(connection, author.project_id, flag_id)
    access = _get_access(connection, author.project_id, flag_id, access_id)
    connection.execute(delete(flag_role_access).where(_access.id == access_id))
    record_updated(
        connection,
        author,
        flag_id,
        key,
        [related_change("role_access", _recorded_role(access.role), None)],
    )


def revoke_flags_of_role(connection: Connection, by: OrganizationAuthor, role_id: UUID) -> None:
    """Revoke the flags of a role that is about to be removed, and record it in their activity.

    The flags and then the role are locked first, as in `give_flag`, so that nothing recorded
    changes meanwhile.
    """
    flag_ids = select(_access.flag_id).where(_access.role_id == role_id)
    flag = feature_flags.c
    connection.execute(
        select(flag.id).where(flag.id.in_(flag_ids)).order_by(flag.id).with_for_update()
    )
    lock_roles(connection, [role_id])
    rows = connection.execute(
        select(_access.project_id, _access.flag_id, _access.id)
        .where(_access.role_id == role_id)
        .order_by(_access.flag_id)
    ).all()
    known = load_projects(connection, list({row.project_id for row in rows})) if rows else {}
    for row in rows:
        author = Author(
            project_id=known[row.project_id].id,
            organization_id=known[row.project_id].organization_id,
            user_id=by.user_id,
            now=by.now,
        )
        remove_access(connection, author, row.flag_id, row.id)


def _lock_flag(connection: Connection, project_id: int, flag_id: int) -> str:
    """Lock a flag and return its key.

    Raises:
        NotFound: There is no such flag.
    """
    flag = feature_flags.c
    key: str | None = connection.scalar(
        select(flag.key).where(flag.project_id == project_id, flag.id == flag_id).with_for_update()
    )
    if key is None:
        raise NotFound
    return key


def _recorded_role(role: Role) -> Mapping[str, Any]:
    return {"id": str(role.id), "name": role.name}
