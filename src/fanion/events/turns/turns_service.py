"""Turns at the event store: who reads for a person waits for one, and ends with the client."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

from fanion.errors import ClientLeft
from fanion.events.turns.asker_service import current_asker
from fanion.events.turns.gate_service import Gate
from fanion.events.turns.places_store import SharedPlaces

# The clients of the store that a turn may use; jobs of the server need no turn.
LaneName = Literal["people", "rows", "behind", "jobs"]

_held: ContextVar["Turns | None"] = ContextVar("held_turn", default=None)


def lane_of_turn() -> LaneName:
    held = _held.get()
    return "jobs" if held is None else held.lane


@dataclass(slots=True)
class Turns:
    """places: that all servers share; None where there is one server"""

    lane: LaneName
    gate: Gate
    places: SharedPlaces | None = None

    @asynccontextmanager
    async def turn(self, project_id: int) -> AsyncGenerator[None]:
        """For one read or several that follow on each other; within a turn it is the same one.
        While it lasts the block is cancelled when the client leaves.

        raises: Unavailable, RecordsUnavailable, ClientLeft
        """
        if _held.get() is self:
            yield
            return
        asker = current_asker()
        user_id = 0 if asker is None else asker.user_id
        async with _unless_client_left(), self._entered(project_id, user_id):
            token = _held.set(self)
            try:
                yield
            finally:
                _held.reset(token)

    @asynccontextmanager
    async def _entered(self, project_id: int, user_id: int) -> AsyncGenerator[None]:
        gate, places = self.gate, self.places
        await gate.enter(project_id, user_id)
        try:
            place = None if places is None else await places.take(project_id, user_id)
            try:
                yield
            finally:
                if places is not None and place is not None:
                    places.leave(place)
        finally:
            gate.leave(project_id, user_id)


@asynccontextmanager
async def _unless_client_left() -> AsyncGenerator[None]:
    """raises: ClientLeft"""
    asker = current_asker()
    if asker is None or asker.left is None:
        yield
        return
    left, loop = asker.left(), asyncio.get_running_loop()
    try:
        async with asyncio.timeout(None) as scope:

            def end(_: "asyncio.Future[None]") -> None:
                scope.reschedule(loop.time())

            left.add_done_callback(end)
            try:
                yield
            finally:
                left.remove_done_callback(end)
    except TimeoutError:
        if scope.expired():
            raise ClientLeft from None
        raise
