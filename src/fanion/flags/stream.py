"""Telling many listeners that a project's flags have changed.

A listener is one coroutine that sleeps. It is sent the latest version and nothing before it,
so that a slow one has nothing to catch up with and nothing queues.
"""

import asyncio
import itertools
from collections.abc import AsyncGenerator, Iterable
from typing import Never

import msgspec

from fanion.db.engine import RecordsUnavailable
from fanion.errors import Unavailable
from fanion.flags.built import Built
from fanion.flags.snapshot import FlagSets

# Proxies cut connections that are silent for 60 s, some for 30.
HEARTBEAT_S = 10.0
# Listeners are woken a part at a time: 10,000 at once would hold every request up for 0.3 s.
HEARTBEAT_SLICES = 60
WAKE_MAX = 200
WAKE_PAUSE_S = 0.005

HEARTBEAT = b":\n\n"


class _Listener:
    """is_beat: it is time for a sign of life, changed or not"""

    __slots__ = ("is_beat", "woken")

    def __init__(self) -> None:
        self.woken = asyncio.Event()
        self.is_beat = False

    async def wait(self) -> None:
        await self.woken.wait()
        self.woken.clear()


class Broadcaster:
    """One for all projects."""

    def __init__(
        self, flag_sets: FlagSets, listeners_max: int, heartbeat_s: float = HEARTBEAT_S
    ) -> None:
        self._flag_sets = flag_sets
        self._listeners_max = listeners_max
        self._heartbeat_s = heartbeat_s
        self._listeners: dict[int, set[_Listener]] = {}
        self._count = 0
        self._is_closed = False
        self._waking: set[asyncio.Task[None]] = set()
        flag_sets.listen(self._changed)

    @property
    def listeners(self) -> int:
        return self._count

    def messages(self, project_id: int) -> AsyncGenerator[bytes]:
        """The present version at once, then one message for each change, and comments that
        keep the connection open. raises: Unavailable when there are too many listeners"""
        if self._is_closed or self._count >= self._listeners_max:
            raise Unavailable("Too many connections listen for changes.")
        return self._messages(project_id)

    async def beat(self) -> Never:
        """Let every listener send a sign of life once a round, until cancelled."""
        while True:
            waiting = [*itertools.chain.from_iterable(self._listeners.values())]
            size = max(1, -(-len(waiting) // HEARTBEAT_SLICES))
            for start in range(0, HEARTBEAT_SLICES * size, size):
                _wake(waiting[start : start + size], is_beat=True)
                await asyncio.sleep(self._heartbeat_s / HEARTBEAT_SLICES)

    def close(self) -> None:
        """End all listeners."""
        self._is_closed = True
        _wake(itertools.chain.from_iterable(self._listeners.values()))

    async def _messages(self, project_id: int) -> AsyncGenerator[bytes]:
        listener = _Listener()
        listeners = self._listeners.setdefault(project_id, set())
        listeners.add(listener)
        self._count += 1
        sent = -1
        try:
            while not self._is_closed:
                version = await self._version(project_id, sent)
                if version != sent:
                    yield message(version)
                elif listener.is_beat:
                    yield HEARTBEAT
                sent, listener.is_beat = version, False
                await listener.wait()
        finally:
            self._count -= 1
            listeners.discard(listener)
            if not listeners and self._listeners.get(project_id) is listeners:
                del self._listeners[project_id]

    async def _version(self, project_id: int, known: int) -> int:
        try:
            return (await self._flag_sets.built(project_id)).definitions.version
        except RecordsUnavailable:
            return known

    def _changed(self, project_id: int, _: Built) -> None:
        listeners = self._listeners.get(project_id)
        if listeners:
            task = asyncio.create_task(_wake_slowly(list(listeners)))
            self._waking.add(task)
            task.add_done_callback(self._waking.discard)


def message(version: int) -> bytes:
    data = msgspec.json.encode({"type": "definitions", "version": version}).decode()
    return f"id: {version}\nevent: definitions\ndata: {data}\n\n".encode()


def _wake(listeners: Iterable[_Listener], *, is_beat: bool = False) -> None:
    for listener in listeners:
        listener.is_beat = listener.is_beat or is_beat
        listener.woken.set()


async def _wake_slowly(listeners: list[_Listener]) -> None:
    for start in range(0, len(listeners), WAKE_MAX):
        _wake(listeners[start : start + WAKE_MAX])
        await asyncio.sleep(WAKE_PAUSE_S)
