"""Accepting an invite: the person with its link becomes a member of the organization."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection, select, update
from sqlalchemy.exc import IntegrityError

from fanion.activity.model import OrganizationAuthor
from fanion.db.engine import Records
from fanion.db.schema.organizations import organization_invites
from fanion.db.schema.tables import memberships, organizations, projects, users
from fanion.errors import Invalid, NotFound, PermissionDenied
from fanion.projects.auth.keys import KEY_CHARS_MAX, hash_key
from fanion.projects.invites.model import (
    InvalidInvite,
    OpenInvite,
    account_exists,
    expired_invite,
    other_recipient,
)
from fanion.projects.invites.store import (
    delete_invite,
    find_invite,
    invite_state,
    record_invite,
)
from fanion.projects.members.store import (
    end_sessions_of,
    insert_member,
    insert_user,
    restore_user,
)
from fanion.projects.model import Organization
from fanion.projects.organizations.model import require_may_give
from fanion.projects.organizations.store import lock_members, manager_of
from fanion.projects.roles.store import join_role, lock_roles

_invite, _user, _member = organization_invites.c, users.c, memberships.c


@dataclass(frozen=True, slots=True)
class NewAccount:
    """The account of a person who has none.

    Attributes:
        password_hash: In the form in which `users` stores it.
    """

    first_name: str
    password_hash: str


@dataclass(frozen=True, slots=True)
class InviteAcceptance:
    """The acceptance of invites.

    The activity log of the organization's projects names the invited user as the author. An invite
    is valid as long as its author may give the level in it.
    """

    records: Records

    async def find(self, token: str, now: datetime) -> OpenInvite:
        """Return the invite with this token, or raise Invalid."""
        async with self.records.read() as connection:
            return await connection.run_sync(_find_invite, token, now)

    async def require_no_account(self, invited: str) -> None:
        """Raise Invalid if the address has an account, before a password is hashed."""
        async with self.records.read() as connection:
            if await connection.run_sync(_has_account, invited):
                raise account_exists()

    async def accept_as_new(self, token: str, account: NewAccount, now: datetime) -> int:
        """Create an account for the invited address and return its user id.

        A user who was removed from every organization is restored.

        Raises:
            Invalid: The invite is not valid, or the address has an account.
        """
        try:
            async with self.records.write() as connection:
                return await connection.run_sync(_create_account_and_join, token, account, now)
        except IntegrityError:  # an account with that address was created meanwhile
            raise account_exists() from None

    async def accept_as(self, token: str, user_id: int, now: datetime) -> None:
        """Accept an invite as a user who is signed in.

        Raises:
            Invalid: The invite is not valid, is for another address, or the user is a member
                already.
        """
        async with self.records.write() as connection:
            await connection.run_sync(_join_as_user, token, user_id, now)


def _find_invite(connection: Connection, token: str, now: datetime) -> OpenInvite:
    organization = _organization_of_link(connection, token)
    invite = find_invite(connection, _invite.hash == hash_key(token))
    if invite is None:
        raise InvalidInvite
    try:
        author = manager_of(connection, organization.id, invite.created_by.id)
        require_may_give(author, invite.level)
    except (NotFound, PermissionDenied):
        raise InvalidInvite from None
    if invite.has_expired(now):
        raise expired_invite()
    return OpenInvite(invite, organization)


def _organization_of_link(connection: Connection, token: str) -> Organization:
    if len(token) > KEY_CHARS_MAX:
        raise InvalidInvite
    row = connection.execute(
        select(organizations.c.id, organizations.c.name)
        .join(organization_invites, _invite.organization_id == organizations.c.id)
        .where(_invite.hash == hash_key(token))
    ).first()
    if row is None:
        raise InvalidInvite
    return Organization(row.id, row.name)


def _take_invite(connection: Connection, token: str, now: datetime) -> OpenInvite:
    """Delete and return an invite, which thus works only once, unless the transaction fails.

    The lock keeps the rights of the invite's author as they are.
    """
    lock_members(connection, _organization_of_link(connection, token).id)
    lock_roles(connection, _find_invite(connection, token, now).invite.roles)
    open_invite = _find_invite(
        connection, token, now
    )  # without roles that were deleted before the lock
    if not delete_invite(connection, open_invite.invite.id):
        raise InvalidInvite
    return open_invite


def _create_account_and_join(
    connection: Connection, token: str, account: NewAccount, now: datetime
) -> int:
    open_invite = _take_invite(connection, token, now)
    email = open_invite.invite.target_email
    if _has_account(connection, email):
        raise account_exists()
    by = OrganizationAuthor(open_invite.organization.id, None, now)
    user_id = connection.scalar(select(_user.id).where(_user.email == email))
    if user_id is None:
        user_id = insert_user(connection, by, email, account.first_name, account.password_hash)
    else:
        restore_user(connection, user_id, account.first_name, account.password_hash)
    _add_member(connection, open_invite, user_id, now)
    return user_id


def _has_account(connection: Connection, email: str) -> bool:
    """Return whether the address has an account.

    A disabled user still has one; a user who was removed from every organization does not.
    """
    member = select(_member.user_id).where(_member.user_id == _user.id).exists()
    known = select(_user.id).where(_user.email == email, _user.is_active | member)
    return connection.execute(known).first() is not None


def _join_as_user(connection: Connection, token: str, user_id: int, now: datetime) -> None:
    open_invite = _take_invite(connection, token, now)
    user = connection.execute(
        select(_user.email).where(_user.id == user_id, _user.is_active)
    ).one_or_none()
    if user is None or user.email != open_invite.invite.target_email:
        raise other_recipient(open_invite.invite.target_email)
    present = connection.execute(
        select(_member.level).where(
            _member.organization_id == open_invite.organization.id, _member.user_id == user_id
        )
    ).first()
    if present is not None:
        raise Invalid("You are already a member of this organization.", code="already_member")
    end_sessions_of(connection, user_id)
    _add_member(connection, open_invite, user_id, now)


def _add_member(
    connection: Connection, open_invite: OpenInvite, user_id: int, now: datetime
) -> None:
    organization_id, invite = open_invite.organization.id, open_invite.invite
    by = OrganizationAuthor(organization_id, user_id, now)
    insert_member(connection, by, user_id, invite.target_email, invite.level)
    uuid = connection.execute(select(_user.uuid).where(_user.id == user_id)).scalar_one()
    for role_id in invite.roles:
        join_role(connection, by, role_id, uuid)
    accepted = invite_state(invite, is_accepted=True)
    record_invite(connection, by, invite_state(invite), accepted)
    _show_first_project(connection, organization_id, user_id)


def _show_first_project(connection: Connection, organization_id: UUID, user_id: int) -> None:
    """Make the oldest project of the organization the current one of the user."""
    of_organization = projects.c.organization_id == organization_id
    oldest = connection.scalar(
        select(projects.c.id).where(of_organization).order_by(projects.c.id).limit(1)
    )
    connection.execute(update(users).where(_user.id == user_id).values(current_project_id=oldest))
