"""The compiled flags of each project, in memory, rebuilt when they change."""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass

import structlog

from fanion.db.engine import RecordsUnavailable
from fanion.flags.definition import compile_flag
from fanion.flags.flag_set import FlagSet, build_flag_set
from fanion.flags.store import FlagStore

# Projects whose flags are kept; the one that was asked for longest ago makes room.
PROJECTS_MAX = 20_000
# How often other servers' changes are looked for: they are seen within twice this time.
WATCH_S = 0.4
# Projects in one statement.
WATCH_PROJECTS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class _Built:
    flag_set: FlagSet
    version: int


class FlagSets:
    """A change by this server is seen by the next request, another's within a second.

    While the records store is down the flags that were built last keep answering.
    """

    def __init__(self, store: FlagStore) -> None:
        self._store = store
        self._built: OrderedDict[int, _Built] = OrderedDict()
        self._building: dict[int, asyncio.Task[_Built]] = {}
        self._changes: dict[int, int] = {}
        self._log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

    async def of(self, project_id: int) -> FlagSet:
        """raises: RecordsUnavailable when nothing was built before and the store is down"""
        built = self._built.get(project_id)
        if built is None:
            built = await self._build_once(project_id)
        else:
            self._built.move_to_end(project_id)
        return built.flag_set

    def changed(self, project_id: int) -> None:
        """The next request sees what is stored now, not what is being read."""
        self._changes[project_id] = self._changes.get(project_id, 0) + 1
        self._built.pop(project_id, None)
        self._building.pop(project_id, None)

    async def watch(self) -> None:
        """Follow other servers' changes until cancelled."""
        while True:
            await asyncio.sleep(WATCH_S)
            try:
                await self._look()
            except RecordsUnavailable as error:
                self._log.warning("flag_versions_unread", error=str(error))

    async def _look(self) -> None:
        known = list(self._built)
        for start in range(0, len(known), WATCH_PROJECTS_MAX):
            some = known[start : start + WATCH_PROJECTS_MAX]
            versions = await self._store.versions(some)
            for project_id in some:
                built = self._built.get(project_id)
                if built is not None and built.version != versions.get(project_id, 0):
                    self.changed(project_id)

    async def _build_once(self, project_id: int) -> _Built:
        """Requests that come while the flags are read wait for the same read."""
        task = self._building.get(project_id)
        if task is None:
            task = asyncio.create_task(self._build(project_id))
            self._building[project_id] = task
        return await asyncio.shield(task)

    async def _build(self, project_id: int) -> _Built:
        changes = self._changes.get(project_id, 0)
        try:
            rows, group_types, version = await self._store.definitions(project_id)
        finally:
            if changes == self._changes.get(project_id, 0):
                self._building.pop(project_id, None)
        flag_set = build_flag_set((compile_flag(row) for row in rows), group_types)
        built = _Built(flag_set, version)
        if changes == self._changes.get(project_id, 0):
            self._built[project_id] = built
            if len(self._built) > PROJECTS_MAX:
                self._built.popitem(last=False)
        return built
