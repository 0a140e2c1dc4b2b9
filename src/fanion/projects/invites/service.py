"""Invites by members, within their rights: created, mailed and deleted, each in one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from msgspec.structs import replace
from sqlalchemy import Connection

from fanion.activity.model import OrganizationAuthor
from fanion.errors import Invalid
from fanion.projects.invites.mail import InviteLink, MailSender, send_invite
from fanion.projects.invites.model import INVITES_MAX, SIGNUP_PATH, Invite, NewInvite
from fanion.projects.invites.store import (
    InviteStore,
    count_invites,
    find_invite_to,
    get_invite,
    insert_invite,
    is_member,
    known_roles,
    revoke_invite,
)
from fanion.projects.model import Organization
from fanion.projects.organizations.model import Manager, require_manager, require_may_give
from fanion.projects.organizations.store import lock_members, manager_of
from fanion.projects.roles.store import lock_roles


@dataclass(frozen=True, slots=True)
class InviteService:
    """The changes of invites, and the way to mail them.

    Attributes:
        send_mail: None if the server sends no mails.
        mail_url: The base URL of links in mails, which never comes from the request.
    """

    store: InviteStore
    send_mail: MailSender | None = None
    mail_url: str = ""

    async def create_invites(
        self, by: OrganizationAuthor, organization: Organization, new: Sequence[NewInvite]
    ) -> Sequence[tuple[Invite, str]]:
        """Create all invites or none, mail them, and return each with the token of its link.

        The tokens cannot be read later. An invite to the same address is replaced: its link ends.

        Raises:
            NotFound: The user is not an active member of the organization.
            PermissionDenied: The user may not give a level.
            Invalid: An invite is not valid, or there would be too many.
        """
        async with self.store.records.write() as connection:
            created = await connection.run_sync(_create_invites, by, new)
        links = [
            InviteLink(invite, organization.name, f"{self.mail_url}{SIGNUP_PATH}{token}/")
            for invite, token in created
        ]
        mailed = await self._send_mails(links, [invite.send_email for invite in new])
        return [
            (replace(invite, emailing_attempt_made=invite.id in mailed), token)
            for invite, token in created
        ]

    async def remove_invite(self, by: OrganizationAuthor, invite_id: UUID) -> None:
        """Delete an invite, whose link ends.

        Raises:
            NotFound: There is no such invite.
            PermissionDenied: The user may not give the level of the invite.
        """
        async with self.store.records.write() as connection:
            await connection.run_sync(_remove_invite, by, invite_id)

    async def _send_mails(
        self, links: Sequence[InviteLink], is_requested: Sequence[bool]
    ) -> set[UUID]:
        """Send the mails of the invites, and return the ids of those that are going to be sent."""
        send = self.send_mail
        if send is None:
            return set()
        mailed = {
            link.invite.id
            for link, should_send in zip(links, is_requested, strict=True)
            if should_send and send_invite(send, link)
        }
        if mailed:
            await self.store.note_mailed(list(mailed))
        return mailed


def _create_invites(
    connection: Connection, by: OrganizationAuthor, new_invites: Sequence[NewInvite]
) -> list[tuple[Invite, str]]:
    manager = _lock_manager(connection, by)
    lock_roles(connection, [role_id for new in new_invites for role_id in new.roles])
    invites = [_create_invite(connection, by, manager, new) for new in new_invites]
    if count_invites(connection, by.organization_id) > INVITES_MAX:
        raise Invalid(
            f"You can only have {INVITES_MAX} invites. Delete those that are no longer needed."
        )
    return invites


def _lock_manager(connection: Connection, by: OrganizationAuthor) -> Manager:
    """Return the user who makes the change, whose rights stay until the transaction ends."""
    assert by.user_id is not None
    lock_members(connection, by.organization_id)
    manager = manager_of(connection, by.organization_id, by.user_id)
    require_manager(manager.level)
    return manager


def _create_invite(
    connection: Connection, by: OrganizationAuthor, manager: Manager, new: NewInvite
) -> tuple[Invite, str]:
    require_may_give(manager, new.level)
    if is_member(connection, by.organization_id, new.target_email):
        raise Invalid(
            "A user with this e-mail address already belongs to the organization.",
            code="unique",
            attr=f"{new.at}target_email",
        )
    _require_roles(connection, by.organization_id, new)
    former = find_invite_to(connection, by.organization_id, new.target_email)
    if former is not None:
        require_may_give(manager, former.level)
        revoke_invite(connection, by, former)
    return insert_invite(connection, by, new)


def _require_roles(connection: Connection, organization_id: UUID, new: NewInvite) -> None:
    known = known_roles(connection, organization_id, new.roles)
    for role_id in new.roles:
        if role_id not in known:
            raise Invalid(
                f'Invalid pk "{role_id}" - object does not exist.',
                code="does_not_exist",
                attr=f"{new.at}roles",
            )


def _remove_invite(connection: Connection, by: OrganizationAuthor, invite_id: UUID) -> None:
    manager = _lock_manager(connection, by)
    invite = get_invite(connection, by.organization_id, invite_id)
    require_may_give(manager, invite.level)
    revoke_invite(connection, by, invite)
