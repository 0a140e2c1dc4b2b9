"""Changes of the roles that may edit a flag, by users who may share it."""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.exc import IntegrityError

from fanion.activity.model import Author
from fanion.errors import Invalid
from fanion.flags.definitions.model import FlagAccess
from fanion.flags.definitions.role_access.store import (
    RoleAccess,
    RoleAccessStore,
    give_flag,
    remove_access,
)
from fanion.flags.definitions.service import FlagService
from fanion.flags.definitions.store import StoredFlag


@dataclass(frozen=True, slots=True)
class RoleAccessService:
    store: RoleAccessStore
    flags: FlagService

    async def create_access(
        self, author: Author, access: FlagAccess, flag_id: int, role_id: UUID
    ) -> tuple[RoleAccess, StoredFlag]:
        """Allow a role to edit a flag, and return the flag, too.

        Raises:
            NotFound: There is no such flag.
            PermissionDenied: The caller may not share the flag.
            Invalid: There is no such role, or it may edit the flag already.
        """
        flag = await self._shared_flag(author, access, flag_id)
        try:
            async with self.store.records.write() as connection:
                return await connection.run_sync(give_flag, author, flag_id, role_id), flag
        except IntegrityError:
            raise Invalid(
                "This role already has access to this feature flag.", code="unique", attr="role_id"
            ) from None

    async def remove_access(
        self, author: Author, access: FlagAccess, flag_id: int, access_id: int
    ) -> None:
        """Revoke a role's permission to edit a flag.

        Raises:
            NotFound: There is no such flag or permission.
            PermissionDenied: The caller may not share the flag.
        """
        await self._shared_flag(author, access, flag_id)
        async with self.store.records.write() as connection:
            await connection.run_sync(remove_access, author, flag_id, access_id)

    async def _shared_flag(self, author: Author, access: FlagAccess, flag_id: int) -> StoredFlag:
        flag = await self.flags.get_flag(author.project_id, flag_id)
        access.require_share(flag.creator_id)
        return flag
