"""An event store whose use ends the process."""

from typing import Any

from fanion.events.storage.encoder import Batch
from fanion.events.storage.store import EventStore


class ProcessKilled(BaseException):
    """The death of the process: nothing catches it."""


class KillingEventStore:
    """An event store whose process is killed right after it has stored an insert.

    Args:
        inserts: The number of the insert that kills it.
    """

    def __init__(self, store: EventStore, inserts: int = 1) -> None:
        self._store = store
        self._inserts = inserts

    async def insert(self, batch: Batch, token: str) -> None:
        await self._store.insert(batch, token)
        self._inserts -= 1
        if self._inserts < 1:
            raise ProcessKilled

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)
