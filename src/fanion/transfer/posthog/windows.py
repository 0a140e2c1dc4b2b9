"""Through a source's events from the oldest to the newest, in windows that memory can hold.

The list of events only goes backwards, by `before`, and would lose events that share the time of
a page's last one. So pages overlap by that time; where a page has one time only, that microsecond
is a window of its own.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

# Events have no older time; asking for later ones only would leave out those of this instant.
OLDEST = datetime(1900, 1, 1, tzinfo=UTC)
INSTANT = timedelta(microseconds=1)
FIRST_WIDTH = timedelta(days=1)
WIDTH_MAX = timedelta(days=366)
GROWTH_MAX = 64.0
SHRINKAGE_MAX = 0.25
# What arrives at the source later than it happened is copied by the run after the next event.
LATE = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class CopyProgress:
    """since: None for from the first event; copied_upto: everything before it is copied"""

    since: datetime | None
    copied_upto: datetime
    is_finished: bool


@dataclass(frozen=True, slots=True)
class Window:
    """From `start`, before `end`. is_crowded: one microsecond with more than an answer holds"""

    start: datetime
    end: datetime
    is_crowded: bool = False


def start_of(progress: CopyProgress | None, since: datetime | None) -> datetime | None:
    """Where a run begins; None: with the first event of the source.

    One that was interrupted goes on where it was; after one that came to its end, a run that
    names no time takes up what has come since, and what came late.
    """
    if progress is None:
        return since
    if not progress.is_finished and progress.since == since:
        return progress.copied_upto
    if since is None and progress.is_finished:
        return progress.copied_upto - LATE
    return since


class Walk:
    """From `at` to `until`, in windows that aim at half of what one may hold.

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
        """The one to be asked for next; None at the end."""
        if self.at >= self._until:
            return None
        if self.at in self._crowded:
            return Window(self.at, self.at + INSTANT, is_crowded=True)
        later = [one for one in (*self._crowded, *self._dense) if one > self.at]
        return Window(self.at, min([self.at + self._width, self._until, *later]))

    def crowd(self, instant: datetime) -> None:
        """More events than one answer holds have this one time: it gets a window of its own."""
        self._crowded.add(instant)

    def narrow(self, window: Window, oldest: datetime) -> None:
        """The window holds too many. oldest: time of the last one that was listed, behind which
        lies as much as a window may hold: no other window reaches beyond it"""
        if oldest > window.start:
            self._dense[oldest] = max((window.end - oldest) / 2, INSTANT)
        self._width = max((window.end - window.start) / 2, INSTANT)

    def go_on(self, window: Window, events: int) -> None:
        """The window is done with."""
        self.at = window.end
        self._crowded.discard(window.start)
        if not window.is_crowded:
            factor = self._events_max / 2 / events if events else GROWTH_MAX
            factor = min(max(factor, SHRINKAGE_MAX), GROWTH_MAX)
            self._width = max(INSTANT, min((window.end - window.start) * factor, WIDTH_MAX))
        self._width = self._dense.pop(self.at, self._width)


def middle(low: datetime, high: datetime) -> datetime:
    return low + (high - low) / 2
