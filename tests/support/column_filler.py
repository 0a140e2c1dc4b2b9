"""A process that adds events to an embedded store, fills a column, or counts the store's contents.

Run it as `python -m tests.support.column_filler add|fill|count URL`.
"""

import asyncio
import sys
from datetime import UTC, datetime, timedelta
from uuid import UUID

from fanion.events.event import Event
from fanion.events.storage.property_columns import ColumnLimits
from fanion.events.storage.store import EventStore, open_events
from fanion.properties.bindings import column_of

PLANS = ("free", "pro", "team")
PARTITIONS, BATCHES, BATCH_EVENTS = 3, 5, 10_000
EVENTS = PARTITIONS * BATCHES * BATCH_EVENTS
FILLING = "filling"  # printed when the column is about to be added

_NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)
_COUNTS = f"""
SELECT count(), uniqExact(uuid), countIf(own = toString(attributes.plan)), countIf(own = 'pro')
  FROM (SELECT uuid, attributes, {column_of("plan")} AS own FROM events)
"""


async def add(store: EventStore) -> None:
    for number in range(PARTITIONS * BATCHES):
        at = _NOW - timedelta(days=31 * (number % PARTITIONS))
        first = number * BATCH_EVENTS
        events = [
            Event(
                1,
                UUID(int=n),
                "e",
                "d",
                UUID(int=1),
                at,
                at,
                b'{"plan":"%b"}' % PLANS[n % 3].encode(),
            )
            for n in range(first, first + BATCH_EVENTS)
        ]
        await store.insert(store.encoder.batch(events), f"batch-{number}")


async def fill(store: EventStore) -> None:
    columns = store.property_columns(ColumnLimits(events=1, uses=1))
    await columns.add_uses([(1, "plan", 1)])
    print(FILLING, flush=True)
    while await columns.step():
        pass


async def count(store: EventStore) -> None:
    [column] = await store.property_columns(ColumnLimits()).stored()
    answer = await store.ask(_COUNTS, {}, estimated=False)
    print(column.is_filled, *(int(values[0]) for values in answer.columns))


async def main(command: str, url: str) -> None:
    store = await open_events(url)
    await {"add": add, "fill": fill, "count": count}[command](store)
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
