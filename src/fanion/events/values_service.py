"""Values of properties of events and persons, to choose from: a few questions at a time."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from fanion.errors import Unavailable
from fanion.events.storage.store import EventStore
from fanion.events.storage.values_query import Statement, event_values, person_values
from fanion.properties.value_counts import PropertyValue, ValueSearch, shown

# The store has two lanes: the other one is left for insights and lists.
AT_ONCE: Final = 1
WAITING_MAX: Final = 50


@dataclass(slots=True)
class PropertyValues:
    """A question that is cancelled while it waits is not asked."""

    _events: EventStore
    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    _waiting: int = 0

    async def of_events(
        self, project_id: int, search: ValueSearch, events: Sequence[str], now: datetime
    ) -> list[PropertyValue]:
        """events: only of these, if there are any. raises: Unavailable, EventStoreUnavailable"""
        return await self._ask(event_values(project_id, search, events, now))

    async def of_persons(self, project_id: int, search: ValueSearch) -> list[PropertyValue]:
        """raises: Unavailable, EventStoreUnavailable"""
        return await self._ask(person_values(project_id, search))

    async def _ask(self, statement: Statement) -> list[PropertyValue]:
        if self._waiting >= WAITING_MAX:
            raise Unavailable("Too many lists of values are being made.", retry_after_s=1)
        self._waiting += 1
        try:
            async with self._turns:
                rows = await self._events.values(*statement)
        finally:
            self._waiting -= 1
        return [shown((bool(is_text), text), count) for is_text, text, count in rows]
