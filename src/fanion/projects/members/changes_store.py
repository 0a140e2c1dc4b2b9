"""Changes of members by other members, within their rights."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection

from fanion.db.engine import Records
from fanion.db.schema.tables import users
from fanion.errors import NotFound
from fanion.projects.members.store import Member, give_level, member_where, remove_member
from fanion.projects.model import Level, access_not_given
from fanion.projects.organizations.member_rights import (
    Manager,
    require_manager,
    require_may_change_level,
    require_may_remove,
)
from fanion.projects.organizations.store import lock_members, manager_of


@dataclass(frozen=True, slots=True)
class MemberChange:
    """A change of one member by another.

    Attributes:
        by: The id of the user who makes the change.
    """

    organization_id: UUID
    user_uuid: UUID
    by: int
    now: datetime


@dataclass(frozen=True, slots=True)
class MemberChangeStore:
    records: Records

    async def change_level(
        self, change: MemberChange, level: Level, *, may_raise: bool = True
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
        async with self.records.write() as connection:
            return await connection.run_sync(_change_member_level, change, level, may_raise)

    async def dismiss(self, change: MemberChange) -> Member:
        """Remove a member. Every member may leave.

        Returns:
            The former member.

        Raises:
            NotFound: There is no such member.
            PermissionDenied: The user may not remove this member.
            Invalid: The member is the last owner (code `last_owner`).
        """
        async with self.records.write() as connection:
            return await connection.run_sync(_dismiss_member, change)


def _change_member_level(
    connection: Connection, change: MemberChange, level: Level, may_raise: bool
) -> Member:
    manager, member = _manager_and_member(connection, change)
    require_may_change_level(manager, member.user_id, member.level, level)
    if level > member.level and not may_raise:
        raise access_not_given()
    return give_level(connection, change.organization_id, member, level, change.by, change.now)


def _dismiss_member(connection: Connection, change: MemberChange) -> Member:
    manager, member = _manager_and_member(connection, change)
    require_may_remove(manager, member.user_id, member.level)
    remove_member(connection, change.organization_id, member, change.by, change.now)
    return member


def _manager_and_member(connection: Connection, change: MemberChange) -> tuple[Manager, Member]:
    """Return both as they are now: the level that the request came with may have been lowered.

    Raises:
        NotFound: There is no such member.
        PermissionDenied: There is no such member, and the user may not manage members.
    """
    lock_members(connection, change.organization_id)
    manager = manager_of(connection, change.organization_id, change.by)
    try:
        return manager, member_where(
            connection, change.organization_id, users.c.uuid == change.user_uuid
        )
    except NotFound:
        require_manager(manager.level)
        raise
