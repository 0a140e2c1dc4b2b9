"""The worker that writes merged persons into their events, so that queries need fewer overrides."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Never

import structlog

from fanion.db.engine import Records, RecordsUnavailable
from fanion.events.event import EventStoreUnavailable
from fanion.events.storage.store import EventStore
from fanion.ingest.ledger.dead_letters_store import DeadLetters
from fanion.ingest.pipeline.position_store import claimed_positions, consumers_before
from fanion.persons.merge_log.store import forget_old
from fanion.persons.splits.store import splitting_projects
from fanion.runtime.background import Backoff, run_loop

EVERY_S: Final = 3600.0
LOOK_FIRST_S: Final = 0.1
LOOK_MAX_S: Final = 60.0
# With fewer overrides a query gets no slower: looking them up takes 1 ms.
OVERRIDES_MIN: Final = 1_000


@dataclass(frozen=True, slots=True)
class SquashWorker:
    """The worker that rewrites the persons of stored events."""

    records: Records
    events: EventStore
    now: Callable[[], datetime]
    overrides_min: int = OVERRIDES_MIN

    async def run(self) -> Never:
        """Work regularly, until cancelled."""
        failures = (EventStoreUnavailable, RecordsUnavailable)
        await run_loop(
            self.work_once, EVERY_S, "persons_not_squashed", failures, initial_delay_s=EVERY_S
        )

    async def work_once(self) -> None:
        """Write merged persons into their events, and delete old entries of the log of merges.

        Raises:
            EventStoreUnavailable: The event store failed.
            RecordsUnavailable: The records store failed.
        """
        await self.squash()
        await self.forget_merges()

    async def forget_merges(self) -> None:
        is_rest = True
        while is_rest:
            async with self.records.write() as connection:
                is_rest = await connection.run_sync(forget_old, self.now())

    async def squash(self) -> None:
        """Write merged persons into their events, once there are `overrides_min` overrides.

        Raises:
            EventStoreUnavailable: The event store failed.
            RecordsUnavailable: The records store failed.
        """
        if squashed := await self.events.squash(self.overrides_min, self._settled):
            structlog.get_logger().info("persons_squashed", persons=squashed)

    async def _settled(self) -> None:
        """Wait until no batch or split begun before the call needs the overrides.

        Events that are still to follow a split get its person. If that was merged meanwhile, they
        need its override.
        """
        await self.batches_committed()
        backoff = Backoff(LOOK_FIRST_S, LOOK_MAX_S)
        while True:
            async with self.records.read() as connection:
                projects = await connection.run_sync(splitting_projects)
            if not projects:
                return
            structlog.get_logger().info("squash_waits", splitting=len(projects))
            await asyncio.sleep(backoff.next_s())

    async def batches_committed(self) -> None:
        """Wait for the end of all batches and retries of dead letters begun before the call.

        This includes batches of other servers. A batch is claimed, and a letter marked, before
        persons are read for it.

        Raises:
            RecordsUnavailable: The records store failed.
        """
        claimed = await claimed_positions(self.records)
        letters = DeadLetters(self.records)
        marked = await letters.retry_marks()
        backoff = Backoff(LOOK_FIRST_S, LOOK_MAX_S)
        while True:
            late = await consumers_before(self.records, claimed)
            retried = marked & await letters.retry_marks()
            if not late and not retried:
                return
            structlog.get_logger().info("squash_waits", consumers=late, letters=len(retried))
            await asyncio.sleep(backoff.next_s())
