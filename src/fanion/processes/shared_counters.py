"""Numbers that the server and its fronts look at without asking one another."""

import mmap
import os
from struct import calcsize
from typing import Final

_WORD = calcsize("Q")  # written and read as a whole by the processors that Python runs on
_CHANGES, _WRITES, _SHARED = range(3)
_ANSWERED, _CLOSED, _OWN = range(3)


class Board:
    """Each number has one writer.

    file: of `Board.make`, in whichever process
    """

    def __init__(self, file: int, fronts: int) -> None:
        self.file: Final = file
        self._map = mmap.mmap(file, _size(fronts))
        self._words = memoryview(self._map).cast("Q")

    @classmethod
    def make(cls, file: int, fronts: int) -> "Board":
        """file: empty, for reading and writing"""
        os.truncate(file, _size(fronts))
        return cls(file, fronts)

    @property
    def changes(self) -> int:
        """How many changes the server has told its fronts of."""
        return int(self._words[_CHANGES])

    @changes.setter
    def changes(self, changes: int) -> None:
        self._words[_CHANGES] = changes

    @property
    def writes(self) -> memoryview:
        """One number: the server's transactions on the records store that may have written."""
        return self._words[_WRITES : _WRITES + 1]

    def answered(self, front: int) -> memoryview:
        """One number: the requests that a front has answered since it was started."""
        return self._of(front, _ANSWERED)

    def closed(self, front: int) -> memoryview:
        """One number: connections that a front has closed or given back since it was started."""
        return self._of(front, _CLOSED)

    def begin(self, front: int) -> None:
        """A front is started, for the first time or again."""
        self.answered(front)[0] = self.closed(front)[0] = 0

    def _of(self, front: int, number: int) -> memoryview:
        at = _SHARED + _OWN * front + number
        return self._words[at : at + 1]


def _size(fronts: int) -> int:
    return (_SHARED + _OWN * fronts) * _WORD
