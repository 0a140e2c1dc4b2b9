"""The rows of one project in the event store: their number, and their deletion."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from clickhouse_connect.driver.client import Client

from fanion.events.storage.client import Lanes
from fanion.events.storage.event_tables import EventTable, event_tables, whole_table
from fanion.events.storage.mutations import delete_until_gone

# Copies of an event that are not merged yet count: the uuids of all events of a project would take
# too much memory.
COUNT: Final = """
  SELECT count()
    FROM events
   WHERE project_id = {project_id:UInt64}
"""
# The tables beside those of events. Rows of sessions are calculated from events.
OTHER_TABLES: Final = ("persons", "person_overrides", "groups", "property_uses")
_HAS_ROWS: Final = """
  SELECT 1
    FROM {table}
   WHERE project_id = {project_id:UInt64}
   LIMIT 1
"""
_DELETE: Final = """
ALTER TABLE {table}
     DELETE WHERE project_id = {project_id:UInt64}
"""


async def erase_project(lanes: Lanes, project_id: int) -> None:
    """Delete all rows of a project, and return when no part has any of them. May be repeated.

    Raises:
        EventStoreUnavailable: The event store failed.
    """
    send = partial(_send_deletes, project_id=project_id)
    if await lanes.run(send):
        await delete_until_gone(lanes, [send], "rows of a project")


def _send_deletes(client: Client, project_id: int) -> bool:
    """Delete the rows in the background, and return whether there are any.

    A table without rows of the project is left alone, since a mutation looks at all its parts.
    """
    bound = {"project_id": project_id}
    filled = [
        table.altered
        for table in _tables(client)
        if client.query(_HAS_ROWS.replace("{table}", table.on_every_replica), bound).result_rows
    ]
    for altered in filled:
        client.command(_DELETE.replace("{table}", altered), bound)
    return bool(filled)


def _tables(client: Client) -> Sequence[EventTable]:
    """Return the tables with rows of projects."""
    tables = event_tables(client)
    return [*tables, *(whole_table(client, name, tables) for name in OTHER_TABLES)]
