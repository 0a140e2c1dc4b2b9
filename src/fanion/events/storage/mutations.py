"""Mutations of stored events: deleting persons, and writing merged persons into their events.

A merge only stores an override: "events of this person count for that one". Squashing rewrites the
events of many merges at a time, in the background, so that queries carry fewer overrides.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from clickhouse_connect.driver.client import Client

from fanion.events.event import Erasure, EventStoreUnavailable
from fanion.events.storage.client import Lanes
from fanion.events.storage.event_tables import (
    EventTable,
    event_tables,
    resume_mutations,
    system_table,
)
from fanion.events.storage.native_format import micros
from fanion.events.storage.session_rows_sql import EMPTY
from fanion.runtime.background import Backoff

IDS_MAX = 500  # ids in one statement, whose text the engine stores for a while
# The ids of a statement count for each of its partitions. On a cluster its text is a value in
# Keeper, which takes at most a megabyte.
IDS_OF_PARTITIONS_MAX = 3_000
# With more partitions the condition alone decides: each part compares itself with all of them,
# and 120 took 13 s of a core instead of 3, while one takes less than a whole deletion.
PARTITIONS_MAX = 12
ATTEMPTS_MAX = 10
# Looking for the partitions of a person may take longer than a read for a user.
LOOK_SECONDS_MAX = 100
POLL_FIRST_S = 0.02
POLL_MAX_S = 0.5

# The engine stores the text of its last mutations, so distinct ids must not be part of it.
_HASHES = """
SELECT hex(sipHash128(arrayJoin({distinct_ids:Array(String)})))
"""
_OF_PROJECT = """project_id = {project_id:UInt64}
              AND received_at <= fromUnixTimestamp64Micro({upto:Int64})"""
# The partitions with events of the persons. Each condition has an index of its own.
_PARTITIONS = f"""
  SELECT DISTINCT _partition_id
    FROM {{rows}}
   WHERE {_OF_PROJECT}
     AND person_id IN {{persons:Array(UUID)}}
   UNION DISTINCT
  SELECT DISTINCT _partition_id
    FROM {{rows}}
   WHERE {_OF_PROJECT}
     AND distinct_id IN {{distinct_ids:Array(String)}}
"""
_DELETE = f"""
     DELETE {{where}}
      WHERE {_OF_PROJECT}
              AND (person_id IN {{persons:Array(UUID)}}
                   OR hex(sipHash128(distinct_id)) IN {{hashes:Array(String)}})"""
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
   WHERE (database = {database:String}
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
    every = _parameters(erasure)
    for parameters in every:
        await lanes.run(_delete_persons, parameters)
    if not erasure.with_events:
        return await wait_until_done(lanes)
    sends = [partial(_delete_events, parameters=parameters) for parameters in every]
    return await delete_until_gone(lanes, sends, "events of a person")


async def delete_until_gone(
    lanes: Lanes, sends: Sequence[Callable[[Client], bool]], what: str
) -> None:
    """Delete events until no part has any of them, and the rows of their sessions.

    Args:
        sends: Each begins to delete some, and returns whether there were any on any replica.

    Raises:
        EventStoreUnavailable: The event store failed, or they are still there.
    """
    for _ in range(ATTEMPTS_MAX):
        left = [await lanes.run(send) for send in sends]
        await wait_until_done(lanes)
        if not any(left):
            return await lanes.run(_send_mutation, EMPTY, {})
    raise EventStoreUnavailable(f"{what} are still there after they were deleted")


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


def _delete_persons(client: Client, parameters: Mapping[str, Any]) -> None:
    client.command(_PERSONS, dict(parameters))
    client.command(_OVERRIDES, dict(parameters))


def _delete_events(client: Client, parameters: Mapping[str, Any]) -> bool:
    """Delete the events in the background, and return whether there are any on any replica."""
    bound = dict(parameters)
    rows = client.query(_HASHES, bound).result_rows
    with_hashes = {**bound, "hashes": [name for (name,) in rows]}
    ids = len(bound["persons"]) + len(rows)
    return mutate_events(client, _PARTITIONS, _DELETE, with_hashes, ids)


def mutate_events(client: Client, found: str, change: str, bound: dict[str, Any], ids: int) -> bool:
    """Change events in the partitions that have such, in the background.

    Args:
        found: Selects the partitions from `{rows}`.
        change: What to do `{where}`.
        ids: How many the change names in each partition.

    Returns:
        Whether any replica had some.
    """
    statements = [
        f"ALTER TABLE {table.altered} {changes}"
        for table in event_tables(client)
        for changes in _changes(change, _partitions(client, table, found, bound), ids)
    ]
    for statement in statements:
        client.command(statement, bound)
    return bool(statements)


def _partitions(
    client: Client, table: EventTable, found: str, bound: dict[str, Any]
) -> Sequence[str]:
    statement = found.replace("{rows}", table.on_every_replica)
    rows = client.query(statement, bound, {"max_execution_time": LOOK_SECONDS_MAX}).result_rows
    return sorted(partition for (partition,) in rows)


def _changes(change: str, partitions: Sequence[str], ids: int) -> Iterator[str]:
    """Yield what to change in partitions, in as many in one statement as its ids permit."""
    if len(partitions) > PARTITIONS_MAX:
        yield change.replace("{where}", "")
        return
    number = max(1, IDS_OF_PARTITIONS_MAX // max(1, ids))
    for start in range(0, len(partitions), number):
        some = partitions[start : start + number]
        yield ",".join(change.replace("{where}", f"IN PARTITION ID '{name}'") for name in some)


def _pending_mutations(client: Client) -> Sequence[Sequence[Any]]:
    tables = event_tables(client)
    statement = _PENDING.replace("{mutations}", system_table("mutations", tables))
    names = [f"{table.database}.{table.name}" for table in tables]
    bound = {"database": client.database or "default", "tables": names}
    pending = client.query(statement, bound).result_rows
    resume_mutations(client, [table for table, _ in pending])
    return pending


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

_OLD = """
  SELECT 1
    FROM {rows}
   WHERE project_id = {project_id:UInt64}
     AND person_id IN {old:Array(UUID)}
   LIMIT 1
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
        await _rewrite_events(lanes, {**bound, "new": new})
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


async def _rewrite_events(lanes: Lanes, parameters: dict[str, Any]) -> None:
    """Write the new persons into the events of the old ones, and return when all replicas have."""
    for _ in range(ATTEMPTS_MAX):
        await lanes.run(_write_events, parameters)
        await wait_until_done(lanes)
        if not await lanes.run(_has_old_persons, parameters):
            return
    raise EventStoreUnavailable("merged persons still have events after these were rewritten")


def _write_events(client: Client, parameters: dict[str, Any]) -> None:
    for table in event_tables(client):
        _send_mutation(client, WRITE_EVENTS.replace("{table}", table.altered), parameters)


def _has_old_persons(client: Client, parameters: dict[str, Any]) -> bool:
    """Return whether a replica of a cluster has not heard of the mutation yet."""
    pairs = zip(parameters["old"], parameters["new"], strict=True)
    bound = {**parameters, "old": [old for old, new in pairs if old != new]}
    settings = {"max_execution_time": LOOK_SECONDS_MAX}
    return any(
        client.query(_OLD.replace("{rows}", table.on_every_replica), bound, settings).result_rows
        for table in event_tables(client)
        if table.cluster
    )


def _send_mutation(client: Client, statement: str, parameters: dict[str, Any]) -> None:
    client.command(statement, parameters)
