"""Authentication with personal API keys, cached, and the project of a public request's key.

Source: api.md, "Errors"; capture.md, sections 1.5 and 9.
"""

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, Never, TypeVar
from uuid import UUID

from cachetools import TTLCache

from fanion.db.batching import SerialDataLoader
from fanion.db.engine import RecordsUnavailable
from fanion.errors import (
    ExpiredPersonalApiKey,
    InvalidApiKey,
    InvalidPersonalApiKey,
    InvalidProject,
    NotFound,
    PermissionDenied,
)
from fanion.projects.auth.failed_attempts_cache import FailedAttempts, Kind
from fanion.projects.auth.keys import KEY_CHARS_MAX, hash_key
from fanion.projects.auth.model import Principal
from fanion.projects.auth.personal_keys_service import PersonalKeyService
from fanion.projects.auth.personal_keys_store import USED_EVERY, PersonalKeyStore
from fanion.projects.cache import Projects
from fanion.projects.model import Project
from fanion.rest.validation import INTEGER_MAX
from fanion.runtime.background import run_loop
from fanion.runtime.change_bus import ChangeBus, Topic
from fanion.server.forwarded import Caller
from fanion.server.request import Request

# How long a key stays valid after another server has revoked it. This server forgets it at once.
CACHED_S = 2.0
CACHED_KEYS_MAX = 10_000
WRITE_USED_S = 10.0
# Scopes that a restricted personal key needs if it is used instead of a project key.
CAPTURE_SCOPE = "event:write"
EVALUATION_SCOPE = "feature_flag:read"

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class _Entry(Generic[V]):
    """A cached result of a look-up.

    Attributes:
        value: None for an unknown key.
    """

    value: V | None


class KeyCache(Generic[V]):
    """A TTL cache of values by the hash of a key, unknown keys included.

    Reads are batched, and a value that was read before an invalidation is never used.

    Args:
        clock: Monotonic clock, in seconds.
    """

    def __init__(
        self,
        read: Callable[[Sequence[str]], Awaitable[Mapping[str, V]]],
        failures: FailedAttempts,
        clock: Callable[[], float],
    ) -> None:
        self._cached: TTLCache[str, _Entry[V]] = TTLCache(CACHED_KEYS_MAX, CACHED_S, clock)
        self._reads = SerialDataLoader(read)
        self._failures = failures
        self._invalidations = 0

    async def find(self, key: str, location: str, caller: Caller | None) -> V:
        """Return the value of a key.

        Args:
            location: Where in the request the key was, for the error.
            caller: The client whose failures are counted; None to count none.

        Raises:
            InvalidPersonalApiKey: The key is unknown.
            Throttled: The client has sent too many unknown keys.
            RecordsUnavailable: The records store does not answer.
        """
        value, was_read = await self.look_up(key, caller)
        if value is None:
            self._failures.unknown(key, caller, was_read=was_read)
            raise InvalidPersonalApiKey(f"Personal API key found in request {location} is invalid.")
        return value

    async def look_up(
        self, key: str, caller: Caller | None, kind: Kind | None = None
    ) -> tuple[V | None, bool]:
        """Return the value, or None for an unknown key, and whether it was read from the store.

        Args:
            caller: The client whose failures are counted; None to count none.
            kind: The kind of the key; derived from its prefix if not given.

        Raises:
            Throttled: The client has sent too many unknown keys.
            RecordsUnavailable: The records store does not answer.
        """
        if len(key) > KEY_CHARS_MAX:
            return None, False
        hashed = hash_key(key)
        entry = self._cached.get(hashed)
        if entry is not None:
            return entry.value, False
        self._failures.require_room(key, caller, kind)
        return (await self._read_entry(hashed)).value, True

    async def get(self, hashed: str) -> V | None:
        """Return the value for the hash of a key, or None if it is unknown.

        Raises:
            RecordsUnavailable: The records store does not answer.
        """
        return (self._cached.get(hashed) or await self._read_entry(hashed)).value

    def require_room(self, key: str, caller: Caller | None) -> None:
        """Raise Throttled if the key would have to be read and the client has no reads left."""
        if len(key) <= KEY_CHARS_MAX and self._cached.get(hash_key(key)) is None:
            self._failures.require_room(key, caller)

    def invalidate(self, hashed: str) -> None:
        self._invalidations += 1
        self._reads.forget(hashed)
        self._cached.pop(hashed, None)

    def invalidate_all(self) -> None:
        self._invalidations += 1
        self._reads.forget_all()
        self._cached.clear()

    async def _read_entry(self, hashed: str) -> _Entry[V]:
        while True:
            invalidations = self._invalidations
            entry = _Entry(await self._reads.get(hashed))
            if invalidations == self._invalidations:
                self._cached[hashed] = entry
                if entry.value is not None:
                    self._failures.found(hashed)
                return entry


def has_expired(valid_until: datetime | None, now: datetime) -> bool:
    """Return whether a key has expired.

    Args:
        valid_until: None for a key without an expiry.
    """
    return valid_until is not None and valid_until <= now


