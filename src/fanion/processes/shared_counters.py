"""The counters in shared memory, each with one writer."""

import mmap
import os
from struct import calcsize
from typing import Final

WORD_BYTES: Final = calcsize("Q")  # the processors that Python runs on read and write it atomically
_CHANGES, _WRITES, _SHARED = range(3)
_ANSWERED, _CLOSED, _OWN = range(3)


class SharedCounters:
    """The counters of a server and its workers.

    Args:
        file: The descriptor given to `create`, inherited by each process.
    """

    def __init__(self, file: int, workers: int) -> None:
        self.file: Final = file
        self._map = mmap.mmap(file, _bytes_of(workers))
        self._words = memoryview(self._map).cast("Q")
        self._own_end = _SHARED + _OWN * workers

    @classmethod
    def create(cls, file: int, workers: int) -> "SharedCounters":
        """Create the counters in a file.

        Args:
            file: Empty, open for reading and writing.
        """
        os.truncate(file, _bytes_of(workers))
        return cls(file, workers)

    @property
    def changes(self) -> int:
        """The number of changes that the server has sent to its workers."""
        return int(self._words[_CHANGES])

    @changes.setter
    def changes(self, changes: int) -> None:
        self._words[_CHANGES] = changes

    @property
    def writes(self) -> memoryview:
        """A counter of the server's transactions on the records store that may have written."""
        return self._words[_WRITES : _WRITES + 1]

    @property
    def spool(self) -> memoryview:
        """The counts of a `SpoolSwitch`."""
        return self._words[self._own_end :]

    def answered(self, worker: int) -> memoryview:
        """Return the counter of the requests that a worker has answered since it was started."""
        return self._of(worker, _ANSWERED)

    def closed(self, worker: int) -> memoryview:
        """Return the counter of connections that a worker has closed or handed back."""
        return self._of(worker, _CLOSED)

    def reset(self, worker: int) -> None:
        """Clear the counters of a worker before it is started, for the first time or again."""
        self.answered(worker)[0] = self.closed(worker)[0] = 0

    def _of(self, worker: int, counter: int) -> memoryview:
        at = _SHARED + _OWN * worker + counter
        return self._words[at : at + 1]


def _bytes_of(workers: int) -> int:
    return (_SHARED + _OWN * workers + spool_words(workers)) * WORD_BYTES


def spool_words(workers: int) -> int:
    """Return how many counts a `SpoolSwitch` has: two of its own, and one for each process."""
    return 3 + workers
