"""A memory limit for the caches of flag evaluation."""

from itertools import count
from typing import Final, Protocol
from weakref import WeakValueDictionary

# The most memory per process, enough to cache tens of thousands of /flags answers.
KEPT_BYTES_MAX: Final = 16 * 1024 * 1024


class Kept(Protocol):
    """A cache that can be cleared, because its content is rebuilt when needed.

    Attributes:
        size: Its memory use, in bytes.
    """

    size: int

    def forget(self) -> int:
        """Clear the cache and return how many bytes that freed."""
        ...


class KeptMemory:
    """The memory of all caches of a process, with a limit.

    Above the limit the oldest caches are cleared. A limit that is too low only costs time.
    """

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._bytes = 0  # may include caches that no longer exist, until it exceeds the limit
        self._numbers = count()
        self._kept: WeakValueDictionary[int, Kept] = WeakValueDictionary()

    def add(self, kept: Kept) -> None:
        self._kept[next(self._numbers)] = kept

    def use(self, size: int) -> None:
        self._bytes += size
        if self._bytes > self._bytes_max:
            self._forget()

    def _forget(self) -> None:
        """Clear caches, oldest first, until a quarter of the memory is free."""
        everything = list(self._kept.items())
        self._bytes = sum(kept.size for _, kept in everything)
        for number, kept in everything:
            if self._bytes <= self._bytes_max * 3 // 4:
                return
            self._bytes -= kept.forget()
            self._kept.pop(number, None)
            self.add(kept)


KEPT_MEMORY: Final = KeptMemory(KEPT_BYTES_MAX)
