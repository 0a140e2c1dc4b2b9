"""The time for which a project keeps its events."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

from msgspec import Meta, Struct

EVENTS_KEPT_DAYS_MIN: Final = 1
EVENTS_KEPT_DAYS_MAX: Final = 36_500
EXPIRED: Final = "events_expired"  # of the activity log: old events are being deleted

EventsKeptDays = Annotated[
    int,
    Meta(
        ge=EVENTS_KEPT_DAYS_MIN,
        le=EVENTS_KEPT_DAYS_MAX,
        description="How many days events are kept; null for ever. Events go by whole months, in "
        "UTC, so the last ones are kept up to a month longer.",
    ),
]


class EventsKept(Struct, frozen=True, kw_only=True):
    events_kept_days: EventsKeptDays


def kept_since(now: datetime, days: int) -> datetime:
    """Return the time from which on events are kept: the beginning of a month in UTC.

    The event store keeps each month in files of its own. Deletions at other times would rewrite the
    files of a month each day.
    """
    # The calendar begins at the year 1.
    first = max(now.astimezone(UTC) - timedelta(days=days), datetime(1, 1, 1, tzinfo=UTC))
    return first.replace(day=1, hour=0, minute=0, second=0, microsecond=0)


class OldEvents(Struct, frozen=True, kw_only=True):
    """Counts of the events that a project would delete if it kept them for some days only."""

    before: Annotated[datetime, Meta(description="Events from before this time are deleted.")]
    events: Annotated[
        int, Meta(description="Of those; one that was sent twice may count twice for a while.")
    ]
    stored: Annotated[int, Meta(description="All events of the project.")]
