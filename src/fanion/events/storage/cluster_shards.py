"""The shards of a ClickHouse cluster."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from clickhouse_connect.driver.client import Client

from fanion.errors import StartRefused

_HOSTS: Final = """
  SELECT shard_num, any(shard_weight), groupArray(host_name)
    FROM (SELECT * FROM system.clusters WHERE cluster = {cluster:String}
        ORDER BY shard_num, replica_num)
GROUP BY shard_num
ORDER BY shard_num
"""
_CLUSTERS: Final = "SELECT DISTINCT cluster FROM system.clusters ORDER BY cluster"


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard, whose replicas hold the same events.

    Attributes:
        number: As the server numbers it, from 1.
        weight: Its share of new events; 0 for none.
        hosts: Its replicas.
    """

    number: int
    weight: int
    hosts: Sequence[str]


def read_shards(client: Client, cluster: str, where: str) -> Sequence[Shard]:
    """Return the shards of a cluster, in the order of their numbers.

    Args:
        where: The event store, for a message.

    Raises:
        StartRefused: The server has no such cluster, or none of its shards takes events.
    """
    refused = f"FANION_EVENTS_URL: {where} cannot be used"
    rows = client.query(_HOSTS, {"cluster": cluster}).result_rows
    if not rows:
        known = ", ".join(name for (name,) in client.query(_CLUSTERS).result_rows) or "none"
        raise StartRefused(f"{refused}: there is no cluster {cluster!r}; the server knows: {known}")
    shards = [Shard(number, weight, tuple(hosts)) for number, weight, hosts in rows]
    if not any(shard.weight for shard in shards):
        raise StartRefused(f"{refused}: all shards of the cluster {cluster!r} have weight 0")
    return shards


def slots_of(shards: Iterable[Shard]) -> Sequence[int]:
    """Return the number of the shard for each remainder of the sharding key."""
    return [shard.number for shard in shards for _ in range(shard.weight)]
