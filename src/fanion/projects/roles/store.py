"""Roles and their members, in the records store."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import ColumnElement, Connection, Select, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from fanion.activity.model import ItemState, OrganizationChange
from fanion.activity.store import record_in_organization
from fanion.db.engine import Records
from fanion.db.schema.organizations import flag_role_access, role_memberships, roles
from fanion.db.schema.tables import feature_flags, memberships, users
from fanion.errors import Invalid, NotFound
from fanion.projects.model import (
    AccessLevel,
    Role,
    RoleFlag,
    RoleMember,
    UserSummary,
    folded,
    user_summary,
)
from fanion.projects.organizations.store import USER_SUMMARY, setting_of


@dataclass(frozen=True, slots=True)
class RoleRemoval:
    """The deletion of a role.

    Attributes:
        user_id: The user who deletes the role; None for the operator.
    """

    role_id: UUID
    user_id: int | None
    now: datetime


# Port: access to flags is stored by the flags package, which is above this one.
RevokeFlags = Callable[[Connection, RoleRemoval], None]

_role = roles.c
_member = role_memberships.c


@dataclass(frozen=True, slots=True)
class RoleStore:
    """The roles of organizations.

    The activity log of the organization's projects records each change.

    Attributes:
        revoke_flags: Revokes the access of a role to flags before the role is deleted.
    """

    records: Records
    revoke_flags: RevokeFlags

    async def page(
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
            return await connection.run_sync(_get_role, organization_id, role_id)

    async def find_by_name(self, organization_id: UUID, name: str) -> Role:
        """Return the role with this name, in any case, or raise NotFound."""
        conditions = (_role.organization_id == organization_id, _role.folded_name == folded(name))
        async with self.records.read() as connection:
            role_ids = list(await connection.scalars(select(_role.id).where(*conditions)))
            if not role_ids:
                raise NotFound
            return await connection.run_sync(_get_role, organization_id, role_ids[0])

    async def create_role(
        self,
        organization_id: UUID,
        creator_id: int | None,
        name: str,
        level: AccessLevel | None,
        now: datetime,
    ) -> Role:
        """Create a role.

        Args:
            creator_id: None for the operator.
            level: None for the setting of the organization.

        Raises:
            Invalid: There is a role with this name (code `unique`).
        """
        values = {
            "id": uuid4(),
            "organization_id": organization_id,
            "name": name,
            "folded_name": folded(name),
            "created_by_id": creator_id,
            "created_at": now,
        }
        with _unique_name():
            async with self.records.write() as connection:
                role = await connection.run_sync(create_role, values, level)
                await connection.run_sync(record_role, organization_id, None, role, creator_id, now)
                return role

    async def change_role(
        self,
        organization_id: UUID,
        role_id: UUID,
        values: Mapping[str, Any],
        user_id: int,
        now: datetime,
    ) -> Role:
        """Change a role.

        Args:
            values: New values of `name` and `feature_flags_access_level`.

        Raises:
            NotFound: There is no such role.
            Invalid: There is another role with this name (code `unique`).
        """
        columns = dict(values)
        if "name" in columns:
            columns["folded_name"] = folded(columns["name"])
        statement = update(roles).where(*_is_role(organization_id, role_id)).values(**columns)
        with _unique_name():
            async with self.records.write() as connection:
                before = await connection.run_sync(_lock_role, organization_id, role_id)
                if columns:
                    await connection.execute(statement)
                after = await connection.run_sync(_get_role, organization_id, role_id)
                await connection.run_sync(record_role, organization_id, before, after, user_id, now)
                return after

    async def remove_role(
        self, organization_id: UUID, role_id: UUID, user_id: int | None, now: datetime
    ) -> None:
        """Delete a role with its memberships and its access to flags, or raise NotFound."""
        async with self.records.write() as connection:
            await connection.run_sync(_get_role, organization_id, role_id)
            await connection.run_sync(self.revoke_flags, RoleRemoval(role_id, user_id, now))
            # Only now, because transactions lock flags before roles.
            before = await connection.run_sync(_lock_role, organization_id, role_id)
            await connection.execute(delete(roles).where(*_is_role(organization_id, role_id)))
            await connection.run_sync(record_role, organization_id, before, None, user_id, now)

    async def add_member(
        self, organization_id: UUID, role_id: UUID, user_uuid: UUID, by: int | None, now: datetime
    ) -> RoleMember:
        """Add a member to a role.

        Args:
            by: The user who makes the change; None for the operator.

        Raises:
            NotFound: There is no such role.
            Invalid: The user is not in the organization, or is in the role already.
        """
        try:
            async with self.records.write() as connection:
                return await connection.run_sync(
                    join_role, organization_id, role_id, user_uuid, by, now
                )
        except IntegrityError:
            raise Invalid("User is already part of the role.") from None

    async def remove_member(
        self, organization_id: UUID, role_id: UUID, member_id: UUID, by: int | None, now: datetime
    ) -> None:
        """Remove a member from a role, or raise NotFound.

        Args:
            by: The user who makes the change; None for the operator.
        """
        async with self.records.write() as connection:
            before = await connection.run_sync(_lock_role, organization_id, role_id)
            deleted = await connection.execute(
                delete(role_memberships).where(_member.role_id == role_id, _member.id == member_id)
            )
            if not deleted.rowcount:
                raise NotFound
            after = await connection.run_sync(_get_role, organization_id, role_id)
            await connection.run_sync(record_role, organization_id, before, after, by, now)


def lock_roles(connection: Connection, role_ids: Sequence[UUID]) -> None:
    """Lock roles until the transaction ends, in the order of their ids. Deleted roles are skipped.

    Deleting a role deletes what refers to it, so roles are locked before that is changed.
    """
    if role_ids:
        statement = select(_role.id).where(_role.id.in_(role_ids)).order_by(_role.id)
        connection.execute(statement.with_for_update())


def join_role(
    connection: Connection,
    organization_id: UUID,
    role_id: UUID,
    user_uuid: UUID,
    by: int | None,
    now: datetime,
) -> RoleMember:
    """Add a member to a role in the caller's transaction, and record it in the activity log.

    Args:
        by: The user who makes the change; None for the operator.

    Raises:
        NotFound: There is no such role.
        Invalid: The user is not in the organization.
        IntegrityError: The user is in the role already.
    """
    before = _lock_role(connection, organization_id, role_id)
    added = add_role_member(connection, organization_id, role_id, user_uuid, now)
    after = _get_role(connection, organization_id, role_id)
    record_role(connection, organization_id, before, after, by, now)
    return added


def leave_roles(
    connection: Connection,
    organization_id: UUID,
    user_id: int,
    by: int | None,
    now: datetime,
) -> None:
    """Take a user out of every role of an organization.

    Args:
        by: The user who makes the change; None for the operator.
    """
    role_ids = (
        select(_member.role_id)
        .join(roles, _role.id == _member.role_id)
        .where(_role.organization_id == organization_id, _member.user_id == user_id)
        .order_by(_member.role_id)
    )
    for role_id in list(connection.scalars(role_ids)):
        before = _lock_role(connection, organization_id, role_id)
        connection.execute(
            delete(role_memberships).where(_member.role_id == role_id, _member.user_id == user_id)
        )
        after = _get_role(connection, organization_id, role_id)
        record_role(connection, organization_id, before, after, by, now)


def record_role(
    connection: Connection,
    organization_id: UUID,
    before: Role | None,
    after: Role | None,
    user_id: int | None,
    now: datetime,
) -> None:
    """Record a change of a role in the activity log, in the transaction of the change.

    Args:
        user_id: None for the operator.
    """
    change = OrganizationChange(
        organization_id=organization_id,
        scope="Role",
        before=None if before is None else _role_state(before),
        after=None if after is None else _role_state(after),
        user_id=user_id,
        now=now,
    )
    record_in_organization(connection, change)


def _role_state(role: Role) -> ItemState:
    fields = {
        "name": role.name,
        "feature_flags_access_level": role.feature_flags_access_level,
        "members": [member.user.email for member in role.members],
    }
    return ItemState(str(role.id), role.name, fields)


def load_roles(connection: Connection, role_ids: Sequence[UUID]) -> dict[UUID, Role]:
    """Return the existing roles by id, with members and flags."""
    if not role_ids:
        return {}
    members, flags = _members_by_role(connection, role_ids), _flags_by_role(connection, role_ids)
    columns = (_role.id, _role.name, _role.feature_flags_access_level, _role.created_at)
    statement: Select[Any] = (
        select(*columns, *USER_SUMMARY)
        .select_from(roles.outerjoin(users, users.c.id == _role.created_by_id))
        .where(_role.id.in_(role_ids))
    )
    return {
        row[0]: Role(
            id=row[0],
            name=row[1],
            feature_flags_access_level=row[2],
            created_at=row[3],
            created_by=user_summary(row),
            members=members[row[0]],
            associated_flags=flags[row[0]],
        )
        for row in connection.execute(statement)
    }


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


def _get_role(connection: Connection, organization_id: UUID, role_id: UUID) -> Role:
    known = select(_role.id).where(*_is_role(organization_id, role_id))
    role = load_roles(connection, list(connection.scalars(known))).get(role_id)
    if role is None:
        raise NotFound
    return role


def _lock_role(connection: Connection, organization_id: UUID, role_id: UUID) -> Role:
    """Return a role and lock it until the transaction ends, or raise NotFound."""
    statement = select(_role.id).where(*_is_role(organization_id, role_id))
    connection.execute(statement.with_for_update())
    return _get_role(connection, organization_id, role_id)


def create_role(
    connection: Connection, values: Mapping[str, Any], level: AccessLevel | None
) -> Role:
    """Insert a role in the caller's transaction.

    Args:
        values: By column.
        level: None for the setting of the organization.
    """
    organization_id = values["organization_id"]
    if level is None:
        level = setting_of(connection, organization_id) or AccessLevel.EDIT
    connection.execute(insert(roles).values(**values, feature_flags_access_level=level))
    return _get_role(connection, organization_id, values["id"])


def add_role_member(
    connection: Connection, organization_id: UUID, role_id: UUID, user_uuid: UUID, now: datetime
) -> RoleMember:
    """Add a member to a role in the caller's transaction, without an entry in the activity log.

    Raises:
        NotFound: There is no such role.
        Invalid: The user is not in the organization.
        IntegrityError: The user is in the role already.
    """
    role = select(_role.id).where(*_is_role(organization_id, role_id)).with_for_update()
    if connection.execute(role).first() is None:
        raise NotFound
    colleague = (
        select(users.c.id)
        .join(memberships, memberships.c.user_id == users.c.id)
        .where(memberships.c.organization_id == organization_id, users.c.uuid == user_uuid)
    )
    user_id = connection.scalar(colleague)
    if user_id is None:
        raise Invalid("User does not exist.")
    member_id = uuid4()
    connection.execute(
        insert(role_memberships).values(
            id=member_id, role_id=role_id, user_id=user_id, joined_at=now, updated_at=now
        )
    )
    return _member_of_row(
        connection.execute(_select_memberships().where(_member.id == member_id)).one()
    )


@contextmanager
def _unique_name() -> Iterator[None]:
    """Turn a violation of the unique constraint on names into Invalid."""
    try:
        yield
    except IntegrityError:
        raise Invalid(
            "There is already a role with this name.", code="unique", attr="name"
        ) from None
