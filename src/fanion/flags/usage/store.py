"""Evaluations of flags by day, the time of the last one, and the usage dashboards.

Source: cohorts.md section 20.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, func, select, update

from fanion.db.engine import Records
from fanion.db.schema.insights import flag_evaluations
from fanion.db.schema.tables import feature_flags
from fanion.errors import NotFound
from fanion.events.storage.store import EventStore
from fanion.flags.evaluation.counters_store import KEPT_DAYS
from fanion.insights.dashboards.flag_usage_template import enriched_tiles, usage_dashboard
from fanion.insights.dashboards.store import add_dashboard, add_tiles, get_dashboard, is_enriched
from fanion.insights.saved.store import Creator

SECONDS_MAX = 20  # a request waits for it

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
    """The number of evaluations of a flag to one value on one day.

    Attributes:
        day: In the project's time zone.
        value: `true`, `false` or the key of a variant.
    """

    day: date
    value: str
    evaluations: int


@dataclass(frozen=True, slots=True)
class UsageStore:
    """Queries for evaluations; every call may raise RecordsUnavailable or EventStoreUnavailable."""

    records: Records
    events: EventStore

    async def evaluations_by_day(
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
        """Return when flags were last evaluated, by key, within the last KEPT_DAYS.

        Evaluations by servers count, and those that clients report.

        Args:
            key: The only flag to look for; None for all.
        """
        last = await self._last_answered(project_id, key)
        for flag, called in await self._last_called(project_id, now, key):
            known = last.get(flag)
            last[flag] = called if known is None else max(known, called)
        return last

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
        parameters = {
            "project_id": project_id,
            "since": int(since.timestamp()) * 1_000_000,
            "any_flag": key is None,
            "flag": key or "",
        }
        async with self.events.turn(project_id):
            result = await self.events.ask(LAST_CALLED, parameters, SECONDS_MAX, estimated=False)
        rows = zip(*result.columns, strict=True)
        # A client's clock may be ahead.
        return [(flag, min(_aware(called), now)) for flag, called in rows if flag]


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo("UTC"))


_flag = feature_flags.c


@dataclass(frozen=True, slots=True)
class _Flag:
    key: str
    usage_dashboard: int | None
    has_enriched_analytics: bool


def ensure_dashboard(connection: Connection, creator: Creator, flag_id: int) -> None:
    """Create the flag's usage dashboard, unless it has one that is not deleted.

    Raises:
        NotFound: There is no such flag.
    """
    flag = _lock_flag(connection, creator, flag_id)
    known = flag.usage_dashboard
    if known is not None and get_dashboard(connection, creator.project_id, known) is not None:
        return
    draft = usage_dashboard(flag.key, enriched=flag.has_enriched_analytics)
    dashboard_id = add_dashboard(connection, creator, draft)
    connection.execute(
        update(feature_flags).where(_flag.id == flag_id).values(usage_dashboard=dashboard_id)
    )


def enrich_dashboard(connection: Connection, creator: Creator, flag_id: int) -> None:
    """Add tiles for the events that applications send about a feature.

    A dashboard that is deleted or already has the tiles is left unchanged.

    Raises:
        NotFound: There is no such flag.
    """
    flag = _lock_flag(connection, creator, flag_id)
    if flag.usage_dashboard is None:
        return
    dashboard = get_dashboard(connection, creator.project_id, flag.usage_dashboard)
    if dashboard is not None and not is_enriched(dashboard):
        add_tiles(connection, creator, dashboard.id, enriched_tiles(flag.key))


def _lock_flag(connection: Connection, creator: Creator, flag_id: int) -> _Flag:
    """Lock and return the flag, so that concurrent callers do not create two dashboards."""
    statement = (
        select(_flag.key, _flag.usage_dashboard, _flag.has_enriched_analytics)
        .where(_flag.project_id == creator.project_id, _flag.id == flag_id)
        .with_for_update()
    )
    row = connection.execute(statement).first()
    if row is None:
        raise NotFound
    return _Flag(*row)
