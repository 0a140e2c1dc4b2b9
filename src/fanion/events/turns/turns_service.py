"""Turns at the event store. A read for a user waits for its turn, and ends with the client."""

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

# The clients of the store that a turn may use. Jobs of the server need no turn.
LaneName = Literal["people", "rows", "behind", "exports", "jobs"]

_held: ContextVar["Turns | None"] = ContextVar("held_turn", default=None)


def lane_of_turn() -> LaneName:
    held = _held.get()
    return "jobs" if held is None else held.lane


@dataclass(slots=True)
class Turns:
    """The turns of one kind of reads.

    Attributes:
        places: Shared by all servers; None if there is only one server.
    """

    lane: LaneName
    gate: Gate
    places: SharedPlaces | None = None

    @asynccontextmanager
    async def turn(self, project_id: int) -> AsyncGenerator[None]:
        """Hold a turn for one read, or for several in sequence. A turn within it is the same.

        The block is cancelled when the client leaves.

        Raises:
            Unavailable: Too many reads wait, or this one has waited for too long.
            RecordsUnavailable: The records store failed.
            ClientLeft: The client has disconnected.
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
            place = None if places is None else await places.take_place(project_id, user_id)
            try:
                yield
            finally:
                if places is not None and place is not None:
                    places.leave_place(place)
        finally:
            gate.leave(project_id, user_id)


@asynccontextmanager
async def _unless_client_left() -> AsyncGenerator[None]:
    """Raise ClientLeft in the block when the client has disconnected."""
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
