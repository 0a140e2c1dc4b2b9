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
from fanion.projects.auth.model import Principal
from fanion.runtime.background import run_loop
from fanion.runtime.change_bus import ChangeBus, Topic
from fanion.server.forwarded import Caller

WRITE_USED_S = 10.0
SWEEP_EVERY = timedelta(hours=1)


class SessionService:
    """The sessions of all users, with a cache.

    Args:
        now: Returns the time of day.
        clock: Monotonic clock, in seconds.
    """

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
        self._cache: KeyCache[Session] = KeyCache(store.find_sessions, self._failures, clock)
        self._bus = bus or ChangeBus()
        self._used: dict[UUID, datetime] = {}
        self._swept_at: datetime | None = None

    async def start_session(
        self, user_id: int, method: Method, device: Device, password: str | None = None
    ) -> str:
        """Begin a session of an active user. Return the cookie's value, which is not stored.

        Args:
            password: The stored hash of the password that the user has just given; None for a
                sign-in by other means.

        Raises:
            SessionEnded: The password has changed meanwhile, or the user was disabled.
            RecordsUnavailable: The records store does not answer.
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
        self._forget_ended(user_id, await self.store.create_session(new))
        return value

    async def find_owner(self, value: str, caller: Caller | None = None) -> Principal:
        """Return the owner of a session.

        Args:
            caller: The client whose failures are counted; None to count none.

        Raises:
            SessionEnded: The session has ended, or the cookie is unknown.
            Throttled: The client has sent too many unknown cookies.
            RecordsUnavailable: The records store does not answer.
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

    async def renew_session(self, user_id: int, session_id: UUID) -> str:
        """Give a session whose rights have changed a new cookie, and end the user's others.

        Returns:
            The cookie's value, which cannot be read later.

        Raises:
            SessionEnded: The session has ended meanwhile.
            RecordsUnavailable: The records store does not answer.
        """
        value = secrets.token_urlsafe(SESSION_BYTES)
        former = await self.store.renew_session(user_id, session_id, hash_key(value))
        if former is None:
            raise SessionEnded
        self._forget_ended(user_id, [former])
        await self.end_all_of_user(user_id, session_id)
        return value

    async def end_by_cookie(self, value: str) -> None:
        """End the session of a cookie, if there is one.

        Raises:
            RecordsUnavailable: The records store does not answer.
        """
        session, _ = await self._cache.look_up(value, None)
        if session is not None and session.principal.session_id is not None:
            await self.end_session(session.principal.user.id, session.principal.session_id)

    async def end_session(self, user_id: int, session_id: UUID) -> bool:
        """End a session, and return whether the user had such a session.

        Raises:
            RecordsUnavailable: The records store does not answer.
        """
        hashes = await self.store.delete_session(user_id, session_id)
        self._forget_ended(user_id, hashes)
        return bool(hashes)

    async def end_all_of_user(self, user_id: int, except_id: UUID | None = None) -> int:
        """End the user's sessions, and return how many have ended.

        Args:
            except_id: A session that goes on.

        Raises:
            RecordsUnavailable: The records store does not answer.
        """
        hashes = await self.store.delete_sessions(user_id, except_id)
        self._forget_ended(user_id, hashes)
        return len(hashes)

    def rights_changed(self, user_id: int) -> None:
        """Forget cached sessions, because this process has changed what the user may do."""
        self.forget()
        self._bus.publish(Topic.SESSIONS, user_id)

    def forget_sessions(self, user_id: int, hashes: Sequence[str]) -> None:
        """Forget these sessions, because this process has changed their owner or deleted them.

        Args:
            hashes: Of the cookies' values.
        """
        self._forget_ended(user_id, hashes)

    def forget(self, _: int = 0) -> None:
        """Forget all cached sessions, because the records store has changed."""
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
        """Write which sessions were used, and once an hour delete those that have ended.

        Raises:
            RecordsUnavailable: The records store does not answer.
        """
        await self.write_used()
        now = self._now()
        if self._swept_at is None or now - self._swept_at >= SWEEP_EVERY:
            await self.store.delete_ended(now)
            self._swept_at = now

    async def write_used(self) -> None:
        """Write which sessions were used.

        Raises:
            RecordsUnavailable: The records store does not answer. The next call writes what this
                one did not.
        """
        used = dict(self._used)
        await self.store.mark_used(used)
        for session_id in used:
            self._used.pop(session_id, None)

    def _forget_ended(self, user_id: int, hashes: Sequence[str]) -> None:
        for hashed in hashes:
            self._cache.invalidate(hashed)
        if hashes:
            self._bus.publish(Topic.SESSIONS, user_id)
