"""Inserts on a cluster: straight into the tables of a shard, by whichever replica takes them.

A replica that fails may have stored the rows all the same. The next one is sent the same block
under the same token, by which the replicas of a shard recognise it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from time import monotonic
from typing import Any, Final

import structlog
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import ClickHouseError

from fanion.errors import StartRefused
from fanion.events.storage.cluster_encoder import ShardEncoder
from fanion.events.storage.cluster_shards import Shard, slots_of
from fanion.events.storage.encoder import Block, EventEncoder

# A replica that has failed is asked last for so long.
AVOIDED_S: Final = 10.0
# How often the cluster is asked whether shards or replicas were added.
LOOK_S: Final = 60.0


@dataclass(slots=True)
class ClusterInserts:
    """The inserts of one thread into a cluster.

    Attributes:
        shards: The shards, by their numbers.
        connect: Connects to a host.
        is_at_fault: Whether an error is about the rows, which no other replica takes either.
        read_shards: Returns the shards as they are now; None while a server lacks tables.
        first: Which of its replicas a shard asks first; of several servers each has another one.
    """

    shards: Mapping[int, Shard]
    connect: Callable[[str], Client]
    is_at_fault: Callable[[Exception], bool]
    read_shards: Callable[[Client, Mapping[int, Shard]], Mapping[int, Shard] | None]
    first: int = 0
    monotonic: Callable[[], float] = monotonic
    _clients: dict[str, Client] = field(default_factory=dict)
    _avoided: dict[str, float] = field(default_factory=dict)
    _look_at: float = field(init=False)

    def __post_init__(self) -> None:
        self._look_at = self.monotonic() + LOOK_S

    def dividing(self, encoder: EventEncoder) -> ShardEncoder:
        """Return an encoder that divides events among the present shards."""
        return ShardEncoder(encoder, slots_of(self.shards.values()))

    def follow(self, client: Client) -> None:
        """Use the shards and replicas that were added to the cluster, looked for once a minute.

        Called after a batch is stored: one that is repeated has to be divided as before.
        """
        if self.monotonic() < self._look_at:
            return
        self._look_at = self.monotonic() + LOOK_S
        try:
            found = self.read_shards(client, self.shards)
        except (ClickHouseError, OSError, StartRefused):
            return  # `event_cluster_unhealthy` says what is wrong
        if found is not None and found != self.shards:
            hosts = {str(shard.number): list(shard.hosts) for shard in found.values()}
            structlog.get_logger().info("event_shards_changed", shards=hosts)
            self.shards = found

    def into_shard(self, table: str, block: Block, settings: Mapping[str, Any]) -> None:
        """Insert a block into a table of its shard.

        Raises:
            ClickHouseError: No replica takes it, or its rows are at fault.
            OSError: No replica answers.
        """
        shard = self.shards.get(block.shard)
        if shard is None:
            raise OSError(f"the cluster has no shard {block.shard} any more")
        self._insert(shard.hosts, table, block, settings)

    def into_all(self, table: str, block: Block, settings: Mapping[str, Any]) -> None:
        """Insert a block into a table that all hosts replicate.

        Raises:
            ClickHouseError: No host takes it, or its rows are at fault.
            OSError: No host answers.
        """
        self._insert(self.hosts, table, block, settings)

    @property
    def hosts(self) -> Sequence[str]:
        """Return all hosts, those of each shard together."""
        return list(chain.from_iterable(shard.hosts for shard in self.shards.values()))

    def close(self) -> None:
        for client in self._clients.values():
            client.close()
        self._clients.clear()

    def _insert(
        self, hosts: Sequence[str], table: str, block: Block, settings: Mapping[str, Any]
    ) -> None:
        failure: Exception | None = None
        for host in self._in_order(hosts):
            try:
                client = self._client(host)
                client.raw_insert(
                    table, block.columns, block.data, dict(settings), fmt=block.format
                )
                self._avoided.pop(host, None)
                return
            except (ClickHouseError, OSError) as error:
                if self.is_at_fault(error):
                    raise
                failure = error
                self._avoid(host, error)
        raise failure or OSError("the shard has no hosts")

    def _in_order(self, hosts: Sequence[str]) -> Iterator[str]:
        """Return the hosts, those that have failed a short time ago last."""
        begin, now = self.first % len(hosts), self.monotonic()
        turned = [*hosts[begin:], *hosts[:begin]]
        return iter(sorted(turned, key=lambda host: self._avoided.get(host, 0.0) > now))

    def _client(self, host: str) -> Client:
        if host not in self._clients:
            self._clients[host] = self.connect(host)
        return self._clients[host]

    def _avoid(self, host: str, error: Exception) -> None:
        if host not in self._avoided:
            structlog.get_logger().warning(
                "replica_not_used", host=host, reason=type(error).__name__
            )
        self._avoided[host] = self.monotonic() + AVOIDED_S
