"""A worker that finds flags whose feature was viewed or used recently.

Source: cohorts.md section 20.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Never

import structlog
from sqlalchemy import Connection, select, update

from fanion.db.engine import Records, RecordsUnavailable
from fanion.db.schema.tables import feature_flags
from fanion.events.event import EventStoreUnavailable
from fanion.events.storage.native_format import micros
from fanion.events.storage.store import EventStore
from fanion.flags.usage.store import enrich_dashboard
from fanion.insights.saved.store import Creator
from fanion.runtime.background import run_loop

LOOKBACK = timedelta(hours=12)
KEYS_MAX = 1_000  # keys in one statement
SECONDS_MAX = 60  # time limit of one statement; no request waits for it

# The first run is soon after the start, so that a server which is restarted often runs it too. The
# interval is short enough that no event is missed if one run fails.
FIRST_S = 60.0
EVERY_S = 6 * 3600.0

_flag = feature_flags.c
_plain = _flag.has_enriched_analytics.is_(False) & _flag.deleted.is_(False)

SEEN = """
  SELECT DISTINCT toString(attributes.feature_flag) AS flag
    FROM events
   WHERE project_id = {project_id:UInt64}
     AND event IN ('$feature_view', '$feature_interaction')
     AND timestamp >= fromUnixTimestamp64Micro({since:Int64})
     AND flag IN {keys:Array(String)}
"""


@dataclass(frozen=True, slots=True)
class Enrichment:
    records: Records
    events: EventStore
    now: Callable[[], datetime]

    async def run(self, first_s: float = FIRST_S, every_s: float = EVERY_S) -> Never:
        """Mark flags periodically until cancelled."""
        failures = RecordsUnavailable, EventStoreUnavailable
        await run_loop(
            self._mark_and_log, every_s, "flags_not_enriched", failures, initial_delay_s=first_s
        )

    async def _mark_and_log(self) -> None:
        if marked := await self.mark_seen_flags():
            structlog.get_logger().info("flags_enriched", flags=marked)

    async def mark_seen_flags(self) -> int:
        """Mark flags whose key appears in recent feature events, and extend their usage dashboards.

        Returns:
            The number of flags that were marked.

        Raises:
            RecordsUnavailable: The records store does not answer. Flags marked before stay marked.
            EventStoreUnavailable: The event store does not answer. Flags marked before stay marked.
        """
        marked = 0
        projects = select(_flag.project_id).where(_plain).distinct().order_by(_flag.project_id)
        for row in await self.records.fetch(projects):
            marked += await self._mark_in_project(row.project_id)
        return marked

    async def _mark_in_project(self, project_id: int) -> int:
        plain = select(_flag.key).where(_flag.project_id == project_id, _plain)
        keys = [row.key for row in await self.records.fetch(plain.order_by(_flag.key))]
        marked = 0
        for start in range(0, len(keys), KEYS_MAX):
            for key in await self._seen(project_id, keys[start : start + KEYS_MAX]):
                creator = Creator(project_id, None, self.now())
                async with self.records.write() as connection:
                    marked += await connection.run_sync(_mark_flag, creator, key)
        return marked

    async def _seen(self, project_id: int, keys: Sequence[str]) -> Sequence[str]:
        since = micros(self.now() - LOOKBACK)
        parameters = {"project_id": project_id, "since": since, "keys": list(keys)}
        result = await self.events.ask(SEEN, parameters, SECONDS_MAX, estimated=False)
        return result.columns[0] if result.columns else ()


def _mark_flag(connection: Connection, creator: Creator, key: str) -> int:
    """Mark a flag and extend its usage dashboard, unless it is deleted or has the tiles already.

    Evaluation and editors of the flag read nothing of this, so its version stays and no activity is
    recorded.
    """
    statement = update(feature_flags).where(
        _flag.project_id == creator.project_id, _flag.key == key, _plain
    )
    marked = statement.values(has_enriched_analytics=True).returning(_flag.id)
    flag_id = connection.execute(marked).scalar_one_or_none()
    if flag_id is None:
        return 0
    enrich_dashboard(connection, creator, flag_id)
    return 1
