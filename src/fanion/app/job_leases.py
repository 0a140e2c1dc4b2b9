"""Leases of background loops that one server alone runs: when it stops, or dies, another one
continues."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from time import monotonic
from typing import Final
from uuid import uuid4

import structlog
from sqlalchemy import delete, func, or_

from fanion.db.bulk import upsert
from fanion.db.engine import Records, RecordsUnavailable
from fanion.db.lease import Lease
from fanion.db.schema.servers import job_leases
from fanion.runtime.background import BackgroundTask, run_loop
from fanion.runtime.failure_log import FailureLog

# A server that has not renewed a lease for so long is taken to be dead, or has stopped the loop.
LEASE_S: Final = 15.0
RENEW_S: Final = LEASE_S / 3
RETRY_S: Final = 1.0  # while the store is away
UNREAD: Final = "job_lease_unread"

_lease = job_leases.c
_LEASE = Lease(_lease.held_until, _lease.holder)


@dataclass(frozen=True, slots=True)
class JobLeases:
    """On PostgreSQL, whose clock decides: those of the servers need not agree.

    holder: names this server
    """

    records: Records
    holder: str = field(default_factory=lambda: uuid4().hex)
    lease_s: float = LEASE_S
    renew_s: float = RENEW_S
    failures: FailureLog = field(default_factory=lambda: FailureLog(UNREAD))

    async def run(self, name: str, task: BackgroundTask) -> None:
        """Run the task while this server holds the lease of that name, until cancelled."""
        await run_loop(
            partial(self._turn, name, task),
            self.renew_s,
            UNREAD,
            (RecordsUnavailable,),
            retry_s=RETRY_S,
            failures=self.failures,
        )

    async def take(self, name: str) -> bool:
        """Take the lease, or renew it; False while another server has it.

        raises: RecordsUnavailable
        """
        until = func.now() + timedelta(seconds=self.lease_s)
        async with self.records.write() as connection:
            taken = upsert(connection.dialect, job_leases).values(
                name=name, holder=self.holder, held_until=until
            )
            mine = or_(_lease.held_until <= func.now(), _LEASE.is_held_by(self.holder))
            done = await connection.execute(
                taken.on_conflict_do_update(
                    index_elements=["name"],
                    set_={"holder": self.holder, "held_until": until},
                    where=mine,
                )
            )
            return done.rowcount == 1

    async def release(self, name: str) -> None:
        """raises: RecordsUnavailable; the lease expires by itself then"""
        own = _lease.name == name, _LEASE.is_held_by(self.holder)
        async with self.records.write() as connection:
            await connection.execute(delete(job_leases).where(*own))

    async def _turn(self, name: str, task: BackgroundTask) -> None:
        asked = monotonic()
        if not await self.take(name):
            return
        structlog.get_logger().info("job_lease_taken", job=name)
        running = asyncio.ensure_future(task())
        try:
            await self._hold(name, running, asked)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            with suppress(RecordsUnavailable):
                await self.release(name)

    async def _hold(self, name: str, running: "asyncio.Future[None]", taken: float) -> None:
        """Until the task ends or the lease is lost. taken: when it was asked for last"""
        while True:
            await asyncio.wait({running}, timeout=self.renew_s)
            if running.done():
                return running.result()
            asked = monotonic()
            try:
                async with asyncio.timeout(max(0.0, taken + self.lease_s - asked)):
                    if not await self.take(name):
                        return None
            except RecordsUnavailable:
                continue
            except TimeoutError:
                return None
            taken = asked
