"""Invites in the records store: created, listed and deleted by members, within their rights."""

import secrets
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import ColumnElement, Connection, Select, delete, func, insert, select, update

from fanion.activity.model import ItemState, OrganizationChange
from fanion.activity.store import record_in_organization
from fanion.db.engine import Records
from fanion.db.schema.organizations import invite_roles, organization_invites, roles
from fanion.db.schema.tables import memberships, users
from fanion.errors import Invalid, NotFound
from fanion.projects.auth.keys import KEY_BYTES, hash_key
from fanion.projects.invites.model import INVITE_LASTS, INVITES_MAX, Invite, NewInvite
from fanion.projects.model import Level, UserSummary
from fanion.projects.organizations.member_rights import Manager, require_manager, require_may_give
from fanion.projects.organizations.store import USER_SUMMARY, lock_members, manager_of
from fanion.projects.roles.store import lock_roles

_invite, _role = organization_invites.c, invite_roles.c
_COLUMNS = (
    _invite.id,
    _invite.target_email,
    _invite.first_name,
    _invite.level,
    _invite.message,
    _invite.emailing_attempt_made,
    _invite.created_at,
    _invite.expires_at,
)


@dataclass(frozen=True, slots=True)
class InviteStore:
    """The invites of organizations.

    The activity log of the organization's projects records each change.
    """

    records: Records

    async def page(
        self, organization_id: UUID, limit: int, offset: int
    ) -> tuple[Sequence[Invite], int]:
        """Return one page of invites, newest first, and the number of all; expired ones count."""
        of_organization = _invite.organization_id == organization_id
        async with self.records.read() as connection:
            count = select(func.count()).select_from(organization_invites).where(of_organization)
            total = (await connection.execute(count)).scalar_one()
            statement = _select_invites(of_organization).order_by(
                _invite.created_at.desc(), _invite.id
            )
            invites = await connection.run_sync(read_invites, statement.limit(limit).offset(offset))
            return invites, total

    async def create_invites(
        self, organization_id: UUID, by: int, new_invites: Sequence[NewInvite], now: datetime
    ) -> Sequence[tuple[Invite, str]]:
        """Create all invites or none, and return each with the token of its link.

        The tokens cannot be read later. An invite to the same address is replaced: its link ends.

        Args:
            by: The user who invites.

        Raises:
            NotFound: The user is not an active member of the organization.
            PermissionDenied: The user may not give a level.
            Invalid: An invite is not valid, or there would be too many.
        """
        async with self.records.write() as connection:
            return await connection.run_sync(_create_invites, organization_id, by, new_invites, now)

    async def remove_invite(
        self, organization_id: UUID, invite_id: UUID, by: int, now: datetime
    ) -> None:
        """Delete an invite, whose link ends.

        Args:
            by: The user who deletes it.

        Raises:
            NotFound: There is no such invite.
            PermissionDenied: The user may not give the level of the invite.
        """
        async with self.records.write() as connection:
            await connection.run_sync(_remove_invite, organization_id, invite_id, by, now)

    async def note_mailed(self, invite_ids: Sequence[UUID]) -> None:
        """Record that the invites were handed over to be mailed."""
        mailed = update(organization_invites).where(_invite.id.in_(invite_ids))
        async with self.records.write() as connection:
            await connection.execute(mailed.values(emailing_attempt_made=True))


def read_invites(connection: Connection, statement: Select[Any]) -> list[Invite]:
    """Return the invites that a statement selects.

    Args:
        statement: Built by `_select_invites`, perhaps with further conditions.
    """
    rows = connection.execute(statement).all()
    role_ids = _roles_of(connection, [row.id for row in rows])
    return [_invite_of_row(row, role_ids.get(row.id, ())) for row in rows]


def _invite_of_row(row: Any, role_ids: tuple[UUID, ...]) -> Invite:
    return Invite(
        id=row.id,
        target_email=row.target_email,
        first_name=row.first_name,
        level=row.level,
        message=row.message,
        emailing_attempt_made=row.emailing_attempt_made,
        created_at=row.created_at,
        expires_at=row.expires_at,
        created_by=UserSummary(*row[len(_COLUMNS) :]),
        roles=role_ids,
    )


def find_invite(connection: Connection, which: ColumnElement[bool]) -> Invite | None:
    return next(iter(read_invites(connection, _select_invites(which))), None)


def delete_invite(connection: Connection, invite_id: UUID) -> bool:
    """Delete an invite and return whether it existed. Of concurrent calls only one returns True."""
    deletion = connection.execute(delete(organization_invites).where(_invite.id == invite_id))
    return bool(deletion.rowcount)


def revoke_invites_of(
    connection: Connection,
    organization_id: UUID,
    author_id: int,
    level: int | None,
    by: int | None,
    now: datetime,
) -> None:
    """Delete the invites that a member created and may no longer create.

    Args:
        level: The new level of the member; None for a member who leaves.
        by: The user who changes the member; None for the operator.
    """
    revoked = (_invite.organization_id == organization_id) & (_invite.created_by_id == author_id)
    if level is not None and level >= Level.ADMIN:
        revoked &= _invite.level > level
    for invite in read_invites(connection, _select_invites(revoked).order_by(_invite.id)):
        delete_invite(connection, invite.id)
        record_invite(connection, organization_id, invite_state(invite), None, by, now)