class Authentication:
    """Authentication with personal API keys.

    Args:
        now: Returns the time of day.
        clock: Monotonic clock, in seconds.
    """

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
        self._keys = KeyCache(store.principals, self.failures, clock)
        self._bus = bus or ChangeBus()
        self._used: dict[UUID, datetime] = {}

    async def authenticate(
        self, key: str, location: str, caller: Caller | None = None
    ) -> Principal:
        """Return the owner of a personal key.

        Args:
            location: Where in the request the key was, for errors.
            caller: The client whose failures are counted; None to count none.

        Raises:
            InvalidPersonalApiKey: The key is unknown.
            ExpiredPersonalApiKey: The key has expired.
            Throttled: The client has sent too many unknown keys.
            RecordsUnavailable: The records store does not answer.
        """
        principal = await self._keys.find(key, location, caller)
        now = self._now()
        if has_expired(principal.key_expires_at, now):
            self.failures.expired(principal, caller)
            raise ExpiredPersonalApiKey(
                f"Personal API key found in request {location} has expired."
            )
        self._note_use(principal, now)
        return principal

    async def principal(self, hashed: str) -> Principal | None:
        """Return the owner for the hash of a key, or None if it is unknown or has expired.

        Raises:
            RecordsUnavailable: The records store does not answer.
        """
        principal = await self._keys.get(hashed)
        if principal is None or has_expired(principal.key_expires_at, self._now()):
            return None
        return principal

    def require_room(self, key: str, caller: Caller | None) -> None:
        """Raise Throttled before anything is read for a key that may be unknown."""
        self._keys.require_room(key, caller)

    async def revoke_key(self, user_id: int, key_id: UUID) -> None:
        """Delete a key of the user, or raise NotFound."""
        hashed = await PersonalKeyService(self.store).delete_key(key_id, self._now(), user_id)
        if hashed is None:
            raise NotFound
        self._keys.invalidate(hashed)
        self._bus.publish(Topic.PERSONAL_KEYS, user_id)

    def rights_changed(self, user_id: int) -> None:
        """Forget cached keys, because this process has changed the user's membership."""
        self._keys.invalidate_all()
        self._bus.publish(Topic.PERSONAL_KEYS, user_id)

    def forget_keys(self, hashes: Iterable[str]) -> None:
        """Forget these keys, because this process has changed their owner.

        Args:
            hashes: The hashes of the keys.
        """
        for hashed in hashes:
            self._keys.invalidate(hashed)

    def forget(self) -> None:
        """Forget cached keys, because another process of this server has revoked one."""
        self._keys.invalidate_all()

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
        """Write which keys were used.

        Raises:
            RecordsUnavailable: The records store does not answer. The next call writes what this
                one did not.
        """
        used = dict(self._used)
        await self.store.mark_used(used)
        for key_id in used:
            self._used.pop(key_id, None)

    def _note_use(self, principal: Principal, now: datetime) -> None:
        last, key_id = principal.key_last_used_at, principal.key_id
        if key_id is not None and (last is None or now - last >= USED_EVERY):
            self._used.setdefault(key_id, now)


async def project_of_key(
    projects: Projects,
    authentication: Authentication,
    request: Request,
    key: str,
    project_id: Any,
    scope: str,
) -> Project:
    """Return the project of a public request, from the key that it carries.

    Args:
        request: Receives the ids of the personal key and its user, for the request log.
        key: The key of a project, or with `project_id` a personal key of a member of that project.
        project_id: A value of any type from the request.
        scope: The scope that a restricted personal key needs.

    Raises:
        InvalidApiKey: The key is not a project's, and no project id is given.
        InvalidPersonalApiKey: The key is unknown or has expired.
        InvalidProject: There is no such project, or it belongs to others.
        PermissionDenied: The key lacks the scope, or its owner may not make changes.
        Throttled: The client has sent too many unknown keys.
        Unavailable: The records store is needed and does not answer.
    """
    if project_id is None or project_id == "":
        return await projects.by_token(key, request)
    # A key of no project may be a personal key, so it counts as failed only at the end.
    authentication.require_room(key, request)
    try:
        return await projects.by_token(key)
    except InvalidApiKey:
        number = _project_number(project_id)
    principal = await _principal(authentication, key, request)
    request.key_id, request.user_id = principal.credential, principal.user.id
    project = await _project_of_member(projects, principal, number)
    try:
        principal.require_access(project, scope, changes=scope == CAPTURE_SCOPE)
    except PermissionDenied:
        authentication.failures.denied(principal, request)
        raise
    return project


async def _principal(authentication: Authentication, key: str, request: Request) -> Principal:
    try:
        return await authentication.authenticate(key, "body", request)
    except ExpiredPersonalApiKey:
        raise ExpiredPersonalApiKey from None
    except InvalidPersonalApiKey:
        raise InvalidPersonalApiKey from None


async def _project_of_member(projects: Projects, principal: Principal, project_id: int) -> Project:
    """Return a project of the caller.

    Raises:
        InvalidProject: There is no such project, or it belongs to others.
    """
    project = await projects.by_id(project_id) if 0 < project_id <= INTEGER_MAX else None
    if project is None:
        raise InvalidProject
    try:
        principal.require_member(project)
    except PermissionDenied:
        raise InvalidProject from None
    return project


def _project_number(project_id: object) -> int:
    try:
        return int(str(project_id))
    except ValueError:
        raise InvalidProject from None
