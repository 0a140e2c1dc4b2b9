"""The dedicated columns that the questions of one server read, and how often they do."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Final, Never

from fanion.events.event import EventRejected, EventStoreUnavailable, StatementFailed
from fanion.events.storage.property_columns import PropertyColumns
from fanion.events.storage.stored_columns import StoredColumn
from fanion.properties.bindings import DedicatedColumns, code_of
from fanion.runtime.background import run_loop

EVERY_S: Final = 60.0
_FAILURES: Final = (EventStoreUnavailable, EventRejected, StatementFailed)
# After a statement has met a list or an object under a property.
NESTED_S: Final = 3600.0
# After a statement has met a store without a column that this server knew.
MISSING_S: Final = 600.0
# How many properties of projects are counted between two writes, and known to have lists.
USED_MAX: Final = 1_000
NESTED_MAX: Final = 10_000


@dataclass(slots=True)
class KnownColumns:
    """The columns that this server knows, and how often its questions use properties.

    Attributes:
        stored: The columns as they were last read from the store.
        monotonic: The clock, in seconds.
    """

    columns: PropertyColumns
    monotonic: Callable[[], float] = monotonic
    stored: Mapping[str, StoredColumn] = field(default_factory=dict)
    _uses: dict[tuple[int, str], int] = field(default_factory=dict)
    _missing_until: float = 0.0
    _nested: dict[tuple[int, str], float] = field(default_factory=dict)
    _is_asked: bool = False
    _is_read: bool = False
    _first_asked: asyncio.Event = field(default_factory=asyncio.Event)

    def of_project(self, project_id: int) -> DedicatedColumns:
        """Return the columns for the statements of one question, and count what these read."""
        self._is_asked = True
        if not self._is_read:
            self._first_asked.set()
        now = self.monotonic()
        own = {
            key: column.name
            for key, column in self.stored.items()
            if column.is_filled and self._nested.get((project_id, key), now) <= now
        }
        used: set[str] = set()

        def note(key: str) -> None:
            if key not in used and (key in own or key not in self.stored):
                used.add(key)
                self._count(project_id, key)

        return DedicatedColumns(own, note)

    def _count(self, project_id: int, key: str) -> None:
        use = (project_id, key)
        if use in self._uses or len(self._uses) < USED_MAX:
            self._uses[use] = self._uses.get(use, 0) + 1

    def refuse(self, project_id: int, code: int) -> None:
        """Leave a column out of the project's questions for a while.

        Args:
            code: That of the error by which a statement has ended.
        """
        if len(self._nested) >= NESTED_MAX:
            self._nested.clear()
        for key in self.stored:
            if code_of(key) == code:
                self._nested[project_id, key] = self.monotonic() + NESTED_S

    def forget(self) -> None:
        """Read no columns for a while, because the store does not have one of them any more."""
        self.stored = {}
        self._missing_until = self.monotonic() + MISSING_S

    @property
    def is_any_known(self) -> bool:
        """Return whether statements may read columns."""
        return bool(self.stored)

    async def run(self) -> Never:
        """Look up columns and write uses regularly, until cancelled."""
        await run_loop(
            self.work,
            EVERY_S,
            "property_columns_not_read",
            _FAILURES,
            initial_delay_s=EVERY_S,
            wake=self._first_asked,
        )

    async def work(self) -> None:
        """Do what `refresh` does if there were questions since.

        Raises:
            EventStoreUnavailable: The event store failed.
        """
        if self._is_asked:
            self._is_asked = False
            await self.refresh()

    async def refresh(self) -> None:
        """Write how often properties were used, and look up the columns.

        Raises:
            EventStoreUnavailable: The event store failed.
        """
        uses, self._uses = self._uses, {}
        await self.columns.add_uses([(*use, number) for use, number in uses.items()])
        stored = await self.columns.stored()
        self._is_read = True
        if self.monotonic() >= self._missing_until:
            self.stored = {column.key: column for column in stored}
