"""The opening of the accept log: a file, tables of PostgreSQL, or topics of Kafka."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import structlog

from fanion.accept_log.port import AcceptLog
from fanion.accept_log.shared import SharedLog
from fanion.accept_log.spool import SpooledLog
from fanion.accept_log.spool_folder import Spool
from fanion.accept_log.sqlite import open_sqlite_log
from fanion.config import Settings
from fanion.config.kafka import KafkaAddress
from fanion.db.engine import Records, RecordsUnavailable
from fanion.errors import StartRefused
from fanion.events.ownership_store import read_installation
from fanion.ingest.items import are_named
from fanion.ingest.partitioning import cut, cut_named
from fanion.ingest.pipeline.position_store import ingested_upto

if TYPE_CHECKING:  # loaded only where they are used
    from fanion.accept_log.kafka.log import Adopt, KafkaLog
    from fanion.accept_log.kafka.topics import Topics, TopicState

_NO_CLIENT = "FANION_LOG_URL needs the package confluent-kafka: install fanion[kafka]."


async def open_log(settings: Settings, records: Records) -> AcceptLog:
    """Open the accept log: in Kafka if it is named, else where the records are.

    Raises:
        OSError: The log cannot be opened.
        RecordsUnavailable: The records store does not answer.
        StartRefused: The log belongs to another installation.
    """
    bytes_max = settings.accept_log_bytes_max
    if settings.kafka is not None:
        return await _open_kafka_log(settings.kafka, records)
    if records.dialect == "postgresql":
        from fanion.accept_log.postgres import open_postgres_log

        return await open_postgres_log(settings.records_url, bytes_max=bytes_max, cut=cut)
    return await open_sqlite_log(
        settings.accept_log_path,
        bytes_max=bytes_max,
        after=await ingested_upto(records),
        shared=settings.answering > 1,
        installation=str((await read_installation(records)).id),
    )


async def _open_kafka_log(address: KafkaAddress, records: Records) -> "KafkaLog":
    installation = str((await read_installation(records)).id)
    log = kafka_log(address, installation, partial(_adopt, records, installation))
    try:
        await log.open()
    except BaseException:
        await log.close()
        raise
    return log


def kafka_log(address: KafkaAddress, installation: str, adopt: "Adopt | None" = None) -> "KafkaLog":
    """Return a log in Kafka.

    Args:
        adopt: None in a process of a server that has looked at the topics.

    Raises:
        StartRefused: The client for Kafka is not installed, or refuses the URL.
    """
    # A process of a server without Kafka loads nothing more.
    from fanion.ingest.pipeline.batch import named_as_spooled

    with kafka_client_required():
        from fanion.accept_log.kafka.log import KafkaLog
    return KafkaLog(address, installation, cut_named, named_as_spooled, adopt or _adopted)


@contextmanager
def kafka_client_required() -> Iterator[None]:
    """Refuse to go on if an import fails because the client for Kafka is not installed."""
    try:
        yield
    except ImportError as error:
        if error.name != "confluent_kafka":
            raise
        raise StartRefused(_NO_CLIENT) from None


async def _adopt(
    records: Records, installation: str, topics: "Topics", state: "TopicState"
) -> None:
    """Keep positions for topics, in which nothing may be another installation's.

    Raises:
        OSError: The brokers or the records store do not answer.
        WrongTopics: They are not this installation's.
    """
    from fanion.accept_log.kafka.ownership import are_own
    from fanion.accept_log.kafka.records import positions_prefix
    from fanion.accept_log.kafka.risks import find_risks
    from fanion.ingest.pipeline.group_store import note_topics, read_topic_ids

    prefix = positions_prefix(topics.address.name)
    try:
        is_known = bool(await read_topic_ids(records, prefix))
        own = is_known or await asyncio.to_thread(are_own, topics, state, installation)
        await note_topics(records, prefix, state.ids, state.partitions, are_own=own)
    except RecordsUnavailable as error:
        raise OSError(f"accept log: {error}") from error
    for risk in find_risks(state):
        structlog.get_logger().warning("accept_log_at_risk", setting=risk)


async def _adopted(_: "Topics", __: "TopicState") -> None:
    """Use topics that the server has looked at."""


async def open_spooled_log(records: Records, log: AcceptLog, spool: Spool) -> SpooledLog:
    """Return the log for captures, and let the spool send to the log.

    Raises:
        RecordsUnavailable: The records store does not answer.
    """
    assert isinstance(log, SharedLog)
    spool.attach(log, str((await read_installation(records)).id))
    return SpooledLog(log, spool, spool.switch, are_named)
