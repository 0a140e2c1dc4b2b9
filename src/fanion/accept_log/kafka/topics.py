"""The two topics of a log in Kafka: their creation, what is known of them, and their offsets.

Everything here waits for brokers, and is called in threads.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic, sleep
from typing import Any, Final

import structlog
from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection, Uuid
from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, OffsetSpec, ResourceType

from fanion.accept_log.kafka.client import (
    ANSWER_S,
    answered,
    client_config,
    code_of,
    result_of,
    text_of,
)
from fanion.accept_log.kafka.records import next_offset, topic_name
from fanion.accept_log.port import PartitionLag, Positions
from fanion.config.kafka import KafkaAddress
from fanion.errors import StartRefused

LANES: Final = (False, True)
AGAIN_S: Final = 0.1  # between attempts
_DAY_MS: Final = 86_400_000
# What a request may have at most; compressed, it takes less.
RECORD_BYTES_MAX: Final = 20 * 1024**2
_DEFAULT_RECORD_BYTES: Final = 1_048_588

_NO_ID: Final = str(Uuid(0, 0))

Offsets = Mapping[int, int]  # by partition, from 1


@dataclass(frozen=True, slots=True)
class TopicState:
    """The known properties of the topics.

    Attributes:
        partitions: The number of each topic's partitions.
        ids: The brokers' own ids of the topics, live and historical. A topic that is deleted and
            created again has another one.
        record_bytes_max: The largest record that both take.
        replicas: The smallest number of replicas of a partition.
        settings: The configuration of each topic, live and historical.
    """

    partitions: int
    ids: tuple[str, str]
    record_bytes_max: int
    replicas: int
    settings: tuple[Mapping[str, str], Mapping[str, str]]


class Topics:
    """The topics of one log.

    Raises:
        StartRefused: The client refuses the URL.
    """

    def __init__(self, address: KafkaAddress) -> None:
        self.address: Final = address
        try:
            self._admin = AdminClient(client_config(address))
        except KafkaException as error:  # such as a file of certificates that is missing
            raise StartRefused(f"FANION_LOG_URL cannot be used: {text_of(error)}") from None

    def open(self) -> TopicState:
        """Create the topics that are missing, and return what is known of them.

        Raises:
            OSError: The brokers do not answer, or refuse.
            StartRefused: They are too old.
        """
        found = self.describe()
        if missing := [lane for lane in LANES if lane not in found]:
            self._create(missing, max((len(one.partitions) for one in found.values()), default=0))
            found = self._created()
        return self._state(found)

    def read(self) -> TopicState | None:
        """Return what is known of the topics; None if one is missing.

        Raises:
            OSError: The brokers do not answer.
            StartRefused: They are too old.
        """
        found = self.describe()
        return self._state(found) if len(found) == len(LANES) else None

    def require_leaders(self) -> None:
        """Require that every partition takes records.

        Raises:
            OSError: The brokers do not answer, or a partition has no leader.
        """
        for lane, topic in self.describe().items():
            without = [one.id for one in topic.partitions if one.leader is None]
            if without:
                name = topic_name(self.address.name, historical=lane)
                raise OSError(f"accept log: partitions without a leader in {name}: {without}")

    def ends(self, partitions: Iterable[int], *, historical: bool) -> Offsets:
        """Return the offset behind the last record of each partition.

        Raises:
            OSError: A broker does not answer.
        """
        return self._offsets(partitions, OffsetSpec.latest(), historical)

    def starts(self, partitions: Iterable[int], *, historical: bool) -> Offsets:
        """Return the offset of the first record that each partition still has.

        Raises:
            OSError: A broker does not answer.
        """
        return self._offsets(partitions, OffsetSpec.earliest(), historical)

    def waiting(self, positions: Positions, *, historical: bool) -> Mapping[int, int]:
        """Return how many records of each partition are behind its position.

        Raises:
            OSError: A broker does not answer.
        """
        ends = self.ends(positions, historical=historical)
        return {
            part: max(0, ends[part] - next_offset(position, part, historical=historical))
            for part, position in positions.items()
        }

    def lags(self, waiting: Mapping[int, int], *, historical: bool) -> tuple[PartitionLag, ...]:
        """Return what waits in each partition, by the brokers' own names."""
        name = topic_name(self.address.name, historical=historical)
        return tuple(PartitionLag(name, part - 1, waiting[part]) for part in sorted(waiting))

    def since(self, partitions: Iterable[int], at_ms: int, *, historical: bool) -> Offsets:
        """Return the offset of the first record at or after a time, of partitions that have one.

        Raises:
            OSError: A broker does not answer.
        """
        spec = OffsetSpec.for_timestamp(at_ms)
        found = self._offsets(partitions, spec, historical)
        return {partition: offset for partition, offset in found.items() if offset >= 0}

    def brokers(self) -> set[int]:
        """Return the ids of the living brokers.

        Raises:
            OSError: None answers.
        """
        found = result_of(self._admin.describe_cluster(request_timeout=ANSWER_S))
        return {node.id for node in found.nodes}

    def _offsets(self, partitions: Iterable[int], spec: Any, historical: bool) -> Offsets:
        topic = topic_name(self.address.name, historical=historical)
        wanted = {KafkaPartition(topic, partition - 1): spec for partition in partitions}
        gives_up = monotonic() + ANSWER_S
        while wanted:
            found = self._admin.list_offsets(
                wanted, isolation_level=IsolationLevel.READ_UNCOMMITTED, request_timeout=ANSWER_S
            )
            try:
                return {key.partition + 1: result_of(one).offset for key, one in found.items()}
            except OSError:  # for example while a partition gets another leader
                if monotonic() > gives_up:
                    raise
            sleep(AGAIN_S)
            self._forget_leaders(topic)
        return {}

    def _forget_leaders(self, topic: str) -> None:
        """Ask for the leaders of a topic again.

        The client keeps a former leader, or its epoch, for minutes after it was refused for that.
        """
        with suppress(KafkaException):  # the next attempt says what is wrong
            self._admin.list_topics(topic, ANSWER_S)

    def describe(self) -> dict[bool, Any]:
        """Return the brokers' descriptions of the topics that exist, by lane.

        Raises:
            OSError: The brokers do not answer.
        """
        names = {topic_name(self.address.name, historical=lane): lane for lane in LANES}
        futures = self._admin.describe_topics(
            TopicCollection(list(names)), request_timeout=ANSWER_S
        )
        found = {}
        for name, future in futures.items():
            try:
                found[names[name]] = future.result(ANSWER_S + 1)
            except KafkaException as error:
                if code_of(error) != KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise OSError(f"accept log: {text_of(error)}") from error
        return found

    def _created(self) -> dict[bool, Any]:
        """Return the descriptions of both topics, once every broker knows them.

        Raises:
            OSError: They do not in time.
        """
        gives_up = monotonic() + ANSWER_S
        while len(found := self.describe()) < len(LANES):
            if monotonic() > gives_up:
                raise OSError("accept log: the brokers do not know the topics that they created")
            sleep(AGAIN_S)
        return found

    def _create(self, lanes: Iterable[bool], partitions: int) -> None:
        address = self.address
        topics = [
            NewTopic(
                topic_name(address.name, historical=lane),
                num_partitions=partitions or address.partitions,
                replication_factor=address.replicas,
                config=_new_config(address),
            )
            for lane in lanes
        ]
        futures = self._admin.create_topics(topics, operation_timeout=ANSWER_S)
        for name, future in futures.items():
            try:
                future.result(ANSWER_S + 1)
            except KafkaException as error:
                if code_of(error) != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise OSError(
                        f"accept log: the topic {name} cannot be created: {text_of(error)}"
                    ) from error
            else:
                structlog.get_logger().info("log_topic_created", topic=name)

    def _state(self, found: Mapping[bool, Any]) -> TopicState:
        counts = {lane: len(topic.partitions) for lane, topic in found.items()}
        if len(set(counts.values())) != 1:
            raise OSError(
                f"accept log: the topics of {self.address.name} have different numbers of "
                f"partitions: {counts[False]} live, {counts[True]} historical"
            )
        settings = self._settings()
        return TopicState(
            counts[False],
            topic_ids([found[lane].topic_id for lane in LANES]),
            min(int(of.get("max.message.bytes", _DEFAULT_RECORD_BYTES)) for of in settings),
            min(len(one.replicas) for topic in found.values() for one in topic.partitions),
            settings,
        )

    def _settings(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        resources = [
            ConfigResource(ResourceType.TOPIC, topic_name(self.address.name, historical=lane))
            for lane in LANES
        ]
        read = answered(
            self._admin.describe_configs(resources, request_timeout=ANSWER_S),
            lambda entries: {name: entry.value for name, entry in entries.items()},
        )
        live, historical = (read[resource] for resource in resources)
        return live, historical


def topic_ids(ids: Sequence[Uuid]) -> tuple[str, str]:
    """Return the ids of the topics as text, live and historical.

    Raises:
        StartRefused: The brokers give no ids. Topics that are deleted and created again, in which
            positions mean something else, could not be told from the former ones.
    """
    live, historical = map(str, ids)
    if _NO_ID in (live, historical):
        raise StartRefused(
            "FANION_LOG_URL: the brokers give topics no ids, as Kafka does since version 2.8"
        )
    return live, historical


def _new_config(address: KafkaAddress) -> dict[str, str]:
    return {
        "retention.ms": str(address.retention_days * _DAY_MS),
        "retention.bytes": "-1",
        "cleanup.policy": "delete",
        # A record is acknowledged when all replicas have it but one that may be away.
        "min.insync.replicas": str(max(1, address.replicas - 1)),
        "unclean.leader.election.enable": "false",
        "max.message.bytes": str(RECORD_BYTES_MAX),
        "compression.type": "producer",
        # When they were written, for `fanion ingestion replay`.
        "message.timestamp.type": "LogAppendTime",
    }
