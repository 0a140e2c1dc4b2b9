"""Polls of a records store that are skipped while it has not changed."""

from collections.abc import Awaitable, Callable
from time import time_ns
from typing import Final

# A file that was written less than this before it was looked at may be written again without a
# change of its time.
SETTLED_NS: Final = 1_000_000_000

# When and up to where the store's log was written; None if only a query can tell.
Mark = tuple[int, int] | None


class UnwrittenPolls:
    """The polls of one loop, some of which may be left out while the store stays as it is.

    Looking at the time of SQLite's log takes 4 µs, a query 400.

    Args:
        mark: Returns the present mark, in nanoseconds since 1970 and bytes.
        left_out_max: How many polls in a row may be left out.
        now_ns: The clock of the files.
    """

    def __init__(
        self, mark: Callable[[], Mark], left_out_max: int, now_ns: Callable[[], int] = time_ns
    ) -> None:
        self._read_mark = mark
        self._left_out_max = left_out_max
        self._now_ns = now_ns
        self._mark: Mark = None  # of a log that had settled
        self._left_out = 0

    async def poll(
        self, read: Callable[[], Awaitable[bool | None]], *, has_work: bool = False
    ) -> bool | None:
        """Await `read` and return its result, or None if it may be left out.

        Args:
            has_work: Whether the former poll left work, so that this one is never left out.
        """
        if self.may_leave_out() and not has_work:
            return None
        try:
            return await read()
        except BaseException:
            self._mark = None
            raise

    def may_leave_out(self) -> bool:
        """Return whether this poll would read what the former one has read.

        A caller whose former poll failed, or has more to do, polls all the same.
        """
        before, mark = self._mark, self._read_mark()
        has_settled = mark is not None and self._now_ns() - mark[0] > SETTLED_NS
        self._mark = mark if has_settled else None
        if mark is None or mark != before or self._left_out >= self._left_out_max:
            self._left_out = 0
            return False
        self._left_out += 1
        return True
