"""The accept log as two topics of a Kafka cluster, for any number of processes.

A request is one record for each partition that its items belong to, so that the items of a distinct
id stay in order. Records are never deleted here: the brokers do that by age.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from itertools import accumulate, chain
from time import monotonic
from typing import Final, TypeVar

import structlog
from msgspec import structs

from fanion.accept_log.kafka.failures import find_failure
from fanion.accept_log.kafka.producer import APPEND_S, Placed, RecordProducer
from fanion.accept_log.kafka.reader import LaneReader
from fanion.accept_log.kafka.records import (
    HISTORICAL,
    LIVE,
    OVERHEAD_BYTES,
    encode_record,
    entry_id,
    positions_prefix,
    topic_name,
)
from fanion.accept_log.kafka.topics import LANES, Topics, TopicState
from fanion.accept_log.port import (
    AppendSuspended,
    AppendUnsure,
    Backlog,
    Envelope,
    EnvelopeTooLarge,
    LogEntry,
    Positions,
)
from fanion.accept_log.shared import SharedLog
from fanion.config.kafka import KafkaAddress
from fanion.errors import StartRefused

# Larger groups of bodies are encoded in a thread: compressing a MB takes some milliseconds.
ENCODE_HERE_BYTES_MAX: Final = 64 * 1024
LOOK_AGAIN_S: Final = 1.0  # for topics that could not be read
EXPLAIN_AGAIN_S: Final = 30.0  # why the brokers take nothing
# A spooled request gets a time of acceptance that is later by less than a millisecond, another
# one each time it is sent. Ingestion drops what comes twice.
_SHIFT_US_MAX: Final = 999

T = TypeVar("T")
# Splits an envelope into one for each partition that its items belong to; partitions count from 1.
# Some of these may be appended and others not.
Cut = Callable[[Envelope, int], Sequence[tuple[int, Envelope]]]
# Returns a spooled request whose items all have the ids that belong to the entry of that spool.
Name = Callable[[str, LogEntry], Envelope]
# Requires that the topics are those of this installation, and keeps positions for them.
Adopt = Callable[[Topics, TopicState], Awaitable[None]]


class KafkaLog(SharedLog):
    """The accept log in Kafka, as one process uses it.

    Args:
        adopt: Called with the topics before anything is written or read.
    """

    def __init__(
        self, address: KafkaAddress, installation: str, cut: Cut, name: Name, adopt: Adopt
    ) -> None:
        super().__init__()
        self._topics = Topics(address)
        self._name = address.name
        self.installation = installation
        self._cut = cut
        self._name_items = name
        self._adopt = adopt
        self._state: TopicState | None = None
        self._looking = asyncio.Lock()
        self._looked_at = -LOOK_AGAIN_S
        self._failure = OSError("accept log: the topics are not known yet")
        self._producer: RecordProducer | None = None
        self._readers = {
            lane: LaneReader(self._topics, installation, historical=lane) for lane in (False, True)
        }
        self._threads = {
            lane: ThreadPoolExecutor(1, f"kafka-{LIVE if not lane else HISTORICAL}")
            for lane in (False, True)
        }
        # What the brokers are asked may take seconds while they are away. Other work has threads.
        self._asking = ThreadPoolExecutor(2, "kafka-ask")
        self._random = random.Random()
        self._explaining: asyncio.Task[None] | None = None
        self._explained_at = -EXPLAIN_AGAIN_S

    @property
    def positions_prefix(self) -> str:
        return positions_prefix(self._name)

    @property
    def partitions(self) -> int:
        """Their number; 0 while the brokers have not answered."""
        return 0 if self._state is None else self._state.partitions

    async def open(self) -> None:
        """Look at the topics, at the start of a server, which goes on without the brokers.

        Raises:
            StartRefused: The topics are not this installation's.
        """
        try:
            await self.known_state()
        except OSError as error:
            if isinstance(error.__cause__, StartRefused):
                raise error.__cause__ from None
            structlog.get_logger().error("accept_log_unavailable", reason=str(error))

    async def state(self) -> TopicState:
        """Return what is known of the topics, which are created if they are missing.

        Raises:
            OSError: The brokers do not answer, or the topics are not this installation's.
        """
        if self._state is None:
            async with self._looking:
                if self._state is None:
                    await self._look()
        assert self._state is not None
        return self._state

    async def read(
        self,
        after: Positions,
        envelopes_max: int,
        bytes_max: int,
        *,
        historical: bool = False,
        upto: Positions | None = None,
    ) -> Sequence[LogEntry]:
        """Return a lane's next entries by their time of acceptance; see `port.AcceptLog.read`."""
        await self.state()
        read = self._readers[historical].read
        return await self._run(historical, partial(read, after, envelopes_max, bytes_max, upto))

    async def trim(self, upto: Positions, *, historical: bool = False) -> None:
        """Do nothing: the brokers delete records by their age."""

    async def backlog(self, after: Positions, *, historical: bool = False) -> Backlog:
        """Return what is not ingested yet; its bytes are estimated from a few requests."""
        await self.state()
        waiting = await self._ask(partial(self._topics.waiting, after, historical=historical))
        lags = self._topics.lags(waiting, historical=historical)
        behind = {part: after[part] for part, count in waiting.items() if count}
        if not behind:
            return Backlog(0, 0, None, lags)
        found = await self._ask(partial(self._first_entries, behind, historical))
        first = list(found.values())
        count = sum(waiting[part] for part in behind)
        size = sum(len(entry.envelope.body) + OVERHEAD_BYTES for entry in first) // len(first)
        oldest = min(entry.envelope.received_at for entry in first)
        return Backlog(count, count * size, oldest, lags)

    async def appended(self, after: Positions, *, historical: bool = False) -> None:
        await self.state()
        wait = self._readers[historical].wait
        has_more = False
        while not has_more:
            has_more = await self._run(historical, partial(wait, after))

    async def close(self) -> None:
        await self.close_lanes()
        if self._explaining is not None:
            self._explaining.cancel()
        if self._producer is not None:
            await asyncio.to_thread(self._producer.close)
        for lane, thread in self._threads.items():
            await self._run(lane, self._readers[lane].close)
            thread.shutdown()
        self._asking.shutdown(wait=False)

    async def commit(self, envelopes: Sequence[Envelope], *, historical: bool) -> Sequence[int]:
        """Append a group, and return the ids once all brokers that count have it.

        Raises:
            EnvelopeTooLarge: The brokers do not take one of them; nothing was appended.
            AppendSuspended: The append was late, because this process was suspended.
            AppendUnsure: Some may be appended.
            OSError: Nothing was appended.
        """
        await self.known_state()
        groups = await self._encoded(envelopes)
        ids = await self._send(groups, historical)
        ends = accumulate(len(records) for records in groups)
        return [ids[end - 1] for end in ends]

    async def require_fits(self, envelopes: Sequence[Envelope]) -> None:
        """Require that the brokers will take these envelopes, as far as that is known.

        Raises:
            EnvelopeTooLarge: They do not take one of them.
        """
        if self._state is not None:
            await self._encoded(envelopes)

    async def append_spooled(
        self, spool: str, entries: Sequence[LogEntry], *, historical: bool
    ) -> None:
        """Append entries of a spool.

        Of entries that are appended again ingestion drops the items, which have the same ids.

        Raises:
            OSError: The brokers fail; some may be appended.
        """
        await self.known_state()
        shift = timedelta(microseconds=self._random.randint(1, _SHIFT_US_MAX))

        def named() -> list[Envelope]:
            envelopes = [self._name_items(spool, entry) for entry in entries]
            return [structs.replace(e, received_at=e.received_at + shift) for e in envelopes]

        try:
            groups = await self._encoded(await asyncio.to_thread(named))
        except EnvelopeTooLarge as error:
            raise OSError(
                f"accept log: {error}; raise max.message.bytes of the topics, and restart"
            ) from error
        ids = await self._send(groups, historical)
        self.lane(historical).note_appended(max(ids))

    async def ping(self) -> None:
        """Ask whether every partition takes records.

        Raises:
            OSError: The brokers do not answer, or a partition has no leader.
        """
        await self.state()
        await self._ask(self._topics.require_leaders)

    async def known_state(self) -> TopicState:
        """Return what is known of the topics, before an append gives up.

        Raises:
            OSError: They are not known in time.
        """
        if self._state is not None:
            return self._state
        try:
            async with asyncio.timeout(APPEND_S):
                return await self.state()
        except TimeoutError:
            raise OSError("accept log: the brokers do not answer") from None

    async def _look(self) -> None:
        if monotonic() < self._looked_at + LOOK_AGAIN_S:
            raise self._failure
        try:
            state = await self._ask(self._topics.open)
            await self._adopt(self._topics, state)
            if self._producer is None:
                self._producer = RecordProducer(self._topics.address, state.record_bytes_max)
            names = [topic_name(self._name, historical=lane) for lane in LANES]
            await self._ask(partial(self._producer.connect, names))
        except OSError as error:
            self._failure, self._looked_at = error, monotonic()
            raise
        except StartRefused as error:
            self._failure, self._looked_at = OSError(f"accept log: {error}"), monotonic()
            raise self._failure from error
        self._state = state

    async def _encoded(self, envelopes: Sequence[Envelope]) -> list[list[Placed]]:
        """Return the records of each envelope.

        Raises:
            EnvelopeTooLarge: The brokers do not take one of them.
        """
        assert self._state is not None, "the topics are known"
        partitions, most = self._state.partitions, self._state.record_bytes_max

        def encode() -> list[list[Placed]]:
            return [
                [
                    (partition - 1, encode_record(piece, self.installation))
                    for partition, piece in self._cut(envelope, partitions)
                ]
                for envelope in envelopes
            ]

        if sum(len(envelope.body) for envelope in envelopes) <= ENCODE_HERE_BYTES_MAX:
            groups = encode()
        else:
            groups = await asyncio.to_thread(encode)
        size = max(len(value) for records in groups for _, value in records) + OVERHEAD_BYTES
        if size > most:
            raise EnvelopeTooLarge(size, most)
        return groups

    async def _send(self, groups: Sequence[Sequence[Placed]], historical: bool) -> list[int]:
        assert self._producer is not None, "the topics are known"
        topic = topic_name(self._name, historical=historical)
        records = list(chain.from_iterable(groups))
        try:
            offsets = await self._producer.send(topic, records)
        except AppendSuspended:  # which says nothing about the brokers
            raise
        except AppendUnsure:
            self._explain()
            raise
        return [
            entry_id(offset, partition + 1, historical=historical)
            for (partition, _), offset in zip(records, offsets, strict=True)
        ]

    def _explain(self) -> None:
        """Log what is wrong with the brokers, without keeping captures waiting."""
        if monotonic() > self._explained_at + EXPLAIN_AGAIN_S:
            self._explained_at = monotonic()
            self._explaining = asyncio.create_task(self._find_failure())

    async def _find_failure(self) -> None:
        state = await self.state()
        if reason := await self._ask(partial(find_failure, self._topics, state)):
            structlog.get_logger().error("accept_log_unavailable", reason=reason)

    async def _run(self, historical: bool, work: Callable[[], T]) -> T:
        """Run what uses a lane's reader in its thread, one after another."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads[historical], work)

    async def _ask(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._asking, work)

    def _first_entries(self, after: Positions, historical: bool) -> dict[int, LogEntry]:
        reader = LaneReader(self._topics, self.installation, historical=historical)
        try:
            return dict(reader.first_entries(after))
        finally:
            reader.close()
