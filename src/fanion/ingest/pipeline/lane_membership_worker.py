"""The partitions that the lanes of a process consume, which change between two batches."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from time import monotonic
from typing import Never

import structlog

from fanion.ingest.pipeline.assignment import Assignment, PartitionChanges, ranges_text
from fanion.ingest.pipeline.position_store import Span

# A batch takes seconds. A worker whose batch takes longer waits for a store that others may reach.
STUCK_S = 30.0


class LaneMembership(ABC):
    """The membership of this process in the workers that ingest, as its lanes see it.

    Attributes:
        partitions: Their number.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._lanes: dict[str, int] = {}  # lane → version of the assignment that it follows
        self._working: dict[str, float] = {}  # lane → when its batch was begun
        self._task: asyncio.Task[Never] | None = None
        self._changed = asyncio.Event()
        self.assignment = Assignment()
        self.partitions = 0

    @asynccontextmanager
    async def joined(self, lane: str) -> AsyncGenerator[None]:
        """Be a member while a lane is consumed. When no lane is, the partitions are released."""
        self._lanes[lane] = 0
        if self._task is None:
            self._task = self._start()
        try:
            yield
        finally:
            del self._lanes[lane]
            if not self._lanes and self._task is not None:
                self._task.cancel()
                with suppress(asyncio.CancelledError):
                    await self._task
                self._task = None
                given_up = sorted(self.assignment.epochs)
                self.assignment = Assignment(self.assignment.version + 1)
                await self._leave(given_up)

    @abstractmethod
    def _start(self) -> "asyncio.Task[Never] | None":
        """Begin to take part; return what runs meanwhile."""

    @abstractmethod
    async def _leave(self, given_up: list[int]) -> None:
        """Release these partitions, and take part no more."""

    @abstractmethod
    def require_current(self, span: Span) -> None:
        """Raise NotLeaseHolder if another worker may be repeating the batch of this span.

        That can be after this process was paused or cut off. Nothing may be inserted then.
        """

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

    async def changed_from(self, version: int) -> None:
        """Wait until the assignment has another version."""
        while self.assignment.version == version:
            self._changed.clear()
            await self._changed.wait()

    def _publish(self, epochs: Mapping[int, int], changes: PartitionChanges) -> None:
        """Make these partitions the ones to ingest, by their epochs."""
        if epochs != self.assignment.epochs or not self.assignment.version:
            log_changes(changes, len(epochs))
            self.assignment = Assignment(self.assignment.version + 1, epochs)
            self._changed.set()

    def _is_stuck(self) -> bool:
        return any(self._clock() - begun > STUCK_S for begun in self._working.values())

    def _is_followed(self) -> bool:
        return all(version == self.assignment.version for version in self._lanes.values())


def log_changes(changes: PartitionChanges, held: int) -> None:
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
