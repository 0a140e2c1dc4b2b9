"""Events of distinct ids that were split off a person: each is given to its new person.

The rows themselves are changed, so that no question needs to know of the split.
"""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from clickhouse_connect.driver.client import Client

from fanion.events.storage.mutations import IDS_MAX, mutate_events

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
        with_hashes = {**bound, "hashes": list(hashes)}
        sent |= mutate_events(client, _PARTITIONS, _UPDATE, with_hashes, len(some))
    return sent
