"""Inserts into the event store: the blocks of a batch, and the members of a static cohort."""

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from clickhouse_connect.driver.client import Client

from fanion.events.storage.cluster_inserts import ClusterInserts
from fanion.events.storage.cluster_schema import LOCAL_SUFFIX
from fanion.events.storage.encoder import Batch, Block

# The limit of one insert; each member takes 48 bytes.
INPUTS_MAX: Final = 100_000
_INPUT_COLUMNS = ("run", "cohort_id", "person_id")
_QUORUM: Final = {"insert_quorum_parallel": 1, "insert_quorum_timeout": 30_000}

# The copy of the events stores the deduplication token too: if only the first of both inserts
# succeeded, a repetition completes the other. Duplicate events are left to the merges; removing
# them in each insert would cost a fifth of it. A Distributed table waits until the shards have the
# rows; otherwise acknowledged events could still be in the queue of one host.
EVENT_SETTINGS = {
    "deduplicate_blocks_in_dependent_materialized_views": 1,
    "optimize_on_insert": 0,
    "distributed_foreground_insert": 1,
}


def insert_batch(client: Client, batch: Batch, token: str, cluster: ClusterInserts | None) -> None:
    for number, block in enumerate(batch.events):
        settings = {**EVENT_SETTINGS, "insert_deduplication_token": f"{token}/{number}"}
        if cluster is not None and block.shard:
            cluster.into_shard("events" + LOCAL_SUFFIX, block, settings)
        else:
            _insert(client, "events", block, settings, None)
    for block in batch.persons:
        _insert(client, "persons", block, {}, cluster)
    for block in batch.overrides:
        _insert(client, "person_overrides", block, {}, cluster)
    for block in batch.groups:
        _insert(client, "groups", block, {}, cluster)
    if cluster is not None:
        cluster.follow(client)


def _insert(
    client: Client,
    table: str,
    block: Block,
    settings: dict[str, Any],
    cluster: ClusterInserts | None,
) -> None:
    if cluster is not None:
        cluster.into_all(table, block, settings)
    else:
        client.raw_insert(table, block.columns, block.data, settings, fmt=block.format)


def insert_inputs(
    client: Client,
    run: UUID,
    cohort_id: int,
    members: Sequence[str],
    cluster: ClusterInserts | None,
) -> None:
    """Store members of one static cohort, for the statements of one calculation.

    They expire after a day. On a cluster this waits until every server has them, since each reads
    its own.

    Args:
        members: UUIDs in hexadecimal digits, with or without hyphens.
    """
    before = f"{run}\t{cohort_id}\t"
    lines = before + f"\n{before}".join(members) + "\n"
    settings = {} if cluster is None else {"insert_quorum": len(cluster.hosts), **_QUORUM}
    block = Block(_INPUT_COLUMNS, lines.encode(), "TabSeparated")
    _insert(client, "cohort_inputs", block, settings, cluster)
