"""The decoding of large bodies in threads, within a memory limit of the process."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TypeVar

from fanion.errors import Unavailable

# The memory of all bodies that one process is decoding: decompressed data and the decoded values.
DECODING_BYTES_MAX = 256 * 1024 * 1024
# Each thread competes with the event loop for the GIL; more would make the loop wait longer.
DECODING_THREADS = 2
# The longest wait for memory. Two bodies of the worst kind, 20 MB of values nested ten deep, take
# about as long.
ROOM_WAIT_S = 10.0
RETRY_AFTER_S = 5
# A body is decompressed in parts, which are joined, and it may be encoded again.
_COPIES = 3
# The largest window, decoded and encoded again.
_WINDOW_BYTES = 8 * 1024 * 1024

T = TypeVar("T")


class Room:
    """The memory that is reserved for one request."""

    def __init__(self, decoding: "Decoding", taken: int) -> None:
        self._decoding = decoding
        self.taken = taken

    async def run(self, work: Callable[[], T]) -> T:
        """Run `work` in a thread."""
        loop = asyncio.get_running_loop()
        future = loop.run_in_executor(self._decoding.threads, work)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            # The thread needs its memory until it has ended.
            await asyncio.wait([future])
            raise

    def shrink(self, unfolded: int) -> None:
        """Reserve less, once the decompressed size of the body is known."""
        self._resize(min(self.taken, room_for(unfolded)))

    async def grow(self, size: int) -> None:
        """Reserve more, up to the limit.

        Raises:
            Unavailable: There is no room in time.
        """
        size = min(size, self._decoding.bytes_max - self.taken)
        if size > 0:
            await self._decoding.reserve(size)
            self.taken += size

    def leave(self) -> None:
        self._resize(0)

    def _resize(self, taken: int) -> None:
        self._decoding.release(self.taken - taken)
        self.taken = taken


class Decoding:
    """The decoding of a process, which reserves memory in the order of the requests."""

    def __init__(self, bytes_max: int = DECODING_BYTES_MAX, wait_s: float = ROOM_WAIT_S) -> None:
        self.threads = ThreadPoolExecutor(DECODING_THREADS, "decoding")
        self.bytes_max = bytes_max
        self.taken = 0
        self._wait_s = wait_s
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    @asynccontextmanager
    async def room(self, received: int, unfolded_max: int) -> AsyncGenerator[Room]:
        """Reserve memory for a body of at most `unfolded_max` bytes when it is decompressed.

        Raises:
            Unavailable: There is no room within ROOM_WAIT_S.
        """
        size = room_for(max(received, unfolded_max))
        await self.reserve(size)
        room = Room(self, min(size, self.bytes_max))
        try:
            yield room
        finally:
            room.leave()

    async def reserve(self, size: int) -> None:
        """Reserve bytes; a body that needs more than there are gets all of them.

        Raises:
            Unavailable: There is no room in time.
        """
        size = min(size, self.bytes_max)
        if not self._waiting and self.taken + size <= self.bytes_max:
            self.taken += size
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((size, turn))
        try:
            await asyncio.wait_for(turn, self._wait_s)
        except TimeoutError:
            raise Unavailable(
                "Too many large request bodies are being decoded. Please retry.",
                code="too_many_large_requests",
                retry_after_s=RETRY_AFTER_S,
            ) from None
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.release(size)
            raise
        finally:
            self._admit()

    def release(self, size: int) -> None:
        self.taken -= size
        self._admit()

    def _admit(self) -> None:
        while self._waiting:
            size, turn = self._waiting[0]
            if not turn.done():
                if self.taken + size > self.bytes_max:
                    return
                self.taken += size
                turn.set_result(None)
            self._waiting.popleft()


def room_for(unfolded: int) -> int:
    return _COPIES * unfolded + _WINDOW_BYTES
