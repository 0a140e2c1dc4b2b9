"""The membership of this process in the consumer group, by which Kafka assigns partitions.

It reads no records: they are read by position, and the positions are not Kafka's.
"""

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

import structlog
from confluent_kafka import OFFSET_END, Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition

from fanion.accept_log.kafka.client import client_config
from fanion.accept_log.kafka.records import topic_name
from fanion.config.kafka import KafkaAddress

# A member that was killed, or is cut off, is taken to be dead after this long.
SESSION_S: Final = 6.0
# A member that does not answer for this long has to join again. So the others wait at most this
# long for a batch to end before they take its partitions.
ANSWER_S: Final = 20.0
GIVE_UP_S: Final = 15.0
_POLL_S: Final = 0.2


def group_name(address: KafkaAddress) -> str:
    return f"{address.name}.ingest"


class GroupMember:
    """A member of the group of all processes that ingest.

    Args:
        on_change: Called in the event loop when `assigned` or `revoked` has changed.

    Attributes:
        is_silent: Whether the member lets the others take its partitions.
    """

    def __init__(self, address: KafkaAddress, on_change: Callable[[], None]) -> None:
        self._address = address
        self._on_change = on_change
        self._loop = asyncio.get_running_loop()
        self._assigned: frozenset[int] = frozenset()
        self._revoked: frozenset[int] = frozenset()
        self._given_up = threading.Event()
        self._is_ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kafka-group", daemon=True)
        self.is_silent = False
        self._thread.start()

    @property
    def assigned(self) -> frozenset[int]:
        """The partitions that Kafka has assigned to this process, from 1."""
        return self._assigned

    @property
    def revoked(self) -> frozenset[int]:
        """The partitions that Kafka waits for; `give_up` lets it go on."""
        return self._revoked

    def give_up(self) -> None:
        """Let others have what is revoked: this process ingests none of it."""
        self._given_up.set()

    async def leave(self) -> None:
        """Leave the group, so that others take the partitions at once."""
        self._is_ending.set()
        self._given_up.set()
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        consumer = Consumer(
            {
                **client_config(self._address),
                "group.id": group_name(self._address),
                "enable.auto.commit": False,
                "auto.offset.reset": "latest",
                "partition.assignment.strategy": "cooperative-sticky",
                "session.timeout.ms": int(SESSION_S * 1000),
                "heartbeat.interval.ms": int(SESSION_S * 1000) // 4,
                "max.poll.interval.ms": int(ANSWER_S * 1000),
            }
        )
        consumer.subscribe(
            [topic_name(self._address.name, historical=False)],
            on_assign=self._on_assign,
            on_revoke=self._on_revoke,
            on_lost=self._on_lost,
        )
        try:
            while not self._is_ending.is_set():
                if self.is_silent:
                    self._is_ending.wait(_POLL_S)
                    continue
                message = consumer.poll(_POLL_S)
                if message is not None and (error := message.error()) is not None:
                    self._log(error)
        finally:
            consumer.close()
            self._set(frozenset(), frozenset())

    def _on_assign(self, consumer: Any, partitions: list[KafkaPartition]) -> None:
        for partition in partitions:
            partition.offset = OFFSET_END  # nothing is read
        try:
            consumer.incremental_assign(partitions)
            consumer.pause(partitions)
        except KafkaException as error:
            structlog.get_logger().warning("log_group_failed", reason=str(error))
            return
        self._set(self._assigned | _numbers(partitions), self._revoked)

    def _on_revoke(self, consumer: Any, partitions: list[KafkaPartition]) -> None:
        """Let the batch end that has entries of these partitions, but not for ever."""
        numbers = _numbers(partitions)
        self._given_up.clear()
        if not self._is_ending.is_set():
            self._set(self._assigned, numbers)
            self._given_up.wait(GIVE_UP_S)
        self._set(self._assigned - numbers, frozenset())
        consumer.incremental_unassign(partitions)

    def _on_lost(self, consumer: Any, partitions: list[KafkaPartition]) -> None:
        self._set(self._assigned - _numbers(partitions), frozenset())
        consumer.incremental_unassign(partitions)

    def _set(self, assigned: frozenset[int], revoked: frozenset[int]) -> None:
        self._assigned, self._revoked = assigned, revoked
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._on_change)

    def _log(self, error: KafkaError) -> None:
        if error.code() != KafkaError._PARTITION_EOF:
            structlog.get_logger().warning("log_group_failed", reason=error.str())


def _numbers(partitions: Sequence[KafkaPartition]) -> frozenset[int]:
    return frozenset(partition.partition + 1 for partition in partitions)
