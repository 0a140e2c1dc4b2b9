"""Mutations of stored events: deleting persons, and writing merged persons into their events.

A merge only stores an override: "events of this person count for that one". Squashing rewrites the
events of many merges at a time, in the background, so that queries carry fewer overrides.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

from clickhouse_connect.driver.client import Client

from fanion.events.event import Erasure, EventStoreUnavailable
from fanion.events.storage.client import Lanes
from fanion.events.storage.event_tables import event_tables, system_table
from fanion.events.storage.native_format import micros
from fanion.events.storage.session_rows_sql import EMPTY
from fanion.runtime.background import Backoff

IDS_MAX = 500  # ids in one statement, whose text the engine stores for a while
POLL_FIRST_S = 0.02
POLL_MAX_S = 0.5

# The engine stores the text of its last mutations, so distinct ids must not be part of it.
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
_PENDING = """
  SELECT table, any(latest_fail_reason)
    FROM {mutations}
   WHERE (database = currentDatabase()
              AND table IN ('persons', 'person_overrides', 'groups', 'property_uses')
          OR concat(database, '.', table) IN {tables:Array(String)})
     AND NOT is_done
GROUP BY table
"""


async def erase(lanes: Lanes, erasure: Erasure) -> None:
    """Delete a person's rows, and return when no part has any of them. May be repeated.

    Raises:
        EventStoreUnavailable: The event store failed.
    """
    for parameters in _parameters(erasure):
        await lanes.run(_send_deletes, parameters, erasure.with_events)
    await wait_until_done(lanes)
    if erasure.with_events:
        await lanes.run(_send_mutation, EMPTY, {})


async def wait_until_done(lanes: Lanes) -> None:
    """Wait for all mutations of the tables.

    They rewrite parts in the background. No client of the engine is occupied meanwhile.
    """
    backoff = Backoff(POLL_FIRST_S, POLL_MAX_S)
    while pending := await lanes.run(_pending_mutations):
        failed = [table for table, reason in pending if reason]
        if failed:
            raise EventStoreUnavailable(f"mutations fail on the tables {', '.join(failed)}")
        await asyncio.sleep(backoff.next_s())


def _parameters(erasure: Erasure) -> list[Mapping[str, Any]]:
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


def _send_deletes(client: Client, parameters: Mapping[str, Any], with_events: bool) -> None:
    bound = dict(parameters)
    if with_events:
        rows = client.query(_HASHES, bound).result_rows
        with_hashes = {**bound, "hashes": [name for (name,) in rows]}
        for table in event_tables(client):
            client.command(_EVENTS.replace("{table}", table.altered), with_hashes)
    client.command(_PERSONS, bound)
    client.command(_OVERRIDES, bound)


def _pending_mutations(client: Client) -> Sequence[Sequence[Any]]:
    tables = event_tables(client)
    statement = _PENDING.replace("{mutations}", system_table("mutations", tables))
    return client.query(
        statement, {"tables": [f"{t.database}.{t.name}" for t in tables]}
    ).result_rows


# ── Squashing ────────────────────────────────────────────────────────────────────────────


# The limit of overrides squashed at a time, of one project. The parts that hold their events are
# rewritten.
OVERRIDES_MAX = 10_000

PROJECTS_WITH_OVERRIDES = """
  SELECT project_id
    FROM person_overrides FINAL
GROUP BY project_id
  HAVING count() >= {overrides_min:UInt64}
ORDER BY project_id
"""

OVERRIDES = """
  SELECT old_person, new_person, version
    FROM person_overrides FINAL
   WHERE project_id = {project_id:UInt64}
ORDER BY version
   LIMIT {limit:UInt64}
"""

# The engine's `transform` does not take UUIDs.
WRITE_EVENTS = """
  ALTER TABLE {table}
 UPDATE person_id = toUUID(transform(toString(person_id),
                                     arrayMap(p -> toString(p), {old:Array(UUID)}),
                                     arrayMap(p -> toString(p), {new:Array(UUID)}),
                                     toString(person_id)))
  WHERE project_id = {project_id:UInt64}
    AND person_id IN {old:Array(UUID)}
"""

# The newer row of a person that was merged again meanwhile stays.
DELETE_OVERRIDES = """
  ALTER TABLE person_overrides
 DELETE WHERE project_id = {project_id:UInt64}
    AND old_person IN {old:Array(UUID)}
    AND version <= {version:UInt64}
"""


async def squash(
    lanes: Lanes, overrides_min: int, batches_committed: Callable[[], Awaitable[None]]
) -> int:
    """Squash the projects that have at least `overrides_min` overrides.

    This may be interrupted and repeated at any point.

    Args:
        batches_committed: Returns when every batch begun before its call is committed. A batch that
            began before a merge may store events of the old person, which would no longer have an
            override. By then, what failed attempts wrote has also been replaced.

    Returns:
        The number of overrides that are no longer needed.

    Raises:
        EventStoreUnavailable: The event store failed.
    """
    squashed = 0
    for project_id in await lanes.run(_projects_with_overrides, overrides_min):
        stored = await lanes.run(_read_overrides, project_id)
        await batches_committed()
        still = set(await lanes.run(_read_overrides, project_id))
        overrides = [override for override in stored if override in still]
        if not overrides:
            continue
        old, new, versions = (list(column) for column in zip(*overrides, strict=True))
        bound = {"project_id": project_id, "old": old}
        await lanes.run(_write_events, {**bound, "new": new})
        await wait_until_done(lanes)
        await lanes.run(_send_mutation, DELETE_OVERRIDES, {**bound, "version": max(versions)})
        await wait_until_done(lanes)
        squashed += len(overrides)
    return squashed


def _projects_with_overrides(client: Client, overrides_min: int) -> list[int]:
    rows = client.query(PROJECTS_WITH_OVERRIDES, {"overrides_min": overrides_min}).result_rows
    return [project_id for (project_id,) in rows]


def _read_overrides(client: Client, project_id: int) -> list[tuple[UUID, UUID, int]]:
    bound = {"project_id": project_id, "limit": OVERRIDES_MAX}
    return [(old, new, version) for old, new, version in client.query(OVERRIDES, bound).result_rows]


def _write_events(client: Client, parameters: dict[str, Any]) -> None:
    for table in event_tables(client):
        _send_mutation(client, WRITE_EVENTS.replace("{table}", table.altered), parameters)


def _send_mutation(client: Client, statement: str, parameters: dict[str, Any]) -> None:
    client.command(statement, parameters)
