"""Members of an organization in the records store: listed, added, changed and removed.

The row of a removed user in `users` stays, because other records refer to it.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import ColumnElement, Connection, Row, Select, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from fanion.activity.model import ItemState, OrganizationChange
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
from fanion.errors import Invalid, NotFound
from fanion.projects.admin_store import NO_PASSWORD
from fanion.projects.auth.keys import KEY_BYTES
from fanion.projects.auth.personal_keys_store import NewPersonalKey, create_key, revoke_keys_of
from fanion.projects.invites.store import revoke_invites_of
from fanion.projects.model import Level, PersonalKey
from fanion.projects.organizations.store import lock_members
from fanion.projects.roles.store import leave_roles

_user, _member = users.c, memberships.c


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an organization.

    Attributes:
        keys: The number of personal keys.
        last_used_at: The latest use of any of the keys.
    """

    user_id: int
    uuid: UUID
    email: str
    first_name: str
    level: Level
    is_active: bool
    joined_at: datetime
    keys: int
    last_used_at: datetime | None


@dataclass(frozen=True, slots=True)
class NewMember:
    """A member that is to be added.

    Attributes:
        email: Normalised by `read_email`.
        key_label: The label of the first personal key.
        key_expires_at: The expiry of the first personal key.
    """

    email: str
    first_name: str
    level: Level
    key_label: str
    key_expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class MemberStore:
    """The members of organizations, changed by the operator.

    The activity log of the organization's projects records each change, without a user.
    """

    records: Records

    async def all_members(self, organization_id: UUID) -> Sequence[Member]:
        """Return the members in the order of joining."""
        async with self.records.read() as connection:
            rows = await connection.execute(_select_members(organization_id))
            return [_member_of_row(row) for row in rows]

    async def find_member(self, organization_id: UUID, email: str) -> Member:
        """Return a member, or raise NotFound."""
        async with self.records.read() as connection:
            return await connection.run_sync(_find_member, organization_id, email)

    async def add_member(
        self, organization_id: UUID, new: NewMember, now: datetime
    ) -> tuple[Member, PersonalKey, str]:
        """Add a member with a personal key. A user who was removed before is restored.

        Returns:
            The member, the key, and the key's text, which cannot be read later.

        Raises:
            Invalid: A member of any organization has the e-mail address (code `unique`).
        """
        try:
            async with self.records.write() as connection:
                return await connection.run_sync(_add_member, organization_id, new, now)
        except IntegrityError:
            raise _address_taken() from None

    async def set_level(
        self, organization_id: UUID, email: str, level: Level, now: datetime
    ) -> Member:
        """Set the level of a member.

        Raises:
            NotFound: There is no such member.
            Invalid: The member is the last owner (code `last_owner`).
        """
        async with self.records.write() as connection:
            return await connection.run_sync(_set_member_level, organization_id, email, level, now)

    async def set_active(
        self, organization_id: UUID, email: str, is_active: bool, now: datetime
    ) -> Member:
        """Enable or disable a user. A disabled user cannot authenticate in any organization.

        Raises:
            NotFound: There is no such member.
            Invalid: The member is the last owner (code `last_owner`).
        """
        async with self.records.write() as connection:
            return await connection.run_sync(
                _set_user_active, organization_id, email, is_active, now
            )

    async def remove_member(self, organization_id: UUID, email: str, now: datetime) -> None:
        """Remove a member from the organization and its roles.

        With the last organization the member's keys are deleted, too.

        Raises:
            NotFound: There is no such member.
            Invalid: The member is the last owner (code `last_owner`).
        """
        async with self.records.write() as connection:
            await connection.run_sync(_remove_by_email, organization_id, email, now)


async def first_organization(records: Records) -> UUID | None:
    """Return the oldest organization, or None before setup."""
    oldest = select(organizations.c.id).order_by(organizations.c.created_at, organizations.c.id)
    rows = await records.fetch(oldest.limit(1))
    return rows[0].id if rows else None


_FIELDS = tuple(one.name for one in fields(Member))


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


