"""A ClickHouse cluster as an event store: its tables, made by one process, and its inserts."""

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial

from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import ClickHouseError

from fanion.events.ownership_store import Installation
from fanion.events.storage.client import Engine, connect, is_poison, open_error
from fanion.events.storage.cluster_health import problems, read_health
from fanion.events.storage.cluster_inserts import ClusterInserts
from fanion.events.storage.cluster_shards import Shard, read_shards
from fanion.events.storage.marks import check_mark, repeat_mark, require_mark
from fanion.events.storage.migrate import (
    check_schema,
    complete_cluster,
    migrate_events,
    missing_tables,
)
from fanion.events.storage.schema import VERSION


def make_cluster_tables(engine: Engine, installation: Installation) -> None:
    """Make the tables on every server of a cluster, and mark them as the installation's.

    Raises:
        EventStoreUnavailable: The engine does not answer, or a server of the cluster does not.
        SchemaRefused: Another version has made the tables.
        ForeignEventStore: The store belongs to another installation.
        StartRefused: Retrying will not help.
    """
    schema = engine.cluster
    if schema is None:
        return
    with closing(connect(engine)) as client:
        try:
            read_shards(client, schema.cluster, engine.where)
            done = check_schema(client)
            if not done:
                client.command(schema.create_database)
            is_marked = check_mark(client, installation, engine.where)
            migrate_events(client, done, schema)
            added = done <= VERSION and complete_cluster(client, schema)
            if not is_marked:
                require_mark(client, installation, engine.where, engine.on_cluster)
            elif added:
                repeat_mark(client, engine.on_cluster)
        except (ClickHouseError, OSError) as error:
            raise open_error(engine, error) from None


def cluster_problems(engine: Engine) -> Sequence[str]:
    """Return what is wrong with the cluster of the engine, each in a few words.

    Raises:
        EventStoreUnavailable: The engine does not answer.
        StartRefused: The server has no such cluster.
    """
    with closing(connect(engine)) as client:
        try:
            health = read_health(engine, client)
        except (ClickHouseError, OSError) as error:
            raise open_error(engine, error) from None
        return problems(health) if health is not None else ()


def open_cluster(engine: Engine, client: Client) -> ClusterInserts:
    """Return the inserts into the cluster of the engine.

    Raises:
        StartRefused: The server has no such cluster.
    """
    assert engine.cluster is not None and engine.connect_to is not None  # it has both
    shards = _by_number(engine, client)
    read = partial(_shards_with_tables, engine)
    return ClusterInserts(shards, engine.connect_to, is_poison, read, first=os.getpid())


def _shards_with_tables(
    engine: Engine, client: Client, known: Mapping[int, Shard]
) -> Mapping[int, Shard] | None:
    """Return the shards of the cluster; None while a server that was added lacks tables.

    Raises:
        StartRefused: The server has no such cluster any more.
    """
    assert engine.cluster is not None
    found = _by_number(engine, client)
    is_ready = found == known or not missing_tables(client, engine.cluster)
    return found if is_ready else None


def _by_number(engine: Engine, client: Client) -> Mapping[int, Shard]:
    assert engine.cluster is not None
    shards = read_shards(client, engine.cluster.cluster, engine.where)
    return {shard.number: shard for shard in shards}
