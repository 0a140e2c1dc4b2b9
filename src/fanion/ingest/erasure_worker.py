"""Finishing what the deletion of a person has begun: nothing of it stays anywhere.

A person and its distinct ids are gone from the records at once. What was accepted before the
deletion and waits in the accept log passes ingestion, which leaves it out; then the event
store and the dead letters are cleared.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from time import monotonic
from typing import Never

import structlog
from sqlalchemy import select

from fanion.accept_log.port import AcceptLog
from fanion.db.engine import Records, RecordsUnavailable
from fanion.db.schema.tables import log_positions
from fanion.events.erasure import Erasure
from fanion.events.event import EventStoreUnavailable
from fanion.events.storage.store import EventStore
from fanion.ingest.traces_store import scrub
from fanion.persons.erasure_store import (
    current_overrides,
    finish_erasure,
    forget_erasures,
    unfinished_erasures,
)

LANES = {"live": False, "historical": True}
ANSWER_S = 10.0  # how long a request waits for the end; it is told 202 then
LOOK_FIRST_S, LOOK_MAX_S = 0.02, 0.5
LOOK_EVERY_S = 10.0
# A request that was under way at the moment of the deletion is appended to the log this much
# later at most; ingestion heeds the deletion as long.
HEEDED = timedelta(minutes=1)

_FAILURES = (EventStoreUnavailable, RecordsUnavailable, OSError)


class Erasing:
    """now: the time of day"""

    def __init__(
        self,
        records: Records,
        events: EventStore,
        log: AcceptLog,
        now: Callable[[], datetime],
        answer_s: float = ANSWER_S,
    ) -> None:
        self._records = records
        self._events = events
        self._accepted = log
        self._now = now
        self._answer_s = answer_s
        self._turn = asyncio.Lock()
        self._log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

    async def finished(self, erasure: Erasure) -> bool:
        """Whether it could be finished within `answer_s`; `follow` goes on otherwise."""
        give_up, wait_s = monotonic() + self._answer_s, LOOK_FIRST_S
        try:
            while not await self._is_ingested(erasure.requested_at):
                if monotonic() + wait_s >= give_up:
                    return False
                await asyncio.sleep(wait_s)
                wait_s = min(wait_s * 2, LOOK_MAX_S)
            async with asyncio.timeout_at(self._loop_time(give_up)), self._turn:
                await self._finish(erasure)
        except TimeoutError:
            return False
        except _FAILURES as error:
            self._waits(error)
            return False
        return True

    async def follow(self) -> Never:
        """Run for ever: finish what was left, by this process or another one."""
        while True:
            try:
                await self.finish_all()
            except _FAILURES as error:
                self._waits(error)
            await asyncio.sleep(LOOK_EVERY_S)

    async def finish_all(self) -> None:
        """Everything that can be finished now. raises: one of the stores' failures"""
        async with self._records.read() as connection:
            found = await connection.run_sync(unfinished_erasures)
        for erasure in found:
            if await self._is_ingested(erasure.requested_at):
                async with self._turn:
                    await self._finish(erasure)
        async with self._records.write() as connection:
            await connection.run_sync(forget_erasures, self._now() - HEEDED)

    async def _finish(self, erasure: Erasure) -> None:
        """Repeatable."""
        await self._events.erase(erasure)
        async with self._records.read() as connection:
            overrides = await connection.run_sync(
                current_overrides, erasure.project_id, erasure.persons
            )
        await self._events.override_persons(overrides)
        if erasure.with_events:
            await scrub(self._records, erasure)
        async with self._records.write() as connection:
            await connection.run_sync(finish_erasure, erasure.id, self._now())
        self._log.info("person_erased", project=erasure.project_id, erasure=erasure.id)

    async def _is_ingested(self, upto: datetime) -> bool:
        """Whether nothing that was accepted up to then waits in the log."""
        positions = await self._positions()
        for consumer, historical in LANES.items():
            backlog = await self._accepted.backlog(
                positions.get(consumer, 0), historical=historical
            )
            if backlog.oldest is not None and backlog.oldest <= upto:
                return False
        return True

    async def _positions(self) -> dict[str, int]:
        rows = await self._records.fetch(select(log_positions.c.consumer, log_positions.c.position))
        return {row.consumer: row.position for row in rows}

    def _loop_time(self, moment: float) -> float:
        return asyncio.get_running_loop().time() + moment - monotonic()

    def _waits(self, error: BaseException) -> None:
        self._log.warning("erasure_waits", reason=str(error))
