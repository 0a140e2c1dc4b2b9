"""Invites in the records store.

The activity log of the organization's projects records each change.
"""

import secrets
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import ColumnElement, Connection, Select, delete, func, insert, select, update

from fanion.activity.model import ItemState, OrganizationAuthor, OrganizationChange
from fanion.activity.store import record_in_organization
from fanion.db.engine import Records
from fanion.db.schema.organizations import invite_roles, organization_invites, roles
from fanion.db.schema.tables import memberships, users
from fanion.errors import NotFound
from fanion.projects.auth.keys import KEY_BYTES, hash_key
from fanion.projects.invites.model import INVITE_LASTS, Invite, NewInvite
from fanion.projects.model import Level, UserSummary
from fanion.projects.organizations.store import USER_SUMMARY

_invite, _role = organization_invites.c, invite_roles.c
_COLUMNS = tuple(name for name in Invite.__struct_fields__ if name not in ("created_by", "roles"))


@dataclass(frozen=True, slots=True)
class InviteStore:
    records: Records

    async def list_invites(
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


def _invite_of_row(row: Any, role_ids: Sequence[UUID]) -> Invite:
    return Invite(
        **{name: getattr(row, name) for name in _COLUMNS},
        created_by=UserSummary(*row[len(_COLUMNS) :]),
        roles=list(role_ids),
    )


def find_invite(connection: Connection, which: ColumnElement[bool]) -> Invite | None:
    return next(iter(read_invites(connection, _select_invites(which))), None)


def find_invite_to(connection: Connection, organization_id: UUID, email: str) -> Invite | None:
    """Return the organization's invite to an address."""
    own = _invite.organization_id == organization_id
    return find_invite(connection, own & (_invite.target_email == email))


def get_invite(connection: Connection, organization_id: UUID, invite_id: UUID) -> Invite:
    """Return an invite, or raise NotFound."""
    own = _invite.organization_id == organization_id
    invite = find_invite(connection, own & (_invite.id == invite_id))
    if invite is None:
        raise NotFound
    return invite


def count_invites(connection: Connection, organization_id: UUID) -> int:
    """Return the number of the organization's invites, expired ones included."""
    own = _invite.organization_id == organization_id
    count = select(func.count()).select_from(organization_invites).where(own)
    return connection.scalar(count) or 0


def insert_invite(
    connection: Connection, by: OrganizationAuthor, new: NewInvite
) -> tuple[Invite, str]:
    """Insert an invite, and return it with the token of its link."""
    token, invite_id = secrets.token_urlsafe(KEY_BYTES), uuid4()
    connection.execute(
        insert(organization_invites).values(
            id=invite_id,
            organization_id=by.organization_id,
            hash=hash_key(token),
            target_email=new.target_email,
            first_name=new.first_name,
            level=new.level,
            message=new.message,
            emailing_attempt_made=False,
            created_by_id=by.user_id,
            created_at=by.now,
            expires_at=by.now + INVITE_LASTS,
        )
    )
    for role_id in dict.fromkeys(new.roles):
        connection.execute(insert(invite_roles).values(invite_id=invite_id, role_id=role_id))
    invite = get_invite(connection, by.organization_id, invite_id)
    record_invite(connection, by, None, invite_state(invite))
    return invite, token


def delete_invite(connection: Connection, invite_id: UUID) -> bool:
    """Delete an invite and return whether it existed. Of concurrent calls only one returns True."""
    deletion = connection.execute(delete(organization_invites).where(_invite.id == invite_id))
    return bool(deletion.rowcount)


def revoke_invite(connection: Connection, by: OrganizationAuthor, invite: Invite) -> None:
    """Delete an invite, and record it in the activity log."""
    delete_invite(connection, invite.id)
    record_invite(connection, by, invite_state(invite), None)


def revoke_invites_of(
    connection: Connection, by: OrganizationAuthor, author_id: int, level: int | None
) -> None:
    """Delete the invites that a member created and may no longer create.

    Args:
        by: The author of the change of the member.
        level: The new level of the member; None for a member who leaves.
    """
    revoked = (_invite.organization_id == by.organization_id) & (_invite.created_by_id == author_id)
    if level is not None and level >= Level.ADMIN:
        revoked &= _invite.level > level
    for invite in read_invites(connection, _select_invites(revoked).order_by(_invite.id)):
        revoke_invite(connection, by, invite)


def record_invite(
    connection: Connection,
    by: OrganizationAuthor,
    before: ItemState | None,
    after: ItemState | None,
) -> None:
    """Record a change of an invite in the activity log, in the transaction of the change."""
    change = OrganizationChange(scope="OrganizationInvite", before=before, after=after)
    record_in_organization(connection, by, change)


def invite_state(invite: Invite, *, is_accepted: bool = False) -> ItemState:
    fields = {
        "level": invite.level,
        "roles": [str(role_id) for role_id in invite.roles],
        "is_accepted": is_accepted,
    }
    return ItemState(str(invite.id), invite.target_email, fields)


def _select_invites(which: ColumnElement[bool]) -> Select[Any]:
    statement: Select[Any] = select(*(_invite[name] for name in _COLUMNS), *USER_SUMMARY)
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


def is_member(connection: Connection, organization_id: UUID, email: str) -> bool:
    """Return whether the user with an address belongs to the organization."""
    member = (
        select(users.c.id)
        .join(memberships, memberships.c.user_id == users.c.id)
        .where(memberships.c.organization_id == organization_id, users.c.email == email)
    )
    return connection.execute(member).first() is not None


def known_roles(
    connection: Connection, organization_id: UUID, role_ids: Sequence[UUID]
) -> set[UUID]:
    """Return those of the ids that are roles of the organization."""
    statement = select(roles.c.id).where(
        roles.c.organization_id == organization_id, roles.c.id.in_(role_ids)
    )
    return set(connection.scalars(statement)) if role_ids else set()
