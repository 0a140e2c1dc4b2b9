"""Tests of the partition of the accept log to which an item goes."""

import pytest
from msgspec import json

from fanion.accept_log.port import Envelope
from fanion.ingest.items import read_items
from fanion.ingest.partitioning import cut, cut_named
from fanion.ingest.pipeline.prepare import distinct_id_of
from tests.support.accept_logs import envelope

PARTITIONS = 64


def captured(body: object, project_id: int = 1) -> Envelope:
    return envelope(json.encode(body), project_id=project_id)


def partition_of(body: object, project_id: int = 1) -> int:
    [(partition, _)] = cut(captured(body, project_id), PARTITIONS)
    return partition


def test_each_item_is_in_one_piece_in_the_order_sent() -> None:
    items = [{"event": f"e{n}", "distinct_id": f"u{n % 7}", "properties": {}} for n in range(50)]

    pieces = cut(captured({"batch": items, "api_key": "k", "sent_at": "x"}), PARTITIONS)

    numbers = [partition for partition, _ in pieces]
    assert len(set(numbers)) == len(numbers) > 1
    assert all(1 <= number <= PARTITIONS for number in numbers)
    for distinct_id in {item["distinct_id"] for item in items}:
        of_id = [item for item in items if item["distinct_id"] == distinct_id]
        homes = [
            found
            for _, piece in pieces
            if (found := [item for item in read_items(piece.body) if item in of_id])
        ]
        assert homes == [of_id]


@pytest.mark.parametrize(
    "body",
    [
        {"event": "a", "distinct_id": "u", "api_key": "k"},
        [{"event": "a", "distinct_id": "u"}, {"event": "b", "distinct_id": "u"}],
        {"batch": [{"event": "a", "properties": {"distinct_id": "u"}}]},
        {"batch": []},
        {"batch": 5},
        [],
        [None],
        [{"event": "a", "distinct_id": "u", "properties": []}],
        "text",
    ],
)
def test_what_goes_to_one_partition_or_cannot_be_read_stays_whole(body: object) -> None:
    whole = captured(body)

    [(partition, piece)] = cut(whole, PARTITIONS)

    assert piece is whole
    assert 1 <= partition <= PARTITIONS


def test_a_batch_is_split_before_an_append_in_parts_only_if_it_may_be_repeated() -> None:
    items = [{"event": "e", "distinct_id": f"u{n}", "uuid": f"id {n}"} for n in range(20)]
    unnamed = captured({"batch": [*items, {"event": "e", "distinct_id": "v"}]})

    assert cut_named(captured(items), PARTITIONS) == cut(captured(items), PARTITIONS)
    assert cut_named(unnamed, PARTITIONS) == [(partition_of(items[0]), unnamed)]


@pytest.mark.parametrize("body", [b"", b'[{"event":', b"\xff", b"[" * 100_000])
def test_bytes_that_are_no_json_stay_whole(body: bytes) -> None:
    whole = envelope(body)

    assert [piece for _, piece in cut(whole, PARTITIONS)] == [whole]


@pytest.mark.parametrize(
    "item",
    [
        {"distinct_id": "u"},
        {"$distinct_id": "u", "distinct_id": "v"},
        {"properties": {"distinct_id": "u"}, "distinct_id": "v"},
        {"$distinct_id": "", "properties": {"distinct_id": None}, "distinct_id": "u"},
        {"distinct_id": 5},
        {"distinct_id": 0},
        {"distinct_id": {"a": [1, 2.5]}},
        {"distinct_id": "x" * 300},
        {"distinct_id": "a\0b"},
        {"properties": None, "distinct_id": "é\u2028"},
        {},
    ],
)
def test_an_item_goes_where_its_distinct_id_does_in_any_form(item: dict[str, object]) -> None:
    assert partition_of([item]) == partition_of({"distinct_id": distinct_id_of(item)})


def test_projects_with_the_same_distinct_id_are_spread() -> None:
    assert len({partition_of({"distinct_id": "u"}, project) for project in range(1, 100)}) > 30


def test_distinct_ids_are_spread_evenly() -> None:
    partitions = [partition_of({"distinct_id": f"user-{n}"}) for n in range(6_400)]

    assert max(partitions.count(partition) for partition in range(1, PARTITIONS + 1)) < 160


@pytest.mark.parametrize(
    ("project", "distinct_id", "partition"),
    [
        (1, "user-1", 34),
        (2, "user-1", 3),
        (1, "", 64),
        (1, "ü\0", 34),
        (1, 5, 48),
        (1, "x" * 1000, 50),
    ],
)
def test_a_distinct_id_stays_in_its_partition_in_every_version(
    project: int, distinct_id: object, partition: int
) -> None:
    assert partition_of({"distinct_id": distinct_id}, project) == partition
