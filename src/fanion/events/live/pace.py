"""The limit of events sent to one client in a second, and the choice among more events."""

from collections.abc import Sequence
from typing import Final, TypeVar

EVENTS_PER_S: Final = 50
WINDOW_S: Final = 1.0

T = TypeVar("T")


class Pace:
    """A limit on events in windows of one second, by a clock in seconds that only goes forward."""

    def __init__(self, now: float, per_window: int = EVENTS_PER_S) -> None:
        self._per_window = per_window
        self._ends_at = now + WINDOW_S
        self._room = per_window

    def room(self, now: float) -> int:
        """Return how many events may be sent now."""
        if now >= self._ends_at:
            self._ends_at, self._room = now + WINDOW_S, self._per_window
        return self._room

    def sent(self, events: int) -> None:
        self._room -= events

    def wait_s(self, now: float) -> float:
        """Return the seconds until more events may be sent."""
        return max(0.0, self._ends_at - now)


def evenly(items: Sequence[T], number: int) -> list[T]:
    """Return this number of items, in order, at equal distances, including the last one."""
    size = len(items)
    if number >= size:
        return list(items)
    return [items[(index + 1) * size // number - 1] for index in range(number)]
