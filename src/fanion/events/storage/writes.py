"""The number of writes to an event store that only this process can write."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock


class Writes:
    """The writes of some threads, counted so that a reader knows whether there was one since."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._running = 0
        self._ended = 0

    @property
    def number(self) -> int | None:
        """The number of writes that have ended; None while one is running."""
        with self._lock:
            return None if self._running else self._ended

    @contextmanager
    def count(self) -> Iterator[None]:
        """Count what the block does as a write."""
        with self._lock:
            self._running += 1
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1
                self._ended += 1
