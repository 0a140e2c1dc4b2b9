"""Events in chDB or on a ClickHouse server: one dialect, one adapter."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any
from uuid import UUID

from clickhouse_connect.driver.client import Client

from fanion.events import rows
from fanion.events.conditions_sql import event_condition
from fanion.events.engine_store import Lanes, open_lanes
from fanion.events.erasing_store import erase
from fanion.events.erasure import Erasure
from fanion.events.event import Event, EventQuery, Override, PersonRow
from fanion.events.members_store import SECONDS_MAX, Found, ask, put_inputs
from fanion.events.squashing_store import squash
from fanion.events.volume import Days
from fanion.properties.filters import Property
from fanion.properties.sql import Bindings

KEYS_READ_MAX = 1_000  # bounds the text of one statement; longer pages are read in turns

_DAY_MICROS = 86_400 * 1_000_000
# Newest (or oldest) first is answered from one day if that holds enough, else from more.
_WINDOW_DAYS = (1, 8, 64)

# Asked after a page is found, for the few persons it names: a project may have millions.
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

# Any event of the outermost day: the key is read in order and stops at the first match.
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
# First which, then what: the wide columns are read for one page only. Only `uuid` and
# `timestamp` are carried through the sort: the names as well cost 50 ms more a day of 50 k.
CHOSEN = f"\n  SELECT uuid, timestamp{_CHOSEN}"

_NEWEST_FIRST = """
ORDER BY timestamp DESC, uuid DESC
   LIMIT 1 BY uuid
   LIMIT {limit:UInt64}
"""
_OLDEST_FIRST = _NEWEST_FIRST.replace(" DESC", " ASC")

# Both at once, where an index finds the few granules that matter: the engine then looks them up
# once, and still reads the wide columns of the page alone. With `LIMIT 1 BY` it would read those
# of all that is chosen, so copies are looked for in what comes back.
WHOLE = (
    f"\n  SELECT uuid, event, distinct_id, person_id, timestamp, received_at, properties{_CHOSEN}"
)
_WHOLE_NEWEST_FIRST = _NEWEST_FIRST.replace("   LIMIT 1 BY uuid\n", "")
_WHOLE_OLDEST_FIRST = _WHOLE_NEWEST_FIRST.replace(" DESC", " ASC")

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

ONE_EVENT = """
  SELECT uuid, event, distinct_id, person_id, timestamp, received_at, properties
    FROM events
   WHERE project_id = {project_id:UInt64}
     AND uuid = {uuid:UUID}
ORDER BY timestamp DESC
   LIMIT 1
"""

_EXISTING = """
  SELECT uuid, min(received_at)
    FROM events
   WHERE project_id = {project_id:UInt64}
     AND uuid IN {uuids:Array(UUID)}
"""
EXISTING = _EXISTING + "GROUP BY uuid\n"

# The key leads to the days: 5,000 ids of one day are looked up without reading the others.
EXISTING_ON = f"{_EXISTING}     AND toDate32(timestamp) IN {{days:Array(Date32)}}\nGROUP BY uuid\n"

# Of any age: a client that was offline sends what happened days ago.
RECENT_IDS = """
  SELECT uuid
    FROM events
   WHERE received_at >= fromUnixTimestamp64Micro({since:Int64})
ORDER BY received_at DESC
   LIMIT {limit:UInt64}
"""

COUNT = """
  SELECT count()
    FROM (SELECT uuid FROM events WHERE project_id = {project_id:UInt64} GROUP BY uuid)
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


async def open_events(url: str) -> "EventStore":
    """Open the store that the URL names and bring its tables up to date.

    url:    chdb:///absolute/folder[?database=name], which one process at a time may open;
            clickhouse://user:password@host:8123/database, or clickhouses:// (also
            clickhouse+https://) for TLS; the port is the one of the HTTP interface
    raises: EventStoreUnavailable, in one line
    """
    inserts, reads = await asyncio.to_thread(open_lanes, url)
    return EventStore(inserts, reads)


