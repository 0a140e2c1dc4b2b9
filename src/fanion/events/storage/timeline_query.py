"""The events of one person, by time or in the order of their acceptance.

If the person has few distinct ids, they are read from the copy by distinct id, where its events
lie side by side. For a person with more, the Bloom filter on persons leads to them.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from fanion.events.event import PersonEvent, PersonEventQuery
from fanion.events.storage.client import Read
from fanion.events.storage.native_format import MICROS_MAX, micros

# The limit for the properties of one event. Of longer ones only the session is read.
PROPERTIES_BYTES_MAX: Final = 32 * 1024

# The wide column is read only for the rows of the page, which are chosen first.
_EVENTS = """
  SELECT uuid, event, distinct_id, timestamp, received_at,
         JSONExtractString(whole, '$session_id') AS session_id,
         if(length(whole) <= {bytes_max:UInt64}, whole, '') AS properties
    FROM (
      SELECT uuid, event, distinct_id, timestamp, received_at, properties AS whole
        FROM {table}
       WHERE project_id = {project_id:UInt64}
{of_ids}         AND person_id IN (
               SELECT {person_id:UUID}
                UNION ALL
               SELECT old_person
                 FROM person_overrides FINAL
                WHERE project_id = {project_id:UInt64}
                  AND new_person = {person_id:UUID}
             )
         AND {chosen}
    ORDER BY {order} DESC, uuid DESC
       LIMIT {limit:UInt64}
    )
ORDER BY {order} DESC, uuid DESC
"""
_OF_IDS = "         AND distinct_id IN {distinct_ids:Array(String)}\n"
# The engine orders ids in its own way, so it must compare them.
_BEHIND = """(timestamp < fromUnixTimestamp64Micro({before:Int64})
              OR (timestamp = fromUnixTimestamp64Micro({before:Int64})
                  AND (uuid < {cursor:UUID} OR ({with_cursor:Bool} AND uuid = {cursor:UUID}))))"""
_BEFORE = "timestamp < fromUnixTimestamp64Micro({before:Int64})"
_ACCEPTED = "received_at <= fromUnixTimestamp64Micro({upto:Int64})"


class Timeline:
    """Timelines of persons. Each call is one query of one project.

    An event that is stored twice may be returned twice. Every call may raise EventStoreUnavailable.
    """

    def __init__(self, read: Read) -> None:
        self._read = read

    async def page(self, project_id: int, query: PersonEventQuery) -> Sequence[PersonEvent]:
        parameters: dict[str, Any] = {"before": min(micros(query.before), MICROS_MAX + 1)}
        if query.cursor is not None:
            parameters |= {"cursor": query.cursor, "with_cursor": query.with_cursor}
        chosen = _BEFORE if query.cursor is None else _BEHIND
        return await self._rows(project_id, query, chosen, "timestamp", parameters)

    async def accepted_upto(
        self, project_id: int, query: PersonEventQuery, upto: datetime
    ) -> Sequence[PersonEvent]:
        parameters = {"upto": micros(upto)}
        return await self._rows(project_id, query, _ACCEPTED, "received_at", parameters)

    async def _rows(
        self,
        project_id: int,
        query: PersonEventQuery,
        chosen: str,
        order: str,
        parameters: Mapping[str, Any],
    ) -> Sequence[PersonEvent]:
        ids = query.distinct_ids
        statement = (
            _EVENTS.replace("{table}", "events_by_distinct_id" if ids else "events")
            .replace("{of_ids}", _OF_IDS if ids else "")
            .replace("{chosen}", chosen)
            .replace("{order}", order)
        )
        bound = {
            "project_id": project_id,
            "person_id": query.person_id,
            "limit": query.limit,
            "bytes_max": PROPERTIES_BYTES_MAX,
            **({"distinct_ids": list(ids)} if ids else {}),
            **parameters,
        }
        rows = await self._read(statement, bound)
        return [PersonEvent(*row) for row in rows]
