"""The background task that squashes merged persons into their events."""

import asyncio
from typing import Never

import structlog

from fanion.events.event import EventStoreUnavailable
from fanion.events.storage.store import EventStore

SQUASH_EVERY_S = 3600.0
# With fewer a query does not notice them: their look-up takes 1 ms.
OVERRIDES_MIN = 1_000


async def squash_for_ever(events: EventStore) -> Never:
    while True:
        await asyncio.sleep(SQUASH_EVERY_S)
        try:
            squashed = await events.squash(OVERRIDES_MIN)
        except EventStoreUnavailable as error:
            structlog.get_logger().warning("persons_not_squashed", reason=str(error))
            continue
        if squashed:
            structlog.get_logger().info("persons_squashed", persons=squashed)
