"""The pauses that commands ask for; a paused server answers capture and flags and nothing else."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from fanion.db.engine import Records, RecordsUnavailable
from fanion.db.maintenance import Maintenance, State, pause_at, read_maintenance
from fanion.db.unwritten import UnwrittenPolls
from fanion.errors import StartRefused
from fanion.runtime.background import wait_in_step

# How often a server looks: a pause lasts at least as long.
LOOK_S: Final = 0.5
# Looks in a row that are left out while nobody writes an SQLite store.
LEFT_OUT_MAX: Final = 19


@dataclass(slots=True)
class Pauses:
    """The pauses of one server, as it saw them last."""

    records: Records
    now: Callable[[], datetime]
    _rows: list[Maintenance] = field(default_factory=list)
    _unwritten: UnwrittenPolls = field(init=False)

    def __post_init__(self) -> None:
        self._unwritten = UnwrittenPolls(self.records.write_mark, LEFT_OUT_MAX)

    async def current(self) -> Maintenance | None:
        """Return why this server is paused, or None.

        While the store does not answer, what it said last holds.
        """
        with suppress(RecordsUnavailable):
            await self._read()
        return self.last

    @property
    def last(self) -> Maintenance | None:
        """Why this server is paused, as far as it knows."""
        return pause_at(self._rows, self.now())

    async def changed(self, stop: asyncio.Event) -> None:
        """Wait until a pause begins or ends, or `stop` is set."""
        before = _kind(self.last)
        while not stop.is_set():
            await wait_in_step(stop, LOOK_S)
            with suppress(RecordsUnavailable):
                await self._unwritten.poll(self._read)
            if _kind(self.last) != before:
                return

    async def _read(self) -> None:
        self._rows = await read_maintenance(self.records)


def _kind(pause: Maintenance | None) -> tuple[str, State] | None:
    return None if pause is None else (pause.name, pause.state)


async def require_arrived(records: Records) -> None:
    """Check that the records are complete.

    Raises:
        StartRefused: A move into them was begun and is not complete.
        RecordsUnavailable: The store does not answer.
    """
    if any(row.state is State.ARRIVING for row in await read_maintenance(records)):
        raise StartRefused(
            "FANION_DATABASE_URL: everything is still being moved into these records. Run the same "
            "`fanion move` again until it says that the move is complete; servers on the former "
            "stores serve meanwhile."
        )
