"""Threads of the event store in a process that dies after some statements."""

from collections.abc import Callable
from typing import Any, TypeVar

from fanion.events.storage.client import Lanes
from fanion.events.storage.store import EventStore

T = TypeVar("T")


class Killed(Exception):
    pass


class DyingLanes(Lanes):
    """Lanes of a process that dies after some statements."""

    def __init__(self, events: EventStore, statements: int) -> None:
        super().__init__("dying")
        self._jobs, self._left = events._jobs, statements

    async def run(self, work: Callable[..., T], *arguments: Any) -> T:
        if not self._left:
            raise Killed
        self._left -= 1
        return await self._jobs.run(work, *arguments)
