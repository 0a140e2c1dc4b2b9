"""A cache of projects: every public request looks one up by its token."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Never
from uuid import UUID
from zoneinfo import ZoneInfo

from cachetools import TTLCache

from fanion.db.batching import READ_KEYS_MAX, K, SerialDataLoader
from fanion.db.engine import RecordsUnavailable
from fanion.errors import InvalidApiKey, NotFound, Unavailable
from fanion.projects.auth.failed_attempts_cache import FailedAttempts
from fanion.projects.auth.keys import KEY_CHARS_MAX, hash_key
from fanion.projects.auth.model import Principal
from fanion.projects.model import Organization, Project
from fanion.projects.store import ProjectStore
from fanion.runtime.background import run_loop
from fanion.runtime.change_bus import ChangeBus, Topic
from fanion.runtime.clock import utc_now
from fanion.server.forwarded import Caller

EXPIRE_S = 2.0  # former tokens are accepted at most this long after their expiry
STORE_WAIT_S = 1.0  # a request waits this long for a project that is not cached
ABSENT_S = 2.0  # delay until a project that another server created is found
ABSENT_TOKENS_MAX = 10_000  # cached unknown tokens: about 3 MB


async def _nothing(token: str) -> Project | None:
    return None


class Projects:
    """The projects, cached. They stay cached while the store is down.

    A change by this process is visible at once.

    Attributes:
        known: The cached projects by token, for callers that must not query the store. Only this
            class changes it.

    Args:
        remembered: Reads a stored copy of a project by its token while the store is down.
        now: Returns the time of day, at which former tokens expire.
    """

    def __init__(
        self,
        store: ProjectStore,
        clock: Callable[[], float] = time.monotonic,
        remembered: Callable[[str], Awaitable[Project | None]] = _nothing,
        failures: FailedAttempts | None = None,
        now: Callable[[], datetime] = utc_now,
        bus: ChangeBus | None = None,
        store_wait_s: float = STORE_WAIT_S,
    ) -> None:
        self._store_wait_s = store_wait_s
        self._now = now
        self._failures = failures or FailedAttempts(clock=clock)
        self.store = store
        self._remembered = remembered
        self.known: dict[str, Project] = {}
        self._by_id: dict[int, Project] = {}
        self._absent: TTLCache[str, bool] = TTLCache(ABSENT_TOKENS_MAX, ABSENT_S, clock)
        self._tokens = SerialDataLoader(store.by_tokens)
        self._ids = SerialDataLoader(store.by_ids)
        self._changes = self._forgotten = 0
        self._with_former: set[int] = set()
        self._bus = bus or ChangeBus()

    def restore(self, project: Project) -> None:
        """Cache a project from this server's last run. A later read replaces it."""
        self._cache_read(project)

    async def by_token(self, token: str, caller: Caller | None = None) -> Project:
        """Return the project with this token.

        Args:
            caller: The client whose failures are counted; None to count none.

        Raises:
            InvalidApiKey: There is no such token.
            Throttled: The client has sent too many unknown tokens.
            Unavailable: The project is not cached and the store does not answer.

        Source: api.md, "Errors".
        """
        project = self.known.get(token)
        return project if project is not None else await self._find_by_token(token, caller)

    async def by_id(self, project_id: int) -> Project | None:
        """Return a project, or None if it does not exist.

        Raises:
            RecordsUnavailable: The project is not cached and the store does not answer.
        """
        project = self._by_id.get(project_id)
        if (
            project is None
            and (project := await self._read_project(self._ids, project_id)) is not None
        ):
            project = self._cache_read(project)
        return project

    async def zone_of(self, project_id: int) -> ZoneInfo:
        """Return the time zone of a project; UTC if the project was deleted.

        Raises:
            RecordsUnavailable: The project is not cached and the store does not answer.
        """
        project = await self.by_id(project_id)
        return ZoneInfo("UTC" if project is None else project.timezone)

    async def by_ids(self, ids: Iterable[int]) -> Mapping[int, Project]:
        """Return the existing projects by id.

        Raises:
            RecordsUnavailable: A project is not cached and the store does not answer.
        """
        projects = {project_id: self._by_id.get(project_id) for project_id in ids}
        missing = [project_id for project_id, project in projects.items() if project is None]
        if missing:
            read = await asyncio.gather(*map(self.by_id, missing))
            projects.update(zip(missing, read, strict=True))
        return {project_id: project for project_id, project in projects.items() if project}

    async def current(self, principal: Principal) -> Project | None:
        """Return the project that the user works in, or else the oldest within the user's reach."""
        chosen = principal.user.current_project_id
        if chosen is not None:
            project = await self.by_id(chosen)
            if project is not None and project.organization_id in principal.levels:
                return project
        reachable, _ = await self.store.page(principal.levels, 1, 0)
        return await self.by_id(reachable[0].id) if reachable else None

    async def page(
        self, principal: Principal, limit: int, offset: int
    ) -> tuple[list[Project], int]:
        return await self.store.page(principal.levels, limit, offset)

    async def organization(self, principal: Principal) -> Organization:
        """Return the organization of the current project, or else one that the user is in.

        Raises:
            NotFound: The user is in no organization.
        """
        project = await self.current(principal)
        organization_id = (
            project.organization_id if project else min(principal.levels, default=None)
        )
        if organization_id is not None:
            organization = await self.store.organization(organization_id)
            if organization is not None:
                return organization
        raise NotFound

    def forget(self, project_id: int) -> None:
        """Forget a project that another process of this server has created or changed."""
        self._changes += 1
        self._forget_reads()
        self._replace_cached(project_id, None)

    def forget_everywhere(self, project_id: int) -> None:
        """Evict a project that was deleted or changed as a whole, here and in other processes."""
        self.forget(project_id)
        self._bus.publish(Topic.PROJECT, project_id)

    async def create_project(
        self,
        organization_id: UUID,
        name: str,
        timezone: str,
        now: datetime,
        user_id: int | None = None,
    ) -> Project:
        """Create a project and cache it."""
        project = await self.store.create_project(organization_id, name, timezone, now, user_id)
        self.remember(project)
        return project

    async def change_project(
        self,
        project_id: int,
        changes: Mapping[str, Any],
        now: datetime,
        user_id: int | None = None,
    ) -> Project:
        """Change a project and cache it, or raise NotFound."""
        project = await self.store.change_project(project_id, changes, now, user_id)
        if project is None:
            raise NotFound
        self.remember(project)
        return project

    async def reset_token(
        self, project_id: int, former_valid_s: int, now: datetime, user_id: int | None = None
    ) -> Project:
        """Give a project another token and cache it, or raise NotFound."""
        project = await self.store.reset_token(project_id, former_valid_s, now, user_id)
        if project is None:
            raise NotFound
        self.remember(project)
        return project

    def remember(self, project: Project) -> None:
        """Cache a project that this process has written: it is newer than reads in progress."""
        self._changes += 1
        self._absent.pop(project.api_token, None)
        self._replace_cached(project.id, project)
        self._bus.publish(Topic.PROJECT, project.id)

    async def run(self) -> Never:
        """Expire former tokens, until cancelled."""
        await run_loop(self._expire, EXPIRE_S, "tokens_not_expired", ())

    async def _expire(self) -> None:
        self.end_former_tokens()

    def end_former_tokens(self) -> None:
        """Remove expired tokens from the cache, so that look-ups need not check the time."""
        now = self._now()
        for project_id in list(self._with_former):
            project = self._by_id[project_id]
            valid = project.tokens(now)
            for former in project.former_tokens:
                if former.token not in valid:
                    self.known.pop(former.token, None)
            if len(valid) == 1:
                self._with_former.discard(project_id)

    async def refresh(self, ids: Collection[int] | None = None) -> None:
        """Read projects again that other servers have changed.

        Args:
            ids: None for all cached projects.

        Raises:
            RecordsUnavailable: The records store does not answer.
        """
        if ids is None or ids:
            self._forget_reads()
        cached = [*(self._by_id if ids is None else self._by_id.keys() & ids)]
        for start in range(0, len(cached), READ_KEYS_MAX):
            await self._refresh(cached[start : start + READ_KEYS_MAX])

    async def _refresh(self, ids: Sequence[int]) -> None:
        """Read projects, and read again if this process changes one meanwhile."""
        while True:
            changes = self._changes
            projects = await self.store.by_ids(ids)
            if changes == self._changes:
                break
        for project_id in ids:
            self._replace_cached(project_id, projects.get(project_id))

    def _forget_reads(self) -> None:
        """Discard reads in progress, which may be older than a change, and absent tokens."""
        self._forgotten += 1
        self._tokens.forget_all()
        self._ids.forget_all()
        self._absent.clear()

    async def _find_by_token(self, token: str, caller: Caller | None) -> Project:
        if self._absent.get(token) or not _could_be_a_token(token):
            self._failures.unknown(token, caller, was_read=False)
            raise InvalidApiKey
        self._failures.require_room(token, caller)
        try:
            project = await asyncio.wait_for(
                self._read_project(self._tokens, token), self._store_wait_s
            )
        except (RecordsUnavailable, TimeoutError):
            project = await self._remembered(token)
            if project is None:
                raise Unavailable(
                    "Unable to fetch team from database.", code="fetch_team_fail"
                ) from None
        if project is not None and token in project.tokens(self._now()):
            self._failures.found(hash_key(token))
            return self._cache_read(project)
        # A project that this process created during the read is cached by now.
        created = self.known.get(token)
        if created is not None:
            return created
        self._absent[token] = True
        self._failures.unknown(token, caller, was_read=True)
        raise InvalidApiKey

    async def _read_project(self, reads: SerialDataLoader[K, Project], key: K) -> Project | None:
        """Read a project, and read again if projects are invalidated meanwhile."""
        while True:
            forgotten = self._forgotten
            project = await reads.get(key)
            if forgotten == self._forgotten:
                return project

    def _cache_read(self, read: Project) -> Project:
        """Cache a project that was read, unless a newer one is cached."""
        known = self._by_id.get(read.id)
        if known is None:
            self._replace_cached(read.id, read)
        return known or read

    def _replace_cached(self, project_id: int, project: Project | None) -> None:
        old = self._by_id.pop(project_id, None)
        self._with_former.discard(project_id)
        if old is not None:
            for token in (old.api_token, *(former.token for former in old.former_tokens)):
                self.known.pop(token, None)
        if project is not None:
            self._by_id[project_id] = project
            self.known |= dict.fromkeys(project.tokens(self._now()), project)
            if project.former_tokens:
                self._with_former.add(project_id)
        if old is not None and old != project:
            self._bus.publish(Topic.PROJECT_LOADED, project_id)


def _could_be_a_token(text: str) -> bool:
    """Return whether PostgreSQL can look the text up: it refuses NUL, and tokens have a length."""
    return 0 < len(text) <= KEY_CHARS_MAX and text.isascii() and text.isprintable()
