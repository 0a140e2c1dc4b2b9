"""The schema of an event store: its version, and the steps to the version of this program."""

from collections.abc import Sequence
from typing import Final

import structlog
from clickhouse_connect.driver.binding import quote_identifier
from clickhouse_connect.driver.client import Client

from fanion.errors import SchemaTooNew, SchemaTooOld
from fanion.events.storage.cluster_schema import SCHEMA, ClusterSchema
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


# The tables and views that lack on some server of a cluster.
_FOUND: Final = """
  SELECT (SELECT count() FROM clusterAllReplicas(CLUSTER, system.tables)
           WHERE database = {database:String} AND name IN {names:Array(String)}),
         (SELECT count() FROM clusterAllReplicas(CLUSTER, system.one))
"""
_VERSION_TABLES: Final = ("schema_version", "schema_compatibility")


def migrate_events(client: Client, done: int, cluster: ClusterSchema | None = None) -> None:
    """Bring a store to this program's schema.

    Args:
        done: The version of the store's schema, as `check_schema` returns it.
        cluster: None for a single server.
    """
    if done >= VERSION:
        return
    _run(client, cluster, SCHEMA_VERSIONS)
    _run(client, cluster, SCHEMA_COMPATIBILITY)
    client.command(WRITE_OLDEST_PROGRAM, {"version": VERSION, "oldest": OLDEST_PROGRAM})
    if not done:
        for statement in BASELINE:
            _run(client, cluster, statement)
        client.command(WRITE_VERSION, {"version": BASELINE_VERSION})
    missing = MIGRATIONS[max(0, done - BASELINE_VERSION) :]
    for version, statement in enumerate(missing, start=VERSION - len(missing) + 1):
        _run(client, cluster, statement)
        client.command(WRITE_VERSION, {"version": version})


def complete_cluster(client: Client, cluster: ClusterSchema) -> bool:
    """Make the tables that a server of the cluster lacks, as one that was added does.

    Returns:
        Whether any was missing.
    """
    if not missing_tables(client, cluster):
        return False
    client.command(cluster.create_database)
    for statement in (SCHEMA_VERSIONS, SCHEMA_COMPATIBILITY, *SCHEMA):
        _run(client, cluster, statement)
    return True


def missing_tables(client: Client, cluster: ClusterSchema) -> int:
    """Return how many tables and views the servers of a cluster lack, all in all."""
    names = [*cluster.tables, *_VERSION_TABLES]
    bound = {"database": cluster.database, "names": names}
    statement = _FOUND.replace("CLUSTER", quote_identifier(cluster.cluster))
    [(found, hosts)] = client.query(statement, bound).result_rows
    return int(len(names) * hosts - found)


def _run(client: Client, cluster: ClusterSchema | None, statement: str) -> None:
    statements: Sequence[str] = (statement,) if cluster is None else cluster.statements(statement)
    for text in statements:
        client.command(text)


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
