"""The schema of an event store: its version, and the steps to the version of this program."""

import structlog
from clickhouse_connect.driver.client import Client

from fanion.errors import SchemaTooNew, SchemaTooOld
from fanion.events.storage.schema import (
    BASELINE,
    BASELINE_VERSION,
    MIGRATIONS,
    OLDEST_PROGRAM,
    SCHEMA_COMPATIBILITY,
    SCHEMA_VERSIONS,
    VERSION,
)

READ_VERSION = "SELECT max(version) FROM schema_version"

WRITE_VERSION = "INSERT INTO schema_version (version) SELECT {version:UInt32}"

# 0 if this version has no mark.
READ_OLDEST_PROGRAM = """
  SELECT max(oldest_program)
    FROM schema_compatibility
   WHERE version = {version:UInt32}
"""

WRITE_OLDEST_PROGRAM = """
  INSERT INTO schema_compatibility (version, oldest_program)
  SELECT {version:UInt32}, {oldest:UInt32}
"""


def migrate_events(client: Client, done: int) -> None:
    """Bring a store to this program's schema.

    Args:
        done: The version of the store's schema, as `check_schema` returns it.
    """
    if done >= VERSION:
        return
    client.command(SCHEMA_VERSIONS)
    client.command(SCHEMA_COMPATIBILITY)
    client.command(WRITE_OLDEST_PROGRAM, {"version": VERSION, "oldest": OLDEST_PROGRAM})
    if not done:
        for statement in BASELINE:
            client.command(statement)
        client.command(WRITE_VERSION, {"version": BASELINE_VERSION})
    missing = MIGRATIONS[max(0, done - BASELINE_VERSION) :]
    for version, statement in enumerate(missing, start=VERSION - len(missing) + 1):
        client.command(statement)
        client.command(WRITE_VERSION, {"version": version})


def check_schema(client: Client) -> int:
    """Return the version of the store's schema, or 0 for a store without tables. Change nothing.

    Raises:
        SchemaRefused: This program cannot use the store.
    """
    if not table_exists(client, "schema_version"):
        return 0
    [(done,)] = client.query(READ_VERSION).result_rows
    if 0 < done < BASELINE_VERSION:
        raise SchemaTooOld("events", str(done), str(BASELINE_VERSION))
    if done > VERSION:
        _require_compatible(client, done)
    return int(done)


def _require_compatible(client: Client, stored: int) -> None:
    """Raise SchemaTooNew unless this version can work with a newer schema."""
    [(oldest,)] = client.query(READ_OLDEST_PROGRAM, {"version": stored}).result_rows
    if not 0 < oldest <= VERSION:
        raise SchemaTooNew("events", str(stored), str(oldest or stored), str(VERSION))
    structlog.get_logger().warning(
        "schema_newer", store="events", schema=str(stored), known=str(VERSION)
    )


def table_exists(client: Client, name: str) -> bool:
    """Return whether the database has a table or view of this name."""
    rows = client.query("EXISTS TABLE {name:Identifier}", {"name": name}).result_rows
    return bool(rows[0][0])
