"""Events of distinct ids that were split off a person: each is given to its new person.

The rows themselves are changed, so that no question needs to know of the split.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from clickhouse_connect.driver.client import Client

from fanion.events.storage.event_tables import EventTable, event_tables
from fanion.events.storage.mutations import (
    IDS_MAX,
    IDS_OF_PARTITIONS_MAX,
    LOOK_SECONDS_MAX,
    PARTITIONS_MAX,
)

# The engine stores the text of its last mutations, so distinct ids must not be part of it.
_HASHES: Final = """
  SELECT arrayMap(id -> hex(sipHash128(id)), {distinct_ids:Array(String)})
"""
# The engine's `transform` does not take UUIDs.
_NEW: Final = """transform(hex(sipHash128(distinct_id)), {hashes:Array(String)},
                                     arrayMap(p -> toString(p), {new:Array(UUID)}),
                                     toString(person_id))"""
_PARTITIONS: Final = f"""
  SELECT DISTINCT _partition_id
    FROM {{rows}}
   WHERE project_id = {{project_id:UInt64}}
     AND distinct_id IN {{distinct_ids:Array(String)}}
     AND toString(person_id) != {_NEW}
"""
_UPDATE: Final = f"""
 UPDATE person_id = toUUID({_NEW}) {{where}}
  WHERE project_id = {{project_id:UInt64}}
    AND hex(sipHash128(distinct_id)) IN {{hashes:Array(String)}}
    AND toString(person_id) != {_NEW}"""


def send_moves(client: Client, project_id: int, moves: Mapping[str, UUID]) -> bool:
    """Give the events of distinct ids to persons, in the background. May be repeated.

    Returns:
        Whether any replica had events of another person.
    """
    names, sent = sorted(moves), False
    for start in range(0, len(names), IDS_MAX):
        some = names[start : start + IDS_MAX]
        bound = {
            "project_id": project_id,
            "distinct_ids": some,
            "new": [moves[name] for name in some],
        }
        [(hashes,)] = client.query(_HASHES, bound).result_rows
        sent |= _send(client, {**bound, "hashes": list(hashes)})
    return sent


def _send(client: Client, bound: dict[str, Any]) -> bool:
    statements = [
        f"ALTER TABLE {table.altered} {updates}"
        for table in event_tables(client)
        for updates in _updates(_partitions(client, table, bound), len(bound["new"]))
    ]
    for statement in statements:
        client.command(statement, bound)
    return bool(statements)


def _partitions(client: Client, table: EventTable, bound: dict[str, Any]) -> Sequence[str]:
    statement = _PARTITIONS.replace("{rows}", table.on_every_replica)
    rows = client.query(statement, bound, {"max_execution_time": LOOK_SECONDS_MAX}).result_rows
    return sorted(partition for (partition,) in rows)


def _updates(partitions: Sequence[str], ids: int) -> Iterator[str]:
    """Yield what to update in partitions, of as many in one statement as its ids permit."""
    if len(partitions) > PARTITIONS_MAX:
        yield _UPDATE.replace("{where}", "")
        return
    number = max(1, IDS_OF_PARTITIONS_MAX // max(1, ids))
    for start in range(0, len(partitions), number):
        some = partitions[start : start + number]
        yield ",".join(_UPDATE.replace("{where}", f"IN PARTITION ID '{name}'") for name in some)
