"""The membership of this process in the workers that ingest the accept log in Kafka.

Kafka's consumer group assigns the partitions. The epochs in PostgreSQL refuse the batch of a
worker that has lost one of its partitions without noticing.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from math import inf
from time import monotonic
from typing import Final, Never, Protocol

import structlog

from fanion.db.engine import RecordsUnavailable
from fanion.ingest.pipeline.assignment import PartitionChanges
from fanion.ingest.pipeline.group_store import GroupStore, Taken
from fanion.ingest.pipeline.lane_membership_worker import LaneMembership, log_changes
from fanion.ingest.pipeline.membership_store import MembershipStore
from fanion.ingest.pipeline.position_store import NotLeaseHolder, Span
from fanion.runtime.background import run_loop

LOOK_EVERY_S: Final = 0.4
CONFIRM_EVERY_S: Final = 1.0
# A worker inserts only while its epochs were confirmed this recently. One that takes a partition
# which was not released waits longer: by then the other inserts nothing.
CONFIRMED_S: Final = 3.0
SETTLED_S: Final = 4.0


class Group(Protocol):
    """A membership of Kafka's consumer group; see `GroupMember`."""

    is_silent: bool

    @property
    def assigned(self) -> frozenset[int]: ...
    @property
    def revoked(self) -> frozenset[int]: ...
    def give_up(self) -> None: ...
    async def leave(self) -> None: ...


# Joins the group, and returns the membership, which calls this when it has changed.
Join = Callable[[Callable[[], None]], Group]


class GroupMembership(LaneMembership):
    """The partitions that Kafka assigns to this process, and their epochs.

    Args:
        silent: Ends transactions of processes that are paused.
        count: Returns the number of all partitions, once the brokers answer.
    """

    def __init__(
        self,
        store: GroupStore,
        silent: MembershipStore,
        join: Join,
        count: Callable[[], Awaitable[int]],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        super().__init__(clock)
        self._store = store
        self._silent = silent
        self._join = join
        self._count = count
        self._group: Group | None = None
        self._wake = asyncio.Event()
        self._held: dict[int, int] = {}  # partition → epoch
        self._settled_at: dict[int, float] = {}
        self._confirmed_at = -inf

    def require_current(self, span: Span) -> None:
        silent_s = self._clock() - self._confirmed_at
        if silent_s > CONFIRMED_S:
            raise NotLeaseHolder(f"the partitions were confirmed {silent_s:.1f} s ago")
        if lost := [p for p in span.after if self._held.get(p) != span.epochs[p]]:
            raise NotLeaseHolder(f"another server has taken the partitions {lost}")

    def _start(self) -> "asyncio.Task[Never] | None":
        self._group = self._join(self._wake.set)
        return asyncio.create_task(self._run())

    async def _run(self) -> Never:
        await run_loop(
            self.look,
            LOOK_EVERY_S,
            "log_membership_not_renewed",
            (RecordsUnavailable, OSError),
            wake=self._wake,
        )

    async def look(self) -> None:
        """Take what Kafka has assigned, give up what it revokes, and confirm the rest.

        Raises:
            RecordsUnavailable: The records store failed.
            OSError: The brokers have not answered yet.
        """
        group = self._group
        assert group is not None, "it has joined"
        group.is_silent = self._is_stuck()
        if group.is_silent:
            return
        self.partitions = await self._count()
        wanted = group.assigned - group.revoked
        await self._confirm()
        self._offer(wanted)
        if self._is_followed():
            await self._release(self._held.keys() - wanted)
            if group.revoked and not self._held.keys() & group.revoked:
                group.give_up()
        if missing := wanted - self._held.keys():
            await self._take(missing)
            self._offer(wanted)

    async def _confirm(self) -> None:
        began = self._clock()
        if began < self._confirmed_at + CONFIRM_EVERY_S:
            return
        await self._silent.end_silent_transactions()
        held = await self._store.read_held(self._held)
        self._confirmed_at = began
        self._held = {part: epoch for part, epoch in self._held.items() if held.get(part) == epoch}

    async def _take(self, partitions: Collection[int]) -> None:
        taken: Taken = await self._store.take_partitions(partitions)
        now = self._clock()
        for partition in taken.epochs:
            waits_s = SETTLED_S if partition in taken.unreleased else 0.0
            self._settled_at[partition] = now + waits_s
        self._held |= taken.epochs

    async def _release(self, partitions: Collection[int]) -> None:
        if partitions:
            await self._store.release_partitions(partitions)
            self._held = {p: epoch for p, epoch in self._held.items() if p not in partitions}

    def _offer(self, wanted: Collection[int]) -> None:
        """Let the lanes ingest what is wanted, held and settled."""
        now = self._clock()
        epochs = {
            partition: epoch
            for partition, epoch in sorted(self._held.items())
            if partition in wanted and self._settled_at[partition] <= now
        }
        self._publish(epochs, self._changes(epochs))

    def _changes(self, epochs: Mapping[int, int]) -> PartitionChanges:
        before = self.assignment.epochs
        gone = before.keys() - epochs.keys()
        lost = {p for p, epoch in before.items() if self._held.get(p) != epoch}
        return PartitionChanges(
            taken=sorted(p for p, epoch in epochs.items() if before.get(p) != epoch),
            given_up=sorted(gone - lost),
            lost=sorted(lost),
        )

    async def _leave(self, given_up: list[int]) -> None:
        group, self._group = self._group, None
        held, self._held = self._held, {}
        self._confirmed_at = -inf
        try:
            await self._store.release_partitions(held)
        except RecordsUnavailable as error:
            structlog.get_logger().warning("log_membership_not_ended", reason=str(error))
        else:
            log_changes(PartitionChanges(given_up=given_up), 0)
        if group is not None:
            await group.leave()
