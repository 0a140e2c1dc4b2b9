"""The tables that hold the rows of events: those that are queried, or local ones behind them.

On a cluster, `events` and its copy are Distributed tables, which the engine neither updates nor
deletes from. Rows are changed in the local tables, on every host.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from clickhouse_connect.driver.binding import quote_identifier
from clickhouse_connect.driver.client import Client

from fanion.events.storage.schema import EVENT_TABLES

_TABLES = """
  SELECT database, name, engine_full
    FROM system.tables
   WHERE database = currentDatabase()
     AND name IN {names:Array(String)}
ORDER BY name
"""
_OTHER_HOSTS = """
  SELECT count()
    FROM system.clusters
   WHERE cluster = {cluster:String}
     AND NOT is_local
"""
_NAME: Final = r"'((?:[^'\\]|\\.)*)'"
_DISTRIBUTED: Final = re.compile(rf"Distributed\({_NAME}, {_NAME}, {_NAME}")


@dataclass(frozen=True, slots=True)
class EventTable:
    """A table that holds rows of events.

    Attributes:
        cluster: The cluster over which the rows are spread; empty if they are in this very table.
        is_remote: Whether some rows are on other hosts.
    """

    database: str
    name: str
    cluster: str = ""
    is_remote: bool = False

    @property
    def altered(self) -> str:
        """Return what follows ALTER TABLE."""
        table = f"{quote_identifier(self.database)}.{quote_identifier(self.name)}"
        return f"{table} {self.on_hosts}".rstrip()

    @property
    def on_every_replica(self) -> str:
        """Return what follows FROM to read the rows of all replicas, each of them."""
        table = f"{quote_identifier(self.database)}.{quote_identifier(self.name)}"
        cluster = quote_identifier(self.cluster)
        return f"clusterAllReplicas({cluster}, {table})" if self.cluster else table

    @property
    def on_hosts(self) -> str:
        """Return the clause by which a statement runs on all hosts with rows; empty for one."""
        return f"ON CLUSTER {quote_identifier(self.cluster)}" if self.is_remote else ""


def event_tables(client: Client) -> Sequence[EventTable]:
    """Return the tables that hold the rows of `EVENT_TABLES`, as the store has them now."""
    rows = client.query(_TABLES, {"names": list(EVENT_TABLES)}).result_rows
    return [_table(client, *row) for row in rows]


def whole_table(client: Client, name: str, tables: Sequence[EventTable]) -> EventTable:
    """Return a table that every server has whole, where these tables hold the events.

    Its replicas are those of all shards, so that a change of one server reaches all others.
    """
    clusters = {table.cluster for table in tables}
    return EventTable(client.database or "default", name, clusters.pop() if clusters else "")


def system_table(name: str, tables: Sequence[EventTable]) -> str:
    """Return a system table of the engine: the cluster's, if these tables lie on one."""
    clusters = {quote_identifier(table.cluster) for table in tables if table.cluster}
    own = f"system.{name}"
    return f"clusterAllReplicas({clusters.pop()}, {own})" if clusters else own


def resume_mutations(client: Client, tables: Iterable[str]) -> None:
    """End the pause that the embedded engine makes before it goes on with mutations of tables.

    Each part that a mutation has finished doubles the pause (`EMBEDDED_OPTIONS`): with hundreds of
    parts the rest waited for up to a minute. Nobody stops merges by TTL, so that to start them does
    nothing else.
    """
    if not str(client.uri).startswith("chdb:"):
        return
    for table in tables:
        client.command(f"SYSTEM START TTL MERGES {quote_identifier(table)}")


def _table(client: Client, database: str, name: str, engine: str) -> EventTable:
    behind = _DISTRIBUTED.match(engine)
    if behind is None:
        return EventTable(database, name)
    cluster, database, name = behind.groups()
    [(others,)] = client.query(_OTHER_HOSTS, {"cluster": cluster}).result_rows
    return EventTable(database, name, cluster, others > 0)
