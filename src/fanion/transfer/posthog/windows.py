"""Time windows of a copy, from the oldest events to the newest; the events of one fit in memory.

The source lists events backwards, with `before`, and would skip events that share the time of the
last one of a page. So pages overlap by that time; a page with one time only makes that microsecond
a window of its own.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

# No event is older. `after` excludes its own time, so that it is not sent for this one.
OLDEST = datetime(1900, 1, 1, tzinfo=UTC)
INSTANT = timedelta(microseconds=1)
FIRST_WIDTH = timedelta(days=1)
WIDTH_MAX = timedelta(days=366)
GROWTH_MAX = 64.0
SHRINKAGE_MAX = 0.25
# Events may arrive at the source this late: the next run starts that much earlier.
LATE = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class CopyProgress:
    """since: None for all events; copied_upto: all events before it are copied"""

    since: datetime | None
    copied_upto: datetime
    is_finished: bool


@dataclass(frozen=True, slots=True)
class Window:
    """[start, end). is_crowded: one microsecond with more events than a response may contain"""

    start: datetime
    end: datetime
    is_crowded: bool = False


def start_of(progress: CopyProgress | None, since: datetime | None) -> datetime | None:
    """Start of a run; None for the first event of the source.

    An interrupted copy is resumed. After a finished one, a run without `since` copies what has
    arrived since then, late events included.
    """
    if progress is None:
        return since
    if not progress.is_finished and progress.since == since:
        return progress.copied_upto
    if since is None and progress.is_finished:
        return progress.copied_upto - LATE
    return since


class Windows:
    """Windows from `at` to `until`; their width aims at half of `events_max` events.

    events_max: in one window
    """

    def __init__(self, at: datetime, until: datetime, events_max: int) -> None:
        self.at = at
        self._until = until
        self._events_max = events_max
        self._width = FIRST_WIDTH
        self._crowded: set[datetime] = set()
        self._dense: dict[datetime, timedelta] = {}

    def window(self) -> Window | None:
        """The next window; None at the end."""
        if self.at >= self._until:
            return None
        if self.at in self._crowded:
            return Window(self.at, self.at + INSTANT, is_crowded=True)
        later = [one for one in (*self._crowded, *self._dense) if one > self.at]
        return Window(self.at, min([self.at + self._width, self._until, *later]))

    def crowd(self, instant: datetime) -> None:
        """Make a microsecond with more events than a response may contain a window of its own."""
        self._crowded.add(instant)

    def narrow(self, window: Window, oldest: datetime) -> None:
        """Replace a window with too many events by smaller ones.

        oldest: time of the oldest event listed so far; the events after it fill a window, so that
                later windows end there
        """
        if oldest > window.start:
            self._dense[oldest] = max((window.end - oldest) / 2, INSTANT)
        self._width = max((window.end - window.start) / 2, INSTANT)

    def advance(self, window: Window, events: int) -> None:
        """Continue after a window that was copied. events: number of its events"""
        self.at = window.end
        self._crowded.discard(window.start)
        if not window.is_crowded:
            factor = self._events_max / 2 / events if events else GROWTH_MAX
            factor = min(max(factor, SHRINKAGE_MAX), GROWTH_MAX)
            self._width = max(INSTANT, min((window.end - window.start) * factor, WIDTH_MAX))
        self._width = self._dense.pop(self.at, self._width)


def middle(low: datetime, high: datetime) -> datetime:
    return low + (high - low) / 2
