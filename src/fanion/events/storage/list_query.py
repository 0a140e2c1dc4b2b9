"""Pages of events, the newest or the oldest first.

Queries for a distinct id without property conditions read the copy of the events in that order.
All others read the table of events.
"""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from fanion.events.event import Event, EventQuery
from fanion.events.storage.client import Read, Rows
from fanion.events.storage.filters_sql import event_condition, tree_condition
from fanion.events.storage.native_format import MICROS_MAX, MICROS_MIN, micros
from fanion.properties.bindings import Bindings

KEYS_READ_MAX = 1_000  # bounds the text of one statement; longer pages are read in several

_DAY_MICROS = 86_400 * 1_000_000
# A page of the newest (or oldest) events is read from one day if that holds enough, else from more.
_WINDOW_DAYS = (1, 8, 64)

# Queried after a page is found, for the few persons in it: a project may have millions.
OVERRIDES_OF = """
  SELECT old_person, new_person
    FROM person_overrides FINAL
   WHERE project_id = {project_id:UInt64}
     AND old_person IN {persons:Array(UUID)}
"""

PERSONS_COUNTED_AS = """
  SELECT old_person
    FROM person_overrides FINAL
   WHERE project_id = {project_id:UInt64}
     AND new_person = {person_id:UUID}
"""

# Finds any event of the outermost day: the key is read in order, up to the first match.
NEWEST_DAY = """
  SELECT toUnixTimestamp64Micro(timestamp)
    FROM events
   WHERE project_id = {project_id:UInt64}
     AND timestamp >= fromUnixTimestamp64Micro({start:Int64})
     AND timestamp < fromUnixTimestamp64Micro({end:Int64})
     AND ({any_event:Bool} OR event = {event:String})
ORDER BY project_id DESC, toDate32(timestamp) DESC
   LIMIT 1
"""
OLDEST_DAY = NEWEST_DAY.replace(" DESC", " ASC")

_CHOSEN = """
    FROM events
   WHERE project_id = {project_id:UInt64}
     AND timestamp >= fromUnixTimestamp64Micro({start:Int64})
     AND timestamp < fromUnixTimestamp64Micro({end:Int64})
     AND ({any_event:Bool} OR event = {event:String})
     AND ({any_distinct_id:Bool} OR distinct_id = {distinct_id:String})
     AND ({any_distinct_id:Bool} OR cityHash64(distinct_id) = cityHash64({distinct_id:String}))
     AND ({any_person:Bool} OR person_id IN {persons:Array(UUID)})
"""
# Keys come first, then rows: the wide columns are read for one page only. Only `uuid` and
# `timestamp` are carried through the sort: including the names costs 50 ms more a day of 50 k.
CHOSEN = f"\n  SELECT uuid, timestamp{_CHOSEN}"

_NEWEST_FIRST = """
ORDER BY timestamp DESC, uuid DESC
   LIMIT {limit:UInt64}
"""
_OLDEST_FIRST = _NEWEST_FIRST.replace(" DESC", " ASC")

# For a page with two rows of one event. Then the engine sorts everything that is chosen, and a
# shard sends all of it, which takes twice as long.
_NEWEST_ONCE = _NEWEST_FIRST.replace("   LIMIT", "   LIMIT 1 BY uuid\n   LIMIT")
_OLDEST_ONCE = _NEWEST_ONCE.replace(" DESC", " ASC")

# Keys and rows at once, where an index finds the few granules that matter: the engine then looks
# them up once, and still reads only the page's wide columns. With `LIMIT 1 BY` it would read those
# of all matching events.
WHOLE = (
    f"\n  SELECT uuid, event, distinct_id, person_id, timestamp, received_at, properties{_CHOSEN}"
)

# All events of one distinct id lie side by side.
OF_DISTINCT_ID = """
  SELECT uuid, event, distinct_id, person_id, timestamp, received_at, properties
    FROM events_by_distinct_id
   WHERE project_id = {project_id:UInt64}
     AND distinct_id = {distinct_id:String}
     AND timestamp >= fromUnixTimestamp64Micro({start:Int64})
     AND timestamp < fromUnixTimestamp64Micro({end:Int64})
     AND ({any_event:Bool} OR event = {event:String})
     AND ({any_person:Bool} OR person_id IN {persons:Array(UUID)})
"""

