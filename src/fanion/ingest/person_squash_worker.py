"""The background task that squashes merged persons into their events."""

from functools import partial
from typing import Never

import structlog

from fanion.events.event import EventStoreUnavailable
from fanion.events.storage.store import EventStore
from fanion.runtime.background import run_loop

SQUASH_EVERY_S = 3600.0
# With fewer a query does not notice them: their look-up takes 1 ms.
OVERRIDES_MIN = 1_000


async def run(events: EventStore) -> Never:
    """Until cancelled."""
    await run_loop(
        partial(_squash, events),
        SQUASH_EVERY_S,
        "persons_not_squashed",
        (EventStoreUnavailable,),
        initial_delay_s=SQUASH_EVERY_S,
    )


async def _squash(events: EventStore) -> None:
    if squashed := await events.squash(OVERRIDES_MIN):
        structlog.get_logger().info("persons_squashed", persons=squashed)
