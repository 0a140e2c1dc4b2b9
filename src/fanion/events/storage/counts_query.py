"""Counts of the events of a project: by name, by day, by person."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final, Protocol
from uuid import UUID

from fanion.events.event import Days
from fanion.events.storage.client import Read
from fanion.events.storage.compiled_query import StatementResult
from fanion.events.storage.native_format import micros

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

COUNT = """
  SELECT count()
    FROM (SELECT uuid FROM events WHERE project_id = {project_id:UInt64} GROUP BY uuid)
"""

# Counts rows; an event may have more than one until parts are merged.
ACCEPTED = """
  SELECT project_id, count()
    FROM events
   WHERE received_at >= fromUnixTimestamp64Micro({start:Int64})
     AND received_at < fromUnixTimestamp64Micro({end:Int64})
GROUP BY project_id
"""

DAILY = """
  SELECT toDate(toTimeZone(timestamp, {zone:String})) AS day, uniqExact(uuid)
    FROM events
   WHERE project_id = {project_id:UInt64}
     AND event = {event:String}
     AND timestamp >= fromUnixTimestamp64Micro({start:Int64})
     AND timestamp < fromUnixTimestamp64Micro({end:Int64})
GROUP BY day
ORDER BY day
"""

# For the most frequent events. Unlike in DAILY, copies of an event that are not merged yet count:
# the uuids of all events of a month would take too much memory.
VOLUMES = """
  SELECT event, groupArray(day), groupArray(events)
    FROM (  SELECT event,
                   toDate(toTimeZone(timestamp, {zone:String})) AS day,
                   count() AS events
              FROM events
             WHERE project_id = {project_id:UInt64}
               AND timestamp >= fromUnixTimestamp64Micro({start:Int64})
               AND timestamp < fromUnixTimestamp64Micro({end:Int64})
          GROUP BY event, day)
GROUP BY event
ORDER BY sum(events) DESC, event
   LIMIT {limit:UInt32}
"""

# For each person, including those merged into it.
COUNT_OF_PERSONS = """
  WITH merged AS (
    SELECT old_person, new_person
      FROM person_overrides FINAL
     WHERE project_id = {project_id:UInt64}
       AND new_person IN {persons:Array(UUID)}
  )
  SELECT if(merged.old_person = person_id, merged.new_person, person_id) AS person,
         uniqExact(uuid)
    FROM events
    LEFT JOIN merged ON merged.old_person = person_id
   WHERE project_id = {project_id:UInt64}
     AND (person_id IN {persons:Array(UUID)} OR person_id IN (SELECT old_person FROM merged))
GROUP BY person
"""
COUNT_OF_IDS = """
  SELECT distinct_id, uniqExact(uuid), toUnixTimestamp64Micro(min(timestamp))
    FROM events_by_distinct_id
   WHERE project_id = {project_id:UInt64}
     AND distinct_id IN {distinct_ids:Array(String)}
GROUP BY distinct_id
"""
COUNT_SECONDS_MAX: Final = 10


class Ask(Protocol):
    """A function that runs a statement within a number of seconds."""

    async def __call__(
        self, statement: str, parameters: Mapping[str, Any], seconds_max: int, /, *, estimated: bool
    ) -> StatementResult: ...


class Counts:
    """Counts of events. Each call is one query of one project.

    Every call may raise EventStoreUnavailable.
    """

    def __init__(self, read: Read, ask: Ask) -> None:
        """Create the counts with `EventStore.ask`."""
        self._read = read
        self._ask = ask

    async def of_project(self, project_id: int) -> int:
        """Return the number of distinct uuids. It reads all: for checks, not for requests."""
        [(events,)] = await self._read(COUNT, {"project_id": project_id})
        return int(events)

    async def of_persons(self, project_id: int, persons: Sequence[UUID]) -> Mapping[UUID, int]:
        """Return the number of distinct uuids of each surviving person.

        Persons without any are absent.

        Raises:
            StatementFailed: There are too many events.
            EventStoreUnavailable: The event store failed.
        """
        parameters = {"project_id": project_id, "persons": persons}
        counts = await self._ask(COUNT_OF_PERSONS, parameters, COUNT_SECONDS_MAX, estimated=False)
        return {} if not counts.columns else dict(zip(*counts.columns, strict=True))

    async def of_distinct_ids(
        self, project_id: int, distinct_ids: Sequence[str]
    ) -> Mapping[str, tuple[int, datetime]]:
        """Return the number of distinct uuids of each distinct id, and the time of its first event.

        Ids without any are absent.

        Raises:
            StatementFailed: There are too many events.
            EventStoreUnavailable: The event store failed.
        """
        parameters = {"project_id": project_id, "distinct_ids": distinct_ids}
        counts = await self._ask(COUNT_OF_IDS, parameters, COUNT_SECONDS_MAX, estimated=False)
        rows = zip(*counts.columns, strict=True) if counts.columns else ()
        return {
            name: (int(number), EPOCH + timedelta(microseconds=int(first)))
            for name, number, first in rows
        }

    async def daily(self, project_id: int, event: str, days: Days) -> Mapping[date, int]:
        """Return the number of distinct uuids by day; days without any are absent."""
        parameters = {
            "project_id": project_id,
            "event": event,
            "zone": days.zone,
            "start": micros(days.start),
            "end": micros(days.end),
        }
        return {day: int(events) for day, events in await self._read(DAILY, parameters)}

    async def volumes(
        self, project_id: int, days: Days, limit: int
    ) -> Mapping[str, Mapping[date, int]]:
        """Return the number of events by name and day, the most frequent names first.

        Days without events are absent.
        """
        parameters = {
            "project_id": project_id,
            "zone": days.zone,
            "start": micros(days.start),
            "end": micros(days.end),
            "limit": limit,
        }
        rows = await self._read(VOLUMES, parameters)
        return {name: dict(zip(*counts, strict=True)) for name, *counts in rows}
