"""A project's secret key: servers read flag definitions with it, nothing else.

source: sdk-wire.md section 5.1
"""

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from fanion.db.memory import Expiring, SharedReads
from fanion.errors import ExpiredPersonalApiKey, InvalidPersonalApiKey
from fanion.projects.auth.failed_attempts import KeyFailures
from fanion.projects.auth.keys import (
    KEY_BYTES,
    KEY_CHARS_MAX,
    SECRET_KEY_PREFIX,
    hash_key,
    mask,
    secret_key,
)
from fanion.projects.auth.secret_key_store import SecretKeyOwner, SecretKeyReset, SecretKeyStore
from fanion.wire.client_address import Caller

# How long a key counts after another server has replaced it; here it ends at once.
KNOWN_S = 2.0
KNOWN_KEYS_MAX = 10_000


@dataclass(frozen=True, slots=True)
class _Known:
    """owner: None for a key that opens nothing"""

    owner: SecretKeyOwner | None


class SecretKeys:
    """now: the time of day; clock: seconds, for what is remembered"""

    def __init__(
        self,
        store: SecretKeyStore,
        now: Callable[[], datetime],
        clock: Callable[[], float] = time.monotonic,
        failures: KeyFailures | None = None,
    ) -> None:
        self._store = store
        self._failures = failures or KeyFailures(clock=clock)
        self._now = now
        self._known: Expiring[str, _Known] = Expiring(KNOWN_S, KNOWN_KEYS_MAX, clock)
        self._reads = SharedReads(self._read)
        self._changes = 0
        self._listeners: list[Callable[[], None]] = []

    async def project_id(self, key: str, place: str, caller: Caller | None = None) -> int | None:
        """Whose key it is; None for what is no secret key.

        place, caller: as of `Authentication.authenticate`
        raises: InvalidPersonalApiKey for a secret key that opens nothing; Throttled;
                RecordsUnavailable
        """
        if not key.startswith(SECRET_KEY_PREFIX) or len(key) > KEY_CHARS_MAX:
            return None
        hashed = hash_key(key)
        known = self._known.get(hashed)
        was_read = known is None
        if known is None:
            self._failures.require_room(key, caller)
            known = await self._look_up(hashed)
        if known.owner is None:
            self._failures.unknown(key, caller, was_read=was_read)
            raise InvalidPersonalApiKey(f"Personal API key found in request {place} is invalid.")
        if known.owner.has_ended(self._now()):
            self._failures.ended_secret(mask(key), caller)
            raise ExpiredPersonalApiKey(f"Personal API key found in request {place} has expired.")
        return known.owner.project_id

    async def opens(self, hashed: str, project_id: int) -> bool:
        """Whether the key still reads the project's definitions. raises: RecordsUnavailable"""
        known = self._known.get(hashed) or await self._look_up(hashed)
        owner = known.owner
        return (
            owner is not None
            and owner.project_id == project_id
            and not owner.has_ended(self._now())
        )

    async def rotate(
        self, project_id: int, user_id: int | None = None, former_valid_s: int = 0
    ) -> str:
        """A new key, told this once. As SecretKeyStore.replace. raises: RecordsUnavailable

        user_id: by whom; None for the operator
        """
        text = secret_key(secrets.token_bytes(KEY_BYTES))
        hashed, now = hash_key(text), self._now()
        await self._store.replace(
            SecretKeyReset(project_id, hashed, mask(text), former_valid_s, now, user_id)
        )
        self._forget()
        return text

    async def revoke(self, project_id: int, user_id: int | None = None) -> bool:
        """With all former ones; whether there was any. raises: RecordsUnavailable"""
        was_there = await self._store.remove(project_id, self._now(), user_id)
        self._forget()
        return was_there

    def _forget(self) -> None:
        self._changes += 1
        self._reads.forget_all()
        self._known.clear()
        for ended in self._listeners:
            ended()

    def listen(self, ended: Callable[[], None]) -> None:
        """ended: is called when a key was replaced or revoked here"""
        self._listeners.append(ended)

    async def _look_up(self, hashed: str) -> _Known:
        while True:
            changes = self._changes
            known = _Known(await self._reads.get(hashed))
            if changes == self._changes:
                self._known.put(hashed, known)
                if known.owner is not None:
                    self._failures.found(hashed)
                return known

    async def _read(self, hashes: Sequence[str]) -> Mapping[str, SecretKeyOwner]:
        return await self._store.owners(hashes)
