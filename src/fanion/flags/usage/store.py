"""How often flags were answered, by day; when each was last asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from sqlalchemy import func, select

from fanion.db.engine import Records
from fanion.db.schema.insights import flag_evaluations
from fanion.events.storage.store import EventStore
from fanion.flags.evaluation.counters_store import KEPT_DAYS

SECONDS_MAX = 20  # somebody waits

_row = flag_evaluations.c

LAST_CALLED = """
  SELECT toString(attributes.`$feature_flag`) AS flag, max(timestamp)
    FROM events
   WHERE project_id = {project_id:UInt64}
     AND event = '$feature_flag_called'
     AND timestamp >= fromUnixTimestamp64Micro({since:Int64})
     AND ({any_flag:Bool} OR flag = {flag:String})
GROUP BY flag
"""


@dataclass(frozen=True, slots=True)
class Evaluated:
    """value: `true`, `false` or a variant; of one day of the project's time zone"""

    day: date
    value: str
    evaluations: int


@dataclass(frozen=True, slots=True)
class UsageStore:
    """raises (every call): RecordsUnavailable, EventStoreUnavailable"""

    records: Records
    events: EventStore

    async def evaluations(
        self, project_id: int, key: str, first: date, last: date
    ) -> Sequence[Evaluated]:
        statement = (
            select(_row.day, _row.value, _row.evaluations)
            .where(_row.project_id == project_id, _row.flag_key == key)
            .where(_row.day >= first, _row.day <= last)
        )
        rows = await self.records.fetch(statement)
        return [Evaluated(row.day, row.value, row.evaluations) for row in rows]

    async def last_evaluated(
        self, project_id: int, now: datetime, key: str | None = None
    ) -> Mapping[str, datetime]:
        """By flag key, in the last KEPT_DAYS: by a server, or by a client that says so.

        key: of the only flag that matters; None for all
        """
        found = await self._last_answered(project_id, key)
        for flag, called in await self._last_called(project_id, now, key):
            known = found.get(flag)
            found[flag] = called if known is None else max(known, called)
        return found

    async def _last_answered(self, project_id: int, key: str | None) -> dict[str, datetime]:
        statement = select(_row.flag_key, func.max(_row.last_at).label("last_at")).where(
            _row.project_id == project_id
        )
        if key is not None:
            statement = statement.where(_row.flag_key == key)
        rows = await self.records.fetch(statement.group_by(_row.flag_key))
        return {row.flag_key: row.last_at for row in rows}

    async def _last_called(
        self, project_id: int, now: datetime, key: str | None
    ) -> list[tuple[str, datetime]]:
        since = now - timedelta(days=KEPT_DAYS)
        asked = {
            "project_id": project_id,
            "since": int(since.timestamp()) * 1_000_000,
            "any_flag": key is None,
            "flag": key or "",
        }
        found = await self.events.ask(LAST_CALLED, asked, SECONDS_MAX, estimated=False)
        rows = zip(*found.columns, strict=True)
        # A client's clock may be ahead.
        return [(flag, min(_aware(called), now)) for flag, called in rows if flag]


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo("UTC"))
