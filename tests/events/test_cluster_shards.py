"""The shard of an event: the one that the engine's Distributed table would choose."""

from datetime import UTC, datetime
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanion.errors import StartRefused
from fanion.events.event import Event, EventRejected
from fanion.events.storage.cluster_encoder import ShardEncoder
from fanion.events.storage.cluster_shards import Shard, read_shards, slots_of
from fanion.events.storage.native_encoder import NativeEncoder
from fanion.events.storage.shard_hash import divided, sip_hashes
from fanion.events.storage.store import EventStore
from tests.support.clickhouse.server import CLUSTER, HOSTS, ClickHouse

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SHARDS = [Shard(1, 1, ("a",)), Shard(2, 0, ("b",)), Shard(3, 2, ("c", "d"))]
KEYS = """
  SELECT sipHash64(key.1, key.2) FROM (SELECT arrayJoin({keys:Array(Tuple(UInt64, String))}) AS key)
"""


def event(project_id: int, distinct_id: str) -> Event:
    return Event(project_id, uuid4(), "e", distinct_id, uuid4(), NOON, NOON, b"{}")


def test_a_shard_has_as_many_slots_as_its_weight() -> None:
    assert slots_of(SHARDS) == [1, 3, 3]


async def test_events_go_where_the_engine_looks_for_them(chdb_events: EventStore) -> None:
    ids = ["", "a", "abcdefgh", "☃" * 3, *("x" * length for length in (15, 16, 17, 255, 256, 300))]
    keys = [(project, name) for project in (0, 1, 2**64 - 1) for name in ids]
    slots = slots_of(SHARDS)

    [hashes] = (await chdb_events.ask(KEYS, {"keys": keys}, estimated=False)).columns
    shards = divided([event(*key) for key in keys], slots)

    expected: dict[int, list[int]] = {}
    for place, number in enumerate(hashes):
        expected.setdefault(slots[number % len(slots)], []).append(place)
    assert shards == expected


@given(st.lists(st.binary(max_size=40), max_size=20))
def test_a_hash_does_not_depend_on_the_texts_beside_it(texts: list[bytes]) -> None:
    assert sip_hashes(texts).tolist() == [sip_hashes([text])[0] for text in texts]


def test_each_block_has_the_events_of_one_shard() -> None:
    events = [event(1, str(number)) for number in range(100)]
    encoder = ShardEncoder(NativeEncoder(), [1, 2])

    blocks = list(encoder.event_blocks(events))

    assert [block.shard for block in blocks] == [1, 2]
    rows = divided(events, [1, 2])
    for block in blocks:
        own = [events[place] for place in rows[block.shard]]
        [alone] = NativeEncoder().event_blocks(own)
        assert block.data == alone.data
    assert list(encoder.event_blocks([])) == []


def test_other_shards_give_other_tokens() -> None:
    versions = {ShardEncoder(NativeEncoder(), slots).version for slots in ([1], [1, 2], [1, 1, 2])}

    assert len(versions) == 3
    assert NativeEncoder().version not in versions


def test_a_project_that_no_column_holds_is_rejected() -> None:
    with pytest.raises(EventRejected, match="does not fit its column"):
        divided([event(-1, "a")], [1])


def test_the_shards_are_those_of_the_configuration(clickhouse_server: ClickHouse) -> None:
    client = clickhouse_server.client()

    shards = read_shards(client, CLUSTER, "the store")
    with pytest.raises(StartRefused, match=f"no cluster 'nobody'; the server knows: .*{CLUSTER}"):
        read_shards(client, "nobody", "the store")

    client.close()
    assert shards == [Shard(1, 1, HOSTS[:1]), Shard(2, 1, HOSTS[1:])]