def record_invite(
    connection: Connection,
    organization_id: UUID,
    before: ItemState | None,
    after: ItemState | None,
    by: int | None,
    now: datetime,
) -> None:
    """Record a change of an invite in the activity log, in the transaction of the change.

    Args:
        by: None for the operator.
    """
    change = OrganizationChange(
        organization_id=organization_id,
        scope="OrganizationInvite",
        before=before,
        after=after,
        user_id=by,
        now=now,
    )
    record_in_organization(connection, change)


def invite_state(invite: Invite, *, is_accepted: bool = False) -> ItemState:
    fields = {
        "level": invite.level,
        "roles": [str(role_id) for role_id in invite.roles],
        "is_accepted": is_accepted,
    }
    return ItemState(str(invite.id), invite.target_email, fields)


def _select_invites(which: ColumnElement[bool]) -> Select[Any]:
    statement: Select[Any] = select(*_COLUMNS, *USER_SUMMARY)
    return statement.join(users, users.c.id == _invite.created_by_id).where(which)


def _roles_of(
    connection: Connection, invite_ids: Sequence[UUID]
) -> Mapping[UUID, tuple[UUID, ...]]:
    by_invite: defaultdict[UUID, tuple[UUID, ...]] = defaultdict(tuple)
    if invite_ids:
        rows = select(_role.invite_id, _role.role_id).where(_role.invite_id.in_(invite_ids))
        for invite_id, role_id in connection.execute(rows.order_by(_role.role_id)):
            by_invite[invite_id] += (role_id,)
    return by_invite


def _create_invites(
    connection: Connection,
    organization_id: UUID,
    by: int,
    new_invites: Sequence[NewInvite],
    now: datetime,
) -> list[tuple[Invite, str]]:
    lock_members(connection, organization_id)
    manager = manager_of(connection, organization_id, by)
    require_manager(manager.level)
    lock_roles(connection, [role_id for new in new_invites for role_id in new.roles])
    invites = [
        _create_invite(connection, organization_id, manager, new, now) for new in new_invites
    ]
    of_organization = _invite.organization_id == organization_id
    count = connection.scalar(
        select(func.count()).select_from(organization_invites).where(of_organization)
    )
    if (count or 0) > INVITES_MAX:
        raise Invalid(
            f"You can only have {INVITES_MAX} invites. Delete those that are no longer needed."
        )
    return invites


def _create_invite(
    connection: Connection,
    organization_id: UUID,
    manager: Manager,
    new: NewInvite,
    now: datetime,
) -> tuple[Invite, str]:
    require_may_give(manager, new.level)
    _require_no_member(connection, organization_id, new)
    _require_roles(connection, organization_id, new)
    known = find_invite(
        connection,
        (_invite.organization_id == organization_id) & (_invite.target_email == new.target_email),
    )
    if known is not None:
        _delete_and_record(connection, organization_id, manager, known, now)
    token, invite_id = secrets.token_urlsafe(KEY_BYTES), uuid4()
    connection.execute(
        insert(organization_invites).values(
            id=invite_id,
            organization_id=organization_id,
            hash=hash_key(token),
            target_email=new.target_email,
            first_name=new.first_name,
            level=new.level,
            message=new.message,
            emailing_attempt_made=False,
            created_by_id=manager.user_id,
            created_at=now,
            expires_at=now + INVITE_LASTS,
        )
    )
    for role_id in dict.fromkeys(new.roles):
        connection.execute(insert(invite_roles).values(invite_id=invite_id, role_id=role_id))
    invite = find_invite(connection, _invite.id == invite_id)
    assert invite is not None
    record_invite(connection, organization_id, None, invite_state(invite), manager.user_id, now)
    return invite, token


def _require_no_member(connection: Connection, organization_id: UUID, new: NewInvite) -> None:
    member = (
        select(users.c.id)
        .join(memberships, memberships.c.user_id == users.c.id)
        .where(memberships.c.organization_id == organization_id)
        .where(users.c.email == new.target_email)
    )
    if connection.execute(member).first() is not None:
        raise Invalid(
            "A user with this e-mail address already belongs to the organization.",
            code="unique",
            attr=f"{new.at}target_email",
        )


def _require_roles(connection: Connection, organization_id: UUID, new: NewInvite) -> None:
    statement = select(roles.c.id).where(
        roles.c.organization_id == organization_id, roles.c.id.in_(new.roles)
    )
    known = set(connection.scalars(statement)) if new.roles else set()
    for role_id in new.roles:
        if role_id not in known:
            raise Invalid(
                f'Invalid pk "{role_id}" - object does not exist.',
                code="does_not_exist",
                attr=f"{new.at}roles",
            )


def _remove_invite(
    connection: Connection, organization_id: UUID, invite_id: UUID, by: int, now: datetime
) -> None:
    lock_members(connection, organization_id)
    manager = manager_of(connection, organization_id, by)
    require_manager(manager.level)
    known = find_invite(
        connection, (_invite.organization_id == organization_id) & (_invite.id == invite_id)
    )
    if known is None:
        raise NotFound
    _delete_and_record(connection, organization_id, manager, known, now)


def _delete_and_record(
    connection: Connection,
    organization_id: UUID,
    manager: Manager,
    invite: Invite,
    now: datetime,
) -> None:
    """Delete an invite, or raise PermissionDenied if the user may not give its level."""
    require_may_give(manager, invite.level)
    delete_invite(connection, invite.id)
    record_invite(connection, organization_id, invite_state(invite), None, manager.user_id, now)
