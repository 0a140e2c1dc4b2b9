"""Server-sent events that notify listeners when a project's flags have changed.

A listener is one coroutine that sleeps. It is only sent the latest version, so a slow listener has
nothing to catch up on, and nothing queues.
"""

import asyncio
import itertools
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable, Iterable
from functools import partial
from typing import Any, Never, TypeVar

import msgspec

from fanion.db.engine import RecordsUnavailable
from fanion.errors import Unavailable
from fanion.flags.evaluation.cache import FlagSets
from fanion.runtime.background import run_loop
from fanion.wire.event_stream import ACCESS_CHECK_S, HEARTBEAT, HEARTBEAT_S, encode_message

K = TypeVar("K", bound=Hashable)

# Listeners are woken in parts: 10,000 at once would delay every request by 0.3 s.
HEARTBEAT_SLICES = 60
WAKE_MAX = 200
WAKE_PAUSE_S = 0.005

# Grants checked before other tasks get a turn; they take 5 ms.
GRANTS_TOGETHER = 200


class _Listener:
    """One open connection.

    Attributes:
        needs_heartbeat: Whether to send something even without a change.
        is_over: Whether its grant has ended.
    """

    __slots__ = ("is_over", "needs_heartbeat", "woken")

    def __init__(self) -> None:
        self.woken = asyncio.Event()
        self.needs_heartbeat = self.is_over = False

    async def wait(self) -> None:
        await self.woken.wait()
        self.woken.clear()


class Broadcaster:
    """The listeners of all projects."""

    def __init__(
        self, flag_sets: FlagSets, listeners_max: int, heartbeat_s: float = HEARTBEAT_S
    ) -> None:
        self._flag_sets = flag_sets
        self._listeners_max = listeners_max
        self._heartbeat_s = heartbeat_s
        self._listeners: dict[int, set[_Listener]] = {}
        self._granted: dict[Hashable, set[_Listener]] = {}
        self._grants_changed = asyncio.Event()
        self._count = 0
        self._is_closed = False
        self._heartbeats_due: deque[list[_Listener]] = deque()  # slices of this round of heartbeats
        self._joined = asyncio.Event()  # a listener has come
        self._waking: set[asyncio.Task[None]] = set()

    @property
    def listeners(self) -> int:
        return self._count

    def messages(self, project_id: int, grant: Hashable = None) -> AsyncGenerator[bytes]:
        """Yield the current version at once, then one message for each change.

        Comments in between keep the connection open.

        Args:
            grant: The grant that `run_grant_checks` checks; None if it cannot end.

        Raises:
            Unavailable: There are too many listeners.
        """
        if self._is_closed or self._count >= self._listeners_max:
            raise Unavailable("Too many connections listen for changes.")
        return self._messages(project_id, grant)

    async def run_heartbeat(self) -> Never:
        """Make every listener send a heartbeat every `heartbeat_s`, until cancelled."""
        await run_loop(
            self._send_heartbeats, self._heartbeat_s / HEARTBEAT_SLICES, "heartbeat_not_sent", ()
        )

    async def _send_heartbeats(self) -> None:
        """Wake the next slice of the listeners that were there when the round began.

        Without listeners, wait for one.
        """
        if not self._count:
            self._joined.clear()
            await self._joined.wait()
        if not self._heartbeats_due:
            listeners = [*itertools.chain.from_iterable(self._listeners.values())]
            size = max(1, -(-len(listeners) // HEARTBEAT_SLICES))
            ends = range(0, HEARTBEAT_SLICES * size, size)
            self._heartbeats_due = deque(listeners[start : start + size] for start in ends)
        _wake_listeners(self._heartbeats_due.popleft(), needs_heartbeat=True)

    async def run_grant_checks(self, holds: Callable[[Any], Awaitable[bool]]) -> Never:
        """End listeners whose grants no longer hold, until cancelled.

        Args:
            holds: May raise RecordsUnavailable, in which case listeners stay.
        """
        await run_loop(
            partial(self._end_revoked, holds),
            ACCESS_CHECK_S,
            "stream_keys_not_checked",
            (RecordsUnavailable,),
            wake=self._grants_changed,
        )

    def check_grants(self, _: int) -> None:
        """Check all grants right away, because some may have ended."""
        self._grants_changed.set()

    async def _end_revoked(self, holds: Callable[[Any], Awaitable[bool]]) -> None:
        if not self._granted:
            self._joined.clear()
            await self._joined.wait()
        grants = list(self._granted)
        for start in range(0, len(grants), GRANTS_TOGETHER):
            batch = grants[start : start + GRANTS_TOGETHER]
            held = await asyncio.gather(*map(holds, batch))
            for grant, is_held in zip(batch, held, strict=True):
                if not is_held:
                    self._end_grant(grant)
            await asyncio.sleep(0)

    def _end_grant(self, grant: Hashable) -> None:
        listeners = self._granted.get(grant, ())
        for listener in listeners:
            listener.is_over = True
        _wake_listeners(listeners)

    def close(self) -> None:
        """End all listeners."""
        self._is_closed = True
        _wake_listeners(itertools.chain.from_iterable(self._listeners.values()))

    async def _messages(self, project_id: int, grant: Hashable) -> AsyncGenerator[bytes]:
        listener = _Listener()
        _add_listener(self._listeners, project_id, listener)
        if grant is not None:
            _add_listener(self._granted, grant, listener)
        self._count += 1
        self._joined.set()
        sent = -1
        try:
            while not (self._is_closed or listener.is_over):
                version = await self._version(project_id, sent)
                if version != sent:
                    yield version_message(version)
                elif listener.needs_heartbeat:
                    yield HEARTBEAT
                sent, listener.needs_heartbeat = version, False
                await listener.wait()
        finally:
            self._count -= 1
            _remove_listener(self._listeners, project_id, listener)
            if grant is not None:
                _remove_listener(self._granted, grant, listener)

    async def _version(self, project_id: int, known: int) -> int:
        try:
            return (await self._flag_sets.compiled_flags(project_id)).definitions.version
        except RecordsUnavailable:
            return known

    def notify_project(self, project_id: int) -> None:
        """Wake the project's listeners, because its flags may have another version."""
        listeners = self._listeners.get(project_id)
        if listeners:
            task = asyncio.create_task(_wake_slowly(list(listeners)))
            self._waking.add(task)
            task.add_done_callback(self._waking.discard)


def _add_listener(listeners: dict[K, set[_Listener]], key: K, listener: _Listener) -> None:
    listeners.setdefault(key, set()).add(listener)


def _remove_listener(listeners: dict[K, set[_Listener]], key: K, listener: _Listener) -> None:
    remaining = listeners[key]
    remaining.discard(listener)
    if not remaining:
        del listeners[key]


def version_message(version: int) -> bytes:
    data = msgspec.json.encode({"type": "definitions", "version": version})
    return encode_message(data, event="definitions", event_id=str(version))


def _wake_listeners(listeners: Iterable[_Listener], *, needs_heartbeat: bool = False) -> None:
    for listener in listeners:
        listener.needs_heartbeat = listener.needs_heartbeat or needs_heartbeat
        listener.woken.set()


async def _wake_slowly(listeners: list[_Listener]) -> None:
    for start in range(0, len(listeners), WAKE_MAX):
        _wake_listeners(listeners[start : start + WAKE_MAX])
        await asyncio.sleep(WAKE_PAUSE_S)