def _find_member(connection: Connection, organization_id: UUID, email: str) -> Member:
    return member_where(connection, organization_id, _user.email == email)


def member_where(
    connection: Connection, organization_id: UUID, which: ColumnElement[bool]
) -> Member:
    """Return the member that fulfils the condition, or raise NotFound."""
    row = connection.execute(_select_members(organization_id).where(which)).first()
    if row is None:
        raise NotFound
    return _member_of_row(row)


def _lock_member(connection: Connection, organization_id: UUID, email: str) -> Member:
    lock_members(connection, organization_id)
    return _find_member(connection, organization_id, email)


def _add_member(
    connection: Connection,
    organization_id: UUID,
    new: NewMember,
    now: datetime,
) -> tuple[Member, PersonalKey, str]:
    lock_members(connection, organization_id)
    user_id = _create_or_restore_user(connection, new, now)
    connection.execute(
        insert(memberships).values(
            organization_id=organization_id, user_id=user_id, level=new.level, joined_at=now
        )
    )
    added = _find_member(connection, organization_id, new.email)
    _record_member(connection, organization_id, None, added, None, now)
    new_key = NewPersonalKey(
        user_id, new.key_label, None, now, new.key_expires_at, by_operator=True
    )
    key, text = create_key(connection, new_key)
    return _find_member(connection, organization_id, new.email), key, text


def _create_or_restore_user(connection: Connection, new: NewMember, now: datetime) -> int:
    """Create a user, or restore a former member. Raise Invalid for a member of any organization."""
    member = select(_member.user_id).where(_member.user_id == _user.id).exists()
    known = connection.execute(
        select(_user.id, member.label("is_member")).where(_user.email == new.email)
    ).first()
    if known is None:
        return _insert_user(connection, new, now)
    if known.is_member:
        raise _address_taken()
    user_id = int(known.id)
    connection.execute(
        update(users)
        .where(_user.id == user_id)
        .values(
            first_name=new.first_name,
            is_active=True,
            is_email_verified=False,
            email_chosen_by_owner=None,
            password_hash=NO_PASSWORD,
            current_project_id=None,
        )
    )
    return user_id


def _insert_user(connection: Connection, new: NewMember, now: datetime) -> int:
    statement = insert(users).values(
        uuid=uuid4(),
        distinct_id=secrets.token_urlsafe(KEY_BYTES),
        email=new.email,
        first_name=new.first_name,
        password_hash=NO_PASSWORD,
        is_active=True,
        is_email_verified=False,
        current_project_id=None,
        created_at=now,
    )
    return int(connection.execute(statement.returning(_user.id)).scalar_one())


def _set_member_level(
    connection: Connection,
    organization_id: UUID,
    email: str,
    level: Level,
    now: datetime,
) -> Member:
    before = _lock_member(connection, organization_id, email)
    return give_level(connection, organization_id, before, level, None, now)


def give_level(
    connection: Connection,
    organization_id: UUID,
    before: Member,
    level: Level,
    by: int | None,
    now: datetime,
) -> Member:
    if level != Level.OWNER:
        _require_other_owner(connection, organization_id, before)
    connection.execute(
        update(memberships)
        .where(_member.organization_id == organization_id, _member.user_id == before.user_id)
        .values(level=level)
    )
    after = _find_member(connection, organization_id, before.email)
    _record_member(connection, organization_id, before, after, by, now)
    if level != before.level:
        end_sessions_of(connection, before.user_id)
        revoke_invites_of(connection, organization_id, before.user_id, level, by, now)
    return after


def _set_user_active(
    connection: Connection,
    organization_id: UUID,
    email: str,
    is_active: bool,
    now: datetime,
) -> Member:
    user_id = _find_member(connection, organization_id, email).user_id
    organization_ids = _organizations_of(connection, user_id)
    before = {each_id: _lock_member(connection, each_id, email) for each_id in organization_ids}
    if not is_active:
        for each_id, member in before.items():
            _require_other_owner(connection, each_id, member)
    connection.execute(update(users).where(_user.id == user_id).values(is_active=is_active))
    end_sessions_of(connection, user_id)
    for each_id, member in before.items():
        after = _find_member(connection, each_id, email)
        _record_member(connection, each_id, member, after, None, now)
    return _find_member(connection, organization_id, email)