BY_KEY = """
  SELECT uuid, event, distinct_id, person_id, timestamp, received_at, properties
    FROM events
PREWHERE uuid IN {uuids:Array(UUID)}
   WHERE project_id = {project_id:UInt64}
     AND timestamp >= fromUnixTimestamp64Micro({start:Int64})
     AND timestamp < fromUnixTimestamp64Micro({end:Int64})
     AND toDate32(timestamp) IN {days:Array(Date32)}
     AND ({any_event:Bool} OR event = {event:String})
     AND ({any_distinct_id:Bool} OR distinct_id = {distinct_id:String})
     AND ({any_distinct_id:Bool} OR cityHash64(distinct_id) = cityHash64({distinct_id:String}))
     AND ({any_person:Bool} OR person_id IN {persons:Array(UUID)})
"""

# Rows behind the last row of the previous page. The engine orders ids in its own way, so it must
# compare them.
_BEHIND_NEWEST_FIRST = """
     AND (timestamp != fromUnixTimestamp64Micro({cursor_time:Int64}) OR uuid < {cursor:UUID})
"""
_BEHIND_OLDEST_FIRST = _BEHIND_NEWEST_FIRST.replace(" < ", " > ")

ONE_EVENT = """
  SELECT uuid, event, distinct_id, person_id, timestamp, received_at, properties
    FROM events
   WHERE project_id = {project_id:UInt64}
     AND uuid = {uuid:UUID}
ORDER BY timestamp DESC
   LIMIT 1
"""


class Listing:
    """Lists of events. Each call is one query of one project."""

    def __init__(self, read: Read) -> None:
        self._read = read

    async def page(self, project_id: int, query: EventQuery) -> Sequence[Event]:
        """Return the page of a query. The `person_id` of each event is the survivor.

        Raises:
            EventStoreUnavailable: The event store failed.
            EventRejected: A property cannot be compared.
        """
        persons = await self._counted_as(project_id, query.person_id)
        if persons == [] or query.limit < 1:
            return []
        start, end = _span(query)
        parameters = {
            "project_id": project_id,
            "start": start,
            "end": end,
            "any_event": query.event is None,
            "event": query.event or "",
            "any_distinct_id": query.distinct_id is None,
            "distinct_id": query.distinct_id or "",
            "any_person": persons is None,
            "persons": persons or [],
            "any_acceptance": query.received_after is None,
            "limit": query.limit,
        }
        conditions, values = _conditions(project_id, query)
        behind, cursor = _behind(query)
        parameters |= values | cursor
        if query.distinct_id is not None or persons is not None:
            is_copied = query.distinct_id is not None and not conditions
            chosen = (OF_DISTINCT_ID if is_copied else WHOLE + conditions) + behind
            whole = await self._whole(parameters, chosen, query.ascending)
            if whole is not None:
                return await self._survivors(project_id, whole)
        keys = await self._keys(parameters, conditions + behind, query.ascending)
        events: list[Event] = []
        for first in range(0, len(keys), KEYS_READ_MAX):
            page_rows = await self._by_key(
                parameters, conditions, keys[first : first + KEYS_READ_MAX]
            )
            events += await self._survivors(project_id, page_rows)
        return events

    async def get(self, project_id: int, uuid: UUID) -> Event | None:
        rows = await self._read(ONE_EVENT, {"project_id": project_id, "uuid": uuid})
        return next(iter(await self._survivors(project_id, rows)), None)

    async def _whole(self, parameters: dict[str, Any], chosen: str, ascending: bool) -> Rows | None:
        """Return the page from one statement; None if it is too long for one or has duplicates."""
        if parameters["limit"] > KEYS_READ_MAX:
            return None
        rows = await self._read(chosen + _order(ascending), parameters)
        return rows if _are_unique(rows) else None

    async def _keys(self, parameters: dict[str, Any], conditions: str, ascending: bool) -> Rows:
        chosen = CHOSEN + conditions
        if not (
            parameters["any_distinct_id"]
            and parameters["any_person"]
            and parameters["any_acceptance"]
        ):
            return await self._once(parameters, chosen, ascending)  # by an index, at any time
        outermost = await self._read(OLDEST_DAY if ascending else NEWEST_DAY, parameters)
        if not outermost:
            return []
        for start, end in _windows(
            parameters["start"], parameters["end"], outermost[0][0], ascending
        ):
            rows = await self._once(parameters | {"start": start, "end": end}, chosen, ascending)
            if len(rows) >= parameters["limit"]:
                break
        return rows

    async def _once(self, parameters: dict[str, Any], chosen: str, ascending: bool) -> Rows:
        """Return the first keys, one for each event."""
        rows = await self._read(chosen + _order(ascending), parameters)
        if _are_unique(rows):
            return rows
        return await self._read(chosen + (_OLDEST_ONCE if ascending else _NEWEST_ONCE), parameters)

    async def _by_key(self, parameters: dict[str, Any], conditions: str, keys: Rows) -> Rows:
        uuids, times = zip(*keys, strict=True)
        key_parameters = {
            "start": micros(min(times)),
            "end": micros(max(times)) + 1,
            "days": sorted({time.date() for time in times}),
            "uuids": list(uuids),
        }
        rows = await self._read(BY_KEY + conditions, parameters | key_parameters)
        by_key = {(row[0], row[4]): row for row in rows}
        return [by_key[uuid, time] for uuid, time in keys if (uuid, time) in by_key]

    async def _counted_as(self, project_id: int, person_id: UUID | None) -> Sequence[UUID] | None:
        """Return the person and all that were merged into it; empty if it was merged itself."""
        if person_id is None:
            return None
        parameters = {"project_id": project_id, "person_id": person_id, "persons": [person_id]}
        moved = await self._read(OVERRIDES_OF, parameters)
        itself = [] if moved and moved[0][1] != person_id else [person_id]
        return itself + [old for (old,) in await self._read(PERSONS_COUNTED_AS, parameters)]

    async def _survivors(self, project_id: int, rows: Rows) -> Sequence[Event]:
        persons = list({row[3] for row in rows})
        parameters = {"project_id": project_id, "persons": persons}
        overrides = await self._read(OVERRIDES_OF, parameters) if persons else ()
        moved = {row[0]: row[1] for row in overrides}
        return [
            Event(project_id, uuid, event, distinct_id, moved.get(person) or person, *rest)
            for uuid, event, distinct_id, person, *rest in rows
        ]


