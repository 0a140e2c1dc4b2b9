"""The worker that makes the tables of an event store on a cluster.

One server makes them, for all: each statement runs on every host of the cluster, in the order in
which Keeper has taken them. The other servers wait until the tables of their version are there.
"""

import asyncio
from dataclasses import dataclass, field
from typing import Final, Never

from fanion.db.engine import Records, RecordsUnavailable
from fanion.errors import SchemaRefused, StartRefused
from fanion.events.event import EventStoreUnavailable
from fanion.events.ownership_store import read_installation
from fanion.events.storage.client import Engine
from fanion.events.storage.cluster import cluster_problems, make_cluster_tables
from fanion.runtime.background import run_loop
from fanion.runtime.failure_log import FailureLog

# A host that was added to the cluster gets its tables within this time.
EVERY_S: Final = 60.0
RETRY_S: Final = 2.0
_FAILURES: Final = (EventStoreUnavailable, RecordsUnavailable, SchemaRefused, StartRefused)


@dataclass(frozen=True, slots=True)
class ClusterTablesWorker:
    """The worker that makes the tables, and those of hosts that are added.

    It also tells in the log what is wrong with the cluster.
    """

    records: Records
    engine: Engine
    health: FailureLog = field(default_factory=lambda: FailureLog("event_cluster_unhealthy"))

    async def run(self) -> Never:
        """Make what is missing regularly, until cancelled."""
        await run_loop(self.make, EVERY_S, "event_tables_not_made", _FAILURES, retry_s=RETRY_S)

    async def make(self) -> None:
        """Make the tables that are missing.

        Raises:
            EventStoreUnavailable: The engine does not answer, or a host of the cluster does not.
            SchemaRefused: Another version has made the tables.
            StartRefused: Retrying will not help.
            RecordsUnavailable: The records store failed.
        """
        installation = await read_installation(self.records)
        await asyncio.to_thread(make_cluster_tables, self.engine, installation)
        if found := await asyncio.to_thread(cluster_problems, self.engine):
            self.health.failed("; ".join(found))
        else:
            self.health.succeeded()
