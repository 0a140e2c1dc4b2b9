"""Group commit: all appends that arrive during a commit share the next one."""

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from fanion.accept_log.port import Completion, Envelope, LogFull

WAITING_MAX = 20_000  # appends in one lane; half a second at the rate of one core
WAITING_BYTES_MAX = 256 * 1024**2  # bodies waiting in memory, in one lane
GROUP_MAX = 1_000  # envelopes; beyond this number an append gets no cheaper
GROUP_BYTES_MAX = 4 * 1024**2  # bodies; compressing and writing them takes about 30 ms

# Writes a group and returns its ids in the same order. Raises LogFull or OSError if nothing was
# written.
Commit = Callable[[Sequence[Envelope]], Awaitable[Sequence[int]]]

_Waiting = tuple[Envelope, Completion]


class GroupCommit:
    """The appends of one lane of a log."""

    def __init__(self, commit: Commit) -> None:
        self._commit = commit
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[_Waiting] = deque()
        self._waiting_bytes = 0
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False
        self.last = 0  # the last id that this process has appended, or was told of
        self._previous_size = 0  # envelopes of the last group
        self._has_appended = asyncio.Event()

    def append(self, envelope: Envelope) -> "asyncio.Future[int]":
        """Return a future that is done when the envelope is durable.

        Raises:
            LogFull: Too many appends are waiting.
            OSError: The log is closed.
        """
        future: asyncio.Future[int] = self._loop.create_future()
        self.append_for(future, envelope)
        return future

    def append_for(self, completion: Completion, envelope: Envelope) -> None:
        """Append an envelope and report to the completion instead of returning a future.

        Raises:
            LogFull: Too many appends are waiting.
            OSError: The log is closed.
        """
        if self._is_closed:
            raise OSError("the accept log is closed")
        if len(self._waiting) >= WAITING_MAX or self._waiting_bytes > WAITING_BYTES_MAX:
            raise LogFull(f"{len(self._waiting)} appends are already waiting to be written")
        self._waiting.append((envelope, completion))
        self._waiting_bytes += len(envelope.body)
        if self._task is None:
            # The task starts in the next turn of the loop, so that all of this turn's appends share
            # a commit.
            self._task = self._loop.create_task(self._commit_all())

    def note_appended(self, last: int) -> None:
        """Note that the lane has an entry with this id."""
        self.last = max(self.last, last)
        self._has_appended.set()

    async def appended(self, after: int) -> None:
        """Wait until this process has appended an id > after, or was told of one."""
        while self.last <= after:
            self._has_appended.clear()
            await self._has_appended.wait()

    async def close(self) -> None:
        self._is_closed = True
        if self._task is not None:
            await self._task

    async def _commit_all(self) -> None:
        try:
            while self._waiting:
                if group := self._take_group():
                    await self._commit_group(group)
        finally:
            self._task = None

    def _take_group(self) -> list[_Waiting]:
        """Remove and return the next group, without appends whose callers no longer wait."""
        group: list[_Waiting] = []
        group_bytes = 0
        # A group takes half of the pending appends. While it is written, clients from the previous
        # group send their next append. If one group took all of them, all clients would wait for
        # the disk at the same time, and then all for this process.
        group_max = min(GROUP_MAX, (len(self._waiting) + self._previous_size + 1) // 2)
        while self._waiting and len(group) < group_max and group_bytes < GROUP_BYTES_MAX:
            waiting = self._waiting.popleft()
            body_bytes = len(waiting[0].body)
            self._waiting_bytes -= body_bytes
            if not waiting[1].done():
                group.append(waiting)
                group_bytes += body_bytes
        self._previous_size = len(group)
        return group

    async def _commit_group(self, group: list[_Waiting]) -> None:
        try:
            ids = await self._commit([envelope for envelope, _ in group])
        except (LogFull, OSError) as error:
            _fail(group, error)
        except Exception as error:
            # An envelope that cannot be written must not fail the others in its group.
            if len(group) == 1:
                _fail(group, error)
                return
            for waiting in group:
                await self._commit_group([waiting])
        except BaseException:
            _fail(group, OSError("the accept log was stopped"))
            raise
        else:
            # Answering is deferred until the next group has been sent, so that the store works
            # meanwhile.
            self._loop.call_soon(self._complete, group, ids)

    def _complete(self, group: list[_Waiting], ids: Sequence[int]) -> None:
        for (_, completion), entry_id in zip(group, ids, strict=True):
            if not completion.done():
                completion.set_result(entry_id)
        self.note_appended(ids[-1])


def _fail(group: Sequence[_Waiting], error: Exception) -> None:
    for _, completion in group:
        if not completion.done():
            completion.set_exception(error)


class GroupCommitLog(ABC):
    """The appending half of an accept log: a group commit for each lane."""

    def __init__(self) -> None:
        self._live = GroupCommit(partial(self.commit, historical=False))
        self._historical = GroupCommit(partial(self.commit, historical=True))

    @abstractmethod
    async def commit(self, envelopes: Sequence[Envelope], *, historical: bool) -> Sequence[int]:
        """Write a group and return its ids in the same order.

        Raises:
            LogFull: A limit is reached; nothing was written.
            OSError: The store failed; nothing was written, except perhaps if it is an AppendUnsure.
        """

    def append(self, envelope: Envelope) -> Awaitable[int]:
        """Return the envelope's id once it is durable; see `port.Appender`."""
        return self.lane(envelope.historical).append(envelope)

    def append_for(self, completion: Completion, envelope: Envelope) -> None:
        """Append an envelope and report to the completion; see `port.Appender`."""
        lane = self._historical if envelope.historical else self._live
        lane.append_for(completion, envelope)

    def lane(self, historical: bool) -> GroupCommit:
        return self._historical if historical else self._live

    async def close_lanes(self) -> None:
        """Write the pending appends and refuse later ones (OSError)."""
        await self._live.close()
        await self._historical.close()
