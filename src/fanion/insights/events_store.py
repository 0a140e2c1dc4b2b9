"""Reads of the event store that every kind of insight needs."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from fanion.cohorts.calculation.inputs_store import CohortInputs
from fanion.db.engine import Records
from fanion.errors import Invalid
from fanion.events.event import EventRejected
from fanion.events.storage.store import EventStore
from fanion.insights.filters_sql import InsightStatement
from fanion.insights.series import Series

# A user waits for the answer.
SECONDS_MAX = 30

FIRST_EVENT = """
  SELECT count(), min(timestamp)
    FROM events
   WHERE project_id = {project_id:UInt64}
     AND ({any_event:Bool} OR event IN {events:Array(String)})
"""


@dataclass(frozen=True, slots=True)
class InsightEvents:
    """raises (every call): EventStoreUnavailable, RecordsUnavailable, Invalid"""

    records: Records
    events: EventStore

    async def rows(self, statement: InsightStatement) -> list[tuple[Any, ...]]:
        try:
            found = await self.events.ask(
                statement.text, statement.parameters, SECONDS_MAX, estimated=False
            )
        except EventRejected:
            raise Invalid("A filter compares a property with a value of another type.") from None
        return list(zip(*found.columns, strict=True))

    async def first_event(self, project_id: int, series: Collection[Series]) -> datetime | None:
        """The time of the oldest event of these series."""
        names = [one.event for one in series if one.event is not None]
        parameters: Mapping[str, Any] = {
            "project_id": project_id,
            "any_event": len(names) < len(series),
            "events": names,
        }
        [(number, first)] = await self.rows(InsightStatement(FIRST_EVENT, parameters))
        return first if number else None

    async def put_cohorts(self, project_id: int, cohort_ids: Collection[int]) -> UUID:
        """Copy the members, as last calculated, to where statements read them under this run."""
        run = uuid4()
        await CohortInputs(self.records, self.events).put(run, project_id, cohort_ids)
        return run
