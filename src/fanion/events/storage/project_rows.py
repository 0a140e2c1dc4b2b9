"""The rows of one project in the event store: their number, and their deletion."""

from collections.abc import Sequence
from typing import Final

from clickhouse_connect.driver.client import Client

from fanion.events.event import EventStoreUnavailable
from fanion.events.storage.client import Lanes
from fanion.events.storage.event_tables import EventTable, event_tables, whole_table
from fanion.events.storage.mutations import ATTEMPTS_MAX, wait_until_done
from fanion.events.storage.session_rows_sql import EMPTY

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
    if not await lanes.run(_send_deletes, project_id):
        return None
    for _ in range(ATTEMPTS_MAX):
        await wait_until_done(lanes)
        if not await lanes.run(_send_deletes, project_id):
            return await lanes.run(_empty_session_rows)
    raise EventStoreUnavailable("rows of a project are still there after they were deleted")


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


def _empty_session_rows(client: Client) -> None:
    client.command(EMPTY)
