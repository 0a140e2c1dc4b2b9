"""The sending of records, each acknowledged by the brokers before it counts as written."""

import asyncio
import threading
from collections.abc import Sequence
from functools import partial
from typing import Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from fanion.accept_log.kafka.client import ANSWER_S, client_config, error_of, kafka_failures
from fanion.accept_log.port import AppendSuspended, AppendUnsure
from fanion.config.kafka import KafkaAddress

# As for PostgreSQL: clients of capture time out after 10 to 15 s.
APPEND_S: Final = 4.0
# A report that is later than this tells of a process that was suspended, or had no processor.
LATE_S: Final = 1.5
_POLL_S: Final = 0.2
_CLOSE_S: Final = 5.0

# A record's partition, from 0, and its content.
Placed = tuple[int, bytes]


class _Group:
    """Records that are sent together, and how many of them are not reported yet."""

    def __init__(self, count: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._left = count
        self._error: KafkaError | None = None
        self.offsets = [-1] * count
        self.reported: asyncio.Future[None] = self._loop.create_future()

    @property
    def error(self) -> KafkaError | None:
        return self._error

    def report(self, number: int, error: KafkaError | None, message: Message) -> None:
        """Note what became of a record; called in the thread that polls, or that sends."""
        with self._lock:
            if error is None:
                self.offsets[number] = message.offset() or 0
            else:
                self._error = error
            self._left -= 1
            is_last = not self._left
        if is_last:
            self._loop.call_soon_threadsafe(self._finish)

    def _finish(self) -> None:
        if not self.reported.done():
            self.reported.set_result(None)


class RecordProducer:
    """A producer whose records are written once and in order, on all replicas that count.

    Attributes:
        current: The client that sends, until it fails for good.
    """

    def __init__(self, address: KafkaAddress, record_bytes_max: int) -> None:
        self._config = {
            **client_config(address),
            "enable.idempotence": True,  # with acks=all, and retries that keep the order
            "acks": "all",
            "delivery.timeout.ms": int(APPEND_S * 1000),
            "request.timeout.ms": int(APPEND_S * 1000),
            "linger.ms": 1,  # a group is sent at once
            "compression.type": "lz4",
            "message.max.bytes": record_bytes_max,
            "queue.buffering.max.messages": 20_000,
            "queue.buffering.max.kbytes": 256 * 1024,
        }
        self._is_closed = threading.Event()
        self.current = Producer(self._config)
        self._thread = threading.Thread(target=self._poll, name="kafka-producer", daemon=True)
        self._thread.start()

    def connect(self, topics: Sequence[str]) -> None:
        """Learn the leaders of these topics, so that the first append does not wait for that.

        Raises:
            OSError: The brokers do not answer.
        """
        with kafka_failures():
            for topic in topics:
                self.current.list_topics(topic, ANSWER_S)

    async def send(self, topic: str, records: Sequence[Placed]) -> Sequence[int]:
        """Send records and return the offset of each, once all are written.

        Raises:
            AppendSuspended: The process was suspended meanwhile.
            AppendUnsure: Some may not be written.
        """
        group = _Group(len(records))
        now = asyncio.get_running_loop().time
        late_at = now() + APPEND_S + LATE_S
        producer = self.current
        for number, (partition, value) in enumerate(records):
            _produce(producer, topic, partition, value, partial(group.report, number))
        await group.reported
        if group.error is not None:
            if group.error.fatal():
                await self.replace(producer)
            reason = f"accept log: {group.error.str()}"
            raise AppendSuspended(reason) if now() > late_at else AppendUnsure(reason)
        return group.offsets

    async def replace(self, broken: Producer) -> None:
        """Use another producer than this one, which can never send again."""
        if self.current is broken:
            self.current = Producer(self._config)
            # Appends of the other lane may still wait for its reports.
            await asyncio.to_thread(broken.flush, _CLOSE_S)

    def _poll(self) -> None:
        while not self._is_closed.is_set():
            self.current.poll(_POLL_S)

    def close(self) -> None:
        """Wait for the records on their way, but not for long."""
        self.current.flush(_CLOSE_S)
        self._is_closed.set()
        self._thread.join()


def _produce(
    producer: Producer, topic: str, partition: int, value: bytes, report: "partial[None]"
) -> None:
    try:
        producer.produce(topic, value, partition=partition, on_delivery=report)
    except (KafkaException, BufferError) as error:
        known = error_of(error) if isinstance(error, KafkaException) else None
        report(known or KafkaError(KafkaError._QUEUE_FULL), Message())
