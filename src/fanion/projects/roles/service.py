"""Changes of roles and their members, each in one transaction."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from fanion.activity.model import OrganizationAuthor
from fanion.errors import Invalid
from fanion.projects.organizations.model import AccessLevel
from fanion.projects.organizations.store import setting_of
from fanion.projects.roles.model import Role, RoleMember
from fanion.projects.roles.store import (
    RoleStore,
    add_role,
    delete_role,
    get_role,
    join_role,
    lock_role,
    record_role,
    remove_role_member,
    set_role,
)

# Port: access to flags is stored by the flags package, which is above this one.
RevokeFlags = Callable[[Connection, OrganizationAuthor, UUID], None]


@dataclass(frozen=True, slots=True)
class RoleService:
    """The changes of roles.

    Attributes:
        revoke_flags: Revokes the access of a role to flags before the role is deleted.
    """

    store: RoleStore
    revoke_flags: RevokeFlags

    async def create_role(
        self, by: OrganizationAuthor, name: str, level: AccessLevel | None
    ) -> Role:
        """Create a role.

        Args:
            level: None for the setting of the organization.

        Raises:
            Invalid: There is a role with this name (code `unique`).
        """
        with _unique_name():
            async with self.store.records.write() as connection:
                return await connection.run_sync(_create, by, name, level)

    async def change_role(
        self, by: OrganizationAuthor, role_id: UUID, values: Mapping[str, Any]
    ) -> Role:
        """Change a role.

        Args:
            values: New values of `name` and `feature_flags_access_level`.

        Raises:
            NotFound: There is no such role.
            Invalid: There is another role with this name (code `unique`).
        """
        with _unique_name():
            async with self.store.records.write() as connection:
                return await connection.run_sync(_change, by, role_id, values)

    async def remove_role(self, by: OrganizationAuthor, role_id: UUID) -> None:
        """Delete a role with its memberships and its access to flags, or raise NotFound."""
        async with self.store.records.write() as connection:
            await connection.run_sync(get_role, by.organization_id, role_id)
            await connection.run_sync(self.revoke_flags, by, role_id)
            # Only now, because transactions lock flags before roles.
            await connection.run_sync(delete_role, by, role_id)

    async def add_member(
        self, by: OrganizationAuthor, role_id: UUID, user_uuid: UUID
    ) -> RoleMember:
        """Add a member to a role.

        Raises:
            NotFound: There is no such role.
            Invalid: The user is not in the organization, or is in the role already.
        """
        try:
            async with self.store.records.write() as connection:
                return await connection.run_sync(join_role, by, role_id, user_uuid)
        except IntegrityError:
            raise Invalid("User is already part of the role.") from None

    async def remove_member(self, by: OrganizationAuthor, role_id: UUID, member_id: UUID) -> None:
        """Remove a member from a role, or raise NotFound."""
        async with self.store.records.write() as connection:
            await connection.run_sync(remove_role_member, by, role_id, member_id)


def _create(
    connection: Connection, by: OrganizationAuthor, name: str, level: AccessLevel | None
) -> Role:
    if level is None:
        level = setting_of(connection, by.organization_id) or AccessLevel.EDIT
    values = {"name": name, "feature_flags_access_level": level}
    role = add_role(connection, by, values)
    record_role(connection, by, None, role)
    return role


def _change(
    connection: Connection, by: OrganizationAuthor, role_id: UUID, values: Mapping[str, Any]
) -> Role:
    before = lock_role(connection, by.organization_id, role_id)
    set_role(connection, role_id, values)
    after = get_role(connection, by.organization_id, role_id)
    record_role(connection, by, before, after)
    return after


@contextmanager
def _unique_name() -> Iterator[None]:
    """Turn a violation of the unique constraint on names into Invalid."""
    try:
        yield
    except IntegrityError:
        raise Invalid(
            "There is already a role with this name.", code="unique", attr="name"
        ) from None
