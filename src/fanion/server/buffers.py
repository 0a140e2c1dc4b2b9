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
