"""Accept logs in Kafka for tests."""

from fanion.accept_log.kafka.log import KafkaLog
from fanion.accept_log.kafka.topics import Topics, TopicState
from fanion.config.kafka import read_kafka_url
from fanion.ingest.partitioning import cut_named
from fanion.ingest.pipeline.batch import named_as_spooled

INSTALLATION = "0b3f6c4e-5d7a-4f2e-9a51-6c8f0d2b7e13"


async def open_kafka_log(url: str, installation: str = INSTALLATION) -> KafkaLog:
    """Open a log whose positions are not kept."""
    log = KafkaLog(read_kafka_url(url), installation, cut_named, named_as_spooled, _adopt)
    await log.state()
    return log


async def _adopt(_: Topics, __: TopicState) -> None:
    """Take over the topics without a look at them."""
