"""The events of a project from before a time: their number, and their deletion."""

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any, Final

from clickhouse_connect.driver.client import Client

from fanion.events.storage.client import Lanes
from fanion.events.storage.event_tables import EventTable, event_tables
from fanion.events.storage.mutations import LOOK_SECONDS_MAX, delete_until_gone
from fanion.events.storage.native_format import micros

_OLD: Final = """project_id = {project_id:UInt64}
              AND timestamp < fromUnixTimestamp64Micro({before:Int64})"""
COUNT_OLD: Final = f"""
  SELECT count()
    FROM events
   WHERE {_OLD}
"""
_PARTITIONS: Final = f"""
  SELECT DISTINCT _partition_id
    FROM {{rows}}
   WHERE {_OLD}
ORDER BY _partition_id
"""
# Partitions are not dropped, even if all their rows are old ones of this project: an import of
# another project may be writing to them. A part of which no row is left is not written.
_DELETE: Final = f"""
ALTER TABLE {{table}}
     DELETE IN PARTITION ID '{{partition}}'
      WHERE {_OLD}
"""


def bound(project_id: int, before: datetime) -> dict[str, Any]:
    return {"project_id": project_id, "before": micros(before)}


async def erase_old(lanes: Lanes, project_id: int, before: datetime) -> None:
    """Delete the events from before a time, and return when no part has any. May be repeated.

    Raises:
        EventStoreUnavailable: The event store failed.
    """
    send = partial(_send_deletes, parameters=bound(project_id, before))
    await delete_until_gone(lanes, [send], "old events")


def _send_deletes(client: Client, parameters: Mapping[str, Any]) -> bool:
    """Delete old events in the background, and return whether there are any on any replica."""
    statements = [
        _DELETE.replace("{table}", table.altered).replace("{partition}", partition)
        for table in event_tables(client)
        for partition in _partitions(client, table, parameters)
    ]
    for statement in statements:
        client.command(statement, dict(parameters))
    return bool(statements)


def _partitions(client: Client, table: EventTable, parameters: Mapping[str, Any]) -> list[str]:
    statement = _PARTITIONS.replace("{rows}", table.on_every_replica)
    settings = {"max_execution_time": LOOK_SECONDS_MAX}
    return [name for (name,) in client.query(statement, dict(parameters), settings).result_rows]
