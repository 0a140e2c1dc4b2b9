"""Settings of topics that risk acknowledged requests are found."""

from dataclasses import replace

import pytest

from fanion.accept_log.kafka.risks import find_risks
from fanion.accept_log.kafka.topics import TopicState

SAFE_TOPIC = {
    "min.insync.replicas": "2",
    "unclean.leader.election.enable": "false",
    "cleanup.policy": "delete",
    "retention.ms": "604800000",
    "retention.bytes": "-1",
}
SAFE = TopicState(
    partitions=32,
    ids=("a", "b"),
    record_bytes_max=10**6,
    replicas=3,
    settings=(SAFE_TOPIC, SAFE_TOPIC),
)


def test_what_fanion_creates_risks_nothing() -> None:
    assert find_risks(SAFE) == []


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("min.insync.replicas", "1"),
        ("unclean.leader.election.enable", "true"),
        ("cleanup.policy", "compact,delete"),
        ("retention.ms", "3600000"),
        ("retention.bytes", "1073741824"),
    ],
)
def test_a_setting_that_risks_requests_is_named(setting: str, value: str) -> None:
    topic = {**SAFE_TOPIC, setting: value}

    [of_both] = find_risks(replace(SAFE, settings=(topic, topic)))
    [of_live] = find_risks(replace(SAFE, settings=(topic, SAFE_TOPIC)))
    [of_historical] = find_risks(replace(SAFE, settings=(SAFE_TOPIC, topic)))

    assert of_both.startswith(f"{setting} {value}:")
    assert of_live == f"live: {of_both}"
    assert of_historical == f"historical: {of_both}"


def test_one_replica_and_few_partitions_are_named() -> None:
    found = find_risks(replace(SAFE, replicas=1, partitions=3))

    assert [risk.split(":")[0] for risk in found] == ["replicas 1", "partitions 3"]
