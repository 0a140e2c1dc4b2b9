"""An in-memory cache of each project's compiled flags, rebuilt when they change."""

import asyncio
import gc
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Protocol, TypeVar

import structlog

from fanion.db.engine import RecordsUnavailable
from fanion.flags.engine.definition import FlagDefinitions
from fanion.flags.engine.flag_set import FlagSet
from fanion.flags.evaluation.compiled import CompiledFlags, build_compiled_flags
from fanion.runtime.change_bus import ChangeBus, Topic
from fanion.runtime.clock import utc_now

T = TypeVar("T")

__all__ = ["CompiledFlags", "FlagSets"]

# Above these numbers flags are compiled, or evaluated and encoded, in a thread, so that a project
# of extreme size does not delay others. Compiling takes 50 to 100 µs per flag, evaluating and
# encoding 4 to 7 µs the first time, when nothing is encoded yet, and 2 µs after that.
COMPILED_ON_LOOP_MAX = 50
ANSWERED_ON_LOOP_MAX = 1_000
# Projects whose flags are cached; the least recently used one is evicted.
PROJECTS_MAX = 20_000
# Projects in one statement that reads versions.
VERSIONS_MAX = 1_000
# How long a request waits for flags to be read before it is answered from the former flags.
BUILD_WAIT_S = 0.5
# How long it waits without former flags. Reading and compiling 20,000 flags takes three seconds.
FIRST_BUILD_WAIT_S = 10.0


class FlagSource(Protocol):
    """The store of flags; both methods raise RecordsUnavailable."""

    async def definitions(self, project_id: int) -> FlagDefinitions: ...

    async def flag_versions(self, project_ids: Sequence[int]) -> Mapping[int, int]: ...


class UnavailableFlagSource:
    """A source for when the records store cannot be opened, so that no request waits for it."""

    async def definitions(self, project_id: int) -> FlagDefinitions:
        raise RecordsUnavailable("the records store cannot be opened")

    async def flag_versions(self, project_ids: Sequence[int]) -> Mapping[int, int]:
        raise RecordsUnavailable("the records store cannot be opened")


@dataclass(frozen=True, slots=True)
class OfflineCopy:
    """The definitions of a project's flags in an offline copy.

    Attributes:
        taken_at: When the definitions were last known to be current.
    """

    definitions: FlagDefinitions
    taken_at: datetime


class OfflineFlags(Protocol):
    """A store of definitions that outlives this process, for when the records are unavailable."""

    def put_definitions(self, project_id: int, definitions: FlagDefinitions) -> None: ...

    async def get_copy(self, project_id: int) -> OfflineCopy | None: ...


class NoOfflineFlags:
    def put_definitions(self, project_id: int, definitions: FlagDefinitions) -> None:
        """Discard the definitions."""

    async def get_copy(self, project_id: int) -> OfflineCopy | None:
        return None


