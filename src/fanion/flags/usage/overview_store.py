"""Recent calls, evaluations and the last change of each flag, for a list of flags."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from zoneinfo import ZoneInfo

from sqlalchemy import func, select

from fanion.db.engine import Records
from fanion.db.schema.activity import activity_log
from fanion.db.schema.insights import flag_evaluations
from fanion.db.schema.tables import users
from fanion.events.storage.store import EventStore
from fanion.flags.definitions.changes_store import SCOPE
from fanion.flags.usage.store import SECONDS_MAX

_entry = activity_log.c
_row = flag_evaluations.c

CALLS = """
  SELECT toString(attributes.`$feature_flag`) AS flag,
         toDate(toTimeZone(timestamp, {zone:String})) AS day,
         count()
    FROM events
   WHERE project_id = {project_id:UInt64}
     AND event = '$feature_flag_called'
     AND timestamp >= fromUnixTimestamp64Micro({since:Int64})
GROUP BY flag, day
"""

# Numbers by flag key and day.
Daily = Mapping[tuple[str, date], int]


@dataclass(frozen=True, slots=True)
class LastChange:
    """The last recorded change of a flag.

    Attributes:
        first_name: The author's; None if the server itself made the change.
        email: The author's; None if the server itself made the change.
    """

    changed_at: datetime
    first_name: str | None
    email: str | None


@dataclass(frozen=True, slots=True)
class OverviewStore:
    """Queries for a list of flags.

    Every call may raise RecordsUnavailable or EventStoreUnavailable.
    """

    records: Records
    events: EventStore

    async def calls_by_day(self, project_id: int, days: Sequence[date], zone: ZoneInfo) -> Daily:
        """Count `$feature_flag_called` events by flag and day.

        Args:
            days: Consecutive days up to today.
        """
        since = datetime.combine(days[0], time.min, zone)
        parameters = {
            "project_id": project_id,
            "zone": zone.key,
            "since": int(since.timestamp()) * 1_000_000,
        }
        async with self.events.turn(project_id):
            result = await self.events.ask(CALLS, parameters, SECONDS_MAX, estimated=False)
        rows = zip(*result.columns, strict=True)
        return {(flag, day): calls for flag, day, calls in rows if flag}

    async def evaluations_by_day(self, project_id: int, days: Sequence[date]) -> Daily:
        statement = (
            select(_row.flag_key, _row.day, func.sum(_row.evaluations).label("total"))
            .where(_row.project_id == project_id, _row.day >= days[0], _row.day <= days[-1])
            .group_by(_row.flag_key, _row.day)
        )
        rows = await self.records.fetch(statement)
        return {(row.flag_key, row.day): int(row.total) for row in rows}

    async def last_changes(self, project_id: int) -> Mapping[int, LastChange]:
        """Return the last change of each flag by its id."""
        of_flags = (_entry.project_id == project_id) & (_entry.scope == SCOPE)
        latest = select(func.max(_entry.id)).where(of_flags).group_by(_entry.item_id)
        statement = (
            select(_entry.item_id, _entry.created_at, users.c.first_name, users.c.email)
            .select_from(activity_log.outerjoin(users, users.c.id == _entry.user_id))
            .where(_entry.id.in_(latest))
        )
        rows = await self.records.fetch(statement)
        return {
            int(row.item_id): LastChange(row.created_at, row.first_name, row.email) for row in rows
        }
