"""A project's secret key: servers read flag definitions with it, nothing else.

source: sdk-wire.md section 5.1
"""

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from fanion.callers import Caller
from fanion.errors import InvalidPersonalApiKey
from fanion.projects.key_failures import KeyFailures
from fanion.projects.keys import KEY_BYTES, SECRET_KEY_PREFIX, hash_key, mask, secret_key
from fanion.projects.memory import Expiring, SharedReads
from fanion.projects.secret_key_store import SecretKeyStore

# How long a key counts after another server has replaced it; here it ends at once.
KNOWN_S = 2.0
KNOWN_KEYS_MAX = 10_000
NO_PROJECT = 0


class SecretKeys:
    """now: the time of day; clock: seconds, for what is remembered"""

    def __init__(
        self,
        store: SecretKeyStore,
        now: Callable[[], datetime],
        clock: Callable[[], float] = time.monotonic,
        failures: KeyFailures | None = None,
    ) -> None:
        self._failures = failures or KeyFailures(clock=clock)
        self._store = store
        self._now = now
        self._known: Expiring[str, int] = Expiring(KNOWN_S, KNOWN_KEYS_MAX, clock)
        self._reads = SharedReads(self._read)
        self._changes = 0

    async def project_id(self, key: str, place: str, caller: Caller | None = None) -> int | None:
        """Whose key it is; None for what is no secret key.

        place, caller: as of `Authentication.authenticate`
        raises: InvalidPersonalApiKey for a secret key that opens nothing; Throttled;
                RecordsUnavailable
        """
        if not key.startswith(SECRET_KEY_PREFIX):
            return None
        hashed = hash_key(key)
        known = self._known.get(hashed)
        if known is None:
            self._failures.require_room(key, caller)
        found = await self._look_up(hashed) if known is None else known
        if found == NO_PROJECT:
            self._failures.unknown(key, caller, was_read=known is None)
            raise InvalidPersonalApiKey(f"Personal API key found in request {place} is invalid.")
        return found

    async def _look_up(self, hashed: str) -> int:
        while True:
            changes = self._changes
            found = await self._reads.get(hashed) or NO_PROJECT
            if changes == self._changes:
                self._known.put(hashed, found)
                if found != NO_PROJECT:
                    self._failures.found(hashed)
                return found

    async def rotate(self, project_id: int, user_id: int | None = None) -> str:
        """A new key, told this once; the former one ends. raises: RecordsUnavailable

        user_id: by whom; None for the operator
        """
        text = secret_key(secrets.token_bytes(KEY_BYTES))
        former = await self._store.replace(
            project_id, hash_key(text), mask(text), self._now(), user_id
        )
        self._forget(former)
        return text

    async def revoke(self, project_id: int, user_id: int | None = None) -> bool:
        """Whether there was one. raises: RecordsUnavailable"""
        former = await self._store.remove(project_id, self._now(), user_id)
        self._forget(former)
        return former is not None

    def _forget(self, hashed: str | None) -> None:
        if hashed is not None:
            self._changes += 1
            self._reads.forget(hashed)
            self._known.forget(hashed)

    async def _read(self, hashes: Sequence[str]) -> Mapping[str, int]:
        return await self._store.project_ids(hashes)
