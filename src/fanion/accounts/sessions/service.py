"""Sessions, cached: begun at sign-in, found by their cookie, ended here or on another server."""

import secrets
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Never
from uuid import UUID

from fanion.accounts.model import SESSION_BYTES, USED_EVERY, Device, Method, Session
from fanion.accounts.sessions.store import NewSession, SessionStore
from fanion.db.engine import RecordsUnavailable
from fanion.errors import SessionEnded
from fanion.projects.auth.authentication_service import KeyCache
from fanion.projects.auth.failed_attempts_cache import FailedAttempts
from fanion.projects.auth.keys import hash_key
from fanion.projects.model import Principal
from fanion.runtime.background import run_loop
from fanion.runtime.change_bus import ChangeBus, Topic
from fanion.server.forwarded import Caller

WRITE_USED_S = 10.0
SWEEP_EVERY = timedelta(hours=1)


class SessionService:
    """now: the time of day; clock: seconds that only go forward"""

    def __init__(
        self,
        store: SessionStore,
        now: Callable[[], datetime],
        clock: Callable[[], float] = time.monotonic,
        failures: FailedAttempts | None = None,
        bus: ChangeBus | None = None,
    ) -> None:
        self.store = store
        self._now = now
        self._failures = failures or FailedAttempts(clock=clock)
        self._cache: KeyCache[Session] = KeyCache(store.find, self._failures, clock)
        self._bus = bus or ChangeBus()
        self._used: dict[UUID, datetime] = {}
        self._swept_at: datetime | None = None

    async def start(
        self, user_id: int, method: Method, device: Device, password: str | None = None
    ) -> str:
        """A new session of an active user. Returns the cookie's value, which cannot be read later.

        password: as of `NewSession`
        raises:   SessionEnded, when that is no longer the password, or the user was disabled;
                  RecordsUnavailable
        """
        value = secrets.token_urlsafe(SESSION_BYTES)
        new = NewSession(
            hashed=hash_key(value),
            user_id=user_id,
            method=method,
            device=device,
            now=self._now(),
            password=password,
        )
        self._ended(user_id, await self.store.create(new))
        return value

    async def find(self, value: str, caller: Caller | None = None) -> Principal:
        """The owner of a session. caller: whose failures are counted; None to count none

        raises: SessionEnded, for an unknown cookie too; Throttled; RecordsUnavailable
        """
        session, was_read = await self._cache.look_up(value, caller, "session")
        if session is None:
            self._failures.unknown(value, caller, was_read=was_read, kind="session")
            raise SessionEnded
        now = self._now()
        session_id = session.principal.session_id
        assert session_id is not None
        if session.has_ended(now, self._used.get(session_id)):
            raise SessionEnded
        if now - session.last_used_at >= USED_EVERY:
            self._used.setdefault(session_id, now)
        return session.principal

    async def renew(self, user_id: int, session_id: UUID) -> str:
        """Another cookie for a session whose rights have changed; the other sessions of the user
        end. Returns its value, which cannot be read later.

        raises: SessionEnded, when that was faster; RecordsUnavailable
        """
        value = secrets.token_urlsafe(SESSION_BYTES)
        former = await self.store.renew(user_id, session_id, hash_key(value))
        if former is None:
            raise SessionEnded
        self._ended(user_id, [former])
        await self.end_all_of_user(user_id, session_id)
        return value

    async def end_by_cookie(self, value: str) -> None:
        """Nothing happens when it is no session's. raises: RecordsUnavailable"""
        session, _ = await self._cache.look_up(value, None)
        if session is not None and session.principal.session_id is not None:
            await self.end(session.principal.user.id, session.principal.session_id)

    async def end(self, user_id: int, session_id: UUID) -> bool:
        """Whether the user had such a session. raises: RecordsUnavailable"""
        gone = await self.store.delete(user_id, session_id)
        self._ended(user_id, gone)
        return bool(gone)

    async def end_all_of_user(self, user_id: int, except_id: UUID | None = None) -> int:
        """How many have ended. except_id: of a session that goes on. raises: RecordsUnavailable"""
        gone = await self.store.delete_all(user_id, except_id)
        self._ended(user_id, gone)
        return len(gone)

    def rights_changed(self, user_id: int) -> None:
        """This process has changed what the user may do, and deleted the sessions."""
        self.forget()
        self._bus.publish(Topic.SESSIONS, user_id)

    def changed(self, user_id: int, hashes: Sequence[str]) -> None:
        """This process has changed the owner of these sessions, or deleted them.

        hashes: of the cookies' values
        """
        self._ended(user_id, hashes)

    def forget(self, _: int = 0) -> None:
        """Sessions were changed in the records store: read them again."""
        self._cache.invalidate_all()

    async def run(self) -> Never:
        """Write which sessions were used, and delete those that have ended, until cancelled."""
        await run_loop(
            self.maintain,
            WRITE_USED_S,
            "session_use_not_written",
            (RecordsUnavailable,),
            initial_delay_s=WRITE_USED_S,
        )

    async def maintain(self) -> None:
        """raises: RecordsUnavailable"""
        await self.write_used()
        now = self._now()
        if self._swept_at is None or now - self._swept_at >= SWEEP_EVERY:
            await self.store.delete_ended(now)
            self._swept_at = now

    async def write_used(self) -> None:
        """raises: RecordsUnavailable; the next call writes what this one did not"""
        used = dict(self._used)
        await self.store.mark_used(used)
        for session_id in used:
            self._used.pop(session_id, None)

    def _ended(self, user_id: int, hashes: Sequence[str]) -> None:
        for hashed in hashes:
            self._cache.invalidate(hashed)
        if hashes:
            self._bus.publish(Topic.SESSIONS, user_id)
