"""The events of a run on their way into the event store: some are stored while others are made."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from fanion.events.storage.encoder import Batch
from fanion.events.storage.store import EventStore


class Insertion:
    """Batches that are stored one after another.

    token: the same for the same run, so that what is stored again is recognised
    """

    def __init__(self, events: EventStore, token: str) -> None:
        self._events = events
        self._token = token
        self._tasks: list[asyncio.Task[None]] = []

    async def put(self, batch: Batch) -> None:
        """Returns when it is being stored, or waits for a single one. raises: as `stored`"""
        number, before = len(self._tasks), self._tasks[-1] if self._tasks else None
        if number > 1:
            await self._tasks[-2]
        self._tasks.append(asyncio.create_task(self._store(batch, number, before)))

    async def stored(self) -> None:
        """Returns when all of it is on disk. raises: EventRejected, EventStoreUnavailable"""
        for task in self._tasks:
            await task

    async def give_up(self) -> None:
        """What has begun still comes to its end in its thread."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _store(self, batch: Batch, number: int, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await before
        await self._events.insert(batch, f"{self._token}-{number}")


@asynccontextmanager
async def insertion(events: EventStore, token: str) -> AsyncGenerator[Insertion]:
    """The body waits for what it puts; when it fails, no more of it is begun."""
    inserting = Insertion(events, token)
    try:
        yield inserting
    except BaseException:
        await inserting.give_up()
        raise
