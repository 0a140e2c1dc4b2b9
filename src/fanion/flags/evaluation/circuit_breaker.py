"""Waiting for a store only while there is hope."""

from collections.abc import Callable

# How often a store that did not answer is tried again, by one caller.
RETRY_S = 0.5


class Breaker:
    """Once a read failed and none that was asked after it has come back, one caller in RETRY_S
    tries again; the others are told at once, so that a silent store costs them no time.

    clock: seconds
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._answers = 0
        self._is_tripped = False
        self._retry_at = 0.0

    def lets_through(self) -> bool:
        if not self._is_tripped:
            return True
        now = self._clock()
        if now < self._retry_at:
            return False
        self._retry_at = now + RETRY_S
        return True

    @property
    def answers(self) -> int:
        """How many came so far; `failed` is told the count of before its read."""
        return self._answers

    def answered(self) -> None:
        self._answers += 1
        self._is_tripped = False

    def failed(self, answers_before: int) -> None:
        """A read that failed while others came back says nothing about the store."""
        if self._answers == answers_before:
            self._is_tripped = True
            self._retry_at = self._clock() + RETRY_S
