"""Overrides written into the events themselves, so that queries carry fewer of them.

A merge only notes "events of this person count for that one"; history is rewritten here, in
the background, many merges at a time.
"""

from collections.abc import Sequence
from typing import Any

from clickhouse_connect.driver.client import Client

from fanion.events.storage.client import Lanes
from fanion.events.storage.deletion import finished
from fanion.events.storage.schema import EVENT_TABLES

# Of one project at a time; the parts that hold their events are written again.
OVERRIDES_MAX = 10_000

PROJECTS = """
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

# Of a person that was merged on meanwhile, the newer row stays.
FORGET = """
  ALTER TABLE person_overrides
 DELETE WHERE project_id = {project_id:UInt64}
    AND old_person IN {old:Array(UUID)}
    AND version <= {version:UInt64}
"""


async def squash(lanes: Lanes, overrides_min: int) -> int:
    """Squash the projects that have at least so many overrides; returns how many were squashed.

    May be interrupted and repeated at any place. raises: EventStoreUnavailable
    """
    squashed = 0
    for project_id in await lanes.run(_projects, overrides_min):
        found = await lanes.run(_overrides, project_id)
        old, new, versions = (list(column) for column in zip(*found, strict=True))
        asked = {"project_id": project_id, "old": old}
        for table in EVENT_TABLES:
            statement = WRITE_EVENTS.replace("{table}", table)
            await lanes.run(_start, statement, {**asked, "new": new})
        await finished(lanes)
        await lanes.run(_start, FORGET, {**asked, "version": max(versions)})
        await finished(lanes)
        squashed += len(found)
    return squashed


def _projects(client: Client, overrides_min: int) -> list[int]:
    found = client.query(PROJECTS, {"overrides_min": overrides_min}).result_rows
    return [project_id for (project_id,) in found]


def _overrides(client: Client, project_id: int) -> Sequence[Sequence[Any]]:
    asked = {"project_id": project_id, "limit": OVERRIDES_MAX}
    return client.query(OVERRIDES, asked).result_rows


def _start(client: Client, statement: str, parameters: dict[str, Any]) -> None:
    client.command(statement, parameters)
