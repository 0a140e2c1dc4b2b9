"""The data loaders: they batch concurrent point reads by key into few statements."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Final, Generic, Literal, TypeVar

from fanion.db.drivers import RecordsUnavailable

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

# The most keys in one statement of a SerialDataLoader.
READ_KEYS_MAX = 500

# How long a read value is remembered unless this process writes. Short, because other processes may
# write too.
RECENT_S = 1.0
RECENT_MAX = 10_000  # values


class _Unknown(Enum):
    UNKNOWN = 0


UNKNOWN: Final = _Unknown.UNKNOWN
Unknown = Literal[_Unknown.UNKNOWN]

Load = Callable[[Sequence[K]], Awaitable[Mapping[K, V]]]


@dataclass(frozen=True, slots=True)
class DataLoaderLimits:
    """The limits of a `DataLoader`.

    Attributes:
        timeout_s: From the request to the result, including the wait for a free read.
    """

    timeout_s: float
    keys_max: int = 64  # in one statement; PostgreSQL: 32 keys in 0.9 ms, 200 in 8 ms
    reads_max: int = 2  # at a time; SQLite with 32 callers: 51 k/s, with 1 33 k/s, with 4 50 k/s
    waiting_max: int = 10_000  # callers


class DataLoader(Generic[K, V]):
    """A loader that reads keys in batches.

    Keys requested during one turn of the event loop, or while all reads are busy, share one
    statement.

    Args:
        load: Returns the values of those keys that exist. It gets at most `keys_max` keys, none of
            them twice.
        writes: Returns how often this process has written so far. If given, values are remembered,
            and a repeated key takes no read and no turn of the loop.
    """

    def __init__(
        self, load: Load[K, V], limits: DataLoaderLimits, writes: Callable[[], int] | None = None
    ) -> None:
        self._load = load
        self._limits = limits
        self._writes = writes
        self._recent: dict[K, V | None] = {}
        self._recent_writes = 0
        self._recent_until = 0.0
        self._asked: dict[K, list[asyncio.Future[V | None]]] = {}
        self._waiting = 0
        self._reads: set[asyncio.Task[None]] = set()
        self._is_scheduled = False

    def recent(self, key: K) -> V | Unknown | None:
        """Return the remembered value of a key like `get`, or UNKNOWN if it needs a read."""
        if self._writes is None or not self._recent:
            return UNKNOWN
        if self._writes() != self._recent_writes or time.monotonic() > self._recent_until:
            self._recent.clear()
            return UNKNOWN
        return self._recent.get(key, UNKNOWN)

    async def get(self, key: K) -> V | None:
        """Return the value of a key, or None if there is no such key.

        Raises:
            RecordsUnavailable: The time is over, too many callers wait, or the read failed.
        """
        recent = self.recent(key)
        if recent is not UNKNOWN:
            return recent
        if self._waiting >= self._limits.waiting_max:
            raise RecordsUnavailable(f"{self._waiting} callers already wait for the store")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[V | None] = loop.create_future()
        timer = loop.call_later(self._limits.timeout_s, self._expire, future)
        self._asked.setdefault(key, []).append(future)
        self._schedule(loop)
        self._waiting += 1
        try:
            return await future
        finally:
            self._waiting -= 1
            timer.cancel()

    async def close(self) -> None:
        """Cancel the reads in progress; callers that wait for them get RecordsUnavailable."""
        _fail_batch(self._asked, asyncio.CancelledError())
        self._asked.clear()
        for read in self._reads:
            read.cancel()
        await asyncio.gather(*self._reads, return_exceptions=True)

    def _expire(self, future: asyncio.Future[V | None]) -> None:
        if not future.done():
            future.set_exception(
                RecordsUnavailable(f"no answer within {self._limits.timeout_s:g} s")
            )

    def _schedule(self, loop: asyncio.AbstractEventLoop) -> None:
        if not self._is_scheduled and len(self._reads) < self._limits.reads_max:
            self._is_scheduled = True
            loop.call_soon(self._start_reads, loop)

    def _start_reads(self, loop: asyncio.AbstractEventLoop) -> None:
        self._is_scheduled = False
        while len(self._reads) < self._limits.reads_max and (batch := self._next_keys()):
            read = loop.create_task(self._read(batch))
            self._reads.add(read)
            read.add_done_callback(partial(self._finish, batch))

    def _next_keys(self) -> dict[K, list[asyncio.Future[V | None]]]:
        """Return the next keys that callers still wait for, oldest first."""
        batch: dict[K, list[asyncio.Future[V | None]]] = {}
        while self._asked and len(batch) < self._limits.keys_max:
            key = next(iter(self._asked))
            waiting = [future for future in self._asked.pop(key) if not future.done()]
            if waiting:
                batch[key] = waiting
        return batch

    async def _read(self, batch: dict[K, list[asyncio.Future[V | None]]]) -> None:
        """Read the values of the keys.

        A read that outlives its callers is cancelled, so that slow reads do not pile up.
        """
        writes = self._writes() if self._writes is not None else None
        try:
            async with asyncio.timeout(self._limits.timeout_s):
                values = await self._load(list(batch))
        except BaseException as error:
            _fail_batch(batch, error)
            if not isinstance(error, Exception):
                raise
            return
        if writes is not None:
            self._remember({key: values.get(key) for key in batch}, writes)
        for key, futures in batch.items():
            value = values.get(key)
            for future in futures:
                if not future.done():
                    future.set_result(value)

    def _remember(self, values: Mapping[K, V | None], writes: int) -> None:
        """Remember values, unless there were writes since the read began.

        Args:
            writes: The count before the read. If it has changed, the values may be stale.
        """
        if self._writes is None or self._writes() != writes:
            return
        if writes != self._recent_writes or len(self._recent) >= RECENT_MAX:
            self._recent.clear()
        if not self._recent:
            self._recent_writes, self._recent_until = writes, time.monotonic() + RECENT_S
        self._recent.update(values)

    def _finish(
        self, batch: dict[K, list[asyncio.Future[V | None]]], read: asyncio.Task[None]
    ) -> None:
        self._reads.discard(read)
        _fail_batch(batch, asyncio.CancelledError())  # it may have been cancelled before it began
        if self._asked:
            self._schedule(read.get_loop())


def _fail_batch(
    batch: Mapping[K, Sequence[asyncio.Future[V | None]]], error: BaseException
) -> None:
    for futures in batch.values():
        for future in futures:
            if future.done():
                continue
            if isinstance(error, TimeoutError | asyncio.CancelledError):
                future.set_exception(RecordsUnavailable("the read was given up"))
            else:
                future.set_exception(error)


class SerialDataLoader(Generic[K, V]):
    """A data loader with one read at a time: keys requested during a read share the next one.

    A flood of unknown keys therefore costs the store one query at a time. Reads have no time limit
    of their own. A key may be invalidated while it is being read.
    """

    def __init__(self, read: Callable[[Sequence[K]], Awaitable[Mapping[K, V]]]) -> None:
        self._read = read
        self._requested: dict[K, asyncio.Future[V | None]] = {}
        self._under_way: dict[K, asyncio.Future[V | None]] = {}
        self._reader: asyncio.Task[None] | None = None

    async def get(self, key: K) -> V | None:
        """Return the value of a key, or None if there is no such key.

        Raises:
            RecordsUnavailable: The store does not answer.
        """
        answer = self._requested.get(key) or self._under_way.get(key)
        if answer is None:
            answer = self._requested[key] = asyncio.get_running_loop().create_future()
            if self._reader is None:
                self._reader = asyncio.create_task(self._run(), name="serial-data-loader")
        await asyncio.wait([answer])
        return answer.result()

    def forget(self, key: K) -> None:
        """Make later callers read again, since a read in progress may return the former value."""
        self._under_way.pop(key, None)

    def forget_all(self) -> None:
        """Make later callers of every key start another read."""
        self._under_way = {}

    async def _run(self) -> None:
        try:
            while self._requested:
                keys = list(self._requested)[:READ_KEYS_MAX]
                await self._answer({key: self._requested.pop(key) for key in keys})
        finally:
            self._reader = None

    async def _answer(self, answers: dict[K, asyncio.Future[V | None]]) -> None:
        self._under_way = dict(answers)
        try:
            values = await self._read(list(answers))
        except Exception as error:
            # `exception()` marks the error as retrieved, since every waiter may have been
            # cancelled.
            for answer in answers.values():
                answer.set_exception(error)
                answer.exception()
        else:
            for key, answer in answers.items():
                answer.set_result(values.get(key))
        finally:
            self._under_way = {}
