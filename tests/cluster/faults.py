"""Faults of a cluster while it works. Each one returns when the whole cluster works again."""

import asyncio
import os
import random
import signal
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from tests.cluster.installation import Cluster, Member
from tests.support.faketime import RIGHT, clock_off_by

Fault = Callable[[Cluster, random.Random], Awaitable[None]]

CUT_S: Final = 3.0
CLOCK_S: Final = 30


async def kill_ingester(cluster: Cluster, chance: random.Random) -> None:
    await _kill(cluster.ingesting(chance))


async def kill_server(cluster: Cluster, chance: random.Random) -> None:
    await _kill(cluster.serving(chance))


async def kill_all(cluster: Cluster, chance: random.Random) -> None:
    await asyncio.gather(*(_kill(member) for member in cluster.members))


async def _kill(member: Member) -> None:
    await asyncio.to_thread(member.server.kill)
    await member.start()


async def terminate_ingester(cluster: Cluster, chance: random.Random) -> None:
    member = cluster.ingesting(chance)
    await member.stop()
    await member.start()


async def pause_ingester(cluster: Cluster, chance: random.Random) -> None:
    """Pause an ingesting server for less than its leases last, and for longer."""
    for seconds in (5.0, 20.0):
        await _pause(cluster.ingesting(chance), seconds)


async def pause_server(cluster: Cluster, chance: random.Random) -> None:
    await _pause(cluster.serving(chance), 5.0)


async def _pause(member: Member, seconds: float) -> None:
    os.kill(member.server.pid, signal.SIGSTOP)
    try:
        await asyncio.sleep(seconds)
    finally:
        os.kill(member.server.pid, signal.SIGCONT)


async def cut_from_postgresql(cluster: Cluster, chance: random.Random) -> None:
    for member in (cluster.ingesting(chance), cluster.serving(chance)):
        member.records.connect_to(None)
        await asyncio.sleep(CUT_S)
        member.records.connect_to(cluster.postgres.primary.port)


async def cut_from_events(cluster: Cluster, chance: random.Random) -> None:
    member = cluster.ingesting(chance)
    member.events.connect_to(None)
    await asyncio.sleep(CUT_S)
    member.events.connect_to(cluster.clickhouse.port)


async def crash_postgresql(cluster: Cluster, chance: random.Random) -> None:
    await asyncio.to_thread(cluster.postgres.primary.crash)
    await asyncio.to_thread(cluster.postgres.primary.start)


async def promote_standby(cluster: Cluster, chance: random.Random) -> None:
    await asyncio.to_thread(cluster.postgres.promote)
    cluster.connect_to_primary()
    await asyncio.to_thread(cluster.postgres.add_standby)


async def turn_clocks(cluster: Cluster, chance: random.Random) -> None:
    """Set one ingester's clock ahead and the other's back, while one of them is killed."""
    first, second = (member for member in cluster.members if not member.serves_clients)
    for member, shift in ((first, CLOCK_S), (second, -CLOCK_S)):
        await member.stop()
        await member.start(**clock_off_by(shift))
    await _kill(chance.choice((first, second)))
    for member in (first, second):
        await member.stop()
        await member.start(**RIGHT)


FAULTS: Final[Mapping[str, Fault]] = {
    fault.__name__: fault
    for fault in (
        kill_ingester,
        kill_server,
        kill_all,
        terminate_ingester,
        pause_ingester,
        pause_server,
        cut_from_postgresql,
        cut_from_events,
        crash_postgresql,
        promote_standby,
        turn_clocks,
    )
}
# Faults in which a server that clients use cannot reach PostgreSQL.
WITHOUT_POSTGRESQL: Final = {
    fault.__name__ for fault in (cut_from_postgresql, crash_postgresql, promote_standby)
}
