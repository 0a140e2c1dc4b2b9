"""Changes of personal keys, each in one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from fanion.projects.auth.model import PersonalKey, Principal, check_expiry_of_key, check_scopes
from fanion.projects.auth.personal_keys_store import (
    NewPersonalKey,
    PersonalKeyStore,
    create_key,
    delete_key,
)


@dataclass(frozen=True, slots=True)
class PersonalKeyService:
    store: PersonalKeyStore

    async def create_own_key(
        self,
        principal: Principal,
        label: str,
        scopes: Sequence[str] | None,
        expires_at: datetime | None,
        now: datetime,
    ) -> tuple[PersonalKey, str]:
        """Create a key of the caller, and return it with its text, which cannot be read later.

        Raises:
            Invalid: A scope is unknown, the key would expire too late, or there are too many.
        """
        check_scopes(scopes or ())
        check_expiry_of_key(expires_at, principal.key_expires_at, now)
        return await self.create_key(
            NewPersonalKey(principal.user.id, label, scopes, now, expires_at)
        )

    async def create_key(self, new: NewPersonalKey) -> tuple[PersonalKey, str]:
        """Create a key, and return it with its text, which cannot be read later.

        Raises:
            Invalid: The user has too many keys.
        """
        async with self.store.records.write() as connection:
            return await connection.run_sync(create_key, new)

    async def delete_key(
        self, key_id: UUID, now: datetime, user_id: int | None = None
    ) -> str | None:
        """Delete a key and return its hash, or None if there is no such key.

        Args:
            user_id: The owner, who deletes it; None for the operator, who deletes keys of any user.
        """
        async with self.store.records.write() as connection:
            return await connection.run_sync(delete_key, key_id, now, user_id)
