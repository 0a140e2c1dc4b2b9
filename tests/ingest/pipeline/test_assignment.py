"""Tests of which worker takes and keeps which partitions."""

from collections.abc import Sequence

import pytest

from fanion.ingest.pipeline.assignment import (
    Holding,
    PartitionChanges,
    fair_share,
    holdings_to_keep,
    partition_changes,
    partitions_to_take,
    ranges_text,
)


def holdings(holders: Sequence[str], dead: str = "", claimed: Sequence[int] = ()) -> list[Holding]:
    """Return the holdings of the partitions from 1 on.

    Args:
        holders: A letter for each partition; - for none.
        dead: The holders that are dead.
        claimed: The partitions with a claimed batch.
    """
    return [
        Holding(
            partition,
            partition * 10,
            "" if holder == "-" else holder,
            holder not in dead + "-",
            partition in claimed,
        )
        for partition, holder in enumerate(holders, 1)
    ]


@pytest.mark.parametrize(
    ("workers", "expected"), [(0, 64), (1, 64), (2, 32), (3, 22), (64, 1), (65, 1)]
)
def test_the_shares_of_all_workers_cover_all_partitions(workers: int, expected: int) -> None:
    assert fair_share(64, workers) == expected


@pytest.mark.parametrize(
    ("held", "dead", "workers", "expected"),
    [
        ("------", "", 1, [1, 2, 3, 4, 5, 6]),
        ("------", "", 2, [1, 2, 3]),
        ("aa----", "", 2, [3]),
        ("aaa---", "", 2, []),
        ("bbbbbb", "", 2, []),
        ("bbbbbb", "b", 1, [1, 2, 3, 4, 5, 6]),
        ("bb-ccc", "b", 2, [1, 2, 3]),
        ("aabbcc", "c", 2, [5]),
    ],
)
def test_a_worker_takes_free_partitions_up_to_its_share(
    held: str, dead: str, workers: int, expected: list[int]
) -> None:
    assert partitions_to_take(holdings(held, dead), "a", workers) == expected


def test_what_a_dead_worker_had_claimed_is_taken_together_and_alone() -> None:
    held = holdings("bbbbcc--", "bc", claimed=[1, 2, 3, 5])

    assert partitions_to_take(held, "a", workers=4) == [1, 2, 3]


def test_what_a_living_worker_has_claimed_stays_with_it() -> None:
    held = holdings("bbbb--", claimed=[1, 2, 3, 4])

    assert partitions_to_take(held, "a", workers=2) == [5, 6]


def test_a_worker_gives_up_what_is_above_its_share() -> None:
    held = holdings("aaabab")

    assert [holding.partition for holding in holdings_to_keep(held, "a", 1)] == [1, 2, 3, 5]
    assert [holding.partition for holding in holdings_to_keep(held, "a", 2)] == [1, 2, 3]
    assert [holding.partition for holding in holdings_to_keep(held, "a", 6)] == [1]


@pytest.mark.parametrize(
    ("before", "held", "kept", "expected"),
    [
        ({}, "aab", [1, 2], PartitionChanges([1, 2], [], [])),
        ({1: 10, 2: 20}, "aab", [1, 2], PartitionChanges([], [], [])),
        ({1: 10, 2: 20}, "aab", [1], PartitionChanges([], [2], [])),
        ({1: 10, 2: 20}, "abb", [1], PartitionChanges([], [], [2])),
        ({1: 10, 2: 20, 3: 30}, "aba", [1], PartitionChanges([], [3], [2])),
        ({1: 9, 2: 20}, "aab", [1, 2], PartitionChanges([1], [], [1])),
    ],
)
def test_partitions_are_taken_given_up_or_lost(
    before: dict[int, int], held: str, kept: list[int], expected: PartitionChanges
) -> None:
    own = [holding for holding in holdings(held) if holding.holder == "a"]

    changes = partition_changes(
        before, own, [holding for holding in own if holding.partition in kept]
    )

    assert changes == expected


@pytest.mark.parametrize(
    ("partitions", "expected"),
    [([], ""), ([7], "7"), ([1, 2], "1-2"), ([1, 2, 3, 5, 8, 9], "1-3, 5, 8-9")],
)
def test_partitions_are_named_by_ranges(partitions: list[int], expected: str) -> None:
    assert ranges_text(partitions) == expected