class EventStore:
    """Every call is one question about one project. Threads are its own: inserts never wait
    for reads. A call that is cancelled still ends in its thread."""

    def __init__(self, inserts: Lanes, reads: Lanes) -> None:
        self._inserts = inserts
        self._reads = reads

    def observe(self, took: Callable[[float], None]) -> None:
        """took: is told the seconds of each insert and each read from now on"""
        self._inserts.took = self._reads.took = took

    async def close(self) -> None:
        """Wait for what is running, then let go of the folder or the server."""
        await asyncio.to_thread(self._inserts.close)
        await asyncio.to_thread(self._reads.close)

    async def ping(self) -> None:
        """raises: EventStoreUnavailable"""
        await self._read("SELECT 1", {})

    async def insert(self, batch: rows.Batch, token: str) -> None:
        """Store a batch, of any projects; when it returns, it is on disk.

        token:  names its events in the whole store: sent again under it, they are stored
                once; under another one they are stored again, but every answer still shows one
                event per project and uuid. Of persons and overrides the highest version wins.
        raises: EventRejected, EventStoreUnavailable; part of the batch may then be stored
        note:   times outside the years 1900–2299 are moved to the nearest end
        """
        await self._inserts.run(_insert_batch, batch, token)

    async def mirror_persons(self, persons: Sequence[PersonRow]) -> None:
        """raises: as insert; rows may be sent again at will, the highest version wins"""
        if persons:
            await self._inserts.run(_insert_batch, rows.encode((), persons), "")

    async def override_persons(self, overrides: Sequence[Override]) -> None:
        """raises: as insert; rows may be sent again at will, the highest version wins"""
        if overrides:
            await self._inserts.run(_insert_batch, rows.encode((), (), overrides), "")

    async def list(self, project_id: int, query: EventQuery) -> Sequence[Event]:
        """The page that the query asks for; `person_id` of each event is the survivor.

        raises: EventStoreUnavailable; EventRejected when a property cannot be compared
        """
        persons = await self._counted_as(project_id, query.person_id)
        if persons == [] or query.limit < 1:
            return []
        asked = {
            "project_id": project_id,
            "start": rows.MICROS_MIN if query.after is None else rows.micros(query.after) + 1,
            "end": rows.MICROS_MAX + 1 if query.before is None else rows.micros(query.before),
            "any_event": query.event is None,
            "event": query.event or "",
            "any_distinct_id": query.distinct_id is None,
            "distinct_id": query.distinct_id or "",
            "any_person": persons is None,
            "persons": persons or [],
            "limit": query.limit,
        }
        conditions, values = _conditions(project_id, query.properties)
        asked |= values
        if query.distinct_id is not None or persons is not None:
            whole = await self._whole(asked, conditions, query.ascending)
            if whole is not None:
                return await self._survivors(project_id, whole)
        keys = await self._page(asked, conditions, query.ascending)
        found: list[Event] = []
        for first in range(0, len(keys), KEYS_READ_MAX):
            some = await self._by_key(asked, conditions, keys[first : first + KEYS_READ_MAX])
            found += await self._survivors(project_id, some)
        return found

    async def get(self, project_id: int, uuid: UUID) -> Event | None:
        found = await self._read(ONE_EVENT, {"project_id": project_id, "uuid": uuid})
        return next(iter(await self._survivors(project_id, found)), None)

    async def existing(self, project_id: int, uuids: Sequence[UUID]) -> dict[UUID, datetime]:
        """Those of the ids that are stored, with the time at which they were accepted."""
        found = await self._read(EXISTING, {"project_id": project_id, "uuids": uuids})
        return {row[0]: row[1] for row in found}

    async def existing_on(
        self, project_id: int, uuids: Sequence[UUID], days: Sequence[date]
    ) -> dict[UUID, datetime]:
        """The same, of those that are stored with a time of one of these days, in UTC."""
        asked = {"project_id": project_id, "uuids": uuids, "days": days}
        return {row[0]: row[1] for row in await self._read(EXISTING_ON, asked)}

    async def recent_ids(self, since: datetime, limit: int) -> Sequence[UUID]:
        """Ids of events of all projects that were accepted from `since` on, the newest first."""
        found = await self._read(RECENT_IDS, {"since": rows.micros(since), "limit": limit})
        return [row[0] for row in found]

    async def count(self, project_id: int) -> int:
        """How many different uuids; reads all of them, for checks rather than requests."""
        [(events,)] = await self._read(COUNT, {"project_id": project_id})
        return int(events)

    async def daily(self, project_id: int, event: str, days: Days) -> Mapping[date, int]:
        """How many different uuids each of these days has; days without any are absent."""
        asked = {
            "project_id": project_id,
            "event": event,
            "zone": days.zone,
            "start": rows.micros(days.start),
            "end": rows.micros(days.end),
        }
        return {day: int(events) for day, events in await self._read(DAILY, asked)}

    async def ask(
        self,
        statement: str,
        parameters: Mapping[str, Any],
        seconds_max: int = SECONDS_MAX,
        *,
        estimated: bool = True,
    ) -> Found:
        """A statement that was compiled from the conditions of a cohort.

        estimated: whether to tell how many rows were read, which costs a question of its own
        raises: EventStoreUnavailable, of which StatementFailed is for what this statement alone
                asks too much; EventRejected when a value cannot be compared
        """
        return await self._reads.run(ask, statement, parameters, seconds_max, estimated)

    async def put_inputs(self, run: UUID, cohort_id: int, members: Sequence[str]) -> None:
        """Members of a static cohort for the statements of one calculation.

        members: UUIDs in hexadecimal digits, one at least
        """
        await self._inserts.run(put_inputs, run, cohort_id, members)

    async def squash(self, overrides_min: int) -> int:
        """Write merged persons into their events, of projects with at least so many merges.

        returns: how many merges need no override any more
        """
        return await squash(self._reads, overrides_min)

    async def erase(self, erasure: Erasure) -> None:
        """Remove a deleted person, and its events when they are meant too; returns when no row
        is left in any part. May be repeated. raises: EventStoreUnavailable"""
        await erase(self._reads, erasure)

    async def _whole(
        self, asked: dict[str, Any], conditions: str, ascending: bool
    ) -> "_Rows | None":
        """The page in one statement; None when it is too long for one or holds copies."""
        if asked["limit"] > KEYS_READ_MAX:
            return None
        order = _WHOLE_OLDEST_FIRST if ascending else _WHOLE_NEWEST_FIRST
        found = await self._read(WHOLE + conditions + order, asked)
        return found if len({row[0] for row in found}) == len(found) else None

    async def _page(self, asked: dict[str, Any], conditions: str, ascending: bool) -> "_Rows":
        statement = CHOSEN + conditions + (_OLDEST_FIRST if ascending else _NEWEST_FIRST)
        if not (asked["any_distinct_id"] and asked["any_person"]):
            return await self._read(statement, asked)  # found by index, in any time
        outermost = await self._read(OLDEST_DAY if ascending else NEWEST_DAY, asked)
        if not outermost:
            return []
        for start, end in _windows(asked["start"], asked["end"], outermost[0][0], ascending):
            found = await self._read(statement, asked | {"start": start, "end": end})
            if len(found) >= asked["limit"]:
                break
        return found

    async def _by_key(self, asked: dict[str, Any], conditions: str, keys: "_Rows") -> "_Rows":
        uuids, times = zip(*keys, strict=True)
        wanted = {
            "start": rows.micros(min(times)),
            "end": rows.micros(max(times)) + 1,
            "days": sorted({time.date() for time in times}),
            "uuids": list(uuids),
        }
        answer = await self._read(BY_KEY + conditions, asked | wanted)
        found = {(row[0], row[4]): row for row in answer}
        return [found[uuid, time] for uuid, time in keys if (uuid, time) in found]

    async def _counted_as(self, project_id: int, person_id: UUID | None) -> Sequence[UUID] | None:
        """The person and all that were merged into it; empty when it was merged itself."""
        if person_id is None:
            return None
        asked = {"project_id": project_id, "person_id": person_id, "persons": [person_id]}
        moved = await self._read(OVERRIDES_OF, asked)
        itself = [] if moved and moved[0][1] != person_id else [person_id]
        return itself + [old for (old,) in await self._read(PERSONS_COUNTED_AS, asked)]

    async def _survivors(self, project_id: int, found: "_Rows") -> Sequence[Event]:
        persons = list({row[3] for row in found})
        asked = {"project_id": project_id, "persons": persons}
        overrides = await self._read(OVERRIDES_OF, asked) if persons else ()
        moved = {row[0]: row[1] for row in overrides}
        return [
            Event(project_id, uuid, event, distinct_id, moved.get(person) or person, *rest)
            for uuid, event, distinct_id, person, *rest in found
        ]

    async def _read(self, statement: str, parameters: Mapping[str, Any]) -> "_Rows":
        return await self._reads.run(_read, statement, parameters)


