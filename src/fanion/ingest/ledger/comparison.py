"""The comparison of the ledger with the stored events."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from fanion.ingest.ledger.model import HOURS_KEPT, minute_of, time_of

# Requests accepted later than this may not be ingested everywhere yet.
SETTLED = timedelta(minutes=5)
PROJECTS_LISTED_MAX = 10
# A client that repeats an event hours later has it counted again, while the event store keeps one.
REPEATED_SHARE_MAX = 0.001
ADVICE = (
    "A part of the event store is lost: restore it from a backup. Of events that were given up "
    f"this is said for {HOURS_KEPT.days} days."
)


@dataclass(frozen=True, slots=True)
class Counted:
    """The ledger's counts of the events accepted in [start, end) that were stored.

    Attributes:
        stored: Number of events by project.
        deleted: Projects in which persons were deleted since `start`, perhaps with their events, or
            events that were too old.
    """

    start: datetime
    end: datetime
    stored: Mapping[int, int]
    deleted: Collection[int]


def counted_time(now: datetime) -> tuple[datetime, datetime]:
    """Return the start and end of the time whose events the ledger counts completely.

    The start is a whole hour, because the ledger sums up old minutes by hour.
    """
    hour = timedelta(hours=1)
    start = time_of(minute_of(now - HOURS_KEPT + hour) // 60 * 60) + hour
    return start, time_of(minute_of(now - SETTLED))


def missing_events(counted: Counted, accepted: Mapping[int, int]) -> Mapping[int, int]:
    """Return how many events are missing by project.

    Projects whose persons or old events were deleted are left out, and numbers that repeated events
    explain.

    Args:
        accepted: Rows of the event store by project.
    """
    missing = {
        project_id: stored - accepted.get(project_id, 0)
        for project_id, stored in sorted(counted.stored.items())
        if project_id not in counted.deleted
    }
    return {
        project_id: number
        for project_id, number in missing.items()
        if number > counted.stored[project_id] * REPEATED_SHARE_MAX
    }


def missing_text(counted: Counted, missing: Mapping[int, int]) -> str:
    listed = [
        f"project {project_id} lacks {number} of {counted.stored[project_id]}"
        for project_id, number in list(missing.items())[:PROJECTS_LISTED_MAX]
    ]
    more = len(missing) - PROJECTS_LISTED_MAX
    if more > 0:
        listed.append(f"and {more} more projects")
    since = counted.start.isoformat(timespec="minutes")
    return (
        f"fewer events than the ledger says, of those accepted since {since}: {'; '.join(listed)}"
    )


def complete_text(counted: Counted) -> str:
    left_out = sum(project_id in counted.deleted for project_id in counted.stored)
    text = f"has what the ledger counts since {counted.start.isoformat(timespec='minutes')}"
    if not left_out:
        return text
    return f"{text}; projects not compared, since events were deleted in them: {left_out}"
