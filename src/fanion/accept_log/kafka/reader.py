"""The reading of one lane from given positions, without a consumer group.

All of it waits for brokers, and runs in one thread, so that nothing here is used by two at once.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from heapq import merge
from itertools import chain, islice
from time import monotonic
from typing import Final

import structlog
from confluent_kafka import Consumer, KafkaError, Message
from confluent_kafka import TopicPartition as KafkaPartition

from fanion.accept_log.kafka.client import client_config, kafka_failures
from fanion.accept_log.kafka.records import (
    ForeignRecord,
    decode_record,
    empty_envelope,
    entry_id,
    next_offset,
    topic_name,
)
from fanion.accept_log.kafka.topics import Offsets, Topics
from fanion.accept_log.port import LogEntry, Positions

READ_S: Final = 10.0  # for what is known to be there
WAIT_S: Final = 0.25  # for what may come
_PREFETCHED_KB: Final = 32 * 1024
_MESSAGES_MAX: Final = 2_000


@dataclass(slots=True)
class _Window:
    """The records of a partition that were fetched and may be returned.

    Attributes:
        begin: The offset from which it has all records that there are.
        next: The offset behind it.
    """

    begin: int
    next: int
    entries: "deque[LogEntry]" = field(default_factory=deque)


class LaneReader:
    """A reader of one lane."""

    def __init__(self, topics: Topics, installation: str, *, historical: bool) -> None:
        self._topics = topics
        self._installation = installation
        self._historical = historical
        self._topic = topic_name(topics.address.name, historical=historical)
        self._consumer: Consumer | None = None
        self._windows: dict[int, _Window] = {}
        self._gaps: set[tuple[int, int]] = set()  # offsets that are known to be missing
        self._is_misplaced = False

    def read(
        self, after: Positions, envelopes_max: int, bytes_max: int, upto: Positions | None
    ) -> list[LogEntry]:
        """Return the next entries; see `port.AcceptLog.read`.

        Raises:
            OSError: The brokers do not answer.
        """
        with kafka_failures():
            self._follow(after)
            received = 1
            while received and not self._has(envelopes_max, bytes_max):
                received = self._receive(0.0)
            if upto is not None or not self._is_filled():
                self._fetch_known(after, upto)
            return self._taken(after, envelopes_max, bytes_max, upto)

    def wait(self, after: Positions) -> bool:
        """Wait for a moment; return whether there is an entry behind these positions.

        Raises:
            OSError: The brokers do not answer.
        """
        with kafka_failures():
            self._follow(after)
            if not self._is_filled():
                self._receive(WAIT_S)
            return self._is_filled()

    def first_entries(self, after: Positions) -> Mapping[int, LogEntry]:
        """Return the first entry of each of these partitions, which all have one.

        Raises:
            OSError: The brokers do not answer.
        """
        gives_up = monotonic() + READ_S
        with kafka_failures():
            self._follow(after)
            while not all(window.entries for window in self._windows.values()):
                self._receive(WAIT_S)
                self._require_in_time(gives_up)
        return {number: window.entries[0] for number, window in self._windows.items()}

    def close(self) -> None:
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None

    def _follow(self, after: Positions) -> None:
        """Forget what is behind these positions, and go to those that are elsewhere."""
        wanted = {
            partition: next_offset(position, partition, historical=self._historical)
            for partition, position in after.items()
        }
        if self._covers(wanted):
            for partition, offset in wanted.items():
                self._forget(partition, offset, after[partition])
        else:
            self._windows = {part: _Window(offset, offset) for part, offset in wanted.items()}
            self._is_misplaced = True
        if self._is_misplaced:
            self._assign()

    def _covers(self, wanted: Offsets) -> bool:
        if self._windows.keys() != wanted.keys():
            return False
        return all(
            window.begin <= wanted[partition] <= window.next
            for partition, window in self._windows.items()
        )

    def _forget(self, partition: int, offset: int, after: int) -> None:
        window = self._windows[partition]
        window.begin = offset
        while window.entries and window.entries[0].id <= after:
            window.entries.popleft()

    def _assign(self) -> None:
        """Let records be fetched that follow those that were."""
        starts = self._topics.starts(self._windows, historical=self._historical)
        ends = self._topics.ends(self._windows, historical=self._historical)
        assigned = []
        for partition, window in self._windows.items():
            start, end = starts[partition], ends[partition]
            if window.next < start:
                self._note_gone(partition, window.next, start)
                window.next = start
            if window.next > end:
                self._note_gone(partition, end, window.next)
            offset = min(window.next, end)
            assigned.append(KafkaPartition(self._topic, partition - 1, offset))
        self._open().assign(assigned)
        self._is_misplaced = False

    def _note_gone(self, partition: int, offset: int, upto: int) -> None:
        """Log that records are gone; at the beginning of a log it is not known of any."""
        if offset:
            structlog.get_logger().error(
                "log_records_gone", topic=self._topic, partition=partition - 1, offset=offset,
                count=upto - offset,
            )  # fmt: skip

    def _open(self) -> Consumer:
        if self._consumer is None:
            self._consumer = Consumer(
                {
                    **client_config(self._topics.address),
                    "group.id": f"{self._topics.address.name}.read",  # which it never joins
                    "enable.auto.commit": False,
                    "enable.auto.offset.store": False,
                    "auto.offset.reset": "error",
                    "queued.max.messages.kbytes": _PREFETCHED_KB,
                    "fetch.wait.max.ms": 100,
                    "fetch.error.backoff.ms": 100,
                    "check.crcs": True,
                }
            )
        return self._consumer

    def _is_filled(self) -> bool:
        return any(window.entries for window in self._windows.values())

    def _has(self, envelopes_max: int, bytes_max: int) -> bool:
        """Return whether as much was fetched as a batch may hold."""
        if sum(len(window.entries) for window in self._windows.values()) >= envelopes_max:
            return True
        entries = chain.from_iterable(window.entries for window in self._windows.values())
        return sum(len(entry.envelope.body) for entry in entries) >= bytes_max

    def _fetch_known(self, after: Positions, upto: Positions | None) -> None:
        """Fetch until there is an entry, or all up to `upto`, unless there are no more.

        Raises:
            OSError: What is there does not arrive.
        """
        ends = self._topics.ends(after, historical=self._historical)
        if upto is not None:
            ends = {part: min(end, self._offset_behind(part, upto)) for part, end in ends.items()}
        gives_up = monotonic() + READ_S
        while any(self._windows[part].next < end for part, end in ends.items()):
            if upto is None and self._is_filled():
                return
            self._receive(WAIT_S)
            self._require_in_time(gives_up)

    def _offset_behind(self, partition: int, upto: Positions) -> int:
        return next_offset(upto[partition], partition, historical=self._historical)

    def _require_in_time(self, gives_up: float) -> None:
        if monotonic() > gives_up:
            raise OSError(f"accept log: {self._topic} has records that do not arrive")

    def _receive(self, wait_s: float) -> int:
        """Take over messages that have arrived, and return their number."""
        messages = self._open().consume(_MESSAGES_MAX if not wait_s else 1, wait_s)
        if wait_s and messages:
            messages += self._open().consume(_MESSAGES_MAX, 0.0)
        for message in messages:
            self._take(message)
        if self._is_misplaced:
            self._assign()
        return len(messages)

    def _take(self, message: Message) -> None:
        error = message.error()
        if error is not None:
            # Others pass, or show in what does not arrive.
            if error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
                self._is_misplaced = True
            return
        number, offset = message.partition(), message.offset()
        assert number is not None and offset is not None, "it is no error"
        partition = number + 1
        window = self._windows.get(partition)
        if window is None or offset < window.next or self._is_misplaced:
            return
        if offset > window.next and (partition, window.next) not in self._gaps:
            # Records are missing, or this one was fetched for an earlier position: look again.
            self._gaps.add((partition, window.next))
            self._is_misplaced = True
            return
        window.next = offset + 1
        window.entries.append(self._entry(partition, offset, message))

    def _entry(self, partition: int, offset: int, message: Message) -> LogEntry:
        historical = self._historical
        number = entry_id(offset, partition, historical=historical)
        try:
            value = message.value() or b""
            envelope = decode_record(value, self._installation, historical=historical)
        except ForeignRecord as error:
            structlog.get_logger().error(
                "log_record_foreign", topic=self._topic, partition=partition - 1, offset=offset,
                reason=str(error),
            )  # fmt: skip
            envelope = empty_envelope(message.timestamp()[1], historical=historical)
        return LogEntry(number, envelope, partition=partition)

    def _taken(
        self, after: Positions, envelopes_max: int, bytes_max: int, upto: Positions | None
    ) -> list[LogEntry]:
        """Return entries by their time of acceptance, those of a partition in its order."""
        parts = [
            [
                entry
                for entry in window.entries
                if entry.id > after[part] and (upto is None or entry.id <= upto[part])
            ]
            for part, window in self._windows.items()
        ]
        taken: list[LogEntry] = []
        size = 0
        for entry in islice(merge(*parts, key=_order), envelopes_max):
            size += len(entry.envelope.body)
            if taken and size > bytes_max:
                break
            taken.append(entry)
        return taken


def _order(entry: LogEntry) -> tuple[datetime, int]:
    return entry.envelope.received_at, entry.id
