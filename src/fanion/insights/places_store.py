"""Places for questions that all servers of an installation share: together they ask the event
store no more than one server may."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from time import monotonic
from typing import Final
from uuid import UUID, uuid4

from sqlalchemy import delete, func, insert, select, update

from fanion.db.engine import Records, RecordsUnavailable
from fanion.db.lease import one_at_a_time
from fanion.db.schema.servers import question_places
from fanion.errors import Unavailable
from fanion.insights.gate_service import RETRY_AFTER_S, GateLimits

# A server that has not renewed a place for so long is taken to be dead.
HELD: Final = timedelta(seconds=30)
RENEW_S: Final = 10.0
LOOK_S: Final = 0.1  # while all places are taken
WAIT_S_MAX: Final = 60.0

_place = question_places.c


@dataclass(slots=True)
class SharedPlaces:
    """On PostgreSQL, whose clock decides.

    kind: of questions that have their places in common
    """

    records: Records
    kind: str
    limits: GateLimits
    _held: dict[UUID, "asyncio.Task[None]"] = field(default_factory=dict)
    _leaving: set["asyncio.Task[None]"] = field(default_factory=set)

    async def take(self, project_id: int) -> UUID:
        """Returns when the question may be asked; then `leave` must follow.

        raises: RecordsUnavailable; Unavailable when no place became free
        """
        give_up = monotonic() + WAIT_S_MAX
        place = uuid4()
        while not await self.try_take(place, project_id):
            if monotonic() >= give_up:
                detail = "Too many questions are being answered. Please retry."
                raise Unavailable(detail, retry_after_s=RETRY_AFTER_S)
            await asyncio.sleep(LOOK_S)
        self._held[place] = asyncio.ensure_future(self._keep(place))
        return place

    def leave(self, place: UUID) -> None:
        """In the background: the place is free a moment later."""
        self._held.pop(place).cancel()
        leaving = asyncio.ensure_future(self._leave(place))
        self._leaving.add(leaving)
        leaving.add_done_callback(self._leaving.discard)

    async def try_take(self, place: UUID, project_id: int) -> bool:
        """Whether there was a free one. place: its name. raises: RecordsUnavailable"""
        of_kind = _place.kind == self.kind
        taken = select(
            func.count().label("all"),
            func.count().filter(_place.project_id == project_id).label("own"),
        ).where(of_kind)
        async with self.records.write() as connection:
            await one_at_a_time(connection, f"question_places {self.kind}")
            await connection.execute(
                delete(question_places).where(of_kind, _place.held_until <= func.now())
            )
            counts = (await connection.execute(taken)).one()
            if counts.all >= self.limits.at_once or counts.own >= self.limits.at_once_of_project:
                return False
            row = {"id": place, "kind": self.kind, "project_id": project_id}
            until = func.now() + HELD
            await connection.execute(insert(question_places).values(**row, held_until=until))
        return True

    async def _keep(self, place: UUID) -> None:
        """Renew it for as long as the question runs."""
        renewed = update(question_places).where(_place.id == place)
        while True:
            await asyncio.sleep(RENEW_S)
            with suppress(RecordsUnavailable):
                async with self.records.write() as connection:
                    await connection.execute(renewed.values(held_until=func.now() + HELD))

    async def _leave(self, place: UUID) -> None:
        """It expires by itself while the store is away."""
        with suppress(RecordsUnavailable):
            async with self.records.write() as connection:
                await connection.execute(delete(question_places).where(_place.id == place))