def _remove_by_email(
    connection: Connection,
    organization_id: UUID,
    email: str,
    now: datetime,
) -> None:
    member = _lock_member(connection, organization_id, email)
    remove_member(connection, organization_id, member, None, now)


def remove_member(
    connection: Connection,
    organization_id: UUID,
    member: Member,
    by: int | None,
    now: datetime,
) -> None:
    _require_other_owner(connection, organization_id, member)
    leave_roles(connection, organization_id, member.user_id, by, now)
    revoke_invites_of(connection, organization_id, member.user_id, None, by, now)
    end_sessions_of(connection, member.user_id)
    if _organizations_of(connection, member.user_id) == [organization_id]:
        revoke_keys_of(connection, member.user_id, now, by)
        _forget_sign_in(connection, member.user_id)
        connection.execute(update(users).where(_user.id == member.user_id).values(is_active=False))
    connection.execute(
        delete(memberships)
        .where(_member.organization_id == organization_id)
        .where(_member.user_id == member.user_id)
    )
    _record_member(connection, organization_id, member, None, by, now)


def end_sessions_of(connection: Connection, user_id: int) -> None:
    """End the sessions of a user whose rights change: a new session begins with the new rights."""
    connection.execute(delete(sessions).where(sessions.c.user_id == user_id))


_SIGN_IN = (pending_sign_ins, recovery_codes, second_factors, oidc_identities, sign_in_links)


def _forget_sign_in(connection: Connection, user_id: int) -> None:
    """Forget how a former user signed in.

    The address may pass to another person, who is added again and has yet to prove that it is
    theirs.
    """
    for table in _SIGN_IN:
        connection.execute(delete(table).where(table.c.user_id == user_id))
    forgotten = {"password_hash": NO_PASSWORD, "is_email_verified": False}
    connection.execute(update(users).where(_user.id == user_id).values(forgotten))


def record_joined(
    connection: Connection, organization_id: UUID, email: str, user_id: int, now: datetime
) -> None:
    """Record in the activity log that a user joined by themselves, not by an administrator."""
    added = _find_member(connection, organization_id, email)
    _record_member(connection, organization_id, None, added, user_id, now)


def _organizations_of(connection: Connection, user_id: int) -> list[UUID]:
    statement = select(_member.organization_id).where(_member.user_id == user_id)
    return list(connection.scalars(statement.order_by(_member.organization_id)))


def _require_other_owner(connection: Connection, organization_id: UUID, member: Member) -> None:
    """Raise Invalid if the member is the last active owner: a disabled owner does not count."""
    if member.level != Level.OWNER or not member.is_active:
        return
    others = connection.scalar(
        select(func.count())
        .select_from(memberships.join(users, _user.id == _member.user_id))
        .where(_member.organization_id == organization_id, _member.level == Level.OWNER)
        .where(_user.is_active, _user.id != member.user_id)
    )
    if not others:
        raise Invalid(
            f"{member.email} is the last active owner. Make another member an owner first.",
            code="last_owner",
        )


def _address_taken() -> Invalid:
    return Invalid("There is already a user with this e-mail address.", code="unique", attr="email")


def _record_member(
    connection: Connection,
    organization_id: UUID,
    before: Member | None,
    after: Member | None,
    by: int | None,
    now: datetime,
) -> None:
    change = OrganizationChange(
        organization_id=organization_id,
        scope="OrganizationMembership",
        before=None if before is None else _member_state(before),
        after=None if after is None else _member_state(after),
        user_id=by,
        now=now,
    )
    record_in_organization(connection, change)


def _member_state(member: Member) -> ItemState:
    fields = {"level": int(member.level), "is_active": member.is_active}
    return ItemState(str(member.uuid), member.email, fields)
