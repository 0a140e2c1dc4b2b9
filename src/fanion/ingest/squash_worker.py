"""Writes merged persons into their events, so that queries carry fewer overrides."""

import asyncio
from dataclasses import dataclass
from typing import Final, Never

import structlog

from fanion.db.engine import Records, RecordsUnavailable
from fanion.events.event import EventStoreUnavailable
from fanion.events.storage.store import EventStore
from fanion.ingest.pipeline.position_store import claimed_positions, not_yet_at
from fanion.runtime.background import Backoff, run_loop

EVERY_S: Final = 3600.0
LOOK_FIRST_S: Final = 0.1
LOOK_MAX_S: Final = 60.0
# With fewer overrides a query is no slower: looking them up takes 1 ms.
OVERRIDES_MIN: Final = 1_000


@dataclass(frozen=True, slots=True)
class SquashWorker:
    records: Records
    events: EventStore
    overrides_min: int = OVERRIDES_MIN

    async def run(self) -> Never:
        """Squash regularly, until cancelled."""
        failures = (EventStoreUnavailable, RecordsUnavailable)
        await run_loop(
            self.squash, EVERY_S, "persons_not_squashed", failures, initial_delay_s=EVERY_S
        )

    async def squash(self) -> None:
        """raises: EventStoreUnavailable, RecordsUnavailable"""
        if squashed := await self.events.squash(self.overrides_min, self.batches_committed):
            structlog.get_logger().info("persons_squashed", persons=squashed)

    async def batches_committed(self) -> None:
        """Returns when every batch that any server has begun by now is committed. Each is claimed
        before it reads persons. raises: RecordsUnavailable"""
        claimed = await claimed_positions(self.records)
        backoff = Backoff(LOOK_FIRST_S, LOOK_MAX_S)
        while late := await not_yet_at(self.records, claimed):
            structlog.get_logger().info("squash_waits", consumers=late)
            await asyncio.sleep(backoff.next_s())
