"""The state of a ClickHouse cluster, and what is wrong with it, for people."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Final

from clickhouse_connect.driver.binding import quote_identifier
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import ClickHouseError

from fanion.events.storage.client import Engine
from fanion.events.storage.cluster_schema import ClusterSchema
from fanion.events.storage.cluster_shards import Shard, read_shards
from fanion.events.storage.migrate import missing_tables

# A replica that is further behind shows old answers for more than a moment.
DELAY_S_MAX: Final = 300
LISTED_MAX: Final = 10

_DEFINITIONS: Final = """
  SELECT name, uniqExact(create_table_query), any(engine)
    FROM clusterAllReplicas(CLUSTER, system.tables)
   WHERE database = {database:String}
     AND name IN {names:Array(String)}
GROUP BY name
ORDER BY name
"""
_REPLICAS: Final = """
  SELECT hostName() AS host, table, is_readonly, absolute_delay, total_replicas, active_replicas,
         lost_part_count
    FROM clusterAllReplicas(CLUSTER, system.replicas)
   WHERE database = {database:String}
ORDER BY host, table
"""
_VERSIONS: Final = """
  SELECT DISTINCT version() FROM clusterAllReplicas(CLUSTER, system.one) ORDER BY 1
"""
_REPLICATION: Final = """
  SELECT DISTINCT shard_num
    FROM system.clusters
   WHERE cluster = {cluster:String}
     AND NOT internal_replication
ORDER BY shard_num
"""
_QUORUM: Final = "SELECT value FROM system.settings WHERE name = 'insert_quorum'"


@dataclass(frozen=True, slots=True)
class Replica:
    """A table of a server, as the server describes its replication.

    Attributes:
        delay_s: How far it is behind the others.
        total: How many replicas the table has.
        active: How many of these are connected with Keeper.
        lost_parts: How many parts no replica has any more.
    """

    host: str
    table: str
    is_read_only: bool = False
    delay_s: int = 0
    total: int = 1
    active: int = 1
    lost_parts: int = 0


@dataclass(frozen=True, slots=True)
class ClusterHealth:
    """The state of a cluster.

    Attributes:
        away: The hosts that do not answer. If there are any, nothing else is known.
        missing: How many tables the servers lack, all in all.
        unreplicated: The tables with rows that are not replicated.
        differing: The tables that are not defined alike on all servers.
        versions: The versions of the servers.
        not_internal: The shards whose replicas would each be sent an insert.
        quorum: How many replicas acknowledge an insert, as the server writes it.
    """

    shards: Sequence[Shard]
    away: Sequence[str] = ()
    missing: int = 0
    unreplicated: Sequence[str] = ()
    differing: Sequence[str] = ()
    versions: Sequence[str] = ()
    replicas: Sequence[Replica] = ()
    not_internal: Sequence[int] = ()
    quorum: str = "0"


def read_health(engine: Engine, client: Client) -> ClusterHealth | None:
    """Return the state of the engine's cluster; None for a single server.

    Raises:
        StartRefused: The server has no such cluster.
    """
    if engine.cluster is None:
        return None
    shards = read_shards(client, engine.cluster.cluster, engine.where)
    hosts = [host for shard in shards for host in shard.hosts]
    if away := [host for host in hosts if not _answers(engine, host)]:
        return ClusterHealth(shards, away)
    return _read_tables(engine.cluster, client, shards)


def _answers(engine: Engine, host: str) -> bool:
    assert engine.connect_to is not None  # an engine with a cluster has it
    try:
        with closing(engine.connect_to(host)) as client:
            client.query("SELECT 1")
    except (ClickHouseError, OSError):
        return False
    return True


def _read_tables(schema: ClusterSchema, client: Client, shards: Sequence[Shard]) -> ClusterHealth:
    name = quote_identifier(schema.cluster)
    bound = {"database": schema.database, "names": list(schema.tables), "cluster": schema.cluster}

    definitions = client.query(_DEFINITIONS.replace("CLUSTER", name), bound).result_rows
    versions = _VERSIONS.replace("CLUSTER", name)
    replicas = client.query(_REPLICAS.replace("CLUSTER", name), bound).result_rows
    return ClusterHealth(
        shards,
        missing=missing_tables(client, schema),
        unreplicated=[table for table, _, kind in definitions if _lacks_replicas(kind)],
        differing=[table for table, number, _ in definitions if number > 1],
        versions=[version for (version,) in client.query(versions).result_rows],
        replicas=[Replica(*row) for row in replicas],
        not_internal=[number for (number,) in client.query(_REPLICATION, bound).result_rows],
        quorum=client.query(_QUORUM).result_rows[0][0],
    )


def _lacks_replicas(kind: str) -> bool:
    return kind.endswith("MergeTree") and not kind.startswith("Replicated")


def problems(health: ClusterHealth) -> Sequence[str]:
    """Return what is wrong, each in a few words."""
    if health.away:
        return [f"no answer from {_listed(health.away)}"]
    return list(_problems(health))


def _problems(health: ClusterHealth) -> Iterator[str]:
    if health.missing:
        yield f"{health.missing} tables are missing on its servers, all in all"
    if health.differing:
        yield f"not the same on all servers: {_listed(health.differing)}"
    if health.unreplicated:
        yield f"not replicated: {_listed(health.unreplicated)}"
    if len(health.versions) > 1:
        yield f"its servers have versions {_listed(health.versions)}"
    yield from _of_replicas(health.replicas)
    if health.not_internal:
        yield (
            f"internal_replication is off for shards {_listed(map(str, health.not_internal))}: "
            "`fanion move` would store events once for each replica"
        )


def _of_replicas(replicas: Sequence[Replica]) -> Iterator[str]:
    """Yield what is wrong with replicas, each kind with its hosts."""
    found: dict[str, set[str]] = defaultdict(set)
    for replica in replicas:
        where = f"{replica.table} on {replica.host}"
        if replica.is_read_only:
            found["read-only"].add(where)
        elif replica.delay_s > DELAY_S_MAX:
            found[f"more than {DELAY_S_MAX} s behind"].add(where)
        if replica.active < replica.total:
            found["without all replicas"].add(replica.table)
        if replica.lost_parts:
            found["parts are lost of"].add(where)
    for what, names in found.items():
        yield f"{what}: {_listed(sorted(names))}"


def risks(health: ClusterHealth) -> Sequence[str]:
    """Return what may cost events one day, though nothing is wrong."""
    found = []
    alone = [str(shard.number) for shard in health.shards if len(shard.hosts) < 2]
    if alone:
        found.append(
            f"Shards {_listed(alone)} have one replica: if its disk fails, events are lost."
        )
    elif not health.away and health.quorum in ("0", "1"):
        found.append(
            "An insert is acknowledged by one replica; insert_quorum in the user's profile makes "
            "it wait for two."
        )
    return found


def size_text(health: ClusterHealth) -> str:
    """Return how many shards and servers the cluster has."""
    hosts = sum(len(shard.hosts) for shard in health.shards)
    return f"{len(health.shards)} shards on {hosts} servers"


def _listed(names: Iterable[str]) -> str:
    every = list(names)
    more = f" and {len(every) - LISTED_MAX} more" if len(every) > LISTED_MAX else ""
    return ", ".join(every[:LISTED_MAX]) + more
