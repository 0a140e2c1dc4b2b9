"""Background worker that writes the present persons into stored events.

Merged persons are written into their events, so that queries carry fewer overrides, and persons
into events that earlier versions stored without one.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Never
from uuid import UUID

import structlog

from fanion.db.engine import Records, RecordsUnavailable
from fanion.events.event import EventStoreUnavailable
from fanion.events.storage.store import EventStore
from fanion.ingest.ledger.dead_letters_store import DeadLetters
from fanion.ingest.pipeline.position_store import claimed_positions, consumers_before
from fanion.persons.merge import PERSON_NAMESPACE
from fanion.persons.state_store import load_owners
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
    overrides_min: int = OVERRIDES_MIN

    async def run(self) -> Never:
        """Rewrite regularly, until cancelled."""
        failures = (EventStoreUnavailable, RecordsUnavailable)
        await run_loop(
            self.rewrite, EVERY_S, "persons_not_squashed", failures, initial_delay_s=EVERY_S
        )

    async def rewrite(self) -> None:
        """Write persons into events without one, then merged persons into their events.

        Raises:
            EventStoreUnavailable: The event store failed.
            RecordsUnavailable: The records store failed.
        """
        await self.join_anonymous()
        await self.squash()

    async def join_anonymous(self) -> None:
        """Write persons into the events that were stored without one.

        Servers of earlier versions may store such events as long as one of them runs.

        Raises:
            EventStoreUnavailable: The event store failed.
            RecordsUnavailable: The records store failed.
        """
        if joined := await self.events.join_anonymous(PERSON_NAMESPACE, self._owners):
            structlog.get_logger().info("anonymous_events_joined", distinct_ids=joined)

    async def _owners(self, project_id: int, distinct_ids: Sequence[str]) -> Mapping[str, UUID]:
        async with self.records.read() as connection:
            return await connection.run_sync(load_owners, project_id, distinct_ids)

    async def squash(self) -> None:
        """Write merged persons into their events, once there are `overrides_min` overrides.

        Raises:
            EventStoreUnavailable: The event store failed.
            RecordsUnavailable: The records store failed.
        """
        if squashed := await self.events.squash(self.overrides_min, self.batches_committed):
            structlog.get_logger().info("persons_squashed", persons=squashed)

    async def batches_committed(self) -> None:
        """Wait for the end of all batches and retries of dead letters begun before the call.

        This includes batches of other servers. A batch is claimed, and a letter marked, before
        persons
        are read for it.

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
