"""The replicas of both shards, in front of the stand-in: inserts into them fail by chance."""

import random
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from tests.support.clickhouse.replica import Fault, Replica, serving
from tests.support.postgres import free_port

FAILING: Final = 0.5  # the share of inserts


class ShardReplicas(Replica):
    """All replicas of a cluster.

    Attributes:
        faults: How many inserts have failed, in each way.
        listens_on: Their port, which is that of the cluster for its clients.
    """

    def __init__(self, port: int) -> None:
        super().__init__(port)
        self.faults: Counter[Fault] = Counter()
        self.listens_on = free_port()
        self._kinds: Sequence[Fault] = ()
        self._chance = random.Random()
        self._lock = threading.Lock()

    @contextmanager
    def failing(self, kinds: Sequence[Fault], chance: random.Random) -> Iterator[None]:
        """Let inserts fail in these ways."""
        self.withhold()
        self.faults.clear()
        self._kinds, self._chance = kinds, chance
        try:
            yield
        finally:
            self._kinds = ()
            self.release()

    def next_fault(self) -> Fault:
        with self._lock:
            if not self._kinds or self._chance.random() >= FAILING:
                return "none"
            fault = self._chance.choice(self._kinds)
            self.faults[fault] += 1
            return fault


@contextmanager
def shard_replicas(port: int) -> Iterator[ShardReplicas]:
    """Run the replicas in front of the stand-in at this port."""
    replicas = ShardReplicas(port)
    with serving(replicas, ("127.0.0.1", replicas.listens_on)):
        yield replicas
