"""The rewriting of events that earlier versions stored without a person.

Such an event gets the person of its distinct id or, if the id has none, the person that it would
get. Nothing is left to do once every event has a person, which a Bloom filter tells.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Final
from uuid import UUID

from clickhouse_connect.driver.client import Client

from fanion.events.storage.client import Lanes, read_rows
from fanion.events.storage.event_tables import event_tables
from fanion.events.storage.filters_sql import NO_PERSON
from fanion.events.storage.mutations import wait_until_done

IDS_MAX: Final = 5_000  # ids in one statement, whose text the engine stores for a while

# Returns the persons that some distinct ids of a project have.
OwnersOf = Callable[[int, Sequence[str]], Awaitable[Mapping[str, UUID]]]

ANY = f"""
  SELECT 1
    FROM events
   WHERE person_id = {NO_PERSON}
   LIMIT 1
"""

IDS = f"""
  SELECT project_id, distinct_id
    FROM events_by_distinct_id
   WHERE person_id = {NO_PERSON}
     AND (project_id, distinct_id) > ({{project_id:UInt64}}, {{distinct_id:String}})
GROUP BY project_id, distinct_id
ORDER BY project_id, distinct_id
   LIMIT {{limit:UInt64}}
"""

# The engine stores the text of its last mutations, so distinct ids must not be part of it.
HASHES = """
  SELECT hex(sipHash128(arrayJoin({distinct_ids:Array(String)})))
"""

TO_OWNERS = f"""
  ALTER TABLE {{table}}
 UPDATE person_id = toUUID(transform(hex(sipHash128(distinct_id)),
                                     {{hashes:Array(String)}}, {{owners:Array(String)}},
                                     toString(person_id)))
  WHERE project_id = {{project_id:UInt64}}
    AND person_id = {NO_PERSON}
    AND hex(sipHash128(distinct_id)) IN {{hashes:Array(String)}}
"""

# The same as `persons.merge.person_uuid`: version 5, RFC 9562 section 5.5.
TO_FUTURE = f"""
  ALTER TABLE {{table}}
 UPDATE person_id = toUUID(arrayMap(
          digest -> concat(substring(digest, 1, 8), '-', substring(digest, 9, 4),
                           '-5', substring(digest, 14, 3), '-',
                           substring('89AB', intDiv(modulo(reinterpretAsUInt8(
                             unhex(substring(digest, 17, 2))), 64), 16) + 1, 1),
                           substring(digest, 18, 3), '-', substring(digest, 21, 12)),
          [hex(SHA1(concat(unhex({{namespace:String}}), toString(project_id), ':', distinct_id)))]
        )[1])
  WHERE person_id = {NO_PERSON}
"""


async def join_anonymous(lanes: Lanes, namespace: bytes, owners_of: OwnersOf) -> int:
    """Rewrite the events without a person, and return the number of their distinct ids.

    This may be interrupted and repeated at any point. It must not run beside a squash: an owner
    could
    be merged meanwhile, whose override must stay.

    Args:
        namespace: The namespace from which the ids of persons derive.

    Raises:
        EventStoreUnavailable: The event store failed.
    """
    joined = 0
    if not await lanes.run(read_rows, ANY, {}):
        return joined
    last: Sequence[Any] = (0, "")
    while page := await lanes.run(_ids_after, *last):
        for project_id, rows in groupby(page, itemgetter(0)):
            owners = await owners_of(project_id, [distinct_id for _, distinct_id in rows])
            if owners:
                await lanes.run(_to_owners, project_id, owners)
        joined, last = joined + len(page), page[-1]
    await lanes.run(_alter_tables, TO_FUTURE, {"namespace": namespace.hex()})
    await wait_until_done(lanes)
    return joined


def _ids_after(client: Client, project_id: int, distinct_id: str) -> Sequence[Sequence[Any]]:
    bound = {"project_id": project_id, "distinct_id": distinct_id, "limit": IDS_MAX}
    return client.query(IDS, bound).result_rows


def _to_owners(client: Client, project_id: int, owners: Mapping[str, UUID]) -> None:
    rows = client.query(HASHES, {"distinct_ids": list(owners)}).result_rows
    bound = {
        "project_id": project_id,
        "hashes": [name for (name,) in rows],
        "owners": [str(owner) for owner in owners.values()],
    }
    _alter_tables(client, TO_OWNERS, bound)


def _alter_tables(client: Client, statement: str, bound: dict[str, Any]) -> None:
    """Send a mutation to each table. Mutations of one table are made in the order of sending."""
    for table in event_tables(client):
        client.command(statement.replace("{table}", table.altered), bound)
