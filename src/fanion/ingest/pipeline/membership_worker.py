"""The membership of this process in the workers that ingest the accept log in PostgreSQL."""

import asyncio
from collections.abc import Callable
from math import inf
from time import monotonic
from typing import Never

import structlog

from fanion.db.engine import RecordsUnavailable
from fanion.ingest.pipeline.assignment import (
    Holding,
    PartitionChanges,
    holdings_to_keep,
    partition_changes,
    partitions_to_take,
)
from fanion.ingest.pipeline.lane_membership_worker import LaneMembership, log_changes
from fanion.ingest.pipeline.membership_store import LOST_S, Group, MembershipStore
from fanion.ingest.pipeline.position_store import NotLeaseHolder, Span
from fanion.runtime.background import run_loop

RENEW_EVERY_S = 2.0
LOOK_EVERY_S = 0.4  # a released partition is taken within a second
# Time left before others may take this worker to be dead; an insert sent by then is not too late.
LATE_S = 1.0


class Membership(LaneMembership):
    """The balancing of the partitions among workers, between batches.

    It does nothing in SQLite, where one process ingests.
    """

    def __init__(self, store: MembershipStore, clock: Callable[[], float] = monotonic) -> None:
        super().__init__(clock)
        self._store = store
        self._is_shared = store.records.dialect == "postgresql"
        self._renewed_at = -inf

    def require_current(self, span: Span) -> None:
        silent_s = self._clock() - self._renewed_at
        if self._is_shared and silent_s > LOST_S - LATE_S:
            raise NotLeaseHolder(f"the membership was renewed {silent_s:.1f} s ago")

    def _start(self) -> "asyncio.Task[Never] | None":
        return asyncio.create_task(self._run()) if self._is_shared else None

    async def _run(self) -> Never:
        await run_loop(self.look, LOOK_EVERY_S, "log_membership_not_renewed", (RecordsUnavailable,))

    async def look(self) -> None:
        """Renew the membership, and take or give up partitions.

        Neither is done while a batch is stuck, so that other workers take over.

        Raises:
            RecordsUnavailable: The records store failed.
        """
        if self._is_stuck():
            return
        if self._clock() >= self._renewed_at + RENEW_EVERY_S:
            began = self._clock()
            await self._store.renew_membership()
            self._renewed_at = began
            await self._store.end_silent_transactions()
        group = await self._store.read_group()
        self.partitions = len(group.holdings)
        if self._is_followed():
            await self._balance(group)
        elif self._has_lost(group):
            own = self._own(group)
            self._publish_held(own, own)

    async def _balance(self, group: Group) -> None:
        own = self._own(group)
        if released := [holding.partition for holding in own if not self._is_assigned(holding)]:
            await self._store.release_partitions(released)
            group = await self._store.read_group()
        if partitions_to_take(group.holdings, self._store.worker, group.workers):
            while await self._store.take_partitions():
                pass
            group = await self._store.read_group()
        kept = holdings_to_keep(group.holdings, self._store.worker, group.workers)
        self._publish_held(self._own(group), kept)

    def _publish_held(self, own: list[Holding], kept: list[Holding]) -> None:
        """Make the partitions that this worker keeps the ones to ingest.

        Args:
            own: All that it holds.
        """
        epochs = {holding.partition: holding.epoch for holding in kept}
        self._publish(epochs, partition_changes(self.assignment.epochs, own, kept))

    def _own(self, group: Group) -> list[Holding]:
        return [holding for holding in group.holdings if holding.holder == self._store.worker]

    def _is_assigned(self, holding: Holding) -> bool:
        return self.assignment.epochs.get(holding.partition) == holding.epoch

    def _has_lost(self, group: Group) -> bool:
        held = sum(self._is_assigned(holding) for holding in self._own(group))
        return held < len(self.assignment.epochs)

    async def _leave(self, given_up: list[int]) -> None:
        self._renewed_at = -inf
        try:
            await self._store.leave_group()
        except RecordsUnavailable as error:
            structlog.get_logger().warning("log_membership_not_ended", reason=str(error))
        else:
            log_changes(PartitionChanges(given_up=given_up), 0)