def _order(ascending: bool) -> str:
    return _OLDEST_FIRST if ascending else _NEWEST_FIRST


def _are_unique(rows: Rows) -> bool:
    return len({row[0] for row in rows}) == len(rows)


def _span(query: EventQuery) -> tuple[int, int]:
    """Return a half-open range of microseconds, including the instant that the cursor divides."""
    start = MICROS_MIN if query.after is None else micros(query.after) + 1
    end = MICROS_MAX + 1 if query.before is None else micros(query.before)
    if query.cursor is None:
        return start, end
    return (start - 1, end) if query.ascending else (start, end + 1)


def _behind(query: EventQuery) -> tuple[str, dict[str, Any]]:
    """Return the condition of the cursor, and its values."""
    bound = query.after if query.ascending else query.before
    if query.cursor is None or bound is None:
        return "", {}
    condition = _BEHIND_OLDEST_FIRST if query.ascending else _BEHIND_NEWEST_FIRST
    return condition, {"cursor": query.cursor, "cursor_time": micros(bound)}


def _conditions(project_id: int, query: EventQuery) -> tuple[str, dict[str, Any]]:
    """Return the end of a statement's WHERE clause, and its values."""
    bindings = Bindings()
    project = f"project_id = {bindings.add(project_id, 'UInt64')}"
    conditions = [event_condition(leaf, bindings, project, query.now) for leaf in query.properties]
    if query.action is not None:
        conditions.append(tree_condition(query.action, bindings, project, query.now))
    if query.received_after is not None:
        conditions.append(f"received_at > {bindings.time(query.received_after)}")
    return "".join(f"     AND {condition}\n" for condition in conditions), bindings.values


def _windows(start: int, end: int, outermost: int, ascending: bool) -> Iterable[tuple[int, int]]:
    """Yield growing time ranges that begin with the day of `outermost`; the last is everything."""
    day = outermost - outermost % _DAY_MICROS
    for days in _WINDOW_DAYS:
        low = day if ascending else day - (days - 1) * _DAY_MICROS
        high = low + days * _DAY_MICROS if ascending else end
        if low <= start and high >= end:
            break
        yield max(low, start), min(high, end)
    yield start, end
