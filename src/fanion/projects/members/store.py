"""Members of an organization and their accounts, in the records store.

The activity log of the organization's projects records each change. The row of a removed user in
`users` stays, because other records refer to it.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import ColumnElement, Connection, Row, Select, delete, func, insert, select, update

from fanion.activity.model import ItemState, OrganizationAuthor, OrganizationChange
from fanion.activity.store import record_in_organization
from fanion.db.engine import Records
from fanion.db.schema.accounts import (
    oidc_identities,
    pending_sign_ins,
    recovery_codes,
    second_factors,
    sessions,
    sign_in_links,
)
from fanion.db.schema.tables import memberships, organizations, personal_api_keys, users
from fanion.errors import NotFound
from fanion.projects.admin_store import NO_PASSWORD
from fanion.projects.auth.keys import KEY_BYTES
from fanion.projects.members.model import Member
from fanion.projects.model import Level, UserSummary
from fanion.projects.organizations.model import OrganizationMember
from fanion.projects.organizations.store import USER_SUMMARY, lock_members

_user, _member = users.c, memberships.c
_FIELDS = tuple(field.name for field in fields(Member))
_SIGN_IN = (pending_sign_ins, recovery_codes, second_factors, oidc_identities, sign_in_links)
_LISTED = (
    select(
        _member.level,
        _member.joined_at,
        second_factors.c.confirmed_at.is_not(None).label("is_2fa_enabled"),
        *USER_SUMMARY,
    )
    .select_from(memberships.join(users, _user.id == _member.user_id))
    .outerjoin(second_factors, second_factors.c.user_id == _user.id)
    .order_by(_member.joined_at, _member.user_id)
)


@dataclass(frozen=True, slots=True)
class MemberStore:
    records: Records

    async def list_members(
        self, organization_id: UUID, limit: int, offset: int
    ) -> tuple[Sequence[OrganizationMember], int]:
        """Return one page of the members, in the order of joining, and the number of all."""
        of_organization = _member.organization_id == organization_id
        async with self.records.read() as connection:
            total = await connection.scalar(
                select(func.count()).select_from(memberships).where(of_organization)
            )
            page = _LISTED.where(of_organization).limit(limit).offset(offset)
            return [_listed(row) for row in await connection.execute(page)], total or 0

    async def get_member(self, organization_id: UUID, user_id: int) -> OrganizationMember:
        """Return a member as the API does, or raise NotFound."""
        of_organization = _member.organization_id == organization_id
        rows = await self.records.fetch(_LISTED.where(of_organization, _member.user_id == user_id))
        if not rows:
            raise NotFound
        return _listed(rows[0])

    async def all_members(self, organization_id: UUID) -> Sequence[Member]:
        """Return the members in the order of joining."""
        async with self.records.read() as connection:
            rows = await connection.execute(_select_members(organization_id))
            return [_member_of_row(row) for row in rows]

    async def find_member(self, organization_id: UUID, email: str) -> Member:
        """Return a member, or raise NotFound."""
        async with self.records.read() as connection:
            return await connection.run_sync(find_member, organization_id, email)


async def first_organization(records: Records) -> UUID | None:
    """Return the oldest organization, or None before setup."""
    oldest = select(organizations.c.id).order_by(organizations.c.created_at, organizations.c.id)
    rows = await records.fetch(oldest.limit(1))
    return rows[0].id if rows else None


def find_member(connection: Connection, organization_id: UUID, email: str) -> Member:
    return _member_where(connection, organization_id, _user.email == email)


def find_member_by_uuid(connection: Connection, organization_id: UUID, uuid: UUID) -> Member:
    return _member_where(connection, organization_id, _user.uuid == uuid)


def _member_where(
    connection: Connection, organization_id: UUID, which: ColumnElement[bool]
) -> Member:
    """Return the member that fulfils the condition, or raise NotFound."""
    row = connection.execute(_select_members(organization_id).where(which)).first()
    if row is None:
        raise NotFound
    return _member_of_row(row)


def lock_member(connection: Connection, organization_id: UUID, email: str) -> Member:
    lock_members(connection, organization_id)
    return find_member(connection, organization_id, email)


def has_other_owner(connection: Connection, organization_id: UUID, member: Member) -> bool:
    """Return whether another active member is an owner."""
    others = connection.scalar(
        select(func.count())
        .select_from(memberships.join(users, _user.id == _member.user_id))
        .where(_member.organization_id == organization_id, _member.level == Level.OWNER)
        .where(_user.is_active, _user.id != member.user_id)
    )
    return bool(others)


def organizations_of(connection: Connection, user_id: int) -> list[UUID]:
    statement = select(_member.organization_id).where(_member.user_id == user_id)
    return list(connection.scalars(statement.order_by(_member.organization_id)))


def find_user(connection: Connection, email: str) -> tuple[int, bool] | None:
    """Return the id of the user with an address, and whether they are a member anywhere."""
    member = select(_member.user_id).where(_member.user_id == _user.id).exists()
    known = connection.execute(
        select(_user.id, member.label("is_member")).where(_user.email == email)
    ).first()
    return None if known is None else (known.id, known.is_member)


def insert_user(
    connection: Connection,
    by: OrganizationAuthor,
    email: str,
    first_name: str,
    password_hash: str = NO_PASSWORD,
) -> int:
    """Insert a user and return the id.

    The address counts as not verified: whoever invited the user has seen the link, too.
    """
    statement = insert(users).values(
        uuid=uuid4(),
        distinct_id=secrets.token_urlsafe(KEY_BYTES),
        email=email,
        first_name=first_name,
        password_hash=password_hash,
        is_active=True,
        is_email_verified=False,
        current_project_id=None,
        created_at=by.now,
    )
    return int(connection.execute(statement.returning(_user.id)).scalar_one())


def restore_user(
    connection: Connection, user_id: int, first_name: str, password_hash: str = NO_PASSWORD
) -> None:
    """Let a user who was removed from every organization sign in again, as a new user would."""
    connection.execute(
        update(users)
        .where(_user.id == user_id)
        .values(
            first_name=first_name,
            password_hash=password_hash,
            is_active=True,
            is_email_verified=False,
            email_chosen_by_owner=None,
            current_project_id=None,
        )
    )


def insert_member(
    connection: Connection, by: OrganizationAuthor, user_id: int, email: str, level: int
) -> None:
    """Make a user a member of the organization."""
    connection.execute(
        insert(memberships).values(
            organization_id=by.organization_id, user_id=user_id, level=level, joined_at=by.now
        )
    )
    record_member(connection, by, None, find_member(connection, by.organization_id, email))


def set_member_level(
    connection: Connection, by: OrganizationAuthor, before: Member, level: Level
) -> Member:
    connection.execute(
        update(memberships)
        .where(_member.organization_id == by.organization_id, _member.user_id == before.user_id)
        .values(level=level)
    )
    after = find_member(connection, by.organization_id, before.email)
    record_member(connection, by, before, after)
    return after


def set_user_active(connection: Connection, user_id: int, is_active: bool) -> None:
    """Enable or disable a user, without an entry in the activity log."""
    connection.execute(update(users).where(_user.id == user_id).values(is_active=is_active))


def delete_member(connection: Connection, by: OrganizationAuthor, member: Member) -> None:
    connection.execute(
        delete(memberships)
        .where(_member.organization_id == by.organization_id)
        .where(_member.user_id == member.user_id)
    )
    record_member(connection, by, member, None)


def end_sessions_of(connection: Connection, user_id: int) -> None:
    """End the sessions of a user whose rights change: a new session begins with the new rights."""
    connection.execute(delete(sessions).where(sessions.c.user_id == user_id))


def forget_sign_in(connection: Connection, user_id: int) -> None:
    """Forget how a former user signed in.

    The address may pass to another person, who is added again and has yet to prove that it is
    theirs.
    """
    for table in _SIGN_IN:
        connection.execute(delete(table).where(table.c.user_id == user_id))
    forgotten = {"password_hash": NO_PASSWORD, "is_email_verified": False}
    connection.execute(update(users).where(_user.id == user_id).values(forgotten))


def record_member(
    connection: Connection,
    by: OrganizationAuthor,
    before: Member | None,
    after: Member | None,
) -> None:
    former, latest = (None if member is None else _state(member) for member in (before, after))
    change = OrganizationChange(scope="OrganizationMembership", before=former, after=latest)
    record_in_organization(connection, by, change)


def _state(member: Member) -> ItemState:
    fields = {"level": int(member.level), "is_active": member.is_active}
    return ItemState(str(member.uuid), member.email, fields)


def _select_members(organization_id: UUID) -> Select[Any]:
    key = personal_api_keys.c
    keys = (
        select(
            key.user_id,
            func.count().label("key_count"),
            func.max(key.last_used_at).label("last_used_at"),
        )
        .group_by(key.user_id)
        .subquery()
    )
    columns = (_user.id, _user.uuid, _user.email, _user.first_name, _member.level, _user.is_active)
    counted = (func.coalesce(keys.c.key_count, 0), keys.c.last_used_at)
    statement: Select[Any] = select(*columns, _member.joined_at, *counted)
    return (
        statement.select_from(memberships)
        .join(users, _user.id == _member.user_id)
        .outerjoin(keys, keys.c.user_id == _user.id)
        .where(_member.organization_id == organization_id)
        .order_by(_member.joined_at, _user.id)
    )


def _member_of_row(row: Row[Any]) -> Member:
    """Build a member from a row with the columns of `_select_members`, in their order."""
    values = dict(zip(_FIELDS, row, strict=True))
    return Member(**values | {"level": Level(row.level)})


def _listed(row: Any) -> OrganizationMember:
    level, joined_at, is_2fa_enabled, *user = row
    return OrganizationMember(
        level=level,
        joined_at=joined_at,
        is_2fa_enabled=bool(is_2fa_enabled),
        user=UserSummary(*user),
    )
