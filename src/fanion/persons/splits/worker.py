"""Background worker that gives the events of distinct ids that were split off to their new persons.

A split changes the records at once, so that events that are ingested later have the new persons.
This worker then changes the rows of stored events.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, Never

import structlog

from fanion.db.engine import Records, RecordsUnavailable
from fanion.db.unwritten import UnwrittenPolls
from fanion.events.event import EventStoreUnavailable
from fanion.events.storage.store import EventStore
from fanion.persons.splits.store import (
    PendingMoves,
    finish_moves,
    read_moves,
    splitting_projects,
)
from fanion.runtime.background import run_loop
from fanion.runtime.failure_log import FailureLog

LOOK_EVERY_S: Final = 10.0
# Looks in a row that are left out while nothing is pending and nobody writes an SQLite store.
LEFT_OUT_MAX: Final = 5
ATTEMPTS_MAX: Final = 10

_FAILURES: Final = (EventStoreUnavailable, RecordsUnavailable)


@dataclass(slots=True)
class SplitWorker:
    """The worker that makes events follow splits, on request or in the background.

    Attributes:
        batches_committed: Returns when every batch begun before its call is committed. One that
            began before a split may store events of the former person.
        answer_s: How long a request waits; after that it is answered with 202.
    """

    records: Records
    events: EventStore
    batches_committed: Callable[[], Awaitable[None]]
    answer_s: float
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _waits: FailureLog = field(default_factory=lambda: FailureLog("split_waits"))
    _is_work_left: bool = True
    _unwritten: UnwrittenPolls = field(init=False)

    def __post_init__(self) -> None:
        self._unwritten = UnwrittenPolls(self.records.write_mark, LEFT_OUT_MAX)

    async def followed(self, project_id: int) -> bool:
        """Return whether the events followed within `answer_s`. If not, `run` goes on."""
        try:
            async with asyncio.timeout(self.answer_s):
                await self._follow(project_id)
        except TimeoutError:
            return False
        except _FAILURES as error:
            self._waits.failed(str(error))
            return False
        return True

    async def run(self) -> Never:
        """Make events follow all splits that any process has left, until cancelled."""
        await run_loop(self.poll, LOOK_EVERY_S, "split_waits", _FAILURES, failures=self._waits)

    async def poll(self) -> None:
        """Do what `follow_all` does, unless nothing is pending and an SQLite store is unwritten."""
        await self._unwritten.poll(self.follow_all, has_work=self._is_work_left)

    async def follow_all(self) -> None:
        """Make events follow all pending splits.

        Raises:
            EventStoreUnavailable: The event store failed.
            RecordsUnavailable: The records store failed.
        """
        async with self.records.read() as connection:
            projects = await connection.run_sync(splitting_projects)
        self._is_work_left = bool(projects)
        for project_id in projects:
            await self._follow(project_id)

    async def _follow(self, project_id: int) -> None:
        """Make events follow the splits of a project. It may be interrupted and repeated."""
        async with self._turn:
            while pending := await self._pending(project_id):
                await self.batches_committed()
                if await self._move_all(pending):
                    async with self.records.write() as connection:
                        await connection.run_sync(finish_moves, pending)

    async def _pending(self, project_id: int) -> PendingMoves | None:
        async with self.records.read() as connection:
            return await connection.run_sync(read_moves, project_id)

    async def _move_all(self, pending: PendingMoves) -> bool:
        """Move events until no replica has any of another person.

        Returns:
            False if another split has added to the moves meanwhile.
        """
        for _ in range(ATTEMPTS_MAX):
            async with self._unchanged(pending) as is_unchanged:
                if not is_unchanged:
                    return False
                is_any_left = await self.events.send_moves(pending.project_id, pending.moves)
            if not is_any_left:
                structlog.get_logger().info(
                    "person_split", project=pending.project_id, ids=len(pending.moves)
                )
                return True
            await self.events.mutated()
        raise EventStoreUnavailable("events still have another person after they were moved")

    @asynccontextmanager
    async def _unchanged(self, pending: PendingMoves) -> AsyncGenerator[bool]:
        """Keep other servers from adding to the moves while they are sent.

        Otherwise an outdated move might be sent after a newer one was made. One process alone
        writes SQLite, and it makes one move at a time.
        """
        if self.records.dialect == "sqlite":
            yield await self._pending(pending.project_id) == pending
            return
        async with self.records.write() as connection:
            stored = await connection.run_sync(
                lambda inner: read_moves(inner, pending.project_id, for_update=True)
            )
            yield stored == pending
