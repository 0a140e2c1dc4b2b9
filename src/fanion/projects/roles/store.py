"""Roles and their members, in the records store.

The activity log of the organization's projects records each change.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import ColumnElement, Connection, Select, delete, func, insert, select, update

from fanion.activity.model import ItemState, OrganizationAuthor, OrganizationChange
from fanion.activity.store import record_in_organization
from fanion.db.engine import Records
from fanion.db.schema.organizations import flag_role_access, role_memberships, roles
from fanion.db.schema.tables import feature_flags, memberships, users
from fanion.errors import Invalid, NotFound
from fanion.projects.model import UserSummary, user_summary
from fanion.projects.organizations.store import USER_SUMMARY
from fanion.projects.roles.model import PlainRole, Role, RoleFlag, RoleMember, folded

_role, _member = roles.c, role_memberships.c
_COLUMNS = ("id", "created_at", *PlainRole.__struct_fields__)


@dataclass(frozen=True, slots=True)
class RoleStore:
    records: Records

    async def list_roles(
        self, organization_id: UUID, limit: int, offset: int
    ) -> tuple[Sequence[Role], int]:
        """Return one page of the roles, ordered by name, and the number of all."""
        of_organization = _role.organization_id == organization_id
        ids = (
            select(_role.id)
            .where(of_organization)
            .order_by(_role.folded_name)
            .limit(limit)
            .offset(offset)
        )
        count = select(func.count()).select_from(roles).where(of_organization)
        async with self.records.read() as connection:
            total = (await connection.execute(count)).scalar_one()
            role_ids = list(await connection.scalars(ids))
            by_id = await connection.run_sync(load_roles, role_ids)
            return [by_id[role_id] for role_id in role_ids], total

    async def get_role(self, organization_id: UUID, role_id: UUID) -> Role:
        """Return a role, or raise NotFound."""
        async with self.records.read() as connection:
            return await connection.run_sync(get_role, organization_id, role_id)

    async def find_by_name(self, organization_id: UUID, name: str) -> Role:
        """Return the role with this name, in any case, or raise NotFound."""
        conditions = (_role.organization_id == organization_id, _role.folded_name == folded(name))
        async with self.records.read() as connection:
            role_ids = list(await connection.scalars(select(_role.id).where(*conditions)))
            if not role_ids:
                raise NotFound
            return await connection.run_sync(get_role, organization_id, role_ids[0])


def get_role(connection: Connection, organization_id: UUID, role_id: UUID) -> Role:
    """Return a role, or raise NotFound."""
    known = select(_role.id).where(*_is_role(organization_id, role_id))
    role = load_roles(connection, list(connection.scalars(known))).get(role_id)
    if role is None:
        raise NotFound
    return role


def lock_role(connection: Connection, organization_id: UUID, role_id: UUID) -> Role:
    """Return a role and lock it until the transaction ends, or raise NotFound."""
    statement = select(_role.id).where(*_is_role(organization_id, role_id))
    connection.execute(statement.with_for_update())
    return get_role(connection, organization_id, role_id)


def lock_roles(connection: Connection, role_ids: Sequence[UUID]) -> None:
    """Lock roles until the transaction ends, in the order of their ids. Deleted roles are skipped.

    Deleting a role deletes what refers to it, so roles are locked before that is changed.
    """
    if role_ids:
        statement = select(_role.id).where(_role.id.in_(role_ids)).order_by(_role.id)
        connection.execute(statement.with_for_update())


def add_role(connection: Connection, by: OrganizationAuthor, values: Mapping[str, Any]) -> Role:
    """Insert a role, without an entry in the activity log.

    Args:
        values: The fields of `PlainRole`.

    Raises:
        IntegrityError: There is a role with this name.
    """
    role_id = uuid4()
    made = {"created_by_id": by.user_id, "created_at": by.now}
    statement = insert(roles).values(
        id=role_id, organization_id=by.organization_id, **made, **_columns(values)
    )
    connection.execute(statement)
    return get_role(connection, by.organization_id, role_id)


def set_role(connection: Connection, role_id: UUID, values: Mapping[str, Any]) -> None:
    """Change a role, without an entry in the activity log.

    Args:
        values: Fields of `PlainRole`.

    Raises:
        IntegrityError: There is another role with this name.
    """
    if values:
        connection.execute(update(roles).where(_role.id == role_id).values(**_columns(values)))


def delete_role(connection: Connection, by: OrganizationAuthor, role_id: UUID) -> None:
    """Delete a role with its memberships, or raise NotFound."""
    before = lock_role(connection, by.organization_id, role_id)
    connection.execute(delete(roles).where(_role.id == role_id))
    record_role(connection, by, before, None)


def add_role_member(
    connection: Connection, by: OrganizationAuthor, role_id: UUID, user_uuid: UUID
) -> RoleMember:
    """Add a member to a role, without an entry in the activity log.

    Raises:
        NotFound: There is no such role.
        Invalid: The user is not in the organization.
        IntegrityError: The user is in the role already.
    """
    role = select(_role.id).where(*_is_role(by.organization_id, role_id)).with_for_update()
    if connection.execute(role).first() is None:
        raise NotFound
    colleague = (
        select(users.c.id)
        .join(memberships, memberships.c.user_id == users.c.id)
        .where(memberships.c.organization_id == by.organization_id, users.c.uuid == user_uuid)
    )
    user_id = connection.scalar(colleague)
    if user_id is None:
        raise Invalid("User does not exist.")
    member_id = uuid4()
    connection.execute(
        insert(role_memberships).values(
            id=member_id, role_id=role_id, user_id=user_id, joined_at=by.now, updated_at=by.now
        )
    )
    return _member_of_row(
        connection.execute(_select_memberships().where(_member.id == member_id)).one()
    )


def join_role(
    connection: Connection, by: OrganizationAuthor, role_id: UUID, user_uuid: UUID
) -> RoleMember:
    """Add a member to a role, and record it in the activity log.

    Raises:
        NotFound: There is no such role.
        Invalid: The user is not in the organization.
        IntegrityError: The user is in the role already.
    """
    before = lock_role(connection, by.organization_id, role_id)
    added = add_role_member(connection, by, role_id, user_uuid)
    record_role(connection, by, before, get_role(connection, by.organization_id, role_id))
    return added


def remove_role_member(
    connection: Connection, by: OrganizationAuthor, role_id: UUID, member_id: UUID
) -> None:
    """Remove a member from a role, or raise NotFound."""
    if not _leave_role(connection, by, role_id, _member.id == member_id):
        raise NotFound


def leave_roles(connection: Connection, by: OrganizationAuthor, user_id: int) -> None:
    """Take a user out of every role of an organization."""
    role_ids = (
        select(_member.role_id)
        .join(roles, _role.id == _member.role_id)
        .where(_role.organization_id == by.organization_id, _member.user_id == user_id)
        .order_by(_member.role_id)
    )
    for role_id in list(connection.scalars(role_ids)):
        _leave_role(connection, by, role_id, _member.user_id == user_id)


def _leave_role(
    connection: Connection, by: OrganizationAuthor, role_id: UUID, which: ColumnElement[bool]
) -> int:
    """Take the members that fulfil a condition out of a role, and return their number."""
    before = lock_role(connection, by.organization_id, role_id)
    deleted = connection.execute(delete(role_memberships).where(_member.role_id == role_id, which))
    record_role(connection, by, before, get_role(connection, by.organization_id, role_id))
    return deleted.rowcount


def record_role(
    connection: Connection, by: OrganizationAuthor, before: Role | None, after: Role | None
) -> None:
    """Record a change of a role in the activity log, in the transaction of the change."""
    former, latest = (None if role is None else _role_state(role) for role in (before, after))
    change = OrganizationChange(scope="Role", before=former, after=latest)
    record_in_organization(connection, by, change)


def load_roles(connection: Connection, role_ids: Sequence[UUID]) -> dict[UUID, Role]:
    """Return the existing roles by id, with members and flags."""
    if not role_ids:
        return {}
    members, flags = _members_by_role(connection, role_ids), _flags_by_role(connection, role_ids)
    statement: Select[Any] = (
        select(*(_role[name] for name in _COLUMNS), *USER_SUMMARY)
        .select_from(roles.outerjoin(users, users.c.id == _role.created_by_id))
        .where(_role.id.in_(role_ids))
    )
    return {
        row.id: Role(
            **{name: getattr(row, name) for name in _COLUMNS},
            created_by=user_summary(row),
            members=members[row.id],
            associated_flags=flags[row.id],
        )
        for row in connection.execute(statement)
    }


def _columns(values: Mapping[str, Any]) -> Mapping[str, Any]:
    if "name" not in values:
        return values
    return {**values, "folded_name": folded(values["name"])}


def _role_state(role: Role) -> ItemState:
    fields = {name: getattr(role, name) for name in PlainRole.__struct_fields__}
    emails = [member.user.email for member in role.members]
    return ItemState(str(role.id), role.name, {**fields, "members": emails})


def _members_by_role(
    connection: Connection, role_ids: Sequence[UUID]
) -> Mapping[UUID, list[RoleMember]]:
    by_role: dict[UUID, list[RoleMember]] = defaultdict(list)
    for row in connection.execute(_select_memberships().where(_member.role_id.in_(role_ids))):
        by_role[row.role_id].append(_member_of_row(row))
    return by_role


def _select_memberships() -> Select[Any]:
    return (
        select(_member.id, _member.role_id, _member.joined_at, _member.updated_at, *USER_SUMMARY)
        .select_from(role_memberships.join(users, users.c.id == _member.user_id))
        .order_by(_member.joined_at, users.c.id)
    )


def _member_of_row(row: Any) -> RoleMember:
    return RoleMember(
        id=row[0],
        role_id=row[1],
        joined_at=row[2],
        updated_at=row[3],
        user=UserSummary(*row[4:]),
    )


def _flags_by_role(
    connection: Connection, role_ids: Sequence[UUID]
) -> Mapping[UUID, list[RoleFlag]]:
    access = flag_role_access.c
    rows = connection.execute(
        select(access.role_id, feature_flags.c.id, feature_flags.c.key)
        .select_from(flag_role_access.join(feature_flags, feature_flags.c.id == access.flag_id))
        .where(access.role_id.in_(role_ids))
        .order_by(feature_flags.c.id)
    )
    by_role: dict[UUID, list[RoleFlag]] = defaultdict(list)
    for role_id, flag_id, key in rows:
        by_role[role_id].append(RoleFlag(id=flag_id, key=key))
    return by_role


def _is_role(organization_id: UUID, role_id: UUID) -> tuple[ColumnElement[bool], ...]:
    return _role.organization_id == organization_id, _role.id == role_id
