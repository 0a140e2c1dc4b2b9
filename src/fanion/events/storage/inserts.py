"""Inserts into the event store: the blocks of a batch, and the members of a static cohort."""

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from clickhouse_connect.driver.client import Client

from fanion.events.storage.encoder import Batch, Block

# The limit of one insert; each member takes 48 bytes.
INPUTS_MAX: Final = 100_000
_INPUT_COLUMNS = ("run", "cohort_id", "person_id")

# The copy of the events stores the deduplication token too: if only the first of both inserts
# succeeded, a repetition completes the other. Duplicate events are left to the merges; removing
# them in each insert would cost a fifth of it. A Distributed table waits until the shards have the
# rows; otherwise acknowledged events could still be in the queue of one host.
EVENT_SETTINGS = {
    "deduplicate_blocks_in_dependent_materialized_views": 1,
    "optimize_on_insert": 0,
    "distributed_foreground_insert": 1,
}


def insert_batch(client: Client, batch: Batch, token: str) -> None:
    for number, block in enumerate(batch.events):
        settings = {**EVENT_SETTINGS, "insert_deduplication_token": f"{token}/{number}"}
        _insert(client, "events", block, settings)
    for block in batch.persons:
        _insert(client, "persons", block, {})
    for block in batch.overrides:
        _insert(client, "person_overrides", block, {})
    for block in batch.groups:
        _insert(client, "groups", block, {})


def _insert(client: Client, table: str, block: Block, settings: dict[str, Any]) -> None:
    client.raw_insert(table, block.columns, block.data, settings, fmt=block.format)


def insert_inputs(client: Client, run: UUID, cohort_id: int, members: Sequence[str]) -> None:
    """Store members of one static cohort, for the statements of one calculation.

    They expire after a day.

    Args:
        members: UUIDs in hexadecimal digits, with or without hyphens.
    """
    before = f"{run}\t{cohort_id}\t"
    lines = before + f"\n{before}".join(members) + "\n"
    client.raw_insert("cohort_inputs", _INPUT_COLUMNS, lines.encode(), {}, fmt="TabSeparated")