class FlagSets:
    """The compiled flags of each project.

    The next request sees a change by this server; a change by another server is seen within a
    second. While the records store is down, the flags that were built last keep answering; after a
    restart, those of the offline store do.
    """

    def __init__(
        self,
        store: FlagSource,
        offline: OfflineFlags | None = None,
        bus: ChangeBus | None = None,
        build_wait_s: float = BUILD_WAIT_S,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._now = now
        # Whatever is read from the store is newer than this process.
        self._current_at = now()
        self._build_wait_s = build_wait_s
        self._store = store
        self._offline = offline or NoOfflineFlags()
        self._built: OrderedDict[int, CompiledFlags] = OrderedDict()
        self._building: dict[int, asyncio.Task[CompiledFlags]] = {}
        self._changes: dict[int, int] = {}
        # Stale flags were changed here: requests wait until they are read again. Outdated flags
        # keep answering until they can be read.
        self._stale: set[int] = set()
        self._outdated: set[int] = set()
        self._bus = bus or ChangeBus()
        self._log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

    @property
    def age_s(self) -> float:
        """Return the seconds since all served flags were known to be current.

        That is the time of the last poll, or of the copy that is served instead of the store.
        """
        return max(0.0, (self._now() - self._current_at).total_seconds())

    def current_projects(self) -> tuple[Collection[int], datetime]:
        """Return the projects whose cached flags are up to date, and when that was last known."""
        return self._built.keys() - self._outdated - self._stale, self._current_at

    def answer_from_copy(self, taken_at: datetime) -> None:
        """Serve flags from a copy taken at `taken_at` until the first successful poll."""
        self._current_at = min(self._current_at, taken_at)

    async def flag_set_of(self, project_id: int) -> FlagSet:
        """Return the compiled flags of a project.

        Raises:
            RecordsUnavailable: No flags are cached or copied, and the store does not answer.
        """
        return (await self.compiled_flags(project_id)).flag_set

    async def compiled_flags(self, project_id: int) -> CompiledFlags:
        """Return the compiled flags of a project, with the definitions they were compiled from.

        Raises:
            RecordsUnavailable: No flags are cached or copied, and the store does not answer.
        """
        built = self.current_flags(project_id)
        if built is None:
            return await self._read_project(project_id, self._built.get(project_id))
        return built

    def current_flags(self, project_id: int) -> CompiledFlags | None:
        """Return the compiled flags of a project, or None if they have to be read first."""
        built = self._built.get(project_id)
        if built is None or project_id in self._stale:
            return None
        self._built.move_to_end(project_id)
        return built

    def invalidate(self, project_id: int) -> None:
        """Make the next request read the flags again, whatever is being read now."""
        self._changes[project_id] = self._changes.get(project_id, 0) + 1
        self._building.pop(project_id, None)
        if project_id in self._built:
            self._stale.add(project_id)

    async def catch_up(self, ids: Collection[int] | None = None) -> None:
        """Read flags that are out of date, while the former ones go on answering.

        Args:
            ids: Projects whose flags may have changed; None for all cached projects.

        Raises:
            RecordsUnavailable: The store does not answer.
        """
        begun = self._now()
        cached = self._built.keys() | self._building.keys()
        outdated = cached if ids is None else (cached & set(ids)) | self._outdated | self._stale
        ordered = sorted(outdated)
        for start in range(0, len(ordered), VERSIONS_MAX):
            batch = ordered[start : start + VERSIONS_MAX]
            versions = await self._store.flag_versions(batch)
            for project_id in batch:
                await self._bring_to(project_id, versions.get(project_id, 0))
        self._current_at = begun

    async def _bring_to(self, project_id: int, version: int) -> None:
        """Rebuild a project's flags unless they have the stored version."""
        building = self._building.get(project_id)
        if building is not None:  # the build may have read the flags before the change
            await asyncio.shield(building)
        built = self._built.get(project_id)
        if built is None:
            return
        moved = built.definitions.version != version
        if moved or project_id in self._outdated or project_id in self._stale:
            await asyncio.shield(self._build_once(project_id))

    async def _read_project(self, project_id: int, former: CompiledFlags | None) -> CompiledFlags:
        building = self._build_once(project_id)
        try:
            return await asyncio.wait_for(asyncio.shield(building), self._build_wait_s)
        except (RecordsUnavailable, TimeoutError) as error:
            former = former or await self._from_offline(project_id)
            if former is None:
                return await _wait_for_first_build(building, error)
            self._stale.discard(project_id)
            self._outdated.add(project_id)
            return former

    async def _from_offline(self, project_id: int) -> CompiledFlags | None:
        copy = await self._offline.get_copy(project_id)
        if copy is None:
            return None
        compiled = await _compiled(copy.definitions)
        # Another request may have read the copy meanwhile, or the store may have answered.
        built = self._built.get(project_id)
        if built is None:
            built = compiled
            self._put_built(project_id, built)
            self.answer_from_copy(copy.taken_at)
            self._log.warning("flags_from_snapshot", project_id=project_id)
        return built

    def _build_once(self, project_id: int) -> "asyncio.Task[CompiledFlags]":
        """Return the running build, or start one: requests that arrive meanwhile share it."""
        task = self._building.get(project_id)
        if task is None:
            task = asyncio.create_task(self._build_project(project_id))
            # All waiting requests may be gone, so the error is always retrieved from the task.
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
            self._building[project_id] = task
        return task

    async def _build_project(self, project_id: int) -> CompiledFlags:
        changes = self._changes.get(project_id, 0)
        try:
            definitions = await self._store.definitions(project_id)
            if len(definitions.flags) > ANSWERED_ON_LOOP_MAX:
                self._bus.publish(Topic.LARGE_FLAG_SET, project_id)
            built = await _compiled(definitions, self._built.get(project_id))
        finally:
            if changes == self._changes.get(project_id, 0):
                self._building.pop(project_id, None)
        if changes == self._changes.get(project_id, 0):
            self._stale.discard(project_id)
            self._outdated.discard(project_id)
            self._put_built(project_id, built)
            self._offline.put_definitions(project_id, built.definitions)
        return built

    def _put_built(self, project_id: int, built: CompiledFlags) -> None:
        self._built[project_id] = built
        self._built.move_to_end(project_id)
        if len(self._built) > PROJECTS_MAX:
            evicted, _ = self._built.popitem(last=False)
            self._stale.discard(evicted)
            self._outdated.discard(evicted)
        self._bus.publish(Topic.FLAGS_LOADED, project_id)


async def _wait_for_first_build(
    building: "asyncio.Task[CompiledFlags]", error: Exception
) -> CompiledFlags:
    """Wait longer for a build, because there are no former flags to answer with.

    Raises:
        RecordsUnavailable: The flags could not be read, or not in time.
    """
    if isinstance(error, TimeoutError):
        with suppress(TimeoutError):
            return await asyncio.wait_for(asyncio.shield(building), FIRST_BUILD_WAIT_S)
    raise RecordsUnavailable(str(error) or "the flags were not read in time") from error


async def _compiled(
    definitions: FlagDefinitions, former: CompiledFlags | None = None
) -> CompiledFlags:
    work = partial(build_compiled_flags, definitions, former)
    flags = len(definitions.flags)
    large = flags > ANSWERED_ON_LOOP_MAX
    return await run_offloaded(
        flags, COMPILED_ON_LOOP_MAX, partial(_without_gc, work) if large else work
    )


def _without_gc(work: Callable[[], CompiledFlags]) -> CompiledFlags:
    """Build with the garbage collector paused, and exempt the result from collection.

    A large set is a million objects without cycles. The collector would take half a second to walk
    through them, during which all requests wait.
    """
    gc.disable()
    try:
        built = work()
        gc.freeze()
    finally:
        gc.enable()
    return built


async def run_offloaded(flags: int, on_loop_max: int, work: Callable[[], T]) -> T:
    """Run the work in the event loop, or in a thread if it would take more than a few milliseconds.

    The thread shares the interpreter with the loop, which gets its turn every
    `interpreter.SWITCH_S`.
    """
    if flags <= on_loop_max:
        return work()
    return await asyncio.to_thread(work)
