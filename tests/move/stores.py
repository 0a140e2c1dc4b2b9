"""The stores of a server before and after a move, read while the server runs."""

import json
import sqlite3
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, closing
from typing import Any, Final
from urllib.parse import urlsplit

import asyncpg

from tests.support.clickhouse.server import ClickHouse
from tests.support.server import RealServer

STATE: Final = "SELECT state FROM maintenance WHERE name = 'move'"
# The columns of an event that never change; merges give it to another person later.
EVENTS: Final = """
  SELECT uuid, project_id, event, distinct_id, timestamp, received_at, properties
    FROM events FINAL
ORDER BY project_id, uuid
"""
ROWS_OF_EVENTS: Final = """
  SELECT sum(rows) FROM system.parts
   WHERE active AND table = 'events' AND database = currentDatabase()
"""
# It runs in its own process, because the engine opens only one folder in each process.
READ_FOLDER: Final = """
import sys
from clickhouse_connect import get_client
client = get_client(interface="chdb", path=sys.argv[1])
sys.stdout.write(client.raw_query(sys.argv[2], fmt="JSONEachRow").decode())
"""

# By project and uuid.
Events = Mapping[tuple[int, str], Mapping[str, Any]]


async def is_in(server: RealServer, state: str) -> bool:
    """Return whether a move has left this state in a server's records."""
    if "FANION_DATABASE_URL" not in server.settings:
        with closing(sqlite3.connect(server.data / "records.db")) as records:
            return bool(records.execute(STATE).fetchone() == (state,))
    connection = await asyncpg.connect(server.settings["FANION_DATABASE_URL"])
    try:
        return bool(await connection.fetchval(STATE) == state)
    finally:
        await connection.close()


@asynccontextmanager
async def locked(server: RealServer, table: str, mode: str) -> AsyncGenerator[None]:
    """Lock a table of a server's records on PostgreSQL, for which a move then waits."""
    connection = await asyncpg.connect(server.settings["FANION_DATABASE_URL"])
    try:
        async with connection.transaction():
            await connection.execute(f"LOCK TABLE {table} IN {mode} MODE")
            yield
    finally:
        await connection.close()


async def has_events_in_clickhouse(server: RealServer, store: ClickHouse) -> bool:
    with closing(store.client(_database(server))) as client:
        return bool(client.query(ROWS_OF_EVENTS).result_rows[0][0])


async def has_events_in_folder(server: RealServer) -> bool:
    """Return whether a part of a month was written; other tables have no parts of months."""
    return any(server.data.glob("events/store/*/*/20????_*"))


def events_in_clickhouse(server: RealServer, store: ClickHouse) -> Events:
    with closing(store.client(_database(server))) as client:
        return _by_uuid(client.raw_query(EVENTS, fmt="JSONEachRow"))


def events_in_folder(server: RealServer) -> Events:
    """Return the events of a server that does not run."""
    command = [sys.executable, "-c", READ_FOLDER, str(server.data / "events"), EVENTS]
    return _by_uuid(subprocess.run(command, capture_output=True, check=True).stdout)


def _database(server: RealServer) -> str:
    return urlsplit(server.settings["FANION_EVENTS_URL"]).path.strip("/")


def _by_uuid(lines: bytes) -> Events:
    rows = [json.loads(line) for line in lines.splitlines()]
    events = {(int(row["project_id"]), row["uuid"]): row for row in rows}
    assert len(events) == len(rows)
    return events
