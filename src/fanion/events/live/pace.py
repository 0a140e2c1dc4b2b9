"""How many events one client is sent in a second, and which of them if there are more."""

from collections.abc import Sequence
from typing import Final, TypeVar

EVENTS_PER_S: Final = 50
WINDOW_S: Final = 1.0

T = TypeVar("T")


class Pace:
    """Windows of one second. Times are seconds of one clock that only goes forward."""

    def __init__(self, now: float, per_window: int = EVENTS_PER_S) -> None:
        self._per_window = per_window
        self._ends_at = now + WINDOW_S
        self._room = per_window

    def room(self, now: float) -> int:
        """How many events may be sent now."""
        if now >= self._ends_at:
            self._ends_at, self._room = now + WINDOW_S, self._per_window
        return self._room

    def sent(self, events: int) -> None:
        self._room -= events

    def wait_s(self, now: float) -> float:
        """Seconds until more may be sent."""
        return max(0.0, self._ends_at - now)


def evenly(items: Sequence[T], number: int) -> list[T]:
    """So many of the items, in their order, at equal distances; the last one is among them."""
    size = len(items)
    if number >= size:
        return list(items)
    return [items[(place + 1) * size // number - 1] for place in range(number)]