_Rows = Sequence[Sequence[Any]]


def _conditions(project_id: int, properties: Sequence[Property]) -> tuple[str, dict[str, Any]]:
    """The end of a statement's WHERE, and the values in it."""
    bindings = Bindings()
    project = f"project_id = {bindings.add(project_id, 'UInt64')}"
    found = [event_condition(leaf, bindings, project) for leaf in properties]
    return "".join(f"     AND {one}\n" for one in found), bindings.values


def _windows(start: int, end: int, outermost: int, ascending: bool) -> Iterable[tuple[int, int]]:
    """Ever longer stretches that begin with the day of `outermost`; the last is all."""
    day = outermost - outermost % _DAY_MICROS
    for days in _WINDOW_DAYS:
        low = day if ascending else day - (days - 1) * _DAY_MICROS
        high = low + days * _DAY_MICROS if ascending else end
        if low <= start and high >= end:
            break
        yield max(low, start), min(high, end)
    yield start, end


def _insert_batch(client: Client, batch: rows.Batch, token: str) -> None:
    for number, block in enumerate(batch.events):
        settings = {"insert_deduplication_token": f"{token}/{number}"}
        _insert(client, "events", rows.EVENT_COLUMNS, block, settings)
    if batch.persons:
        _insert(client, "persons", rows.PERSON_COLUMNS, batch.persons, {})
    if batch.overrides:
        _insert(client, "person_overrides", rows.OVERRIDE_COLUMNS, batch.overrides, {})


def _insert(
    client: Client, table: str, columns: Sequence[str], block: bytes, settings: dict[str, Any]
) -> None:
    client.raw_insert(table, columns, block, settings, fmt="RowBinary")


def _read(client: Client, statement: str, parameters: Mapping[str, Any]) -> _Rows:
    answer = client.query(
        statement, dict(parameters), column_formats={"properties": "bytes"}, tz_mode="aware"
    )
    return answer.result_rows
