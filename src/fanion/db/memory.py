"""What stands between many requests and one store."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

READ_KEYS_MAX = 500


class Expiring(Generic[K, V]):
    """Values that count for `seconds`; of more than `entries_max` the least recently used go."""

    def __init__(self, seconds: float, entries_max: int, clock: Callable[[], float]) -> None:
        self._seconds = seconds
        self._entries_max = entries_max
        self._clock = clock
        self._entries: OrderedDict[K, tuple[float, V]] = OrderedDict()

    def get(self, key: K) -> V | None:
        entry = self._entries.get(key)
        if entry is None:
            return None
        until, value = entry
        if self._clock() >= until:
            del self._entries[key]
            return None
        self._entries.move_to_end(key)
        return value

    def put(self, key: K, value: V) -> None:
        self._entries[key] = (self._clock() + self._seconds, value)
        self._entries.move_to_end(key)
        if len(self._entries) > self._entries_max:
            self._entries.popitem(last=False)

    def forget(self, key: K) -> None:
        self._entries.pop(key, None)

    def clear(self) -> None:
        self._entries.clear()

    def __len__(self) -> int:
        return len(self._entries)


class SharedReads(Generic[K, V]):
    """Reads by key, one at a time: what is asked for while a read runs goes into the next.

    So a flood of unknown keys costs the store one query after another, never many at once.
    """

    def __init__(self, read: Callable[[Sequence[K]], Awaitable[Mapping[K, V]]]) -> None:
        self._read = read
        self._asked: dict[K, asyncio.Future[V | None]] = {}
        self._under_way: dict[K, asyncio.Future[V | None]] = {}
        self._reader: asyncio.Task[None] | None = None

    async def get(self, key: K) -> V | None:
        """raises: RecordsUnavailable"""
        answer = self._asked.get(key) or self._under_way.get(key)
        if answer is None:
            answer = self._asked[key] = asyncio.get_running_loop().create_future()
            if self._reader is None:
                self._reader = asyncio.create_task(self._run(), name="shared-reads")
        await asyncio.wait([answer])
        return answer.result()

    def forget(self, key: K) -> None:
        """A read under way may hold what is no longer true: who asks from now on reads anew."""
        self._under_way.pop(key, None)

    def forget_all(self) -> None:
        """As `forget`, of every key."""
        self._under_way = {}

    async def _run(self) -> None:
        try:
            while self._asked:
                keys = list(self._asked)[:READ_KEYS_MAX]
                await self._answer({key: self._asked.pop(key) for key in keys})
        finally:
            self._reader = None

    async def _answer(self, answers: dict[K, asyncio.Future[V | None]]) -> None:
        self._under_way = dict(answers)
        try:
            found = await self._read(list(answers))
        except Exception as error:
            # Handed to everyone who waits; `exception()` marks it as seen, should nobody.
            for answer in answers.values():
                answer.set_exception(error)
                answer.exception()
        else:
            for key, answer in answers.items():
                answer.set_result(found.get(key))
        finally:
            self._under_way = {}
