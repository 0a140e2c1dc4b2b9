"""The reason why brokers take no requests, for the log of a server."""

from collections.abc import Iterator
from typing import Any

from fanion.accept_log.kafka.topics import Topics, TopicState


def find_failure(topics: Topics, state: TopicState) -> str:
    """Return what is wrong with the brokers, in one line; empty if nothing is by now.

    Args:
        state: What was known of the topics before.
    """
    try:
        found = topics.describe()
        answering = topics.brokers()
    except OSError:
        return (
            f"no broker answers at {topics.address.servers}; a broker whose disk is full stops, "
            "and its own log says so"
        )
    reasons = [
        reason
        for topic, settings in zip(found.values(), state.settings, strict=False)
        for reason in _of_topic(topic, int(settings.get("min.insync.replicas", "1")))
    ]
    of_topics = {
        node.id for topic in found.values() for of in topic.partitions for node in of.replicas
    }
    if away := sorted(of_topics - answering):
        reasons.append(f"brokers that do not answer: {', '.join(map(str, away))}")
    return "; ".join(reasons)


def _of_topic(topic: Any, in_sync_min: int) -> Iterator[str]:
    partitions = topic.partitions
    without = sum(one.leader is None for one in partitions)
    if without:
        yield f"{without} of {len(partitions)} partitions of {topic.name} have no leader"
    lacking = sum(len(one.isr) < in_sync_min for one in partitions) - without
    if lacking > 0:
        yield (
            f"{lacking} of {len(partitions)} partitions of {topic.name} have fewer replicas in "
            f"sync than their min.insync.replicas, {in_sync_min}"
        )
