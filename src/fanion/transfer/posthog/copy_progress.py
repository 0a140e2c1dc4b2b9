"""The progress of a copy of events, and where the next run begins."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

# No event is older.
OLDEST = datetime(1900, 1, 1, tzinfo=UTC)
# Events may arrive at the source this late: the next run starts that much earlier.
LATE = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class CopyProgress:
    """The state of a copy, written after each page.

    Attributes:
        since: Chosen by the operator; None for all events.
        copied_upto: All events before it are copied.
        copied_from: Where the copy began; None at the oldest event.
        events: The number of events copied from there on; None if it is not known.
    """

    since: datetime | None
    copied_upto: datetime
    is_finished: bool
    copied_from: datetime | None = None
    events: int | None = None


@dataclass(frozen=True, slots=True)
class CopyStart:
    """The beginning of a run.

    Attributes:
        at: The time of the first event to be copied.
        copied_from: Where the copy began that this run continues; None at the oldest event.
        events: The number of events that earlier runs of this copy handed in.
    """

    at: datetime
    copied_from: datetime | None
    events: int = 0


def start_of(progress: CopyProgress | None, since: datetime | None) -> CopyStart:
    """Return where a run begins.

    An interrupted copy is resumed. After a finished one, a run without `since` copies what has
    arrived since then, late events included.
    """
    if progress is not None and not progress.is_finished and progress.since == since:
        if progress.events is None:
            return CopyStart(progress.copied_upto, progress.copied_upto)
        return CopyStart(progress.copied_upto, progress.copied_from, progress.events)
    if progress is not None and progress.is_finished and since is None:
        at = progress.copied_upto - LATE
        return CopyStart(at, at)
    return CopyStart(OLDEST, None) if since is None else CopyStart(max(since, OLDEST), since)
