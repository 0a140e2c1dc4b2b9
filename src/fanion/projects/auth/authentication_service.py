"""Authentication with personal API keys, cached; keys are issued and revoked here.

source: capture.md section 9
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Never
from uuid import UUID

from cachetools import TTLCache

from fanion.db.batching import SerialDataLoader
from fanion.db.engine import RecordsUnavailable
from fanion.errors import ExpiredPersonalApiKey, InvalidPersonalApiKey, NotFound
from fanion.projects.auth.failed_attempts_cache import FailedAttempts
from fanion.projects.auth.keys import KEY_CHARS_MAX, hash_key
from fanion.projects.auth.personal_keys_store import USED_EVERY, PersonalKeyStore
from fanion.projects.model import PersonalKey, Principal
from fanion.runtime.background import run_loop
from fanion.runtime.change_bus import ChangeBus, Topic
from fanion.server.forwarded import Caller

# How long a key counts after another server has revoked it; here it ends at once.
KNOWN_S = 2.0
KNOWN_KEYS_MAX = 10_000
WRITE_USED_S = 10.0


@dataclass(frozen=True, slots=True)
class _Known:
    """principal: None for an unknown key"""

    principal: Principal | None


_UNKNOWN = _Known(None)


class Authentication:
    """now: the time of day; clock: seconds, for what is remembered"""

    def __init__(
        self,
        store: PersonalKeyStore,
        now: Callable[[], datetime],
        clock: Callable[[], float] = time.monotonic,
        failures: FailedAttempts | None = None,
        bus: ChangeBus | None = None,
    ) -> None:
        self.store = store
        self.failures = failures or FailedAttempts(clock=clock)
        self._now = now
        self._known: TTLCache[str, _Known] = TTLCache(KNOWN_KEYS_MAX, KNOWN_S, clock)
        self._reads = SerialDataLoader(store.principals)
        self._revocations = 0
        self._bus = bus or ChangeBus()
        self._used: dict[UUID, datetime] = {}

    async def authenticate(self, key: str, place: str, caller: Caller | None = None) -> Principal:
        """place: where in the request the key stood, for the refusal
        caller: whose failures are counted; None to count none

        raises: InvalidPersonalApiKey, ExpiredPersonalApiKey, Throttled, RecordsUnavailable
        """
        known, was_read = _UNKNOWN, False
        if len(key) <= KEY_CHARS_MAX:
            hashed = hash_key(key)
            remembered = self._known.get(hashed)
            was_read = remembered is None
            if was_read:
                self.failures.require_room(key, caller)
            known = remembered or await self._look_up(hashed)
        if known.principal is None:
            self.failures.unknown(key, caller, was_read=was_read)
            raise InvalidPersonalApiKey(f"Personal API key found in request {place} is invalid.")
        now = self._now()
        if known.principal.has_expired(now):
            self.failures.expired(known.principal, caller)
            raise ExpiredPersonalApiKey(f"Personal API key found in request {place} has expired.")
        self._note_use(known.principal, now)
        return known.principal

    async def principal(self, hashed: str) -> Principal | None:
        """By the hash of a key; None if it is unknown or has expired. raises: RecordsUnavailable"""
        principal = (self._known.get(hashed) or await self._look_up(hashed)).principal
        return None if principal is None or principal.has_expired(self._now()) else principal

    def require_room(self, key: str, caller: Caller | None) -> None:
        """Before anything is read for a key that may be unknown. raises: Throttled"""
        if len(key) <= KEY_CHARS_MAX and self._known.get(hash_key(key)) is None:
            self.failures.require_room(key, caller)

    async def page(self, user_id: int, limit: int, offset: int) -> tuple[list[PersonalKey], int]:
        return await self.store.page(user_id, limit, offset)

    async def key(self, user_id: int, key_id: UUID) -> PersonalKey:
        """raises: NotFound"""
        found = await self.store.find(user_id, key_id)
        if found is None:
            raise NotFound
        return found

    async def issue(
        self,
        user_id: int,
        label: str,
        scopes: Sequence[str] | None,
        expires_at: datetime | None = None,
    ) -> tuple[PersonalKey, str]:
        """The key, and its text, which cannot be read later."""
        return await self.store.create(user_id, label, scopes, self._now(), expires_at)

    async def revoke(self, user_id: int, key_id: UUID) -> None:
        """raises: NotFound"""
        hashed = await self.store.delete(user_id, key_id, self._now())
        if hashed is None:
            raise NotFound
        self._revocations += 1
        self._reads.forget(hashed)
        self._known.pop(hashed, None)
        self._bus.publish(Topic.PERSONAL_KEYS, user_id)

    def forget(self) -> None:
        """Another process of this server has revoked a key."""
        self._revocations += 1
        self._reads.forget_all()
        self._known.clear()

    async def run(self) -> Never:
        """Write which keys were used, until cancelled."""
        await run_loop(
            self.write_used,
            WRITE_USED_S,
            "key_use_not_written",
            (RecordsUnavailable,),
            initial_delay_s=WRITE_USED_S,
        )

    async def write_used(self) -> None:
        """raises: RecordsUnavailable; what was not written stays noted"""
        used = dict(self._used)
        await self.store.mark_used(used)
        for key_id in used:
            self._used.pop(key_id, None)

    async def _look_up(self, hashed: str) -> _Known:
        while True:
            revocations = self._revocations
            known = _Known(await self._reads.get(hashed))
            if revocations == self._revocations:
                self._known[hashed] = known
                if known.principal is not None:
                    self.failures.found(hashed)
                return known

    def _note_use(self, principal: Principal, now: datetime) -> None:
        last = principal.key_last_used_at
        if principal.key_id in self._used:
            return
        if last is None or now - last >= USED_EVERY:
            self._used[principal.key_id] = now
