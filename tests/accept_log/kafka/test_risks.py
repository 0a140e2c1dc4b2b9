"""Settings of topics that risk acknowledged requests are found."""

from dataclasses import replace

import pytest

from fanion.accept_log.kafka.risks import find_risks
from fanion.accept_log.kafka.topics import TopicState

SAFE = TopicState(
    partitions=32,
    ids=("a", "b"),
    record_bytes_max=10**6,
    replicas=3,
    settings={
        "min.insync.replicas": "2",
        "unclean.leader.election.enable": "false",
        "cleanup.policy": "delete",
        "retention.ms": "604800000",
        "retention.bytes": "-1",
    },
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
    [risk] = find_risks(replace(SAFE, settings={**SAFE.settings, setting: value}))

    assert risk.startswith(f"{setting} {value}:")


def test_one_replica_and_few_partitions_are_named() -> None:
    found = find_risks(replace(SAFE, replicas=1, partitions=3))

    assert [risk.split(":")[0] for risk in found] == ["replicas 1", "partitions 3"]
