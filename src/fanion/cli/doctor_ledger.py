"""What `fanion doctor` finds when it compares the ledger with the events that are stored."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import select

from fanion.db.engine import Records
from fanion.db.schema.activity import activity_log
from fanion.ingest.ledger.model import STORED, minute_of, time_of
from fanion.ingest.ledger.store import HOURS_KEPT, Ledger

# Of requests that were accepted later, the last may not be ingested everywhere.
SETTLED = timedelta(minutes=5)
PROJECTS_LISTED_MAX = 10
ADVICE = (
    "A part of the event store is lost: restore it from a backup. Of events that were given up "
    f"the doctor says so for {HOURS_KEPT.days} days."
)


@dataclass(frozen=True, slots=True)
class Counted:
    """What the ledger says was stored of what was accepted in [start, end).

    stored:  number of events by project
    deleted: projects in which persons were deleted since, perhaps with their events
    """

    start: datetime
    end: datetime
    stored: Mapping[int, int]
    deleted: Collection[int]


def counted_time(now: datetime) -> tuple[datetime, datetime]:
    """Return from when and before when the ledger counts what has been accepted and ingested. It
    begins with a whole hour, by which old minutes are summed up."""
    hour = timedelta(hours=1)
    start = time_of(minute_of(now - HOURS_KEPT + hour) // 60 * 60) + hour
    return start, time_of(minute_of(now - SETTLED))


async def read_ledger(records: Records, now: datetime) -> Counted:
    """raises: RecordsUnavailable"""
    start, end = counted_time(now)
    stored: Counter[int] = Counter()
    for one in await Ledger(records, lambda: now).counts(start, end - timedelta(minutes=1)):
        if one.outcome == STORED:
            stored[one.project_id] += one.items
    entry = activity_log.c
    deleted = select(entry.project_id).where(
        entry.scope == "Person", entry.activity == "deleted", entry.created_at >= start
    )
    return Counted(
        start, end, stored, {row.project_id for row in await records.fetch(deleted.distinct())}
    )


def missing_events(counted: Counted, accepted: Mapping[int, int]) -> Mapping[int, int]:
    """Return how many events are missing by project, without projects whose persons were deleted.

    Args:
        accepted: Rows of the event store by project, as of `Inspected`.
    """
    missing = {
        project_id: stored - accepted.get(project_id, 0)
        for project_id, stored in sorted(counted.stored.items())
        if project_id not in counted.deleted
    }
    return {project_id: number for project_id, number in missing.items() if number > 0}


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
    return f"{text}; projects not compared, since persons were deleted in them: {left_out}"
