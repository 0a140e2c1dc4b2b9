"""The membership of this process in the workers that ingest the accept log in PostgreSQL."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from math import inf
from time import monotonic
from typing import Never

import structlog

from fanion.db.engine import RecordsUnavailable
from fanion.ingest.pipeline.assignment import (
    Assignment,
    Holding,
    PartitionChanges,
    holdings_to_keep,
    partition_changes,
    partitions_to_take,
    ranges_text,
)
from fanion.ingest.pipeline.membership_store import LOST_S, Group, MembershipStore
from fanion.ingest.pipeline.position_store import NotLeaseHolder
from fanion.runtime.background import run_loop

RENEW_EVERY_S = 2.0
LOOK_EVERY_S = 0.4  # a released partition is taken within a second
# Time left before others may take this worker to be dead; an insert sent by then is not too late.
LATE_S = 1.0
# A batch takes seconds. A worker whose batch takes longer waits for a store that others may reach.
STUCK_S = 30.0


class Membership:
    """The balancing of the partitions among workers, between batches.

    It does nothing in SQLite, where one process ingests.

    Attributes:
        partitions: Their number.
    """

    def __init__(self, store: MembershipStore, clock: Callable[[], float] = monotonic) -> None:
        self._store = store
        self._is_shared = store.records.dialect == "postgresql"
        self._clock = clock
        self._lanes: dict[str, int] = {}  # lane → version of the assignment that it follows
        self._working: dict[str, float] = {}  # lane → when its batch was begun
        self._task: asyncio.Task[Never] | None = None
        self._renewed_at = -inf
        self._changed = asyncio.Event()
        self.assignment = Assignment()
        self.partitions = 0

    @asynccontextmanager
    async def joined(self, lane: str) -> AsyncGenerator[None]:
        """Be a member while a lane is consumed. When no lane is, the partitions are released."""
        self._lanes[lane] = 0
        if self._task is None and self._is_shared:
            self._task = asyncio.create_task(self._run())
        try:
            yield
        finally:
            del self._lanes[lane]
            if not self._lanes and self._task is not None:
                await self._leave(self._task)

    def follow(self, lane: str, assignment: Assignment) -> None:
        """Record that a lane follows an assignment.

        It has given up what it consumed before, and repeated the claimed batches.
        """
        self._lanes[lane] = assignment.version

    @contextmanager
    def working(self, lane: str) -> Iterator[None]:
        """Mark a lane as ingesting a batch."""
        self._working[lane] = self._clock()
        try:
            yield
        finally:
            del self._working[lane]

    def require_current(self) -> None:
        """Raise NotLeaseHolder if another worker may be repeating this one's batch.

        That can be after this process was paused or cut off. Nothing may be inserted then.
        """
        silent_s = self._clock() - self._renewed_at
        if self._is_shared and silent_s > LOST_S - LATE_S:
            raise NotLeaseHolder(f"the membership was renewed {silent_s:.1f} s ago")

    async def changed_from(self, version: int) -> None:
        """Wait until the assignment has another version."""
        while self.assignment.version == version:
            self._changed.clear()
            await self._changed.wait()

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
            self._publish(own, own)

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
        self._publish(self._own(group), kept)

    def _publish(self, own: list[Holding], kept: list[Holding]) -> None:
        """Make the partitions that this worker keeps the ones to ingest.

        Args:
            own: All that it holds.
        """
        epochs = {holding.partition: holding.epoch for holding in kept}
        if epochs != self.assignment.epochs or not self.assignment.version:
            _log_changes(partition_changes(self.assignment.epochs, own, kept), len(epochs))
            self.assignment = Assignment(self.assignment.version + 1, epochs)
            self._changed.set()

    def _is_stuck(self) -> bool:
        return any(self._clock() - begun > STUCK_S for begun in self._working.values())

    def _is_followed(self) -> bool:
        return all(version == self.assignment.version for version in self._lanes.values())

    def _own(self, group: Group) -> list[Holding]:
        return [holding for holding in group.holdings if holding.holder == self._store.worker]

    def _is_assigned(self, holding: Holding) -> bool:
        return self.assignment.epochs.get(holding.partition) == holding.epoch

    def _has_lost(self, group: Group) -> bool:
        held = sum(self._is_assigned(holding) for holding in self._own(group))
        return held < len(self.assignment.epochs)

    async def _leave(self, task: "asyncio.Task[Never]") -> None:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        self._task, self._renewed_at = None, -inf
        given_up = sorted(self.assignment.epochs)
        self.assignment = Assignment(self.assignment.version + 1)
        try:
            await self._store.leave_group()
        except RecordsUnavailable as error:
            structlog.get_logger().warning("log_membership_not_ended", reason=str(error))
        else:
            _log_changes(PartitionChanges(given_up=given_up), 0)


def _log_changes(changes: PartitionChanges, held: int) -> None:
    """Log which partitions were taken, given up and lost.

    Args:
        held: How many this server has now.
    """
    log = structlog.get_logger()
    for write, event, partitions in (
        (log.warning, "log_partitions_lost", changes.lost),
        (log.info, "log_partitions_given_up", changes.given_up),
        (log.info, "log_partitions_taken", changes.taken),
    ):
        if partitions:
            count = len(partitions)
            write(event, partitions=ranges_text(partitions), count=count, held=held)
