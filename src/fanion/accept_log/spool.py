"""The spool of a server, as each of its processes uses it.

Captures that PostgreSQL or Kafka does not take are kept in a file on this machine's disk, and are
sent on afterwards. While the spool holds anything, later captures follow it there, so that the
captures of a server stay in order.
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Final, Protocol

import structlog
from msgspec import structs

from fanion.accept_log.group_commit import GroupCommit, GroupCommitLog
from fanion.accept_log.port import AppendSuspended, AppendUnsure, Envelope
from fanion.processes.shared_counters import WORD_BYTES, spool_words

# How often a capture looks whether the spool has been emptied, and how many times at most.
PAUSE_POLL_S: Final = 0.002
PAUSE_POLLS_MAX: Final = 250
# Added to the time of acceptance of an envelope that may be in the log already. Ingestion takes the
# same time for the same envelope, and another one for a client's repetition, which it drops.
_LATER: Final = timedelta(microseconds=1)

_SENT, _PAUSED, _FIRST = range(3)
SERVER: Final = 0  # the number of the process that sends the spool on

# Returns whether each item of a body has a UUID, by which ingestion recognizes a repetition.
AreNamed = Callable[[bytes], bool]


class SpoolSwitch:
    """A switch that sends captures to the spool, for all processes of a server.

    Each process counts what it has written to the spool before it answers that. The process that
    sends the spool on notes the sum of these counts up to which everything is sent. While the two
    differ, captures go to the spool: so none passes another one that was answered before.
    """

    def __init__(self) -> None:
        self._words = memoryview(bytearray(spool_words(0) * WORD_BYTES)).cast("Q")
        self._own = _FIRST

    def share(self, words: memoryview, process: int) -> None:
        """Keep the counts in memory that the other processes see.

        Args:
            process: The number of this process; what `SERVER` has counted so far is kept.
        """
        if process == SERVER:
            words[: len(self._words)] = self._words
        self._words, self._own = words, _FIRST + process

    @property
    def is_on(self) -> bool:
        return self.written != self._words[_SENT]

    @property
    def is_paused(self) -> bool:
        """Return whether captures wait for a moment, because the spool is almost empty."""
        return self._words[_PAUSED] != 0

    @property
    def written(self) -> int:
        """The sum of the counts of all processes."""
        return sum(self._words[_FIRST:])

    def count(self) -> None:
        """Count what this process has written, or that the log does not take captures."""
        self._words[self._own] += 1

    def sent(self, written: int) -> None:
        """Note that everything that was counted in this sum is sent."""
        self._words[_SENT] = written

    def pause(self, is_paused: bool) -> None:
        self._words[_PAUSED] = is_paused


class Committing(Protocol):
    """A log that writes groups of envelopes; see `GroupCommitLog.commit`."""

    async def commit(self, envelopes: Sequence[Envelope], *, historical: bool) -> Sequence[int]: ...


class CommittingLog(Committing, Protocol):
    """A log that its readers watch by lane."""

    def lane(self, historical: bool) -> GroupCommit: ...

    async def require_fits(self, envelopes: Sequence[Envelope]) -> None: ...


class SpooledLog(GroupCommitLog):
    """The accept log for captures: the shared log, or the spool while that does not take them.

    Args:
        log: The shared log; None while it has not been reached since the start.
    """

    def __init__(
        self,
        log: CommittingLog | None,
        spool: Committing,
        switch: SpoolSwitch,
        are_named: AreNamed,
    ) -> None:
        super().__init__()
        self._log = log
        self._spool = spool
        self._switch = switch
        self._are_named = are_named

    async def commit(self, envelopes: Sequence[Envelope], *, historical: bool) -> Sequence[int]:
        """Write a group and return its ids in the log or in the spool.

        Raises:
            EnvelopeTooLarge: The log never takes one of them; nothing was written.
            LogFull: The log or the spool is full; nothing was written.
            AppendSuspended: This process was suspended; the log may have stored the group.
            OSError: Neither takes the group, or the log may have stored it and it cannot be
                recognized.
        """
        await self._pause()
        if self._log is not None and not self._switch.is_on:
            try:
                ids = await self._log.commit(envelopes, historical=historical)
            except AppendSuspended:  # which says nothing about the log
                raise
            except OSError as error:
                self._turn_on(error)
                if isinstance(error, AppendUnsure):
                    envelopes = await self._as_repetitions(envelopes, error)
            else:
                self._log.lane(historical).note_appended(ids[-1])
                return ids
        if self._log is not None:
            await self._log.require_fits(envelopes)
        ids = await self._spool.commit(envelopes, historical=historical)
        self._switch.count()
        return ids

    async def _pause(self) -> None:
        """Wait while the last captures in the spool are being sent, but not for long."""
        for _ in range(PAUSE_POLLS_MAX):
            if not self._switch.is_paused:
                return
            await asyncio.sleep(PAUSE_POLL_S)

    def _turn_on(self, error: OSError) -> None:
        if not self._switch.is_on:
            structlog.get_logger().warning("capture_spools", reason=str(error))
        self._switch.count()

    async def _as_repetitions(
        self, envelopes: Sequence[Envelope], error: AppendUnsure
    ) -> Sequence[Envelope]:
        """Return envelopes that are dropped if the log has stored them after all.

        Raises:
            AppendUnsure: Items without a UUID would then be stored twice. Their client may repeat
                them.
        """
        are_named = (self._are_named(envelope.body) for envelope in envelopes)
        if not await asyncio.to_thread(all, are_named):
            raise error
        return [structs.replace(e, received_at=e.received_at + _LATER) for e in envelopes]
