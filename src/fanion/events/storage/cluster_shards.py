"""The shards of a ClickHouse cluster."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from clickhouse_connect.driver.client import Client

_HOSTS: Final = """
  SELECT shard_num, any(shard_weight), groupArray(host_name)
    FROM (SELECT * FROM system.clusters WHERE cluster = {cluster:String}
        ORDER BY shard_num, replica_num)
GROUP BY shard_num
ORDER BY shard_num
"""
_CLUSTERS: Final = "SELECT DISTINCT cluster FROM system.clusters ORDER BY cluster"


class ClusterUnknown(ValueError):
    """A cluster that is not in the configuration of the server."""


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


def read_shards(client: Client, cluster: str) -> Sequence[Shard]:
    """Return the shards of a cluster, in the order of their numbers.

    Raises:
        ClusterUnknown: The server has no cluster of this name.
    """
    rows = client.query(_HOSTS, {"cluster": cluster}).result_rows
    if not rows:
        known = ", ".join(name for (name,) in client.query(_CLUSTERS).result_rows) or "none"
        raise ClusterUnknown(f"there is no cluster {cluster!r}; the server knows: {known}")
    return [Shard(number, weight, tuple(hosts)) for number, weight, hosts in rows]


def slots_of(shards: Iterable[Shard]) -> Sequence[int]:
    """Return the number of the shard for each remainder of the sharding key."""
    return [shard.number for shard in shards for _ in range(shard.weight)]
