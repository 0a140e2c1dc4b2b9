"""Changes of members by other members, within their rights, and by the operator.

Each is one transaction.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from fanion.activity.model import OrganizationAuthor
from fanion.errors import NotFound
from fanion.projects.auth.model import PersonalKey, access_not_given
from fanion.projects.auth.personal_keys_store import NewPersonalKey, create_key, revoke_keys_of
from fanion.projects.invites.store import revoke_invites_of
from fanion.projects.members.model import Member, NewMember, address_taken, last_owner
from fanion.projects.members.store import (
    MemberStore,
    delete_member,
    end_sessions_of,
    find_member,
    find_member_by_uuid,
    find_user,
    forget_sign_in,
    has_other_owner,
    insert_member,
    insert_user,
    lock_member,
    organizations_of,
    record_member,
    restore_user,
    set_member_level,
    set_user_active,
)
from fanion.projects.model import Level
from fanion.projects.organizations.model import (
    Manager,
    require_manager,
    require_may_change_level,
    require_may_remove,
)
from fanion.projects.organizations.store import lock_members, manager_of
from fanion.projects.roles.store import leave_roles


@dataclass(frozen=True, slots=True)
class MemberService:
    """The changes of members.

    `add_member`, `set_level`, `set_active` and `remove_member` are those of the operator, whom the
    activity log does not name.
    """

    store: MemberStore

    async def change_level(
        self, by: OrganizationAuthor, user_uuid: UUID, level: Level, *, may_raise: bool = True
    ) -> Member:
        """Give a member another level.

        Args:
            may_raise: Whether the caller may give a higher level than the member has.

        Raises:
            NotFound: There is no such member.
            PermissionDenied: The user may not make this change.
            FreshSignInRequired: The level is higher, and `may_raise` is False.
            Invalid: The member is the last owner (code `last_owner`).
        """
        async with self.store.records.write() as connection:
            return await connection.run_sync(_change_level, by, user_uuid, level, may_raise)

    async def dismiss(self, by: OrganizationAuthor, user_uuid: UUID) -> Member:
        """Remove a member. Every member may leave.

        Returns:
            The former member.

        Raises:
            NotFound: There is no such member.
            PermissionDenied: The user may not remove this member.
            Invalid: The member is the last owner (code `last_owner`).
        """
        async with self.store.records.write() as connection:
            return await connection.run_sync(_dismiss, by, user_uuid)

    async def add_member(
        self, organization_id: UUID, new: NewMember, now: datetime
    ) -> tuple[Member, PersonalKey, str]:
        """Add a member with a personal key. A user who was removed before is restored.

        Returns:
            The member, the key, and the key's text, which cannot be read later.

        Raises:
            Invalid: A member of any organization has the e-mail address (code `unique`).
        """
        by = OrganizationAuthor(organization_id, None, now)
        try:
            async with self.store.records.write() as connection:
                return await connection.run_sync(_add, by, new)
        except IntegrityError:
            raise address_taken() from None

    async def set_level(
        self, organization_id: UUID, email: str, level: Level, now: datetime
    ) -> Member:
        """Set the level of a member.

        Raises:
            NotFound: There is no such member.
            Invalid: The member is the last owner (code `last_owner`).
        """
        by = OrganizationAuthor(organization_id, None, now)
        async with self.store.records.write() as connection:
            member = await connection.run_sync(lock_member, organization_id, email)
            return await connection.run_sync(_give_level, by, member, level)

    async def set_active(
        self, organization_id: UUID, email: str, is_active: bool, now: datetime
    ) -> Member:
        """Enable or disable a user. A disabled user cannot authenticate in any organization.

        Raises:
            NotFound: There is no such member.
            Invalid: The member is the last owner (code `last_owner`).
        """
        by = OrganizationAuthor(organization_id, None, now)
        async with self.store.records.write() as connection:
            return await connection.run_sync(_set_active, by, email, is_active)

    async def remove_member(self, organization_id: UUID, email: str, now: datetime) -> None:
        """Remove a member from the organization and its roles.

        With the last organization the member's keys are deleted, too.

        Raises:
            NotFound: There is no such member.
            Invalid: The member is the last owner (code `last_owner`).
        """
        by = OrganizationAuthor(organization_id, None, now)
        async with self.store.records.write() as connection:
            member = await connection.run_sync(lock_member, organization_id, email)
            await connection.run_sync(_remove, by, member)


def _change_level(
    connection: Connection, by: OrganizationAuthor, user_uuid: UUID, level: Level, may_raise: bool
) -> Member:
    manager, member = _manager_and_member(connection, by, user_uuid)
    require_may_change_level(manager, member.user_id, member.level, level)
    if level > member.level and not may_raise:
        raise access_not_given()
    return _give_level(connection, by, member, level)


def _dismiss(connection: Connection, by: OrganizationAuthor, user_uuid: UUID) -> Member:
    manager, member = _manager_and_member(connection, by, user_uuid)
    require_may_remove(manager, member.user_id, member.level)
    _remove(connection, by, member)
    return member


def _manager_and_member(
    connection: Connection, by: OrganizationAuthor, user_uuid: UUID
) -> tuple[Manager, Member]:
    """Return both as they are now: the level that the request came with may have been lowered.

    Raises:
        NotFound: There is no such member.
        PermissionDenied: There is no such member, and the user may not manage members.
    """
    assert by.user_id is not None
    lock_members(connection, by.organization_id)
    manager = manager_of(connection, by.organization_id, by.user_id)
    try:
        return manager, find_member_by_uuid(connection, by.organization_id, user_uuid)
    except NotFound:
        require_manager(manager.level)
        raise


def _add(
    connection: Connection, by: OrganizationAuthor, new: NewMember
) -> tuple[Member, PersonalKey, str]:
    lock_members(connection, by.organization_id)
    user_id = _create_or_restore_user(connection, by, new)
    insert_member(connection, by, user_id, new.email, new.level)
    new_key = NewPersonalKey(
        user_id, new.key_label, None, by.now, new.key_expires_at, by_operator=True
    )
    key, text = create_key(connection, new_key)
    return find_member(connection, by.organization_id, new.email), key, text


def _create_or_restore_user(connection: Connection, by: OrganizationAuthor, new: NewMember) -> int:
    """Create a user, or restore a former member. Raise Invalid for a member of any organization."""
    known = find_user(connection, new.email)
    if known is None:
        return insert_user(connection, by, new.email, new.first_name)
    user_id, is_member = known
    if is_member:
        raise address_taken()
    restore_user(connection, user_id, new.first_name)
    return user_id


def _give_level(
    connection: Connection, by: OrganizationAuthor, before: Member, level: Level
) -> Member:
    if level != Level.OWNER:
        _require_other_owner(connection, by.organization_id, before)
    after = set_member_level(connection, by, before, level)
    if level != before.level:
        end_sessions_of(connection, before.user_id)
        revoke_invites_of(connection, by, before.user_id, level)
    return after


def _set_active(
    connection: Connection, by: OrganizationAuthor, email: str, is_active: bool
) -> Member:
    user_id = find_member(connection, by.organization_id, email).user_id
    organization_ids = organizations_of(connection, user_id)
    before = {each_id: lock_member(connection, each_id, email) for each_id in organization_ids}
    if not is_active:
        for each_id, member in before.items():
            _require_other_owner(connection, each_id, member)
    set_user_active(connection, user_id, is_active)
    end_sessions_of(connection, user_id)
    for each_id, member in before.items():
        author = OrganizationAuthor(each_id, by.user_id, by.now)
        record_member(connection, author, member, find_member(connection, each_id, email))
    return find_member(connection, by.organization_id, email)


def _remove(connection: Connection, by: OrganizationAuthor, member: Member) -> None:
    _require_other_owner(connection, by.organization_id, member)
    leave_roles(connection, by, member.user_id)
    revoke_invites_of(connection, by, member.user_id, None)
    end_sessions_of(connection, member.user_id)
    if organizations_of(connection, member.user_id) == [by.organization_id]:
        revoke_keys_of(connection, member.user_id, by.now, by.user_id)
        forget_sign_in(connection, member.user_id)
        set_user_active(connection, member.user_id, False)
    delete_member(connection, by, member)


def _require_other_owner(connection: Connection, organization_id: UUID, member: Member) -> None:
    """Raise Invalid if the member is the last active owner: a disabled owner does not count."""
    if member.level != Level.OWNER or not member.is_active:
        return
    if not has_other_owner(connection, organization_id, member):
        raise last_owner(member)
