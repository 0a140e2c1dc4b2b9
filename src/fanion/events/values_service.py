"""Values of properties of events and persons, to choose from: a few questions at a time."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Final
from uuid import uuid4

from fanion.errors import Unavailable
from fanion.events.event import EventRejected, EventStoreUnavailable, StatementFailed
from fanion.events.storage.client import Rows
from fanion.events.storage.store import EventStore
from fanion.events.storage.values_query import ROWS_MAX, Statement, event_values, person_values
from fanion.properties.value_counts import PropertyValue, ValueSearch, shown

# The store has a few lanes: the others are left for insights and lists.
AT_ONCE: Final = 1
WAITING_MAX: Final = 50


@dataclass(slots=True)
class PropertyValues:
    """A question that is cancelled while it waits is not asked. One that the store has begun is
    cancelled there, and keeps its turn until it has ended."""

    _events: EventStore
    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    _waiting: int = 0
    _cancelling: set[asyncio.Task[None]] = field(default_factory=set)

    async def of_events(
        self, project_id: int, search: ValueSearch, events: Sequence[str], now: datetime
    ) -> list[PropertyValue]:
        """events: only of these, if there are any. raises: Unavailable, EventStoreUnavailable"""
        return await self._ask(partial(event_values, project_id, search, events, now))

    async def of_persons(self, project_id: int, search: ValueSearch) -> list[PropertyValue]:
        """raises: Unavailable, EventStoreUnavailable"""
        return await self._ask(partial(person_values, project_id, search))

    async def _ask(self, statement: Callable[[int], Statement]) -> list[PropertyValue]:
        """statement: which looks at so many rows"""
        if self._waiting >= WAITING_MAX:
            raise Unavailable("Too many lists of values are being made.", retry_after_s=1)
        self._waiting += 1
        try:
            await self._turns.acquire()
        finally:
            self._waiting -= 1
        token = uuid4().hex
        asked = asyncio.ensure_future(self._answer(statement, token))
        asked.add_done_callback(self._end_turn)
        try:
            rows = await asyncio.shield(asked)
        except asyncio.CancelledError:
            cancelling = asyncio.ensure_future(self._cancel(token))
            self._cancelling.add(cancelling)
            cancelling.add_done_callback(self._cancelling.discard)
            raise
        return [shown((bool(is_text), text), count) for is_text, text, count in rows]

    async def _answer(self, statement: Callable[[int], Statement], token: str) -> Rows:
        most, fewer = ROWS_MAX
        try:
            return await self._events.values(*statement(most), token)
        except StatementFailed:
            return await self._events.values(*statement(fewer), token)

    async def _cancel(self, token: str) -> None:
        with suppress(EventStoreUnavailable, EventRejected):  # then it ends by itself
            await self._events.cancel_values(token)

    def _end_turn(self, asked: "asyncio.Future[Rows]") -> None:
        self._turns.release()
        if not asked.cancelled():
            asked.exception()  # known to the caller, unless it has been cancelled
