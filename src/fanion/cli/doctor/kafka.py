"""The check of an accept log in Kafka for `fanion doctor`."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fanion.accept_log.port import SINGLE, PartitionLag
from fanion.app.accept_logs import kafka_client_required
from fanion.config.kafka import KafkaAddress
from fanion.db.engine import Records
from fanion.ingest.pipeline.group_store import read_topic_ids
from fanion.ingest.pipeline.position_store import HISTORICAL, LANES, committed_positions

if TYPE_CHECKING:  # loaded only where the accept log is in Kafka
    from fanion.accept_log.kafka.topics import Topics

ADVICE_ON_RISK = "Change them with the brokers' tools: docs/kafka.md."
ADVICE_ON_IDS = "Give the log another name in FANION_LOG_URL, or correct one of the URLs."
ADVICE_ON_GONE = "Restore them, if a source has them. Raise the topics' retention."


@dataclass(frozen=True, slots=True)
class Examined:
    """A finding about the topics, and advice if something is wrong, else ""."""

    text: str
    advice: str = ""


async def examine_kafka(address: KafkaAddress, records: Records) -> Examined:
    """Examine the topics and, if they can be read, the positions in them.

    Raises:
        OSError: The brokers do not answer.
        StartRefused: The client for Kafka is not installed, or the brokers are too old.
    """
    with kafka_client_required():
        from fanion.accept_log.kafka.records import positions_prefix
        from fanion.accept_log.kafka.risks import find_risks
        from fanion.accept_log.kafka.topics import Topics
    topics = await asyncio.to_thread(Topics, address)
    state = await asyncio.to_thread(topics.read)
    brokers = await asyncio.to_thread(topics.brokers)
    about = f"{len(brokers)} brokers answer"
    if state is None:
        return Examined(f"{about}; the topics do not exist yet: the first server creates them")
    about = f"{about}, {state.partitions} partitions, {state.replicas} replicas"
    prefix = positions_prefix(address.name)
    ids = await read_topic_ids(records, prefix)
    if ids not in ("", " ".join(state.ids)):
        text = "these topics are not those whose positions are stored"
        return Examined(f"{about}; {text}", ADVICE_ON_IDS)
    if ids and (gone := await _gone(topics, records, prefix)):
        return Examined(f"{about}; {gone} requests were deleted uningested", ADVICE_ON_GONE)
    await asyncio.to_thread(topics.require_leaders)
    about = f"{about}; {await _waiting(topics, records, prefix)}"
    if risks := find_risks(state):
        return Examined(f"{about}; {'; '.join(risks)}", ADVICE_ON_RISK)
    return Examined(about)


async def _waiting(topics: "Topics", records: Records, prefix: str) -> str:
    """Return how many requests wait to be ingested, and where most of them do."""
    lags: list[PartitionLag] = []
    for lane in LANES:
        positions = await committed_positions(records, lane, prefix)
        lags += await asyncio.to_thread(_read_lags, topics, positions, lane == HISTORICAL)
    most = max(lags, key=lambda lag: lag.envelopes, default=None)
    if most is None or not most.envelopes:
        return "nothing waits"
    count = sum(lag.envelopes for lag in lags)
    return (
        f"{count:,} requests wait, most in partition {most.partition} of {most.topic}: "
        f"{most.envelopes:,}"
    )


def _read_lags(
    topics: "Topics", positions: Mapping[int, int], historical: bool
) -> Sequence[PartitionLag]:
    known = {part: position for part, position in positions.items() if part != SINGLE}
    return topics.lags(topics.waiting(known, historical=historical), historical=historical)


async def _gone(topics: "Topics", records: Records, prefix: str) -> int:
    """Return how many requests were not ingested and are deleted."""
    gone = 0
    for lane in LANES:
        positions = await committed_positions(records, lane, prefix)
        gone += await asyncio.to_thread(_count_gone, topics, positions, lane == HISTORICAL)
    return gone


def _count_gone(topics: "Topics", positions: Mapping[int, int], historical: bool) -> int:
    """Count records behind positions that the brokers have deleted, or lost at the end."""
    from fanion.accept_log.kafka.records import next_offset

    starts = topics.starts(positions, historical=historical)
    ends = topics.ends(positions, historical=historical)
    gone = 0
    for partition, position in positions.items():
        offset = next_offset(position, partition, historical=historical)
        if offset:
            gone += max(0, starts[partition] - offset) + max(0, offset - ends[partition])
    return gone
