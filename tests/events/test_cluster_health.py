"""The state of a ClickHouse cluster, and how what is wrong is said."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from clickhouse_connect.driver.client import Client

from fanion.cli.doctor.stores import cluster_finding
from fanion.events.storage.client import engine_at
from fanion.events.storage.cluster_health import (
    ClusterHealth,
    Replica,
    problems,
    read_health,
    risks,
)
from fanion.events.storage.cluster_shards import Shard
from fanion.events.storage.inspection import inspect_event_store
from fanion.events.storage.store import open_events
from tests.support.clickhouse.server import CLUSTER, HOSTS, ClickHouse

DAY = (datetime(2024, 3, 1, tzinfo=UTC), datetime(2024, 3, 2, tzinfo=UTC))
SHARDS = (Shard(1, 1, ("a1", "a2")), Shard(2, 1, ("b1", "b2")))
SOUND = ClusterHealth(
    SHARDS,
    versions=("26.9.2.1",),
    replicas=tuple(Replica(host, "events_local", total=2, active=2) for host in ("a1", "a2")),
    quorum="2",
)

WRONG = {
    "away": (replace(SOUND, away=("b2",)), "no answer from b2"),
    "missing": (replace(SOUND, missing=3), "3 tables are missing on its servers, all in all"),
    "differing": (replace(SOUND, differing=("events",)), "not the same on all servers: events"),
    "plain": (
        replace(SOUND, unreplicated=("persons", "groups")),
        "not replicated: persons, groups",
    ),
    "versions": (
        replace(SOUND, versions=("26.8.1", "26.9.2")),
        "its servers have versions 26.8.1, 26.9.2",
    ),
    "read-only": (
        replace(SOUND, replicas=(Replica("a1", "persons", is_read_only=True, delay_s=999),)),
        "read-only: persons on a1",
    ),
    "behind": (
        replace(SOUND, replicas=(Replica("a1", "events_local", delay_s=301),)),
        "more than 300 s behind: events_local on a1",
    ),
    "inactive": (
        replace(
            SOUND, replicas=(Replica("a1", "groups", total=2), Replica("a2", "groups", total=2))
        ),
        "without all replicas: groups",
    ),
    "lost": (
        replace(SOUND, replicas=(Replica("a1", "events_local", lost_parts=1),)),
        "parts are lost of: events_local on a1",
    ),
    "not internal": (
        replace(SOUND, not_internal=(2,)),
        "internal_replication is off for shards 2: `fanion move` would store events once for "
        "each replica",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said_in_one_line(name: str) -> None:
    health, line = WRONG[name]

    assert problems(health) == [line]
    finding = cluster_finding(health)
    assert not finding.ok
    assert finding.text == f"2 shards on 4 servers; {line}"


def test_many_names_are_cut() -> None:
    [line] = problems(replace(SOUND, differing=tuple(f"t{n}" for n in range(12))))

    assert line.endswith("t8, t9 and 2 more")


def test_a_delay_of_a_moment_is_no_problem() -> None:
    assert problems(replace(SOUND, replicas=(Replica("a1", "events_local", delay_s=300),))) == []


def test_a_sound_cluster_is_said_to_be_so() -> None:
    finding = cluster_finding(SOUND)

    assert finding.ok
    assert (finding.text, finding.advice) == ("2 shards on 4 servers, all tables", "")


@pytest.mark.parametrize(
    ("health", "risk"),
    [
        (replace(SOUND, quorum="0"), "acknowledged by one replica"),
        (replace(SOUND, shards=(SHARDS[0], Shard(2, 1, ("b1",)))), "Shards 2 have one replica"),
    ],
)
def test_a_risk_is_advice_and_no_failure(health: ClusterHealth, risk: str) -> None:
    [advice] = risks(health)

    assert risk in advice
    assert cluster_finding(health).ok
    assert cluster_finding(health).advice == advice


@pytest.fixture
def cluster_url(own_events_url: str) -> str:
    return f"{own_events_url}?cluster={CLUSTER}"


@pytest.fixture
def client(clickhouse_server: ClickHouse, own_events_url: str) -> Iterator[Client]:
    with closing(clickhouse_server.client(own_events_url.rpartition("/")[2])) as opened:
        yield opened


async def test_the_state_is_read_from_all_servers(cluster_url: str, client: Client) -> None:
    """The stand-in plays two servers, which replicate nothing."""
    await (await open_events(cluster_url)).close()

    health = read_health(engine_at(cluster_url), client)

    assert health is not None
    assert health.shards == [Shard(1, 1, HOSTS[:1]), Shard(2, 1, HOSTS[1:])]
    assert (health.missing, health.differing, health.away) == (0, [], ())
    assert {"events_local", "persons"} <= set(health.unreplicated)
    assert not {"events", "copy_by_distinct_id"} & set(health.unreplicated)
    assert health.not_internal == [1, 2]
    assert len(health.versions) == 1
    assert health.quorum == "0"
    assert read_health(engine_at(cluster_url.partition("?")[0]), client) is None


def test_a_host_that_does_not_answer_is_named(cluster_url: str, client: Client) -> None:
    engine = engine_at(cluster_url)

    def connect(host: str) -> Client:
        if host == HOSTS[1]:
            raise OSError
        assert engine.connect_to is not None
        return engine.connect_to(host)

    health = read_health(replace(engine, connect_to=connect), client)

    assert health is not None
    assert problems(health) == [f"no answer from {HOSTS[1]}"]


async def test_an_inspection_counts_nothing_while_tables_are_missing(
    cluster_url: str, client: Client
) -> None:
    await (await open_events(cluster_url)).close()
    complete = inspect_event_store(cluster_url, None, DAY)
    client.command("DROP TABLE events SYNC")

    inspected = inspect_event_store(cluster_url, None, DAY)

    assert complete.cluster is not None and complete.cluster.missing == 0
    assert inspected.cluster is not None and inspected.cluster.missing == len(HOSTS)
    assert (inspected.accepted, inspected.session_rows) == (None, "")
