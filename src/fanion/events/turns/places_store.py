"""Places for reads, shared by all servers of an installation.

Together the servers run no more reads than one server may, in the order in which places were
requested.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from time import monotonic
from typing import Any, Final
from uuid import UUID, uuid4

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from fanion.db.engine import Records, RecordsUnavailable
from fanion.db.lease import one_at_a_time
from fanion.db.schema.servers import question_places
from fanion.errors import Unavailable
from fanion.events.turns.gate_service import RETRY_AFTER_S, GateLimits

# A server that has not renewed a place for this long is taken to be dead.
HELD: Final = timedelta(seconds=30)
RENEW_S: Final = 10.0
LOOK_S: Final = 0.1  # between looks while all places are taken
# A read that has not looked for this long has lost its turn: its server is dead or paused.
WAITING: Final = timedelta(seconds=3)

_place = question_places.c


@dataclass(slots=True)
class SharedPlaces:
    """The shared places, on PostgreSQL, whose clock is used.

    Attributes:
        kind: The kind of reads that share these places.
    """

    records: Records
    kind: str
    limits: GateLimits
    _held: dict[UUID, "asyncio.Task[None]"] = field(default_factory=dict)
    _leaving: set["asyncio.Task[None]"] = field(default_factory=set)

    async def take_place(self, project_id: int, user_id: int = 0) -> UUID:
        """Wait for a place and return it. `leave_place` must follow.

        Raises:
            RecordsUnavailable: The records store failed.
            Unavailable: No place became free.
        """
        give_up = monotonic() + self.limits.wait_s
        place = uuid4()
        try:
            while not await self.try_take_place(place, project_id, user_id):
                if monotonic() >= give_up:
                    detail = "Too many questions are being answered. Please retry."
                    raise Unavailable(detail, retry_after_s=RETRY_AFTER_S)
                await asyncio.sleep(LOOK_S)
        except BaseException:
            self._leave_behind(place)
            raise
        self._held[place] = asyncio.ensure_future(self._keep(place))
        return place

    def leave_place(self, place: UUID) -> None:
        """Give a place back, in the background: it is free a moment later."""
        self._held.pop(place).cancel()
        self._leave_behind(place)

    async def try_take_place(self, place: UUID, project_id: int, user_id: int = 0) -> bool:
        """Take a place if it is this read's turn; return whether it was.

        If not, the read waits in the queue from now on, as long as this is called again and again.

        Args:
            place: The name of the place.

        Raises:
            RecordsUnavailable: The records store failed.
        """
        row = {"id": place, "kind": self.kind, "project_id": project_id, "user_id": user_id}
        async with self.records.write() as connection:
            await one_at_a_time(connection, f"question_places {self.kind}")
            rows = await self._living(connection)
            is_known = any(known.id == place for known in rows)
            if not is_known:
                await connection.execute(
                    insert(question_places).values(
                        **row, is_waiting=True, since=func.now(), held_until=func.now() + WAITING
                    )
                )
                rows = await self._living(connection)
            may_run = place in admitted_places(rows, self.limits)
            until = func.now() + (HELD if may_run else WAITING)
            await connection.execute(
                update(question_places)
                .where(_place.id == place)
                .values(is_waiting=not may_run, held_until=until)
            )
        return may_run

    async def _living(self, connection: AsyncConnection) -> Sequence[Any]:
        """Return the reads that have a place or wait for one, in the order in which they asked."""
        of_kind = _place.kind == self.kind
        expired = delete(question_places).where(of_kind, _place.held_until <= func.now())
        await connection.execute(expired)
        known = select(_place.id, _place.project_id, _place.user_id, _place.is_waiting)
        rows = await connection.execute(known.where(of_kind).order_by(_place.since, _place.id))
        return rows.all()

    def _leave_behind(self, place: UUID) -> None:
        leaving = asyncio.ensure_future(self._leave(place))
        self._leaving.add(leaving)
        leaving.add_done_callback(self._leaving.discard)

    async def _keep(self, place: UUID) -> None:
        """Renew the place as long as the read runs."""
        renewed = update(question_places).where(_place.id == place)
        while True:
            await asyncio.sleep(RENEW_S)
            with suppress(RecordsUnavailable):
                async with self.records.write() as connection:
                    await connection.execute(renewed.values(held_until=func.now() + HELD))

    async def _leave(self, place: UUID) -> None:
        """Delete the place. While the store is unavailable it expires by itself."""
        with suppress(RecordsUnavailable):
            async with self.records.write() as connection:
                await connection.execute(delete(question_places).where(_place.id == place))


def admitted_places(rows: Sequence[Any], limits: GateLimits) -> set[UUID]:
    """Return the waiting reads that may run.

    Args:
        rows: In the order in which they asked.
    """
    running = [(row.project_id, row.user_id) for row in rows if not row.is_waiting]
    may_run: set[UUID] = set()
    for row in rows:
        of_project = sum(project_id == row.project_id for project_id, _ in running)
        of_user = sum(user_id == row.user_id != 0 for _, user_id in running)
        if (
            row.is_waiting
            and len(running) < limits.at_once
            and of_project < limits.at_once_of_project
            and of_user < limits.at_once_of_user
        ):
            running.append((row.project_id, row.user_id))
            may_run.add(row.id)
    return may_run
