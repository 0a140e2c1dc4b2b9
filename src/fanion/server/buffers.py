"""How much of requests and answers this process holds for clients, and how fast they must go on."""

BUFFERED_BYTES_MAX = 256 * 1024 * 1024  # a dozen of the largest batches at once

STALLED_S_MAX = 60.0  # of a transfer that does not go on
# Of a transfer over any longer time: a hundredth of a bad mobile connection.
BYTES_PER_S_MIN = 500


class BufferBudget:
    """One budget for all connections of a process."""

    def __init__(self, bytes_max: int = BUFFERED_BYTES_MAX) -> None:
        self.bytes_max = bytes_max
        self.held = 0

    def take(self, size: int) -> bool:
        """False, and nothing is taken, when that much is not free."""
        if self.held + size > self.bytes_max:
            return False
        self.held += size
        return True

    def give(self, size: int) -> None:
        self.held -= size


class Pace:
    """Whether one transfer keeps the least rate.

    What has moved postpones the deadline by the time that it may take, up to STALLED_S_MAX from
    now. All times are seconds of one clock that only goes forward.
    """

    __slots__ = ("deadline",)

    def __init__(self, now: float) -> None:
        self.deadline = now + STALLED_S_MAX

    def moved(self, size: int, now: float) -> None:
        self.deadline = min(now + STALLED_S_MAX, self.deadline + size / BYTES_PER_S_MIN)

    def postpone(self, seconds: float) -> None:
        """Time in which the other side could not go on."""
        self.deadline += seconds

    def is_late(self, now: float) -> bool:
        return now > self.deadline


class Sending:
    """What a client has yet to take of its answers, while the transport holds much of it."""

    def __init__(self, budget: BufferBudget) -> None:
        self._budget = budget
        self._unsent = 0  # bytes, taken from the budget
        self._pace = Pace(0.0)

    def begin(self, unsent: int, now: float) -> bool:
        """False when there is no room for that much."""
        if not self._budget.take(unsent):
            return False
        self._unsent = unsent
        self._pace = Pace(now)
        return True

    def end(self) -> None:
        self._budget.give(self._unsent)
        self._unsent = 0

    def is_late(self, unsent: int, now: float) -> bool:
        """unsent: what is left by now"""
        taken = max(0, self._unsent - unsent)
        self._budget.give(taken)
        self._unsent -= taken
        self._pace.moved(taken, now)
        return self._pace.is_late(now)
