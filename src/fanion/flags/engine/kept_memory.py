"""A limit for the memory of what evaluation keeps only to be faster."""

from itertools import count
from typing import Final, Protocol
from weakref import WeakValueDictionary

# The most memory of one process: tens of thousands of records of /flags.
KEPT_BYTES_MAX: Final = 16 * 1024 * 1024


class Kept(Protocol):
    """An object that can be emptied, because its content is made again when it is needed.

    Attributes:
        size: The memory that it takes, in bytes.
    """

    size: int

    def forget(self) -> int:
        """Forget everything, and return how many bytes it took."""
        ...


class KeptMemory:
    """The memory of all that a process keeps, which has a limit.

    Above it what was kept first is forgotten. A limit that is too small costs time only.
    """

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._bytes = 0  # may count what is gone already, until it is too large
        self._numbers = count()
        self._kept: WeakValueDictionary[int, Kept] = WeakValueDictionary()

    def add(self, kept: Kept) -> None:
        self._kept[next(self._numbers)] = kept

    def use(self, size: int) -> None:
        self._bytes += size
        if self._bytes > self._bytes_max:
            self._forget()

    def _forget(self) -> None:
        """Forget, oldest first, until a quarter of the memory is free."""
        everything = list(self._kept.items())
        self._bytes = sum(kept.size for _, kept in everything)
        for number, kept in everything:
            if self._bytes <= self._bytes_max * 3 // 4:
                return
            self._bytes -= kept.forget()
            self._kept.pop(number, None)
            self.add(kept)


KEPT_MEMORY: Final = KeptMemory(KEPT_BYTES_MAX)
