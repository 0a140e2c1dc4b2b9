"""Counters in shared memory, one writer each."""

import mmap
import os
from struct import calcsize
from typing import Final

_WORD = calcsize("Q")  # read and written atomically by the processors that Python runs on
_CHANGES, _WRITES, _SHARED = range(3)
_ANSWERED, _CLOSED, _OWN = range(3)


class SharedCounters:
    """Of a server and its workers.

    file: a descriptor of `create`, inherited by each process
    """

    def __init__(self, file: int, workers: int) -> None:
        self.file: Final = file
        self._map = mmap.mmap(file, _size(workers))
        self._words = memoryview(self._map).cast("Q")

    @classmethod
    def create(cls, file: int, workers: int) -> "SharedCounters":
        """file: empty, for reading and writing"""
        os.truncate(file, _size(workers))
        return cls(file, workers)

    @property
    def changes(self) -> int:
        """How many changes the server has sent to its workers."""
        return int(self._words[_CHANGES])

    @changes.setter
    def changes(self, changes: int) -> None:
        self._words[_CHANGES] = changes

    @property
    def writes(self) -> memoryview:
        """One counter: the server's transactions on the records store that may have written."""
        return self._words[_WRITES : _WRITES + 1]

    def answered(self, worker: int) -> memoryview:
        """One counter: the requests that a worker has answered since it was started."""
        return self._of(worker, _ANSWERED)

    def closed(self, worker: int) -> memoryview:
        """One counter: the connections that a worker has closed or handed back since then."""
        return self._of(worker, _CLOSED)

    def reset(self, worker: int) -> None:
        """Before a worker is started, for the first time or again."""
        self.answered(worker)[0] = self.closed(worker)[0] = 0

    def _of(self, worker: int, counter: int) -> memoryview:
        at = _SHARED + _OWN * worker + counter
        return self._words[at : at + 1]


def _size(workers: int) -> int:
    return (_SHARED + _OWN * workers) * _WORD
