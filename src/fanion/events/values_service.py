"""The values of properties of events and persons, to choose from."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from fanion.events.event import StatementFailed
from fanion.events.storage.store import EventStore
from fanion.events.storage.values_query import ROWS_MAX, Statement, event_values, person_values
from fanion.properties.value_counts import PropertyValue, ValueSearch, property_value


@dataclass(frozen=True, slots=True)
class PropertyValues:
    """The values of properties. Every call may raise Unavailable or EventStoreUnavailable."""

    events: EventStore

    async def of_events(
        self, project_id: int, search: ValueSearch, events: Sequence[str], now: datetime
    ) -> list[PropertyValue]:
        """Return the most frequent values, of these events only if any are given."""
        return await self._ask(project_id, partial(event_values, project_id, search, events, now))

    async def of_persons(self, project_id: int, search: ValueSearch) -> list[PropertyValue]:
        return await self._ask(project_id, partial(person_values, project_id, search))

    async def _ask(
        self, project_id: int, statement: Callable[[int], Statement]
    ) -> list[PropertyValue]:
        """Return the values from a statement for a number of rows, or for fewer if that fails."""
        most, fewer = ROWS_MAX
        async with self.events.turn(project_id):
            try:
                rows = await self.events.values(*statement(most))
            except StatementFailed:
                rows = await self.events.values(*statement(fewer))
        return [property_value((bool(is_text), text), count) for is_text, text, count in rows]
