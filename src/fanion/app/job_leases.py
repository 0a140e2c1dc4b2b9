"""Leases of background loops that only one server runs at a time.

When that server stops or dies, another one continues. Unlike the claims of `db/due_work` a lease is
held for as long as the server lives, by the clock of PostgreSQL (decision 23).
"""

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
from fanion.db.schema.servers import job_leases
from fanion.runtime.background import BackgroundTask, run_loop
from fanion.runtime.failure_log import FailureLog

# A server that has not renewed its lease for this long is taken to be dead, or has stopped the
# loop.
LEASE_S: Final = 15.0
RENEW_S: Final = LEASE_S / 3
RETRY_S: Final = 1.0  # while the store cannot be reached
UNREAD: Final = "job_lease_unread"

_lease = job_leases.c


@dataclass(frozen=True, slots=True)
class JobLeases:
    """The leases of background loops in PostgreSQL.

    PostgreSQL's clock decides when a lease ends, so the servers' clocks need not agree.

    Attributes:
        holder: Identifies this server.
    """

    records: Records
    holder: str = field(default_factory=lambda: uuid4().hex)
    lease_s: float = LEASE_S
    renew_s: float = RENEW_S
    failures: FailureLog = field(default_factory=lambda: FailureLog(UNREAD))

    async def run(self, name: str, task: BackgroundTask) -> None:
        """Run the task while this server holds the lease named `name`, until cancelled."""
        await run_loop(
            partial(self._turn, name, task),
            self.renew_s,
            UNREAD,
            (RecordsUnavailable,),
            retry_s=RETRY_S,
            failures=self.failures,
        )

    async def claim(self, name: str) -> bool:
        """Take or renew the lease, and return False while another server holds it.

        Raises:
            RecordsUnavailable: The store does not answer.
        """
        until = func.now() + timedelta(seconds=self.lease_s)
        async with self.records.write() as connection:
            statement = upsert(connection.dialect, job_leases).values(
                name=name, holder=self.holder, held_until=until
            )
            is_claimable = or_(_lease.held_until <= func.now(), _lease.holder == self.holder)
            result = await connection.execute(
                statement.on_conflict_do_update(
                    index_elements=["name"],
                    set_={"holder": self.holder, "held_until": until},
                    where=is_claimable,
                )
            )
            return result.rowcount == 1

    async def release(self, name: str) -> None:
        """Release the lease.

        Raises:
            RecordsUnavailable: The store does not answer; the lease then expires by itself.
        """
        own = _lease.name == name, _lease.holder == self.holder
        async with self.records.write() as connection:
            await connection.execute(delete(job_leases).where(*own))

    async def _turn(self, name: str, task: BackgroundTask) -> None:
        requested_at = monotonic()
        if not await self.claim(name):
            return
        structlog.get_logger().info("job_lease_taken", job=name)
        running = asyncio.ensure_future(task())
        try:
            await self._hold(name, running, requested_at)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            with suppress(RecordsUnavailable):
                await self.release(name)

    async def _hold(
        self, name: str, running: "asyncio.Future[None]", last_requested_at: float
    ) -> None:
        """Renew the lease until the task ends or the lease is lost.

        Args:
            last_requested_at: When the lease was last requested, by the monotonic clock.
        """
        while True:
            await asyncio.wait({running}, timeout=self.renew_s)
            if running.done():
                return running.result()
            requested_at = monotonic()
            try:
                async with asyncio.timeout(
                    max(0.0, last_requested_at + self.lease_s - requested_at)
                ):
                    if not await self.claim(name):
                        return None
            except RecordsUnavailable:
                continue
            except TimeoutError:
                return None
            last_requested_at = requested_at
