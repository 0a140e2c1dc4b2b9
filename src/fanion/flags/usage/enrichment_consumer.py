"""The background task that looks which flags applications tell more of."""

import asyncio
from typing import Never

import structlog

from fanion.db.engine import RecordsUnavailable
from fanion.events.event import EventStoreUnavailable
from fanion.flags.usage.enrichment import Enrichment

# Soon after a start, so that a server that is started often looks too; then often enough that
# one look may fail and no event is missed.
FIRST_S = 60.0
EVERY_S = 6 * 3600.0


async def enrich_for_ever(
    enrichment: Enrichment, first_s: float = FIRST_S, every_s: float = EVERY_S
) -> Never:
    await asyncio.sleep(first_s)
    while True:
        try:
            marked = await enrichment.look()
        except (RecordsUnavailable, EventStoreUnavailable) as error:
            structlog.get_logger().warning("flags_not_enriched", reason=str(error))
        else:
            if marked:
                structlog.get_logger().info("flags_enriched", flags=marked)
        await asyncio.sleep(every_s)
