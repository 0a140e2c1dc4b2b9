"""The installation to which topics belong: the one whose requests they have."""

from time import monotonic

from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as KafkaPartition

from fanion.accept_log.kafka.client import ANSWER_S, client_config, kafka_failures
from fanion.accept_log.kafka.records import ForeignRecord, read_record, topic_name
from fanion.accept_log.kafka.topics import LANES, Topics, TopicState


def are_own(topics: Topics, state: TopicState, installation: str) -> bool:
    """Return whether topics were never written, or by this installation.

    Of topics that were written and have nothing left, that is not known: they count as others'.

    Raises:
        OSError: The brokers do not answer.
    """
    partitions = range(1, state.partitions + 1)
    for historical in LANES:
        starts = topics.starts(partitions, historical=historical)
        ends = topics.ends(partitions, historical=historical)
        written = [partition for partition, end in ends.items() if end]
        if not written:
            continue
        kept = [partition for partition in written if starts[partition] < ends[partition]]
        if not kept:
            return False
        topic = topic_name(topics.address.name, historical=historical)
        places = [KafkaPartition(topic, part - 1, starts[part]) for part in kept]
        if not _are_of(installation, topics, places):
            return False
    return True


def _are_of(installation: str, topics: Topics, places: list[KafkaPartition]) -> bool:
    """Return whether the first record that arrives is this installation's."""
    consumer = Consumer(
        {
            **client_config(topics.address),
            "group.id": f"{topics.address.name}.look",  # which it never joins
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    gives_up = monotonic() + ANSWER_S
    try:
        with kafka_failures():
            consumer.assign(places)
            while monotonic() < gives_up:
                message = consumer.poll(0.2)
                if message is not None and message.error() is None:
                    return read_record(message.value() or b"").installation == installation
    except ForeignRecord:
        return False
    finally:
        consumer.close()
    raise OSError("accept log: the brokers do not answer in time")
