"""Deleting from the event store, so that nothing is left in any part."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from clickhouse_connect.driver.client import Client

from fanion.events.event import Erasure, EventStoreUnavailable
from fanion.events.storage.client import Lanes
from fanion.events.storage.schema import EVENT_TABLES
from fanion.events.times import micros
from fanion.runtime.background import Backoff

IDS_MAX = 500  # of one statement, which the engine keeps for a while
POLL_FIRST_S = 0.02
POLL_MAX_S = 0.5

# The engine keeps the text of its last mutations: so ids of users are not part of it.
_HASHES = """
SELECT hex(sipHash128(arrayJoin({distinct_ids:Array(String)})))
"""
_EVENTS = """
ALTER TABLE {table}
     DELETE WHERE project_id = {project_id:UInt64}
              AND received_at <= fromUnixTimestamp64Micro({upto:Int64})
              AND (person_id IN {persons:Array(UUID)}
                   OR hex(sipHash128(distinct_id)) IN {hashes:Array(String)})
"""
_PERSONS = """
ALTER TABLE persons
     DELETE WHERE project_id = {project_id:UInt64}
              AND person_id IN {persons:Array(UUID)}
              AND version <= {version:UInt64}
"""
_OVERRIDES = """
ALTER TABLE person_overrides
     DELETE WHERE project_id = {project_id:UInt64}
              AND (old_person IN {persons:Array(UUID)} OR new_person IN {persons:Array(UUID)})
"""
_WAITING = """
  SELECT table, any(latest_fail_reason)
    FROM system.mutations
   WHERE database = currentDatabase()
     AND table IN ('events', 'events_by_distinct_id', 'persons', 'person_overrides')
     AND NOT is_done
GROUP BY table
"""


async def erase(lanes: Lanes, erasure: Erasure) -> None:
    """Returns when no row of the person is left, in no part.

    raises: EventStoreUnavailable; may be repeated at will
    """
    for some in _pieces(erasure):
        await lanes.run(_start, some, erasure.with_events)
    await finished(lanes)


async def finished(lanes: Lanes) -> None:
    """Mutations rewrite parts in the background; no client of the engine is held meanwhile."""
    backoff = Backoff(POLL_FIRST_S, POLL_MAX_S)
    while waiting := await lanes.run(_waiting):
        failed = [table for table, reason in waiting if reason]
        if failed:
            raise EventStoreUnavailable(f"a deletion does not proceed in {', '.join(failed)}")
        await asyncio.sleep(backoff.next_s())


def _pieces(erasure: Erasure) -> list[Mapping[str, Any]]:
    ids = sorted(erasure.distinct_ids)
    number = max(len(erasure.persons), len(ids), 1)
    return [
        {
            "project_id": erasure.project_id,
            "upto": micros(erasure.requested_at),
            "version": erasure.version,
            "persons": list(erasure.persons[start : start + IDS_MAX]),
            "distinct_ids": ids[start : start + IDS_MAX],
        }
        for start in range(0, number, IDS_MAX)
    ]


def _start(client: Client, asked: Mapping[str, Any], with_events: bool) -> None:
    given = dict(asked)
    if with_events:
        hashes = client.query(_HASHES, given).result_rows
        given_hashes = {**given, "hashes": [name for (name,) in hashes]}
        for table in EVENT_TABLES:
            client.command(_EVENTS.replace("{table}", table), given_hashes)
    client.command(_PERSONS, given)
    client.command(_OVERRIDES, given)


def _waiting(client: Client) -> Sequence[Sequence[Any]]:
    return client.query(_WAITING).result_rows
