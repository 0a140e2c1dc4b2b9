"""Authentication with secret keys of projects, and their replacement.

Source: sdk-wire.md, section 5.1.
"""

import secrets
import time
from collections.abc import Callable
from datetime import datetime

from fanion.errors import ExpiredPersonalApiKey
from fanion.projects.auth.authentication_service import KeyCache, has_expired
from fanion.projects.auth.failed_attempts_cache import FailedAttempts
from fanion.projects.auth.keys import (
    KEY_BYTES,
    KEY_CHARS_MAX,
    SECRET_KEY_PREFIX,
    hash_key,
    mask,
    secret_key,
)
from fanion.projects.auth.secret_keys_store import (
    SecretKeyReset,
    SecretKeyState,
    SecretKeyStore,
    remove_keys,
    replace_key,
)
from fanion.runtime.change_bus import ChangeBus, Topic
from fanion.server.forwarded import Caller


class SecretKeys:
    """Authentication with secret keys, cached. Keys are replaced and revoked here.

    Args:
        now: Returns the time of day.
        clock: Monotonic clock, in seconds.
    """

    def __init__(
        self,
        store: SecretKeyStore,
        now: Callable[[], datetime],
        clock: Callable[[], float] = time.monotonic,
        failures: FailedAttempts | None = None,
        bus: ChangeBus | None = None,
    ) -> None:
        self._store = store
        self._failures = failures or FailedAttempts(clock=clock)
        self._now = now
        self._keys = KeyCache(store.owners, self._failures, clock)
        self._bus = bus or ChangeBus()

    async def project_id(self, key: str, location: str, caller: Caller | None = None) -> int | None:
        """Return the project of a key, or None for text that is not a secret key.

        Args:
            location: Where in the request the key was, for errors.
            caller: The client whose failures are counted; None to count none.

        Raises:
            InvalidPersonalApiKey: The key is unknown.
            ExpiredPersonalApiKey: The key has expired.
            Throttled: The client has sent too many unknown keys.
            RecordsUnavailable: The records store does not answer.
        """
        if not key.startswith(SECRET_KEY_PREFIX) or len(key) > KEY_CHARS_MAX:
            return None
        owner = await self._keys.find(key, location, caller)
        if has_expired(owner.valid_until, self._now()):
            self._failures.ended_secret(mask(key), caller)
            raise ExpiredPersonalApiKey(
                f"Personal API key found in request {location} has expired."
            )
        return owner.project_id

    async def key_state(self, project_id: int) -> SecretKeyState:
        """Return the masked form of the project's current key and when it was made.

        Raises:
            RecordsUnavailable: The records store does not answer.
        """
        return await self._store.key_state(project_id)

    async def opens(self, hashed: str, project_id: int) -> bool:
        """Return whether the key still reads the project's definitions.

        Raises:
            RecordsUnavailable: The records store does not answer.
        """
        owner = await self._keys.get(hashed)
        return (
            owner is not None
            and owner.project_id == project_id
            and not has_expired(owner.valid_until, self._now())
        )

    async def rotate_key(
        self, project_id: int, user_id: int | None = None, former_valid_s: int = 0
    ) -> str:
        """Replace the key of a project and return the new key, which cannot be read later.

        Args:
            user_id: The user who makes the change; None for the operator.
            former_valid_s: How long the current key stays valid. With 0, it and all former ones
                expire at once.

        Raises:
            Invalid: FORMER_KEYS_MAX former keys are still valid.
            RecordsUnavailable: The records store does not answer.
        """
        text = secret_key(secrets.token_bytes(KEY_BYTES))
        hashed, now = hash_key(text), self._now()
        reset = SecretKeyReset(project_id, hashed, mask(text), former_valid_s, now, user_id)
        async with self._store.records.write() as connection:
            await connection.run_sync(replace_key, reset)
        self.keys_changed(project_id)
        return text

    async def revoke_key(self, project_id: int, user_id: int | None = None) -> bool:
        """Delete the key of a project and all former ones, and return whether any was valid.

        Raises:
            RecordsUnavailable: The records store does not answer.
        """
        async with self._store.records.write() as connection:
            was_there = await connection.run_sync(remove_keys, project_id, self._now(), user_id)
        self.keys_changed(project_id)
        return was_there

    def keys_changed(self, project_id: int) -> None:
        """Forget cached keys, because this process has changed or deleted keys of a project."""
        self._keys.invalidate_all()
        self._bus.publish(Topic.SECRET_KEYS, project_id)
